"""Lazy layers: the first call shows how many inputs there are, and makes the parameters and a plain layer.

Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.modules.lazy.LazyModuleMixin.html
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from gviz.autograd.tensor import Tensor
from gviz.engine.copying import Portable
from gviz.engine.creation import empty
from gviz.engine.nn.options import LAYERS
from gviz.engine.nn.parameter import Parameter
from gviz.numbers.words import refuse
from gviz.signatures.names import NAMES


class UninitializedParameter(Parameter):
    """A parameter of a type, but without a shape and numbers so far."""

    __slots__ = ()
    __module__ = "torch.nn.parameter"

    def __new__(cls, requires_grad: bool = True, device: object = None, dtype: object = None) -> Any:
        """Make one that wants a gradient, or not."""
        parameter = Parameter(empty(0, dtype, device), requires_grad)
        parameter.__class__ = cls
        return parameter

    def materialize(self, shape: Iterable[int], device: object = None, dtype: object = None) -> None:
        """Give it a shape, which makes it a plain one; its numbers are still to be written."""
        self.data = empty(tuple(shape), dtype or self.dtype, device)
        self.__class__ = Parameter  # type: ignore[assignment]

    @property
    def shape(self) -> Any:
        """There is none: RuntimeError."""
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
            "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. Call "
            "`forward` to initialize the parameters before accessing their attributes."
        )

    def detach(self) -> Any:
        """Return it itself: there is nothing to take out of a graph."""
        return self

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __deepcopy__(self, memo: object) -> Any:
        return type(self)(self.requires_grad, None, self.dtype)


def refused(name: str) -> Any:
    """Return a method that a tensor without a shape does not have."""

    def method(self: object, *_: object, **__: object) -> Any:
        raise ValueError(
            f"Attempted to use an uninitialized parameter in <method '{name}' of 'torch._C.TensorBase' objects>. This "
            "error happens when you are using a `LazyModule` or explicitly manipulating "
            f"`torch.nn.parameter.{type(self).__name__}` objects. When using LazyModules Call `forward` with a dummy "
            "batch to initialize the parameters before calling torch functions"
        )

    return method


METHODS = {one.method: one.base.strip("_") if one.operator else one.base for one in NAMES.values() if one.method}
for method, name in {**METHODS, "dim": "dim", "numel": "numel", "requires_grad_": "requires_grad_"}.items():
    if name not in {
        "is_complex",
        "is_floating_point",
        "half",
        "bfloat16",
        "float",
        "double",
        "cpu",
        "to",
        "size",
        "detach",
    }:
        setattr(UninitializedParameter, method, refused(name))


class LazyModuleMixin(Portable):
    """The part of a lazy layer that waits for the first input; it comes before the plain layer among the bases.

    (It begins with the base that :class:`Module` begins with, without which Python lets no layer become another one.)
    """

    cls_to_become: ClassVar[Any]
    _size_name: ClassVar[str]
    """The option that the input tells."""

    def _take_(self: Any, values: dict[str, Any]) -> None:
        super()._take_({self._size_name: 0, **values})  # type: ignore[misc]
        self._arguments = {name: value for name, value in values.items() if name != "self"}
        for name, parameter in self._parameters.items():
            if parameter is not None:
                self._parameters[name] = UninitializedParameter(dtype=values["dtype"])

    def has_uninitialized_params(self: Any) -> bool:
        """Return whether there is a parameter without a shape."""
        return any(isinstance(one, UninitializedParameter) for one in self._parameters.values())

    def reset_parameters(self) -> None:
        """Do nothing: there are no numbers so far."""

    def __call__(self: Any, input: Tensor, *args: object, **kwargs: object) -> Any:
        """Become a plain layer, with the parameters that this input wants, and call that."""
        dims, kind = getattr(self, "_dims_", 0), self.cls_to_become
        refuse(
            dims and input.dim() not in (dims + 1, dims + 2),
            f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {type(self).__name__}, but "
            f"got input of size: {input.shape}",
        )
        count = input.shape[-dims - 1 if dims else -1 if self._size_name == "in_features" else 1]
        if self.has_uninitialized_params() or self._parameters["weight"] is None:
            options = {
                **self._arguments,
                "dtype": next((one.dtype for one in self.parameters()), self._arguments["dtype"]),
            }
            plain = kind(count, **options)
            for name, parameter in plain._parameters.items():
                if parameter is not None:
                    self._parameters[name].materialize(parameter.shape)
                    self._parameters[name].data = parameter.data
            self._buffers.update(plain._buffers)
        del self._arguments
        setattr(self, self._size_name, count)
        self.__class__ = kind
        return self(input, *args, **kwargs)


KINDS = ("Linear", *(f"{kind}{n}d" for kind in ("Conv", "ConvTranspose", "BatchNorm") for n in (1, 2, 3)))
for kind in KINDS:
    base: Any = LAYERS[kind]
    size_name, _, takes = base._takes_.partition(", ")
    body = {"cls_to_become": base, "_size_name": size_name, "__doc__": f"``{kind}``, of as many inputs as there are."}
    layer: Any = type(
        f"Lazy{kind}", (LazyModuleMixin, base), body, home=base.__module__.rpartition(".")[2], takes=takes
    )
    layer._options_ = base._options_
    globals()[f"Lazy{kind}"] = LAYERS.pop(f"Lazy{kind}")  # it is not listed: it calls what the plain one calls
LAZY = ("UninitializedParameter", *(f"Lazy{kind}" for kind in KINDS))
