"""An explanation as Markdown: tables of paths and steps, in Unicode, which needs no mathematics of its reader's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gviz.answers import Explanation, PageStyle
from gviz.answers.formulas import forward, grad_name, path_steps, remark
from gviz.answers.writer import Writer
from gviz.derivations.derivation import Derivation
from gviz.derivations.paths import Chain, Path
from gviz.pictures.digits import joined_sides
from gviz.text import visible

SPECIAL = str.maketrans({sign: f"\\{sign}" for sign in "\\`*_{}[]<>#|"})
"""Signs that Markdown would take for its own."""


def render(explanation: Explanation, _page: PageStyle) -> str:
    """Return the text, ending in a newline."""
    return "\n\n".join(MarkdownWriter().blocks(explanation.content)) + "\n"


def _plain(text: str) -> str:
    """Return a text that Markdown shows as it is."""
    return visible(text).replace("\n", " ").translate(SPECIAL)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table; columns without any text are left out."""
    columns = [at for at in range(len(head)) if any(row[at] for row in rows)]
    cells = ([_plain(row[at]) for at in columns] for row in rows)
    lines = [[head[at] for at in columns], ["---"] * len(columns), *cells]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


class MarkdownWriter(Writer):
    """Writes each block as a text of its own."""

    def title(self, text: str) -> Iterator[str]:
        yield f"## {_plain(text)}"

    def paragraph(self, text: str) -> Iterator[str]:
        yield _plain(text)

    remark = paragraph

    def facts(self, facts: Sequence[tuple[str, str]]) -> Iterator[str]:
        yield table(("", ""), facts).replace("|  |  |", "| | |", 1)

    def ways(self, ways: Sequence[tuple[str, str]]) -> Iterator[str]:
        for when, code in ways:
            yield f"- {_plain(when)}"
            if code:
                yield f"  ```python\n{''.join(f'  {line}{chr(10)}' for line in code.splitlines())}  ```"

    def values(self, derivation: Derivation) -> Iterator[str]:
        rows = [(node.name or "", "", forward(node, self.digits)[2]) for node in derivation.start_nodes]
        rows += [forward(node, self.digits) for node in derivation.operations]
        yield table(("tensor", "computed as", "value"), rows)

    def subtitle(self, name: str, text: str) -> Iterator[str]:
        yield f"### {_plain(name)}: {text}"

    def products(self, chain: Chain) -> Iterator[str]:
        rows = [(" → ".join(path.names), *self.sides(chain, path)) for path in chain.paths]
        yield table(("path", "chain rule", "local derivatives", "numbers", "product"), rows)

    def steps(self, chain: Chain, path: Path) -> Iterator[str]:
        yield _plain(" → ".join(path.names))
        yield table(
            ("step", "local derivative", "its numbers", "gradient behind it"), path_steps(chain, path, self.digits)
        )

    def total(self, name: str, chain: Chain) -> Iterator[str]:
        value = self.number(chain.path_sum if chain.sum is None else chain.sum)
        middle, sign = self.sum_of(chain) if chain.is_complete else ("the sum of all", "")
        sides = joined_sides([*filter(None, [name, middle, f"{sign}{value}", grad_name(chain)])])
        yield " — ".join(filter(None, [f"**{_plain(sides)}**" if value else "", _plain(remark(chain))]))
