"""The line of a program as it should have been: what to write instead, made from the line itself."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from itertools import pairwise, takewhile
from typing import TypeAlias

from gviz.causes.syntax import (
    LONGEST,
    NUMPY_CALLS,
    calls_of,
    forms_of,
    has,
    last_name,
    names_within,
    obstacle,
    parse,
    parsed,
    rebuilt,
    statements,
    statements_at,
)

DERIVATIVES = {"grad", "jacobian", "hessian", "vjp", "hvp", "vhp", "jvp"}
"""Functions of torch.autograd whose results have no graph without ``create_graph=True``."""

MODULES = {"torch", "F", "nn"}
"""What functions are called on, as in ``torch.relu_(h)``."""

CREATORS = {
    "tensor", "zeros", "ones", "full", "empty", "rand", "randn", "randint", "arange", "linspace", "eye", "zeros_like",
    "ones_like", "full_like", "rand_like", "randn_like", "empty_like",
}  # fmt: skip
"""Functions that take ``requires_grad``."""

FROM_NUMBERS = {"tensor", "as_tensor", "from_numpy", "Tensor", "FloatTensor", "DoubleTensor"}
"""Functions of torch that make a tensor of numbers."""

MATH = {
    "acos", "asin", "atan", "atan2", "cos", "cosh", "erf", "exp", "expm1", "hypot", "lgamma", "log",
    "log10", "log1p", "log2", "pow", "sin", "sinh", "sqrt", "tan", "tanh",
}  # fmt: skip
"""Functions of Python's math module that torch has by the same name."""

VIEWS = {"data", "T", "mT", "H", "mH", "real", "imag"}
"""Attributes of a tensor that share its memory."""

IDLE = "idle"
"""Said of a statement that would assign what is there already."""

Test: TypeAlias = "Callable[[ast.AST], bool]"


# ---------------------------------------------------------------- what to leave out
def decorated_line(program: str, number: int, decorator: str) -> int:
    r"""Return the line of a decorator above the function that a line is in; 0 if there is none.

    >>> decorated_line("@torch.no_grad()\ndef f(x):\n    return net(x)", 3, "torch.no_grad()")
    1
    """
    above = (
        one.lineno
        for function in statements_at(program, number)
        for one in getattr(function, "decorator_list", ())
        if ast.unparse(one) == decorator
    )
    return max(above, default=0)


def without_line(program: str, number: int) -> str:
    r"""Return what to leave out where a line should not be: with the head of the block, if nothing else is in it.

    A function, or a branch, with nothing else in it gets ``pass``.

    >>> without_line("for p in net.parameters():\n    p.requires_grad = False", 2)
    'leave the lines 1 and 2 out'
    >>> without_line("w.requires_grad = False", 1)
    'leave line 1 out'
    >>> without_line("def freeze(net):\n    net.requires_grad_(False)", 2)
    'write pass in place of line 2'
    """
    pairs = reversed([*pairwise(statements_at(program, number))])
    alone = [*takewhile(lambda pair: [pair[1]] in bodies_of(pair[0]), pairs)]
    *_, first = blocks = [number, *(one.lineno for one, _ in takewhile(lambda pair: is_block_of_one(pair[0]), alone))]
    joint = "and" if number == first + 1 else "to"
    them = f"the lines {first} {joint} {number}" if first < number else f"line {number}"
    return f"leave {them} out" if len(alone) < len(blocks) else f"write pass in place of {them}"


def bodies_of(statement: ast.stmt) -> list[list[ast.stmt]]:
    """Return the bodies of a statement."""
    return [getattr(statement, name, []) for name in ("body", "orelse", "finalbody")]


def is_block_of_one(statement: ast.stmt) -> bool:
    """Return whether a statement is a loop, a branch or a block of one statement."""
    return isinstance(statement, ast.For | ast.While | ast.With | ast.If) and sum(map(len, bodies_of(statement))) == 1


def is_apart(statement: ast.stmt, words: Sequence[str]) -> bool:
    """Return whether a statement with one of some words can be left out: it assigns nothing that others may read.

    >>> [is_apart(statements(one)[0], (".grad",)) for one in ("w.grad = None", "g, w.grad = w.grad, None", "step()")]
    [True, False, False]
    """
    return any(word in ast.unparse(statement) for word in words) and all(
        one.endswith((".grad", ".requires_grad")) for one in targets_of(statement)
    )


