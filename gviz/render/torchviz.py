"""``make_dot``, the drop-in for TorchViz's: the same call, boxes, arrows and labels, for gviz's tensors and PyTorch's.

What it draws is the walk's graph. Unlike TorchViz it neither recurses nor names boxes by memory addresses, and it draws what
backward has freed already.
Source: what TorchViz 0.0.3 draws, https://github.com/szagoruyko/pytorchviz.
"""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from gviz.render.dot import COLOURS, NODE_ATTRIBUTES, picture_size
from gviz.render.labels import shape_text
from gviz.text import shorten, visible
from gviz.walk import FREED, is_tensor, walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gviz.graph import Edge, Graph, Node
    from gviz.render._digraph import Digraph
    from gviz.walk import TensorLike

__all__ = ["make_dot"]

_LONGEST, _MOST_AT_ONCE = 200, 4_000
"""Characters of a tensor's name, for the picture to be readable; of any line, since Graphviz reads 16,384 bytes at a time."""


def make_dot(
    var: TensorLike | tuple[TensorLike, ...] | list[TensorLike],
    params: Mapping[str, TensorLike] | None = None,
    show_attrs: bool = False,
    show_saved: bool = False,
    max_attr_chars: int = 50,
) -> Digraph:
    """Return the graph behind a tensor, as TorchViz draws it.

    Args:
        var: the output tensor, or a tuple of several.
        params: names for leaf tensors, as from ``dict(model.named_parameters())``.
        show_attrs: list what each operation saved besides tensors.
        show_saved: draw the tensors that operations saved for backward.
        max_attr_chars: longest text of such an attribute, at least 3.

    Returns:
        A :class:`graphviz.Digraph` whose ``render``, ``pipe``, ``view`` and notebook display need no ``dot`` program.

    Raises:
        TypeError: what is given is not a tensor, ``params`` not a dictionary of them, or ``max_attr_chars`` not a number.

    >>> from gviz import engine as torch
    >>> w = torch.tensor(1.0, requires_grad=True)
    >>> print(make_dot(w * 2, params={"w": w}).source.count("->"))
    3
    """
    from gviz.render._digraph import Digraph

    if params is not None and not hasattr(params, "items"):
        raise TypeError(f"params is a dictionary of names and tensors, not of type {type(params).__name__}")
    if not isinstance(max_attr_chars, int):
        raise TypeError(f"max_attr_chars is a whole number, not of type {type(max_attr_chars).__name__}")
    outputs = var if isinstance(var, tuple | list) else (var,)
    for what, tensor in [*(("var", output) for output in outputs), *(params or {}).items()]:
        if not is_tensor(tensor):
            raise TypeError(f"make_dot draws tensors; {what} is of type {type(tensor).__name__}")
    name_of = {id(tensor): name for name, tensor in (params or {}).items()}  # the last one, as TorchViz takes
    named = {name: tensor for name, tensor in (params or {}).items() if name_of[id(tensor)] == name}
    roots = {f"\0{number}": output for number, output in enumerate(outputs)}  # not the name of any parameter
    graph = walk(roots, named, saved=show_saved, values=False, detailed=math.inf if show_attrs else 0)
    names = {node.id: node.name or "" for node in graph.nodes}
    names |= {root: name_of.get(id(output), "") for root, output in zip(graph.roots, outputs, strict=True)}
    picture = Digraph(node_attr=NODE_ATTRIBUTES, graph_attr={"size": "12,12"})
    Drawing(picture, graph, names, max(max_attr_chars, 3) if show_attrs else 0).draw()
    picture.graph_attr["size"] = picture_size(len(picture.body))
    return picture


