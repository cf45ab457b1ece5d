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
from parity_autograd import TOPICS as AUTOGRAD
from parity_statements import FLOATS, INTEGERS, TOPICS as COMPUTING, backward

from gviz.numbers.words import WARNED

TOPICS = COMPUTING | AUTOGRAD
TOLERANCE = {"float32": (5e-5, 5e-6), "float64": (1e-9, 1e-9)}
SHAPES: list[tuple[int, ...]] = [
    (),
    (1,),
    (2,),
    (3,),
    (2, 3),
    (3, 2),
    (1, 3),
    (2, 1),
    (3, 3),
    (0,),
    (0, 3),
    (2, 1, 3),
    (2, 2, 3),
]

TROUBLES = "ZeroTensor", "INTERNAL ASSERT", "refer to a single memory"
"""PyTorch's own, of which it is not asked more."""
NO_KERNEL = (
    "PyTorch: NotImplementedError\n  gviz:    runs", "PyTorch: RuntimeError: Boolean inputs not supported for relu",
    "(): does not support bool input",
)  # fmt: skip
"""Operations on booleans and small integers, for which PyTorch has nothing compiled: gviz computes them."""


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
        self.random = random.Random(seed)  # noqa: S311 - programs, no secrets
        self.lines: list[str] = []
        self.theirs: dict[str, Any] = {"torch": torch, "np": np, "math": math, "log": []}
        self.ours: dict[str, Any] = {"torch": engine, "np": np, "math": math, "log": []}
        if hasattr(torch, "set_warn_always"):
            torch.set_warn_always(True)
        self.torch = torch
        self.count = 0
        self.topic = ""

    # ------------------------------------------------------------------ running
    def do(self, line: str) -> bool:
        """Run a statement on both, compare what came of it; whether it succeeded (on both)."""
        self.lines.append(line)
        outcomes, warned = [], []
        for space in (self.theirs, self.ours):
            WARNED.clear()
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    exec(compile(line, "<program>", "exec"), space)  # noqa: S102 - the statements are made here
                    outcomes.append("")
                except RecursionError:
                    raise
                except Exception as error:  # noqa: BLE001 - whatever it is, the other engine has to raise the same
                    kind, text = type(error).__name__, plain_text(str(error))
                    outcomes.append(
                        kind if self.topic == "wrong" or kind == "NotImplementedError" else f"{kind}: {text}"
                    )
            warned.append(
                [f"{one.category.__name__}: {plain_text(str(one.message))}" for one in caught if from_torch(one)]
            )
        if outcomes[0] != outcomes[1]:
            raise Difference(f"PyTorch: {outcomes[0] or 'runs'}\n  gviz:    {outcomes[1] or 'runs'}")
        if warned[0] != warned[1]:
            raise Difference(f"PyTorch warns: {warned[0]}\n  gviz warns:    {warned[1]}")
        self.compare()
        return not outcomes[0]

    def new(self, expression: str) -> str | None:
        """Assign an expression to a fresh name; the name, None if it raised or is not a tensor."""
        self.count += 1
        name = f"t{self.count}"
        if not self.do(f"{name} = {expression}"):
            return None
        return name if isinstance(self.theirs[name], self.torch.Tensor) else None

    def compare(self) -> None:
        """All names, in both spaces; those of hooks, Functions and modules stand for nothing to compare.

        Raises:
            Difference: they are not the same.
        """
        for name, theirs in self.theirs.items():
            if name in ("torch", "np", "math", "__builtins__", "__warningregistry__"):
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

    def check(self, fact: str, theirs: Any, ours: Any, equal: bool) -> None:
        """Raise a difference unless they are equal."""
        if not equal:
            raise Difference(f"{fact}: PyTorch {theirs}, gviz {ours}")

    def same_tensor(self, name: str, theirs: Any, ours: Any) -> None:
        """Two tensors: values, flags, and their graphs."""
        for fact in FACTS if not name.startswith("g") else FACTS[:5]:
            one, other = (
                (strides(t) for t in (theirs, ours)) if fact == "stride()" else (read(fact, t) for t in (theirs, ours))
            )
            if fact == "_version" and "SqueezeBackward4" in str(list(graph(theirs)) if has_node(theirs) else ""):
                continue  # PyTorch squeezes its own intermediate result in place
            self.check(f"{name}.{fact}", one, other, one == other)
        rtol, atol = (
            TOLERANCE["float32" if self.is_mixed() else "float64"] if theirs.dtype.is_floating_point else (0, 0)
        )
        self.values(name, theirs, ours, rtol, atol)
        if read("is_leaf", theirs) == "True" or theirs.retains_grad:
            one, other = theirs.grad, ours.grad
            if (one is None) != (other is None):
                raise Difference(f"{name}.grad: PyTorch {one}, gviz {other}")
            if one is not None:
                for fact in ("shape", "dtype", "requires_grad"):
                    self.check(
                        f"{name}.grad.{fact}", read(fact, one), read(fact, other), read(fact, one) == read(fact, other)
                    )
                self.values(f"{name}.grad", one, other, rtol * 5, atol * 5)
        if has_node(theirs):
            graphs = list(graph(theirs)), list(graph(ours))
            self.check(f"graph of {name}", *graphs, graphs[0] == graphs[1])

    def is_mixed(self) -> bool:
        """Return whether something was computed in float32."""
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
        """Return a function that makes one element."""
        if dtype == "torch.bool":
            return lambda: self.chance(0.5)
        if dtype in FLOATS:
            return lambda: self.one_of(0.0, 1.0, -1.0, 0.5, 2.0, round(self.random.uniform(-3, 3), 2),
                                       round(self.random.uniform(-3, 3), 2), round(self.random.uniform(-3, 3), 2))  # fmt: skip
        if dtype == "torch.uint8":
            return lambda: self.random.randrange(5)
        return lambda: self.random.randrange(-3, 4)


