"""A part of a graph: what is near a tensor, between two, nearest to the roots. What is left out is said."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from gviz.errors import SourceError
from gviz.formulas.expressions import words_of
from gviz.formulas.operands import input_names, rows_by_label
from gviz.graphs import Edge, Graph, Node
from gviz.passes.boxes import ELSEWHERE
from gviz.passes.statements import formulas_of, whole
from gviz.reaching import reached
from gviz.text import did_you_mean, excerpt, joined, name_among

HIDABLE = ("views", "accumulate", "constants")
"""What may be hidden."""

VIEW = re.compile(r"(T|Transpose|Permute|View|UnsafeView|ReshapeAlias|Alias|Squeeze|Unsqueeze|Expand)Backward\d+")
"""Operations that show the same numbers in another shape, all of them."""

SAME_NUMBERS = re.compile(rf"{VIEW.pattern}|CloneBackward\d+")
"""These, and those that copy them."""

NAMES = {"UnsafeView": "reshape", "ReshapeAlias": "reshape"}
"""Those that a program calls by another name."""


def around(graph: Graph, names: Collection[str], hops: int, *, has_ends: bool = False) -> Graph:
    """Return the nodes that are at most so many edges away from some tensors, in either direction.

    >>> from gviz.graphs import Node
    >>> nodes = Node("a", "leaf", name="a"), *(Node(one, "operation", "Neg", one) for one in "bcd")
    >>> chain = Graph(nodes, (Edge("a", "b"), Edge("b", "c"), Edge("c", "d")), ("d",))
    >>> near = around(chain, ["a"], 1)
    >>> [node.id for node in near.nodes], near.remarks
    (['a', 'b'], ('2 of 4 boxes: up to 1 line from a',))

    Args:
        graph: any graph.
        names: of tensors.
        hops: how many edges.
        has_ends: see :func:`only`.

    Raises:
        SourceError: there is no tensor of that name.
    """
    ids = {one for name in names for one in ids_of(graph, name)}
    front = set(ids)
    for _ in range(hops):
        front = {edge.source for one in front for edge in graph.inputs[one]} | {
            edge.target for one in front for edge in graph.uses[one]
        }
        front -= ids
        ids |= front
        if not front:
            break
    why = f"up to {hops} line{'s' * (hops != 1)} from {joined(names)}"
    return only(graph, ids, f"{why}, with their inputs" if has_ends else why, has_ends=has_ends)


def between(graph: Graph, first: str, last: str, *, has_ends: bool = False) -> Graph:
    """Return all that lies on ways from one tensor to another, whichever of them comes first.

    Args:
        graph: any graph.
        first: the name of a tensor.
        last: that of the other one.
        has_ends: see :func:`only`.

    Raises:
        SourceError: there is no tensor of that name, or no way.
    """
    start, end = ids_of(graph, first), ids_of(graph, last)
    for begin, stop, title in ((start, end, f"{first} to {last}"), (end, start, f"{last} to {first}")):
        below = {*reached(begin, lambda one: [edge.target for edge in graph.uses[one]])}
        above = {*reached(stop, lambda one: [edge.source for edge in graph.inputs[one]])}
        if below & above:
            return only(graph, below & above, f"from {title}", has_ends=has_ends)
    raise SourceError(
        f"there is no way from {excerpt(first)} to {excerpt(last)} in this graph",
        hint="neither is made from the other; --around NAME draws what is near a tensor",
    )


def nearest_to_roots(graph: Graph, most: int, *, has_ends: bool = False) -> Graph:
    """Return so many nodes of a graph that has more: those that are the fewest lines away from its roots.

    Args:
        graph: any graph.
        most: how many nodes.
        has_ends: see :func:`only`; the ends are counted, and there is one operation at least.
    """
    if boxes_in(graph.nodes, has_ends=has_ends) <= most:
        return graph
    ids = dict.fromkeys(graph.roots[:most])
    todo, inner, room = [*ids], set[str](), most - len(ids)
    for one in todo:  # grows while it is read
        new = [*dict.fromkeys(edge.source for edge in graph.inputs[one] if edge.source not in ids)]
        if not has_ends:
            new = new[:room]
        count = boxes_in((graph.by_id[name] for name in new), has_ends=has_ends)
        if count > room and inner:
            continue  # without all of its inputs it is an end itself
        inner.add(one)
        ids.update(dict.fromkeys(new))
        todo += new
        room -= count
        if not (room or has_ends):
            break
    shown = {edge.target for edge in graph.edges if edge.source in ids}
    drawn = [one for one in ids if one in shown or graph.by_id[one].kind != "accumulate"]  # of no leaf, it says nothing
    return only(graph, inner if has_ends else drawn, "those nearest to the root", has_ends=has_ends)


def boxes_in(nodes: Iterable[Node], *, has_ends: bool) -> int:
    """Return how many boxes nodes are: a constant of a formula is a part of its operation."""
    return sum(not has_ends or node.kind != "constant" for node in nodes)


def with_ends(graph: Graph, ids: Collection[str]) -> Graph:
    """Return these nodes with all of their inputs; a result whose own inputs are left out is a tensor without any.

    It says what it is computed by in names of the program: letters of other results stand nowhere in the part.

    >>> nodes = Node("y", "operation", "Mul"), Node("h", "operation", "Tanh"), Node("w", "leaf"), Node("x", "leaf")
    >>> part = with_ends(Graph(nodes, (Edge("h", "y"), Edge("w", "y", 1), Edge("x", "h")), ("y",)), {"y"})
    >>> [(node.id, node.kind) for node in part.nodes], [edge[:2] for edge in part.edges]
    ([('y', 'operation'), ('h', 'intermediate'), ('w', 'leaf')], [('h', 'y'), ('w', 'y')])
    """
    edges = tuple(edge for edge in graph.edges if edge.target in ids)
    ends = {edge.source for edge in edges} - {*ids}
    order = graph.inputs_first()
    letters = formulas_of(order, {node.id for node in order if node.is_letter})
    nodes = tuple(
        whole(node, letters)._replace(kind="intermediate") if node.id in ends and node.kind == "operation" else node
        for node in graph.nodes
        if node.id in ids or node.id in ends
    )
    return graph.changed(nodes=nodes, edges=edges, roots=tuple(root for root in graph.roots if root in ids))


def only(graph: Graph, ids: Collection[str], why: str, *, has_ends: bool = False) -> Graph:
    """Return these nodes and the edges among them, with a remark on how many there are of how many, and why.

    What nothing of the part is made from is no root for that: only a root of the graph is one.

    Args:
        graph: any graph.
        ids: of the nodes.
        why: these are drawn.
        has_ends: whether the inputs of the nodes are drawn, too: of the graph of a formula, see :func:`with_ends`.
    """
    if len(ids) == len(graph.nodes):
        return graph
    less = with_ends(graph, ids) if has_ends else without_inputs(graph, ids)
    count, whole = (boxes_in(one.nodes, has_ends=has_ends) for one in (less, graph))
    if has_ends and count == whole and not any(node.kind == "intermediate" for node in less.nodes):
        return graph
    old_remarks = {*fold_remarks(graph)} - {*fold_remarks(less)}
    which = " of the folded graph" * bool(fold_remarks(graph))
    remark = f"{count:,} of {whole:,} boxes{which}: {why}"
    if not less.roots and any(node.grad.arrived is not None for node in less.nodes):
        remark += f"; gradients are those of {' + '.join(graph.by_id[root].name or '·' for root in graph.roots)}"
    return less.changed(remarks=(*(one for one in graph.remarks if one not in old_remarks), remark))


def without_inputs(graph: Graph, ids: Collection[str]) -> Graph:
    """Return these nodes and the edges among them."""
    nodes = tuple(node for node in graph.nodes if node.id in ids)
    edges = tuple(edge for edge in graph.edges if edge.source in ids and edge.target in ids)
    cut = {edge.target for edge in graph.edges if edge.target in ids and edge.source not in ids}
    if cut:  # what an operation computes is said with the names of inputs that are left out, if the program has any
        near = {*ids, *(edge.source for one in cut for edge in graph.inputs[one])}
        hidden = {one for one in near - {*ids} if graph.by_id[one].is_letter or not graph.by_id[one].name}
        inside = tuple(
            edge._replace(called=((edge.slot, ELSEWHERE),)) if edge.source in hidden else edge
            for edge in graph.edges
            if edge.source in near and edge.target in near
        )
        words = words_of(graph.changed(nodes=tuple(node for node in graph.nodes if node.id in near), edges=inside))
        told = {one: words[one].expression for one in cut & words.keys()}
        nodes = tuple(node._replace(expression=told[node.id]) if node.id in told else node for node in nodes)
    return graph.changed(nodes=nodes, edges=edges, roots=tuple(root for root in graph.roots if root in ids))


def fold_remarks(graph: Graph) -> list[str]:
    """Return what is said of each frame around blocks that repeat, outer ones first, if something in it is drawn."""
    regions = {around for region in {node.region for node in graph.nodes} for around in graph.frames_around(region)}
    return [
        f"{one.title} × {one.times}: {one.times} blocks of the same, with the numbers of the last"
        for number, one in enumerate(graph.regions)
        if one.times > 1 and number in regions
    ]


def ids_of(graph: Graph, name: str) -> set[str]:
    """Return the nodes of a tensor: its box, and what makes it; or all of a module.

    Raises:
        SourceError: there is no tensor, and no module, of that name.
    """
    names = graph.names_of(name_among(name, [node.name for node in graph.nodes if node.name]))
    ids = {node.id for node in graph.nodes if node.name in names and node.kind != "saved"}
    ids = ids or {node.id for node in graph.nodes if f"{node.scope}.".startswith(f"{name}.")}
    if not ids:
        box_names = list(dict.fromkeys(node.name for node in graph.nodes if node.name))
        paths = dict.fromkeys(node.scope for node in graph.nodes if node.scope)
        around = {path[: dot.start()] for path in paths for dot in re.finditer(r"[.]|$", path)}
        there = f"there are {joined(box_names, 12)}" if box_names else "its tensors have no names"
        word = "tensor or module" if around else "tensor"
        raise SourceError(
            f"there is no {word} {excerpt(name)} in this graph",
            hint=did_you_mean(name, [*box_names, *sorted(around)], there),
        )
    return ids


def slope_formula(label: str, slot: int) -> str:
    """Return the formula of an operation's derivative for an input, as the table has it; "" if it has none.

    >>> slope_formula("MulBackward0", 0), slope_formula("ExpBackward0", 0), slope_formula("Cube", 0)
    ('grad * other', 'grad * result', '')
    """
    row, name = rows_by_label().get(label), input_names(label)[slot : slot + 1]
    pairs = zip(row.groups, row.texts.values(), strict=True) if row is not None and name else ()
    return next((text for group, text in pairs if name[0] in group), "")


def nodes_saved(graph: Graph, edge: Edge) -> list[Node]:
    """Return the inputs and the result of the operation at the end of an edge that its derivative there uses."""
    saver = graph.by_id[edge.target]
    names, used = input_names(saver.label), re.findall(r"\w+", slope_formula(saver.label, edge.slot))
    inputs = {one.slot: graph.by_id[one.source] for one in graph.inputs[saver.id]}
    saved = [inputs[slot] for slot, name in enumerate(names) if slot in inputs and name in used]
    return saved + [saver] * ("result" in used)


def without(graph: Graph, ids: Collection[str]) -> Graph:
    """Return the graph without some nodes: what leads to one leads on to what uses it, to the same slot.

    >>> from gviz.graphs import Node
    >>> nodes = Node("w", "leaf", name="w"), Node("t", "operation", "TBackward0"), Node("m", "operation", "Mm")
    >>> less = without(Graph(nodes, (Edge("w", "t"), Edge("t", "m", 1)), ("m",)), {"t"})
    >>> [(edge.source, edge.target, edge.slot, edge.label) for edge in less.edges]
    [('w', 'm', 1, '.T')]

    Args:
        graph: any graph.
        ids: of nodes with one input or none; roots stay.
    """
    removable = {*ids} - {*graph.roots}
    source: dict[str, Edge] = {edge.target: edge for edge in graph.edges if edge.target in removable}

    def followed(edge: Edge) -> Edge | None:
        here, calls = edge, ""
        while here.source in removable:
            if here.source not in source:
                return None
            calls = view_text(graph.by_id[here.source]) + calls
            here = source[here.source]
        return edge if here is edge else edge._replace(source=here.source, output=here.output, label=calls)

    edges = filter(None, (followed(edge) for edge in graph.edges if edge.target not in removable))
    nodes = tuple(node for node in graph.nodes if node.id not in removable)
    return graph.changed(nodes=nodes, edges=tuple(edges))


def view_text(node: Node) -> str:
    """Return what a hidden operation does to a tensor, as it stands after the name; "" for no operation.

    >>> view_text(Node("n0", "operation", "TBackward0")), view_text(Node("n1", "operation", "ViewBackward0"))
    ('.T', '.view(…)')
    """
    if node.kind != "operation":
        return ""
    name = node.label.partition("Backward")[0]
    return ".T" if name == "T" else f".{NAMES.get(name, name.lower())}(…)"


def hidden(graph: Graph, kinds: Sequence[str]) -> Graph:
    """Return the graph without some kinds of boxes.

    Args:
        graph: a recorded one.
        kinds: of :data:`HIDABLE`: ``views``, operations that only show the same numbers in another shape;
            ``accumulate``, the AccumulateGrad of leaves; ``constants``, what needs no gradient.
    """
    removable: set[str] = set()
    for node in graph.nodes:
        is_plain = len(graph.inputs[node.id]) <= 1
        if (
            ("accumulate" in kinds and node.kind == "accumulate" and is_plain)
            or ("constants" in kinds and node.kind in ("constant", "frozen"))
            or ("views" in kinds and node.kind == "operation" and is_plain and VIEW.fullmatch(node.label))
        ):
            removable.add(node.id)
    removable -= {*graph.roots}
    if not removable:
        return graph
    less = without(graph, removable)
    return less.changed(remarks=(*less.remarks, f"{len(removable):,} boxes hidden: {', '.join(kinds)}"))
