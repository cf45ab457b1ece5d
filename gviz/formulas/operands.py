"""What the table of operations says of a node's inputs and options: their names there, and which the node itself holds."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from gviz.graphs import LOST, Node

if TYPE_CHECKING:
    from gviz.autograd.row import Row

T = TypeVar("T")

UNTOLD = "…"
"""Stands for the options of a call that the node has not saved, or that are too many."""

MOST_OPTIONS = 4

USUAL = {
    "reduction": "1", "ignore_index": "-100", "correction": "1", "dropout_p": "0.0", "padding": "0", "output_padding": "0",
    "dilation": "1", "groups": "1", "convolution.stride": "1", "native_batch_norm.eps": "1e-05",
    "count_include_pad": "True",
}  # fmt: skip
"""Options whose defaults the table does not know, which may be given for each dimension; they are told by their
names."""

WORDS = {"reduction=0": "reduction='none'", "reduction=2": "reduction='sum'"}

UNSAID = ("dtype", "generator")
"""Options that nobody misses where the node has not saved them."""

_WRAPPED = re.compile(r"\b18446744073\d{9}\b")
_NUMBER = re.compile(r"-?[\d.]+")
_NUMBERED = re.compile(r"Backward\d+$")


@cache
def rows_by_label() -> dict[str, Row]:
    """Return the row of each class of graph nodes; of several, the first."""
    from importlib import import_module  # few pictures need the table
    from pkgutil import iter_modules

    from gviz import ops
    from gviz.autograd.row import ROWS

    for module in iter_modules(ops.__path__):  # some rows are stored when their module is named
        import_module(f"gviz.ops.{module.name}")
    return {str(row.node): row for row in reversed(ROWS.values())}


def input_names(label: str) -> tuple[str, ...]:
    """Return what the table calls the inputs of an operation, by their slots; none if it does not know the operation.

    >>> input_names("AddmmBackward0"), input_names("Cube")
    (('self', 'mat1', 'mat2'), ())
    """
    row = rows_by_label().get(label)
    return () if row is None or row.takes_list else tuple(row.parameters[place] for place in row.edges)


def held_operands(node: Node, slots: Collection[int] = ()) -> dict[int, str]:
    """Return the operands that no edge leads to, by their slots: what an operation holds, or what its call was given.

    Args:
        node: the operation.
        slots: the slots that edges lead to; what the call was given is told apart where it fills the others.

    >>> from gviz.graphs import Node, Recorded
    >>> held_operands(Node("n0", "operation", "AddmmBackward0", recorded=Recorded(held=(("mat1", "data"), ("result", "h")))))
    {1: 'data'}
    >>> held_operands(Node("n0", "operation", "SubBackward0", recorded=Recorded(2, given=("t",))), [0])
    {1: 't'}
    """
    constants = dict(node.recorded.held)
    names = {slot: constants[key] for slot, key in enumerate(input_names(node.label)) if key in constants}
    return {slot: text for slot, text in in_empty_slots(node, slots, node.recorded.given) if text} | names


def in_empty_slots(node: Node, slots: Collection[int], arguments: Sequence[T]) -> list[tuple[int, T]]:
    """Return what a call was given by the slots that no edge leads to; nothing if these are not as many."""
    empty = [slot for slot in range(node.recorded.slots) if slot not in slots]
    return [*zip(empty, arguments, strict=True)] if len(arguments) == len(empty) else []


def arguments_of(node: Node, operands: Sequence[str] = ()) -> list[str]:
    """Return what a call of an operation is given, as it is typed and in that order; defaults are left out.

    Args:
        node: the operation.
        operands: what its inputs are called, by their slots.

    >>> from gviz.graphs import Node, Recorded
    >>> arguments_of(Node("n0", "operation", "TriuBackward0", recorded=Recorded(attrs=(("diagonal", "1"),))), ["x"])
    ['x', '1']
    >>> attrs = ("dim", "(18446744073709551615,)"), ("keepdim", "True")
    >>> arguments_of(Node("n0", "operation", "SumBackward1", recorded=Recorded(attrs=attrs)))
    ['-1', 'keepdim=True']
    >>> arguments_of(Node("n0", "operation", "TopkBackward0", recorded=Recorded(attrs=(("dim", "0"),))), ["x"])
    ['x', '…', 'dim=0']
    >>> arguments_of(Node("n0", "operation", "WhereBackward0", recorded=Recorded(2)), ["x", "0"])
    ['…', 'x', '0']
    """
    row = rows_by_label().get(node.label)
    if row is None:  # an operation of PyTorch's alone; a user's Function has a slot for all that it takes
        return [*operands, *([UNTOLD] if _NUMBERED.search(node.label) else ())]
    of_place = dict(zip(row.edges, ([*operands],) if row.takes_list else [[one] for one in operands], strict=False))
    texts = {name: option_text(text) for name, text in node.recorded.options.items() if text not in LOST}
    texts |= dict(node.recorded.held)
    if node.shape is not None:
        # a view, or what is expanded, has the size that was asked for
        texts.setdefault("size", option_text(str(node.shape)))
    defaults = dict(zip(row.parameters[::-1], map(str, row.defaults[::-1]), strict=False))
    arguments, options = list[str](), 0
    is_next = not row.takes_list and len(row.edges) == 1 and not row.outputs
    for place, name in enumerate(row.parameters):
        if place in row.edges or name in row.internal:
            arguments += of_place.get(place, ())
            continue
        default, usual = option_text(defaults.get(name, "False")), USUAL.get(name) or USUAL.get(f"{row.key}.{name}")
        text = texts.get(name, "None")
        if name not in texts and not (name in UNSAID and name in defaults):
            text = "None"
            arguments += [UNTOLD] if UNTOLD not in arguments else ()
        if text in ("None", "()", usual, default, default.removesuffix(".0")) or set(_NUMBER.findall(text)) == {usual}:
            is_next = False
            continue
        is_next = is_next and usual is None and text not in ("True", "False") and text[0] != "'"
        options += 1
        is_before = not (row.takes_list or arguments) and place < min(row.edges, default=0)
        arguments.append(text if is_next or is_before else WORDS.get(f"{name}={text}", f"{name}={text}"))
    return arguments if options <= MOST_OPTIONS else [*operands, UNTOLD]


def part_of_result(label: str, slots: Collection[int]) -> str:
    """Return what picks the one tensor that others use, of an operation that makes several; "" where they use more.

    >>> part_of_result("LinalgSlogdetBackward0", [1]), part_of_result("MaxBackward0", [0]), part_of_result("UnbindBackward0", [1])
    ('.logabsdet', '.values', '[1]')
    """
    row = rows_by_label().get(label)
    fields = row.outputs if row is not None and len(slots) == 1 else ()
    if "..." in fields:
        return f"[{next(iter(slots))}]"
    if {"info", "result0"} & {*fields}:  # PyTorch's functions return one tensor
        return ""
    return "".join(f".{fields[number]}" for number in slots if number < len(fields))


def option_text(text: str) -> str:
    """Return a saved option as a program has it.

    >>> option_text("18446744073709551614"), option_text("(1,)"), option_text("tanh"), option_text("None")
    ('-2', '1', "'tanh'", 'None')
    """
    text = signed(text)
    if text.isidentifier() and text not in ("None", "True", "False", "inf", "nan"):
        return f"'{text}'"
    return text[1:-2] if re.fullmatch(r"\([^,]+,\)", text) else text


def signed(text: str) -> str:
    """Return a text with PyTorch's unsigned numbers as the negative ones that they stand for.

    >>> signed("18446744073709551615"), signed("18446744073709551516"), signed("2")
    ('-1', '-100', '2')
    """
    return _WRAPPED.sub(lambda match: str(int(match[0]) - 2**64), text)
