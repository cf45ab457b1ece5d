"""The line of a program as it should have been: what to write instead, made from the line itself."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache

LONGEST = 20
"""Lines of a statement that is shown as a mend: a longer one is data."""

DERIVATIVES = {"grad", "jacobian", "hessian", "vjp", "hvp", "vhp", "jvp"}
"""Functions of torch.autograd whose results have no graph without ``create_graph=True``."""

BUFFER = re.compile(r"self\.register_buffer\([^,]*, (.*)\)$")
"""A line that gives a module a buffer."""

PRETRAINED = re.compile(r"\bEmbedding(Bag)?\.from_pretrained\(")
"""What makes an embedding that is frozen, unless it is asked not to."""

WITHOUT = "leave the line out"
"""What to do about a line that should not be."""

MODULES = {"torch", "F", "nn"}
"""What functions are called on, as in ``torch.relu_(h)``."""

SIGNS = {"floor_divide": "floordiv"}
"""Operations without a derivative that a program writes as signs, by Python's name for these."""

CREATORS = {
    "tensor", "zeros", "ones", "full", "empty", "rand", "randn", "randint", "arange", "linspace", "eye", "zeros_like",
    "ones_like", "full_like", "rand_like", "randn_like", "empty_like",
}  # fmt: skip
"""Functions that take ``requires_grad``."""


def statements(line: str) -> list[ast.stmt]:
    """Return the simple statements of a line, with those of a body that stands on the same line as its head.

    Nothing for a part of a statement, such as the head of a loop.

    >>> [ast.unparse(one) for one in statements("def f(x): h = x * 2; return h")], statements("for i in range(3):")
    (['h = x * 2', 'return h'], [])
    """
    try:
        todo = ast.parse(line.strip()).body[::-1]
    except (SyntaxError, ValueError, RecursionError):
        return []
    parts = []
    while todo:
        node = todo.pop()
        inner = [*getattr(node, "body", ()), *getattr(node, "orelse", ())]
        todo += inner[::-1]
        is_part = isinstance(node, ast.Expr) and not isinstance(node.value, ast.Call)  # of what begins on another line
        parts += [] if inner or is_part else [node]
    return parts


def whole_statement(program: str, number: int) -> str:
    r"""Return the simple statement of several lines that a line of a program belongs to; "" if that stands on one line.

    >>> whole_statement("h = f(\n    w,\n)\ny = h", 2), whole_statement("h = f(w)", 1)
    ('h = f(w)', '')
    """
    texts = [text for first, last, text in long_statements(program) if first <= number <= last]
    return texts[0] if len(texts) == 1 else ""


@lru_cache(maxsize=2)
def long_statements(program: str) -> tuple[tuple[int, int, str], ...]:
    """Return the simple statements of several lines, each with its first line, its last, and what it is on one line."""
    try:
        parts = [one for one in ast.walk(ast.parse(program)) if isinstance(one, ast.stmt) and not hasattr(one, "body")]
        ends = [(one.lineno, one.end_lineno or one.lineno, one) for one in parts]
        return tuple((first, last, ast.unparse(one)) for first, last, one in ends if first < last <= first + LONGEST)
    except (SyntaxError, ValueError, RecursionError):
        return ()


@lru_cache(maxsize=4)
def parsed(program: str) -> ast.Module:
    """Return the syntax of a program, nobody being to change it; that of an empty one if it cannot be read."""
    try:
        return ast.parse(program)
    except (SyntaxError, ValueError, RecursionError):
        return ast.Module([], [])


def statements_at(program: str, number: int) -> list[ast.stmt]:
    """Return the statements of a program that a line is in, the outermost first."""
    parts = [one for one in ast.walk(parsed(program)) if isinstance(one, ast.stmt)]
    spans = [(first_line(one), one.end_lineno or one.lineno, one) for one in parts]
    within = [span for span in spans if span[0] <= number <= span[1]]
    return [one for _, _, one in sorted(within, key=lambda span: (span[0], -span[1]))]


