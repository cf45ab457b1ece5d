"""``torch.fx.node``: one operation of a traced program, with the nodes that it takes as arguments.

Source: https://docs.pytorch.org/docs/2.13/fx.html
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable
from typing import Any, TypeAlias

from gviz.numbers.words import absent, refuse
from gviz.signatures.names import NATIVE_FUNCTIONS, Name

__all__ = ["Argument", "Node", "Target", "has_side_effect", "map_aggregate", "map_arg"]

Argument: TypeAlias = Any
Target: TypeAlias = Any
"""What a node may have as an argument, and what it may call: annotations of users' own interpreters name them."""

OPERATIONS = ("placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root")
SPACES = {"torch": "torch", "F": "torch.nn.functional", "linalg": "torch._C._linalg", "special": "torch._C._special"}
IN_PYTHON = {
    "align_tensors", "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_shapes", "broadcast_tensors",
    "cartesian_prod", "cdist", "einsum", "meshgrid", "norm", "split", "stft", "tensordot", "unique",
    "unique_consecutive",
}  # fmt: skip
"""The functions of ``torch`` that PyTorch has in ``torch.functional``."""

SIDE_EFFECTS: set[Any] = set()
"""Functions whose nodes stay though nobody uses their results."""


def has_side_effect(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Say that nodes of a function stay, though nobody uses their results; return it, so that it may be a decorator."""
    SIDE_EFFECTS.add(fn)
    return fn


def map_aggregate(a: Argument, fn: Callable[[Any], Any]) -> Any:
    """Return nested tuples, lists, dicts and slices with a function of each thing in them."""
    if isinstance(a, tuple):
        parts = [map_aggregate(one, fn) for one in a]
        return type(a)(*parts) if hasattr(a, "_fields") else tuple(parts)
    if isinstance(a, list):
        return [map_aggregate(one, fn) for one in a]
    if isinstance(a, dict):
        return {key: map_aggregate(value, fn) for key, value in a.items()}
    if isinstance(a, slice):
        return slice(*(map_aggregate(one, fn) for one in (a.start, a.stop, a.step)))
    return fn(a)


def map_arg(a: Argument, fn: Callable[[Node], Any]) -> Any:
    """Return nested arguments with a function of each node in them."""
    return map_aggregate(a, lambda one: fn(one) if isinstance(one, Node) else one)


def own_space(name: Name) -> str:
    """Return the module that PyTorch has a function of the table in."""
    if name.space == "torch" and name.base in IN_PYTHON:
        return "torch.functional"
    if name.space == "F" and name.base in NATIVE_FUNCTIONS:
        from gviz import engine

        return "torch" if name.base in vars(engine) else "torch._C._nn"
    return SPACES.get(name.space, f"torch.{name.space}")


def qualified_name(function: Argument) -> str:
    """Return the dotted name of a function: ``torch.relu``, ``torch.nn.functional.dropout``, ``operator.add``."""
    public: Argument = getattr(function, "public", None)
    if isinstance(public, Name):
        space = own_space(public)
        return f"{space}.{public.qualified if space.startswith('torch._C._') else public.base}"
    name = str(function.__name__)
    if getattr(builtins, name, None) is function:
        return name
    refuse(function.__module__ is None, f"cannot find module for {function}")
    home = function.__module__.replace("_operator", "operator").replace("gviz.engine.settings", "torch")
    return f"{home.replace('gviz.engine', 'torch')}.{name}"


class Node:
    """One operation of a graph: what kind it is, what is called, and with what.

    ``op`` is ``placeholder``, ``get_attr``, ``call_function``, ``call_module``, ``call_method`` or ``output``.
    """

    __module__ = "torch.fx.node"

    def __init__(
        self,
        graph: object,
        name: str,
        op: str,
        target: Target,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        return_type: Argument = None,
    ) -> None:
        refuse(op not in OPERATIONS, f"op '{op}' is not in _legal_ops", AssertionError)
        is_right, wanted = (callable(target), "Callable") if op == "call_function" else (isinstance(target, str), "str")
        if not is_right:
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type {type(target)} but a {wanted} is "
                "expected"
            )
        self.graph, self.name, self.op, self.target, self.type = graph, name, op, target, return_type
        self.users: dict[Node, None] = {}
        self.meta: dict[str, Any] = {}
        self._prev = self._next = self
        self._erased = False
        self._inputs: dict[Node, None] = {}
        self._args: tuple[Any, ...] = ()
        self._kwargs: dict[str, Any] = {}
        self._set(args, kwargs)

    def _set(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Take these arguments, and tell the nodes in them."""
        for old in self._inputs:
            old.users.pop(self, None)
        self._args, self._kwargs = map_aggregate(tuple(args), lambda one: one), dict(kwargs)
        self._inputs = {}
        map_arg((self._args, self._kwargs), self._inputs.setdefault)
        for new in self._inputs:
            new.users[self] = None

    args: Any = property(
        lambda self: self._args,
        lambda self, value: self._set(value, self._kwargs),
        doc="The arguments; nodes stand for their results.",
    )
    kwargs: Any = property(
        lambda self: self._kwargs, lambda self, value: self._set(self._args, value), doc="The arguments by name."
    )
    next: Any = property(lambda self: self._next, doc="The node after this one in its graph.")
    prev: Any = property(lambda self: self._prev, doc="The node before this one in its graph.")
    all_input_nodes: Any = property(
        lambda self: list(self._inputs), doc="The nodes that its arguments have, each once, in their order."
    )
    stack_trace: Any = property(
        lambda self: self.meta.get("stack_trace"), doc="Where the program has called it, if that was recorded."
    )

    def prepend(self, x: Node) -> None:
        """Move a node of this graph to the place before this one."""
        refuse(self.graph is not x.graph, "Attempting to move a Node into a different Graph", AssertionError)
        if self is x:
            return
        x._unlink()
        before = self._prev
        before._next, x._prev, x._next, self._prev = x, before, self, x

    def append(self, x: Node) -> None:
        """Move a node of this graph to the place after this one."""
        self._next.prepend(x)

    def _unlink(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev

    def update_arg(self, idx: int, arg: Argument) -> None:
        """Replace one argument."""
        self.args = (*self.args[:idx], arg, *self.args[idx + 1 :])

    def insert_arg(self, idx: int, arg: Argument) -> None:
        """Insert an argument."""
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key: str, arg: Argument) -> None:
        """Replace an argument of that name."""
        self.kwargs = {**self.kwargs, key: arg}

    def replace_all_uses_with(
        self,
        replace_with: Node,
        delete_user_cb: Callable[[Node], bool] = lambda user: True,
        *,
        propagate_meta: bool = False,
    ) -> list[Node]:
        """Let all users of this node use another one; return those that do now."""
        if propagate_meta:
            replace_with.meta.update(self.meta)
        changed = [user for user in self.users if delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Let this node use another one in place of one of its arguments."""
        args, kwargs = map_arg((self.args, self.kwargs), lambda one: new_input if one is old_input else one)
        self._set(args, kwargs)

    def is_impure(self, impure_random: bool = True) -> bool:
        """Return whether it has an effect besides its result, so that it must stay."""
        return self.op in ("placeholder", "output") or (
            self.op == "call_function" and (self.target in SIDE_EFFECTS or self.target.__name__ == "_assert")
        )

    def format_node(self, placeholder_names: list[str] | None = None, maybe_return_typename: Argument = None) -> str:
        """Return the line that the graph is printed with."""
        if self.op == "placeholder":
            shown = f"%{self.name} : {annotation(self.type)}[num_users={len(self.users)}] = placeholder"
            return f"{shown}[target={self.target}]" + (f"(default={self.args[0]})" if self.args else "")
        if self.op == "output":
            return f"return {self.args[0]}"
        target = self.target if isinstance(self.target, str) else shown_name(self.target)
        line = f"%{self.name} : {annotation(self.type)}[num_users={len(self.users)}] = {self.op}[target={target}]"
        if self.op == "get_attr":
            return line
        return f"{line}(args = {argument_text(self.args)}, kwargs = {argument_text(self.kwargs)})"

    def __repr__(self) -> str:
        return self.name


def found(
    root: object,
    target: str,
    words: str = "'{kind}' object has no attribute '{part}'",
    error: type[Exception] = AttributeError,
) -> Any:
    """Return what a module has under a dotted name; refuse one that is not there, in these words."""
    parts = target.split(".")
    for i, part in enumerate(parts):
        text = words.format(kind=type(root).__name__, part=part, path=".".join(parts[: i + 1]))
        refuse(not hasattr(root, part), text, error)
        root = getattr(root, part)
    return root


def shown_name(function: Argument) -> str:
    """Return a function's name as a graph shows it: those of Python say that they are builtins."""
    name = qualified_name(function)
    return (
        name if "." in name else f"operator.{name}" if getattr(operator, name, None) is function else f"builtins.{name}"
    )


def annotation(kind: Argument) -> str:
    """Return a type as it stands in a line, if there is one."""
    return f"{type_text(kind)} " if kind else ""


def type_text(kind: Argument) -> str:
    """Return the name of a type: ``int``, ``torch.Tensor``."""
    if isinstance(kind, type) and not hasattr(kind, "__origin__"):
        return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    return str(kind)


def argument_text(arg: Argument) -> str:
    """Return arguments with a % before each node."""
    if isinstance(arg, list):
        return f"[{', '.join(map(argument_text, arg))}]"
    if isinstance(arg, tuple):
        return f"({', '.join(map(argument_text, arg))}{',' * (len(arg) == 1)})"
    if isinstance(arg, dict):
        return "{" + ", ".join(f"{key}: {argument_text(value)}" for key, value in arg.items()) + "}"
    return f"%{arg}" if isinstance(arg, Node) else str(arg)


__getattr__ = absent("torch.fx.node")
