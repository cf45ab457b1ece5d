"""Variables, whose values live in a session."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from operator import attrgetter
from typing import Any

from gviz.numbers.words import refuse
from gviz.static.build import apply, check_others, convert, make
from gviz.static.control import cond
from gviz.static.functions import group, install_operators
from gviz.static.graph import Operation, Tensor, TensorLike, get_default_graph
from gviz.static.session import Session
from gviz.static.types import ArrayLike, DTypeLike

GLOBAL, TRAINABLE, LOCAL = "variables", "trainable_variables", "local_variables"
UNUSED = {
    **dict.fromkeys(("caching_device", "variable_def", "expected_shape", "import_scope", "constraint", "shape")),
    **dict.fromkeys(("use_resource", "synchronization", "aggregation")), "validate_shape": True,
}  # fmt: skip
"""Arguments of TensorFlow's variables that gviz has no use for, with their defaults."""


class Variable:
    """A tensor that keeps its value from run to run.

    Args:
        initial_value: its first value, which ``global_variables_initializer`` gives it, or a function that returns it.
        trainable: whether optimisers change it; None is True.
        collections: the graph's collections that have it besides the trainable ones; None for that of all variables.
        name: of the operation.
        dtype: of its elements.
    """

    __array_priority__ = 100

    def __init__(
        self,
        initial_value: TensorLike | Callable[[], TensorLike],
        trainable: bool | None = True,
        collections: Iterable[str] | None = None,
        *,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        **others: object,
    ) -> None:
        check_others("tf.Variable", others, **UNUSED)
        graph = get_default_graph()
        with graph.name_scope(name or "Variable") as scope:
            if callable(initial_value):
                with graph.name_scope("Initializer"):
                    initial_value = initial_value()
            self._initial = convert(initial_value, dtype, "initial_value")
            first = self._initial
            self._ref = make("VariableV2", (), scope, dtype=first.dtype.base_dtype, shape=first._dims)
            self.initializer = make("Assign", [self._ref, self._initial], "Assign").op
            self._read = make("Identity", [self._ref], "read")
        for collection in ([GLOBAL] if collections is None else collections, [TRAINABLE] * (trainable is not False)):
            for key in collection:
                graph.add_to_collection(key, self)

    name, op, graph, dtype, shape, get_shape = (  # its own tensor's
        property(attrgetter(f"_ref.{name}")) for name in ("name", "op", "graph", "dtype", "shape", "get_shape")
    )
    initial_value = property(attrgetter("_initial"))

    def value(self) -> Tensor:
        """Return what it holds, as a tensor."""
        return self._read

    def read_value(self) -> Tensor:
        """Return what it holds when this tensor is computed: after what ``control_dependencies`` asks for."""
        return make("Identity", [self._ref], "read")

    def initialized_value(self) -> Tensor:
        """Return what it holds, or its first value if it was not initialised."""
        return cond(make("IsVariableInitialized", [self._ref]), self.read_value, lambda: self._initial)

    def eval(self, session: Session | None = None) -> Any:
        """Return its value in the given session, else in the default one."""
        return self._ref.eval(session=session)

    def load(self, value: ArrayLike, session: Session | None = None) -> None:
        """Give it a value in a session, at once."""
        self.initializer.run({self._initial: value}, session)

    __iter__ = None  # though it has items

    def __repr__(self) -> str:
        return f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}>"


def changing(type: str) -> Callable[..., Tensor]:
    """Return ``assign``, ``assign_add`` or ``assign_sub``: tensors that change a variable when they are run."""

    def build(ref: Any, value: TensorLike, use_locking: bool | None = False, name: str | None = None) -> Tensor:
        target: Tensor = getattr(ref, "_ref", ref)
        refuse(not target.dtype.is_ref, f"{type} changes a variable; {target} is not one", AttributeError)
        return apply(type, "ref value", [target, value], name)

    return build


install_operators(Variable)
ASSIGNING = {"assign": changing("Assign"), "assign_add": changing("AssignAdd"), "assign_sub": changing("AssignSub")}


def assign(
    ref: Variable,
    value: TensorLike,
    validate_shape: bool | None = None,
    use_locking: bool | None = None,
    name: str | None = None,
) -> Tensor:
    """Return a tensor that gives a variable a value when it is run."""
    refuse(validate_shape is False, "gviz has no validate_shape for tf.assign()", ValueError)
    return ASSIGNING["assign"](ref, value, use_locking, name)


def method(build: Callable[..., Tensor]) -> Callable[..., Tensor | Operation]:
    """Return a function that changes a variable as a method of it."""

    def change(
        self: Variable,
        value: TensorLike = None,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
        **delta: TensorLike,
    ) -> Tensor | Operation:
        check_others("tf.Variable.assign_add", {key: 0 for key in delta if key != "delta"})
        changed = build(self, delta.get("delta", value), use_locking, name)
        return changed if read_value else changed.op

    return change


for name, build in ASSIGNING.items():
    setattr(Variable, name, method(build))


def variables_of(collection: str, scope: str | None = None) -> list[Variable]:
    """Return the variables of the default graph that are in a collection, and in a scope."""
    return get_default_graph().get_collection(collection, scope)


def variables_initializer(var_list: Iterable[Variable], name: str = "init") -> Operation:
    """Return an operation that gives variables their first values."""
    return group(*(v.initializer for v in var_list), name=name)


FUNCTIONS: dict[str, Any] = {
    **ASSIGNING, "assign": assign,
    "is_variable_initialized": lambda variable: make("IsVariableInitialized", [variable._ref]),
    "variables_initializer": variables_initializer,
    "global_variables": partial(variables_of, GLOBAL), "trainable_variables": partial(variables_of, TRAINABLE),
    "local_variables": partial(variables_of, LOCAL),
    "local_variables_initializer": lambda: variables_initializer(variables_of(LOCAL)),
    **dict.fromkeys(
        ("global_variables_initializer", "initialize_all_variables"), lambda: variables_initializer(variables_of(GLOBAL))
    ),
}  # fmt: skip