def decorated_line(program: str, number: int, decorator: str) -> int:
    r"""Return the line of a decorator above the function that a line is in; 0 if there is none.

    >>> decorated_line("@torch.no_grad()\ndef f(x):\n    return net(x)", 3, "torch.no_grad()")
    1
    """
    around = (one for one in statements_at(program, number) if isinstance(one, ast.FunctionDef))
    above = [one.lineno for function in around for one in function.decorator_list if ast.unparse(one) == decorator]
    return above[-1] if above else 0


def first_line(statement: ast.stmt) -> int:
    """Return the first line of a statement, with its decorators."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(one.lineno for one in decorators)])


def without_line(program: str, number: int) -> str:
    r"""Return what to leave out where a line should not be: with the head of the block, if nothing else is in it.

    >>> without_line("for p in net.parameters():\n    p.requires_grad = False", 2)
    'leave the lines 1 and 2 out'
    >>> without_line("w.requires_grad = False", 1)
    'leave the line out'
    """
    first = number
    for one in reversed(statements_at(program, number)[:-1]):
        bodies = [getattr(one, "body", ()), getattr(one, "orelse", ()), getattr(one, "finalbody", ())]
        is_whole = isinstance(one, ast.For | ast.While | ast.With | ast.If) and sum(map(len, bodies)) == 1
        if not is_whole:
            break
        first = one.lineno
    lines = f"lines {first} and {number}" if number == first + 1 else f"lines {first} to {number}"
    return f"leave the {lines} out" if first < number else WITHOUT


def without_statement(line: str, words: Sequence[str]) -> str:
    """Return which statement of a line to leave out, if there are others beside it: the first with one of these words.

    >>> without_statement("loss.backward(); opt.zero_grad(); opt.step()", ("zero_grad",))
    'leave opt.zero_grad() out'
    >>> without_statement("opt.zero_grad()", ("zero_grad",))
    ''
    """
    texts = [ast.unparse(one) for one in statements(line)]
    lines = [text for text in texts if any(word in text for word in words)]
    return f"leave {lines[0]} out" if len(texts) > 1 and lines else ""


def detaching(line: str, name: str) -> str:
    """Return a line that takes a tensor out of its graph where it uses it; "" if it does not.

    >>> detaching("d_loss = bce(D(fake), zeros)", "fake"), detaching("d_loss = f(x)", "fake")
    ('d_loss = bce(D(fake.detach()), zeros)', '')
    """

    class Detaching(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            is_use = node.id == name and isinstance(node.ctx, ast.Load)
            return detached(node) if is_use else node

    return rewritten(line, Detaching().visit)


def detached(node: ast.expr) -> ast.expr:
    """Return what takes the value of an expression out of its graph."""
    return ast.Call(ast.Attribute(node, "detach", ast.Load()), [], [])


def with_detached(statement: ast.stmt, value: ast.AST) -> str:
    """Return a statement in which a value is taken out of its graph; "" if the value is none of its expressions.

    >>> keeping = parsed("hist.append(pred)").body[0]
    >>> with_detached(keeping, keeping.value.args[0])
    'hist.append(pred.detach())'
    """

    class Detaching(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return detached(node) if node is value and isinstance(node, ast.expr) else self.generic_visit(node)

    text = ast.unparse(statement)
    copy = ast.parse(text)
    number = next((at for at, node in enumerate(ast.walk(statement)) if node is value), None)
    value = [*ast.walk(copy.body[0])][number] if number is not None else value
    better = ast.unparse(Detaching().visit(copy.body[0]))
    return better if better != text else ""


def with_detached_operand(line: str, name: str) -> str:
    """Return the expression of a line that calls an operation, with its first operand taken out of the graph.

    >>> with_detached_operand("loss = a + (score // 1).sum()", "floor_divide"), with_detached_operand("y = x", "f")
    ('score.detach() // 1', '')
    """
    for node in (one for statement in statements(line) for one in ast.walk(statement)):
        if isinstance(node, ast.BinOp) and type(node.op).__name__.lower() == SIGNS.get(name):
            node.left = detached(node.left)
            return ast.unparse(node)
        function = node.func if isinstance(node, ast.Call) else None
        if isinstance(node, ast.Call) and getattr(function, "attr", "") == name and isinstance(function, ast.Attribute):
            is_function = isinstance(function.value, ast.Name) and function.value.id in MODULES
            if is_function and node.args:
                node.args[0] = detached(node.args[0])
            else:
                function.value = detached(function.value)
            return ast.unparse(node)
    return ""


def through_library(line: str) -> str:
    """Return a line that calls what gradients flow through, in place of what a library has switched gradients off for.

    >>> through_library("z = d.sample((4,))"), through_library("h = checkpoint(body, x, use_reentrant=True)")
    ('z = d.rsample((4,))', 'h = checkpoint(body, x, use_reentrant=False)')
    """

    def change(node: ast.stmt) -> ast.stmt | None:
        for one in ast.walk(node):
            if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.func.attr == "sample":
                one.func.attr = "rsample"
        return node

    sampled = rewritten(line, change)
    return with_keyword(sampled or line, ("checkpoint",), "use_reentrant", value=False) or sampled


def with_keyword(line: str, functions: Collection[str], name: str, *, value: bool) -> str:
    """Return a line whose calls of some functions have a keyword with a value; "" if it has no such call.

    >>> with_keyword("g = torch.autograd.grad(out.sum(), x)[0]", DERIVATIVES, "create_graph", value=True)
    'g = torch.autograd.grad(out.sum(), x, create_graph=True)[0]'
    """

    def change(node: ast.stmt) -> ast.stmt | None:
        for call in [one for one in ast.walk(node) if isinstance(one, ast.Call)]:
            if getattr(call.func, "attr", getattr(call.func, "id", "")) in functions:
                call.keywords = [one for one in call.keywords if one.arg != name]
                call.keywords.append(ast.keyword(name, ast.Constant(value)))
        return node

    return rewritten(line, change)


def changes(line: str, change: Callable[[ast.stmt], ast.stmt | None], name: str = "") -> list[tuple[str, str]]:
    """Return the statements of a line that a change of syntax changes, each with what becomes of it.

    Args:
        line: one or several statements.
        change: gives the statement after the change; None if it cannot be changed so.
        name: of the tensor that the change is about; "" for a change of all statements.
    """
    parts, rewrites = statements(line), []
    own = [one for one in parts if any(may_be(target, name) for target in targets_of(one))]
    for one in own or parts:
        try:
            before, after = ast.unparse(one), change(one)
            text = "" if after is None else ast.unparse(ast.fix_missing_locations(after))
        except RecursionError:  # a line that no person has written
            continue
        rewrites += [(before, text)] if text not in ("", before) and "\n" not in text else []
    return rewrites if own or not name or len(rewrites) < 2 else []


def rewritten(line: str, change: Callable[[ast.stmt], ast.stmt | None], name: str = "") -> str:
    """Return what of a line a change of its syntax changes, after it; "" for nothing."""
    return "; ".join(text for _, text in changes(line, change, name))


def targets_of(statement: ast.stmt) -> list[str]:
    """Return the names that a statement gives values to, or attributes or items."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    parts = [part for target in targets for part in getattr(target, "elts", [target])]
    return [ast.unparse(part) for part in parts if isinstance(part, ast.Name | ast.Attribute | ast.Subscript)]


