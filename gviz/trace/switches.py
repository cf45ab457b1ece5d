"""Where a program switches gradients off: the lines of blocks and of functions that do, and what is written there."""

from __future__ import annotations

import ast
from types import CodeType
from typing import Any, TypeAlias

SWITCHES = ("no_grad", "inference_mode", "set_grad_enabled")
"""What switches gradients off, around a block, a function, or from a line on."""

DECORATED = ("GradMode.__call__.<locals>.run", "context_decorator.<locals>.decorate_context")
"""The functions of gviz's engine and of PyTorch that run a function which ``@no_grad()`` stands above."""

LIBRARY = "what the line calls"
"""What is said to switch gradients off where a library does, as ``Normal.sample()``."""

Spans: TypeAlias = "list[tuple[int, int, int, str]]"
"""First and last line on which gradients are off; the line that switches them off, 0 if that ends; its text."""


def spans_of(program: str) -> Spans:
    r"""Return the lines of a program on which gradients are switched off, as far as its text tells.

    >>> spans_of("with torch.inference_mode():\n    h = net(x)\ny = h")
    [(2, 2, 0, 'torch.inference_mode()')]
    >>> spans_of("torch.set_grad_enabled(False)\nh = net(x)\ntorch.set_grad_enabled(True)\ny = h")
    [(2, 3, 0, 'torch.set_grad_enabled(False)')]
    >>> spans_of("@torch.no_grad()\ndef f(x):\n    return net(x)")
    [(3, 3, 0, 'torch.no_grad()')]
    """
    try:
        nodes = [*ast.walk(ast.parse(program))]
    except (SyntaxError, ValueError, RecursionError):
        return []
    spans: Spans = []
    for node in nodes:
        body: Any = getattr(node, "body", None)
        if not isinstance(body, list) or not body:
            continue
        last = body[-1].end_lineno or 0
        heads = [item.context_expr for item in getattr(node, "items", ())] + getattr(node, "decorator_list", [])
        spans += [
            (body[0].lineno, last, 0, text) for text in map(ast.unparse, heads) if any(one in text for one in SWITCHES)
        ]
        calls = [one for one in body if isinstance(one, ast.Expr) and "set_grad_enabled(" in ast.unparse(one)]
        for one, following in zip(calls, [*calls[1:], None], strict=False):
            if not (text := ast.unparse(one)).endswith("(True)"):
                end, at = (following.lineno, 0) if following is not None else (last, one.lineno)
                spans.append((one.lineno + 1, end, at, text))
    return spans


def is_of_library(code: CodeType) -> bool:
    """Return whether a library's function, by its code, switches gradients off for what it calls."""
    return code.co_qualname in DECORATED or any(one in code.co_names for one in SWITCHES)
