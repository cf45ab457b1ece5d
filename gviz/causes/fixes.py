"""The line of a program as it should have been: what to write instead, made from the line itself."""

from __future__ import annotations

import ast
from collections.abc import Callable

CUTS = {"detach", "item", "tolist", "numpy", "data"}
"""What leaves the graph, as a call or as an attribute."""

MODULES = {"torch", "F", "nn"}
"""What functions are called on, as in ``torch.relu_(h)``."""

CREATORS = {
    "tensor", "zeros", "ones", "full", "empty", "rand", "randn", "randint", "arange", "linspace", "eye", "zeros_like",
    "ones_like", "full_like", "rand_like", "randn_like", "empty_like",
}  # fmt: skip
"""Functions that take ``requires_grad``."""


def statement(line: str) -> ast.stmt | None:
    """Return a line as a statement; None for what is none by itself, such as the head of a loop."""
    try:
        body = ast.parse(line.strip()).body
    except (SyntaxError, ValueError, RecursionError):
        return None
    return body[0] if len(body) == 1 else None


def rewritten(line: str, change: Callable[[ast.stmt], ast.stmt | None]) -> str:
    """Return a line after a change of its syntax; "" if it cannot be changed so."""
    read = statement(line)
    try:
        before = "" if read is None else ast.unparse(read)
        made = None if read is None else change(read)
        text = "" if made is None else ast.unparse(ast.fix_missing_locations(made))
    except RecursionError:  # a line that no person has written
        return ""
    return text if text != before and "\n" not in text else ""


def assigned_in(line: str) -> list[str]:
    """Return the names that a line gives values to, or attributes or items.

    >>> assigned_in("  h = torch.tanh(w * h)"), assigned_in("self.w, b = w, 1"), assigned_in("print(h)")
    (['h'], ['self.w', 'b'], [])
    """
    read = statement(line)
    targets = read.targets if isinstance(read, ast.Assign) else [read.target] if isinstance(read, ast.AugAssign) else []
    parts = [part for target in targets for part in getattr(target, "elts", [target])]
    return [ast.unparse(part) for part in parts if isinstance(part, ast.Name | ast.Attribute | ast.Subscript)]


def asks_for_gradient(keyword: ast.keyword) -> bool:
    """Return whether a keyword says whether a gradient is wanted."""
    return keyword.arg == "requires_grad"


def requiring(line: str) -> str:
    """Return a line whose tensor requires a gradient.

    >>> requiring("w = torch.randn(3)"), requiring("w = torch.ones(2, requires_grad=False)"), requiring("w = x")
    ('w = torch.randn(3, requires_grad=True)', 'w = torch.ones(2, requires_grad=True)', '')
    """

    def change(read: ast.stmt) -> ast.stmt | None:
        value = getattr(read, "value", None)
        if not isinstance(value, ast.Call) or getattr(value.func, "attr", "") not in CREATORS:
            return None
        value.keywords = [one for one in value.keywords if not asks_for_gradient(one)]
        value.keywords.append(ast.keyword("requires_grad", ast.Constant(True)))
        return read

    return rewritten(line, change)


def retaining_leaf(line: str) -> str:
    """Return a line that makes a leaf of the whole, and not of a tensor inside of it.

    >>> retaining_leaf("w = torch.randn(3, requires_grad=True) * 0.1")
    'w = (torch.randn(3) * 0.1).requires_grad_()'
    >>> retaining_leaf("return torch.randn(2, requires_grad=True) / 2")
    'return (torch.randn(2) / 2).requires_grad_()'
    """

    def change(read: ast.stmt) -> ast.stmt | None:
        if not isinstance(read, ast.Assign | ast.Return) or read.value is None:
            return None
        calls = [node for node in ast.walk(read.value) if isinstance(node, ast.Call)]
        if not any(asks_for_gradient(one) for call in calls for one in call.keywords):
            return None
        for call in calls:
            call.keywords = [one for one in call.keywords if not asks_for_gradient(one)]
        read.value = ast.Call(ast.Attribute(read.value, "requires_grad_", ast.Load()), [], [])
        return read

    return rewritten(line, change)


