"""Names that stand side by side without a sign: the products, and the calls, that they may be."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from itertools import pairwise

from gviz.sources.expression.allowed import OTHER_NAMES, functions

MAX_GLUED = 40
"""Characters of a name that may be several."""


def as_product(name: str, given: Mapping[str, object]) -> str | None:
    """Return a name as the product of names that have a value, and of π; None if it is none, or has a value itself.

    >>> as_product("wx", {"w": 2, "x": 1}), as_product("Wx", {"W": "[[1, 2]]", "x": "[3, 4]"}), as_product("πr", {})
    ('w*x', 'W @ x', 'π*r')
    """
    if name in given or not 1 < len(name) <= MAX_GLUED:
        return None
    ways: dict[int, list[str]] = {0: []}  # how much of the name is read -> the names in it
    for end in range(1, len(name) + 1):
        for start in [start for start in ways if name[start:end] in given or name[start:end] == "π"]:
            ways[end] = [*ways[start], name[start:end]]
    parts = ways.get(len(name), [name[0], name[1:]] if name[0] == "π" and name[1:].isidentifier() else [])
    signs = [product_sign(left, right, given) for left, right in pairwise(parts)]
    return "".join(part + sign for part, sign in zip(parts, [*signs, ""], strict=True)) if parts else None


def as_calls(name: str, known: Collection[str]) -> list[str]:
    """Return the ways to read a name as a function with its argument, which is a known name, or a number of times that.

    >>> as_calls("sinx", ["x"]), as_calls("log2x", ["x"]), as_calls("sinus", ["x"])
    (['sin(x)'], ['log2(x)', 'log(2*x)'], [])
    """
    ways = []
    for end in range(min(len(name) - 1, MAX_GLUED), 0, -1):
        function, number = OTHER_NAMES.get(name[:end], name[:end]), re.match(r"\d*", name[end:])
        argument = name[end:][number.end() :] if number else ""
        if argument in known and function in functions() and (end > 2 or function != name[:end]) and name not in known:
            ways.append(f"{function}({f'{number[0]}*' if number and number[0] else ''}{argument})")
    return ways


def product_sign(left: str, right: str, given: Mapping[str, object]) -> str:
    """Return the sign between two operands side by side: ``@`` between a matrix and a vector or a matrix."""
    return " @ " if dimensions(given.get(left)) == 2 and dimensions(given.get(right)) else "*"


def dimensions(value: object) -> int | None:
    """Return how many dimensions a value has, as far as can be seen without computing it; None for none that is there.

    >>> [dimensions(value) for value in ("-2", "[1, 2]", [[1, 2]], "ones(3, 3)", "torch.tensor([1])", "arange(3) + 1")]
    [0, 1, 2, 2, 1, None]
    """
    text = re.sub(r"\s|torch\.|tensor\(", "", str(value))
    sizes = re.fullmatch(r"(?:ones|zeros|randn?)\(([\d,]+)\)", text)
    if sizes or text[:1] == "[":
        return sizes[1].count(",") + 1 if sizes else len(text) - len(text.lstrip("["))
    return 0 if re.fullmatch(r"[-+]?[\d.]+", text) else None