FACTS = (
    "shape",
    "dtype",
    "requires_grad",
    "is_leaf",
    "retains_grad",
    "_version",
    "label",
    "output_nr",
    "stride()",
    "_is_view()",
)


def plain_text(text: str) -> str:
    """A message without what differs from run to run: addresses, and where PyTorch's own code lies."""
    text = re.sub(r" \(Triggered internally at .*", "", text, flags=re.DOTALL)
    text = re.sub(r"(?s)(Traceback of forward call that caused the error:).*", r"\1", text)
    return re.sub(r"0x[0-9a-f]+", "0x", text)


def from_torch(warning: Any) -> bool:
    """Return whether a warning is the engine's; numpy's own are silenced by a filter that recording removes."""
    return warning.category is not RuntimeWarning


def read(fact: str, tensor: Any) -> str:
    """A fact about a tensor, as text; or why it cannot be had."""
    try:
        return read_it(fact, tensor)
    except RuntimeError as error:
        return str(error)


def read_it(fact: str, tensor: Any) -> str:
    """A fact about a tensor, as text."""
    if fact == "label":
        return type(tensor.grad_fn).__name__
    value = getattr(tensor, fact.removesuffix("()"))
    return str(tuple(value) if fact == "shape" else value() if fact.endswith("()") else value)


def has_node(tensor: Any) -> bool:
    """Return whether an operation made it, as far as one can know."""
    try:
        return tensor.grad_fn is not None
    except RuntimeError:
        return False


def strides(tensor: Any) -> str:
    """The strides that matter: of a view, along dimensions with several elements."""
    pairs = zip(tensor.stride(), tensor.shape, strict=True)
    return str([stride for stride, size in pairs if size > 1] if tensor.numel() and tensor._is_view() else [])


def close(one: Any, other: Any, rtol: float, atol: float) -> bool:
    """Return whether numbers agree; nan equals nan."""
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
        if any(text in str(difference) for text in (*TROUBLES, *NO_KERNEL)):
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
                sys.stdout.write(
                    f"--- seed {seed} ({program.topic})\n  " + "\n  ".join(program.lines) + f"\n  # {text}\n"
                )
    sys.stdout.write(f"{failed} of {given.count} programs differ ({len(seen)} kinds), {statements} statements agree\n")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
