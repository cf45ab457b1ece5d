"""Lazy layers: how many inputs there are is seen at the first call, which makes the parameters, and the layer a plain one.

Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.modules.lazy.LazyModuleMixin.html
"""

from __future__ import annotations

from typing import Any, ClassVar

from gviz.autograd.names import NAMES
from gviz.autograd.tensor import Tensor
from gviz.engine.copying import Portable, renewed
from gviz.engine.creation import empty
from gviz.engine.nn.options import LAYERS
from gviz.engine.nn.parameter import Parameter

SHAPELESS = (
    "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in `load_state_dict` when "
    "trying to load an uninitialized parameter into an initialized one. Call `forward` to initialize the parameters before "
    "accessing their attributes."
)
UNUSABLE = (
    "Attempted to use an uninitialized parameter in <method '{}' of 'torch._C.TensorBase' objects>. This error happens when "
    "you are using a `LazyModule` or explicitly manipulating `torch.nn.parameter.{}` objects. When using LazyModules Call "
    "`forward` with a dummy batch to initialize the parameters before calling torch functions"
)
ALLOWED = {"is_complex", "is_floating_point", "half", "float", "double", "cpu", "to", "size", "detach"}

class Uninitialized(Tensor):
    """A tensor of a type, but without a shape and numbers so far."""

    __slots__ = ()
    _becomes: ClassVar[type] = Tensor

    def __new__(cls, requires_grad: bool = False, device: Any = None, dtype: Any = None) -> Any:
        """Make one that wants a gradient, or not."""
        made: Any = empty(0, dtype, device)
        made.__class__ = cls
        made._edge = Parameter(made.data)._edge if requires_grad else None
        return made

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Give it a shape, which makes it a plain one; its numbers are still to be written."""
        self.data = empty(tuple(shape), dtype or self.dtype, device)
        self.__class__ = self._becomes

    @property
    def shape(self) -> Any:
        """There is none: RuntimeError."""
        raise RuntimeError(SHAPELESS)

    def detach(self) -> Any:
        """Return it itself: there is nothing to take out of a graph."""
        return self

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __deepcopy__(self, memo: Any) -> Any:
        return type(self)(self.requires_grad, None, self.dtype)

    def __reduce__(self) -> Any:
        return renewed, ("gviz.engine.nn.lazy", type(self).__name__, self.requires_grad, None, self.dtype)

def refused(name: str) -> Any:
    """Return a method that a tensor without a shape does not have."""

    def method(self: Any, *_: Any, **__: Any) -> Any:
        raise ValueError(UNUSABLE.format(name, type(self).__name__))

    return method

METHODS = {one.method: one.short.strip("_") if one.sign else one.short for one in NAMES.values() if one.method}
for method, name in {**METHODS, "numel": "numel", "requires_grad_": "requires_grad_"}.items():
    if name not in ALLOWED:
        setattr(Uninitialized, method, refused(name))

class UninitializedParameter(Uninitialized, Parameter):
    """A parameter without a shape so far."""

    __slots__ = ()
    __module__, _becomes = "torch.nn.parameter", Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        """Make one."""
        return Uninitialized.__new__(cls, requires_grad, device, dtype)

class UninitializedBuffer(Uninitialized):
    """A buffer without a shape so far."""

    __slots__ = ()
    __module__ = "torch.nn.parameter"

class LazyModuleMixin(Portable):
    """The part of a lazy layer that waits for the first input; it comes before the plain layer among the bases.

    (It begins with the base that :class:`Module` begins with, without which Python lets no layer become another one.)
    """

    cls_to_become: ClassVar[Any]
    _counted: ClassVar[str]
    """The option that the input tells."""

    def _take(self: Any, values: dict[str, Any]) -> None:
        super()._take({self._counted: 0, **values})  # type: ignore[misc]
        where = {"device": values["device"], "dtype": values["dtype"]}
        for name, parameter in self._parameters.items():
            if parameter is not None:
                self._parameters[name] = UninitializedParameter(**where)
        for name, buffer in self._buffers.items():
            if buffer is not None and buffer.dim():
                self._buffers[name] = UninitializedBuffer(**where)

    def has_uninitialized_params(self: Any) -> bool:
        """Return whether there is a parameter or a buffer without a shape."""
        return any(isinstance(one, Uninitialized) for one in (*self._parameters.values(), *self._buffers.values()))

    def reset_parameters(self: Any) -> None:
        """Write initial values, once there is a place for them."""
        if getattr(self, self._counted) and not self.has_uninitialized_params():
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self: Any, input: Any, *_: Any, **__: Any) -> None:
        """Make the parameters as this input wants them."""
        is_new, dims = self.has_uninitialized_params(), getattr(self, "dims", None)
        if dims and is_new and input.dim() not in (dims + 1, dims + 2):
            raise RuntimeError(f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {type(self).__name__}, but "
                               f"got input of size: {input.shape}")
        if is_new or self._counted == "in_features":
            setattr(self, self._counted, input.shape[-dims - 1 if dims else -1 if self._counted == "in_features" else 1])
        if is_new:
            if dims and self.in_channels % self.groups:
                raise ValueError("in_channels must be divisible by groups")
            for name, shape in self._shaped(self.bias is not None).items():
                if self._parameters[name] is not None:
                    self._parameters[name].materialize(shape if isinstance(shape, tuple) else (shape,))
            for buffer in self._buffers.values():
                if isinstance(buffer, Uninitialized):
                    buffer.materialize((self.num_features,))
            self.reset_parameters()
            getattr(self, "reset_running_stats", tuple)()

    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
        """Become a plain layer, and call that."""
        self.initialize_parameters(*args, **kwargs)
        self.__class__ = self.cls_to_become
        return self(*args, **kwargs)

KINDS = ("Linear", *(f"{kind}{n}d" for kind in ("Conv", "ConvTranspose", "BatchNorm", "InstanceNorm") for n in (1, 2, 3)))
for kind in KINDS:
    base: Any = LAYERS[kind]
    counted, _, takes = LAYERS[kind.replace("Instance", "Batch")]._takes.partition(", ")
    body = {"cls_to_become": base, "_counted": counted, "__doc__": f"``{kind}``, of as many inputs as there are."}
    made: Any = type(f"Lazy{kind}", (LazyModuleMixin, base), body, home=base.__module__.rpartition(".")[2], takes=takes)
    made._options = base._options
    globals()[f"Lazy{kind}"] = LAYERS.pop(f"Lazy{kind}")  # it is not listed: it calls what the plain one calls
LAZY = ("UninitializedBuffer", "UninitializedParameter", *(f"Lazy{kind}" for kind in KINDS))
