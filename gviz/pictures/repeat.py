"""Leaves that are used again and again, an RNN's weights, drawn once more beside each later use."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from gviz.graphs import Edge, Graph, Node
from gviz.layout.plan import rank_spans
from gviz.pictures.labels import REPEATED, TOLD, USED
from gviz.pictures.options import RenderOptions

MOST_USES, FAR = 2, 4
"""Uses of a leaf that its own box serves, and how many ranks an arrow may go down."""


def with_repeats(graph: Graph, options: RenderOptions) -> Graph:
    """Return the graph with a box of its own for each further use of a leaf: for far ones, or for all.

    The boxes have the leaf's name alone; its own box says how often it is used. The edges stay in their order.

    Args:
        graph: PyTorch's graph, or the formula's, in which leaves are used without an AccumulateGrad between.
        options: ``repeat_leaves`` is read.
    """
    if options.repeat_leaves == "never":
        return graph
    always = options.repeat_leaves == "always"
    has_folds = any(region.times > 1 for region in graph.regions)  # around which a first and a last block stand
    most = MOST_USES + (has_folds and not always)
    nodes = dict(graph.by_id)
    leaf_of = {edge.target: edge.source for edge in graph.edges if nodes[edge.target].kind == "accumulate"}
    leaf_of |= {node.id: node.id for node in graph.nodes if node.kind == "leaf" and node.id not in leaf_of.values()}
    uses: Counter[str] = Counter()
    for edge in graph.edges:
        if edge.source in leaf_of:
            uses[edge.source] += edge.times
    arrows = Counter(edge.source for edge in graph.edges if edge.source in leaf_of)
    if not any(count > most for count in arrows.values()):
        return graph
    ranks = rank_spans([node.id for node in graph.nodes], [(edge.source, edge.target) for edge in graph.edges])
    drawn_once: Counter[str] = Counter()
    edges: list[Edge] = []
    copies: list[Node] = []
    for edge, rank in zip(graph.edges, ranks, strict=True):
        leaf = nodes[leaf_of[edge.source]] if arrows[edge.source] > most else None
        if leaf is None or (not always and rank < FAR) or (always and drawn_once[edge.source] < 1):
            drawn_once[edge.source] += leaf is not None
            edges.append(edge)
            continue
        region = nodes[edge.target].region  # it stands beside its user, in the same frame
        copy = Node(f"{leaf.id}_{len(copies)}", "leaf", name=leaf.name, state=REPEATED, region=region)
        copies.append(copy)
        edges.append(edge._replace(source=copy.id))
        remark = graph.by_id[leaf.id].state
        remark = f"{remark}; " if remark.startswith(TOLD) else ""
        nodes[leaf.id] = leaf._replace(state=f"{remark}{USED} {uses[edge.source]}×")
    return replace(graph, nodes=(*nodes.values(), *copies), edges=tuple(edges))
