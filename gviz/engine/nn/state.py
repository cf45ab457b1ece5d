"""The state of a module: its parameters and buffers by name, saved and loaded, with the hooks around both.

Source: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Module.html#torch.nn.Module.state_dict
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from gviz.autograd.hooks import RemovableHandle, append
from gviz.autograd.modes import no_grad
from gviz.autograd.tensor import Tensor
from gviz.engine.nn.hooks import Hooks
from gviz.engine.nn.parameter import Parameter
from gviz.numbers.words import refuse, warn

EXTRA = "_extra_state"
"""The name under which a state has what ``get_extra_state`` returns."""


NOTHING_COPIED = (
    "for {}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current model, which is a "
    "no-op. (Did you mean to pass `assign=True` to assign items in the state dictionary to their corresponding key in "
    "the module instead of copying them in place?)"
)


class _IncompatibleKeys(
    NamedTuple("_IncompatibleKeys", [("missing_keys", "list[str]"), ("unexpected_keys", "list[str]")])
):
    """Names that ``load_state_dict`` missed, and those that it had no place for."""

    __slots__ = ()
    __module__ = "torch.nn.modules.module"

    def __repr__(self) -> str:
        return super().__repr__() if any(self) else "<All keys matched successfully>"


class State(Hooks):
    """The part of a module that saves and loads its state."""

    _version = 1
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]

    # ---------------------------------------------------------------- hooks
    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, prefix, keep_vars)`` before the state is saved."""
        return append(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata)`` with the state, which it may change."""
        return append(self._state_dict_hooks, hook)

    _register_state_dict_hook = register_state_dict_post_hook

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, ...)`` with the arguments of ``_load_from_state_dict`` before it loads."""
        return append(self._load_state_dict_pre_hooks, hook)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        return append(self._load_state_dict_pre_hooks, hook if with_module else lambda _, *args: hook(*args))

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, incompatible_keys)`` when the module and those below it have loaded."""
        return append(self._load_state_dict_post_hooks, hook)

    def get_extra_state(self) -> Any:
        """Return what the state has beside tensors; to be written by the subclass."""
        raise NotImplementedError

    def set_extra_state(self, state: object) -> None:
        """Take what ``get_extra_state`` returned; to be written by the subclass."""
        raise NotImplementedError

    # ---------------------------------------------------------------- saving
    def state_dict(
        self, *, destination: OrderedDict[str, Any] | None = None, prefix: str = "", keep_vars: bool = False
    ) -> OrderedDict[str, Any]:
        """Return parameters and persistent buffers by name, detached."""
        state: OrderedDict[str, Any] = OrderedDict() if destination is None else destination
        if destination is None:
            vars(state)["_metadata"] = OrderedDict()
        local_metadata = {"version": self._version}
        getattr(state, "_metadata", {})[prefix[:-1]] = local_metadata
        for hook in self._state_dict_pre_hooks:
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(state, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=state, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks:
            replacement = hook(self, state, prefix, local_metadata)
            state = state if replacement is None else replacement
        return state

    def _own_state_(self) -> dict[str, Any]:
        return {
            name: tensor
            for name, tensor in {**self._parameters, **self._buffers}.items()
            if tensor is not None and name not in self._non_persistent_buffers_set
        }

    def _save_to_state_dict(self, destination: OrderedDict[str, Any], prefix: str, keep_vars: bool) -> None:
        for name, tensor in self._own_state_().items():
            destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if type(self).get_extra_state is not State.get_extra_state:
            destination[prefix + EXTRA] = self.get_extra_state()

    # ---------------------------------------------------------------- loading
    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copy values into parameters and buffers of the same names, or put them in their place (``assign``)."""
        refuse(
            not isinstance(state_dict, Mapping),
            f"Expected state_dict to be dict-like, got {type(state_dict)}.",
            TypeError,
        )
        errors, keys = list[str](), _IncompatibleKeys([], [])
        self._load_tree_(OrderedDict(state_dict), "", getattr(state_dict, "_metadata", {}), assign, keys, errors)
        errors = [
            f"{what} key(s) in state_dict: {str(names)[1:-1]}. ".replace("'", '"')
            for what, names in (("Missing", keys.missing_keys), ("Unexpected", keys.unexpected_keys))
            if strict and names
        ] + errors
        refuse(errors, f"Error(s) in loading state_dict for {type(self).__name__}:\n\t" + "\n\t".join(errors))
        return keys

    def _load_tree_(
        self,
        state: dict[str, Any],
        prefix: str,
        metadata: Mapping[str, Any],
        assign: bool,
        keys: _IncompatibleKeys,
        errors: list[str],
    ) -> None:
        """Load this module, then those below it, each from its part of the state."""
        local_metadata = dict(metadata.get(prefix[:-1], {}))
        if assign:
            local_metadata["assign_to_params_buffers"] = True
        self._load_from_state_dict(state, prefix, local_metadata, True, *keys, errors)
        for name, module in self._modules.items():
            if module is not None:
                start = f"{prefix}{name}."
                part = {key: value for key, value in state.items() if key.startswith(start)}
                module._load_tree_(part, start, metadata, assign, keys, errors)
        for hook in self._load_state_dict_post_hooks:
            refuse(
                hook(self, keys) is not None,
                "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new values, "
                "if incompatible_keys need to be modified, it should be done inplace.",
                AssertionError,
            )

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        for hook in self._load_state_dict_pre_hooks:
            hook(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        own, takes_extra = self._own_state_(), type(self).set_extra_state is not State.set_extra_state
        is_uncounted = local_metadata.get("version", 1) < 2  # of a time when batch norms did not count
        for name, tensor in own.items():
            key = prefix + name
            if key in state_dict:
                is_put = "assign_to_params_buffers" in local_metadata
                if error := load(self, name, key, tensor, state_dict[key], is_put):
                    error_msgs.append(error)
            elif not (is_uncounted and name == "num_batches_tracked"):
                missing_keys.append(key)
        if takes_extra:
            if prefix + EXTRA in state_dict:
                self.set_extra_state(state_dict[prefix + EXTRA])
            else:
                missing_keys.append(prefix + EXTRA)
        for key in state_dict:
            name, dot, _ = key.removeprefix(prefix).partition(".")
            if name not in (self._modules if dot else own) and not (takes_extra and name == EXTRA):
                unexpected_keys.append(key)


def load(module: State, name: str, key: str, tensor: Tensor, value: object, assign: bool) -> str:
    """Copy, or assign, one value of a state; return what is wrong with it, if anything."""
    if not isinstance(value, Tensor):
        return (
            f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from checkpoint '
            f"but received {type(value)}"
        )
    if hasattr(tensor, "materialize"):  # it has no shape so far
        if hasattr(value, "materialize"):
            return ""
        tensor.materialize(value.shape)
    if value.shape != tensor.shape:
        return (
            f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, the shape in current "
            f"model is {tensor.shape}."
        )
    if not assign:
        if tensor.is_meta and not value.is_meta:
            warn(NOTHING_COPIED.format(key))
        try:
            with no_grad():
                tensor.copy_(value)
        except NotImplementedError as error:
            return (
                f'While copying the parameter named "{key}", whose dimensions in the model are {tensor.shape} and '
                f"whose dimensions in the checkpoint are {value.shape}, an exception occurred : {error.args}."
            )
        return ""
    if isinstance(tensor, Parameter):
        flag = tensor.requires_grad
        value = value.requires_grad_(flag) if isinstance(value, Parameter) else Parameter(value, flag)
    setattr(module, name, value)
    return ""


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Take a prefix off the names of a state, in place, such as the ``module.`` of a parallel one."""
    for key in [key for key in state_dict if key.startswith(prefix)]:
        state_dict[key.removeprefix(prefix)] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", {})
    for key in [key for key in metadata if f"{key}.".startswith(prefix)]:
        metadata[key[len(prefix) :]] = metadata.pop(key)
