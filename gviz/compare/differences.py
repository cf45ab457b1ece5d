"""What is different in two graphs: nodes that one has alone, and pairs whose facts or inputs differ."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from gviz.compare.matching import TENSORS, matched_ids, wires_to
from gviz.graphs import LOST, Edge, Graph, Node
from gviz.graphs.numbers import Element, Numbers
from gviz.passes.forms import may_vary, numbers_given
from gviz.pictures.labels import shape_text, short_value
from gviz.text import amount, cut, excerpt

ADDED, REMOVED, CHANGED = "+", "-", "~"

SIGNS = {ADDED: "added", REMOVED: "removed", CHANGED: "changed"}
"""What each sign says."""

GIVEN = "given"
"""What a call was given that is a number and no tensor."""

ALWAYS = ("kind", "operation", "name", "shape", "dtype")
"""Facts that two operations may have in common that are not of one class."""

OF_SHAPES = ("_sym_sizes", "_sym_strides", "_sym_numel")
"""How the names of what an operation saves end that follows from the shapes of its inputs."""

MOST_ROWS = 60
"""Differences that a text lists."""

MOST_INSIDE = 4
"""Boxes that are listed of a module that one graph has alone."""

NAMES_TELL = "modules are those that names of parameters tell"
"""What is said of modules where nobody has seen the operations being recorded."""

LONGEST_INPUTS, LONGEST_CODE = 60, 80
"""Characters of a list of inputs, and of a place with its line."""


class Field(NamedTuple):
    """A fact that differs: its name, and what it was and is, as text."""

    name: str
    old: str
    new: str

    def __str__(self) -> str:
        """Return it as people read it."""
        return f"{self.name}: {self.old} → {self.new}"


class Difference(NamedTuple):
    """A node that one graph has alone, or a pair of nodes that differ.

    Args:
        sign: ``+`` for one that is new, ``-`` for one that is gone, ``~`` for a pair.
        node: of the second graph; of the first for one that is gone.
        before: of a pair the node of the first graph; None else.
        fields: of a pair what differs.
    """

    sign: str
    node: Node
    before: Node | None = None
    fields: tuple[Field, ...] = ()

    @property
    def is_counted(self) -> bool:
        """Whether people are told of it: what fills the gradient of a leaf comes and goes with the leaf."""
        return self.node.kind != "accumulate" or bool(self.fields)


@dataclass(frozen=True)
class GraphDifferences:
    """The differences of two graphs; its text is what ``gviz diff`` prints.

    What a program calls its intermediate results, and on which lines it makes them, is no difference.

    >>> x, y = Node("n0", "leaf", name="x"), Node("n1", "operation", "ExpBackward0", name="y")
    >>> old = Graph((y, x), (Edge("n0", "n1"),), ("n1",))
    >>> new = Graph((y._replace(label="SinBackward0"), x), old.edges, ("n1",))
    >>> print(GraphDifferences(old, new))
    different: 0 added, 0 removed, 1 changed; 1 box as before
    <BLANKLINE>
    ~ SinBackward0 y
        operation: ExpBackward0 → SinBackward0

    Args:
        first: a graph.
        second: another one, or the same later.
        values: whether numbers of tensors and gradients are compared.
        tolerance: how far apart two numbers may be and count as equal, for their size; for numbers below 1 by itself.
    """

    first: Graph
    second: Graph
    values: bool = False
    tolerance: float = 1e-5

    @property
    def sides(self) -> tuple[Graph, Graph]:
        """Both graphs."""
        return self.first, self.second

    @cached_property
    def pairs(self) -> dict[str, str]:
        """The ids of nodes that both graphs have, those of the first with those of the second."""
        return matched_ids(self.first, self.second)

    @cached_property
    def partners(self) -> dict[str, str]:
        """The same the other way round."""
        return {new: old for old, new in self.pairs.items()}

    @cached_property
    def changes(self) -> tuple[Difference, ...]:
        """The differences: of the second graph's nodes, in the order of the program, then those that are gone."""
        changes = []
        for node in farthest_first(self.second):
            if node.id not in self.partners:
                changes.append(Difference(ADDED, node))
            elif fields := (*self.fields(before := self.first.node(self.partners[node.id]), node),):
                changes.append(Difference(CHANGED, node, before, fields))
        gone = (Difference(REMOVED, node) for node in farthest_first(self.first) if node.id not in self.pairs)
        return (*changes, *gone)

    @property
    def is_same(self) -> bool:
        """Whether nothing is different."""
        return not self.changes

    def __bool__(self) -> bool:
        """Return whether something is different."""
        return not self.is_same

    @cached_property
    def edges(self) -> tuple[tuple[str, Edge], ...]:
        """The edges that one graph has alone, each with its sign and the ids of its own graph."""
        ids = {node.id: self.pairs.get(node.id, f"-{node.id}") for node in self.first.nodes}
        old = {
            (ids[edge.source], ids[edge.target], edge.kind, edge.slot, edge.output): edge for edge in self.first.edges
        }
        new = {(edge.source, edge.target, edge.kind, edge.slot, edge.output): edge for edge in self.second.edges}
        gone = [(REMOVED, edge) for wire, edge in old.items() if wire not in new]
        return (*((ADDED, edge) for wire, edge in new.items() if wire not in old), *gone)

    def fields(self, old: Node, new: Node) -> Iterator[Field]:
        """Yield what differs in a pair, as far as it is known of both."""
        before, after = known_facts(old), known_facts(new)
        names = [name for name in before if name in after and (old.label == new.label or name in ALWAYS)]
        pairs = {name: (before[name], after[name]) for name in names if before[name] != after[name]}
        if pairs.get(GIVEN) in [pair for name, pair in pairs.items() if name != GIVEN]:  # it was saved by its name, too
            del pairs[GIVEN]
        is_root = old.id in self.first.roots and new.id in self.second.roots
        if is_root and not (self.first.code or self.second.code):  # a variable of the caller's names it
            pairs.pop("name", None)
        yield from (Field(name, *pair) for name, pair in pairs.items())
        yield from self.rewired(old, new)
        if self.values:
            yield from self.numbers("value", old.value, new.value)
            yield from self.numbers("grad", old.grad.value, new.grad.value)
            if (old.grad.value is None) != (new.grad.value is None) and old.kind == "leaf":
                yield Field("grad", *(short_value(node.grad.value) or "None" for node in (old, new)))

    def rewired(self, old: Node, new: Node) -> Iterator[Field]:
        """Yield the inputs of a pair if one comes from elsewhere, and not only by way of what is new or gone."""
        before, after = wires_to(self.first, old.id), wires_to(self.second, new.id)
        for wire in before | after:
            first, second = (edges[wire].source if wire in edges else "" for edges in (before, after))
            is_old, is_new = bool(first) and first not in self.pairs, bool(second) and second not in self.partners
            if is_old or is_new:
                is_by_way = (
                    not (first and second)
                    or (is_old and is_new)
                    or (is_new and leads_to(self.second, second, self.pairs.get(first), self.partners))
                    or (is_old and leads_to(self.first, first, self.partners.get(second), self.pairs))
                )
            else:
                is_by_way = self.pairs.get(first, "") == second
            if not is_by_way:
                (graph, olds), (later, news) = (
                    (graph, [edges[key].source for key in sorted(edges)])
                    for graph, edges in ((self.first, before), (self.second, after))
                )
                names = [[name_in(graph, one) for one in olds], [name_in(later, one) for one in news]]
                if names[0] == names[1]:  # the lines tell apart what has one name
                    names = [[name_and_line(graph, one) for one in olds], [name_and_line(later, one) for one in news]]
                if names[0] == names[1]:
                    is_other = [self.pairs.get(one) != new for one, new in zip(olds, news, strict=True)]
                    names[1] = ["another " * other + name for other, name in zip(is_other, names[1], strict=True)]
                texts = [", ".join(inputs) or "none" for inputs in names]
                yield Field("inputs", *(excerpt(text, LONGEST_INPUTS) for text in texts))
                return

    def numbers(self, name: str, old: Numbers | None, new: Numbers | None) -> Iterator[Field]:
        """Yield two tensors that differ, where both are known."""
        if old is None or new is None or old.shape != new.shape:
            return
        if old.elements is not None and new.elements is not None:
            pairs: Iterator[tuple[Element, Element]] = zip(old.elements, new.elements, strict=True)
        else:
            pairs = zip(old.summary, new.summary, strict=True)
        if not all(are_close(one, other, self.tolerance) for one, other in pairs):
            yield Field(name, *(short_value(numbers) for numbers in (old, new)))

    # ---------------------------------------------------------------- as text
    @cached_property
    def modules(self) -> dict[str, str]:
        """The modules in which something differs, each with its sign: ``+`` or ``-`` if one graph has it alone."""
        scopes = [{node.scope for node in graph.nodes} for graph in self.sides]
        signs: dict[str, set[str]] = {}
        for change in self.changes:
            if change.is_counted:
                signs.setdefault(change.node.scope, set()).add(change.sign)
        in_both = scopes[0] & scopes[1]
        return {path: CHANGED if path in in_both or len(own) > 1 else own.pop() for path, own in signs.items()}

    @cached_property
    def counts(self) -> dict[str, int]:
        """How many differences of each kind people are told of."""
        signs = Counter(change.sign for change in self.changes if change.is_counted)
        return {word: signs[sign] for sign, word in SIGNS.items()}

    def __str__(self) -> str:
        """Return the differences as text: how many there are, then each, by modules if the graphs have any."""
        both = sum(node.kind != "accumulate" and node.id in self.pairs for node in self.first.nodes)
        has_more = any(node.kind == "accumulate" for graph in self.sides for node in graph.nodes)
        but_for = ", not counting AccumulateGrad" * has_more
        if self.is_same:
            return f"the same: {amount(both, 'box', 'boxes')} in both{but_for}"
        words = ", ".join(f"{count} {word}" for word, count in self.counts.items())
        same = amount(both - self.counts["changed"], "box", "boxes")
        is_told = any(graph.guesses_modules for graph in self.sides)
        rows = [f"different: {words}; {same} as before{but_for}", *[NAMES_TELL] * is_told, ""]
        has_modules = self.first.has_modules or self.second.has_modules
        titles = {
            one.module.path: f"{one.module.path} {one.module.kind}".rstrip()
            for graph in self.sides
            for one in graph.nodes
            if one.module is not None
        }
        titles[""] = "module not known" if is_told else "outside of modules"
        for path, sign in self.modules.items():
            inside = [change for change in self.changes if change.is_counted and change.node.scope == path]
            is_brief = has_modules and bool(path) and sign != CHANGED and len(inside) > MOST_INSIDE
            rows += [f"{sign} {titles[path]}" + f", {len(inside)} boxes" * is_brief] * has_modules
            for change in () if is_brief else inside:
                rows += [f"{'  ' * has_modules}{line}" for line in self.lines_of(change)]
        more = len(rows) - MOST_ROWS
        return "\n".join([*rows[:MOST_ROWS], *[f"… {more:,} more lines (--json has all)"] * (more > 0)])

    def lines_of(self, change: Difference) -> list[str]:
        """Return a difference as lines of text."""
        graph = self.first if change.sign == REMOVED else self.second
        node = change.node
        has_sizes = node.kind == "leaf" and node.shape is not None and not change.fields
        sizes = f" {shape_text(node.shape)}" if has_sizes and node.shape is not None else ""
        head = f"{change.sign} {title_of_node(graph, node)}{sizes}"
        is_line = node.place is not None and not node.place.column  # an expression has one line
        where = f"{node.place.without_run}: {graph.code_at(node.place)}" if node.place and is_line else node.expression
        head += cut(f"  {where}".rstrip(": "), LONGEST_CODE)
        return [head, *(f"    {field}" for field in change.fields)]

    def to_dict(self) -> dict[str, Any]:
        """Return all as JSON-able dicts.

        Ids are those of the node's own graph; of what is gone, of the first. ``pairs`` has for an id of the first graph
        that of the second.
        """
        changes = [
            {
                "sign": change.sign,
                "id": change.node.id,
                **({"before": change.before.id} if change.before is not None else {}),
                "kind": change.node.kind,
                "label": change.node.label,
                "name": None if change.node.is_letter else change.node.name,
                "module": change.node.scope,
                "place": str(change.node.place.without_run) if change.node.place is not None else None,
                "fields": [field._asdict() for field in change.fields],
            }
            for change in self.changes
        ]
        edges = [
            {"sign": sign, **{name: getattr(edge, name) for name in ("source", "target", "kind", "slot", "output")}}
            for sign, edge in self.edges
        ]
        modules = {path: sign for path, sign in self.modules.items() if path}
        same = {"same": self.is_same, **self.counts, "modules": modules}
        return {**same, "changes": changes, "edges": edges, "pairs": self.pairs}


