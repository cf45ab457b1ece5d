"""The statements that gave the tensors of a script their names."""

from __future__ import annotations

import ast

from gviz.sources.script.syntax import pieces


def assigned_texts(tree: ast.Module) -> dict[str, str]:
    """Return what is written to the right of each global name that one statement of the text gives a value to.

    What is unpacked into several names is the value of none of them.

    >>> assigned_texts(ast.parse("x = a*b; y = x; y += 1; (p, q) = f(x); r, s = x*p, x*q"))
    {'x': 'a * b', 'r': 'x * p', 's': 'x * q'}
    """
    stored: dict[str, int] = {}
    values: dict[str, ast.expr] = {}
    for node in pieces(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            stored[node.id] = stored.get(node.id, 0) + 1
        elif isinstance(node, ast.Assign):
            for target, value in [pair for one in node.targets for pair in _pairs(one, node.value)]:
                is_copy = isinstance(value, ast.Name | ast.Constant)
                values.update({target.id: value} if isinstance(target, ast.Name) and not is_copy else {})
    texts = {name: ast.unparse(value) for name, value in values.items() if stored.get(name) == 1}
    return {name: text for name, text in texts.items() if "\n" not in text}


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """Return each target with its value; of two tuples of one length each part with its own."""
    parts, values = (getattr(one, "elts", [one]) for one in (target, value))
    return list(zip(parts, values, strict=True)) if len(parts) == len(values) else [(target, value)]
