"""``make_dot``, the drop-in for TorchViz's: the same call, boxes, arrows and labels, for gviz's tensors and PyTorch's.

It asks of a tensor and its ``grad_fn`` only what PyTorch's have, so it cannot tell which of them it draws. Unlike
TorchViz it neither recurses nor names boxes by memory addresses, and it draws what backward has freed already.
Source: what TorchViz 0.0.3 draws, https://github.com/szagoruyko/pytorchviz.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gviz.render.dot import COLOURS, NODE_ATTRIBUTES, picture_size
from gviz.render.labels import shape_text, shorten, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gviz.render._digraph import Digraph

__all__ = ["make_dot"]

_SAVED = "_saved_"
_FREED = "[freed]"

_LONGEST = 200
"""Characters of a tensor's name or shape: a longer one would make all of the picture too small to be read."""

_MOST_AT_ONCE = 4_000
"""Characters of a line in a box; Graphviz reads no more than 16,384 bytes at a time."""


def make_dot(
    var: Any,
    params: Mapping[str, Any] | None = None,
    show_attrs: bool = False,
    show_saved: bool = False,
    max_attr_chars: int = 50,
) -> Digraph:
    """The graph behind a tensor, as TorchViz draws it.

    Args:
        var: the output tensor, or a tuple of several.
        params: names for leaf tensors, as from ``dict(model.named_parameters())``.
        show_attrs: list what each operation saved besides tensors.
        show_saved: draw the tensors that operations saved for backward.
        max_attr_chars: longest text of such an attribute, at least 3.

    Returns:
        A :class:`graphviz.Digraph` whose ``render``, ``pipe``, ``view`` and notebook display need no ``dot`` program.

    Raises:
        TypeError: what is given is no tensor, ``params`` no dictionary of them, or ``max_attr_chars`` no number.

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
        if not _is_tensor(tensor):
            raise TypeError(f"make_dot draws tensors; {what} is of type {type(tensor).__name__}")
    picture = Digraph(node_attr=NODE_ATTRIBUTES, graph_attr={"size": "12,12"})
    drawing = Drawing(picture, params or {}, show_attrs, show_saved, max_attr_chars)
    for output in outputs:
        drawing.add_output(output)
    picture.graph_attr["size"] = picture_size(len(picture.body))
    return picture


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "grad_fn") and hasattr(value, "requires_grad")


class Drawing:
    """Adds boxes and arrows in TorchViz's order, since the layout depends on it."""

    def __init__(self, picture: Any, params: Mapping[str, Any], show_attrs: bool, show_saved: bool, max_chars: int) -> None:
        self.picture = picture
        self.names = {id(tensor): name for name, tensor in params.items()}
        self.show_attrs = show_attrs
        self.show_saved = show_saved
        self.max_chars = max(max_chars, 3)
        self.ids: dict[int, str] = {}
        self.alive: list[Any] = []
        self.seen: set[int] = set()

    def id_of(self, thing: Any) -> str:
        """The name of a box: counted, and kept with its object, whose address nobody else gets then."""
        if id(thing) not in self.ids:
            self.ids[id(thing)] = f"n{len(self.ids)}"
            self.alive.append(thing)
        return self.ids[id(thing)]

    def mark_seen(self, thing: Any) -> bool:
        """Whether it is met for the first time."""
        self.id_of(thing)
        first = id(thing) not in self.seen
        self.seen.add(id(thing))
        return first

    def add_box(self, thing: Any, text: str, colour: str | None = None) -> None:
        """A box, or a new text and colour for it."""
        self.picture.node(self.id_of(thing), _label(text), fillcolor=colour)

    def add_tensor(self, tensor: Any, colour: str, name: str = "") -> None:
        """A box for a tensor: its name, if it has one, above its shape."""
        lines = f"{name or self.names.get(id(tensor), '')}\n {shape_text(tuple(tensor.shape))}".split("\n")
        self.add_box(tensor, "\n".join(shorten(line, _LONGEST, middle=True) for line in lines), colour)

    def add_arrow(self, source: Any, target: Any, **style: str) -> None:
        """An arrow in the direction of the data."""
        self.picture.edge(self.id_of(source), self.id_of(target), **style)

    def add_output(self, tensor: Any) -> None:
        """An output, what it is made from, and the base that it is a view of."""
        if self.add_made(tensor, COLOURS["output"]) and tensor._is_view():  # noqa: SLF001 PyTorch has no public name for it
            base = tensor._base  # noqa: SLF001 likewise
            self.add_made(base, COLOURS["intermediate"])
            self.add_arrow(base, tensor, style="dotted")

    def add_made(self, tensor: Any, colour: str) -> bool:
        """A tensor with all that is below it, unless it is drawn already; whether it was not."""
        if not self.mark_seen(tensor):
            return False
        self.add_tensor(tensor, colour)
        if tensor.grad_fn is not None:
            self.add_below(tensor.grad_fn)
            self.add_arrow(tensor.grad_fn, tensor)
        return True

    def add_below(self, start: Any) -> None:
        """An operation and all below it, depth first; an explicit stack takes the place of recursion."""
        stack = [self.operation(start)] if self.mark_seen(start) else []
        while stack:
            below = next(stack[-1], None)
            if below is None:
                stack.pop()
            elif self.mark_seen(below):
                stack.append(self.operation(below))

    def operation(self, node: Any) -> Iterator[Any]:
        """Draw an operation with its tensors; yields its inputs, each after the arrow from it."""
        if self.show_saved:
            self.add_saved(node)
        variable = getattr(node, "variable", None)
        if variable is not None:
            self.mark_seen(variable)
            self.add_tensor(variable, COLOURS["leaf"])
            self.add_arrow(variable, node)
        self.add_box(node, _operation_text(node, self.max_chars) if self.show_attrs else type(node).__name__)
        for below, _ in node.next_functions:
            if below is not None:
                self.add_arrow(below, node)
                yield below
        for tensor in _saved_tensors(node):  # of a Function of the user's
            self.mark_seen(tensor)
            self.add_arrow(tensor, node, dir="none")
            self.add_tensor(tensor, COLOURS["saved"])

    def add_saved(self, node: Any) -> None:
        """The tensors that an operation keeps for backward."""
        for name, value in _saved_attributes(node):
            pairs = enumerate(value) if isinstance(value, tuple) else [("", value)]
            for index, tensor in pairs:
                if _is_tensor(tensor):
                    self.mark_seen(tensor)
                    self.add_arrow(node, tensor, dir="none")
                    self.add_tensor(tensor, COLOURS["saved"], name if index == "" else f"{name}[{index}]")


