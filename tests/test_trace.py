"""Lines: where each operation was written, on gviz's engine and on the real PyTorch, and what cut a tensor off the graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import gviz
from gviz import Graph, RenderOptions, SourceOptions, engine as torch
from gviz.graphs import LOST, Place
from gviz.pictures.options import VIEWS
from gviz.pictures.table import note_of
from gviz.render import render
from gviz.trace import Trace
from gviz.trace.records import record_of

ENGINES = ["gviz", pytest.param("torch", marks=pytest.mark.torch)]

PROGRAM = """\
import torch
import torch.nn as nn
from helper import doubled

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 1)

    def forward(self, x):
        h = torch.relu(self.fc(x))
        return h * 2

class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3

    @staticmethod
    def backward(ctx, grad):
        return grad

net = Net()
x = torch.ones(3, 2)
w = torch.tensor(
    1.5, requires_grad=True)
for i in range(2):
    w = torch.tanh(
        w * 2)
h = net(x)
d = h.detach()
with torch.no_grad():
    e = h * w
    f = e + 1
k = h > 0
n = torch.ones(2)
n += 1
t = d + n.sum()
c = Cube.apply(w)
y = doubled(h.sum()) * c
y += 3
z = h.clone()
z[0] = 0
loss = y + z.sum()
loss.backward()
"""

HELPER = """\
def doubled(x):
    return x + x
"""


def graph_of(folder: Path, program: str, **options: Any) -> Graph:
    if options.get("engine") == "torch":
        pytest.importorskip("torch")
    (folder / "helper.py").write_text(HELPER)
    (folder / "train.py").write_text(program)
    return gviz.read(folder / "train.py", SourceOptions(lines=True, **options)).graph


@pytest.mark.parametrize("engine", ENGINES)
def test_each_operation_knows_the_innermost_line_of_the_program(tmp_path: Path, engine: str) -> None:
    graph = graph_of(tmp_path, PROGRAM, engine=engine)
    places = {
        (node.label, node.place.line, Path(node.place.file).name, node.recorded.is_written)
        for node in graph.nodes
        if node.place
    }
    assert places == {
        ("AddBackward0", 45, "", False), ("AddBackward0", 42, "", True), ("SumBackward0", 45, "", False),
        ("CopySlices", 44, "", True), ("CloneBackward0", 43, "", False), ("MulBackward0", 41, "", False),
        ("SumBackward0", 41, "", False), ("AddBackward0", 2, "helper.py", False), ("CubeBackward", 40, "", False),
        ("TanhBackward0", 29, "", False), ("MulBackward0", 30, "", False), ("MulBackward0", 12, "", False),
        ("ReluBackward0", 11, "", False), ("AddmmBackward0", 11, "", False), ("TBackward0", 11, "", False),
    }  # fmt: skip
    runs = [node.run for node in graph.nodes if node.label == "TanhBackward0"]
    assert len(set(runs)) == 2, "the two runs of the loop are told apart"
    assert (graph.code, graph.backward) == (PROGRAM, Place(46))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_tensor_outside_knows_what_cut_it_off(tmp_path: Path, engine: str) -> None:
    rows = {row.name: row for row in graph_of(tmp_path, PROGRAM, engine=engine).tensors}
    lines = {name: row.place.line for name, row in rows.items() if row.place}
    assert lines == {
        "net.fc.weight": 24, "net.fc.bias": 24, "x": 25, "w": 29, "h": 12, "d": 32, "e": 34, "f": 35, "k": 36, "n": 37, "t": 39,
        "c": 40, "y": 42, "z": 44, "loss": 45,
        "w (1st)": 26,
    }  # fmt: skip
    assert rows["h"].leaves == ("net.fc.weight", "net.fc.bias")
    assert rows["w"].leaves == rows["c"].leaves == ("w (1st)",)
    broken = {name: row.broken for name, row in rows.items() if row.broken}
    assert {name: (one.reason, one.call, str(one.place), one.source) for name, one in broken.items()} == {
        "d": ("detached", "detach", "line 32", "h"),
        "t": ("detached", "detach", "line 32", "h"),
        "e": ("no_grad", "mul", "line 34", "h"),
        "f": ("no_grad", "mul", "line 34", "h"),
        "k": ("no derivative", "gt", "line 36", "h"),
    }


def test_an_expression_knows_the_columns() -> None:
    graph = gviz.read("b = w + 1\n  y = (x + w)*b", SourceOptions(lines=True)).graph
    assert {(node.label, node.place.line, node.place.column) for node in graph.nodes if node.place} == {
        ("AddBackward0", 1, 5), ("AddBackward0", 2, 8), ("MulBackward0", 2, 7),
    }  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
def test_costs_are_the_bytes_kept_before_backward_frees_them_and_the_time(tmp_path: Path, engine: str) -> None:
    program = "import torch\nw = torch.ones(5, requires_grad=True)\nh = w.exp()\ny = (h * w).sum()\ny.backward()\n"
    graph = graph_of(tmp_path, program, engine=engine, costs=True)
    nodes = {node.label: node.recorded for node in graph.nodes if node.place}
    assert {label: node.kept for label, node in nodes.items()} == {
        "ExpBackward0": 20,
        "MulBackward0": 20,  # beside what exp has saved before
        "SumBackward0": 0,
    }
    assert all(node.seconds and 0 < node.seconds < 1 for node in nodes.values())


def test_nothing_of_it_is_there_unless_it_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "y.py").write_text("import torch\nw = torch.ones(2, requires_grad=True)\ny = (w * w.detach()).sum()\n")
    graph = gviz.read(tmp_path / "y.py", SourceOptions()).graph
    assert "line" not in graph.to_json()
    assert not any(row.broken for row in graph.tensors)


def test_a_saved_graph_keeps_lines(tmp_path: Path) -> None:
    graph = graph_of(tmp_path, PROGRAM, costs=True)
    assert Graph.from_json(graph.to_json()) == graph


def test_the_engine_is_as_before_when_a_trace_is_left() -> None:
    before = [
        (owner, dict(vars(owner))) for owner in (torch.Tensor, torch, torch.nn.functional, torch.autograd.Function)
    ]
    with Trace(torch, lambda _: False).listening():
        assert vars(torch.Tensor)["__mul__"] is not before[0][1]["__mul__"]
    for owner, names in before:
        assert {name: value for name, value in vars(owner).items() if name in names} == names


def test_a_trace_keeps_no_tensor_alive() -> None:
    trace = Trace(torch, lambda file: file == __file__)
    with trace.listening():
        for _ in range(100):
            w = torch.ones(2, requires_grad=True)
            _ = (w.detach() + 1, w * 2)
    assert len(trace.outside.records) <= 4


TAKEN = """\
import torch
none, zeroed, given, filled, layer, read, printed, stepped, kept, early = (
    torch.ones(2, requires_grad=True) for _ in range(10))