# ---------------------------------------------------------------- lines, rewritten
def rewritten(line: str, change: Callable[[ast.stmt], ast.stmt | None], name: str = "") -> str:
    """Return the statements of a line that a change of syntax changes, after it; "" for nothing.

    Args:
        line: one or several statements.
        change: gives the statement after the change; None if it cannot be changed so.
        name: of the tensor that the change is about; "" for a change of all statements.
    """
    parts, texts = statements(line), []
    own = [one for one in parts if any(may_be(target, name) for target in targets_of(one))]
    for one in own or parts:
        try:
            before, after = ast.unparse(one), change(one)
            text = "" if after is None else ast.unparse(ast.fix_missing_locations(after))
        except RecursionError:  # a line that no person has written
            continue
        texts += [text] if text not in ("", before) and "\n" not in text else []
    return "; ".join(texts) if own or not name or len(texts) < 2 else ""


def revalued(line: str, change: Callable[[ast.expr], ast.expr], name: str = "") -> str:
    """Return the statements of a line that assign, return or append a value, with what a change makes of that.

    Args:
        line: as for :func:`rewritten`.
        change: gives the value after it.
        name: as for :func:`rewritten`.
    """

    def changed(node: ast.stmt) -> ast.stmt | None:
        match node:
            case ast.Assign(value=value) | ast.AnnAssign(value=value) | ast.Return(value) if value is not None:
                return type(node)(**{**dict(ast.iter_fields(node)), "value": change(value)})
            case ast.Expr(ast.Call(ast.Attribute(_, "append") as function, [value])):
                return ast.Expr(ast.Call(function, [change(value)], []))
        return None

    return rewritten(line, changed, name)


def each_part(value: ast.expr, change: Callable[[ast.expr], ast.expr]) -> ast.expr:
    """Return an expression in which each element of a container is what a change makes of it; of no container, itself.

    >>> ast.unparse(each_part(ast.parse("[w for w in ws]", mode="eval").body, detached))
    '[w.detach() for w in ws]'
    """
    match value:
        case ast.ListComp() | ast.GeneratorExp() | ast.SetComp():
            return type(value)(each_part(value.elt, change), value.generators)
        case ast.DictComp():
            return ast.DictComp(value.key, each_part(value.value, change), value.generators)
        case ast.List() | ast.Tuple():
            return type(value)([each_part(one, change) for one in value.elts], value.ctx)
        case ast.Dict():
            return ast.Dict(value.keys, [each_part(one, change) for one in value.values])
        case ast.Call() if last_name(value) in ("ParameterList", "ParameterDict", "dict", "list", "tuple"):
            return ast.Call(
                value.func,
                [each_part(one, change) for one in value.args],
                [ast.keyword(word.arg, each_part(word.value, change)) for word in value.keywords],
            )
    return change(value)


def targets_of(statement: ast.stmt) -> list[str]:
    """Return the names that a statement gives values to, or attributes or items."""
    return [
        ast.unparse(part)
        for target in getattr(statement, "targets", [getattr(statement, "target", ast.Pass())])
        for part in names_within(target)
    ]


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
    calls = [call for statement in statements(line) for call in calls_of(statement, "grad")]
    words = [word.value for call in calls for word in call.keywords if word.arg == "inputs"]
    places = [*words, *(call.args[1] for call in calls if len(call.args) > 1)]
    return [ast.unparse(part) for place in places for part in getattr(place, "elts", [place])]


def roots_in(statement: ast.AST) -> list[ast.expr]:
    """Return what a statement, or a part of a program, asks autograd to begin at.

    >>> lines = "g.sum().backward()", "h = torch.autograd.grad(g, x)[0]", "torch.autograd.backward([a, b])"
    >>> [[*map(ast.unparse, roots_in(ast.parse(line)))] for line in lines]
    [['g.sum()'], ['g'], ['a', 'b']]
    """
    roots = list[ast.expr]()
    for call in calls_of(statement, "backward", "grad"):
        match call:
            case ast.Call(ast.Attribute(owner, "backward")) if last_name(owner) != "autograd":
                roots.append(owner)
            case ast.Call(_, [first, *_]):
                roots += getattr(first, "elts", [first])
    return roots


