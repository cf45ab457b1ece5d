"""The functions that build operations, under TensorFlow's names, and what Python's operators mean for tensors.

Most are declared: :data:`GENERATED` says which operation a function makes and how its operands are called. What works on
shapes is in ``arrays.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gviz.static.arrays import getitem, range_, rank
from gviz.static.convert import apply, constant, convert, graph_of, is_tensor, make, named
from gviz.static.dtypes import DTYPES, as_dtype
from gviz.static.graph import Operation, Tensor, get_default_graph

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gviz.static.dtypes import DType

__all__ = ["FUNCTIONS", "NN", "cast", "group", "install", "matmul", "no_op", "where"]

GENERATED = {
    "x": "log exp sqrt rsqrt square negative:Neg abs sign floor ceil rint sin cos tan asin acos atan sinh cosh tanh sigmoid "
    "log1p expm1 erf reciprocal is_nan",
    "x:bool": "logical_not",
    "input": "identity stop_gradient",
    "x y~": "add:AddV2:Add",
    "x y": "subtract:Sub multiply:Mul maximum minimum pow realdiv:RealDiv floordiv:FloorDiv:floordiv floor_div "
    "floormod:FloorMod mod:FloorMod squared_difference equal not_equal less less_equal greater greater_equal",
    "x:bool y:bool": "logical_and logical_or logical_xor",
}
"""Operands: functions, as ``name``, ``name:Type`` or ``name:Type:default name``; what is not said follows from the name."""
IN_NN = {"features": "relu elu softplus", "logits": "log_softmax softmax", "value bias": "bias_add"}
REDUCTIONS = ("sum", "mean", "max", "min", "prod", "all", "any")


def generated(type: str, spec: str, default: str) -> Callable[..., Tensor]:
    """The function of one operation."""
    labels = [entry.partition(":")[0].rstrip("~") for entry in spec.split()]

    def build(*args: Any, **kwargs: Any) -> Tensor:
        given = dict(zip([*labels, "name"], args, strict=False)) | kwargs
        missing = [label for label in labels if label not in given]
        unknown = [k for k in given if k not in labels and k != "name"]
        if missing or unknown or len(args) > len(labels) + 1:
            raise TypeError(
                f"tf.{default}() takes {', '.join(labels)} and name, got {len(args)} by position and {sorted(kwargs)}"
            )
        return apply(type, spec, [given[label] for label in labels], given.get("name"), default)

    return build


def declared(table: dict[str, str]) -> dict[str, Callable[..., Tensor]]:
    """The functions that a table declares."""
    found = {}
    for spec, names in table.items():
        for entry in names.split():
            name, _, rest = entry.partition(":")
            type, _, default = (rest or "".join(part.capitalize() for part in name.split("_"))).partition(":")
            found[name] = generated(type, spec, default or {"AddV2": "Add"}.get(type, type))
    return found


def reduction(type: str) -> Callable[..., Tensor]:
    """A reduction over some axes, or over all."""

    def build(
        input_tensor: Any, axis: Any = None, keepdims: Any = None, name: str | None = None,
        reduction_indices: Any = None, keep_dims: Any = None,
    ) -> Tensor:  # fmt: skip
        along = reduction_indices if axis is None else axis
        graph = graph_of(input_tensor)
        with graph.as_default():
            if along is None:
                known = is_tensor(input_tensor) and input_tensor.shape.rank
                along = constant(np.arange(known, dtype=np.int32)) if known else range_(0, rank(input_tensor))
            keep = bool(keep_dims if keepdims is None else keepdims)
            return apply(type, "input reduction_indices:int", [input_tensor, along], name, keep_dims=keep)

    return build


def matmul(
    a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False, name: str | None = None, **ignored: Any
) -> Tensor:
    """The product of matrices, or of stacks of them."""
    with named(graph_of(a, b), name, "MatMul") as scope:
        left = convert(a, name="a")
        right = convert(b, None, "b", left.dtype.base_dtype)
        stacks = any(t.shape.rank is None or t.shape.rank > 2 for t in (left, right))
        type = "BatchMatMulV2" if stacks else "MatMul"
        return apply(type, "a b", [left, right], scope, transpose_a=transpose_a, transpose_b=transpose_b)


def truediv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """``x / y``; integers become floating. TypeError where the dtypes differ."""
    with named(graph_of(x, y), name, "truediv") as scope:
        one = convert(x, name="x")
        two = convert(y, None, "y", one.dtype.base_dtype)
        kinds = [t.dtype.base_dtype for t in (one, two)]
        if kinds[0] != kinds[1]:
            raise TypeError(f"`x` and `y` must have the same dtype, got {kinds[0]!r} != {kinds[1]!r}.")
        if kinds[0].is_bool:
            raise TypeError(
                f"Invalid dtype {kinds[0]!r} in __truediv__. Expected one of {{{', '.join(map(repr, QUOTIENTS))}}}."
            )
        kind = QUOTIENTS.get(kinds[0], kinds[0])
        return apply("RealDiv", "x y", [cast(one, kind), cast(two, kind)], scope)


QUOTIENTS: dict[DType, DType] = {
    DTYPES[name]: DTYPES["float64" if name in ("int32", "int64") else "float32"]
    for name in ("uint8", "int8", "int16", "int32", "int64")
}


def divide(x: Any, y: Any, name: str | None = None) -> Tensor:
    """``x / y``."""
    return truediv(x if is_tensor(x) else convert(x, getattr(getattr(y, "_read", y), "dtype", None)), y, name)


def round_(x: Any, name: str | None = None) -> Tensor:
    """To the nearest integer, of two the even one; integers as they are."""
    given = convert(x, name="x")
    return given if given.dtype.is_integer else make("Round", [given], name)


def leaky_relu(features: Any, alpha: float = 0.2, name: str | None = None) -> Tensor:
    """``x`` where it is positive, ``alpha * x`` else."""
    return apply("LeakyRelu", "features", [features], name, alpha=alpha)


def along_the_last(type: str) -> Callable[..., Tensor]:
    """``softmax`` and ``log_softmax``, which go along the last axis; another one is brought there and back."""

    def build(logits: Any, axis: int | None = None, name: str | None = None, dim: int | None = None) -> Tensor:
        from gviz.static.arrays import transpose

        x = convert(logits)
        along, size = (dim if axis is None else axis), x.shape.rank
        if size is None or along in (None, -1, size - 1):
            return apply(type, "logits", [x], name)
        order = np.arange(size)
        order[[along, -1]] = order[[-1, along]]
        return transpose(apply(type, "logits", [transpose(x, order)]), order, name=name)

    return build


def cross_entropy(labels: Any = None, logits: Any = None, axis: int = -1, name: str | None = None, **ignored: Any) -> Tensor:
    """The cross entropy of rows of probabilities (labels) and of logits."""
    return apply(
        "SoftmaxCrossEntropyWithLogits", "features labels", [logits, labels], name, "softmax_cross_entropy_with_logits"
    )


def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None) -> Tensor:
    """Values kept between two bounds."""
    with named(graph_of(t), name, "clip_by_value") as scope:
        kept = FUNCTIONS["minimum"](convert(t, name="t"), clip_value_max)
        return apply("Maximum", "x y", [kept, clip_value_min], scope)


def add_n(inputs: Any, name: str | None = None) -> Tensor:
    """The sum of several tensors; of one, that one itself. ValueError where there are none."""
    if not isinstance(inputs, (list, tuple)) or not inputs:
        raise ValueError("inputs must be an iterable of at least one Tensor/IndexedSlices with the same dtype and shape.")
    tensors = alike("AddN", "inputs", [convert(t) for t in inputs])
    return make("AddN", tensors, name) if len(tensors) > 1 else make("Identity", tensors, name) if name else tensors[0]


def alike(type: str, label: str, tensors: Sequence[Tensor]) -> Sequence[Tensor]:
    """Tensors of one dtype; TypeError where they have several."""
    kinds = [t.dtype.base_dtype.name for t in tensors]
    if len(set(kinds)) > 1:
        raise TypeError(
            f"Tensors in list passed to '{label}' of '{type}' Op have types [{', '.join(kinds)}] that don't all match."
        )
    return tensors


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """``x`` where the condition holds, else ``y``; ValueError where one of them is missing."""
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    return apply("Select", "condition:bool t e", [condition, x, y], name)


def cast(x: Any, dtype: Any, name: str | None = None) -> Tensor:
    """In another dtype; a tensor that has it is given back."""
    kind = as_dtype(dtype)
    if is_tensor(x) and convert(x).dtype.base_dtype == kind:
        return convert(x)
    with named(graph_of(x), name, "Cast") as scope:
        tensor = convert(x, name="x")
        return tensor if tensor.dtype.base_dtype == kind else make("Cast", [tensor], scope, DstT=kind)


# ------------------------------------------------------------------ order of running
def no_op(name: str | None = None) -> Operation:
    """An operation that does nothing; others can be made to run before it."""
    return get_default_graph().create_op("NoOp", (), {}, name)


def group(*inputs: Any, name: str | None = None) -> Operation:
    """An operation that runs all of these; TypeError for what is no tensor and no operation."""
    before: list[Operation] = []
    waiting = list(reversed(inputs))
    while waiting:
        item = waiting.pop()
        if isinstance(item, (list, tuple)):
            waiting.extend(reversed(item))
            continue
        found = getattr(getattr(item, "_ref", item), "op", item)
        if not isinstance(found, Operation):
            raise TypeError(f"'inputs' should be zero or more (nested) Tensors. Received '{item}' with type '{type(item)}'.")
        before.append(found)
    return graph_of(*before).create_op("NoOp", (), {}, name or "group_deps", control=list(dict.fromkeys(before)))


def control_dependencies(control_inputs: Any) -> Any:
    """Have operations made inside run after these."""
    return get_default_graph().control_dependencies(control_inputs)


def name_scope(name: str | None, default_name: str | None = None, values: Any = None) -> Any:
    """Put a scope in front of all names made inside."""
    return get_default_graph().name_scope(default_name if name is None and default_name else name)


FUNCTIONS: dict[str, Any] = {
    **declared(GENERATED),
    **{f"reduce_{name}": reduction(name.capitalize()) for name in REDUCTIONS},
    "truediv": truediv, "divide": divide, "div": divide, "round": round_, "matmul": matmul, "clip_by_value": clip_by_value,
    "add_n": add_n, "where": where, "cast": cast,
}  # fmt: skip
NN: dict[str, Any] = {
    **declared(IN_NN),
    "softmax": along_the_last("Softmax"), "log_softmax": along_the_last("LogSoftmax"), "leaky_relu": leaky_relu,
    "softmax_cross_entropy_with_logits": cross_entropy, "softmax_cross_entropy_with_logits_v2": cross_entropy,
    "sigmoid": FUNCTIONS["sigmoid"], "tanh": FUNCTIONS["tanh"],
}  # fmt: skip

# ------------------------------------------------------------------ operators
OPERATORS = {
    "add": "AddV2", "sub": "Sub", "mul": "Mul", "truediv": "RealDiv", "floordiv": "FloorDiv", "mod": "FloorMod", "pow": "Pow",
    "matmul": "MatMul", "and": "LogicalAnd", "or": "LogicalOr", "xor": "LogicalXor",
}  # fmt: skip
ORDER = {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}
OWN_RULES: dict[str, Callable[..., Tensor]] = {"RealDiv": truediv, "MatMul": matmul}


def operator(type: str, default: str, *, swapped: bool = False) -> Callable[[Any, Any], Any]:
    """Python's operator: the tensor decides the dtype, on whichever side it is."""
    spec = "x y~" if type == "AddV2" else "x y"

    def build(self: Any, other: Any) -> Any:
        me = convert(self)
        if me.graph.promotes and not me.dtype.is_floating and not is_tensor(other):
            me = cast(
                me, np.int32 if isinstance(other, int) and not me.dtype.is_integer else convert(other, hint=me.dtype).dtype
            )
        with named(me.graph, None, default) as scope:
            pair = [convert(other, me.dtype.base_dtype, "x"), me] if swapped else [me, other]
            return OWN_RULES[type](*pair, name=scope) if type in OWN_RULES else apply(type, spec, pair, scope)

    return build


def install(cls: Any) -> None:
    """Give a class of tensors Python's operators."""
    for python, type in OPERATORS.items():
        setattr(cls, f"__{python}__", operator(type, python))
        setattr(cls, f"__r{python}__", operator(type, python, swapped=True))
    for python, name in ORDER.items():
        setattr(cls, f"__{python}__", FUNCTIONS[name])
    cls.__neg__, cls.__abs__, cls.__invert__ = (FUNCTIONS[name] for name in ("negative", "abs", "logical_not"))
    cls.__getitem__ = getitem


install(Tensor)