def assigned_in(line: str) -> list[str]:
    """Return the names that a line gives values to, or attributes or items.

    >>> assigned_in("  h = torch.tanh(w * h)"), assigned_in("self.w, b = w, 1"), assigned_in("print(h)")
    (['h'], ['self.w', 'b'], [])
    """
    return [name for statement in statements(line) for name in targets_of(statement)]


def asked_in(line: str) -> list[str]:
    """Return the tensors whose gradients a line asks ``torch.autograd.grad`` for, as it writes them.

    >>> asked_in("g = torch.autograd.grad(out.sum(), [x, net.w], create_graph=True)[0]"), asked_in("g = grad(y, x)")
    (['x', 'net.w'], ['x'])
    """
    calls = [one for statement in statements(line) for one in ast.walk(statement) if isinstance(one, ast.Call)]
    grads = [call for call in calls if getattr(call.func, "attr", getattr(call.func, "id", "")) == "grad"]
    words = [word.value for call in grads for word in call.keywords if word.arg == "inputs"]
    places = [*words, *(call.args[1] for call in grads if len(call.args) > 1)]
    return [ast.unparse(part) for place in places for part in getattr(place, "elts", [place])]


def may_be(target: str, name: str) -> bool:
    """Return whether a name in a line of the program may be that of a tensor.

    The last parts are the same, and both are items of something or neither is: ``self`` in the line may be ``model``
    elsewhere, and ``k`` may be 0.

    >>> may_be("w", "w"), may_be("self.w", "model.w"), may_be("ws[k]", "ws[0]"), may_be("w", "model.w")
    (True, True, True, False)
    """
    last, other = target.partition("[")[0].rpartition("."), name.partition("[")[0].rpartition(".")
    return last[1:] == other[1:] and ("[" in target) == ("[" in name)