def named_in(code: str) -> str:
    """Return the name that a line calls backward on, or asks autograd for the gradients of.

    >>> named_in("loss.backward()"), named_in("loss.sum().backward()"), named_in("torch.autograd.backward([a])")
    ('loss', 'loss', 'a')
    >>> named_in("h, = torch.autograd.grad(g, x)"), named_in("out.loss.backward()"), named_in("y.exp().backward()")
    ('g', 'out.loss', '')
    """
    texts = (re.sub(r"(\.(sum|mean)\(\))+$", "", ast.unparse(one)) for one in roots_in(parse(code)))
    return next((one for one in texts if ".grad(" in code or re.fullmatch(r"[A-Za-z_][\w.]*", one)), "")


def summed(line: str) -> str:
    """Return a line that asks autograd to begin at the sum of what it is to begin at, which is a scalar.

    >>> summed("(y * 2).backward()"), summed("g, = torch.autograd.grad([y, z], y)"), summed("f(y)")
    ('(y * 2).sum().backward()', 'g, = torch.autograd.grad([y.sum(), z.sum()], y)', '')
    """
    return rewritten(
        line,
        lambda one: rebuilt(
            one, lambda old, new: ast.Call(ast.Attribute(new, "sum"), [], []) if old in roots_in(one) else new
        ),
    )


def may_be(target: str, name: str) -> bool:
    """Return whether a name in a line of the program may be that of a tensor.

    The last parts are the same, or both are items: ``self`` in the line may be ``model`` elsewhere, and ``k`` may be 0;
    what has the item may be an item itself, by another name.

    >>> may_be("w", "w"), may_be("self.w", "model.w"), may_be("ws[k]", "ws[0]"), may_be("w", "model.w")
    (True, True, True, False)
    >>> may_be("l.w", "net['a'].w"), may_be("layer[k]", "net[0]['W']"), may_be("vs[k]", "ws[0]")
    (True, True, False)
    """
    (target, end), (name, other_end) = _last_part(target), _last_part(name)
    if "[" not in end + other_end:
        return end == other_end and (bool(end) or target == name)
    return end[:1] == other_end[:1] and ("[" in target + name or target.rpartition(".")[1:] == name.rpartition(".")[1:])


def _last_part(name: str) -> tuple[str, str]:
    end = re.search(r"(\.\w+|\[[^][]*\])$", name)
    return (name[: end.start()], end[0]) if end is not None else (name, "")


# ---------------------------------------------------------------- tensors out of their graph
def detached(node: ast.expr) -> ast.expr:
    """Return what takes the value of an expression out of its graph."""
    return ast.Call(ast.Attribute(node, "detach", ast.Load()), [], [])


def detaching(parts: Iterable[ast.stmt], is_it: Test) -> str:
    """Return the statements in which an expression is one to take out of its graph, with it out; "" if none is.

    >>> detaching(statements("d_loss = bce(D(fake), zeros)"), lambda node: last_name(node) == "fake")
    'd_loss = bce(D(fake.detach()), zeros)'
    """
    new = (rebuilt(one, lambda old, new: detached(new) if is_it(old) else new) for one in parts if has(one, is_it))
    return "; ".join(ast.unparse(ast.fix_missing_locations(one)) for one in new)


# ---------------------------------------------------------------- calls
def through_library(line: str) -> str:
    """Return a line that calls what gradients flow through, in place of what a library has switched gradients off for.

    >>> through_library("z = d.sample((4,))"), through_library("h = checkpoint(body, x, use_reentrant=True)")
    ('z = d.rsample((4,))', 'h = checkpoint(body, x, use_reentrant=False)')
    """

    def change(_: ast.AST, new: ast.expr) -> ast.expr:
        return ast.Attribute(new.value, "rsample") if isinstance(new, ast.Attribute) and new.attr == "sample" else new

    sampled = rewritten(line, lambda node: rebuilt(node, change))
    return with_keyword(sampled or line, ("checkpoint",), "use_reentrant", value=False) or sampled


