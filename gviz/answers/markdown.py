"""An explanation as Markdown: tables of paths and steps, in Unicode, which needs no mathematics of its reader's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gviz.answers import Explanation, Page
from gviz.answers.formulas import (
    Section,
    counted,
    footnotes,
    forward,
    grad_name,
    heading,
    is_scalar,
    numbers,
    remark,
    section_of,
    steps,
    target,
)
from gviz.answers.terminal import quotient
from gviz.derivations.derivation import Derivation, begins_with_one
from gviz.derivations.paths import Chain, Path
from gviz.pictures.trails import in_brackets
from gviz.text import visible

SPECIAL = str.maketrans({sign: f"\\{sign}" for sign in "\\`*_{}[]<>#|"})
"""Signs that Markdown would take for its own."""


def render(explanation: Explanation, _page: Page) -> str:
    """Return the text, ending in a newline."""
    if isinstance(explanation.content, Derivation):
        blocks = derivation(explanation.content)
    else:
        blocks = (block for section in section_of(explanation.content) for block in words(section))
    return "\n\n".join(blocks) + "\n"


def plain(text: str) -> str:
    """Return a text that Markdown shows as it is."""
    return visible(text).replace("\n", " ").translate(SPECIAL)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table; columns without any text are left out."""
    kept = [at for at in range(len(head)) if any(row[at] for row in rows)]
    lines = [[head[at] for at in kept], ["---"] * len(kept), *([plain(row[at]) for at in kept] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def derivation(found: Derivation) -> Iterator[str]:
    """Yield the blocks of a derivation."""
    yield f"## {plain(heading(found))}"
    rows = [(node.name or "", "", forward(node)[2]) for node in found.given]
    rows += [forward(node) for node in found.computed]
    yield table(("tensor", "computed as", "value"), rows)
    for chain in found.chains:
        yield from chain_blocks(chain)
    yield from map(plain, footnotes(found))


def chain_blocks(chain: Chain) -> Iterator[str]:
    """Yield the blocks of one tensor."""
    of, wrt = target(chain)
    name = quotient(of, wrt) if of else wrt
    yield f"### {plain(name)}: {counted(chain)}"
    if all(is_scalar(chain, path) for path in chain.paths):
        rows = [scalar_row(chain, path) for path in chain.paths]
        yield table(("path", "chain rule", "local derivatives", "numbers", "product"), rows)
    else:
        for path in chain.paths:
            yield plain(" → ".join(path.names))
            rows = [(quotient(step.of, step.wrt), step.symbol, step.value, step.gradient) for step in steps(path)]
            yield table(("step", "local derivative", "its numbers", "gradient behind it"), rows)
    yield " — ".join(filter(None, [total(name, chain), plain(remark(chain))]))


def scalar_row(chain: Chain, path: Path) -> tuple[str, ...]:
    """Return the row of a path of numbers."""
    start = [] if begins_with_one(chain) else [numbers(chain.start)]
    return (
        " → ".join(path.names),
        " · ".join([*start, *(quotient(step.of, step.wrt) for step in steps(path))]),
        " · ".join(map(in_brackets, [*start, *path.symbols])),
        " · ".join(map(in_brackets, [*start, *(step.value for step in steps(path))])) if path.is_known else "",
        numbers(path.product),
    )


def total(name: str, chain: Chain) -> str:
    """Return the sum of the products, in bold; "" if it is not known."""
    known = chain.sum if chain.sum is not None else chain.found
    value = numbers(known)
    if not value:
        return ""
    products = [numbers(path.product) for path in chain.paths]
    is_sum = chain.is_complete and len(products) > 1 and all(products)
    sides = [name, " + ".join(map(in_brackets, products)) if is_sum else "" if chain.is_complete else "the sum of all"]
    return f"**{plain(' = '.join(filter(None, [*sides, value, grad_name(chain)])))}**"


def words(section: Section) -> Iterator[str]:
    """Yield the blocks of an explained name, or error."""
    yield f"## {plain(section.title)}"
    yield from map(plain, section.paragraphs)
    if section.facts:
        yield table(("", ""), section.facts).replace("|  |  |", "| | |", 1)
    for when, code in section.ways:
        yield f"- {plain(when)}"
        if code:
            yield f"  ```python\n{''.join(f'  {line}{chr(10)}' for line in code.splitlines())}  ```"
