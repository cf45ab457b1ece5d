"""Variables, whose values live in a session; ``tf.get_variable``: variables by name, which may be shared."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from typing import Any, TypeAlias

from gviz.numbers.words import refuse
from gviz.static.build import apply, cast, check_others, constant, convert, make
from gviz.static.control import cond
from gviz.static.functions import (
    FUNCTIONS as FUNCTIONS_OF,
    group,
    install_operators,
    ones,
    random_normal,
    random_uniform,
    truncated_normal,
    zeros,
)
from gviz.static.graph import Graph, Operation, Tensor, TensorLike, get_default_graph
from gviz.static.session import Session
from gviz.static.types import ArrayLike, DType, DTypeLike, ShapeLike, TensorShape, as_dtype, float32

Initializer: TypeAlias = "Callable[..., TensorLike]"
Regularizer: TypeAlias = "Callable[[Tensor], Tensor | None]"

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
        for key in (*([GLOBAL] if collections is None else collections), *[TRAINABLE] * (trainable is not False)):
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


# ------------------------------------------------------------------ by name
AUTO_REUSE = "AUTO_REUSE"
REGULARIZATION_LOSSES = "regularization_losses"


@dataclass
class VariableScope:
    """What holds for the variables that are asked for inside a ``variable_scope``.

    Args:
        name: it comes in front of their names.
        reuse: whether they have to be there (True), must not be there (None), or are made unless they are (AUTO_REUSE).
        initializer: gives the first value of those that have none of their own; None for the usual one.
        regularizer: gives a loss of those that have none of their own.
        dtype: of those for which none is asked.
        original_name_scope: the name scope that was opened with it.
    """

    name: str = ""
    reuse: object = None
    initializer: Any = None
    regularizer: Any = None
    dtype: DTypeLike = float32
    original_name_scope: str = ""

    def reuse_variables(self) -> None:
        """Only give variables that are there already."""
        self.reuse = True


@dataclass
class Store:
    """The variables of a graph by name, the scope that is open, and how often each scope was opened."""

    variables: dict[str, Variable] = field(default_factory=dict)
    scope: VariableScope = field(default_factory=VariableScope)
    counts: dict[str, int] = field(default_factory=dict)


def store_of(graph: Graph) -> Store:
    """Return a graph's variables by name; the graph keeps them."""
    return graph.extras.setdefault(Store, Store())


def get_variable_scope() -> VariableScope:
    """Return the scope that is open."""
    return store_of(get_default_graph()).scope


@contextmanager
def variable_scope(
    name_or_scope: str | VariableScope | None,
    default_name: str | None = None,
    values: object = None,
    initializer: Initializer | TensorLike = None,
    regularizer: Regularizer | None = None,
    caching_device: None = None,
    partitioner: None = None,
    custom_getter: None = None,
    reuse: object = None,
    dtype: DTypeLike | None = None,
    auxiliary_name_scope: bool = True,
    **others: object,
) -> Iterator[VariableScope]:
    """Put a scope in front of the names of variables and operations made inside; ValueError if it has no name.

    What is not said is as in the scope outside. A scope that was open before may be opened again. ``default_name`` is
    counted up if a scope has it.
    """
    check_others("tf.variable_scope", others, use_resource=None, constraint=None)
    refuse(
        name_or_scope is None and default_name is None,
        "If default_name is None then name_or_scope is required",
        TypeError,
    )
    refuse(name_or_scope is None and bool(reuse), "reuse=True cannot be used without a name_or_scope", ValueError)
    graph, store = get_default_graph(), store_of(get_default_graph())
    outer, counts = store.scope, dict(store.counts)
    like = name_or_scope if isinstance(name_or_scope, VariableScope) else outer
    if isinstance(name_or_scope, VariableScope):
        name = name_or_scope.name
    else:
        label = name_or_scope or free_name(f"{outer.name}/" if outer.name else "", str(default_name), store.counts)
        name = f"{outer.name}/{label}" if outer.name else label
    short = name.rpartition("/")[2] if isinstance(name_or_scope, VariableScope) else name_or_scope or default_name
    opened = graph.name_scope(short) if auxiliary_name_scope and short else nullcontext(graph.scope)
    with opened as names:
        store.scope = VariableScope(
            name, reuse or like.reuse, initializer or like.initializer, regularizer or like.regularizer,
            dtype or like.dtype, like.original_name_scope if like is name_or_scope else names,
        )  # fmt: skip
        store.counts[name] = store.counts.get(name, 0) + 1
        try:
            yield store.scope
        finally:
            store.scope = outer
            store.counts = {key: n for key, n in store.counts.items() if not key.startswith(f"{name}/")}
            if isinstance(name_or_scope, VariableScope):
                store.counts = counts


