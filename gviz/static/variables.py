"""Variables, whose values live in a session, and the optimiser that changes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from operator import attrgetter
from typing import Any

from gviz.numbers.words import refuse
from gviz.static.build import apply, check_others, convert, make
from gviz.static.control import cond
from gviz.static.functions import group, install_operators
from gviz.static.gradients import gradients
from gviz.static.graph import Operation, Tensor, TensorLike, get_default_graph
from gviz.static.session import Session
from gviz.static.types import ArrayLike, DTypeLike

GLOBAL, TRAINABLE = "variables", "trainable_variables"
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
            self._initial = convert(
                initial_value() if callable(initial_value) else initial_value, dtype, "initial_value"
            )
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
        value: Tensor = cond(make("IsVariableInitialized", [self._ref]), self.read_value, lambda: self._initial)
        return value

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


def get_variable(
    name: str,
    shape: Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    initializer: Callable[..., TensorLike] | TensorLike = None,
    trainable: bool | None = True,
    **others: object,
) -> Variable:
    """Return a new variable of that name; ValueError if there is one, or no first value."""
    collections: Any = others.pop("collections", None)
    check_others("tf.get_variable", others, regularizer=None, partitioner=None, custom_getter=None, **UNUSED)
    whole = get_default_graph().scope + name
    refuse(
        any(v.op.name == whole for v in variables_of(GLOBAL)),
        f"Variable {whole} already exists, disallowed. Give another name",
        ValueError,
    )
    refuse(
        initializer is None,
        f"Variable {whole} has no first value: give initializer=, a value or a function of a shape",
        ValueError,
    )
    first = initializer(shape) if callable(initializer) else initializer
    return Variable(first, trainable, collections, name=name, dtype=dtype)


def variables_of(collection: str, scope: str | None = None) -> list[Variable]:
    """Return the variables of the default graph that are in a collection, and in a scope."""
    return get_default_graph().get_collection(collection, scope)


def variables_initializer(var_list: Iterable[Variable], name: str = "init") -> Operation:
    """Return an operation that gives variables their first values."""
    return group(*(v.initializer for v in var_list), name=name)


FUNCTIONS: dict[str, Any] = {
    **ASSIGNING, "assign": assign, "get_variable": get_variable, "variables_initializer": variables_initializer,
    "global_variables": partial(variables_of, GLOBAL), "trainable_variables": partial(variables_of, TRAINABLE),
    **dict.fromkeys(
        ("global_variables_initializer", "initialize_all_variables"), lambda: variables_initializer(variables_of(GLOBAL))
    ),
}  # fmt: skip


class GradientDescentOptimizer:
    """``w -= learning_rate * gradient``; the learning rate is a number or a tensor."""

    def __init__(self, learning_rate: TensorLike, use_locking: bool = False, name: str = "GradientDescent") -> None:
        self._rate, self._name = learning_rate, name

    def minimize(
        self,
        loss: Tensor,
        global_step: Variable | None = None,
        var_list: Iterable[Variable] | None = None,
        gate_gradients: int = 1,
        aggregation_method: object = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: TensorLike = None,
    ) -> Operation:
        """Return an operation that takes one step down; ValueError if no variable has a gradient."""
        return self.apply_gradients(self.compute_gradients(loss, var_list, grad_loss=grad_loss), global_step, name)

    def compute_gradients(
        self,
        loss: Tensor,
        var_list: Iterable[Variable] | None = None,
        gate_gradients: int = 1,
        aggregation_method: object = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: TensorLike = None,
    ) -> list[tuple[Tensor | None, Variable]]:
        """Return (gradient, variable) for each variable."""
        with loss.graph.as_default():
            variables = list(variables_of(TRAINABLE) if var_list is None else var_list)
        return list(zip(gradients(loss, variables, grad_loss), variables, strict=True))

    def apply_gradients(
        self,
        grads_and_vars: Iterable[tuple[Tensor | None, Variable]],
        global_step: Variable | None = None,
        name: str | None = None,
        **others: object,
    ) -> Operation:
        """Return an operation that changes each variable by its gradient; ValueError if none has one."""
        check_others("tf.train.Optimizer.apply_gradients", others, skip_gradients_aggregation=True)
        pairs = list(grads_and_vars)
        changes = [(grad, variable) for grad, variable in pairs if grad is not None]
        if not changes:
            raise ValueError(
                f"No gradients provided for any variable, "
                f"check your graph for ops that do not support gradients, between variables "
                f"{[str(v) for _, v in pairs]} and the loss."
            )
        graph = changes[0][0].graph
        with graph.as_default(), graph.name_scope(name or self._name) as scope:
            rate, updates = convert(self._rate, None, "learning_rate"), []
            for grad, variable in changes:
                with graph.name_scope(f"update_{variable.op.name}"):
                    updates.append(make("ApplyGradientDescent", [variable._ref, rate, grad]).op)
            if global_step is None:
                return group(*updates, name=scope)
            with graph.control_dependencies([group(*updates, name="update")]):
                return ASSIGNING["assign_add"](global_step, 1, name=scope).op