def leads_to(graph: Graph, node_id: str, wanted: str | None, matched: Container[str]) -> bool:
    """Return whether a node that a graph has alone is made from another one by way of such nodes."""
    todo, seen = [node_id], {node_id}
    while todo:
        sources = {edge.source for edge in graph.inputs[todo.pop()]} - seen
        if wanted in sources:
            return True
        seen |= sources
        todo += [source for source in sources if source not in matched]
    return False


def farthest_first(graph: Graph) -> list[Node]:
    """Return the nodes as the program comes to them: those with the most steps to a root first."""
    steps: dict[str, int] = {}
    for node in reversed(graph.order):
        steps[node.id] = 1 + max((steps.get(edge.target, 0) for edge in graph.uses[node.id]), default=0)
    return sorted(graph.nodes, key=lambda node: -steps.get(node.id, 0))


def known_facts(node: Node) -> dict[str, str]:
    """Return what is known of a node and does not follow from others: what it is, and the options of its call."""
    recorded = node.recorded
    facts = {"kind": node.kind, "operation": node.label, "dtype": node.dtype}
    if node.shape is not None and not recorded.outputs:  # else it is that of one of several outputs
        facts["shape"] = shape_text(node.shape)
    if node.kind in TENSORS:
        facts["name"] = node.name or "none"
    facts |= {
        name: text for name, text in recorded.options.items() if not name.endswith(OF_SHAPES) and text not in LOST
    }
    facts |= {name: text for name, text in recorded.held if may_vary(text)}
    facts[GIVEN] = ", ".join(filter(None, numbers_given(recorded)))
    return {name: text for name, text in facts.items() if text}