def free_name(prefix: str, name: str, counts: dict[str, int]) -> str:
    """Return a scope's name with the first number that no scope has that is open or was."""
    number = 0
    while counts.get(prefix + (f"{name}_{number}" if number else name)):
        number += 1
    return f"{name}_{number}" if number else name


def get_variable(
    name: str,
    shape: ShapeLike = None,
    dtype: DTypeLike | None = None,
    initializer: Initializer | TensorLike = None,
    regularizer: Regularizer | None = None,
    trainable: bool | None = None,
    collections: Sequence[str] | None = None,
    **others: object,
) -> Variable:
    """Return the variable of that name in the open scope; it is made if it is not there and may be new.

    ValueError if it is there and must be new or has another shape, if it is not there and must be, and for an unknown
    shape.
    """
    check_others("tf.get_variable", others, partitioner=None, custom_getter=None, **UNUSED)
    graph, store = get_default_graph(), store_of(get_default_graph())
    scope, own = store.scope, store.variables
    whole = f"{scope.name}/{name}" if scope.name and name else scope.name or name
    if whole in own:
        refuse(
            not scope.reuse,
            f"Variable {whole} already exists, disallowed. "
            "Did you mean to set reuse=True or reuse=tf.AUTO_REUSE in VarScope?",
            ValueError,
        )
        variable = own[whole]
        is_same = shape is None or variable.shape.is_compatible_with(shape)
        sizes = f"specified shape {TensorShape(shape)} and found shape {variable.shape}"
        refuse(not is_same, f"Trying to share variable {whole}, but {sizes}.", ValueError)
        value_dtype = dtype and as_dtype(dtype)
        refuse(
            value_dtype and value_dtype != variable.dtype.base_dtype,
            f"Trying to share variable {whole}, but specified dtype {value_dtype and value_dtype.name} and "
            f"found dtype {variable.dtype.base_dtype.name}_ref.",
            ValueError,
        )
        return variable
    refuse(
        scope.reuse is True,
        f"Variable {whole} does not exist, or was not created with tf.get_variable(). "
        "Did you mean to set reuse=tf.AUTO_REUSE in VarScope?",
        ValueError,
    )
    first: Any = initializer if initializer is not None else scope.initializer
    value_dtype = as_dtype(dtype or scope.dtype)
    if first is None:
        first = variance_scaling(1.0, "fan_avg", "uniform") if value_dtype.is_floating else initial(zeros, value_dtype)
    first = first() if first in INITIALIZERS.values() else first
    dims = TensorShape(shape)
    if callable(first):
        refuse(
            not dims.is_fully_defined(),
            f"Shape of a new variable ({whole}) must be fully defined, but instead was {dims}."
            if shape is not None
            else f"Variable {whole} did not get an initializer, so its `shape` argument must be specified.",
            ValueError,
        )
    else:
        refuse(shape is not None, "If initializer is a constant, do not specify shape.", ValueError)
    value = (lambda: first(dims.as_list(), dtype=value_dtype)) if callable(first) else first
    with graph.name_scope(None), graph.control_dependencies(None):  # outside of a loop that is being built
        # with its slash the name stands as it is, though a scope has it
        new_variable = Variable(
            value,
            trainable,
            collections,
            name=whole if name else f"{whole}/",
            dtype=value_dtype if callable(first) else dtype,
        )
    own[whole] = new_variable
    loss = regularizer or scope.regularizer
    if loss is not None:
        with graph.name_scope(None), graph.name_scope(f"{whole}/Regularizer/"):
            penalty = loss(new_variable._read)
        if penalty is not None:
            graph.add_to_collection(REGULARIZATION_LOSSES, penalty)
    return new_variable


