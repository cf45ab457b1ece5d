"""Names of operations: the sign or the function that a class of PyTorch's graph nodes is named after."""

from __future__ import annotations

import ast
import re

from gviz.formulas.formula import GRAD

SIGNS = {
    "Add": ("+", 1), "Sub": ("-", 1), "Rsub": ("-", 1), "Mul": ("*", 2), "Div": ("/", 2), "Mm": ("@", 2), "Mv": ("@", 2),
    "Dot": ("@", 2), "Bmm": ("@", 2), "Pow": ("**", 4),
}  # fmt: skip
"""The sign of an operation, and how strongly it binds."""

OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "−", ast.Mult: "×", ast.Div: "÷", ast.MatMult: "@", ast.Pow: "^",
}  # fmt: skip
"""Python's operators, each with the sign that :func:`operator_of` has for it."""

PUT_IN = ("MaskedFill", "Where", "IndexPut")
"""Operations that put inf into a tensor because the program says so: their classes begin with these."""

GRAD_FN = re.compile(r"(\w+?)Backward(\d+)")
"""The class of an operation of PyTorch: that of a user's own has no number, and may be called as one of these."""

_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=\d)(?=[A-Z][a-z]{3})")
"""Where a word begins in the name of a class. Any letter behind a digit is large there: only a longer word, as in
``SmoothL1Loss``, is one of its own, others belong to what is before them, as in ``Log1P`` and ``Deg2Rad``."""


_INTERNAL = re.compile("^(native|linalg)_(vector_)?|_(ex|with_indices)$")
"""What PyTorch's own names of operations have beside those that people call."""


def operator_of(label: str) -> str:
    """Return the sign, or the function, of an operation: as it is read in a formula.

    >>> operator_of("MulBackward0"), operator_of("RsubBackward1"), operator_of("LogBackward0"), operator_of("Cube")
    ('×', '−', 'log', 'Cube')
    """
    match = GRAD_FN.fullmatch(label)
    name = "" if match is None else match[1]
    if name in SIGNS:
        return {"*": "×", "/": "÷", "**": "^", "-": "−"}.get(SIGNS[name][0], SIGNS[name][0])
    return "−" if name == "Neg" else recorded_function(label)


def kind_of(label: str) -> str:
    """Return an operation's class without ``Backward`` and its number; "" for a user's own, whatever that is called.

    >>> kind_of("MulBackward0"), kind_of("Cube"), kind_of("MulBackward")
    ('Mul', '', '')
    """
    match = GRAD_FN.fullmatch(label)
    return "" if match is None else match[1]


def is_of_program(label: str) -> bool:
    """Return whether an operation is a Function of the program: PyTorch's classes end with a number."""
    return label.endswith("Backward")


def recorded_function(label: str) -> str:
    """Return the function whose call an operation records: of a class of the user's own its name.

    >>> recorded_function("LogSoftmaxBackward0"), recorded_function("CubeBackward"), recorded_function("Cube")
    ('log_softmax', 'Cube', 'Cube')
    """
    match = GRAD_FN.fullmatch(label)
    return label.removesuffix("Backward") if match is None else function_of(match[1])


def jacobian_symbol(label: str) -> str:
    """Return the gradient that an operation without a formula hands on: a product with a Jacobian that has a name.

    A class of the user's own hands on what its backward makes, be it right or wrong.

    >>> jacobian_symbol("LinalgSvdBackward0"), jacobian_symbol("CubeBackward")
    ('grad @ J(svd)', 'Cube.backward(grad)')
    """
    return (
        f"{recorded_function(label)}.backward({GRAD})" if is_of_program(label) else f"{GRAD} @ {jacobian_name(label)}"
    )


def jacobian_name(label: str) -> str:
    """Return the name of the Jacobian of an operation whose derivative has no formula here.

    >>> jacobian_name("LinalgSvdBackward0"), jacobian_name("NativeLayerNormBackward0")
    ('J(svd)', 'J(layer_norm)')
    """
    return f"J({recorded_function(label)})"


def function_of(name: str) -> str:
    """Return the function that a class of PyTorch is named after.

    >>> function_of("LogSoftmax"), function_of("MaxPool2DWithIndices"), function_of("Log1P"), function_of("LinalgDet")
    ('log_softmax', 'max_pool2d', 'log1p', 'det')
    """
    return _INTERNAL.sub("", _WORDS.sub("_", name).lower())