def with_keyword(line: str, functions: Collection[str], name: str, *, value: bool) -> str:
    """Return a line whose calls of some functions have a keyword with a value; "" if it has no such call.

    >>> with_keyword("g = torch.autograd.grad(out.sum(), x)[0]", DERIVATIVES, "create_graph", value=True)
    'g = torch.autograd.grad(out.sum(), x, create_graph=True)[0]'
    """

    def change(_: ast.AST, new: ast.expr) -> ast.expr:
        return with_word(new, name, value=value) if isinstance(new, ast.Call) and last_name(new) in functions else new

    return rewritten(line, lambda node: rebuilt(node, change))


def with_word(call: ast.Call, name: str, *, value: bool | None) -> ast.Call:
    """Return a call in which a keyword has a value; None leaves it out."""
    words = [one for one in call.keywords if one.arg != name]
    words += [ast.keyword(name, ast.Constant(value))] if value is not None else []
    return ast.Call(call.func, call.args, words)


def optimizing(line: str, name: str, program: str = "") -> str:
    """Return the line that makes an optimizer with a parameter besides; "" if the line does not tell of which tensors.

    Of a module for which the program makes another such optimizer it is made for the parameter's own one in its place.

    >>> optimizing("opt = Adam(net[2].parameters(), lr=0.1)", "net[0].weight"), optimizing("opt = SGD([w])", "v")
    ('opt = Adam(net.parameters(), lr=0.1)', 'opt = SGD([w, v])')
    >>> optimizing("opt = SGD(q.parameters())", "tq.weight"), optimizing("opt = SGD(net.parameters())", "net.w")
    ('opt = SGD([*q.parameters(), tq.weight])', '')
    >>> optimizing("a = SGD(q.parameters())", "net.w", "a = SGD(q.parameters()); b = SGD(q.parameters(), lr=0.1)")
    'a = SGD(net.parameters())'
    """

    def with_name(listed: ast.expr, *, is_other_s: bool) -> ast.expr:
        match listed:
            case ast.List(tensors) if not any(isinstance(one, ast.Dict) for one in ast.walk(listed)):
                return ast.List([*tensors, ast.Name(name)])
            case ast.Call(ast.Attribute(owner, "parameters"), [], []):
                whole, own = (re.split(r"\W", one)[0] for one in (ast.unparse(owner), name))
                if whole == own or (is_other_s and own != name):
                    return ast.Call(ast.Attribute(ast.Name(own), "parameters"), [], [])
                return ast.List([ast.Starred(listed), ast.Name(name)])
        return listed

    def change(value: ast.expr) -> ast.expr:
        match value:
            case ast.Call(maker, [listed, *others], words):
                firsts = [[*map(ast.unparse, one.args[:1])] for one in calls_of(parsed(program), last_name(maker))]
                return ast.Call(
                    maker, [with_name(listed, is_other_s=firsts.count([ast.unparse(listed)]) > 1), *others], words
                )
        return value

    return revalued(line, change)


# ---------------------------------------------------------------- leaves
def requiring(line: str, name: str = "") -> str:
    """Return a line whose tensor, the one of that name if there are several, requires a gradient.

    >>> requiring("w = torch.randn(3)"), requiring("w = torch.ones(2, requires_grad=False)"), requiring("w = x")
    ('w = torch.randn(3, requires_grad=True)', 'w = torch.ones(2, requires_grad=True)', '')
    >>> requiring("def __init__(self): self.w = torch.ones(2); self.b = torch.ones(1)", "net.b")
    'self.b = torch.ones(1, requires_grad=True)'
    >>> requiring("teacher = net.requires_grad_(False).eval()")
    'teacher = net.requires_grad_().eval()'
    >>> requiring("emb = nn.Embedding.from_pretrained(vectors)")
    'emb = nn.Embedding.from_pretrained(vectors, freeze=False)'
    """
    if re.search(r"\bEmbedding(Bag)?\.from_pretrained\(", line):  # it is frozen, unless it is asked not to be
        return with_keyword(line, ("from_pretrained",), "freeze", value=False)

    def unfrozen(_: ast.AST, new: ast.expr) -> ast.expr:
        return ast.Call(new.func, [], []) if isinstance(new, ast.Call) and last_name(new) == "requires_grad_" else new

    def change(value: ast.expr) -> ast.expr:
        return (
            with_word(value, "requires_grad", value=True)
            if isinstance(value, ast.Call) and getattr(value.func, "attr", "") in CREATORS
            else rebuilt(value, unfrozen)
        )

    return revalued(line, change, name)


