"""The names that an expression may use: an allow-list of pure functions, methods and attributes of the engine.

Nothing else is looked up, so that an expression can do no harm: no name here writes to a tensor, to a file, or to
the engine's state (``out=`` and ``inplace=`` are refused too). What the engine does not have yet is said by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "ATTRIBUTES",
    "CONSTANTS",
    "CREATION",
    "DTYPES",
    "FIELDS",
    "FUNCTIONS",
    "METHODS",
    "closest",
    "find_function",
    "functions_here",
    "load_engine",
    "methods_here",
]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_POINTWISE = _words(
    """
    abs absolute neg negative sign sgn exp exp2 expm1 log log2 log10 log1p sqrt rsqrt square reciprocal sin cos tan
    asin acos atan arcsin arccos arctan sinh cosh tanh asinh acosh atanh arcsinh arccosh arctanh sigmoid logit erf
    erfc erfinv lgamma digamma ceil floor round trunc fix frac relu softmax log_softmax deg2rad rad2deg sinc
    nan_to_num isnan isinf isfinite logical_not bitwise_not clone detach add sub subtract mul multiply div divide
    true_divide floor_divide pow float_power remainder fmod maximum minimum fmax fmin atan2 arctan2 hypot copysign
    logaddexp logaddexp2 xlogy lerp addcmul addcdiv where clamp clip clamp_min clamp_max eq ne lt le gt ge isclose
    logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor
    """
)

_REDUCTIONS = _words(
    """
    sum mean prod max min amax amin aminmax argmax argmin std var norm logsumexp cumsum cumprod cummax cummin
    logcumsumexp median mode nansum nanmean quantile count_nonzero any all dist numel sort argsort topk
    kthvalue diff
    """
)

_SHAPES = _words(
    """
    reshape flatten ravel squeeze unsqueeze transpose t permute swapaxes swapdims movedim moveaxis narrow select chunk
    split tensor_split hsplit vsplit dsplit unbind tile roll flip fliplr flipud rot90 repeat_interleave broadcast_to
    diag diagonal diag_embed tril triu gather scatter scatter_add index_select index_add index_fill masked_select
    masked_fill take take_along_dim adjoint
    """
)

_MATRICES = _words(
    """
    matmul mm mv dot inner outer ger bmm baddbmm addbmm addmm addmv kron trace det logdet slogdet inverse
    pinverse cross
    """
)

_FUNCTIONS_ONLY = _words(
    """
    cat concat concatenate stack hstack vstack dstack column_stack row_stack meshgrid broadcast_tensors atleast_1d
    atleast_2d atleast_3d std_mean var_mean rsub tensordot einsum cdist relu6 leaky_relu elu selu celu gelu silu mish
    softplus softsign softmin hardtanh hardsigmoid hardswish tanhshrink softshrink hardshrink logsigmoid threshold glu
    prelu normalize layer_norm group_norm rms_norm dropout pad linear bilinear embedding one_hot cosine_similarity
    pairwise_distance scaled_dot_product_attention mse_loss l1_loss smooth_l1_loss huber_loss cross_entropy nll_loss
    binary_cross_entropy binary_cross_entropy_with_logits kl_div hinge_embedding_loss margin_ranking_loss
    soft_margin_loss poisson_nll_loss triplet_margin_loss conv1d conv2d max_pool1d max_pool2d avg_pool1d avg_pool2d
    """
)

CREATION = _words(
    """
    tensor ones zeros full eye arange linspace logspace ones_like zeros_like full_like rand randn rand_like randn_like
    randint randperm
    """
)
"""Functions that make a tensor of numbers; without a tensor among their arguments the result is a constant."""

RANDOM = frozenset({"dropout", "rand", "rand_like", "randint", "randn", "randn_like", "randperm"})
"""Functions that draw random numbers: always those of ``manual_seed(0)``, so that a picture comes out the same twice."""

FUNCTIONS = _POINTWISE | _REDUCTIONS | _SHAPES | _MATRICES | _FUNCTIONS_ONLY | CREATION
"""Every function that an expression may call."""

METHODS = (
    _POINTWISE
    | _REDUCTIONS
    | _SHAPES
    | _MATRICES
    | _words(
        """
    expand expand_as view view_as reshape_as repeat unfold unflatten contiguous to type_as float double half long int
    bool item dim ndimension size nelement new_zeros new_ones new_full
    """
    )
)
"""Every method of a tensor that an expression may call."""

ATTRIBUTES = frozenset({"H", "T", "dtype", "mH", "mT", "ndim", "shape"})
"""Every attribute of a tensor that an expression may read."""

FIELDS = frozenset({"indices", "logabsdet", "max", "mean", "min", "sign", "std", "values", "var"})
"""Fields of the results that hold several tensors, as in ``max(x, dim=0).values``."""

KEYWORDS_REFUSED = frozenset({"inplace", "out"})
"""Keyword arguments that would write into a tensor."""

CONSTANTS = {"pi": 3.141592653589793, "π": 3.141592653589793, "inf": float("inf"), "nan": float("nan")}
"""Numbers that have a name of their own, unless a value or an assignment takes it."""

DTYPES = frozenset({"bfloat16", "float16", "float32", "float64", "int16", "int32", "int64", "int8", "uint8"})
"""Names of dtypes, for arguments such as ``dtype=float64``."""

MODULES = ("torch", "F", "torch.nn.functional", "nn.functional")
"""Prefixes that people paste; ``torch.log(d)`` is ``log(d)``."""

OTHER_MODULES = frozenset({"jnp", "math", "np", "numpy", "tf"})
"""Prefixes of other libraries; their functions are not these."""

FIRST_IS_NO_TENSOR = _words(
    """
    tensor ones zeros full eye arange linspace logspace rand randn randint randperm
    cat concat concatenate stack hstack vstack dstack column_stack row_stack meshgrid broadcast_tensors atleast_1d atleast_2d
    atleast_3d einsum pow float_power remainder xlogy bitwise_and bitwise_or bitwise_xor
    """
)
"""Functions whose first argument may be something else than a tensor: numbers, lists of tensors."""

OTHER_NAMES = {
    "average": "mean", "avg": "mean", "cot": "1/tan", "ctg": "1/tan", "dotproduct": "dot", "inv": "inverse",
    "ln": "log", "logistic": "sigmoid", "magnitude": "norm", "power": "pow", "sgm": "sigmoid", "sigm": "sigmoid",
    "sqr": "square", "swish": "silu", "tg": "tan", "σ": "sigmoid", "Σ": "sum", "array": "tensor",
    "Tensor": "tensor", "FloatTensor": "tensor", "tr": "trace", "arctg": "atan", "sen": "sin",
}  # fmt: skip
"""What people write in mathematics and elsewhere -> the engine's name for it."""


