"""The base of all layers: a tree of modules with parameters and buffers, found by their names.

Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Module.html
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from gviz.engine.copying import Portable
from gviz.numbers import dtypes
from gviz.autograd.modes import no_grad
from gviz.engine.nn.checks import kind_name
from gviz.engine.nn.hooks import Hooks
from gviz.engine.nn.parameter import Parameter
from gviz.autograd.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Self

__all__ = ["Module"]


class _IncompatibleKeys(NamedTuple):
    """What ``load_state_dict`` found missing or too many."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not (self.missing_keys or self.unexpected_keys):
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys!r}, unexpected_keys={self.unexpected_keys!r})"


_IncompatibleKeys.__module__ = "torch.nn.modules.module"


def cast(name: str, kind: str) -> Any:
    """The method of that name, which casts to a dtype."""

    def apply(self: Module) -> Module:
        return self.to(getattr(dtypes, kind))

    apply.__qualname__ = f"Module.{name}"
    return apply


class Module(Portable, Hooks):
    """A layer or a network: assign parameters and other modules to it, and write ``forward``."""

    __module__, _importable = "torch.nn.modules.module", "gviz.engine.nn"
    training: bool

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        self.__dict__.update(training=True, _parameters={}, _buffers={}, _modules={}, _non_persistent_buffers_set=set())

    def forward(self, *args: Any) -> Any:
        """To be written by the subclass."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    # ---------------------------------------------------------------- attributes
    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        for home, kind, what in (("_parameters", Parameter, "parameter"), ("_modules", Module, "module")):
            if isinstance(value, kind):
                if home not in own:
                    plural = "parameters" if kind is Parameter else what
                    raise AttributeError(f"cannot assign {plural} before Module.__init__() call")
                self.forget(name, home)
                own[home][name] = value
                return
            if name in own.get(home, ()):
                if value is not None:
                    called = what if kind is Parameter else f"child {what}"
                    wanted = f"(torch.nn.{kind.__name__} or None expected)"
                    raise TypeError(f"cannot assign '{kind_name(value)}' as {called} '{name}' {wanted}")
                own[home][name] = None
                return
        if name in own.get("_buffers", ()):
            if not isinstance(value, Tensor | None):
                raise TypeError(
                    f"cannot assign '{kind_name(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or None expected)"
                )
            own["_buffers"][name] = value
        else:
            super().__setattr__(name, value)

    def forget(self, name: str, kept: str) -> None:
        """Drop whatever has that name, but in the dict that is kept: there the new value takes its place."""
        own = self.__dict__
        for home in (own, *(own[other] for other in ("_parameters", "_buffers", "_modules") if other != kept)):
            home.pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        for home in ("_parameters", "_buffers", "_modules"):
            if home in own and name in own[home]:
                return own[home][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __delattr__(self, name: str) -> None:
        for home in (self._parameters, self._buffers, self._modules):
            if name in home:
                del home[name]
                return
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *self._parameters, *self._buffers, *self._modules})

    def admit(self, name: str, value: Any, home: str, kind: Any, wanted: str) -> None:
        """Add what is given to one of the dicts, under that name."""
        what = home[1:-1]
        if home not in self.__dict__:
            raise AttributeError(f"cannot assign {what} before Module.__init__() call")
        if what == "module" and not isinstance(value, kind):
            raise TypeError(f"{kind_name(value)} is not a Module subclass")
        if not isinstance(name, str):
            raise TypeError(f"{what} name should be a string. Got {kind_name(name)}")
        if hasattr(self, name) and name not in self.__dict__[home]:
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name or not name:
            wrong = f'contain "."{f", got: {name}" * (what == "module")}' if name else 'be empty string ""'
            raise KeyError(f"{what} name can't {wrong}")
        if not isinstance(value, kind):
            raise TypeError(f"cannot assign '{kind_name(value)}' object to {what} '{name}' ({wanted} or None required)")
        self.__dict__[home][name] = value

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter under that name; None keeps the name."""
        self.admit(name, param, "_parameters", Parameter | None, "torch.nn.Parameter")

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that belongs to the state but is not trained."""
        self.admit(name, tensor, "_buffers", Tensor | None, "torch Tensor")
        (self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add)(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a child under that name."""
        self.admit(name, module, "_modules", Module | None, "")

    register_module = add_module

    # ---------------------------------------------------------------- the tree
    def named_modules(self, memo: Any = None, prefix: str = "", remove_duplicate: bool = True) -> Iterator[tuple[str, Module]]:
        """This module and all below it, with their names; each once."""
        seen = set() if memo is None else memo
        waiting: list[tuple[str, Module]] = [(prefix, self)]
        while waiting:
            name, module = waiting.pop()
            if module in seen:
                continue
            if remove_duplicate:
                seen.add(module)
            yield name, module
            dot = name + "." if name else ""
            waiting.extend((dot + n, m) for n, m in reversed(module._modules.items()) if m is not None)

    def modules(self) -> Iterator[Module]:
        """This module and all below it."""
        return (module for _, module in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules right below, with their names; each once."""
        seen: set[Module] = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        """The modules right below."""
        return (module for _, module in self.named_children())

    def members(self, home: str, prefix: str, *, recurse: bool, once: bool = True) -> Iterator[Any]:
        """What all modules below have in one of their dicts."""
        seen: set[int] = set()
        for name, module in self.named_modules(prefix=prefix, remove_duplicate=once) if recurse else [(prefix, self)]:
            for key, value in getattr(module, home).items():
                if value is None or (once and id(value) in seen):
                    continue
                seen.add(id(value))
                yield (name + "." if name else "") + key, value

    def named_parameters(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Iterator[Any]:
        """All parameters with their names."""
        return self.members("_parameters", prefix, recurse=recurse, once=remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """All parameters."""
        return (parameter for _, parameter in self.named_parameters(recurse=recurse))

    def named_buffers(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Iterator[Any]:
        """All buffers with their names."""
        return self.members("_buffers", prefix, recurse=recurse, once=remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """All buffers."""
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    def get_submodule(self, target: str) -> Module:
        """The module of that dotted name."""
        module: Any = self
        for part in target.split(".") if target else ():
            if not hasattr(module, part):
                raise AttributeError(f"{type(module).__name__} has no attribute `{part}`")
            module = getattr(module, part)
        return module  # type: ignore[no-any-return]

    def get_parameter(self, target: str) -> Any:
        """The parameter of that dotted name."""
        return self.get_submodule(target)

    def get_buffer(self, target: str) -> Any:
        """The buffer of that dotted name."""
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return module._buffers[name]

    # ---------------------------------------------------------------- state
    def state_dict(self, *, prefix: str = "", keep_vars: bool = False) -> OrderedDict[str, Tensor]:
        """Parameters and persistent buffers by name, detached."""
        found: OrderedDict[str, Tensor] = OrderedDict()
        for name, module in self.named_modules(prefix=prefix.removesuffix("."), remove_duplicate=False):
            dot = name + "." if name else ""
            kept = {k: v for k, v in module._buffers.items() if k not in module._non_persistent_buffers_set}
            for key, value in {**module._parameters, **kept}.items():
                if value is not None:
                    found[dot + key] = value if keep_vars else value.detach()
        vars(found)["_metadata"] = {}  # tells a state of today from one before batch norms counted
        return found

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> _IncompatibleKeys:
        """Copy values into parameters and buffers of the same names, or put them in their place (``assign``).

        Raises:
            TypeError: it is no dict.
            RuntimeError: names are missing or too many (if ``strict``), shapes differ, or a value is no tensor.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        own = self.state_dict(keep_vars=True)
        uncounted = not hasattr(state_dict, "_metadata")
        missing = [k for k in own if k not in state_dict and not (uncounted and k.endswith("num_batches_tracked"))]
        homes = {f"{name}.": i for i, (name, _) in enumerate(self.named_modules(remove_duplicate=False)) if name}
        places = [max((i for name, i in homes.items() if key.startswith(name)), default=0) for key in state_dict]
        named = sorted(zip(places, state_dict, strict=True), key=lambda pair: pair[0])  # as they are met, module by module
        unexpected = [key for _, key in named if key not in own]
        errors: list[str] = []
        for told, keys in (("Missing", missing), ("Unexpected", unexpected)):
            if strict and keys:
                errors.append(f"{told} key(s) in state_dict: " + ", ".join(f'"{k}"' for k in keys) + ". ")
        for key, tensor in own.items():
            if key in state_dict and (wrong := load_one(self, key, tensor, state_dict[key], assign=assign)):
                errors.append(wrong)
        if errors:
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t" + "\n\t".join(errors))
        return _IncompatibleKeys(missing, unexpected)

    def train(self, mode: bool = True) -> Self:
        """Set training mode, here and below."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")  # noqa: TRY004 - as PyTorch
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
            clear_gradient(parameter, to_none=set_to_none)

    def apply(self, fn: Callable[[Module], Any]) -> Self:
        """Call ``fn`` for every module below, then for this one."""
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Cast floating point parameters and buffers; a device can only be the CPU."""
        wanted = kwargs.get("dtype", next((arg for arg in args if isinstance(arg, dtypes.dtype)), None))
        if wanted is not None and not (wanted.is_floating_point or wanted.is_complex):
            raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={wanted}")
        for module in self.modules():
            for parameter in module._parameters.values():
                if parameter is not None and parameter.is_floating_point():
                    parameter.data = parameter.data.to(*args, **kwargs)
                    if parameter.grad is not None:
                        parameter.grad.data = parameter.grad.data.to(*args, **kwargs)
            for name, buffer in module._buffers.items():
                if buffer is not None and buffer.is_floating_point():
                    module._buffers[name] = buffer.to(*args, **kwargs)
        return self

    def cuda(self, device: Any = None) -> Self:
        """On the GPU, which is not there."""
        return self.to("cuda")

    double, float, half = cast("double", "float64"), cast("float", "float32"), cast("half", "float16")

    def type(self, dst_type: Any) -> Self:
        """In that type."""
        return self.to(dst_type)

    def cpu(self) -> Self:
        """Everything is on the CPU."""
        return self

    # ---------------------------------------------------------------- text
    def extra_repr(self) -> str:
        """What stands in the brackets."""
        return ""

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        """As PyTorch prints it: one child per line, indented."""
        extra = self.extra_repr().split("\n") if self.extra_repr() else []
        return bracketed(self._get_name(), extra, [(key, repr(module)) for key, module in self._modules.items()])


def bracketed(name: str, extra: list[str], children: list[tuple[str, str]]) -> str:
    """``Name(...)`` with what is inside, as PyTorch breaks and indents it."""
    lines = [f"({key}): " + text.replace("\n", "\n  ") for key, text in children]
    if not lines and len(extra) <= 1:
        return f"{name}({''.join(extra)})"
    return f"{name}(\n  " + "\n  ".join(extra + lines) + "\n)"


def load_one(module: Module, key: str, tensor: Tensor, given: Any, *, assign: bool) -> str:
    """Copy, or assign, one value of a state; what is wrong with it, if anything."""
    if not isinstance(given, Tensor):
        wanted = "expected torch.Tensor or Tensor-like object from checkpoint"
        return f'While copying the parameter named "{key}", {wanted} but received {type(given)}'
    if (tensor._array.shape, given._array.shape) == ((), (1,)):
        given = given[0]  # type: ignore[index]
    if given._array.shape != tensor._array.shape:
        return (
            f"size mismatch for {key}: copying a param with shape {given.shape} from checkpoint, "
            f"the shape in current model is {tensor.shape}."
        )
    if not assign:
        with no_grad():
            tensor.copy_(given)  # type: ignore[attr-defined]
        return ""
    if isinstance(tensor, Parameter):
        flag = tensor.requires_grad
        given = given.requires_grad_(flag) if isinstance(given, Parameter) else Parameter(given, flag)
    owner, _, name = key.rpartition(".")
    setattr(module.get_submodule(owner), name, given)
    return ""


def clear_gradient(tensor: Tensor, *, to_none: bool) -> None:
    """Forget a gradient, or fill it with zeros (out of its graph)."""
    rare = tensor._rare
    if rare is None or rare.grad is None:
        return
    if to_none:
        rare.grad = None
        return
    if rare.grad.grad_fn is not None:
        rare.grad.detach_()
    with no_grad():
        rare.grad.zero_()  # type: ignore[attr-defined]