def _saved_attributes(node: Any) -> Iterator[tuple[str, Any]]:
    """What an operation saved, in order of the names; what backward has freed says so."""
    for attribute in dir(node):
        if attribute.startswith(_SAVED):
            try:
                value = getattr(node, attribute)
            except RuntimeError:
                value = _FREED
            yield attribute.removeprefix(_SAVED), value


def _saved_tensors(node: Any) -> tuple[Any, ...]:
    """What a Function of the user's saved; nothing for other operations, and once it is freed."""
    try:
        return tuple(getattr(node, "saved_tensors", ()))
    except RuntimeError:
        return ()


def _operation_text(node: Any, max_chars: int) -> str:
    """The name of an operation above an aligned table of what it saved."""
    name = type(node).__name__
    rows = [(key, _value_text(value)) for key, value in _saved_attributes(node)]
    if not rows:
        return name
    left = max(len(key) for key, _ in rows)
    right = min(max(len(text) for _, text in rows), max_chars)
    rule = "-" * max(left + right + 2, len(name))
    table = [f"{key:<{left}}: {_cut(text, right):>{right}}" for key, text in rows]
    return "\n".join([name, rule, *table])


def _value_text(value: Any) -> str:
    """A saved value as text; tensors are only told to be there."""
    if _is_tensor(value):
        return "[saved tensor]"
    if isinstance(value, tuple) and any(_is_tensor(item) for item in value):
        return "[saved tensors]"
    return str(value)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."


def _label(text: str) -> Any:
    """A text for the graphviz package that shows as it is, whatever it looks like to Graphviz; far too long lines are cut."""
    from graphviz import escape, nohtml

    cut = "\n".join(shorten(line, _MOST_AT_ONCE, middle=True) for line in text.split("\n"))
    return nohtml(escape(visible(cut)).replace("&", "&amp;"))