class Drawing:
    """Adds a graph's boxes and arrows in TorchViz's order, since the layout depends on it."""

    def __init__(self, picture: Digraph, graph: Graph, names: Mapping[str, str], max_chars: int) -> None:
        self.picture = picture
        self.body: list[str] = picture.body
        self.graph = graph
        self.names = names
        self.max_chars = max_chars
        self.nodes = {node.id: node for node in graph.nodes}
        self.into: dict[str, list[Edge]] = defaultdict(list)
        for edge in graph.edges:
            self.into[edge.target].append(edge)
        self.seen: set[str] = set()
        self.endings: dict[tuple[str, str], str] = {}

    def draw(self) -> None:
        """Draw the roots and all below them; a stack of what is begun takes the place of recursion."""
        for root in self.graph.roots:
            stack = [iter((root,))]
            while stack:
                node_id = next(stack[-1], None)
                if node_id is None:
                    stack.pop()
                elif node_id not in self.seen:
                    node = self.nodes[node_id]
                    stack.append(self.operation(node) if node.kind in ("operation", "accumulate") else self.tensor(node))

    def tensor(self, node: Node) -> Iterator[str]:
        """Draw an output or the base of a view; yield what has to be drawn before the arrows from it."""
        self.tensor_box(node.id, node.kind)
        for edge in self.into[node.id]:
            yield edge.source
            self.arrow(edge.source, node.id, **({"style": "dotted"} if edge.kind == "view" else {}))

    def operation(self, node: Node) -> Iterator[str]:
        """Draw an operation with the tensors that it keeps; yield its inputs, each after the arrow from it."""
        edges, custom = self.into[node.id], []
        for edge in edges:
            if edge.kind == "saved" and edge.label.startswith("saved["):
                custom.append(edge.source)  # by a Function of the user's
            elif edge.kind == "saved":
                self.arrow(node.id, edge.source, dir="none")
                self.tensor_box(edge.source, "saved", edge.label)
            elif node.kind == "accumulate":
                self.tensor_box(edge.source, "leaf")
                self.arrow(edge.source, node.id)
        self.box(node.id, _operation_text(node, self.max_chars) if self.max_chars else node.label)
        for edge in edges:
            if edge.kind == "data" and node.kind != "accumulate":
                self.arrow(edge.source, node.id)
                yield edge.source
        for tensor in custom:
            self.arrow(tensor, node.id, dir="none")
            self.tensor_box(tensor, "saved")

    def tensor_box(self, node_id: str, kind: str, name: str = "") -> None:
        """Add a box for a tensor: its name, if it has one, above its shape."""
        lines = f"{name or self.names[node_id]}\n {shape_text(self.nodes[node_id].shape or ())}".split("\n")
        self.box(node_id, "\n".join(shorten(line, _LONGEST, middle=True) for line in lines), COLOURS[kind])

    def box(self, node_id: str, text: str, colour: str = "") -> None:
        """Add a box, or a new text and colour for it; the package quotes each text once, since that is slow."""
        self.seen.add(node_id)
        ending = self.endings.get((text, colour))
        if ending is None:
            self.picture.node("_", _label(text), fillcolor=colour or None)
            ending = self.endings[text, colour] = self.body.pop().partition("_")[2]
        self.body.append(f"\t{node_id}{ending}")

    def arrow(self, source: str, target: str, **style: str) -> None:
        """Add an arrow in the direction of the data."""
        if style:
            self.picture.edge(source, target, **style)
        else:
            self.body.append(f"\t{source} -> {target}\n")


def _operation_text(node: Node, max_chars: int) -> str:
    """Return the name of an operation above an aligned table of what it saved; tensors are only told to be there."""
    if not node.attrs:
        return node.label
    rows = [(key, "[saved tensor]" if text.startswith("[saved tensor]") else text) for key, text in node.attrs]
    rows = [(key, f"[{FREED}]" if text == FREED else text) for key, text in rows]
    left = max(len(key) for key, _ in rows)
    right = min(max(len(text) for _, text in rows), max_chars)
    rule = "-" * max(left + right + 2, len(node.label))
    table = [f"{key:<{left}}: {shorten(text, right):>{right}}" for key, text in rows]
    return "\n".join([node.label, rule, *table])


def _label(text: str) -> Any:
    """Return a text for the graphviz package that shows as it is; far too long lines are cut."""
    from graphviz import escape, nohtml

    cut = "\n".join(shorten(line, _MOST_AT_ONCE, middle=True) for line in text.split("\n"))
    return nohtml(escape(visible(cut)).replace("&", "&amp;"))
