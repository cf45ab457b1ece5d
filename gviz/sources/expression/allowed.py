"""The names that an expression may use: an allow-list of the engine's pure functions, methods and attributes.

Nothing else is looked up, so that an expression can do no harm: no name here writes to a tensor, to a file, or to
the engine's state (``out=`` and ``inplace=`` are refused too). The functions and methods are those of the engine's
table of names, so that a new operation can be written as soon as it is there.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from gviz import engine
from gviz.signatures.names import NAMES


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


REFUSED = word_set("as_strided empty empty_like new_empty from_numpy cuda")
"""Names of the table that an expression may not use: what they return is not made of what they are given."""

OWN_METHODS = word_set("detach dim item ndimension nelement numel size")
"""Methods of a tensor that the table does not list, since they are not operations."""

OWN_FUNCTIONS = word_set("detach")
"""Likewise its functions; the engine has them as methods."""

RANDOM = word_set(
    """
    bernoulli dropout dropout1d dropout2d dropout3d gumbel_softmax multinomial normal rand rand_like randint randint_like
    randn randn_like randperm rrelu
    """
)
"""Functions that draw random numbers: always those of ``manual_seed(0)``, so that a picture comes out the same
twice."""

ATTRIBUTES = word_set("H T dtype mH mT ndim shape")
"""Every attribute of a tensor that an expression may read."""

FIELDS = word_set("indices logabsdet max mean min sign std values var")
"""Fields of the results that hold several tensors, as in ``max(x, dim=0).values``."""

KEYWORDS_REFUSED = word_set("inplace out")
"""Keyword arguments that would write into a tensor."""

CONSTANTS = dict.fromkeys(("pi", "π", "Pi", "PI"), 3.141592653589793) | {"inf": float("inf"), "nan": float("nan")}
"""Numbers that have a name of their own, unless a value or an assignment takes it."""

DTYPES = word_set("bfloat16 float16 float32 float64 int16 int32 int64 int8 uint8")
"""Names of dtypes, for arguments such as ``dtype=float64``."""

TORCHS_DTYPES = DTYPES | word_set("bool double float half int long short")
"""Those that ``torch.long`` and the like name."""

MODULES = ("torch", "F", "torch.nn.functional", "nn.functional")
"""Prefixes that people paste; ``torch.log(d)`` is ``log(d)``."""

OTHER_MODULES = word_set("jnp linalg Math math nn np numpy scipy sp special sympy tf")
"""Prefixes of other libraries; their functions are not these."""

OTHER_NAMES = {
    "average": "mean", "avg": "mean", "cot": "1/tan", "ctg": "1/tan", "dotproduct": "dot", "inv": "inverse",
    "ch": "cosh", "cosec": "1/sin", "csc": "1/sin", "lb": "log2", "loge": "log", "logₑ": "log",
    "sec": "1/cos", "sh": "sinh", "sigma": "sigmoid", "th": "tanh",
    "ln": "log", "logistic": "sigmoid", "magnitude": "norm", "power": "pow", "sgm": "sigmoid", "sigm": "sigmoid",
    "sqr": "square", "swish": "silu", "tg": "tan", "σ": "sigmoid", "array": "tensor",
    "Tensor": "tensor", "FloatTensor": "tensor", "log_2": "log2", "log_10": "log10", "log_e": "log", "log₂": "log2", "log₁₀": "log10",
    "tr": "trace", "Tr": "trace", "Total": "sum", "mse": "mse_loss", "MSE": "mse_loss", "bce": "binary_cross_entropy",
    "BCE": "binary_cross_entropy", "arctg": "atan", "sen": "sin",
}  # fmt: skip
"""Names from mathematics and elsewhere -> the engine's names; ``1/tan`` is one over what a function gives."""


@cache
def functions(*, of_nn: bool = True) -> frozenset[str]:
    """Return every function that an expression may call; on request without those that are there once ``nn`` is loaded.

    >>> {"log", "relu", "mse_loss"} <= functions(), "backward" in functions()
    (True, False)
    """
    if of_nn:
        import_module(f"{engine.__name__}.nn.functional")
    return _pure(*(name.base for name in NAMES.values() if name.space in ("torch", "F"))) | OWN_FUNCTIONS


def is_function(name: str) -> bool:
    """Return whether an expression may call a function of that name; ``nn`` is loaded only for an unknown one."""
    return name in functions(of_nn=False) or name in functions()


def function_name(name: str) -> str:
    """Return the engine's name for a function as people call it; the name itself if there is none.

    >>> function_name("ln"), function_name("LeakyReLU"), function_name("relu"), function_name("T")
    ('log', 'leaky_relu', 'relu', 'T')
    """
    if name in functions() or name in OTHER_NAMES or name.islower() or (len(name) <= len("Ln") and name != "LN"):
        return name if name in functions() else OTHER_NAMES.get(name, name)
    return _without_lines().get(name.lower()) or OTHER_NAMES.get(name.lower(), name)


@cache
def _without_lines() -> dict[str, str]:
    """Return the functions by their names without the lines in them."""
    return {name.replace("_", ""): name for name in sorted(functions())}


@cache
def tensor_methods() -> frozenset[str]:
    """Return every method of a tensor that an expression may call."""
    return _pure(*(name.method for name in NAMES.values())) | OWN_METHODS


def _pure(*names: str | None) -> frozenset[str]:
    """Return the names without those that write, or are Python's own."""
    return frozenset(name for name in names if name and not name.startswith("_") and not name.endswith("_")) - REFUSED


def find_function(name: str) -> Any:
    """Return the engine's function of an allowed name; ``nn`` is loaded only for one that is not in ``engine``."""
    holder = engine.Tensor if name in OWN_FUNCTIONS else engine
    return getattr(holder, name, None) or getattr(engine.nn.functional, name)