net = torch.nn.Linear(2, 2)
adam = torch.optim.Adam([layer, stepped])
adam.zero_grad()
net(early).sum().backward()
early.grad = None
loss = (net(none * zeroed * given * filled * layer * read * printed * stepped * kept)).sum()
loss.backward()
if none.grad is not None:
    none.grad = None
zeroed.grad.zero_()
given.grad = torch.zeros_like(given)
filled.grad[:] = 0
with torch.no_grad():
    read -= 0.1 * read.grad
    read.grad.data.zero_()
    stepped += 1
print(printed.grad)
printed.grad = None
adam.zero_grad(set_to_none=False)
net.zero_grad()
by_hand = torch.ones(2, requires_grad=True)
found = torch.autograd.grad((by_hand * 2).sum(), by_hand)
cured = loss.detach() + 1
cured.requires_grad_()
wrapped = torch.tensor(
    loss.item(), requires_grad=True)
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_a_leaf_knows_where_its_gradient_was_taken_away_and_whether_it_was_used_by_then(
    tmp_path: Path, engine: str
) -> None:
    rows = graph_of(tmp_path, TAKEN, engine=engine, diagnose=True).tensors
    told = {row.name: row.history for row in rows}
    assert {
        name: (str(one.grad_cleared), one.was_used, one.was_early) for name, one in told.items() if one.grad_cleared
    } == {
        "none": ("line 12", False, False), "zeroed": ("line 13", False, False), "given": ("line 14", False, False),
        "filled": ("line 15", False, False), "layer": ("line 22", False, False), "read": ("line 18", True, False),
        "printed": ("line 21", True, False), "stepped": ("line 22", True, False), "early": ("line 8", False, True),
        "net.weight": ("line 23", False, False), "net.bias": ("line 23", False, False),
    }  # fmt: skip
    assert {name: one.autograd_grad for name, one in told.items() if one.autograd_grad} == {"by_hand": Place(25)}
    assert {
        row.name: (str(row.history.requires_grad_set), str(row.broken.place))
        for row in rows
        if row.history.requires_grad_set and row.broken
    } == {
        "cured": ("line 27", "line 26"), "wrapped": ("line 28", "line 29"),
    }  # fmt: skip