def asks_for_gradient(keyword: ast.keyword) -> bool:
    """Return whether a keyword says whether a gradient is wanted."""
    return keyword.arg == "requires_grad"


def requiring(line: str, name: str = "") -> str:
    """Return a line whose tensor, the one of that name if there are several, requires a gradient.

    >>> requiring("w = torch.randn(3)"), requiring("w = torch.ones(2, requires_grad=False)"), requiring("w = x")
    ('w = torch.randn(3, requires_grad=True)', 'w = torch.ones(2, requires_grad=True)', '')
    >>> requiring("def __init__(self): self.w = torch.ones(2); self.b = torch.ones(1)", "net.b")
    'self.b = torch.ones(1, requires_grad=True)'
    >>> requiring("emb = nn.Embedding.from_pretrained(vectors)")
    'emb = nn.Embedding.from_pretrained(vectors, freeze=False)'
    """
    if PRETRAINED.search(line):
        return with_keyword(line, ("from_pretrained",), "freeze", value=False)

    def change(node: ast.stmt) -> ast.stmt | None:
        value = getattr(node, "value", None)
        if not isinstance(value, ast.Call) or getattr(value.func, "attr", "") not in CREATORS:
            return None
        value.keywords = [one for one in value.keywords if not asks_for_gradient(one)]
        value.keywords.append(ast.keyword("requires_grad", ast.Constant(True)))
        return node

    return rewritten(line, change, name)


class _WithoutLeaf(ast.NodeTransformer):
    """Takes what makes leaves out of an expression: ``requires_grad=True``, ``requires_grad_()``, ``Parameter()``."""

    def __init__(self) -> None:
        self.parameter: ast.expr | None = None

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        node.keywords = [one for one in node.keywords if not asks_for_gradient(one)]
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name == "requires_grad_" and isinstance(node.func, ast.Attribute):
            return node.func.value
        if name == "Parameter" and node.args:
            self.parameter = node.func
            return node.args[0]
        return node


def as_parameter(line: str, attribute: str, wrapper: str) -> str:
    """Return the line that gives an attribute of a module its value so that the module's parameters() list it.

    >>> as_parameter("def __init__(self): f(); self.w = torch.ones(2, requires_grad=True)", "w", "nn.Parameter")
    'self.w = nn.Parameter(torch.ones(2))'
    >>> as_parameter("self.layers = []", "layers", "nn.ModuleList")
    'self.layers = nn.ModuleList()'
    >>> as_parameter("self.register_buffer('w', torch.ones(2, requires_grad=True))", "w", "nn.Parameter")
    'self.w = nn.Parameter(torch.ones(2))'
    """
    line = BUFFER.sub(rf"self.{attribute} = \1", line)

    def change(node: ast.stmt) -> ast.stmt | None:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            return None
        value = _WithoutLeaf().visit(node.value) if wrapper.endswith(".Parameter") else node.value
        arguments = [] if ast.unparse(value) in ("[]", "{}", "list()", "dict()") else [value]
        node.value = ast.Call(ast.parse(wrapper, mode="eval").body, arguments, [])
        return node

    return rewritten(line, change, f"self.{attribute}")