def load_engine() -> Any:
    """The engine that expressions run on; imported at the first call, since it costs numpy.

    >>> load_engine().tensor(2.0).item()
    2.0
    """
    from gviz import engine

    return engine


def find_function(engine: Any, name: str) -> Any:
    """The engine's function of that allowed name, from ``engine`` or else from ``engine.nn.functional``; None if it has none.

    >>> find_function(load_engine(), "backward") is None
    True
    """
    if name not in FUNCTIONS:
        return None
    found = getattr(engine, name, None)
    functional = getattr(getattr(engine, "nn", None), "functional", None)
    return getattr(functional, name, None) if found is None else found


def functions_here() -> frozenset[str]:
    """The functions that an expression may call and the engine has."""
    engine = load_engine()
    return frozenset(name for name in FUNCTIONS if find_function(engine, name) is not None)


def methods_here() -> frozenset[str]:
    """The methods that an expression may call and the engine has."""
    tensor = load_engine().Tensor
    return frozenset(name for name in METHODS if hasattr(tensor, name))


def closest(name: str, among: Iterable[str]) -> str | None:
    """The name that was probably meant, or None.

    >>> closest("sigmiod", ["sigmoid", "sin"]), closest("LOG", ["log"]), closest("q", ["x"]), closest("foo", ["floor"])
    ('sigmoid', 'log', None, None)
    """
    candidates = sorted(among)
    for candidate in candidates:
        if candidate.lower() == name.lower():
            return candidate
    from difflib import get_close_matches  # only an error needs it

    slips = 1 if len(name) < 5 else 2
    matches = (match for match in get_close_matches(name[:60], candidates, n=5) if _slips(name[:60], match) <= slips)
    return next(matches, None)


def _slips(name: str, other: str) -> int:
    """How many letters are wrong, missing, too many or swapped with the next."""
    before: list[int] = []
    last = list(range(len(other) + 1))
    for i, letter in enumerate(name):
        row = [i + 1]
        for j, meant in enumerate(other):
            row.append(min(last[j] + (letter != meant), last[j + 1] + 1, row[j] + 1))
            if i and j and letter == other[j - 1] and meant == name[i - 1]:
                row[-1] = min(row[-1], before[j - 1] + 1)
        before, last = last, row
    return last[-1]


def did_you_mean(name: str, among: Iterable[str], otherwise: str = "") -> str:
    """A hint with the name that was probably meant, else the given text.

    >>> did_you_mean("y1", ["y"]), did_you_mean("q", ["x"], "there is only x")
    ('did you mean y?', 'there is only x')
    """
    found = closest(name, among)
    return f"did you mean {found}?" if found else otherwise


def printable(text: str) -> str:
    """A text without what a terminal would not show as it is.

    >>> printable("x" + chr(27)) == "x" + chr(0xFFFD)
    True
    """
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)


def shown(text: str) -> str:
    """A text for a message: printable, and short.

    >>> shown("a" * 50)
    'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...'
    """
    text = printable(text[:41])
    return text if len(text) <= 40 else text[:37] + "..."