def test_a_warning_of_the_engine_names_the_line_of_the_program_under_a_trace() -> None:
    h = torch.ones(2, requires_grad=True) * 2
    with (
        Trace(torch, lambda file: file == __file__, valued=True).listening(),
        pytest.warns(UserWarning, match="not a leaf") as told,
    ):
        assert h.grad is None
    assert told[0].filename == __file__


CUTS = """\
import math
import torch
import numpy as np
a, b, c, d, e, f, g, h, i, j, k, v = (torch.ones(2, requires_grad=True) for _ in range(12))
with torch.no_grad():
    both = a * b
    both = both + c
def cut(x, w):
    return (x * w).detach()
for w in (d, e):
    both = cut(both, w)
for n in range(300):
    both = cut(both, e)
both = cut(both, f)
buffer = torch.zeros(2)
with torch.no_grad():
    buffer += g
number = math.sin(h[0])
array = np.square((i * 2).detach().numpy())
unused = j.detach()
taken = k * 1
taken.detach_()
both = both + taken
loss = (torch.stack([both, buffer, torch.from_numpy(array)]) * v * number).sum()
loss.backward()
"""


@pytest.mark.filterwarnings("ignore:Converting a tensor")
@pytest.mark.parametrize("engine", ENGINES)
def test_a_cut_knows_all_leaves_behind_it_in_all_of_its_runs(tmp_path: Path, engine: str) -> None:
    cuts = graph_of(tmp_path, CUTS, engine=engine, diagnose=True).breaks
    assert [
        (str(cut.place), cut.reason, "".join(cut.leaves).removesuffix("w"), cut.is_used, cut.is_number) for cut in cuts
    ] == [
        ("line 6", "no_grad", "ab", True, False),
        ("line 7", "no_grad", "c", True, False),
        ("line 9", "detached", "def", True, False),
        ("line 17", "no_grad", "g", True, False),
        ("line 18", "detached", "h", False, True),
        ("line 19", "detached", "i", False, True),
        ("line 20", "detached", "j", False, False),
        ("line 22", "detached", "k", True, False),
    ]


def test_a_cut_in_a_long_loop_is_looked_at_for_a_while_only() -> None:
    w = torch.ones(2, requires_grad=True)
    long = w
    for _ in range(1000):
        long = long * 1.0
    trace = Trace(torch, lambda file: file == __file__)
    with trace.listening():
        for _ in range(10_000):
            long.detach()
    (cut,) = trace.outside.cuts.values()
    assert -2000 < cut.effort <= 0


def test_the_lines_of_a_long_program_are_looked_for_once() -> None:
    space = {"x": torch.ones(2, requires_grad=True)}
    program = "\n".join(f"v{line} = x * {line}" for line in range(1, 2001))
    trace = Trace(torch, lambda file: file == "long.py")
    with trace.listening():
        exec(compile(program, "long.py", "exec"), space)  # noqa: S102 - the program is this test's
    made = [record_of(space[f"v{line}"].grad_fn) for line in range(1, 2001)]
    assert [one.call.place.line for one in made if one] == list(range(1, 2001))
    assert trace.frames.lines.cache_info().misses == 1


WRITES = """\
import torch
w = torch.ones(4, requires_grad=True)
h = w * 2
h.mul_(3)
h[0] = 1.0
h[1:3].add_(5)
v = h[:2]
v.mul_(3)

k = torch.relu_(h)
s = torch.sigmoid(w)
s.mul_(2)
loss = k.sum() + s.sum()
loss.backward()
"""


@pytest.mark.filterwarnings("ignore::gviz.GvizWarning")
@pytest.mark.parametrize("engine", ENGINES)
def test_a_write_in_place_has_its_own_line_through_a_view_too_and_leaves_the_state_alone(
    tmp_path: Path, engine: str
) -> None:
    graph = graph_of(tmp_path, WRITES, engine=engine)
    assert {
        (node.place.line, node.label, node.recorded.is_written)
        for node in graph.nodes
        if node.place and node.place.line < 13
    } == {
        (3, "MulBackward0", False), (4, "MulBackward0", True), (5, "CopySlices", True), (6, "CopySlices", True),
        (8, "CopySlices", True), (10, "ReluBackward0", True), (11, "SigmoidBackward0", False), (12, "MulBackward0", True),
    }  # fmt: skip
    assert {row.name: row.place.line for row in graph.tensors if row.is_written and row.place} == {
        "h": 10,
        "k": 10,
        "s": 12,
    }


