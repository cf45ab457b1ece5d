"""What operations keep for backward, in words."""

from __future__ import annotations

from gviz.formulas.operands import input_names, signed
from gviz.graphs import Edge, Node
from gviz.pictures.labels import name_along

FIRST = ("self", "input")
"""What an operation keeps under these names is told first."""


def saved_text(node: Node, inputs: list[Edge], nodes: dict[str, Node]) -> str:
    """Return what an operation keeps for backward: tensors by their names, options by their values."""
    keys = input_names(node.label)
    only = inputs[0].slot if len(keys) == len(inputs) == 1 else None  # a number on the left has taken the first place
    names = {0 if edge.slot == only else edge.slot: name_along(edge, nodes[edge.source]) for edge in inputs}
    results = {
        "result": node.name,
        "result0": node.recorded.outputs[0] if node.recorded.outputs else "",
    }  # result1 ... are none of them
    told = []
    for key, text in sorted(node.recorded.attrs, key=lambda pair: pair[0] not in FIRST):
        if key.endswith(("_sym_sizes", "_sym_strides")) or text == "None" or (key, text) == ("alpha", "1"):
            continue
        is_tensor = text == "freed" or key in node.recorded.tensors
        name = results.get(key) or (names.get(keys.index(key), "") if key in keys else "")
        told.append(" = ".join(filter(None, [key, name if is_tensor else signed(text)])))
    return ", ".join(told)
