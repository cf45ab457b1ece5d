"""The statements that gave the tensors of a script their names."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Collection

from gviz.sources.script.syntax import pieces
from gviz.sources.stores import MOVING, stores_of


def assigned_texts(tree: ast.Module, written: Collection[str] = ()) -> dict[str, str]:
    """Return what is written to the right of each global name that one statement of the text gives a value to.

    What is unpacked into several names is the value of none of them; a text whose names mean other things afterwards
    is none.

    Args:
        tree: the program.
        written: names of results that were written in place.

    >>> assigned_texts(ast.parse("x = a*b; y = x; y += 1; (p, q) = f(x); r, s = x*p, x*q"))
    {'x': 'a * b', 'r': 'x * p', 's': 'x * q'}
    >>> assigned_texts(ast.parse("y = w*x; x = y - 1; z = x*w; u = y*w"), ["y"])
    {'z': 'x * w'}
    """
    counts = defaultdict[str, int](int)
    values: dict[str, ast.expr] = {}
    are_names_alone = True  # what is given a value: no attribute, item or parameter
    for node in pieces(tree):
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            counts[ast.unparse(node)] += 1
        elif isinstance(node, ast.Assign):
            for target, value in [pair for one in node.targets for pair in _pairs(one, node.value)]:
                is_copy = isinstance(value, ast.Name | ast.Constant)
                values.update({target.id: value} if isinstance(target, ast.Name) and not is_copy else {})
        is_kept = isinstance(getattr(node, "ctx", None), ast.Store | ast.Del) and not isinstance(node, ast.Name)
        is_moved = isinstance(node, ast.Attribute) and node.attr in MOVING
        are_names_alone = are_names_alone and not (is_kept or is_moved or isinstance(node, ast.arg))
    doubtful = {name for name, count in counts.items() if count > 1}

    def holds(value: ast.expr) -> bool:
        used = {ast.unparse(node) for node in ast.walk(value) if isinstance(node, ast.Name | ast.Attribute)}
        is_sure = are_names_alone and used.isdisjoint(doubtful)  # so that a plain script is looked through once
        return used.isdisjoint(written) and (is_sure or not stores_of(tree).is_outdated(value))

    texts = {
        name: ast.unparse(value)
        for name, value in values.items()
        if name not in doubtful and name not in written and holds(value)
    }
    return {name: text for name, text in texts.items() if "\n" not in text}


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """Return each target with its value; of two tuples of one length each part with its own."""
    parts, values = (getattr(one, "elts", [one]) for one in (target, value))
    return list(zip(parts, values, strict=True)) if len(parts) == len(values) else [(target, value)]