def without_leaf(_: ast.AST, new: ast.expr) -> ast.expr:
    """Return an expression without what makes a leaf: ``requires_grad=True``, ``requires_grad_()``, ``Parameter()``."""
    match new:
        case ast.Call(ast.Attribute(owner, "requires_grad_")):
            return owner
        case ast.Call(function, [first, *_]) if last_name(function) in ("Parameter", "Buffer"):
            return first
        case ast.Call():
            return with_word(new, "requires_grad", value=None)
    return new


def as_parameter(line: str, attribute: str, wrapper: str) -> str:
    """Return the line that gives an attribute of a module its value so that the module's parameters() list it.

    >>> as_parameter("def __init__(self): f(); self.w = torch.ones(2, requires_grad=True)", "w", "nn.Parameter")
    'self.w = nn.Parameter(torch.ones(2))'
    >>> as_parameter("self.layers = []", "layers", "nn.ModuleList")
    'self.layers = nn.ModuleList()'
    >>> as_parameter("self.layers = {i: nn.Linear(2, 2) for i in range(3)}", "layers", "nn.ModuleDict")
    'self.layers = nn.ModuleDict({str(i): nn.Linear(2, 2) for i in range(3)})'
    >>> as_parameter("self.register_buffer('w', torch.ones(2, requires_grad=True))", "w", "nn.Parameter")
    'self.w = nn.Parameter(torch.ones(2))'
    """
    line = re.sub(r"self\.register_buffer\([^,]*, (.*?)(, persistent=\w+)?\)$", rf"self.{attribute} = \1", line)

    def change(value: ast.expr) -> ast.expr:
        value = rebuilt(value, without_leaf) if wrapper.endswith(".Parameter") else value
        if isinstance(value, ast.DictComp) and not isinstance(value.key, ast.JoinedStr):
            value = ast.DictComp(ast.Call(ast.Name("str"), [value.key], []), value.value, value.generators)
        arguments = [] if ast.unparse(value) in ("[]", "{}", "list()", "dict()") else [value]
        return ast.Call(ast.parse(wrapper, mode="eval").body, arguments, [])

    return revalued(line, change, f"self.{attribute}")


def retaining_leaf(line: str, name: str = "") -> str:
    """Return a line that makes a leaf of the whole, or of each element of a container, not of a tensor inside of it.

    >>> retaining_leaf("w = torch.randn(3, requires_grad=True) * 0.1")
    'w = (torch.randn(3) * 0.1).requires_grad_()'
    >>> retaining_leaf("return torch.randn(2, requires_grad=True) / 2")
    'return (torch.randn(2) / 2).requires_grad_()'
    >>> retaining_leaf("self.w = nn.Parameter(torch.randn(2)) * 0.1"), retaining_leaf("y = w.clone()")
    ('self.w = nn.Parameter(torch.randn(2) * 0.1)', '')
    >>> retaining_leaf("ws = {i: torch.randn(2, requires_grad=True) * 0.1 for i in range(3)}")
    'ws = {i: (torch.randn(2) * 0.1).requires_grad_() for i in range(3)}'
    >>> retaining_leaf("w, b = torch.ones(2, requires_grad=True) / 2, torch.zeros(1, requires_grad=True)")
    'w, b = ((torch.ones(2) / 2).requires_grad_(), torch.zeros(1, requires_grad=True))'
    >>> retaining_leaf("ws.append(torch.randn(2, requires_grad=True) * 0.1)"), retaining_leaf("ws.append(x * 2)")
    ('ws.append((torch.randn(2) * 0.1).requires_grad_())', '')
    >>> retaining_leaf("p = dict(w=torch.ones(2, requires_grad=True) / 2)")
    'p = dict(w=(torch.ones(2) / 2).requires_grad_())'
    """
    return revalued(line, partial(each_part, change=leaf_of), name)


