"""What operations have in common that are alike, and the numbers in which they may differ from block to block."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gviz.graphs import LOST, Graph, Node, Recorded
from gviz.walk import FEW

VARYING = ("other", "exponent", "self", "alpha", "value", "index", "start", "end")
"""Attributes whose numbers may vary from block to block: a factor, a step, the place of an element."""

DIGITS = re.compile(r"\d+")

CALL = re.compile(", (call|run) [0-9]+$")
"""What the name of a group has besides its path, from the second call on."""


def form_of(node: Node, *, is_exact: bool = True) -> tuple[Any, ...]:
    """Return the form of an operation: two operations are alike if their forms are equal.

    What is last depends on which inputs have a gradient: sizes and strides of inputs, which tensors are saved and which
    are None, and what the call was given without one.

    Args:
        node: the operation.
        is_exact: whether numbers that may vary are the same, too.
    """
    recorded = node.recorded if is_exact else without_numbers(node.recorded)
    plain: list[tuple[str, str]] = []
    sizes: list[tuple[str, str]] = []
    for name, text in recorded.attrs:
        is_tensor = name in recorded.tensors or text in ("None", *LOST)
        is_loose = is_tensor or name.endswith(("_sym_sizes", "_sym_strides"))
        (sizes if is_loose else plain).append((name, "" if is_tensor and text != "None" else text))
    sizes += [("", text) for text in numbers_given(recorded)]
    card = node.card._replace(kept=None, grad=None) if node.card is not None else None
    card = card._replace(numbers=()) if card is not None and not is_exact else card
    name = DIGITS.sub("#", CALL.sub("", node.name or "")) if node.kind == "group" else ""
    size = node.shape if not recorded.outputs else None  # of several outputs it is known only where they have names
    shape = size, recorded.slots, recorded.is_written
    return node.kind, node.label, name, card, shape, tuple(plain), tuple(sizes)


def lacks_inputs_alone(first: Node, other: Node) -> bool:
    """Return whether what is known of an operation is as of one with more inputs that have a gradient.

    Such a one saves what the first does and more, and was given less without a gradient. Strides may be unknown.

    >>> from gviz.graphs import FREED, Recorded
    >>> first, other = (Node("", "", recorded=Recorded(1, (("a", text),))) for text in ("None", FREED))
    >>> lacks_inputs_alone(first, other), lacks_inputs_alone(other, first)
    (True, False)
    """
    attrs = dict(other.recorded.attrs)
    rest = iter(numbers_given(first.recorded))
    return all(text in rest for text in numbers_given(other.recorded)) and all(
        attrs.get(name) == text or text in ("None", "()") or (_is_saved(first, name) and _is_saved(other, name))
        for name, text in first.recorded.attrs
    )


def numbers_given(recorded: Recorded) -> list[str]:
    """Return what a call was given without a gradient: numbers, and nothing for what has a name, which may vary."""
    return [text if _is_number(text) else "" for text in recorded.given]


def varying_numbers(node: Node) -> tuple[tuple[str, str], ...]:
    """Return the numbers of an operation, or a group, that may vary from block to block, each with its attribute.

    >>> from gviz.graphs import FREED, Recorded
    >>> varying_numbers(Node("", "", recorded=Recorded(1, (("alpha", "2"), ("dim", "1")), given=("0.5", "x", "True"))))
    (('alpha', '2'), ('', '0.5'))
    """
    if node.card is not None:
        return node.card.numbers
    recorded = node.recorded
    own = [pair for pair in recorded.attrs if pair[0] in VARYING and may_vary(pair[1])]
    return (*own, *[("", text) for text in recorded.given if may_vary(text)])


def without_numbers(recorded: Recorded) -> Recorded:
    """Return what is recorded of an operation with a sign for each number that may vary."""
    attrs = [(name, "#" if name in VARYING and may_vary(text) else text) for name, text in recorded.attrs]
    constants = ["#" if may_vary(text) else text for text in recorded.given]
    return recorded._replace(attrs=(*attrs,), given=(*constants,))


def may_vary(text: str) -> bool:
    """Return whether a text is a number, and no word."""
    return text not in ("True", "False", "None") and _is_number(text)


def _is_saved(node: Node, name: str) -> bool:
    """Return whether an attribute is a tensor that an operation has saved, freed by now or not."""
    return name in node.recorded.tensors or any((name, text) in node.recorded.attrs for text in LOST)


def leaf_form_of(node: Node) -> tuple[Any, ...]:
    """Return the form of a leaf: leaves with equal forms may be drawn as one in a fold."""
    return node.kind, node.label, node.shape, node.dtype


def _is_number(text: str) -> bool:
    """Return whether a text is a number."""
    try:
        complex(text)
    except ValueError:
        return text in ("True", "False", "None", "#")
    return True


def unknown_operations(graph: Graph) -> Iterator[int]:
    """Yield the places of operations of which nobody knows what they saved: of a large graph the first are asked."""
    if graph.is_detailed or len(graph.nodes) <= FEW:
        return
    operations = [(number, node) for number, node in enumerate(graph.nodes) if node.kind == "operation"]
    last = max((number for number, node in operations if node.recorded.attrs), default=-1)
    savers = {node.label for _, node in operations if node.recorded.attrs}
    others = {node.label for number, node in operations if number <= last} - savers
    for number, node in operations:
        if not node.recorded.attrs and (node.label in savers or (number > last >= 0 and node.label not in others)):
            yield number
