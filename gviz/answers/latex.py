r"""An explanation as a LaTeX document, to be compiled or taken apart: it needs amsmath, amssymb and geometry."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import isfinite
from unicodedata import normalize

from gviz.answers import Explanation, PageStyle
from gviz.answers.formulas import (
    PRECISION,
    decimals_of,
    grad_name,
    gradients_of,
    is_one_of_several,
    is_short,
    numbers_text,
    remark,
)
from gviz.answers.writer import Writer
from gviz.derivations.derivation import Derivation, begins_with_one, step_kind
from gviz.derivations.paths import Chain, Path
from gviz.formulas.calls import as_formula
from gviz.formulas.formula import UNKNOWN, Formula
from gviz.graphs import Edge, Node
from gviz.graphs.numbers import Element, Numbers, size_of
from gviz.passes.elements import scalar_of
from gviz.pictures.digits import (
    ABOUT,
    EQUAL,
    decimal,
    decimals_at,
    joined_sides,
)
from gviz.pictures.labels import (
    shape_text,
)
from gviz.text import visible

HEAD = r"""\documentclass{article}
\usepackage[margin=2cm]{geometry}
\usepackage{amsmath,amssymb}
\setcounter{MaxMatrixCols}{64}
\allowdisplaybreaks
\begin{document}
"""
FOOT = "\\end{document}\n"
ON_ONE_LINE = 2
"""Edges of a path whose products stand on one line; a longer one has a line for each, as a slide is narrow."""

NEEDS = r"% \usepackage{amsmath,amssymb}"
"""What the document loads that a part of one is pasted into."""

PROSE = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"$<$", ">": r"$>$", "|": r"$|$", '"': "''",
    "→": r"$\to$", "∂": r"$\partial$", "·": r"$\cdot$", "×": r"$\times$", "²": r"$^2$", "³": r"$^3$",
    "…": r"\dots{}", "Σ": r"$\sum$", "−": "$-$", UNKNOWN: r"$\square$", "÷": r"$\div$", "≈": r"$\approx$",
    "≤": r"$\le$", "≥": r"$\ge$", "≠": r"$\ne$", "‖": r"$\Vert$", "¹": "$^1$", "ᵀ": r"$^{\top}$", "⁻": "$^-$",
}  # fmt: skip
"""Characters that stand for something else in LaTeX, or that its fonts lack."""

ACCENTS = {
    "\u0300": ("`", "grave"), "\u0301": ("'", "acute"), "\u0302": ("^", "hat"), "\u0303": ("~", "tilde"),
    "\u0304": ("=", "bar"), "\u0306": ("u", "breve"), "\u0307": (".", "dot"), "\u0308": ('"', "ddot"),
    "\u030a": ("r", "mathring"), "\u030c": ("v", "check"),
}  # fmt: skip
"""Marks of letters: the command in a text, and that in a formula."""

GREEK = (
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "kappa", "lambda", "mu", "nu", "xi", "pi",
    "rho", "sigma", "tau", "phi", "chi", "psi", "omega",
)  # fmt: skip
CAPITALS = ("Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Phi", "Psi", "Omega")
LETTERS = dict(zip("αβγδεζηθκλμνξπρστφχψωΓΔΘΛΞΠΣΦΨΩ", (*GREEK, *CAPITALS), strict=True))

FUNCTIONS = {
    "exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh", "min", "max", "det",
}  # fmt: skip
"""Functions that LaTeX has a command for."""

MOST_COLUMNS = 6
"""Columns of a matrix that is set as one."""

COMPARED = {ast.Lt: "<", ast.LtE: r"\le", ast.Gt: ">", ast.GtE: r"\ge", ast.Eq: "=", ast.NotEq: r"\ne"}
ALONE, SUM, PRODUCT, SIGN, POWER, ATOM = range(6)
"""How strongly parts of a formula bind; one that stands alone needs no brackets."""

BINARY: dict[type[ast.operator], tuple[str, int, int, int]] = {
    ast.Add: ("%s + %s", SUM, PRODUCT, SUM),
    ast.Sub: ("%s - %s", SUM, PRODUCT, SUM),
    ast.Mult: (r"%s \cdot %s", PRODUCT, SIGN, PRODUCT),
    ast.MatMult: (r"%s\, %s", PRODUCT, SIGN, PRODUCT),
    ast.Div: (r"\frac{%s}{%s}", ALONE, ALONE, PRODUCT),
    ast.Pow: ("%s^{%s}", ATOM, ALONE, POWER),
}
"""Operations: how they are set, how strongly their parts have to bind, and how strongly they bind themselves."""

BELOW = " \\\\\n  &\\quad "
"""What stands before the gradient of a step in a line of its own."""

WIDEST = 88
"""Digits that have room beside each other on the page."""

LONGEST = 300
"""Characters of an expression that is set as a formula; a longer one is set as code."""


def render(explanation: Explanation, page: PageStyle) -> str:
    """Return the document; or a part of one, without what a slide refuses: sections and lines as they are typed."""
    body = "\n\n".join((PartWriter if page.fragment else LatexWriter)().blocks(explanation.content))
    return f"{NEEDS}\n{body}\n" if page.fragment else f"{HEAD}\n{body}\n\n{FOOT}"


# ------------------------------------------------------------------ words
def prose(text: str, *, is_math: bool = False) -> str:
    r"""Return a text as LaTeX sets it; a character that no usual font has, by its number.

    >>> prose("50% of w_1 → y"), prose("é"), prose("ŷ", is_math=True), prose("變"), prose("θ_1.grad")
    ('50\\% of w\\_1 $\\to$ y', "\\'{e}", '\\hat{y}', '[U+8B8A]', '$\\theta$\\_1.grad')
    """
    signs = re.findall("[^\\W\\d_]?[\u0300-\u036f]+|.", normalize("NFC", visible(text)), re.DOTALL)
    return "".join(PROSE.get(sign) or (sign if sign.isascii() else letter(sign, is_math=is_math)) for sign in signs)


def letter(text: str, *, is_math: bool) -> str:
    """Return a letter with its accents; by the numbers of its characters if it has others."""
    base, *marks = [*normalize("NFD", text)]
    if not is_math and base in LETTERS:
        return f"${letter(text, is_math=True)}$"
    base = f"\\{LETTERS[base]}" if base in LETTERS else base
    if not base.isascii() or not ACCENTS.keys() >= {*marks}:
        return "".join(f"[U+{ord(sign):04X}]" for sign in text)
    for mark in marks:
        base = f"\\{ACCENTS[mark][is_math]}{{{base}}}"
    return base


# ------------------------------------------------------------------ formulas
def name_of(name: str) -> str:
    r"""Return a name as a formula has it.

    >>> [name_of(name) for name in ("w", "w1", "theta", "net.fc.weight", "x_in")]
    ['w', 'w_{1}', '\\theta', '\\mathrm{net.fc.weight}', '\\mathrm{x\\_in}']
    """
    base, number = re.fullmatch(r"(.*?)_?(\d*)", name, re.DOTALL).groups()  # type: ignore[union-attr]
    if name == UNKNOWN:
        return "\\square"
    if base in LETTERS or (base.lower() in GREEK and base != "xi"):  # the x_i of a loop
        symbol = f"\\{LETTERS.get(base, base)}"
    elif re.fullmatch(f"[A-Za-z{''.join(LETTERS)}][\u0300-\u036f]*", normalize("NFD", base)):
        symbol = prose(base, is_math=True)
    else:
        return "\\mathrm{" + prose(name, is_math=True).replace("$", "").replace(" ", "\\ ") + "}"
    return f"{symbol}_{{{number}}}" if number else symbol


def math(text: str) -> str:
    r"""Return an expression, or the symbol of a local derivative, as a formula.

    >>> math("b"), math("-2·x²/y"), math("grad @ x.T"), math("1 - tanh(x)")
    ('b', '\\frac{-2 \\cdot x^{2}}{y}', '\\mathrm{grad}\\, x^{\\top}', '1 - \\tanh\\left(x\\right)')
    """
    formula = Formula.read(text) if len(text) <= LONGEST else None
    try:
        return part(formula.node)[0] if formula is not None else code(text)
    except RecursionError:
        return code(text)


def code(text: str) -> str:
    """Return what is no formula, as it was typed."""
    return f"\\text{{\\texttt{{{prose(text)}}}}}"


def part(node: ast.expr) -> tuple[str, int]:
    """Return a part of a formula, and how strongly it binds."""
    text, level = code(ast.unparse(node)), ATOM
    match node:
        case ast.Constant(value=int() | float() as value):
            text = _number(value)
        case ast.Name():
            text = name_of(node.id)
        case ast.UnaryOp(op=ast.USub()):
            text, level = f"-{_within(node.operand, SIGN)}", PRODUCT
        case ast.BinOp() if type(node.op) in BINARY:
            pattern, left, right, level = BINARY[type(node.op)]
            text = pattern % (_within(node.left, left), _within(node.right, right))
        case ast.Attribute(attr="T"):
            text, level = f"{_within(node.value, ATOM)}^{{\\top}}", POWER
        case ast.Compare(ops=[sign], comparators=[right]) if type(sign) in COMPARED:
            text = f"[{_within(node.left, SUM)} {COMPARED[type(sign)]} {_within(right, SUM)}]"
        case ast.List([ast.Compare() as inner]):
            text, level = part(inner)
        case ast.Call(func=ast.Name(id=name), keywords=[]):
            text, level = _call(name, [part(one)[0] for one in node.args])
        case ast.Call(func=ast.Attribute(value=value, attr=name), keywords=[]):
            text, level = _call(name, [part(one)[0] for one in (value, *node.args)])
    return text, level


def _call(name: str, arguments: list[str]) -> tuple[str, int]:
    """Return a call of a function."""
    if len(arguments) == 1 and name in ("sqrt", "abs", "absolute"):
        return (f"\\sqrt{{{arguments[0]}}}" if name == "sqrt" else f"\\left|{arguments[0]}\\right|"), ATOM
    function = f"\\{name}" if name in FUNCTIONS else f"\\operatorname{{{prose(name)}}}"
    return f"{function}\\left({', '.join(arguments)}\\right)", POWER


def _within(node: ast.expr, level: int) -> str:
    """Return a part as it stands inside of one that binds so strongly."""
    text, own = part(node)
    return text if own >= level else f"\\left({text}\\right)"


def _number(value: Element | None, precision: int = PRECISION) -> str:
    r"""Return a number.

    >>> _number(2.0), _number(float("nan")), _number(float("-inf")), _number(1.5e-7)
    ('2', '\\mathrm{nan}', '-\\infty', '1.5 \\cdot 10^{-7}')
    """
    if isinstance(value, float) and not isfinite(value):
        return {"nan": "\\mathrm{nan}", "inf": "\\infty", "-inf": "-\\infty"}[str(value)]
    if isinstance(value, bool | str) or value is None:
        return code(str(value))
    digits, exponent, power = decimal(value, precision).partition("e")
    return f"{digits} \\cdot 10^{{{int(power)}}}" if exponent else digits


def tensor(value: Numbers | None, precision: int = PRECISION) -> str:
    """Return the numbers of a small tensor as a number, a column or a matrix; of a larger one its size and norm.

    A column is written as a row with the sign of what is transposed, which takes less room.
    """
    sizes = size_of(value)
    if not sizes:
        return _number(scalar_of(value), precision)
    if value is None or not is_short(value) or len(sizes) > 2 or sizes[-1] > MOST_COLUMNS:
        return f"\\text{{{prose(numbers_text(value))}}}"
    rows = value.nested() if len(sizes) == 2 else (value.nested(),)
    lines = " \\\\ ".join(" & ".join(_number(item, precision) for item in row) for row in rows)
    return f"\\begin{{bmatrix}} {lines} \\end{{bmatrix}}" + "^{\\top}" * (len(sizes) == 1)


# ------------------------------------------------------------------ blocks
class LatexWriter(Writer):
    """Writes each block as a part of a document."""

    dot = " \\cdot "
    about = "\\approx "
    gap = " && "  # before the gradient of a step

    def head(self, kind: str, text: str) -> str:
        """Return a heading."""
        return f"\\{kind}{{{text}}}"

    def listing(self, text: str) -> str:
        """Return lines of code below an item."""
        return f"\n\\begin{{verbatim}}\n{text}\n\\end{{verbatim}}"

    def words(self, text: str) -> str:
        return f"\\text{{{prose(text)}}}"

    def number(self, value: Numbers | None, level: int | None = 0) -> str:
        return "" if value is None else tensor(value, decimals_at(value, PRECISION, level))

    def factor(self, edge: Edge, level: int | None) -> str:
        return "\\dots" if edge.flow.local is None else self.number(edge.flow.local, level)

    def quotient(self, of: str, wrt: str) -> str:
        top, below = (
            f"({' + '.join(map(name_of, name.split(' + ')))})" if " + " in name else name_of(name) for name in (of, wrt)
        )
        return f"\\frac{{\\partial {top}}}{{\\partial {below}}}"

    def symbol(self, edge: Edge, text: str) -> str:
        quotient = (name.removeprefix("∂") for name in text.split("/", 1))
        return math(edge.flow.symbol) if edge.flow.symbol else self.quotient(*quotient)

    def bracketed(self, text: str) -> str:
        has_sum = re.search(r" [+-] ", re.sub(r"\\left\(.*\\right\)|\\(?:frac|text)\{.*\}", "", text)) is not None
        return f"\\left({text}\\right)" if text.startswith("-") or has_sum else text

    def title(self, text: str) -> Iterator[str]:
        yield self.head("section*", prose(text))

    def paragraph(self, text: str) -> Iterator[str]:
        yield prose(text)

    def remark(self, text: str) -> Iterator[str]:
        yield f"\\noindent {prose(text[:1].upper() + text[1:])}."

    def facts(self, facts: Sequence[tuple[str, str]]) -> Iterator[str]:
        yield environment("description", [f"\\item[{prose(head)}] {prose(text)}" for head, text in facts])

    def ways(self, ways: Sequence[tuple[str, str]]) -> Iterator[str]:
        items = [f"\\item {prose(when)}{self.listing(code) if code else ''}" for when, code in ways]
        yield environment("itemize", items)

    def values(self, derivation: Derivation) -> Iterator[str]:
        lines = [f"{name_of(node.name or '')} &= {self.value(node)}" for node in derivation.start_nodes]
        names = {node.name or "" for node in (*derivation.start_nodes, *derivation.operations)}
        for node in derivation.operations:
            value, formula = self.value(node), as_formula(node.expression, names)
            equals = "\\quad " if value.startswith("\\text") else " = "
            text = math(node.expression if formula is None else str(formula)) if node.expression else ""
            sides = joined_sides([*filter(None, [text, value])], equals, self.about)
            lines.append(f"{name_of(node.name or node.label)} &= {sides}")
        yield _aligned(lines)

    def value(self, node: Node) -> str:
        """Return the value of a tensor; its size where the numbers are not known."""
        if node.value is None or 0 in (node.shape or ()):
            return f"\\text{{{prose(shape_text(node.shape))}}}" if node.shape else ""
        text = tensor(node.value, self.digits.of(node))
        return text if text.startswith("\\text") or self.digits.holds(node) else f"{self.about}{text}"

    def subtitle(self, name: str, text: str) -> Iterator[str]:
        yield self.head("subsection*", f"${name}$: {prose(text)}")

    def products(self, chain: Chain) -> Iterator[str]:
        lines = []
        for path in chain.paths:
            first, *others = self.distinct_sides(chain, path)
            equals = " = " if len(path.edges) <= ON_ONE_LINE else " \\\\\n  & = "
            lines.append(joined_sides([f"{way(path)}:\\quad & {first}", *others], equals, self.about))
        yield _aligned(lines)

    def steps(self, chain: Chain, path: Path) -> Iterator[str]:
        yield f"\\noindent ${way(path)}$:"
        of_start, of_steps = decimals_of(path)
        start = f"{self.words('start')} &{self.gap}\\text{{gradient }} {tensor(path.start, of_start)}"
        lines = [] if begins_with_one(chain) or path.start is None else [start]
        pairs = zip(gradients_of(path), of_steps, strict=True)
        for pair, edge, text, total, (gradients, (of_factor, *decimals)) in zip(
            pairwise(path.names), path.edges, path.symbols, path.sums, pairs, strict=True
        ):
            is_map = step_kind(edge) != "factor" and "grad" in edge.flow.symbol
            sign = ":\\ \\mathrm{grad} \\mapsto" if is_map else "="
            is_plain = edge.flow.local is None or is_map or edge.flow.symbol.lstrip("-").isdigit()
            equals = "=" if self.digits.sign_of_factor(edge, of_factor) == EQUAL else self.about
            local = "" if is_plain else f" {equals} {tensor(edge.flow.local, of_factor)}"
            if step_kind(edge) == "matrix" and is_short(edge.flow.jacobian):
                local = f",\\ J = {tensor(edge.flow.jacobian, of_factor)}"
            behind = [
                "" if one is None else f",{self.gap}\\text{{gradient }} {tensor(one, places)}"
                for one, places in zip(gradients, decimals, strict=True)
            ]
            step = f"{way(path)}:\\quad" if is_one_of_several(chain, path) else f"{self.quotient(*pair)}"
            lines.append(f"{step} &{sign} {self.symbol(edge, text)}{local}{behind[0]}")
            lines += [f"&{self.words(total)}{behind[1]}"] if total else []
        sides = [line.partition(self.gap)[::2] for line in lines]
        is_wide = sum(max(map(digits_wide, side)) for side in zip(*sides, strict=True)) > WIDEST
        yield _aligned([line.replace(self.gap, BELOW) for line in lines] if is_wide else lines)

    def total(self, name: str, chain: Chain) -> Iterator[str]:
        value = self.number(chain.path_sum if chain.sum is None else chain.sum)
        middle, sign = self.sum_of(chain) if chain.is_complete else (self.words("the sum of all"), "")
        grad = grad_name(chain)
        about = self.about if grad.startswith(ABOUT) else ""
        end = f"{about}\\texttt{{{prose(grad.removeprefix(ABOUT))}}}" if grad else ""
        if value:
            sides = [*filter(None, [name, middle, f"{sign}{value}", end])]
            line = joined_sides(sides, about=self.about)
            if digits_wide(line) <= WIDEST:
                yield f"\\[ {line} \\]"
            else:
                first, *others = (side.replace(" + ", f"{BELOW}+ ") for side in sides[1:])
                yield _aligned([joined_sides([f"{name} &= {first}", *others], " \\\\\n  & = ", self.about)])
        if remark(chain):
            yield from self.remark(remark(chain))


class PartWriter(LatexWriter):
    """Writes each block as a part of a document that is there already, or of one of its slides."""

    gap = BELOW  # a slide has no room for it on the same line

    def head(self, _kind: str, text: str) -> str:
        return f"\\noindent\\textbf{{{text}}}\\par"

    def listing(self, text: str) -> str:
        lines = (prose(line).replace("''", "{\\char34}").replace("  ", "\\ \\ ") for line in text.splitlines())
        return "".join(f"\\\\\n{{\\ttfamily {line}}}" for line in lines if line)


def _aligned(lines: Sequence[str]) -> str:
    """Return lines of equations."""
    return environment("align*", [" \\\\\n".join(f"  {line}" for line in lines if line)])


def digits_wide(text: str) -> int:
    r"""Return about how wide a formula is set, in digits; of a matrix the first row counts.

    >>> digits_wide(r"J = \begin{bmatrix} 1 & 0 \\ 0 & 1 \end{bmatrix}")
    6
    """
    row = re.sub(r" \\\\ .*?(?=\\end\{bmatrix\})", "", text)
    return len(re.sub(r"\\[A-Za-z]+|\{bmatrix\}|[\\{}&^_\s]", "", row)) + 2 * row.count(" & ")


def environment(kind: str, items: Sequence[str]) -> str:
    """Return lines within an environment: items of a list, or equations."""
    return f"\\begin{{{kind}}}\n{chr(10).join(items)}\n\\end{{{kind}}}"


def way(path: Path) -> str:
    """Return the names along a path."""
    return " \\to ".join(map(name_of, path.names))