def leaf_of(value: ast.expr) -> ast.expr:
    """Return an expression that makes a leaf of what is computed from leaves in it."""
    inner = rebuilt(value, without_leaf)
    is_leaf = ast.unparse(without_leaf(value, value)) != ast.unparse(value)
    makers = [call.func for call in calls_of(value, "Parameter")]
    leaf = ast.Call(makers[0], [inner], []) if makers else ast.Call(ast.Attribute(inner, "requires_grad_"), [], [])
    return value if is_leaf or ast.unparse(inner) == ast.unparse(value) else leaf


def as_leaf(line: str, name: str) -> str:
    """Return the assignment of a new tensor, or of a container of them, as that of new leaves.

    >>> as_leaf("adv = (adv + adv.grad.sign()).clamp(0, 1)", "adv"), as_leaf("return x - x.grad", "adv")
    ('adv = (adv + adv.grad.sign()).clamp(0, 1).detach().requires_grad_()', '')
    >>> as_leaf("ws = [w - 0.1 * w.grad for w in ws]", "ws[0]"), as_leaf("w = (w - w.grad).detach()", "w")
    ('ws = [(w - 0.1 * w.grad).detach().requires_grad_() for w in ws]', 'w = (w - w.grad).detach().requires_grad_()')
    """
    is_own = any(name == target or name.startswith(f"{target}[") for target in assigned_in(line))
    new = partial(
        each_part, change=lambda one: ast.Call(ast.Attribute(detached(without_call(one)), "requires_grad_"), [], [])
    )
    return revalued(line, new, name) if is_own else ""


def is_gradient(node: ast.AST) -> bool:
    """Return whether a node reads the ``.grad`` of a tensor, and not a function of torch.autograd."""
    return isinstance(node, ast.Attribute) and node.attr == "grad" and last_name(node.value) != "autograd"


# ---------------------------------------------------------------- writes
def as_write_in_place(line: str, name: str = "") -> str:
    """Return the assignment of a new tensor as a write into the old one.

    >>> as_write_in_place("w = w - lr * w.grad"), as_write_in_place("self.w = self.w - g"), as_write_in_place("w = f()")
    ('w -= lr * w.grad', 'self.w -= g', '')
    """

    def change(node: ast.stmt) -> ast.stmt | None:
        match node:
            case ast.Assign([target], ast.BinOp(left, op, right)) if ast.unparse(left) == ast.unparse(target):
                return ast.AugAssign(target, op, right)  # type: ignore[arg-type]
        return None

    return rewritten(line, change, name)


def as_copy(statement: ast.stmt) -> str:
    """Return a statement that writes into a parameter what it makes a new one of; "" if it is not made of the old one.

    >>> as_copy(statements("self.w = nn.Parameter(F.normalize(self.w, dim=1))")[0])
    'with torch.no_grad(): self.w.copy_(F.normalize(self.w, dim=1))'
    """
    match statement:
        case ast.Assign([target], ast.Call(maker, [new, *_])) if last_name(maker) == "Parameter":
            name = ast.unparse(target)
            if name in map(ast.unparse, ast.walk(new)):
                return f"with torch.no_grad(): {name}.copy_({ast.unparse(new)})"
    return ""


