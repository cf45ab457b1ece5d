"""Derivatives as lectures write them, where the table's own formula is a program: Jacobians, extremes, determinants.

Each is a text in the names that the table has for the operation's inputs and options, and ``result``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from gviz.formulas.formula import GRAD, UNKNOWN, Formula

EACH, SINGLE, EVERY, MATRIX, ALONG = "each", "single", "every", "matrix", "along"
"""What a derivative holds for: factors of what works element by element, and of what makes one number; what operations
make of the gradient, of any sizes, or of matrices; Jacobians of what works along one dimension, of a vector or of each
row by itself, which is ``result[i]``."""

SOFT = "diag(result) - result·resultᵀ"
LARGEST = "scatter(zeros(sizes), dim, arg{}(self, dim, True), grad)"
NORMALIZED = "(I - ones(count, count)/count - result·resultᵀ/count)·norm(result)/norm(input - mean(input))"

LECTURES: dict[tuple[str, str], tuple[str, str]] = {
    ("LogSigmoidBackward0", "self"): (EACH, "sigmoid(-self)"),
    ("ClampBackward0", "self"): (EACH, "[self >= min]·[self <= max]"),
    ("ClampBackward1", "self"): (EACH, "[self >= min]·[self <= max]"),
    ("HardtanhBackward0", "self"): (EACH, "[self > min_val]·[self < max_val]"),
    ("HardsigmoidBackward0", "self"): (EACH, "[self > -3]·[self < 3]/6"),
    ("RemainderBackward1", "other"): (EACH, "-floor(self/other)"),
    ("FmodBackward1", "other"): (EACH, "-trunc(self/other)"),
    ("SoftmaxBackward0", "self"): (ALONG, SOFT),
    ("SafeSoftmaxBackward0", "self"): (ALONG, SOFT),
    ("LogSoftmaxBackward0", "self"): (ALONG, "I - 1·exp(result)ᵀ"),
    ("CumsumBackward0", "self"): (ALONG, "tril(ones(count, count))"),
    ("NativeLayerNormBackward0", "input"): (ALONG, NORMALIZED),
    ("SelectBackward0", "self"): (SINGLE, "one_hot(place, count)"),
    ("TraceBackward0", "self"): (SINGLE, "eye(rows, columns)"),
    ("NllLossBackward0", "self"): (SINGLE, "-one_hot(target, classes)/share"),
    ("LinalgDetBackward0", "A"): (SINGLE, "result·inverse(A).T"),
    ("MaxBackward1", "self"): (SINGLE, "[self == result]/ties"),
    ("MinBackward1", "self"): (SINGLE, "[self == result]/ties"),
    ("MedianBackward0", "self"): (SINGLE, "[self == result]/ties"),
    ("NanmedianBackward0", "self"): (SINGLE, "[self == result]/ties"),
    ("AmaxBackward0", "self"): (SINGLE, "[self == result]/ties"),
    ("AminBackward0", "self"): (SINGLE, "[self == result]/ties"),
    ("MaxBackward0", "self"): (EVERY, LARGEST.format("max")),
    ("MinBackward0", "self"): (EVERY, LARGEST.format("min")),
    ("LinalgInvExBackward0", "A"): (MATRIX, "-result.T @ grad @ result.T"),
    ("LinalgSlogdetBackward0", "A"): (MATRIX, "grad·inverse(A).T"),
    ("CdistBackward0", "x1"): (MATRIX, "sum(grad/result, 1, True)·x1 - grad/result @ x2"),
    ("CdistBackward0", "x2"): (MATRIX, "sum((grad/result).T, 1, True)·x2 - (grad/result).T @ x1"),
}
"""Derivatives by the class of the node and the input: what each holds for, and its text."""

REGULAR = {"LinalgDetBackward0", "CdistBackward0", "LinalgVectorNormBackward0"}
"""Operations whose formula holds where no element of what they make is 0; of distances, the usual ones."""

STANDARDIZED = "z = (x - mean(x))/s and s = sqrt(var(x, correction=0) + eps)"
JACOBIANS = {
    "layer_norm": f"for the n elements x of a row diag(w)·(I - 1/n - z·zᵀ/n)/s, with {STANDARDIZED}; for the "
    "weight w it is diag(z), and for the bias I",
    "batch_norm": f"for the n elements x of a channel w·(I - 1/n - z·zᵀ/n)/s, with {STANDARDIZED}; in eval mode it is "
    "w·I/s, with mean and var of the running statistics; for the weight w of the channel it is z, and for its bias "
    "ones",
    "group_norm": f"for the n elements x of a group diag(w)·(I - 1/n - z·zᵀ/n)/s, with {STANDARDIZED}; for the weight "
    "of a channel it is z there and 0 elsewhere, and for its bias 1 there and 0 elsewhere",
    "cholesky": "what it makes of the gradient g is (S + Sᵀ)/2 with S = L⁻ᵀ·Φ(Lᵀ·g)·L⁻¹, where Φ takes the lower "
    "triangle, and half of the diagonal",
    "convolution": "what it makes of the gradient is a convolution, too: for the input the transposed one with the same "
    "weight; for the bias it is the sum over all but the channels",
    "embedding": "each row of the gradient is added to the row that was looked up, but for padding_idx; with "
    "scale_grad_by_freq after a division by how often that was looked up",
    "max_pool2d": "each gradient goes to the largest element of its window, and 0 to the others",
    "avg_pool2d": "each gradient, divided by the elements of its window, or by divisor_override, goes to each of them",
    "split": "each gradient stands where its part was, and 0 elsewhere",
    "unbind": "each gradient stands where its part was, and 0 elsewhere",
}
"""Jacobians whose formula is longer than a line, by the function: what is to say of each."""

LONG = "gviz writes no formula of it here"

EXTREMES = {label for (label, _), (_, text) in LECTURES.items() if text.endswith("/ties")}
"""Operations of which it matters how many elements are the result."""

IDENTITY = "I"
"""The matrix that is called so in the texts."""

MATRICES = 2
"""The dimensions of a matrix."""

PLACES = "ijklmn"
"""Which of the rows, by the dimension."""

BY_ROWS = "a letter in square brackets, as in a[i], stands for each row, or column, by itself"

_NAMED = re.compile(r"\bJ\(([^\W\d]\w*)\)")
_BY_ROWS = re.compile(r"\[(?:[:j-n], )*i[], ]")


class Facts(NamedTuple):
    """What a formula may ask of a tensor whose elements it does not know.

    Args:
        shape: its sizes.
        has_zeros: whether one of its elements is 0; None where that is not known.
        has_nan: whether one of them is nan, as far as that is known.
        is_zero: whether each of them is 0.
        ties: of a largest or smallest element, how many are equal to it; 0 where that is not known.
    """

    shape: tuple[int, ...]
    has_zeros: bool | None = None
    has_nan: bool = False
    is_zero: bool = False
    ties: int = 0


class Lecture(NamedTuple):
    """A derivative as lectures write it, and whether it is a factor, element by element."""

    formula: Formula
    is_factor: bool


def lecture(
    label: str, name: str, terms: Mapping[str, Any], input: Facts | None, result: Facts | None
) -> Lecture | None:
    """Return the derivative of an operation for an input as lectures write it; None where they have none.

    >>> from gviz.formulas.formula import Formula
    >>> names, grid = {"self": Formula.parse("x"), "result": Formula.parse("y"), "dim": 1}, Facts((2, 3), False)
    >>> str(lecture("SoftmaxBackward0", "self", names, grid, grid).formula)
    'diag(y[i]) - y[i]·y[i].T'

    Args:
        label: the class of the node.
        name: of the input, in the table.
        terms: formulas of the inputs and of the result, and the options, by their names there.
        input: what is known of the elements of the input.
        result: what is known of those of the result.
    """
    kind, text = LECTURES.get((label, name), ("", ""))
    if kind == EACH:
        return filled_in(text, terms, is_factor=True)
    if input is None or not input.shape or input.has_nan or (result is not None and result.has_nan):
        return None
    values = {**terms, **derived(terms, input, result)}
    is_number = result is not None and not result.shape
    is_shown = result is not None and not result.is_zero and values["along"] is not None
    fits = {EVERY: True, SINGLE: is_number, MATRIX: len(input.shape) == MATRICES, ALONG: is_shown}
    if not fits.get(kind):
        kind = SINGLE if is_number else MATRIX
        text = norm_text(label, terms) if is_number else picked_text(label, values, input.shape)
    has_no_zeros = result is not None and result.has_zeros is False and terms.get("p", 2) == 2
    if not text or (label in REGULAR and not has_no_zeros):
        return None
    if kind == ALONG:
        return along(text, values, name, len(input.shape))
    values |= {GRAD: Formula.parse(GRAD)} if kind == MATRIX else {}
    return filled_in(text, values, is_factor=kind == SINGLE)


def norm_text(label: str, options: Mapping[str, Any]) -> str:
    """Return the factor of a norm to a power above 2; "" for another, whose formula the table has.

    >>> norm_text("LinalgVectorNormBackward0", {"ord": 3}), norm_text("LinalgVectorNormBackward0", {"ord": 2})
    ('self·absolute(self)^1/result^2', '')
    """
    power = options.get("ord")
    if label != "LinalgVectorNormBackward0" or not isinstance(power, int) or power <= 2:
        return ""
    return f"self·absolute(self)^{power - 2}/result^{power - 1}"


def picked_text(label: str, values: Mapping[str, Any], sizes: tuple[int, ...]) -> str:
    """Return what an operation that picks elements of a tensor makes of the gradient; "" for any other operation.

    >>> picked_text("SelectBackward0", {"dim": 1}, (2, 3)), picked_text("DiagonalBackward0", {"offset": 1}, (2, 2))
    ('outer(grad, one_hot(place, count))', '')
    >>> picked_text("SliceBackward0", {"dim": 0, "start": 1, "end": 9, "step": 2}, (3,))
    'eye(3)[1:3:2]'
    >>> picked_text("SliceBackward0", {"dim": 1, "start": 1, "end": 2, "step": 1}, (2, 3))
    'pad(grad, (1, 1))'

    Args:
        label: the class of the node.
        values: its options by their names.
        sizes: those of the tensor.
    """
    dim = values.get("dim")
    at = dim % len(sizes) if isinstance(dim, int) else -1
    if label == "SelectBackward0" and len(sizes) == MATRICES:
        return "outer(one_hot(place, count), grad)" if at == 0 else "outer(grad, one_hot(place, count))"
    if label == "DiagonalBackward0" and len(sizes) == MATRICES and sizes[0] == sizes[1] and values.get("offset") == 0:
        return "diag(grad)"
    if label == "SliceBackward0" and all(isinstance(values.get(key), int) for key in ("start", "end", "step")):
        start, end, step = slice(*(int(values[key]) for key in ("start", "end", "step"))).indices(sizes[at])
        if len(sizes) == 1:
            return f"eye({sizes[0]})[{start}:{end}{f':{step}' if step != 1 else ''}]"
        widths = (*(0, 0) * (len(sizes) - 1 - at), start, sizes[at] - max(start, end))
        return f"pad(grad, {widths})" if step == 1 else ""
    return ""


def part_of_list(label: str, slot: int, dim: Any, facts: Sequence[Facts | None]) -> Lecture | None:
    """Return what an operation that joins tensors makes of the gradient for one of them: the part that has its place.

    >>> str(part_of_list("CatBackward0", 1, 0, [Facts((2,)), Facts((3,)), Facts((5,))]).formula)
    'grad[2:5]'

    Args:
        label: the class of the node.
        slot: which of the tensors.
        dim: along which they are joined.
        facts: what is known of each of them, and of the result.
    """
    result = facts[-1]
    if result is None or not isinstance(dim, int) or label not in ("CatBackward0", "StackBackward0"):
        return None
    at, part = dim % len(result.shape), str(slot)
    if label == "CatBackward0":
        shapes = [one.shape for one in facts[: slot + 1] if one is not None and len(one.shape) == len(result.shape)]
        end = sum(shape[at] for shape in shapes)
        part = f"{end - shapes[-1][at]}:{end}" if len(shapes) == slot + 1 else ""
    return Lecture(Formula.parse(f"{GRAD}[{', '.join([':'] * at + [part])}]"), is_factor=False) if part else None


def jacobian_notes(symbols: Iterable[str]) -> list[str]:
    """Return a sentence on each Jacobian that has a name in some symbols.

    >>> jacobian_notes(["grad @ J(svd)", "x"])
    ['J(svd) is the Jacobian of svd: gviz writes no formula of it here']
    """
    functions = sorted({name for symbol in symbols for name in _NAMED.findall(symbol)})
    return [f"J({name}) is the Jacobian of {name}: {JACOBIANS.get(name, LONG)}" for name in functions]


def along(text: str, values: dict[str, Any], name: str, count: int) -> Lecture | None:
    """Return the Jacobian of what works along one of so many dimensions: of several, that of each row."""
    dim = values["along"]
    at = [PLACES[place - (place > dim)] if place != dim else ":" for place in range(count)]
    rows = ", ".join(at[: dim or None] if dim == count - 1 else at)
    if count > 1 and "result" not in text:
        return None
    if count > 1:
        own = {key: f"{values[key].python}[{rows}]" for key in (name, "result") if values[key].python.isidentifier()}
        values |= {key: Formula.parse(text) for key, text in own.items()}
    return filled_in(text, values, is_factor=False)


def is_by_rows(symbol: str) -> bool:
    """Return whether a derivative is that of each row by itself.

    >>> [is_by_rows(text) for text in ("diag(a[i]) - a[i]·a[i]ᵀ", "I - 1·exp(a[:, i])ᵀ", "[x == y]")]
    [True, True, False]
    """
    return bool(_BY_ROWS.search(symbol))


def derived(terms: Mapping[str, Any], input: Facts, result: Facts | None) -> dict[str, Any]:
    """Return what formulas use besides inputs, the result and options; None where that is not known."""
    sizes, dim, index = input.shape, terms.get("dim"), terms.get("index")
    has = {key: getattr(terms.get(key), "python", "None") != "None" for key in ("weight", "bias")}
    if "normalized_shape" in terms:
        dim = -1 if len(terms["normalized_shape"]) == 1 and not any(has.values()) else None
    along = dim % len(sizes) if isinstance(dim, int) and len(sizes) <= len(PLACES) else None
    count = sizes[along] if along is not None else None
    return {
        "along": along,
        "sizes": sizes,
        "count": count,
        "place": index % count if isinstance(index, int) and count else None,
        "rows": sizes[0],
        "columns": sizes[-1],
        "classes": sizes[-1] if len(sizes) < 3 and not has["weight"] else None,
        "share": sizes[0] if terms.get("reduction") == 1 and len(sizes) == 2 else 1,
        "ties": (result.ties or None) if result is not None else None,
        GRAD: Formula.parse(GRAD if terms.get("keepdim") else f"unsqueeze({GRAD}, {dim})"),
    }


def filled_in(text: str, values: Mapping[str, Any], *, is_factor: bool) -> Lecture | None:
    """Return a text with values in place of its names; None if one of them is not known."""
    formula = Formula.read(text)
    if formula is None or not formula.variables <= {*values, GRAD, IDENTITY}:
        return None
    formulas: dict[str, Formula] = {}
    for name in formula.names & values.keys():
        value = values[name]
        if value is None or (isinstance(value, Formula) and UNKNOWN in value.names):
            return None
        if value == 1:
            formula = Formula.read(str(formula).replace(f"/{name}", "")) or formula
        formulas[name] = value if isinstance(value, Formula) else Formula(ast.parse(repr(value), mode="eval").body)
    return Lecture(formula.replaced(formulas), is_factor)
