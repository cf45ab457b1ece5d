"""Optimisers: operations that change variables by their gradients, with TensorFlow's names for what they keep."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

from gviz.numbers.words import refuse
from gviz.static.build import cast, check_others, convert, make
from gviz.static.functions import group
from gviz.static.gradients import gradients
from gviz.static.graph import Graph, Operation, Tensor, TensorLike
from gviz.static.variables import (
    ASSIGNING,
    INITIALIZERS,
    TRAINABLE,
    Variable,
    constant_initializer,
    get_variable,
    variable_scope,
    variables_of,
)


class Optimizer:
    """Changes variables by their gradients.

    Class attributes:
        type: the operation that makes a step.
        slots: what is kept beside each variable, by its name, and its first values: ``zeros``, ``ones`` or a number.
        order: of the slots among the operation's inputs; empty for that in which they are made.
        powers: of which numbers the powers are kept, one more each step.
        place: where the gradient stands among the inputs that are numbers; None for the last.
        is_sparse: whether a row of a table with a gradient of 0 stays as it is, as in TensorFlow where it was not looked up.

    Args:
        use_locking: accepted.
        name: the scope of the operations.
        attrs: fixed parameters of the step.
        numbers: the step's numbers (or tensors), in the order of the operation's inputs.
    """

    type = ""
    slots: Mapping[str, str | float] = MappingProxyType({})
    order: Sequence[str] = ()
    powers: Sequence[str] = ()
    place: int | None = None
    is_sparse = True

    def __init__(self, use_locking: bool, name: str, attrs: dict[str, Any] | None = None, **numbers: Any) -> None:
        self._name, self._attrs, self._numbers = name, attrs or {}, numbers
        self._variables_of: dict[Graph, dict[Any, Variable]] = {}

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
        grads = self.compute_gradients(loss, var_list, gate_gradients, grad_loss=grad_loss)
        return self.apply_gradients(grads, global_step, name)

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
        refuse(not variables, "No variables to optimize.", ValueError)
        return list(
            zip(gradients(loss, variables, grad_loss, gate_gradients=gate_gradients == 1), variables, strict=True)
        )

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
        refuse(
            not changes,
            "No gradients provided for any variable, check your graph for ops that do not support gradients, "
            f"between variables {[str(v) for _, v in pairs]} and the loss.",
            ValueError,
        )
        graph = changes[0][0].graph
        with graph.as_default(), graph.control_dependencies(None):
            variables_beside = self._keep([variable for _, variable in changes])
        with graph.as_default(), graph.name_scope(name or self._name) as scope:
            numbers = {
                key: convert(value() if callable(value) else value, None, key) for key, value in self._numbers.items()
            }
            updates = []
            for grad, variable in changes:
                self._check(grad, variable)
                with graph.name_scope(f"update_{variable.op.name}"):
                    dtype = variable.dtype.base_dtype
                    inputs = [
                        cast(t, dtype)
                        for t in (*(variables_beside[power]._read for power in self.powers), *numbers.values())
                    ]
                    inputs.insert(len(inputs) if self.place is None else self.place, convert(grad, dtype))
                    slots = [variables_beside[variable, slot]._ref for slot in self.order or self.slots]
                    updates.append(make(self.type, [variable._ref, *slots, *inputs], **self._attrs).op)
            if global_step is None:
                return self._finish(graph, updates, numbers, scope)
            with graph.control_dependencies([self._finish(graph, updates, numbers, "update")]):
                return ASSIGNING["assign_add"](global_step, 1, name=scope).op

    def _finish(self, graph: Graph, updates: Sequence[Operation], numbers: dict[str, Tensor], name: str) -> Operation:
        """Return an operation that makes all steps, and takes the powers once more."""
        after = []
        with graph.control_dependencies(updates):
            for power in self.powers:
                variable: Any = self._variables_of[graph][power]
                after.append(ASSIGNING["assign"](variable, variable * numbers[power], name="Assign").op)
        return group(*updates, *after, name=name)

    def _keep(self, variables: Sequence[Variable]) -> dict[Any, Variable]:
        """Return the variables that are kept beside some others, and the powers; they are made the first time."""
        variables_beside = self._variables_of.setdefault(variables[0].graph, {})
        makers: dict[Any, Callable[[], Variable]] = {
            **{power: partial(Variable, self._numbers[power], False, name=f"{power}_power") for power in self.powers},
            **{(one, slot): partial(self._slot, one, first) for one in variables for slot, first in self.slots.items()},
        }
        for key, make_variable in makers.items():
            if key not in variables_beside:
                variables_beside[key] = make_variable()
        return variables_beside

    def _slot(self, variable: Variable, first: str | float) -> Variable:
        """Return a new variable that is kept beside another one."""
        make_first = INITIALIZERS[f"{first}_initializer"]() if isinstance(first, str) else constant_initializer(first)
        with variable_scope(None, f"{variable.op.name}/{self._name}", reuse=None):
            return get_variable("", variable.shape, variable.dtype.base_dtype, make_first, trainable=False)

    def _check(self, grad: Tensor, variable: Variable) -> None:
        """Raise ValueError for a table's gradient if TensorFlow would change only the rows that were looked up."""
        parts = grad.op.inputs if grad.op.type == "AddN" else [grad]
        is_table = all(part.op.type == "UnsortedSegmentSum" for part in parts)
        refuse(
            is_table and not self.is_sparse,
            f"gviz has no {self._name} for a table that is looked up, as {variable.op.name}: "
            "take GradientDescentOptimizer, AdagradOptimizer or AdamOptimizer",
            ValueError,
        )

    def get_slot_names(self) -> list[str]:
        """Return the names of what is kept beside each variable."""
        return sorted(self.slots)

    def get_slot(self, var: Variable, name: str) -> Variable | None:
        """Return what is kept beside a variable under a name, None if there is nothing."""
        return self._variables_of.get(var.graph, {}).get((var, name))

    def get_name(self) -> str:
        """Return its name."""
        return self._name

    def variables(self) -> list[Variable]:
        """Return all that is kept in any graph."""
        return [variable for of_graph in self._variables_of.values() for variable in of_graph.values()]


