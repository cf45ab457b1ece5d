"""Random statements for the programs that ``torch_parity.py`` runs on both engines."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch_parity import Program

FLOATS = ("torch.float32", "torch.float64")
INTEGERS = ("torch.int64", "torch.int32", "torch.uint8", "torch.int16", "torch.int8")

UNARY = ("neg", "exp", "log", "log2", "log10", "log1p", "expm1", "sqrt", "rsqrt", "sin", "cos", "tan", "tanh", "sigmoid",
         "relu", "abs", "sign", "sgn", "reciprocal", "square", "isnan", "isinf", "isfinite", "logical_not",
         "clone")  # fmt: skip
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
    name = p.one_of(
        "sum", "mean", "max", "min", "argmax", "argmin", "any", "all", "softmax", "log_softmax", "sum", "mean"
    )
    if name in ("softmax", "log_softmax"):
        x = x if p.theirs[x].numel() else p.a_float()  # without elements PyTorch does not miss a kernel for integers
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
        p.new(
            f"{x}.{name}({dims}{keep})"
            if p.chance(0.5)
            else f"torch.{name}({x}, dim={dims}{keep.replace(', True', ', keepdim=True') if keep == ', True' else keep})"
        )


def shape(p: Program) -> None:  # noqa: C901, PLR0912 - a list of statements
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
        full = [b for b in bigger if b] + [
            (p.one_of(2, 3, -1) if s == 1 else s if p.chance(0.8) else p.one_of(-1, s + 1)) for s in size
        ]
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
        p.new(
            f"{x}.to({p.one_of(*FLOATS, *INTEGERS, 'torch.bool')})"
            if p.chance(0.6)
            else f"{x}.{p.one_of('float', 'double', 'long', 'int', 'bool')}()"
        )


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
            size = len(p.theirs[f"p{p.count}"])
            if size:
                p.new(f"p{p.count}[{p.random.randrange(size)}]")


def product(p: Program) -> None:
    matrix = p.one_of((2, 3), (3, 2), (3,), (2,), (2, 2, 3), (1, 3, 2), (3, 3))
    x = p.a_tensor(lambda t: t.dtype.is_floating_point and t.dim() > 0)
    y = (
        p.a_tensor(lambda t: t.dtype.is_floating_point and t.dim() > 0)
        if p.chance(0.5)
        else p.leaf(matrix, p.one_of(*FLOATS))
    )
    p.new(
        p.one_of(
            f"{x} @ {y}",
            f"torch.matmul({x}, {y})",
            f"{x}.{p.one_of('mm', 'mv', 'dot', 'bmm')}({y})",
            f"torch.outer({x}, {y})",
        )
    )


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
        p.do(
            f"with torch.no_grad():\n    n{p.count} = "
            + str(p.one_of(f"{x} * 2", f"{x}[0]", f"{x}.view(-1)", f"{x} + {y}", f"{x}.sum()", f"{x}.t()"))
        )
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
        p.do(
            "v = " + str(p.one_of(*(f"{call}({x})" for call in ("float", "bool", "int", "len", "str"))))
            if p.chance(0.5)
            else f"v = {x}.{p.one_of('item()', 'tolist()', 'numel()', 'dtype.itemsize')}"
        )


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
        if (
            p.do(f"{name} = torch.autograd.grad({x}.sum(), [{y}]{create}{unused})[0]")
            and p.theirs[name] is not None
            and p.chance(0.6)
        ):
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