def test_pictures_and_the_table_say_where_a_tensor_was_written_in_place(tmp_path: Path) -> None:
    graph = graph_of(tmp_path, WRITES.replace("s.mul_(2)\n", "\n"), flow=True)
    for view in VIEWS:
        assert "written in place at line 6" in render(graph, "svg", RenderOptions(show=("line",), view=view))
    assert "written in place at line 8" in str(render(graph, "txt", RenderOptions(show=("line",))))
    assert [note_of(row) for row in graph.tensors] == [
        "", "written in place at line 10", "", "written in place at line 10; is h", "", "",
    ]  # fmt: skip


CHANGED = {
    "another of the same shape": (
        "y = torch.exp(w)\ny += 1\ncount = torch.zeros(3)\ncount += 1\nother = w * 2\nother += 1\ny.sum().backward()\n",
        ["line 4"],
    ),
    "no gradient": (
        "count = torch.ones(3)\ny = w * count\ncount += 1\nother = torch.exp(w)\nother += 1\ny.sum().backward()\n",
        ["line 5"],
    ),
    "through a view": ("h = torch.exp(w)\nv = h[:2]\n\nv.add_(1)\nh.sum().backward()\n", ["line 6"]),
    "the saver itself in place": ("k = w * 2\nk.exp_()\nk.add_(1)\nk.sum().backward()\n", ["line 5"]),
    "more than once": ("k = torch.exp(w)\nfor i in range(3):\n    k.add_(1)\nk.mul_(2)\nk.sum().backward()\n",
                       ["line 5", "line 6"]),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::gviz.GvizWarning")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", CHANGED)
def test_an_error_of_a_write_has_that_write(tmp_path: Path, case: str, engine: str) -> None:
    program, writes = CHANGED[case]
    graph = graph_of(tmp_path, f"import torch\nw = torch.ones(3, requires_grad=True)\n{program}", engine=engine)
    assert [str(place) for place, _ in graph.writes] == writes
    saver = 4 if "count = torch.ones" in program or "exp_" in program else 3
    assert Place(saver) in {node.place and node.place.without_run for node in graph.nodes if node.state in LOST}, (
        "a write does not hide what is lost"
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_the_step_of_an_optimizer_is_a_write(tmp_path: Path, engine: str) -> None:
    program = """\
import torch
net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 1))
opt = torch.optim.Adam(net.parameters())
one = net(torch.ones(1, 2)).sum()
one.backward(retain_graph=True)
opt.step()
one.backward()
"""
    with pytest.warns(gviz.GvizWarning, match="inplace"):
        assert {place for place, _ in graph_of(tmp_path, program, engine=engine).writes} == {Place(6)}


def test_a_graph_has_the_code_of_the_lines_of_other_files_that_it_names(tmp_path: Path) -> None:
    graph, helper = graph_of(tmp_path, PROGRAM), str(tmp_path / "helper.py")
    assert graph.codes == ((Place(2, helper), "return x + x"),)
    assert [str(place) for place, _ in graph.codes] == [f"{helper}:2"]
    assert graph.code_at(Place(2, helper)) == graph.code_at(Place(2, helper, column=5, run=7)) == "return x + x"
    assert graph.code_at(Place(3, helper)) == ""
    assert [graph.code_at(Place(line)) for line in (46, 47, 0)] == ["loss.backward()", "", ""]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_line_that_runs_once_is_one_run_whatever_it_calls(tmp_path: Path, engine: str) -> None:
    (tmp_path / "train.py").write_text(
        "import torch\n"
        "x = torch.ones(2, requires_grad=True)\n"
        "a, b = torch.meshgrid(x, x * 2, indexing='ij')\n"
        "y = ((x * 3).exp() * (x * 2).detach_() * a * b).sum()\n"
    )
    if engine == "torch":
        pytest.importorskip("torch")
    graph = gviz.read(tmp_path / "train.py", SourceOptions(lines=True, engine=engine)).graph
    runs = {(node.place.line, node.run) for node in graph.nodes if node.place is not None}
    assert sorted(line for line, _ in runs) == [3, 4]


@pytest.mark.parametrize("engine", ENGINES)
def test_tensors_in_a_list_know_the_line_that_made_them(tmp_path: Path, engine: str) -> None:
    code = """\
import torch
x = torch.ones(2, requires_grad=True)
a, b = torch.relu(x).unbind()
with torch.no_grad():
    c, d = (x * 3).split(1)
loss = a * b * c
loss.backward()
"""
    graph = graph_of(tmp_path, code, engine=engine, diagnose=True)
    assert {str(node.place) for node in graph.nodes if node.label == "UnbindBackward0"} == {"line 3"}
    assert [(str(cut.place), cut.reason) for cut in graph.breaks] == [("line 5", "no_grad")]