def are_close(one: Element, other: Element, tolerance: float) -> bool:
    """Return whether two numbers are as good as equal; nan is equal to nan.

    >>> are_close(1e6, 1e6 + 1, 1e-5), are_close(0.0, 1e-6, 1e-5), are_close(1.0, math.inf, 1e-5)
    (True, True, False)
    >>> are_close(math.nan, math.nan, 0), are_close("(1+2j)", "(1+3j)", 1e-5)
    (True, False)
    """
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    both_nan = math.isnan(one) and math.isnan(other)
    return both_nan or math.isclose(one, other, rel_tol=tolerance, abs_tol=tolerance)


def name_in(graph: Graph, node_id: str) -> str:
    """Return what people call a node: by the program's name, else its label; what fills a gradient by its leaf."""
    node = graph.node(node_id)
    if node.kind == "accumulate" and graph.inputs[node_id]:
        node = graph.node(graph.inputs[node_id][0].source)
    return (None if node.is_letter else node.name) or node.label or f"a {node.kind} without a name"


def name_and_line(graph: Graph, node_id: str) -> str:
    """Return what people call a node, with the line that has made it, where it is known."""
    place = graph.node(node_id).place
    return name_in(graph, node_id) + (f" ({place.without_run})" if place is not None and not place.column else "")


def title_of_node(graph: Graph, node: Node) -> str:
    """Return a node in words: its label, and what it is called if that is something else."""
    name = name_in(graph, node.id)
    return node.label + f" {name}" * (name != node.label) if node.label else name
