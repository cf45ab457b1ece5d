"""Functions of TensorFlow that are made of others: choices among several, parts that are picked, what is left to do."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from gviz.numbers.words import refuse
from gviz.static.arrays import TensorArray
from gviz.static.build import apply, common_graph, constant, convert, in_scope, is_symbolic, make
from gviz.static.control import cond, while_loop
from gviz.static.functions import FUNCTIONS, shape, stack, where
from gviz.static.gradients import gradients
from gviz.static.graph import Operation, Tensor, TensorLike
from gviz.static.types import DTypeLike, as_dtype, int32
from gviz.static.variables import FUNCTIONS as OF_VARIABLES, Variable, variables_of

reshape, gather, squeeze = (FUNCTIONS[name] for name in ("reshape", "gather", "squeeze"))
Choice = tuple[TensorLike, Callable[[], Any]]


# ------------------------------------------------------------------ choices
def case(
    pred_fn_pairs: Sequence[Choice] | Mapping[TensorLike, Callable[[], Any]],
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """Return what the function of the first predicate that holds returns, else that of the default.

    Without a default, one of them has to hold. With ``exclusive`` a run fails if more than one holds.
    """
    pairs = list(pred_fn_pairs.items() if isinstance(pred_fn_pairs, Mapping) else pred_fn_pairs)
    refuse(not pairs, "Must provide at least one predicate and function.", ValueError)
    graph = common_graph(*(predicate for predicate, _ in pairs))
    with graph.as_default(), graph.name_scope(name):
        others = pairs if default is not None else pairs[:-1]
        choose = partial(last_of, pairs) if default is None else default
        for predicate, function in reversed(others):
            choose = partial(cond, predicate, function, choose, strict)
        with graph.control_dependencies([at_most_one(pairs)] if exclusive else []):
            return choose()


def at_most_one(pairs: Sequence[Choice]) -> Operation:
    """Return an operation that fails if more than one predicate holds."""
    predicates = stack([predicate for predicate, _ in pairs], name="preds_c")
    count = FUNCTIONS["reduce_sum"](FUNCTIONS["cast"](predicates, int32), name="num_true_conds")
    holds = FUNCTIONS["less_equal"](count, constant(1, name="n_true_conds"))
    words = "Input error: exclusive=True: more than 1 conditions evaluated as True:"
    return FUNCTIONS["Assert"](holds, [words, predicates], len(pairs))


def last_of(pairs: Sequence[Choice]) -> Any:
    """Return what the last function returns; a run fails if its predicate does not hold."""
    predicates = stack([predicate for predicate, _ in pairs], name="preds_c")
    check = FUNCTIONS["Assert"](pairs[-1][0], ["Input error: None of conditions evaluated as True:", predicates])
    with check.graph.control_dependencies([check]):
        return pairs[-1][1]()


def switch_case(
    branch_index: Tensor,
    branch_fns: Sequence[Callable[[], Any]] | Mapping[int, Callable[[], Any]],
    default: Callable[[], Any] | None = None,
    name: str = "switch_case",
) -> Any:
    """Return what the function of a number returns, for a number without one what the default or the last does."""
    refuse(not is_symbolic(branch_index), f"'branch_index' must be a Tensor, got {type(branch_index)}", TypeError)
    numbers = branch_fns if isinstance(branch_fns, Mapping) else dict(enumerate(branch_fns))
    if [*range(len(numbers))] != sorted(numbers):
        keys = ",".join(map(str, sorted(numbers)))
        whole = f"contiguous range of [0 to {max(numbers)})"
        raise ValueError(f"branch indices (keys) must form {whole} but found {{{keys}}}")
    pairs = [(FUNCTIONS["equal"](branch_index, number), function) for number, function in numbers.items()]
    return case(pairs, numbers.get(len(numbers) - 1) if default is None else default, name=name)


@in_scope("confusion_matrix")
def confusion_matrix(
    labels: TensorLike,
    predictions: TensorLike,
    num_classes: TensorLike = None,
    dtype: DTypeLike = int32,
    name: str | None = None,
    weights: TensorLike = None,
) -> Tensor:
    """Return how often each label (rows) was predicted as each class (columns)."""
    pair = [FUNCTIONS["cast"](one, "int64") for one in (labels, predictions)]
    most: Any = [FUNCTIONS["reduce_max"](one) + 1 for one in pair]
    count = FUNCTIONS["cast"](FUNCTIONS["maximum"](*most) if num_classes is None else num_classes, "int64")
    checks = []
    for word, one in zip(("labels", "predictions"), pair, strict=True):
        for holds, mistake in ((one >= 0, "contains negative values."), (one < count, "out of bound")):
            words = [f"`{word}` {mistake}", one]
            checks.append(FUNCTIONS["Assert"](FUNCTIONS["reduce_all"](holds), words))
    with count.graph.control_dependencies(checks):
        places = stack(pair, axis=1)
        ones = FUNCTIONS["ones_like"](pair[1], dtype) if weights is None else FUNCTIONS["cast"](weights, dtype)
        sizes = [count, count] if num_classes is None or is_symbolic(num_classes) else [num_classes] * 2
        return make("ScatterNd", [places, ones, convert(sizes, "int64")])


# ------------------------------------------------------------------ texts
def as_string(
    input: TensorLike,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
    name: str | None = None,
) -> Tensor:
    """Return numbers as texts."""
    refuse(bool(fill), "gviz has no fill for tf.as_string()", ValueError)
    has_format = scientific or shortest or precision >= 0
    refuse(has_format and not convert(input).dtype.is_floating, "as_string has a format of floats only", ValueError)
    return apply(
        "AsString", "input", [input], name,
        precision=precision, scientific=scientific, shortest=shortest, width=width,
    )  # fmt: skip


# ------------------------------------------------------------------ parts
NAMES = {"Unique": "y idx", "UniqueWithCounts": "y idx count", "TopKV2": "values indices"}
"""What the results of an operation are called."""


def named_outputs(output: Tensor) -> Any:
    """Return all outputs of the operation that a tensor is the first one of, with their names."""
    return namedtuple(output.op.type, NAMES[output.op.type])(*output.op.outputs)  # noqa: PYI024 - made of a table


def unique(type: str, x: TensorLike, out_idx: DTypeLike = int32, name: str | None = None) -> Any:
    """Return the elements of a list that differ, in the order in which they come, and for each element which it is."""
    return named_outputs(apply(type, "x", [x], name, out_idx=as_dtype(out_idx)))


@in_scope("boolean_mask")
def boolean_mask(tensor: TensorLike, mask: TensorLike, name: str = "boolean_mask", axis: int | None = None) -> Tensor:
    """Return the parts of a tensor for which a mask, of its first axes, holds; ValueError for a mask without axes."""
    refuse(axis not in (None, 0), "gviz has no axis for tf.boolean_mask()", ValueError)
    whole, chosen = convert(tensor, name="tensor"), convert(mask, name="mask")
    rank = chosen.shape.rank
    refuse(rank == 0, "mask cannot be scalar.", ValueError)
    refuse(rank is None, "Number of mask dimensions must be specified, even if some dimensions are None.", ValueError)
    count = FUNCTIONS["reduce_prod"](shape(whole)[:rank], [0])
    flat = reshape(whole, FUNCTIONS["concat"]([shape(whole)[:0], [count], shape(whole)[rank:]], 0))
    return gather(flat, squeeze(where(reshape(chosen, [-1])), axis=[1]), axis=0)


def gather_nd(
    params: TensorLike, indices: TensorLike, name: str | None = None, batch_dims: int = 0, bad_indices_policy: str = ""
) -> Tensor:
    """Return parts of a tensor by their places along its first axes, which the last axis of ``indices`` has."""
    for argument, value in (("batch_dims", batch_dims), ("bad_indices_policy", bad_indices_policy)):
        refuse(bool(value), f"gviz has no {argument} for tf.gather_nd()", ValueError)
    return apply("GatherNd", "params indices:int", [params, indices], name)


def top_k(
    input: TensorLike, k: TensorLike = 1, sorted: bool = True, index_type: DTypeLike = int32, name: str | None = None
) -> Any:
    """Return the largest elements along the last axis, and their places."""
    refuse(as_dtype(index_type) != int32, "gviz has no index_type for tf.nn.top_k()", ValueError)
    return named_outputs(apply("TopKV2", "input k:int", [input, k], name, sorted=sorted))


# ------------------------------------------------------------------ second derivatives
def hessians(
    ys: TensorLike,
    xs: TensorLike,
    name: str = "hessians",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: object = None,
) -> list[Tensor]:
    """Return the second derivatives of the sum of ys with respect to each of xs: of x's shape, twice."""
    results = []
    for x in xs if isinstance(xs, (list, tuple)) else [xs]:
        slopes = reshape(gradients(ys, x)[0], [-1])
        count: Any = FUNCTIONS["size"](x)
        rows = TensorArray(slopes.dtype, count)
        rows = while_loop(
            lambda i, rows, slopes=slopes, x=x, count=count: i < count,
            lambda i, rows, slopes=slopes, x=x: (i + 1, rows.write(i, gradients(slopes[i], x)[0])),
            [constant(0, int32), rows],
        )[1]
        sizes = shape(x)
        results.append(reshape(rows.stack(), FUNCTIONS["concat"]([sizes, sizes], 0)))
    return results


# ------------------------------------------------------------------ variables
@in_scope("report_uninitialized_variables")
def report_uninitialized_variables(
    var_list: Sequence[Variable] | None = None, name: str = "report_uninitialized_variables"
) -> Tensor:
    """Return the names of variables that have no value."""
    ones = [*variables_of("variables"), *variables_of("local_variables")] if var_list is None else var_list
    if not ones:
        return constant([], "string")
    held = stack([OF_VARIABLES["is_variable_initialized"](variable) for variable in ones])
    return boolean_mask(constant([variable.op.name for variable in ones]), FUNCTIONS["logical_not"](held))


COMPOSITIONS: dict[str, Any] = {
    one.__name__: one
    for one in (
        case, switch_case, confusion_matrix, as_string, boolean_mask, gather_nd, hessians,
        report_uninitialized_variables,
    )
} | {
    "unique": partial(unique, "Unique"), "unique_with_counts": partial(unique, "UniqueWithCounts"),
}  # fmt: skip
"""Functions of ``tf.``."""
