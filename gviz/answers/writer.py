"""What an explanation consists of, block by block: titles, values, paths, sums; a format writes each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from operator import itemgetter
from typing import TypeVar

from gviz.answers.formulas import (
    PRECISION,
    Section,
    answer_title,
    decimals_of,
    derivative_text,
    footnotes,
    is_one_of_several,
    is_scalar,
    is_short,
    numbers_text,
    path_count,
    quotient,
    section_of,
    target,
)
from gviz.derivations.derivation import Derivation, begins_with_one
from gviz.derivations.paths import GAP, Chain, Path
from gviz.graphs import Edge
from gviz.graphs.numbers import Numbers
from gviz.passes.elements import agree, is_finite, sum_of
from gviz.pictures.digits import (
    ABOUT,
    MOST_LISTED,
    Listing,
    decimals_at,
    edge_key,
    level_that_holds,
    printed_sum,
)
from gviz.pictures.labels import in_brackets
from gviz.pictures.trails import printed_product

Part = TypeVar("Part")


class Writer(ABC):
    """Writes the blocks of an explanation in a format."""

    dot = " · "
    """What stands between two factors."""

    about = ABOUT
    """What a side begins with whose printed numbers differ from those before it."""

    def blocks(self, content: object) -> Iterator[str]:
        """Yield the text of a derivation, of the operations of a name, or of an error."""
        if isinstance(content, Derivation):
            yield from self.derivation(content)
            return
        for section in section_of(content):
            yield from self.section(section)

    def derivation(self, derivation: Derivation) -> Iterator[str]:
        """Yield what was computed, then for each tensor its paths, and what they come to."""
        listed = [node for node in (*derivation.start_nodes, *derivation.operations) if is_short(node.value)]
        self.scalar = {id(one) for one in derivation.chains if all(is_scalar(path) for path in one.paths)}
        steps = [step for one in derivation.chains for path in one.paths for step in self.decimals(one, path)]
        factors = {edge_key(edge): decimals for edge, decimals in sorted(steps, key=itemgetter(1))}
        self.digits = Listing(listed, derivation.graph, PRECISION, MOST_LISTED, factors=factors)
        yield from self.title(answer_title(derivation))
        yield from self.values(derivation)
        for chain in derivation.chains:
            of, wrt = target(chain)
            name = self.quotient(of, wrt) if of else self.words(wrt)
            yield from self.subtitle(name, path_count(chain))
            if id(chain) in self.scalar:
                yield from self.products(chain)
            else:
                for path in chain.paths:
                    yield from self.steps(chain, path)
            yield from self.total(name, chain)
        for text in footnotes(derivation):
            yield from self.remark(text)

    def level(self, path: Path) -> int | None:
        """Return the level of digits at which the numbers of a path come to its product; None for none."""
        has_all = path.is_known and self.ends(path.edges) is path.edges
        along = partial(printed_product, path.start, path.edges, PRECISION)
        return level_that_holds(path.product, PRECISION, along) if has_all else 0

    def decimals(self, chain: Chain, path: Path) -> list[tuple[Edge, int]]:
        """Return the steps of a path that are written, each with the decimals of its local derivative."""
        if id(chain) in self.scalar:
            level = self.level(path)
            return [(edge, decimals_at(edge.flow.local, PRECISION, level)) for edge in self.ends(path.edges)]
        return [(edge, decimals) for edge, (decimals, *_) in zip(path.edges, decimals_of(path)[1], strict=True)]

    def sides(self, chain: Chain, path: Path) -> list[str]:
        """Return the sides of a path's equation: derivatives, symbols, numbers, the product; "" for none."""
        quotients = [self.quotient(*pair) for pair in self.ends(list(pairwise(path.names)))]
        symbols = list(map(self.symbol, self.ends(path.edges), self.ends(path.symbols)))
        level = self.level(path)
        start = [] if begins_with_one(chain) else [self.number(path.start, level)]
        factors = [self.factor(edge, level) for edge in self.ends(path.edges)] if path.is_known else []

        def product(parts: list[str], *, is_bracketed: bool = True) -> str:
            middle = len(parts) // 2 if len(parts) < len(path.edges) else len(parts)
            parts = [*start, *parts[:middle], *([GAP] if middle < len(parts) else ()), *parts[middle:]]
            return self.dot.join(map(self.bracketed, parts) if is_bracketed and len(parts) > 1 else parts)

        is_about = any(self.digits.sign_of_factor(*step) == ABOUT for step in self.decimals(chain, path))
        return [
            "" if is_one_of_several(chain, path) else product(quotients, is_bracketed=False),
            product(symbols),
            f"{self.about if is_about else ''}{product(factors)}" if factors else "",
            f"{self.about if factors and level is None else ''}{self.number(path.product)}",
        ]

    def distinct_sides(self, chain: Chain, path: Path) -> list[str]:
        """Return the sides of a path's equation, each once: of one factor the number is the product."""
        sides = [*dict.fromkeys(filter(None, self.sides(chain, path)))]
        return sides[:-1] if sides[-2:-1] == [f"{self.about}{sides[-1]}"] else sides

    def sum_of(self, chain: Chain) -> tuple[str, str]:
        """Return the products of all paths with a plus between them, and what their total begins with.

        Both are "" where that is not all there is to say.
        """
        total, parts = chain.path_sum if chain.sum is None else chain.sum, [path.product for path in chain.paths]
        level = level_that_holds(total, PRECISION, partial(printed_sum, parts, PRECISION))
        products = [self.number(part, level) for part in parts]
        has_all = chain.is_complete and len(products) > 1 and all(products)
        if has_all and not all(map(is_finite, parts)):  # what backward adds up first may be finite: 0 · inf is nan
            has_all = agree(sum_of(parts), total)
        return (" + ".join(map(self.bracketed, products)), self.about if level is None else "") if has_all else ("", "")

    def ends(self, parts: Sequence[Part]) -> Sequence[Part]:
        """Return the parts of an equation, without those in its middle that are left out."""
        return parts

    # ---------------------------------------------------------------- parts of an equation
    def words(self, text: str) -> str:
        """Return words in an equation."""
        return text

    def number(self, value: Numbers | None, level: int | None = 0) -> str:
        """Return the numbers of a tensor, as exact as :mod:`gviz.pictures.digits` says; "" for none."""
        return numbers_text(value, precision=decimals_at(value, PRECISION, level))

    def factor(self, edge: Edge, level: int | None) -> str:
        """Return the numbers of a step; a sign where steps are left out."""
        return derivative_text(edge, decimals_at(edge.flow.local, PRECISION, level))

    def quotient(self, of: str, wrt: str) -> str:
        """Return a derivative: ``∂y/∂w``; that of a sum, or by a name with spaces, in brackets."""
        return quotient(of, wrt)

    def symbol(self, _edge: Edge, text: str) -> str:
        """Return the symbol of a step."""
        return text

    def bracketed(self, text: str) -> str:
        """Return a text as it stands between two signs."""
        return in_brackets(text)

    # ---------------------------------------------------------------- blocks
    def section(self, section: Section) -> Iterator[str]:
        """Yield an explained name, or error."""
        yield from self.title(section.title)
        for paragraph in section.paragraphs:
            yield from self.paragraph(paragraph)
        if section.facts:
            yield from self.facts(section.facts)
        if section.ways:
            yield from self.ways(section.ways)

    @abstractmethod
    def title(self, text: str) -> Iterable[str]:
        """Return what stands above all."""

    @abstractmethod
    def paragraph(self, text: str) -> Iterable[str]:
        """Return some sentences."""

    @abstractmethod
    def remark(self, text: str) -> Iterable[str]:
        """Return a sentence at the end, without its full stop."""

    @abstractmethod
    def facts(self, facts: Sequence[tuple[str, str]]) -> Iterable[str]:
        """Return facts, each with its head."""

    @abstractmethod
    def ways(self, ways: Sequence[tuple[str, str]]) -> Iterable[str]:
        """Return what can be done: sentences, each with its code, or with none."""

    @abstractmethod
    def values(self, derivation: Derivation) -> Iterable[str]:
        """Return what the computation begins with, and what each operation computes."""

    @abstractmethod
    def subtitle(self, name: str, text: str) -> Iterable[str]:
        """Return what stands above the paths to a tensor."""

    @abstractmethod
    def products(self, chain: Chain) -> Iterable[str]:
        """Return paths of numbers, each as an equation."""

    @abstractmethod
    def steps(self, chain: Chain, path: Path) -> Iterable[str]:
        """Return a path of tensors, step by step."""

    @abstractmethod
    def total(self, name: str, chain: Chain) -> Iterable[str]:
        """Return what the paths come to, and what that was compared with."""