class _Whole(ast.NodeTransformer):
    """Takes ``.detach()``, ``.data`` and their kin out of an expression; a list of tensors, not a tensor, is stacked."""

    def __init__(self, source: str) -> None:
        self.source = source

    def visit_Call(self, node: ast.Call) -> ast.expr:
        function, first = node.func, node.args[0] if node.args else None
        self.generic_visit(node)
        if isinstance(function, ast.Name) and function.id in ("float", "int") and len(node.args) == 1:
            return node.args[0]
        if not isinstance(function, ast.Attribute):
            return node
        if first is not None and function.attr in {"tensor", "as_tensor", "from_numpy"}:
            if isinstance(first, ast.List) or (isinstance(first, ast.Name) and self.source and first.id != self.source):
                return ast.Call(ast.Attribute(function.value, "stack", ast.Load()), node.args, [])
            is_copy = any(isinstance(part, ast.Name) for part in ast.walk(first))
            return node.args[0] if is_copy else node
        return function.value if function.attr in CUTS and first is None else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        return node.value if node.attr == "data" else node


def within_graph(line: str, source: str = "") -> str:
    """Return a line that stays within the graph; ``source`` is the name of the tensor that it cuts off, if it has one.

    >>> within_graph("d = h.detach() * 2"), within_graph("loss = torch.tensor(y.item())"), within_graph("y = h * 2")
    ('d = h * 2', 'loss = y', '')
    >>> within_graph("h = h.detach()"), within_graph("y = torch.tensor([a * 2, b])")
    ('leave the line out', 'y = torch.stack([a * 2, b])')
    >>> within_graph("y = torch.tensor(parts)", "h"), within_graph("y = torch.tensor(h)", "h")
    ('y = torch.stack(parts)', 'y = h')
    """
    text = rewritten(line, lambda read: _Whole(source).visit(read))
    left, _, right = text.partition(" = ")
    return "leave the line out" if text and left == right else text


def as_write_in_place(line: str) -> str:
    """Return the assignment of a new tensor as a write into the old one.

    >>> as_write_in_place("w = w - lr * w.grad"), as_write_in_place("self.w = self.w - self.w.grad"), as_write_in_place("w = f(w)")
    ('w -= lr * w.grad', 'self.w -= self.w.grad', '')
    """

    def change(read: ast.stmt) -> ast.stmt | None:
        if not (isinstance(read, ast.Assign) and isinstance(read.value, ast.BinOp) and len(read.targets) == 1):
            return None
        target, value = read.targets[0], read.value
        if not isinstance(target, ast.Name | ast.Attribute | ast.Subscript) or ast.unparse(value.left) != ast.unparse(
            target
        ):
            return None
        return ast.AugAssign(target, value.op, value.right)

    return rewritten(line, change)


def out_of_place(line: str) -> str:
    """Return a write in place as the assignment of a new tensor.

    >>> out_of_place("y += 1"), out_of_place("y.add_(1)"), out_of_place("torch.relu_(h)"), out_of_place("y[0] = 1")
    ('y = y + 1', 'y = y.add(1)', 'h = torch.relu(h)', '')
    """

    def change(read: ast.stmt) -> ast.stmt | None:
        if isinstance(read, ast.AugAssign) and isinstance(read.target, ast.Name):
            return ast.Assign([read.target], ast.BinOp(ast.Name(read.target.id, ast.Load()), read.op, read.value))
        call = read.value if isinstance(read, ast.Expr) else None
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and isinstance(call.func.value, ast.Name)
        ):
            written = call.args[0] if call.func.value.id in MODULES and call.args else call.func.value
            call.func.attr = call.func.attr.removesuffix("_")
            return ast.Assign([written], call)
        return None

    return rewritten(line, change)
