"""Random small programs, run statement by statement on gviz's engine and on real PyTorch, and compared after each.

``python tests/torch_parity.py [--seed N] [--count N] [--topic NAME]`` prints the programs that differ, each with its seed.
A program is made from its seed while it runs on PyTorch, so that most of its statements are valid; errors are compared too.
"""

from __future__ import annotations

import argparse
import math
import random
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

TOLERANCE = {"float32": (5e-5, 5e-6), "float64": (1e-9, 1e-9)}
FLOATS = ("torch.float32", "torch.float64")
INTEGERS = ("torch.int64", "torch.int32", "torch.uint8", "torch.int16", "torch.int8")
SHAPES: list[tuple[int, ...]] = [(), (1,), (2,), (3,), (2, 3), (3, 2), (1, 3), (2, 1), (3, 3), (0,), (0, 3), (2, 1, 3), (2, 2, 3)]


class Difference(Exception):
    """Where the two engines disagree."""


class Program:
    """A program that grows, run on both engines at once.

    Args:
        torch: real PyTorch.
        engine: gviz's.
        seed: of all that is random in it.
    """

    def __init__(self, torch: Any, engine: Any, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.theirs: dict[str, Any] = {"torch": torch, "np": np, "math": math}
        self.ours: dict[str, Any] = {"torch": engine, "np": np, "math": math}
        self.torch = torch
        self.count = 0
        self.topic = ""

    # ------------------------------------------------------------------ running
    def do(self, line: str) -> bool:
        """Run a statement on both, compare what came of it; whether it succeeded (on both)."""
        self.lines.append(line)
        outcomes = []
        for space in (self.theirs, self.ours):
            try:
                exec(compile(line, "<program>", "exec"), space)  # noqa: S102 - the statements are made here
                outcomes.append("")
            except RecursionError:
                raise
            except Exception as error:  # noqa: BLE001 - whatever it is, the other engine has to raise the same
                outcomes.append(f"{type(error).__name__}: {error}")
        if outcomes[0] != outcomes[1]:
            raise Difference(f"PyTorch: {outcomes[0] or 'runs'}\n  gviz:    {outcomes[1] or 'runs'}")
        self.compare()
        return not outcomes[0]

    def new(self, expression: str) -> str | None:
        """Assign an expression to a fresh name; the name, None where it raised or is no tensor."""
        self.count += 1
        name = f"t{self.count}"
        if not self.do(f"{name} = {expression}"):
            return None
        return name if isinstance(self.theirs[name], self.torch.Tensor) else None

    def compare(self) -> None:
        """All names, in both spaces.

        Raises:
            Difference: they are not the same.
        """
        for name, theirs in self.theirs.items():
            if name in ("torch", "np", "math", "__builtins__"):
                continue
            if name not in self.ours:
                raise Difference(f"{name} is missing")
            self.same(name, theirs, self.ours[name])

    def same(self, name: str, theirs: Any, ours: Any) -> None:
        """Two values, tensors or what holds them."""
        if isinstance(theirs, self.torch.Tensor):
            self.same_tensor(name, theirs, ours)
        elif isinstance(theirs, list | tuple):
            if len(theirs) != len(ours):
                raise Difference(f"len({name}): PyTorch {len(theirs)}, gviz {len(ours)}")
            for i, (one, other) in enumerate(zip(theirs, ours, strict=True)):
                self.same(f"{name}[{i}]", one, other)
        elif isinstance(theirs, float):
            self.check(f"{name}", theirs, ours, close(theirs, ours, 1e-5, 1e-6))
        elif isinstance(theirs, int | str | bool | type(None)):
            self.check(name, theirs, ours, theirs == ours)

    def check(self, what: str, theirs: Any, ours: Any, equal: bool) -> None:
        """Raise a difference unless they are equal."""
        if not equal:
            raise Difference(f"{what}: PyTorch {theirs}, gviz {ours}")

    def same_tensor(self, name: str, theirs: Any, ours: Any) -> None:
        """Two tensors: values, flags, and their graphs."""
        for fact in FACTS if not name.startswith("g") else FACTS[:5]:
            one, other = (strides(t) for t in (theirs, ours)) if fact == "stride()" else (read(fact, t) for t in (theirs, ours))
            if fact == "_version" and "SqueezeBackward4" in str(list(graph(theirs)) if theirs.grad_fn is not None else ""):
                continue  # PyTorch squeezes its own intermediate result in place
            self.check(f"{name}.{fact}", one, other, one == other)
        rtol, atol = TOLERANCE["float32" if self.is_mixed() else "float64"] if theirs.dtype.is_floating_point else (0, 0)
        self.values(name, theirs, ours, rtol, atol)
        if theirs.is_leaf or theirs.retains_grad:
            one, other = theirs.grad, ours.grad
            if (one is None) != (other is None):
                raise Difference(f"{name}.grad: PyTorch {one}, gviz {other}")
            if one is not None:
                for fact in ("shape", "dtype", "requires_grad"):
                    self.check(f"{name}.grad.{fact}", read(fact, one), read(fact, other), read(fact, one) == read(fact, other))
                self.values(f"{name}.grad", one, other, rtol * 5, atol * 5)
        if theirs.grad_fn is not None:
            one, other = list(graph(theirs)), list(graph(ours))
            self.check(f"graph of {name}", one, other, one == other)

    def is_mixed(self) -> bool:
        """Whether something was computed in float32."""
        return any(isinstance(v, self.torch.Tensor) and v.dtype != self.torch.float64 for v in self.theirs.values())

    def values(self, name: str, theirs: Any, ours: Any, rtol: float, atol: float) -> None:
        """All elements."""
        one, other = theirs.detach().numpy(force=True), ours.detach().numpy()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.check(f"values of {name}", one.tolist(), other.tolist(), close(one, other, rtol, atol))

    # ------------------------------------------------------------------ choosing
    def one_of(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def tensors(self, keep: Callable[[Any], bool] = lambda _: True) -> list[str]:
        """Names of the tensors there are."""
        return [n for n, v in self.theirs.items() if isinstance(v, self.torch.Tensor) and n[0] != "g" and keep(v)]

    def a_tensor(self, keep: Callable[[Any], bool] = lambda _: True) -> str:
        """Some tensor, the later ones more often; made where there is none."""
        names = self.tensors(keep)
        if not names or self.chance(0.1):
            made = self.leaf()
            if keep(self.theirs[made]):
                return made
            names = self.tensors(keep)
            if not names:
                return made
        return names[max(self.random.randrange(len(names)), self.random.randrange(len(names)))]

    def a_float(self) -> str:
        return self.a_tensor(lambda t: t.dtype.is_floating_point)

    def dim(self, name: str) -> int:
        """A dimension of a tensor, sometimes a wrong one."""
        ndim = self.theirs[name].dim()
        if self.chance(0.05):
            return int(self.one_of(-ndim - 1, ndim, ndim + 1))
        return self.random.randrange(-ndim, ndim) if ndim else int(self.one_of(0, -1))

    def number(self) -> str:
        """A Python number, or one of numpy's."""
        return str(self.one_of("2", "3", "0", "1", "-1", "2.5", "0.5", "-0.5", "1.0", "0.0", "True", "np.float64(1.5)",
                               "np.float32(0.5)", "np.int64(2)"))  # fmt: skip

    def leaf(self, shape: tuple[int, ...] | None = None, dtype: str | None = None) -> str:
        """A new tensor of known values, ties and zeros among them."""
        if shape is None:
            shape = self.one_of(*SHAPES)
        if dtype is None:
            dtype = self.one_of(*FLOATS, *FLOATS, *FLOATS, "torch.float32", "torch.bool", *INTEGERS)
        grad = dtype in FLOATS and self.chance(0.75)
        self.count += 1
        name = f"x{self.count}"
        data = nested(shape, self.element(dtype))
        if 0 in shape:
            self.do(f"{name} = torch.zeros({shape}, dtype={dtype}, requires_grad={grad})")
        else:
            self.do(f"{name} = torch.tensor({data}, dtype={dtype}, requires_grad={grad})")
        return name

    def element(self, dtype: str) -> Callable[[], Any]:
        """What makes one element."""
        if dtype == "torch.bool":
            return lambda: self.chance(0.5)
        if dtype in FLOATS:
            return lambda: self.one_of(0.0, 1.0, -1.0, 0.5, 2.0, round(self.random.uniform(-3, 3), 2),
                                       round(self.random.uniform(-3, 3), 2), round(self.random.uniform(-3, 3), 2))  # fmt: skip
        if dtype == "torch.uint8":
            return lambda: self.random.randrange(5)
        return lambda: self.random.randrange(-3, 4)


FACTS = ("shape", "dtype", "requires_grad", "is_leaf", "retains_grad", "_version", "output_nr", "stride()", "_is_view()")


def read(fact: str, tensor: Any) -> str:
    """A fact about a tensor, as text."""
    found = getattr(tensor, fact.removesuffix("()"))
    return str(tuple(found) if fact == "shape" else found() if fact.endswith("()") else found)


def strides(tensor: Any) -> str:
    """The strides that matter: of a view, along dimensions with several elements."""
    pairs = zip(tensor.stride(), tensor.shape, strict=True)
    return str([stride for stride, size in pairs if size > 1] if tensor.numel() and tensor._is_view() else [])


def close(one: Any, other: Any, rtol: float, atol: float) -> bool:
    """Whether numbers agree; nan equals nan."""
    a, b = np.asarray(one), np.asarray(other)
    return a.shape == b.shape and bool(np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True))


def nested(shape: tuple[int, ...], make: Callable[[], Any]) -> Any:
    """Nested lists of that shape."""
    return make() if not shape else [nested(shape[1:], make) for _ in range(shape[0])]


def graph(tensor: Any) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """The backward graph, breadth first: each node's label and the numbers of the nodes at its slots."""
    order, numbers = [tensor.grad_fn], {id(tensor.grad_fn): 0}
    for node in order:
        slots: list[Any] = []
        for following, output in node.next_functions:
            if following is None:
                slots.append(None)
                continue
            if id(following) not in numbers:
                numbers[id(following)] = len(order)
                order.append(following)
            slots.append((numbers[id(following)], output))
        yield type(node).__name__, tuple(slots)


# Statements -------------------------------------------------------------------------------------------------------

UNARY = ("neg", "exp", "log", "log2", "log10", "log1p", "expm1", "sqrt", "rsqrt", "sin", "cos", "tan", "tanh", "sigmoid", "relu",
         "abs", "sign", "sgn", "reciprocal", "square", "isnan", "isinf", "isfinite", "logical_not", "clone")  # fmt: skip
BINARY = ("add", "sub", "mul", "div", "pow", "maximum", "minimum", "eq", "ne", "lt", "le", "gt", "ge", "logical_and",
          "logical_or", "logical_xor")  # fmt: skip
OPERATORS = ("+", "-", "*", "/", "**", "<", "<=", ">", ">=", "==", "!=")


def unary(p: Program) -> None:
    x, name = p.a_tensor(), p.one_of(*UNARY)
    p.new(f"torch.{name}({x})" if p.chance(0.5) else f"{x}.{name}()")


def binary(p: Program) -> None:
    x = p.a_tensor()
    kind = p.random.random()
    y = p.number() if kind < 0.35 else p.a_tensor() if kind < 0.9 else p.leaf()
    if p.chance(0.6):
        sign = p.one_of(*OPERATORS)
        p.new(f"{x} {sign} {y}" if p.chance(0.6) else f"{y} {sign} {x}")
    elif kind < 0.35:
        p.new(f"{x}.{p.one_of('add', 'sub', 'mul', 'div', 'pow', 'eq', 'lt', 'ge')}({y})")
    elif p.chance(0.15):
        p.new(f"torch.{p.one_of('add', 'sub')}({x}, {y}, alpha={p.one_of(2, 0.5, 1)})")
    else:
        name = p.one_of(*BINARY)
        p.new(f"torch.{name}({x}, {y})" if p.chance(0.5) else f"{x}.{name}({y})")


def choice(p: Program) -> None:
    x = p.a_tensor()
    kind = p.random.random()
    if kind < 0.3:
        low, high = p.one_of("None", "-0.5", "0", "0.5", "1"), p.one_of("None", "1.0", "0.5", "2")
        p.new(f"{x}.clamp({low}, {high})" if p.chance(0.5) else f"torch.clamp({x}, min={low}, max={high})")
    elif kind < 0.5:
        p.new(f"torch.clamp({x}, min={p.a_tensor()})" if p.chance(0.5) else f"{x}.clamp(max={p.a_tensor()})")
    elif kind < 0.8:
        y = p.number() if p.chance(0.3) else p.a_tensor()
        p.new(f"torch.where({x} > 0, {x}, {y})" if p.chance(0.5) else f"torch.where({p.a_tensor()} > 0, {y}, {x})")
    else:
        p.new(f"torch.{p.one_of('max', 'min', 'maximum', 'minimum')}({x}, {p.a_tensor()})")


def reduction(p: Program) -> None:
    x = p.a_tensor()
    name = p.one_of("sum", "mean", "max", "min", "argmax", "argmin", "any", "all", "softmax", "log_softmax", "sum", "mean")
    if name in ("softmax", "log_softmax"):
        p.new(f"torch.{name}({x}, dim={p.dim(x)})")
        return
    if p.chance(0.35):
        p.new(f"{x}.{name}()")
        return
    keep = p.one_of("", ", keepdim=True", ", True")
    dims = f"({p.dim(x)}, {p.dim(x)})" if name in ("sum", "mean") and p.chance(0.3) else p.dim(x)
    if name in ("max", "min"):
        p.new(f"{x}.{name}({dims}{keep})[{p.one_of(0, 0, 1)}]")
    else:
        p.new(f"{x}.{name}({dims}{keep})" if p.chance(0.5) else f"torch.{name}({x}, dim={dims}{keep.replace(', True', ', keepdim=True') if keep == ', True' else keep})")


def shape(p: Program) -> None:
    x = p.a_tensor()
    size = tuple(p.theirs[x].shape)
    kind = p.random.randrange(13)
    if kind <= 1:
        p.new(f"{x}.{p.one_of('reshape', 'view')}({new_size(p, size)})")
    elif kind == 2:
        p.new(f"{x}.transpose({p.dim(x)}, {p.dim(x)})")
    elif kind == 3:
        order = list(range(len(size)))
        p.random.shuffle(order)
        order = [o - len(size) if p.chance(0.3) else o for o in order]
        if p.chance(0.1) and order:
            order[0] = p.one_of(order[-1], 7)
        if p.chance(0.05):
            order = order[1:]
        p.new(f"{x}.permute({tuple(order)})")
    elif kind == 4:
        p.new(f"{x}.unsqueeze({p.random.randrange(-len(size) - 1, len(size) + 1) if p.chance(0.9) else len(size) + 1})")
    elif kind == 5:
        p.new(p.one_of(f"{x}.squeeze()", f"{x}.squeeze({p.dim(x)})", f"{x}.squeeze(({p.dim(x)}, {p.dim(x)}))"))
    elif kind == 6:
        bigger = [p.one_of(2, 1) if p.chance(0.3) else None] if p.chance(0.5) else []
        full = [b for b in bigger if b] + [(p.one_of(2, 3, -1) if s == 1 else s if p.chance(0.8) else p.one_of(-1, s + 1)) for s in size]
        if p.chance(0.05):
            full = full[1:]
        p.new(f"{x}.expand({tuple(full)})")
    elif kind == 7:
        p.new(p.one_of(f"{x}.t()", f"{x}.T", f"{x}.mT") if len(size) == 2 else f"{x}.t()")
    elif kind == 8:
        p.new(f"{x}.flatten()" if p.chance(0.5) else f"torch.flatten({x}, {p.dim(x)}, {p.dim(x)})")
    elif kind == 9:
        p.new(f"{x}.contiguous()")
    elif kind == 10:
        p.new(f"{x}.select({p.dim(x)}, {p.random.randrange(-2, 3)})")
    elif kind == 11:
        p.new(f"{x}.narrow({p.dim(x)}, {p.random.randrange(0, 2)}, {p.random.randrange(0, 3)})")
    else:
        p.new(f"{x}.to({p.one_of(*FLOATS, *INTEGERS, 'torch.bool')})" if p.chance(0.6) else f"{x}.{p.one_of('float', 'double', 'long', 'int', 'bool')}()")


def new_size(p: Program, size: tuple[int, ...]) -> str:
    """A shape for that many elements, mostly."""
    count = math.prod(size)
    options: list[Any] = [(count,), (-1,), (1, count), (count, 1), (-1, 1), tuple(reversed(size))]
    if count % 2 == 0:
        options += [(2, count // 2), (2, -1)]
    if count % 3 == 0:
        options += [(-1, 3), (3, count // 3)]
    if count == 1:
        options.append(())
    if p.chance(0.15):
        options = [(count + 1,), (-1, 4), (-1, -1), (-2, 3), (0, -1), (0,)]
    return str(p.one_of(*options))


def indexing(p: Program) -> None:
    x = p.a_tensor()
    p.new(f"{x}[{an_index(p, x)}]")


def an_index(p: Program, x: str) -> str:
    """A key for a tensor: ints, slices, None, ..., lists, masks and index tensors."""
    size = tuple(p.theirs[x].shape)
    parts: list[str] = []
    for length in size[: p.random.randrange(len(size) + 1)] if p.chance(0.9) else (*size, 2):
        kind = p.random.random()
        if kind < 0.3:
            parts.append(str(p.random.randrange(-length - (p.chance(0.1)), length + p.chance(0.1)) if length else 0))
        elif kind < 0.65:
            start, stop = p.one_of("", "", "1", "-1", "-2", "5"), p.one_of("", "", "2", "-1", "1", "0")
            step = p.one_of("", "", "", ":2", ":1", ":-1" if p.chance(0.2) else ":3")
            parts.append(f"{start}:{stop}{step}")
        elif kind < 0.8 and length:
            parts.append(str([p.random.randrange(-length, length) for _ in range(p.one_of(1, 2, 2))]))
        elif kind < 0.9 and length:
            parts.append(f"torch.tensor({[p.random.randrange(-length, length) for _ in range(p.one_of(1, 2, 2))]})")
        else:
            parts.append(f"torch.tensor({[p.chance(0.5) for _ in range(length)]}, dtype=torch.bool)")
    if p.chance(0.2):
        parts.insert(p.random.randrange(len(parts) + 1), "None")
    if p.chance(0.25):
        parts.insert(p.random.randrange(len(parts) + 1), "...")
    if not parts:
        parts = [p.one_of("...", "None", f"{x} > 0")]
    return ", ".join(parts)


def joining(p: Program) -> None:
    x = p.a_tensor()
    kind = p.random.randrange(6)
    same = p.tensors(lambda t: t.shape == p.theirs[x].shape)
    others = [x, p.one_of(*same), *([p.a_tensor()] if p.chance(0.15) else [])]
    if kind <= 1:
        p.new(f"torch.cat([{', '.join(others)}], dim={p.dim(x)})")
    elif kind == 2:
        p.new(f"torch.stack([{', '.join(others)}], dim={p.dim(x)})")
    else:
        p.count += 1
        call = p.one_of(f"unbind({p.dim(x)})", f"split({p.random.randrange(1, 3)}, {p.dim(x)})", f"chunk(2, {p.dim(x)})",
                        f"split([1, {p.random.randrange(0, 3)}], {p.dim(x)})")  # fmt: skip
        if p.do(f"p{p.count} = {x}.{call}"):
            found = len(p.theirs[f"p{p.count}"])
            if found:
                p.new(f"p{p.count}[{p.random.randrange(found)}]")


def product(p: Program) -> None:
    matrix = p.one_of((2, 3), (3, 2), (3,), (2,), (2, 2, 3), (1, 3, 2), (3, 3))
    x = p.a_tensor(lambda t: t.dtype.is_floating_point and t.dim() > 0)
    y = p.a_tensor(lambda t: t.dtype.is_floating_point and t.dim() > 0) if p.chance(0.5) else p.leaf(matrix, p.one_of(*FLOATS))
    p.new(p.one_of(f"{x} @ {y}", f"torch.matmul({x}, {y})", f"{x}.{p.one_of('mm', 'mv', 'dot', 'bmm')}({y})", f"torch.outer({x}, {y})"))


def in_place(p: Program) -> None:
    x = p.a_tensor()
    kind = p.random.random()
    y = p.number() if p.chance(0.5) else p.a_tensor()
    if kind < 0.35:
        p.do(f"{x}.{p.one_of('add_', 'mul_', 'sub_', 'div_')}({y})")
    elif kind < 0.5:
        p.do(f"{x} {p.one_of('+=', '-=', '*=', '/=')} {y}")
    elif kind < 0.65:
        p.do(f"{x}.{p.one_of('exp_', 'tanh_', 'sigmoid_', 'relu_', 'neg_', 'zero_', 'abs_', 'sqrt_', 'sin_')}()")
    elif kind < 0.7:
        p.do(f"{x}.fill_({p.number()})")
    elif kind < 0.75:
        p.do(f"{x}.copy_({p.a_tensor()})")
    else:
        p.do(f"{x}[{an_index(p, x)}] = {y}")


def state(p: Program) -> None:
    x = p.a_tensor()
    kind = p.random.randrange(11)
    if kind == 0:
        p.new(f"{x}.detach()")
    elif kind == 1:
        p.do(f"{x}.requires_grad_({p.one_of('', 'False')})")
    elif kind == 2:
        p.do(f"{x}.requires_grad = {p.one_of(True, False)}")
    elif kind == 3:
        p.do(f"{x}.retain_grad()")
    elif kind == 4:
        p.count += 1
        y = p.a_tensor()
        p.do(f"with torch.no_grad():\n    n{p.count} = {p.one_of(f'{x} * 2', f'{x}[0]', f'{x}.view(-1)', f'{x} + {y}', f'{x}.sum()', f'{x}.t()')}")
    elif kind == 5:
        p.do(f"with torch.no_grad():\n    {x}.{p.one_of('add_(1)', 'mul_(0.5)', 'zero_()')}")
    elif kind == 6:
        p.do(f"{x}.detach_()")
    elif kind == 7:
        p.do(f"{x}.register_hook(lambda g: g * 2)")
    elif kind == 8:
        p.do(f"{x}.grad = None")
    elif kind == 9:
        p.new(f"{x}.data")
    else:
        p.do(f"v = {p.one_of(f'{x}.item()', f'float({x})', f'bool({x})', f'int({x})', f'len({x})', f'str({x}.dtype)', f'{x}.tolist()', f'{x}.numel()')}")


def backward(p: Program) -> None:
    x = p.a_float()
    kind = p.random.random()
    retain = p.one_of("", "", ", retain_graph=True", ", retain_graph=True")
    if kind < 0.4:
        p.do(f"{x}.sum().backward({retain[2:]})")
    elif kind < 0.55:
        p.do(f"{x}.backward({retain[2:]})")
    elif kind < 0.65:
        p.do(f"{x}.backward(torch.ones_like({x}){retain})")
    elif kind < 0.85:
        y = p.a_float()
        create = p.one_of(", create_graph=True", retain, retain)
        unused = p.one_of("", ", allow_unused=True", ", allow_unused=True")
        p.count += 1
        name = f"g{p.count}"
        if p.do(f"{name} = torch.autograd.grad({x}.sum(), [{y}]{create}{unused})[0]") and p.theirs[name] is not None and p.chance(0.6):
            p.do(f"({name} * {name}).sum().backward({retain[2:]})")
    elif kind < 0.9:
        p.do(f"torch.autograd.backward([{x}, {p.a_float()}], [torch.ones_like({x}), None])")
    else:
        p.do(f"{x}.sum().backward(inputs=[{p.a_float()}]{retain})")


TOPICS: dict[str, tuple[Any, ...]] = {
    "pointwise": (unary, binary, binary, choice),
    "reduction": (reduction, reduction, unary, binary),
    "shape": (shape, shape, unary, binary),
    "indexing": (indexing, indexing, binary),
    "joining": (joining, joining, binary),
    "product": (product, product, shape, binary),
    "writing": (in_place, in_place, shape, indexing, unary, binary),
    "state": (state, state, unary, binary, shape),
    "all": (unary, binary, choice, reduction, shape, indexing, joining, product, in_place, state),
}


def run(torch: Any, engine: Any, seed: int, topic: str | None = None) -> Program:
    """The program of a seed, run to its end.

    Raises:
        Difference: the engines disagree; its ``program`` is the one that shows it.
    """
    program = Program(torch, engine, seed)
    program.topic = topic or program.one_of(*TOPICS)
    statements = TOPICS[program.topic]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(program.random.randrange(1, 3)):
                program.leaf(dtype=program.one_of(*FLOATS))
            for _ in range(program.random.randrange(2, 9)):
                program.one_of(*statements, *statements, backward)(program)
            backward(program)
    except Difference as difference:
        if "ZeroTensor" in str(difference) or "INTERNAL ASSERT" in str(difference):  # PyTorch's own troubles
            return program
        difference.add_note(f"seed {seed}, topic {program.topic}")
        difference.program = program  # type: ignore[attr-defined]
        raise
    return program


def main() -> None:
    """Run many programs and print those that differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--topic", choices=TOPICS)
    parser.add_argument("--show", type=int, default=10, help="how many differing programs are printed")
    parser.add_argument("--quick", action="store_true", help="stop at the first")
    given = parser.parse_args()
    import torch

    from gviz import engine

    seen: Counter[str] = Counter()
    failed = statements = 0
    for seed in range(given.seed, given.seed + given.count):
        try:
            statements += len(run(torch, engine, seed, given.topic).lines)
        except Difference as difference:
            failed += 1
            program = difference.program  # type: ignore[attr-defined]
            text = str(difference)
            kind = re.sub(r"\b[txgnp]\d+\b", "x", re.sub(r"-?\d+(\.\d+)?", "0", text))[:90]
            seen[kind] += 1
            if seen[kind] == 1 and len(seen) <= given.show:
                sys.stdout.write(f"--- seed {seed} ({program.topic})\n  " + "\n  ".join(program.lines) + f"\n  # {text}\n")
    sys.stdout.write(f"{failed} of {given.count} programs differ ({len(seen)} kinds), {statements} statements agree\n")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
