"""What the operations of a derivative's graph make, which a backward records: no line of the program calls them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from gviz.autograd.modes import mode
from gviz.autograd.node import Node
from gviz.autograd.tensor import Tensor, from_array
from gviz.graphs.numbers import FEW_ELEMENTS
from gviz.walk import Argument, NodeLike, Origin, numbers

KEY = "gviz.result"
"""Under which a node's ``metadata`` has it."""


@contextmanager
def results_noted() -> Iterator[None]:
    """Note what each operation that gviz's engine records in the block makes, and what it is given beside tensors."""
    before = mode.node_callbacks
    mode.node_callbacks = (*before, note_result)
    try:
        yield
    finally:
        mode.node_callbacks = before


def note_result(node: Node, args: Sequence[Any], results: Sequence[Any]) -> None:
    """Note the numbers of a new operation's result, and of its operands without a gradient.

    An operand that was written since it was made, and nobody has recorded that, has no numbers of one moment.
    """
    row = node._row  # noqa: SLF001 - the engine's own
    places = row.edges if row is not None else ()
    places = range(2) if row is not None and row.parameters[1:2] == ("other",) else places  # 2 of x + 2 is no edge
    values = [args[place] for place in places if place < len(args)]
    operands = [one for value in values for one in (value if isinstance(value, list | tuple) else (value,))]
    for one in operands:
        maker = one.grad_fn if isinstance(one, Tensor) and one._version else None  # noqa: SLF001 - as above
        noted = origin_in_derivative(maker) if maker is not None else None
        if maker is not None and noted is not None and noted.numbers not in (None, numbers(one)):
            maker.metadata[KEY] = noted._replace(numbers=None)
    given = [operand_without_gradient(one) for one in operands if not getattr(one, "requires_grad", False)]
    small = {at: one for at, one in enumerate(results) if getattr(one, "size", math.inf) <= FEW_ELEMENTS}
    own = {at: numbers(from_array(one, None)) for at, one in small.items()}  # a training makes large ones very often
    node.metadata[KEY] = Origin(None, numbers=own.pop(0, None), given=given, others=own)


def operand_without_gradient(value: object) -> Argument:
    """Return an input without a gradient: a number as it is typed, a tensor of several with all its numbers."""
    own = None
    if isinstance(value, Tensor):
        own = numbers(value, FEW_ELEMENTS if value.numel() <= FEW_ELEMENTS else None)
    elements = [value] if own is None else own.elements if not own.shape else None
    text = f"{elements[0]:.6g}" if elements and isinstance(elements[0], int | float) else ""
    return Argument(value if own is not None else None, text, None if text else own)


def forget_numbers(result: Tensor) -> None:
    """Forget the numbers that the operation of a result was given: the program tells of it as they are typed."""
    node = result.grad_fn
    if node is not None and (noted := origin_in_derivative(node)) is not None:
        node.metadata[KEY] = noted._replace(given=[one for one in noted.given if one.tensor is not None])


def origin_in_derivative(node: NodeLike) -> Origin | None:
    """Return what was noted of an operation; None for one that the program has called."""
    own: Origin | None = getattr(node, "metadata", {}).get(KEY)
    return own
