"""What the table of operations says of a node's inputs: their names there, and which of them the node itself holds."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gviz.autograd.row import Row
    from gviz.graph import Node

__all__ = ["held_by", "inputs_of", "rows"]


@cache
def rows() -> dict[str, Row]:
    """Return the row of each class of graph nodes; of several, the first."""
    from importlib import import_module  # few pictures need the table
    from pkgutil import iter_modules

    from gviz import ops
    from gviz.autograd.row import ROWS

    for module in iter_modules(ops.__path__):  # some rows are stored when their module is named
        import_module(f"gviz.ops.{module.name}")
    return {str(row.node): row for row in reversed(ROWS.values())}


def inputs_of(label: str) -> tuple[str, ...]:
    """Return what the table calls the inputs of an operation, by their slots; none if it does not know the operation.

    >>> inputs_of("AddmmBackward0"), inputs_of("Cube")
    (('self', 'mat1', 'mat2'), ())
    """
    row = rows().get(label)
    return () if row is None or row.listed else tuple(row.parameters[place] for place in row.edges)


def held_by(node: Node) -> dict[int, str]:
    """Return the operands that an operation holds though no edge leads to them, by their slots: a number, data with a name.

    >>> from gviz.graph import Node
    >>> held_by(Node("n0", "operation", "AddmmBackward0", held=(("mat1", "data"), ("result", "h"))))
    {1: 'data'}
    """
    held = dict(node.held)
    return {slot: held[key] for slot, key in enumerate(inputs_of(node.label)) if key in held}
