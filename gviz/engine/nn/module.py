"""The base of all layers: a tree of modules with parameters and buffers, found by their names.

Programs derive classes from it, with attributes of any name: what PyTorch's classes do not have is named ``_so_``
here, in all layers and in the optimizers.

Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Module.html
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partialmethod
from typing import Any, Self

from gviz.autograd.tensor import Tensor
from gviz.autograd.words import NO_DATA
from gviz.engine.copying import Portable
from gviz.engine.creation import empty
from gviz.engine.nn.hooks import Hooks
from gviz.engine.nn.parameter import Parameter, typename
from gviz.engine.nn.state import State
from gviz.numbers import dtypes
from gviz.numbers.words import refuse, refuse_any

HOMES: dict[str, Any] = {
    "_parameters": (Parameter, "cannot assign '{}' as parameter '{}' (torch.nn.Parameter or None expected)"),
    "_modules": (Hooks, "cannot assign '{}' as child module '{}' (torch.nn.Module or None expected)"),
    "_buffers": (Tensor, "cannot assign '{}' as buffer '{}' (torch.nn.Buffer, torch.Tensor or None expected)"),
}
"""The dicts of a module -> what is kept there, and how another thing is refused."""

MOVED = (
    " Please use torch.nn.Module.to_empty() instead of torch.nn.Module.to() when moving module from meta to a "
    "different device."
)
NO_MODULE = "{} is not a Module subclass"
WHERE_REGISTERED = (" as ", " object to "), ("torch.nn.Buffer, torch.", "torch "), ("expected", "required")


def unnamed(method: str, *options: str) -> Any:
    """Return a method that yields what another does, without the names."""

    def values(self: Module, *args: object, **more: object) -> Iterator[Any]:
        for _, value in getattr(self, method)(**dict(zip(options, args, strict=False)), **more):
            yield value

    values.__qualname__ = f"Module.{method.removeprefix('named_')}"
    return values


def attribute(module: Module, name: str) -> Any:
    """Return what a module has under a part of a dotted name. AttributeError: nothing."""
    refuse(not hasattr(module, name), f"{module._get_name()} has no attribute `{name}`", AttributeError)
    return getattr(module, name)


class Module(Portable, State):
    """A layer or a network: assign parameters and other modules to it, and write ``forward``."""

    __module__, _importable = "torch.nn.modules.module", "gviz.engine.nn"

    def __init__(self) -> None:
        super().__init__()
        self.__dict__.update(training=True, _parameters={}, _buffers={}, _modules={}, _non_persistent_buffers_set=set())

    def forward(self, *args: Any) -> Any:
        """Compute the output; to be written by the subclass."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    # ---------------------------------------------------------------- attributes
    def __setattr__(self, name: str, value: object) -> None:
        own = self.__dict__
        for home, (kind, _) in HOMES.items():
            is_kind = isinstance(value, kind) and home != "_buffers"
            if is_kind and home in own:
                for other in (own, *(own[one] for one in HOMES if one != home)):
                    other.pop(name, None)
                own["_non_persistent_buffers_set"].discard(name)
            if is_kind or name in own.get(home, ()):
                self._admit_(home, name, value)
                return
        super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        for home in HOMES:
            if name in (attributes := self.__dict__.get(home, {})):
                return attributes[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __dir__(self) -> list[str]:
        return [*object.__dir__(self), *(name for home in HOMES for name in self.__dict__.get(home, ()))]

    def __delattr__(self, name: str) -> None:
        for home in HOMES:
            if name in self.__dict__[home]:
                del self.__dict__[home][name]
                return
        super().__delattr__(name)

    def _admit_(self, home: str, name: str, value: object, *, registered: bool = False) -> None:
        """Add a parameter, a buffer or a module under a name.

        TypeError: it is another thing; KeyError: the name cannot be.
        """
        (kind, other), what = HOMES[home], home[1:-1]
        refuse(
            home not in self.__dict__,
            f"cannot assign {what if home == '_modules' else home[1:]} before Module.__init__() call",
            AttributeError,
        )
        if value is not None and not isinstance(value, kind):
            for old, new in WHERE_REGISTERED if registered else ():
                other = other.replace(old, new)
            other = NO_MODULE if registered and home == "_modules" else other
            raise TypeError(other.format(typename(value), name))
        refuse_any(
            {
                f"attribute '{name}' already exists": hasattr(self, name) and name not in self.__dict__[home],
                f'{what} name can\'t be empty string ""': not name,
                f'{what} name can\'t contain "."' + f", got: {name}" * (what == "module"): "." in name,
            },
            KeyError,
        )
        self.__dict__[home][name] = value

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter under that name; None keeps the name."""
        self._admit_("_parameters", name, param, registered=True)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that belongs to the state but is not trained."""
        self._admit_("_buffers", name, tensor, registered=True)
        (self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add)(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a child under that name."""
        self._admit_("_modules", name, module, registered=True)

    register_module = add_module

    # ---------------------------------------------------------------- the tree
    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """Yield this module and all below it, with their names; each once."""
        seen = set() if memo is None else memo
        if self not in seen:
            if remove_duplicate:
                seen.add(self)
            yield prefix, self
            for name, module in self._modules.items():
                if module is not None:
                    yield from module.named_modules(seen, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def _members_(
        self, home: str, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """Yield the entries of one of the dicts with their names, here and below; each once."""
        seen: set[int] = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for name, module in modules:
            for key, value in getattr(module, home).items():
                if value is not None and not (remove_duplicate and id(value) in seen):
                    seen.add(id(value))
                    yield (name + "." if name else "") + key, value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """Yield the parameters with their names, here and below; each once."""
        yield from self._members_("_parameters", prefix, recurse, remove_duplicate)

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """Yield the buffers with their names, here and below; each once."""
        yield from self._members_("_buffers", prefix, recurse, remove_duplicate)

    named_children = partialmethod(_members_, "_modules", recurse=False)
    modules, children = unnamed("named_modules"), unnamed("named_children")
    parameters, buffers = unnamed("named_parameters", "recurse"), unnamed("named_buffers", "recurse")

    def get_submodule(self, target: str) -> Any:
        """Return the module of that dotted name. AttributeError: there is none."""
        module = self
        for name in target.split(".") if target else ():
            module = attribute(module, name)
            refuse(not isinstance(module, Module), f"`{name}` is not an nn.Module", AttributeError)
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put a module where that dotted name is; ``strict``: where one is already."""
        path, _, name = target.rpartition(".")
        refuse(not target, "Cannot set the submodule without a target name!", ValueError)
        if strict:
            attribute(self.get_submodule(path), name)
        setattr(self.get_submodule(path), name, module)

    def get_parameter(self, target: str) -> Any:
        """Return the parameter of that dotted name. AttributeError: there is none."""
        path, _, name = target.rpartition(".")
        parameter = attribute(self.get_submodule(path), name)
        refuse(not isinstance(parameter, Parameter), f"`{name}` is not an nn.Parameter", AttributeError)
        return parameter

    def get_buffer(self, target: str) -> Any:
        """Return the buffer of that dotted name. AttributeError: there is none."""
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        buffer = attribute(module, name)
        refuse(name not in module._buffers, f"`{name}` is not a buffer", AttributeError)
        return buffer

    # ---------------------------------------------------------------- modes
    def train(self, mode: bool = True) -> Self:
        """Set training mode, here and below."""
        refuse(not isinstance(mode, bool), "training mode is expected to be boolean", ValueError)
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> Self:
        """Leave training mode."""
        return self.train(mode=False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Let gradients flow to all parameters, or to none."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or set them to zero."""
        for parameter in self.parameters():
            clear_gradient(parameter, set_to_none)

    def apply(self, fn: Callable[[Module], Any]) -> Self:
        """Call ``fn`` for every module below, then for this one."""
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def to(self, *args: object, **kwargs: Any) -> Self:
        """Cast floating point parameters and buffers, or move all of them to another device."""
        dtype = kwargs.get("dtype", next((arg for arg in args if isinstance(arg, dtypes.dtype)), None))
        refuse(
            dtype is not None and not (dtype.is_floating_point or dtype.is_complex),
            f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}",
            TypeError,
        )
        try:
            return self._apply(lambda one: one.to(*args, **kwargs) if dtype is None or one.is_floating_point() else one)
        except NotImplementedError as error:
            raise NotImplementedError(f"{error}{MOVED * (str(error) == NO_DATA)}") from None

    def to_empty(self, *, device: object, recurse: bool = True) -> Self:
        """Move all parameters and buffers to another device, where nothing is written into their memory."""
        return self._apply(lambda one: empty(one.shape, one.dtype, device), recurse)

    def _apply(self, change: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Put what a function makes of each parameter, each gradient and each buffer in its place.

        A parameter that has moved to another device is another one.
        """
        for module in self.modules() if recurse else [self]:
            for name, parameter in module._parameters.items():
                if parameter is not None:
                    module._parameters[name] = changed(parameter, change)
            module._buffers.update((name, change(one)) for name, one in module._buffers.items() if one is not None)
        return self

    def cpu(self) -> Self:
        """Move it to the CPU."""
        return self._apply(lambda one: one.to("cpu"))

    def compile(self, *_: object, **__: object) -> None:
        """Change nothing: modules run as they are written."""

    def share_memory(self) -> Self:
        """Return the module, which other processes see once it is handed to them."""
        return self

    type, cuda = to, partialmethod(to, "cuda")
    half, bfloat16 = partialmethod(to, dtypes.float16), partialmethod(to, dtypes.bfloat16)
    float, double = partialmethod(to, dtypes.float32), partialmethod(to, dtypes.float64)

    # ---------------------------------------------------------------- text
    def extra_repr(self) -> str:
        """Return what stands in the brackets."""
        return ""

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        """Return the module as PyTorch prints it: one child per line, indented."""
        return bracketed(
            self._get_name(),
            self.extra_repr().splitlines(),
            [(key, repr(module)) for key, module in self._modules.items()],
        )


def changed(parameter: Tensor, change: Callable[[Tensor], Tensor]) -> Any:
    """Return a parameter with what a function makes of it and of its gradient."""
    values, grad = change(parameter.data), parameter.grad
    if values.is_meta != parameter.is_meta:
        parameter = Parameter(values, parameter.requires_grad)
        parameter.grad = None if grad is None else change(grad)
        return parameter
    parameter.data = values
    if grad is not None:
        grad.data = change(grad.data)
    return parameter


def bracketed(name: str, extra: list[str], children: list[tuple[str, str]]) -> str:
    """Return ``Name(...)`` with what is inside, as PyTorch breaks and indents it."""
    lines = [f"({key}): " + text.replace("\n", "\n  ") for key, text in children]
    is_short = not lines and len(extra) <= 1
    return f"{name}({''.join(extra)})" if is_short else f"{name}(\n  " + "\n  ".join(extra + lines) + "\n)"


def clear_gradient(tensor: Tensor, to_none: bool) -> None:
    """Forget a gradient, or fill it with zeros (out of its graph)."""
    grad: Any = tensor._meta and tensor._meta.grad  # that of a non-leaf is asked for without a warning
    if to_none:
        tensor.grad = None
    elif grad is not None:
        (grad.detach_() if grad.grad_fn is not None else grad.requires_grad_(False)).zero_()