def retaining_leaf(line: str, name: str = "") -> str:
    """Return a line that makes a leaf of the whole, and not of a tensor inside of it.

    >>> retaining_leaf("w = torch.randn(3, requires_grad=True) * 0.1")
    'w = (torch.randn(3) * 0.1).requires_grad_()'
    >>> retaining_leaf("return torch.randn(2, requires_grad=True) / 2")
    'return (torch.randn(2) / 2).requires_grad_()'
    >>> retaining_leaf("self.w = nn.Parameter(torch.randn(2)) * 0.1"), retaining_leaf("y = w.clone()")
    ('self.w = nn.Parameter(torch.randn(2) * 0.1)', '')
    """

    def change(node: ast.stmt) -> ast.stmt | None:
        if not isinstance(node, ast.Assign | ast.Return) or node.value is None:
            return None
        plain, before = _WithoutLeaf(), ast.unparse(node.value)
        value = plain.visit(node.value)
        if ast.unparse(value) == before:
            return None
        leaf = ast.Attribute(value, "requires_grad_", ast.Load())
        node.value = ast.Call(plain.parameter, [value], []) if plain.parameter is not None else ast.Call(leaf, [], [])
        return node

    return rewritten(line, change, name)


def as_write_in_place(line: str, name: str = "") -> str:
    """Return the assignment of a new tensor as a write into the old one.

    >>> as_write_in_place("w = w - lr * w.grad"), as_write_in_place("self.w = self.w - g"), as_write_in_place("w = f()")
    ('w -= lr * w.grad', 'self.w -= g', '')
    """

    def change(node: ast.stmt) -> ast.stmt | None:
        if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp) and len(node.targets) == 1):
            return None
        target, value = node.targets[0], node.value
        if not isinstance(target, ast.Name | ast.Attribute | ast.Subscript) or ast.unparse(value.left) != ast.unparse(
            target
        ):
            return None
        return ast.AugAssign(target, value.op, value.right)

    return rewritten(line, change, name)


def as_copy(statement: ast.stmt) -> str:
    """Return a statement that writes into a parameter what it makes a new one of; "" if it is not made of the old one.

    >>> as_copy(parsed("self.w = nn.Parameter(F.normalize(self.w, dim=1))").body[0])
    'with torch.no_grad(): self.w.copy_(F.normalize(self.w, dim=1))'
    """
    maker = statement.value if isinstance(statement, ast.Assign) else None
    if not isinstance(statement, ast.Assign) or not isinstance(maker, ast.Call) or not maker.args:
        return ""
    name, new = ast.unparse(statement.targets[0]), maker.args[0]
    is_made_anew = ast.unparse(maker.func).endswith("Parameter") and name in map(ast.unparse, ast.walk(new))
    return f"with torch.no_grad(): {name}.copy_({ast.unparse(new)})" if is_made_anew else ""


def out_of_place(line: str) -> str:
    """Return a write in place as the assignment of a new tensor; a part of a tensor is written in a copy of it.

    >>> out_of_place("y += 1"), out_of_place("y.add_(1)"), out_of_place("torch.relu_(h)"), out_of_place("y[0] = 1")
    ('y = y + 1', 'y = y.add(1)', 'h = torch.relu(h)', 'y = y.clone(); y[0] = 1')
    """
    for one in statements(line):
        target = (
            one.targets[0] if isinstance(one, ast.Assign) else one.target if isinstance(one, ast.AugAssign) else None
        )
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            return f"{target.value.id} = {target.value.id}.clone(); {ast.unparse(one)}"

    def change(node: ast.stmt) -> ast.stmt | None:
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            return ast.Assign([node.target], ast.BinOp(ast.Name(node.target.id, ast.Load()), node.op, node.value))
        call = node.value if isinstance(node, ast.Expr) else None
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and isinstance(call.func.value, ast.Name)
        ):
            owner = call.args[0] if call.func.value.id in MODULES and call.args else call.func.value
            call.func.attr = call.func.attr.removesuffix("_")
            return ast.Assign([owner], call)
        return None

    return rewritten(line, change)