# ------------------------------------------------------------------ first values
def initial(build: Callable[[Any, DType], TensorLike], dtype: DTypeLike) -> Initializer:
    """Return what makes the first value of a shape, in this dtype if none is asked for."""
    own = as_dtype(dtype)
    return lambda shape, dtype=None, partition_info=None: build(shape, as_dtype(dtype or own))


def variance_scaling(
    scale: float = 1.0,
    mode: str = "fan_in",
    distribution: str = "truncated_normal",
    seed: int | None = None,
    dtype: DTypeLike = float32,
) -> Initializer:
    """Return random first values whose variance depends on how many inputs and outputs a unit has."""
    refuse(mode not in ("fan_in", "fan_out", "fan_avg"), f"Invalid `mode` argument: {mode}", ValueError)
    kinds = ("normal", "uniform", "truncated_normal", "untruncated_normal")
    refuse(distribution not in kinds, f"Invalid `distribution` argument: {distribution}", ValueError)

    def build(shape: Sequence[int], own: DType) -> TensorLike:
        field = math.prod(shape[:-2])
        ins, outs = (shape[-2] * field, shape[-1] * field) if len(shape) > 1 else (math.prod(shape),) * 2
        variance = scale / max(1.0, {"fan_in": ins, "fan_out": outs, "fan_avg": (ins + outs) / 2.0}[mode])
        if distribution == "uniform":
            limit = math.sqrt(3.0 * variance)
            return random_uniform(shape, -limit, limit, own, seed)
        if distribution == "untruncated_normal":
            return random_normal(shape, 0.0, math.sqrt(variance), own, seed)
        return truncated_normal(shape, 0.0, math.sqrt(variance) / 0.87962566103423978, own, seed)  # of what is cut off

    return initial(build, dtype)


def constant_initializer(value: ArrayLike = 0, dtype: DTypeLike = float32, verify_shape: bool = False) -> Initializer:
    """Return a first value that is given."""
    return initial(lambda shape, own: constant(value, own, shape, verify_shape=verify_shape), dtype)


INITIALIZERS: dict[str, Callable[..., Initializer]] = {
    "zeros_initializer": lambda dtype=float32: initial(zeros, dtype),
    "ones_initializer": lambda dtype=float32: initial(ones, dtype),
    "constant_initializer": constant_initializer,
    "random_normal_initializer": lambda mean=0.0, stddev=1.0, seed=None, dtype=float32: initial(
        lambda shape, own: random_normal(shape, mean, stddev, own, seed), dtype
    ),
    "truncated_normal_initializer": lambda mean=0.0, stddev=1.0, seed=None, dtype=float32: initial(
        lambda shape, own: truncated_normal(shape, mean, stddev, own, seed), dtype
    ),
    "random_uniform_initializer": lambda minval=0, maxval=None, seed=None, dtype=float32: initial(
        lambda shape, own: random_uniform(shape, minval, maxval, own, seed), dtype
    ),
    "variance_scaling_initializer": variance_scaling,
    "glorot_uniform_initializer": lambda seed=None, dtype=float32: variance_scaling(
        1.0, "fan_avg", "uniform", seed, dtype
    ),
    "glorot_normal_initializer": lambda seed=None, dtype=float32: variance_scaling(
        1.0, "fan_avg", "truncated_normal", seed, dtype
    ),
}
# ------------------------------------------------------------------ what a training keeps
GLOBAL_STEP = "global_step"


