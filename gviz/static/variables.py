"""Variables, whose values live in a session, and the optimiser that changes them."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn

from gviz.static.build import convert, is_tensor, make
from gviz.static.control import cond
from gviz.static.functions import group, install
from gviz.static.gradients import gradients
from gviz.static.graph import Operation, Tensor, get_default_graph
from gviz.static.session import session_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gviz.static.session import Session

__all__ = ["FUNCTIONS", "GradientDescentOptimizer", "Variable"]

GLOBAL, TRAINABLE = "variables", "trainable_variables"


class Variable:
    """A tensor that keeps its value from run to run.

    Args:
        initial_value: its first value, which ``global_variables_initializer`` gives it, or a function that returns it.
        trainable: whether optimisers change it.
        name: of the operation.
        dtype: of its elements.
    """

    __array_priority__ = 100

    def __init__(
        self, initial_value: Any = None, trainable: bool = True, collections: Any = None, validate_shape: bool = True,
        caching_device: Any = None, name: str | None = None, dtype: Any = None, **ignored: Any,
    ) -> None:  # fmt: skip
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        graph = get_default_graph()
        with graph.name_scope(name or "Variable") as scope:
            first = initial_value() if callable(initial_value) else initial_value
            self._initial = convert(first, dtype, "initial_value")
            own = self._initial.dtype.base_dtype
            self._ref = make("VariableV2", (), scope, dtype=own, shape=self._initial.shape.dims)
            self.initializer: Operation = make("Assign", [self._ref, self._initial], "Assign").op
            self._read = make("Identity", [self._ref], "read")
        for collection in (GLOBAL, TRAINABLE) if trainable else (GLOBAL,):
            graph.add_to_collection(collection, self)

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
        """What it holds, or its first value where it was not initialised."""
        ready = make("IsVariableInitialized", [self._ref])
        found: Tensor = cond(ready, self.read_value, lambda: self._initial)
        return found

    def eval(self, session: Session | None = None) -> Any:
        """Return its value in the given session, else in the default one."""
        return self._ref.eval(session=session)

    def load(self, value: Any, session: Session | None = None) -> None:
        """Give it a value in a session, at once."""
        session_for(session, "load variable", "load").run(self.initializer, {self._initial: value})

    def __iter__(self) -> NoReturn:
        raise TypeError("'Variable' object is not iterable.")

    def __repr__(self) -> str:
        return f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}>"


def changing(type: str) -> Any:
    """Return ``assign``, ``assign_add`` or ``assign_sub``: tensors that change a variable when they are run."""

    def build(ref: Any, value: Any, use_locking: Any = None, name: str | None = None, **ignored: Any) -> Tensor:
        target: Tensor = getattr(ref, "_ref", ref)
        if not target.dtype.is_ref:
            method = type.lower().replace("assign", "assign_").rstrip("_")
            raise AttributeError(f"'SymbolicTensor' object has no attribute '{method}'")
        with target.graph.as_default(), target.graph.name_scope(name or type) as scope:
            dtype = target.dtype.base_dtype
            tensor = convert(value, None if is_tensor(value) else dtype, "value")
            if tensor.dtype.base_dtype != dtype:
                raise TypeError(
                    f"Input 'value' of '{type}' Op has type {tensor.dtype.base_dtype.name} that does not match type "
                    f"{dtype.name} of argument 'ref'."
                )
            return make(type, [target, tensor], scope)

    return build


install(Variable)
ASSIGNING = {"assign": changing("Assign"), "assign_add": changing("AssignAdd"), "assign_sub": changing("AssignSub")}
for name, build in ASSIGNING.items():
    setattr(Variable, name, build)


def get_variable(
    name: str, shape: Any = None, dtype: Any = None, initializer: Any = None, trainable: bool = True, **ignored: Any
) -> Variable:
    """Return a new variable of that name; ValueError if there is one, or no first value."""
    whole = get_default_graph().names.scope + name
    if any(v.op.name == whole for v in variables_of(GLOBAL)):
        mend = "Did you mean to set reuse=True or reuse=tf.AUTO_REUSE in VarScope?"
        raise ValueError(f"Variable {whole} already exists, disallowed. {mend}")
    if initializer is None:
        mend = "give initializer=, a value or a function of a shape"
        raise ValueError(f"Variable {whole}: gviz draws no first values of its own; {mend}")
    first = initializer(shape) if callable(initializer) else initializer
    return Variable(first, trainable=trainable, name=name, dtype=dtype)


def variables_of(collection: str) -> list[Variable]:
    """Return the variables of the default graph that are in a collection."""
    return get_default_graph().get_collection(collection)


def variables_initializer(var_list: Sequence[Variable], name: str = "init") -> Operation:
    """Return an operation that gives variables their first values."""
    return group(*(v.initializer for v in var_list), name=name)


FUNCTIONS: dict[str, Any] = {
    **ASSIGNING, "get_variable": get_variable, "variables_initializer": variables_initializer,
    "global_variables": lambda: variables_of(GLOBAL), "trainable_variables": lambda: variables_of(TRAINABLE),
    **dict.fromkeys(
        ("global_variables_initializer", "initialize_all_variables"), lambda: variables_initializer(variables_of(GLOBAL))
    ),
}  # fmt: skip


class GradientDescentOptimizer:
    """``w -= learning_rate * gradient``; the learning rate is a number or a tensor."""

    def __init__(self, learning_rate: Any, use_locking: bool = False, name: str = "GradientDescent") -> None:
        self._rate, self._name = learning_rate, name

    def minimize(
        self, loss: Tensor, global_step: Any = None, var_list: Any = None, gate_gradients: Any = None,
        aggregation_method: Any = None, colocate_gradients_with_ops: bool = False, name: str | None = None,
        grad_loss: Any = None,
    ) -> Operation:  # fmt: skip
        """Return an operation that takes one step down; ValueError if no variable has a gradient."""
        return self.apply_gradients(self.compute_gradients(loss, var_list, grad_loss=grad_loss), global_step, name)

    def compute_gradients(
        self, loss: Tensor, var_list: Any = None, grad_loss: Any = None, **ignored: Any
    ) -> list[tuple[Any, Variable]]:
        """Return (gradient, variable) for each variable; ValueError if there are no variables."""
        with loss.graph.as_default():
            variables = list(var_list) if var_list is not None else variables_of(TRAINABLE)
        if not variables:
            raise ValueError("No variables to optimize.")
        return list(zip(gradients(loss, variables, grad_loss), variables, strict=True))

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Operation:
        """Return an operation that changes each variable by its gradient; ValueError if none has one."""
        pairs = list(grads_and_vars)
        with_gradient = [(g, v) for g, v in pairs if g is not None]
        if not with_gradient:
            why = "check your graph for ops that do not support gradients, between variables"
            raise ValueError(f"No gradients provided for any variable, {why} {[str(v) for _, v in pairs]} and the loss.")
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
                step: Tensor = ASSIGNING["assign_add"](global_step, 1, name=scope)
                return step.op
