"""``torch.fx.subgraph_rewriter``: replace a part of a graph wherever it occurs."""

from __future__ import annotations

from typing import Any, NamedTuple

from gviz.engine.fx._symbolic_trace import symbolic_trace
from gviz.engine.fx.graph import Graph
from gviz.engine.fx.graph_module import GraphModule, put
from gviz.engine.fx.node import Argument, Node, found
from gviz.numbers.words import absent

__all__ = ["Match", "replace_pattern"]


class Match(NamedTuple):
    """Where a pattern was found: its last node, and the nodes of the graph for those of the pattern."""

    anchor: Node
    nodes_map: dict[Node, Node]


def graph_of(part: Argument) -> Graph:
    """Return the graph of a function, a module, or what is one."""
    return (
        part if isinstance(part, Graph) else part.graph if isinstance(part, GraphModule) else symbolic_trace(part).graph
    )


def match_at(pattern: Graph, anchor: Node, taken: set[Node]) -> dict[Node, Node] | None:
    """Return the nodes of a graph for those of a pattern whose result is at this node; None: it is not there.

    What is inside may have no other users, and inputs may be anything.
    """
    result = pattern.output_node().args[0]
    nodes: dict[Node, Any] = {}
    waiting: list[tuple[Any, Any]] = [(result, anchor)]
    while waiting:
        wanted, node = waiting.pop()
        if not isinstance(wanted, Node) or wanted in nodes:
            if (nodes[wanted] if isinstance(wanted, Node) else wanted) != node:
                return None
        elif wanted.op == "placeholder":
            nodes[wanted] = node
        else:
            if not isinstance(node, Node) or node in taken or (node.op, node.target) != (wanted.op, wanted.target):
                return None
            nodes[wanted] = node
            mine, theirs = flat((wanted.args, wanted.kwargs)), flat((node.args, node.kwargs))
            if len(mine) != len(theirs):
                return None
            waiting += zip(reversed(mine), reversed(theirs), strict=True)
    inner = {node for wanted, node in nodes.items() if wanted.op != "placeholder"}
    if any(user not in inner for node in inner if node is not anchor for user in node.users):
        return None
    return nodes


def flat(things: Argument) -> list[Any]:
    """Return what is in nested arguments, one after the other."""
    if isinstance(things, dict):
        return [one for key, value in things.items() for one in (key, *flat(value))]
    if isinstance(things, list | tuple):
        return [one for value in things for one in flat(value)]
    return [things]


def replace_pattern(gm: GraphModule, pattern: Argument, replacement: Argument) -> list[Match]:
    """Replace every occurrence of a pattern that does not overlap with another; return where they were."""
    wanted, new = graph_of(pattern), graph_of(replacement)
    inputs = [node for node in wanted.nodes if node.op == "placeholder"]
    taken: set[Node] = set()
    matches: list[Match] = []
    for anchor in reversed(list(gm.graph.nodes)):
        if anchor.op in ("placeholder", "output") or (nodes := match_at(wanted, anchor, taken)) is None:
            continue
        taken |= {node for key, node in nodes.items() if key.op != "placeholder"}
        matches.insert(0, Match(anchor, nodes))
    for anchor, nodes in matches:
        values = [nodes[one] for one in inputs]
        parameters = [node for node in new.nodes if node.op == "placeholder"]
        changed: dict[Node, Any] = dict(zip(parameters, values, strict=True))
        with gm.graph.inserting_before(anchor):
            result = gm.graph.graph_copy(new, changed)
        anchor.replace_all_uses_with(result)
        for node in reversed(list(gm.graph.nodes)):
            if node in {one for key, one in nodes.items() if key.op != "placeholder"} and not node.users:
                gm.graph.erase_node(node)
        for other in matches:  # a later occurrence may have this one's result as an input
            other.nodes_map.update(
                {key: result for key, node in other.nodes_map.items() if node is anchor and key.op == "placeholder"}
            )
    if isinstance(replacement, GraphModule):
        for node in replacement.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                put(gm, node.target, found(replacement, node.target))
    gm.recompile()
    result = wanted.output_node().args[0]
    return [Match(result, nodes) for _, nodes in matches]


__getattr__ = absent("torch.fx.subgraph_rewriter")