class GradientDescentOptimizer(Optimizer):
    """``w -= learning_rate * gradient``; the learning rate is a number or a tensor."""

    type = "ApplyGradientDescent"

    def __init__(self, learning_rate: TensorLike, use_locking: bool = False, name: str = "GradientDescent") -> None:
        super().__init__(use_locking, name, learning_rate=learning_rate)


class MomentumOptimizer(Optimizer):
    """Gradient descent that goes on in the direction of earlier steps."""

    type, slots, place, is_sparse = "ApplyMomentum", {"momentum": "zeros"}, 1, False

    def __init__(
        self,
        learning_rate: TensorLike,
        momentum: TensorLike,
        use_locking: bool = False,
        name: str = "Momentum",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(
            use_locking, name, {"use_nesterov": use_nesterov}, learning_rate=learning_rate, momentum=momentum
        )


class AdagradOptimizer(Optimizer):
    """Smaller steps for what had large gradients."""

    type = "ApplyAdagrad"

    def __init__(
        self,
        learning_rate: TensorLike,
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "Adagrad",
    ) -> None:
        refuse(
            initial_accumulator_value <= 0,
            f"initial_accumulator_value must be positive: {initial_accumulator_value}",
            ValueError,
        )
        self.slots = {"accumulator": initial_accumulator_value}
        super().__init__(use_locking, name, learning_rate=learning_rate)


class AdadeltaOptimizer(Optimizer):
    """Steps as large as earlier ones were."""

    type, slots, is_sparse = "ApplyAdadelta", {"accum": "zeros", "accum_update": "zeros"}, False

    def __init__(
        self,
        learning_rate: TensorLike = 0.001,
        rho: TensorLike = 0.95,
        epsilon: TensorLike = 1e-08,
        use_locking: bool = False,
        name: str = "Adadelta",
    ) -> None:
        super().__init__(use_locking, name, lr=learning_rate, rho=rho, epsilon=epsilon)


class RMSPropOptimizer(Optimizer):
    """Smaller steps for what has had large gradients of late."""

    is_sparse = False

    def __init__(
        self,
        learning_rate: TensorLike,
        decay: TensorLike = 0.9,
        momentum: TensorLike = 0.0,
        epsilon: TensorLike = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        name: str = "RMSProp",
    ) -> None:
        self.type = "ApplyCenteredRMSProp" if centered else "ApplyRMSProp"
        self.slots = {"rms": "ones", **({"mg": "zeros"} if centered else {}), "momentum": "zeros"}
        self.order = ("mg", "rms", "momentum") if centered else ()
        super().__init__(
            use_locking, name, learning_rate=learning_rate, decay=decay, momentum=momentum, epsilon=epsilon
        )


class AdamOptimizer(Optimizer):
    """Momentum, and smaller steps for what has had large gradients of late."""

    type, slots, powers = "ApplyAdam", {"m": "zeros", "v": "zeros"}, ("beta1", "beta2")

    def __init__(
        self,
        learning_rate: TensorLike = 0.001,
        beta1: TensorLike = 0.9,
        beta2: TensorLike = 0.999,
        epsilon: TensorLike = 1e-08,
        use_locking: bool = False,
        name: str = "Adam",
        **others: object,
    ) -> None:
        check_others("tf.train.AdamOptimizer", others, use_own_namescope_for_non_slot_vars=False)
        super().__init__(use_locking, name, learning_rate=learning_rate, beta1=beta1, beta2=beta2, epsilon=epsilon)


OPTIMIZERS: dict[str, Any] = {
    one.__name__: one
    for one in (
        GradientDescentOptimizer, MomentumOptimizer, AdagradOptimizer, AdadeltaOptimizer, RMSPropOptimizer,
        AdamOptimizer, Optimizer,
    )
}  # fmt: skip