def get_global_step(graph: Graph | None = None) -> Variable | None:
    """Return the variable that counts the steps of a training, None if there is none."""
    steps = (graph or get_default_graph()).get_collection(GLOBAL_STEP)
    return steps[0] if steps else None


def get_or_create_global_step(graph: Graph | None = None) -> Variable:
    """Return the variable that counts the steps of a training."""
    step = get_global_step(graph)
    if step is None:
        with (graph or get_default_graph()).as_default(), get_default_graph().name_scope(None):
            zero = INITIALIZERS["zeros_initializer"]()
            step = get_variable(GLOBAL_STEP, [], "int64", zero, trainable=False, collections=["variables", GLOBAL_STEP])
    return step


class ExponentialMovingAverage:
    """Keeps the moving average of variables: ``decay * average + (1 - decay) * value``.

    Args:
        decay: near 1.
        num_updates: how often the variables were changed, for a smaller decay in the beginning.
        zero_debias: refused.
        name: of the operations, and behind the names of the variables.
    """

    def __init__(
        self,
        decay: float,
        num_updates: TensorLike = None,
        zero_debias: bool = False,
        name: str = "ExponentialMovingAverage",
    ) -> None:
        refuse(zero_debias, "gviz has no zero_debias for tf.train.ExponentialMovingAverage()", ValueError)
        self._decay, self._updates, self._name = decay, num_updates, name
        self._averages: dict[Variable, Variable] = {}

    def apply(self, var_list: Sequence[Variable] | None = None) -> Operation:
        """Return an operation that brings the averages up to date; they are made the first time."""
        variables = variables_of(TRAINABLE) if var_list is None else list(var_list)
        graph = get_default_graph()
        for one in variables:
            if one not in self._averages:
                with graph.name_scope(None), graph.control_dependencies(None):
                    first = one.initialized_value()
                    self._averages[one] = Variable(first, False, name=f"{one.op.name}/{self._name}")
        with graph.name_scope(self._name) as scope:
            decay: Any = convert(self._decay, name="decay")
            if self._updates is not None:
                count: Any = cast(self._updates, float32, "num_updates")
                decay = FUNCTIONS_OF["minimum"](decay, (1.0 + count) / (10.0 + count))
            steps = []
            for one in variables:
                average: Any = self._averages[one]
                with graph.name_scope("AssignMovingAvg") as own:
                    steps.append(ASSIGNING["assign_sub"](average, (average - one) * (1.0 - decay), name=own).op)
            return group(*steps, name=scope)

    def average(self, var: Variable) -> Variable | None:
        """Return the average of a variable, None if there is none."""
        return self._averages.get(var)

    def average_name(self, var: Variable) -> str:
        """Return the name of a variable's average."""
        return f"{var.op.name}/{self._name}"

    def variables_to_restore(self, moving_avg_variables: Sequence[Variable] | None = None) -> dict[str, Variable]:
        """Return variables by the names under which a file has their values: those of the averages, if there are."""
        averaged = variables_of(TRAINABLE) if moving_avg_variables is None else list(moving_avg_variables)
        others = [one for one in variables_of("variables") if one not in averaged]
        names = {self.average_name(one): one for one in averaged}
        return {one.op.name: one for one in others if one.op.name not in names} | names


TRAIN: dict[str, Any] = {
    one.__name__: one for one in (get_global_step, get_or_create_global_step, ExponentialMovingAverage)
} | {"global_step": lambda sess, global_step_tensor: int(sess.run(global_step_tensor))}
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
    **INITIALIZERS, "get_variable": get_variable, "variable_scope": variable_scope,
    "get_variable_scope": get_variable_scope,
    "AUTO_REUSE": AUTO_REUSE, "VariableScope": VariableScope,
}  # fmt: skip