def out_of_place(line: str) -> str:
    """Return a write in place as the assignment of a new tensor; where torch has no such function, in a copy.

    >>> out_of_place("y += 1"), out_of_place("y.add_(1)"), out_of_place("torch.relu_(h)"), out_of_place("y[0] = 1")
    ('y = y + 1', 'y = y.add(1)', 'h = torch.relu(h)', 'y = y.clone(); y[0] = 1')
    >>> out_of_place("y.zero_()"), out_of_place("y[1:].mul_(2)"), out_of_place("f(y)"), out_of_place("y.exp_().add_(1)")
    ('y = y.clone(); y.zero_()', 'y = y.clone(); y[1:].mul_(2)', '', 'y = y.exp().add(1)')
    >>> out_of_place("y[t + 1] = torch.tanh(w @ y[t])")
    'y = y.clone(); y[t + 1] = torch.tanh(w @ y.clone()[t])'
    >>> out_of_place("nn.init.zeros_(y)")
    'y = y.clone(); nn.init.zeros_(y)'
    >>> out_of_place("y.data.mul_(2)"), out_of_place("y.detach()[0] = float(n)")  # autograd is to see the write
    ('y = y.mul(2)', 'y = y.clone(); y[0] = float(n)')
    """
    line = (
        rewritten(
            line, lambda one: rebuilt(one, lambda old, new: without_call(new) if old in parts_written(one) else new)
        )
        or line
    )

    def change(node: ast.stmt) -> ast.stmt | None:
        match node:
            case ast.AugAssign(ast.Name(name) as target, op, value):
                return ast.Assign([target], ast.BinOp(ast.Name(name), op, value))
            case ast.Expr(ast.Call(function, arguments) as call):
                owner, twins = function, dict[ast.AST, ast.Attribute]()
                while isinstance(owner, ast.Attribute):  # of y.mul_(a).add_(b) both
                    twins[owner] = ast.Attribute(owner.value, owner.attr.rpartition("_")[0])
                    owner = getattr(owner.value, "func", owner.value)
                has_twins = all(forms_of(one) and one.attr != "bernoulli" for one in twins.values())  # of no slope by p
                if twins and has_twins and isinstance(owner, ast.Name):
                    new = rebuilt(
                        call,
                        lambda old, new: (
                            ast.Attribute(new.value, twins[old].attr)
                            if old in twins and isinstance(new, ast.Attribute)
                            else new
                        ),
                    )
                    return ast.Assign([arguments[0] if owner.id in MODULES and arguments else owner], new)
        return None

    return rewritten(line, change) or next(
        (cloned(name, one) for one in statements(line) if (name := written_in(one))), ""
    )


def cloned(name: str, write: ast.stmt) -> str:
    """Return a write into a copy of a variable; what reads that there may be saved for backward: it reads another."""

    def change(old: ast.AST, new: ast.expr) -> ast.expr:
        is_read = isinstance(old, ast.Name | ast.Attribute) and old not in parts_written(write)
        return ast.Call(ast.Attribute(new, "clone"), [], []) if is_read and ast.unparse(old) == name else new

    return f"{name} = {name}.clone(); {ast.unparse(rebuilt(write, change))}"


def written_in(statement: ast.stmt) -> str:
    """Return the variable that a statement writes a part of, or writes by a method; "" for none.

    >>> [written_in(statements(one)[0]) for one in ("self.h.data[0] = 1", "x.t().mul_(2)", "nn.init.zeros_(y)", "f(y)")]
    ['self.h', 'x', 'y', '']
    """
    return base_of(place_written(statement) or ast.Constant(None))


def place_written(statement: ast.stmt) -> ast.expr | None:
    """Return the expression that a statement writes a part of, or writes by a method; None for no such write."""
    match statement:
        case ast.Assign([ast.Subscript() as part, *_]) | ast.AugAssign(part):
            return part
        case ast.Expr(ast.Call(ast.Attribute(owner), arguments) as call) if last_name(call)[-1:] == "_":
            return arguments[0] if arguments and base_of(owner).partition(".")[0] in MODULES else owner
    return None


def parts_written(statement: ast.stmt) -> set[ast.AST]:
    """Return the parts of the expression that a statement writes."""
    return {*ast.walk(place_written(statement) or ast.Pass())}


def base_of(part: ast.expr) -> str:
    """Return the variable, or the attribute, that an expression takes items or views of; "" for none."""
    while not isinstance(part, ast.Name) and (not isinstance(part, ast.Attribute) or part.attr in VIEWS):
        if not isinstance(part, ast.Attribute | ast.Subscript | ast.Call):
            return ""
        part = getattr(part.func if isinstance(part, ast.Call) else part, "value", ast.Constant(None))
    return ast.unparse(part)


