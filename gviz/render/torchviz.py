"""``make_dot``, the drop-in for TorchViz's: the same call, boxes, arrows and labels, for gviz's tensors and PyTorch's.

It draws the walk's graph. Unlike TorchViz it neither recurses nor names boxes by memory addresses, and it draws what
backward has freed already.
Source: what TorchViz 0.0.3 draws, https://github.com/szagoruyko/pytorchviz.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from graphviz import escape, nohtml
from graphviz.quoting import attr_list, quote

from gviz.graphs import LOST, Edge, Graph, Node
from gviz.pictures.labels import OPERATIONS, shape_text
from gviz.pictures.look import ARROWS, BOX, BOXES, LONGEST_LINE, LONGEST_PIECE, picture_size
from gviz.render._digraph import Digraph
from gviz.text import shorten, shorten_lines, visible
from gviz.walk import TensorLike, by_name, is_tensor, walk

ARROW_LOOKS = {kind: str(attr_list(kwargs=look)) for kind, look in ARROWS.items()}
"""What the graphviz package writes behind an arrow of each kind."""

BOX_LOOKS = {kind: str(attr_list("", kwargs=look)).removeprefix(' [label=""') for kind, look in BOXES.items()}
"""What it writes behind the text of a box of each kind."""


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
        TypeError: what is given is not a tensor, ``params`` not a dictionary of them, or ``max_attr_chars`` not a
            number.

    >>> from gviz import engine as torch
    >>> w = torch.tensor(1.0, requires_grad=True)
    >>> print(make_dot(w * 2, params={"w": w}).source.count("->"))
    3
    """
    params = by_name(params)
    if not isinstance(max_attr_chars, int):
        raise TypeError(f"max_attr_chars is a whole number, not of type {type(max_attr_chars).__name__}")
    outputs = var if isinstance(var, tuple | list) else (var,)
    for argument, tensor in [*(("var", output) for output in outputs), *params.items()]:
        if not is_tensor(tensor):
            raise TypeError(f"make_dot draws tensors; {argument} is of type {type(tensor).__name__}")
    names = dict({id(tensor): (name, tensor) for name, tensor in params.items()}.values())  # the last, as in TorchViz
    name_of = {id(tensor): name for name, tensor in names.items()}
    roots = {f"{name_of.get(id(output), '')}\0{number}": output for number, output in enumerate(outputs)}
    graph = walk(roots, names, saved=show_saved, most=None, detailed=math.inf if show_attrs else 0)
    picture = Digraph(node_attr=BOX)
    DotWriter(picture.body, graph, max(max_attr_chars, 3) if show_attrs else 0).draw()
    picture.graph_attr["size"] = picture_size(len(picture.body))
    return picture


class DotWriter:
    """Adds a graph's boxes and arrows to the body of a Digraph in TorchViz's order, since the layout depends on it."""

    def __init__(self, body: list[str], graph: Graph, max_chars: int) -> None:
        self.body = body
        self.roots = graph.roots
        self.max_chars = max_chars
        self.nodes, self.into = graph.by_id, graph.inputs
        self.seen: set[str] = set()
        self.boxes: dict[tuple[str, str], str] = {}

    def draw(self) -> None:
        """Draw the roots and all below them; a stack of steps, nodes and arrows, takes the place of recursion."""
        stack: list[str | Edge] = [*reversed(self.roots)]
        while stack:
            step = stack.pop()
            if not isinstance(step, str):
                self.arrow(step.source, step.target, step.kind)
                if step.kind == "saved":
                    self.tensor_box(step.source, "saved")
            elif step not in self.seen:
                stack += reversed(self.begin(self.nodes[step]))

    def begin(self, node: Node) -> list[str | Edge]:
        """Draw the box of a node, with the tensors that it keeps; return the steps that follow."""
        edges = self.into[node.id]
        if node.kind not in OPERATIONS:
            self.tensor_box(node.id, node.kind)
            return [step for edge in edges for step in (edge.source, edge)]
        below: list[str | Edge] = []
        last: list[str | Edge] = []
        for edge in edges:
            if edge.kind == "saved" and edge.label.startswith("saved["):  # by a Function of the user's
                last.append(edge)
            elif edge.kind == "saved":
                self.arrow(node.id, edge.source, "saved")
                self.tensor_box(edge.source, "saved", edge.label)
            elif node.kind == "accumulate":
                self.tensor_box(edge.source, "leaf")
                self.arrow(edge.source, node.id)
            else:
                below += (edge, edge.source)
        self.box(node.id, _operation_text(node, self.max_chars) if self.max_chars else node.label, node.kind)
        return below + last

    def tensor_box(self, node_id: str, kind: str, name: str = "") -> None:
        """Add a box for a tensor: its name, if it has one, above its shape."""
        node = self.nodes[node_id]
        own = (
            (node.name or "").rpartition("\0")[0] if node.kind == "output" else node.name
        )  # a root's name has its number
        text = f"{name or own or ''}\n {shape_text(node.shape or ())}"
        self.box(node_id, shorten_lines(text, LONGEST_LINE), kind)

    def box(self, node_id: str, text: str, kind: str) -> None:
        """Add a box, or a new text and colour for it; each text is quoted once, since that is slow."""
        self.seen.add(node_id)
        attributes = self.boxes.get((text, kind))
        if attributes is None:
            attributes = self.boxes[text, kind] = _attributes(text, BOX_LOOKS[kind])
        self.body.append(f"\t{node_id}{attributes}\n")

    def arrow(self, source: str, target: str, kind: str = "data") -> None:
        """Add an arrow in the direction of the data."""
        self.body.append(f"\t{source} -> {target}{ARROW_LOOKS[kind]}\n")


def _operation_text(node: Node, max_chars: int) -> str:
    """Return the name of an operation above an aligned table of what it saved; of a tensor only that it is there."""
    if not node.recorded.attrs:
        return node.label
    kinds = node.recorded.tensors  # of these the sizes are left out
    rows = [(key, f"{text.partition(']')[0]}]" if key in kinds else text) for key, text in node.recorded.attrs]
    rows = [(key, f"[{text}]" if text in LOST else text) for key, text in rows]
    width = max(len(key) for key, _ in rows)
    right = min(max(len(text) for _, text in rows), max_chars)
    rule = "-" * max(width + right + 2, len(node.label))
    table = [f"{key:<{width}}: {shorten(text, right):>{right}}" for key, text in rows]
    return "\n".join([node.label, rule, *table])


def _attributes(text: str, look: str) -> str:
    """Return the attributes of a box as the graphviz package writes them: a text, shown as it is, and its look."""
    text = visible(shorten_lines(text, LONGEST_PIECE))  # far too long lines are cut
    return f" [label={quote(nohtml(escape(text).replace('&', '&amp;')))}{look}"
