"""A graph of a million operations is built, run backward and freed, without recursion and in bounded memory."""

from __future__ import annotations

import sys

import pytest
from program import python

LENGTH = 1_000_000
DEEP = 100_000
"""Deep enough for a function that calls itself, or for objects that free each other within each other, to fail."""
MEMORY = 1 << 30
"""Bytes of address space that the program may use: about 700 per operation, and Python itself."""

HEAD = f"""
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({MEMORY}, {MEMORY}))
sys.setrecursionlimit(300)
from gviz import engine as torch
x = torch.tensor(1.0, requires_grad=True)
"""

PROGRAMS = {
    "adds": f"""
y = x
for _ in range({LENGTH}):
    y = y + x
y.backward()
assert x.grad.item() == {LENGTH + 1}, x.grad
del y
""",
    "products that are freed without backward": f"""
y = x
for _ in range({DEEP}):
    y = y * x
del y
""",
    "results that are saved": f"""
y = x
for _ in range({DEEP}):
    y = y.tanh()
y.backward(retain_graph=True)
y.backward()
del y
""",
    "views": f"""
y = x * 1
for _ in range({DEEP // 4}):
    y = y.unsqueeze(0).squeeze(0)
y.backward()
assert x.grad.item() == 1
del y
""",
    "in-place operations": f"""
y = x * 1
for _ in range({DEEP // 2}):
    y += x
y.backward()
assert x.grad.item() == {DEEP // 2 + 1}
del y
""",
    "a recorded backward": f"""
y = x
for _ in range({DEEP // 5}):
    y = y * x
(g,) = torch.autograd.grad(y, x, create_graph=True)
g.backward()
del y, g
""",
    "custom functions": f"""
class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a * 1
    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0]
y = x
for _ in range({DEEP // 2}):
    y = Same.apply(y)
y.backward()
assert x.grad.item() == 1
del y
""",
    "a wide fan": """
y = torch.stack([x * i for i in range(20000)]).sum()
y.backward()
del y
""",
}


@pytest.mark.skipif(sys.platform != "linux", reason="the limit on memory is Linux's")
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_deep_graph_is_built_run_and_freed(name: str) -> None:
    done = python(HEAD + PROGRAMS[name])
    assert (done.returncode, done.stderr) == (0, "")