# ---------------------------------------------------------------- statements without cuts
def without_cuts(
    statement: ast.stmt, is_inside: Test, *, is_list: bool = False, is_nested: bool = False
) -> tuple[str, str]:
    """Return a statement in which parts of it stay within the graph.

    Args:
        statement: as it is, which is left so.
        is_inside: whether a node of it is such a part, or a call that cuts one off.
        is_list: whether a name among the parts is that of a list of tensors.
        is_nested: whether the numbers of each tensor were a list of their own.

    Returns:
        "" for a statement that is well as it is, and IDLE for one that would assign what is there already; and what no
        gradient goes through that such a part comes to, "" for nothing.
    """
    before, changed, taken = ast.unparse(statement), set[ast.AST](), set[ast.AST]()

    def change(old: ast.AST, new: ast.expr) -> ast.expr:
        is_taken = has(old, is_inside)
        better = without_call(new, is_list=is_list, is_nested=is_nested, taken=taken) if is_taken else new
        rest = getattr(new, "args", ()) if is_inside(old) else ()  # of a call that cannot be left out, as int(x)
        changed.update([better] if better is not new else rest)
        taken.update([better] if is_taken else ())
        return better

    whole = rebuilt(statement, change)
    ways = [obstacle(whole, {one}.__contains__) for one in ast.walk(whole) if is_inside(one)]  # one has to be free
    if changed and any(calls_of(whole, "numpy", "array", "asarray")):  # of others, which no tensor goes together with
        ways.append("np.array()")
    if it := obstacle(whole, changed.__contains__) or next(
        (one for one in ways if one.startswith(NUMPY_CALLS)), min(ways, default="")
    ):
        return "", it
    after = ast.unparse(ast.fix_missing_locations(whole))
    target, _, value = after.partition(" = ")
    is_idle = target in (value, value[1:-1]) or (isinstance(statement, ast.Expr) and "(" not in after)
    is_shown = after != before and after.count("\n") < LONGEST
    return IDLE if is_idle else after if is_shown else "", ""


def without_call(
    new: ast.expr, *, is_list: bool = False, is_nested: bool = False, taken: Collection[ast.AST] = ()
) -> ast.expr:
    """Return an expression without ``.detach()``, ``float()``, ``torch.tensor()`` and their kin.

    Args:
        new: the expression, whose parts have been rid of them already.
        is_list: whether a name in it is that of a list of tensors.
        is_nested: as for :func:`without_cuts`.
        taken: its parts that have a tensor in them: other elements of a list are numbers.
    """
    match new:
        case ast.Attribute(value, "data", context) if isinstance(context, ast.Load) or isinstance(value, ast.Name):
            return value
        case ast.Call(ast.Attribute(owner, name), []) if name in (
            "detach",
            "detach_",
            "item",
            "tolist",
            "numpy",
            "data",
        ):
            return owner
        case ast.Call(ast.Attribute(ast.Name("math"), name), arguments, words) if name in MATH:
            return ast.Call(ast.Attribute(ast.Name("torch"), name), arguments, words)
        case ast.Call(ast.Attribute(owner, name), [first, *_]) if name in FROM_NUMBERS:
            is_many = isinstance(first, ast.List | ast.ListComp) or (is_list and isinstance(first, ast.Name))
            return stack_of(owner, first, taken, "stack" if is_nested else "hstack") if is_many else first
        case ast.Call(function, [first, *_]) if (
            last_name(function) in ("float", "Parameter", "Variable") or ast.unparse(function) == "torch.detach"
        ):  # which makes a number, or a leaf, of what it is given
            return first
    return new


def stack_of(torch: ast.expr, parts: ast.expr, taken: Collection[ast.AST], function: str = "hstack") -> ast.expr:
    """Return what makes a tensor of a list of tensors, and of numbers that no tensor is behind.

    Each may be of shape () or (1), of which a number was made alike. In a list of lists it may have had another shape.
    """
    match parts:
        case ast.ListComp(ast.ListComp(inner, inner_loops), loops):
            squeezed = ast.Call(ast.Attribute(inner, "squeeze"), [], [])
            parts, function = ast.ListComp(stack_of(torch, ast.ListComp(squeezed, inner_loops), taken), loops), "stack"
        case ast.List(elements):
            tensors = [one for one in elements if one in taken] or [
                one for one in elements if any(isinstance(part, ast.Name) for part in ast.walk(one))
            ]
            parts = ast.List(
                [one if one in tensors else ast.Call(ast.Attribute(torch, "tensor"), [one], []) for one in elements]
            )
    return ast.Call(ast.Attribute(torch, function), [parts], [])
