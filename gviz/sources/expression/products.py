"""Names that stand side by side without a sign: the products, and the calls, that they may be."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from itertools import chain, pairwise

from gviz.sources.expression.allowed import (
    CONSTANTS,
    DTYPES,
    OTHER_NAMES,
    function_name,
    functions,
    is_function,
    word_set,
)
from gviz.sources.expression.characters import MARKS

USUAL = word_set(
    """
    bn bs ce db df dh dl dt dw dx dy dz eq fc fn fp gt id id1 id2 kl lm lr mu nn nu ok pi tn tp ts us vs xi xs ys ws zs hs ps
    cfg ckp css dst fwd grd ips lhs nll num ptr rhs rms rnn src std tmp wgt xyz
    """
)
"""Short words that are names, in small or in capital letters, although they may be cut into letters."""

FORMULA = re.compile(r"[abckmnuvwABCKMQUVWαβγθκλω][xhXH]|[xhXH][wWUV]|m[acgv]|[αβγλω]t")
"""Two letters that formulas have side by side, a coefficient and a variable: ``wx``, ``xW``, ``Wh``, ``mc²``."""

CALL_OF_VARIABLE = r"(?:sin|cos|tan|tanh|exp|log|ln|sqrt|relu)_?\d*[uvwxyz]"
OF_VARIABLE = re.compile(rf"([uvwxyz]?)((?:{CALL_OF_VARIABLE})+)")
"""Functions, each with a variable, without brackets, perhaps behind another variable: no usual names."""

LETTER = re.compile(rf"Δ?[^\W\d_][{MARKS}]*(?:_?\d+)?")
"""A name of one letter, with the number of it; ΔT is one name."""

INDEXED = re.compile(r"([^\W\d_])_([^\W\d_])(?:\1_[^\W\d_]|[^\W\d_]_\2)+")
"""Letters with an index side by side, ``w_ix_i`` or ``σ_xσ_y``."""

LOWERED = r"[^\W\d_ₐ-ₜᵢ-ᵪⱼ][ₐ-ₜᵢ-ᵪⱼ]+"
LOWERED_ALL = re.compile(f"{LOWERED}({LOWERED})+")
"""A letter with an index of letters, ``xᵢ``; several side by side."""

SUBSCRIPT = re.compile("[₀-₉]+")

MANY = 3
"""More letters are a word, unless each of them is known."""

GREEK_FUNCTIONS = ("σ",)
"""Functions of one letter, which no two letters are glued with by chance."""

UNCERTAIN = {"sqr"}
"""Names in OTHER_NAMES whose other name is one of two."""

TRANSPOSED_NAME = re.compile(r"\b([^\W\d])T([^\W\d])(\1?)\b")
"""A product with a transposed factor, its T not raised: ``xTw``, ``xTAx``."""

MAX_GLUED = 40
"""Characters of a name that may be several."""


class KnownNames:
    """The names of an expression, and what others may stand for.

    Args:
        values: those that have a value -> the value.
        targets: those that it assigns.

    Attributes:
        value_names: those that stand for values in it.
    """

    def __init__(self, values: Mapping[str, object], targets: Collection[str]) -> None:
        self.values, self.targets = values, targets
        self.value_names: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return name in self.values or name in self.targets

    def is_value(self, name: str) -> bool:
        """Return whether a name before a bracket is a factor: it has a value, or stands elsewhere without a bracket."""
        is_given = name in self.values and (len(name) == 1 or not is_function(name))
        return is_given or name in ("π", "pi") or (name in self.value_names and name not in self and len(name) == 1)

    def numbered_name(self, text: str) -> str:
        """Return a name with its subscripts as numbers: x_1, or x1 if that has a value."""

        def numbered(match: re.Match[str]) -> str:
            number = "".join(str(ord(digit) - ord("₀")) for digit in match[2])
            is_short = match[1] + number in self and f"{match[1]}_{number}" not in self
            return match[1] + ("" if is_short else "_") + number

        return re.sub(r"([^\W\d₀-₉])([₀-₉]+)", numbered, text)

    def is_function(self, name: str) -> bool:
        """Return whether a name is that of a function, and not known as another thing."""
        return name not in self and len(name) > 1 and is_callable(name)

    def factor_before(self, name: str) -> str:
        """Return the factor in a name before a bracket that is a factor and a function, ``xsin(x)``; "" for none."""
        factor = re.match(f"{LETTER.pattern}[₀-₉]*", name)
        if factor is None or name in self or is_function(name):
            return ""
        plain, function = self.numbered_name(factor[0]), name[factor.end() :]
        if function in GREEK_FUNCTIONS:
            return factor[0] if function not in self else ""
        is_factor = plain in self.value_names or plain in self or SUBSCRIPT.search(factor[0])
        return factor[0] if is_factor and self.is_function(function) else ""

    def factors(self, name: str, *, has_subscript: bool) -> tuple[list[str], list[list[str]] | None]:
        """Return the factors that a name is, itself if it is one name, and the ways to read it if that is not certain.

        Args:
            name: with its subscripts as numbers.
            has_subscript: whether it was typed with one.

        >>> names = KnownNames({"w": 2, "x": 3}, [])
        >>> names.factors("wx", has_subscript=False), names.factors("ab", has_subscript=False)
        ((['w', 'x'], None), (['ab'], [['a', 'b']]))
        """
        if len(name) == 1 or name in self or name in CONSTANTS or name in DTYPES:
            return [name], None
        if TRANSPOSED_NAME.fullmatch(name) or INDEXED.fullmatch(name) or LOWERED_ALL.fullmatch(name):
            indexed = re.findall("._." if "_" in name else LOWERED, name)
            return [name], [indexed] if indexed else []
        letters = LETTER.findall(name) if LETTER.sub("", name) == "" and has_case(name) else [name]
        plain = re.sub(r"[_\d]", "", name)
        is_indexed = all(len(letter) > 1 for letter in letters) and has_subscript
        is_usual = plain.lower() in USUAL or name in OTHER_NAMES or (is_function(name) and not FORMULA.fullmatch(plain))
        if len(letters) > 1 and (all(letter in self.values for letter in letters) or is_indexed):
            return letters, None
        values = dict.fromkeys(chain(self.values, self.targets))
        product = as_product(name, values)
        if is_usual or (product is not None and "π" not in name):
            return [name] if is_usual or product is None else product.split("*"), None
        sure = [letter for letter in letters if letter in self or letter == "π"]
        likely = [letter for letter in letters if letter in sure or letter in self.value_names]
        is_needed = any(letter in self.values and letter not in self.value_names for letter in sure) or "π" in sure
        calls = self._calls(name, values)
        is_one = not calls and len(letters) > 1
        if is_one and (len(likely) == len(letters) or (len(letters) == 2 and (is_needed or FORMULA.fullmatch(plain)))):
            return letters, None
        is_word = len(letters) == MANY and re.search("[aeiouy]", plain.lower()) is not None and not is_needed  # iωt
        is_word = is_word or len(letters) > MANY
        ways = [[call] for call in calls] or ([letters] if len(letters) > 1 and not is_word else None)
        return [name], ways

    def _calls(self, name: str, values: Mapping[str, object]) -> list[str]:
        """Return the ways to read a name as functions of variables: ``sinx``, ``xlnx``."""
        of_variable = OF_VARIABLE.fullmatch(name)
        variable = {name[-1]} if of_variable else set()
        calls = as_calls(name, (values.keys() | self.value_names | variable) - {name})
        if of_variable and not calls:
            parts = (as_calls(part, part[-1])[0] for part in re.findall(CALL_OF_VARIABLE, of_variable[2]))
            calls = ["*".join(filter(None, (of_variable[1], *parts)))]
        return calls


def as_product(name: str, values: Mapping[str, object]) -> str | None:
    """Return a name as the product of names that have a value, and of π; None if it is none, or has a value itself.

    >>> as_product("wx", {"w": 2, "x": 1}), as_product("Wx", {"W": "[[1, 2]]", "x": "[3, 4]"}), as_product("πr", {})
    ('w*x', 'W @ x', 'π*r')
    """
    if name in values or not 1 < len(name) <= MAX_GLUED:
        return None
    ways: dict[int, list[str]] = {0: []}  # how much of the name is read -> the names in it
    for end in range(1, len(name) + 1):
        for start in [start for start in ways if name[start:end] in values or name[start:end] == "π"]:
            ways[end] = [*ways[start], name[start:end]]
    parts = ways.get(len(name), [name[0], name[1:]] if name[0] == "π" and name[1:].isidentifier() else [])
    signs = [product_sign(left, right, values) for left, right in pairwise(parts)]
    return "".join(part + sign for part, sign in zip(parts, [*signs, ""], strict=True)) if parts else None


def as_calls(name: str, names: Collection[str]) -> list[str]:
    """Return the ways to read a name as a function with its argument, which is a known name, or a number of times that.

    >>> as_calls("sinx", ["x"]), as_calls("log2x", ["x"]), as_calls("sinus", ["x"])
    (['sin(x)'], ['log2(x)', 'log(2*x)'], [])
    """
    ways = []
    for end in range(min(len(name) - 1, MAX_GLUED), 0, -1):
        function, number = OTHER_NAMES.get(name[:end], name[:end]), re.match(r"\d*", name[end:])
        argument = name[end:][number.end() :] if number else ""
        if argument in names and function in functions() and (end > 2 or function != name[:end]) and name not in names:
            ways.append(f"{function}({f'{number[0]}*' if number and number[0] else ''}{argument})")
    return ways


def product_sign(left: str, right: str, values: Mapping[str, object]) -> str:
    """Return the sign between two operands side by side: ``@`` between a matrix and a vector or a matrix.

    Where there are matrices, it is ``·`` for operands that are no numbers: their values tell what it is.
    """
    if dimensions(values.get(left)) == 2 and dimensions(values.get(right)):
        return " @ "
    has_matrix = any(dimensions(value) == 2 for value in values.values())
    return "·" if has_matrix and left.isidentifier() | left.endswith(")") else "*"


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


def has_case(name: str) -> bool:
    """Return whether the letters of a name are small and capital ones, as those of formulas are; 输入 is a word.

    >>> has_case("wx"), has_case("αx"), has_case("输入")
    (True, True, False)
    """
    return all(letter.lower() != letter.upper() for letter in name if letter.isalpha() and letter != "π")


def is_callable(name: str) -> bool:
    """Return whether people may mean a function by a name."""
    return name == "lg" or (name not in UNCERTAIN and is_function(function_name(name).removeprefix("1/")))
