"""Variables, whose values live in a session, and the optimiser that changes them."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn

from gviz.static.branches import cond
from gviz.static.convert import convert, make
from gviz.static.dtypes import as_dtype
from gviz.static.gradients import gradients
from gviz.static.graph import Operation, Tensor, get_default_graph
from gviz.static.operations import group, install

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gviz.static.session import Session

__all__ = ["FUNCTIONS", "GradientDescentOptimizer", "Variable"]

GLOBAL, TRAINABLE = "variables", "trainable_variables"


class Variable:
    """A tensor that keeps its value from run to run.

    Args:
        initial_value: its first value, which ``global_variables_initializer`` gives it; a function of none is called for it.
        trainable: whether optimisers change it.
        name: of the operation.
        dtype: of its elements.
        shape: accepted, as its first value has one.
    """

    __array_priority__ = 100

    def __init__(
        self, initial_value: Any = None, trainable: bool = True, collections: Any = None, validate_shape: bool = True,
        caching_device: Any = None, name: str | None = None, dtype: Any = None, shape: Any = None, **ignored: Any,
    ) -> None:  # fmt: skip
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        graph = get_default_graph()
        kind = None if dtype is None else as_dtype(dtype)
        with graph.name_scope(name or "Variable") as scope:
            given = initial_value() if callable(initial_value) else initial_value
            self._initial = convert(given, kind, "initial_value")
            own = self._initial.dtype.base_dtype
            self._ref = make("VariableV2", (), scope, dtype=own, shape=self._initial.shape.dims)
            self.initializer: Operation = make("Assign", [self._ref, self._initial], "Assign").op
            self._read = make("Identity", [self._ref], "read")
        graph.add_to_collection(GLOBAL, self)
        if trainable:
            graph.add_to_collection(TRAINABLE, self)

    name, op, graph, dtype, shape, get_shape = (  # its own tensor's
        property(attrgetter(f"_ref.{name}")) for name in ("name", "op", "graph", "dtype", "shape", "get_shape")
    )
    initial_value = property(attrgetter("_initial"))

    def value(self) -> Tensor:
        """What it holds, as a tensor."""
        return self._read

    def read_value(self) -> Tensor:
        """What it holds when this tensor is computed: after what ``control_dependencies`` asks for."""
        return make("Identity", [self._ref], "read")

    def initialized_value(self) -> Tensor:
        """What it holds, or its first value where it was not initialised."""
        ready = make("IsVariableInitialized", [self._ref])
        found: Tensor = cond(ready, self.read_value, lambda: self._initial)
        return found

    def eval(self, session: Session | None = None) -> Any:
        """Its value in the given session, else in the default one."""
        return self._ref.eval(session=session)

    def assign(self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Tensor:
        """A tensor that gives it another value when it is run."""
        return assign(self, value, name=name)

    def assign_add(self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Tensor:
        """A tensor that adds to it when it is run."""
        return assign_add(self, delta, name=name)

    def assign_sub(self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Tensor:
        """A tensor that subtracts from it when it is run."""
        return assign_sub(self, delta, name=name)

    def load(self, value: Any, session: Session | None = None) -> None:
        """Give it a value in a session, at once."""
        from gviz.static.session import session_for

        session_for(session, "load variable", "load()", "load").run(self.initializer, {self._initial: value})

    def __iter__(self) -> NoReturn:
        raise TypeError("'Variable' object is not iterable.")

    def __repr__(self) -> str:
        return f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}>"


install(Variable)


def changing(type: str) -> Any:
    """``assign``, ``assign_add`` and ``assign_sub``."""

    def build(ref: Any, value: Any, validate_shape: Any = None, use_locking: Any = None, name: str | None = None) -> Tensor:
        target: Tensor = getattr(ref, "_ref", ref)
        if not target.dtype.is_ref:
            raise AttributeError(
                f"'SymbolicTensor' object has no attribute '{type.lower().replace('assign', 'assign_').rstrip('_')}'"
            )
        graph = target.graph
        with graph.as_default(), graph.name_scope(name or type) as scope:
            given = None if isinstance(getattr(value, "_read", value), Tensor) else target.dtype.base_dtype
            found = convert(value, given, "value")
            if found.dtype.base_dtype != target.dtype.base_dtype:
                raise TypeError(
                    f"Input 'value' of '{type}' Op has type {found.dtype.base_dtype.name} that does not match type "
                    f"{target.dtype.base_dtype.name} of argument 'ref'."
                )
            return make(type, [target, found], scope)

    return build


assign, assign_add, assign_sub = changing("Assign"), changing("AssignAdd"), changing("AssignSub")


def get_variable(
    name: str, shape: Any = None, dtype: Any = None, initializer: Any = None, trainable: bool = True, **ignored: Any
) -> Variable:
    """A new variable of that name; ValueError where there is one, or no first value."""
    graph = get_default_graph()
    whole = graph.names.scope + name
    if any(v.op.name == whole for v in global_variables()):
        raise ValueError(
            f"Variable {whole} already exists, disallowed. Did you mean to set reuse=True or reuse=tf.AUTO_REUSE in VarScope?"
        )
    if initializer is None:
        raise ValueError(
            f"Variable {whole}: gviz draws no first values of its own; give initializer=, a value or a function of a shape"
        )
    first = initializer(shape) if callable(initializer) else initializer
    return Variable(first, trainable=trainable, name=name, dtype=dtype)


def global_variables() -> list[Variable]:
    """All variables of the default graph."""
    return get_default_graph().get_collection(GLOBAL)


def trainable_variables() -> list[Variable]:
    """Those that optimisers change."""
    return get_default_graph().get_collection(TRAINABLE)


def variables_initializer(var_list: Sequence[Variable], name: str = "init") -> Operation:
    """An operation that gives variables their first values."""
    return group(*(v.initializer for v in var_list), name=name)


def global_variables_initializer() -> Operation:
    """An operation that gives all variables their first values."""
    return variables_initializer(global_variables())


FUNCTIONS = {
    "assign": assign, "assign_add": assign_add, "assign_sub": assign_sub, "get_variable": get_variable,
    "global_variables": global_variables, "trainable_variables": trainable_variables,
    "variables_initializer": variables_initializer, "global_variables_initializer": global_variables_initializer,
    "initialize_all_variables": global_variables_initializer,
}  # fmt: skip


class GradientDescentOptimizer:
    """``w -= learning_rate * gradient``.

    Args:
        learning_rate: a number or a tensor.
        use_locking: accepted.
        name: of the operations.
    """

    def __init__(self, learning_rate: Any, use_locking: bool = False, name: str = "GradientDescent") -> None:
        self._rate, self._name = learning_rate, name

    def minimize(
        self, loss: Tensor, global_step: Any = None, var_list: Any = None, gate_gradients: Any = None,
        aggregation_method: Any = None, colocate_gradients_with_ops: bool = False, name: str | None = None,
        grad_loss: Any = None,
    ) -> Operation:  # fmt: skip
        """An operation that takes one step down; ValueError where no variable has a gradient."""
        return self.apply_gradients(self.compute_gradients(loss, var_list, grad_loss=grad_loss), global_step, name)

    def compute_gradients(
        self, loss: Tensor, var_list: Any = None, grad_loss: Any = None, **ignored: Any
    ) -> list[tuple[Any, Variable]]:
        """(gradient, variable) for each variable; ValueError where there are no variables."""
        with loss.graph.as_default():
            variables = list(var_list) if var_list is not None else trainable_variables()
        if not variables:
            raise ValueError("No variables to optimize.")
        return list(zip(gradients(loss, variables, grad_loss), variables, strict=True))

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Operation:
        """An operation that changes each variable by its gradient; ValueError where none has one."""
        pairs = list(grads_and_vars)
        with_gradient = [(g, v) for g, v in pairs if g is not None]
        if not with_gradient:
            raise ValueError(
                "No gradients provided for any variable, check your graph for ops that do not support gradients, between "
                f"variables {[str(v) for _, v in pairs]} and the loss."
            )
        graph = with_gradient[0][1].graph
        updates = []
        with graph.as_default(), graph.name_scope(name or self._name) as scope:
            rate = convert(self._rate, None, "learning_rate")
            for grad, variable in with_gradient:
                with graph.name_scope(f"update_{variable.op.name}"):
                    updates.append(make("ApplyGradientDescent", [variable._ref, rate, grad]).op)
            if global_step is None:
                return group(*updates, name=scope)
            with graph.control_dependencies([group(*updates, name="update")]):
                step: Tensor = assign_add(global_step, 1, name=scope)
                return step.op
