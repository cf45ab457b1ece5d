"""The statements that gave the tensors of a script their names."""

from __future__ import annotations

import ast

__all__ = ["statements"]


def statements(tree: ast.Module) -> dict[str, str]:
    """Return what is written to the right of each global name that one statement of the text gives a value to.

    >>> statements(ast.parse("x = a*b; y = x; y += 1; (p, q) = f(x)"))
    {'x': 'a * b', 'p': 'f(x)', 'q': 'f(x)'}
    """
    stored: dict[str, int] = {}
    texts: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            stored[node.id] = stored.get(node.id, 0) + 1
        elif isinstance(node, ast.Assign) and not isinstance(node.value, ast.Name | ast.Constant):
            names = [name.id for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)]
            texts.update(dict.fromkeys(names, ast.unparse(node.value)))
    return {name: text for name, text in texts.items() if stored.get(name) == 1 and "\n" not in text}
