"""Sums, transposes and inverses as mathematics has them, rewritten with the functions of an expression."""

from __future__ import annotations

import re
from collections.abc import Mapping
from unicodedata import normalize

GROUP = r"\((?:[^()]|\([^()]*\))*\)"
"""What is in brackets, with brackets inside it."""

TRANSPOSED = re.compile(r"([^\W\d]\w*?)? *(?:ᵀ|⊤|\^ *T\b)( *(?=[\w(]))?")
INVERSE = re.compile(rf"([^\W\d]\w*?|(?<!\w){GROUP}) *(?:⁻¹|\^ *\(? *[-−]1\b *\)?)( *[*·⋅]? *(?=[\w(]))?")
SUM = re.compile(r"([Σ∑∏]) *(?:_([a-z])\b(?: *(?:\^|\*\*) *\(?[a-zA-Z]\b\)?)?)? *")
PIECE = re.compile(r"(?P<space>\s+)|[\d.]+(?:[eE][-+]?\d+)?|\w+|\*\*|[=!<>]=|.", re.DOTALL)
CLOSING = (")", "]", "}")
ENDS_TERM = (",", ";", "\n", "=", "==", "!=", "<", ">", "<=", ">=", "|", "&")


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


def matrices(code: str, given: Mapping[str, object]) -> str:
    """Return the text with ``xᵀW`` as ``x.T @ W``, or ``x @ W`` of a vector, and ``W⁻¹x`` of a matrix as its inverse."""

    def transposed(match: re.Match[str]) -> str:
        dims, follows = dimensions(given.get(match[1])), match[2] is not None
        sign = "" if dims in (0, 1) else ".T"
        return f"{match[1] or ''}{sign}{' ' if dims == 0 else ' @ ' if follows else ''}"

    def inverse(match: re.Match[str]) -> str:
        is_matrix = dimensions(given.get(match[1])) == 2 or (match[1][0] == "(" and "@" in match[1])
        return (
            f"inverse({match[1].strip('()') if match[1].count('(') < 2 else match[1]}){'' if match[2] is None else ' @ '}"
            if is_matrix
            else match[0]
        )

    return INVERSE.sub(inverse, TRANSPOSED.sub(transposed, code))


def sums(code: str, given: Mapping[str, object]) -> str:
    """Return the text with ``Σ_i w_i x_i`` as ``sum(w x)``: of all elements, and up to the next plus or minus.

    A sum that may mean another thing stays as it is, and nothing that it is in can be read.

    >>> sums("y=Σ x*w + b", {}), sums("Σ_i^n (y_i-t_i)**2/n", {}), sums("Σ_i x_i*w_j", {}), sums("Σ_i x_j", {})
    ('y=sum(x*w) + b', 'sum((y-t)**2/n)', 'sum(x*w_j)', 'Σ_i x_j')
    """
    if re.search(r"[Σ∑∏]\w* *=(?!=)", code) or not re.search("[Σ∑∏]", code) or any(name[:1] in "Σ∑∏" for name in given):
        return code
    plain = re.sub("[ₐ-ₜᵢ-ᵪⱼ]+", lambda match: "_" + normalize("NFKC", match[0]), code)
    plain, indexed = re.sub(r"_ *\( *(\w+) *(?:= *[01] *)?\)", r"_\1", plain), set[str]()
    while signs := [*SUM.finditer(plain)]:
        sign = signs[-1]
        typed = plain[sign.end() : _term_end(plain, sign.end())].rstrip()
        typed_on = {name[-1] for name in re.findall(r"\b[^\W\d]\w*?_[a-z]\b", typed) if name not in given}
        index = sign[2] or (typed_on.pop() if len(typed_on) == 1 else "")
        term = re.sub(r"(?<![\w)\]])\[([^\[\],]*)\]", r"(\1)", typed)
        if index:
            term = re.sub(rf"(?<=[^\W_])_{index}\b", "", term)
            new = set(re.findall(rf"\b([^\W\d]\w*?)_{index}\b", typed))
            others = set(re.findall(r"\b[^\W\d]\w*\b(?! *\()", term)) - new - indexed
            is_part = any(re.search(rf"_\w*{index}", name) or dimensions(given.get(name, 0)) != 0 for name in others)
            if not new or index in others or is_part:
                return code
            indexed |= new
        is_call = sign[0] == sign[1] and re.match(
            rf"{GROUP} *[*@](?!\*)", term
        )  # Σ(x)*w: up to the bracket, or further
        is_power = sign[1] == "∏" and re.search(r"(?<!\*)[*/@](?!\*)|\w +\w", term)
        if term[:1] in ("", "_", "^", "*") or is_call or is_power:
            return code
        name = " " * plain[: sign.start()][-1:].isalnum() + ("prod" if sign[1] == "∏" else "sum")
        called = term if re.fullmatch(GROUP, term) else f"({term})"
        plain = f"{plain[: sign.start()]}{name}{called}{plain[sign.end() + len(typed) :]}"
    return code if any(re.search(rf"\b{name}_", plain) for name in indexed) else plain  # x_j beside the sum of all x_i


def _term_end(code: str, start: int) -> int:
    """Return where a term ends: before the next plus, minus, comma or closing bracket of its own level."""
    depth, before = 0, ""
    for match in PIECE.finditer(code, start):
        text = match.group()
        depth += text in ("(", "[", "{")
        is_sign = text in "+-" and (before[-1:].isalnum() or before[-1:] in ("_", *CLOSING))
        if depth == 0 and (is_sign or text in ENDS_TERM or text in CLOSING):
            return match.start()
        depth -= text in CLOSING
        before = before if match.lastgroup == "space" else text
    return len(code)
