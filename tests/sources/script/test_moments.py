"""All numbers of a graph are of the moment when its backward ran; what the program did afterwards is said apart."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import pytest

import gviz
from gviz.causes.why import why, why_all
from gviz.formulas.expressions import words_of
from gviz.graphs import MADE_LATER, MIXED, NOW, Graph, Node, Place
from gviz.graphs.numbers import Numbers
from gviz.render import render

UPDATE = """\
import torch
w = torch.tensor(3.0, requires_grad=True)
x = torch.tensor(2.0)
L = (w * x - 1) ** 2
L.backward()
with torch.no_grad():
    w -= 0.01 * w.grad
w.grad = None
"""

TWO = """\
import torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
loss1 = (w ** 2).sum()
loss1.backward()
loss2 = (3 * w).sum()
loss2.backward()
with torch.no_grad():
    w *= 10
w.grad.zero_()
"""

TRAINING = """\
import torch
torch.manual_seed(0)
layer = torch.nn.Linear(40, 30)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
for step in range(3):
    optimizer.zero_grad()
    before = layer.weight.detach().clone()
    loss = layer(torch.ones(5, 40)).pow(2).mean()
    loss.backward()
    grad = layer.weight.grad.clone()
    optimizer.step()
"""

TURNS = """\
import torch
made = torch.nn.Linear(1, 1, bias=False)
w = torch.tensor(1.0, requires_grad=True)
made_steps, w_steps = torch.optim.SGD(made.parameters(), lr=1.0), torch.optim.SGD([w], lr=1.0)
torch.nn.init.constant_(made.weight, 2.0)
for step in range(2):
    fake = made(torch.ones(1, 1))
    first = (w * fake.detach()).sum()
    w_steps.zero_grad(); first.backward(); w_steps.step()
    second = (w.detach() * fake).sum()
    made_steps.zero_grad(); second.backward(); made_steps.step()
"""

ENGINES = [pytest.param("gviz"), pytest.param("torch", marks=pytest.mark.torch)]


def graph(tmp_path: Path, code: str, **options: Any) -> Graph:
    if options.get("engine") == "torch":
        pytest.importorskip("torch")
    (tmp_path / "net.py").write_text(code)
    return gviz.read(tmp_path / "net.py", gviz.SourceOptions(**options)).graph


def leaf(drawn: Graph, name: str) -> Node:
    return next(node for node in drawn.nodes if node.name == name and node.kind == "leaf")


def values(numbers: Numbers | None) -> Any:
    return None if numbers is None else numbers.nested()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("flow", [False, True])
def test_a_leaf_has_the_numbers_of_backward_and_says_what_became_of_them(
    tmp_path: Path, engine: str, flow: bool
) -> None:
    w = leaf(graph(tmp_path, UPDATE, flow=flow, engine=engine), "w")
    assert (values(w.numbers), values(w.grad.value)) == (3.0, 20.0)
    assert w.later is not None
    assert values(w.later.numbers) == pytest.approx(2.8)
    assert (w.later.is_cleared, w.later.cleared_at) == (True, None)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_line_that_clears_a_gradient_is_known_where_lines_are_traced(tmp_path: Path, engine: str) -> None:
    w = leaf(graph(tmp_path, UPDATE, diagnose=True, engine=engine), "w")
    assert w.later is not None
    assert w.later.cleared_at == Place(8)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("root", "grad", "before"), [("loss1", [2.0, 4.0], None), ("loss2", [5.0, 7.0], [2.0, 4.0])])
def test_each_root_has_what_its_own_pass_brought_and_what_was_there_before(
    tmp_path: Path, engine: str, root: str, grad: list[float], before: list[float] | None
) -> None:
    w = leaf(graph(tmp_path, TWO, roots=(root,), engine=engine), "w")
    assert (values(w.numbers), values(w.grad.value), values(w.grad.before)) == ([1.0, 2.0], grad, before)
    assert w.later is not None
    assert (values(w.later.numbers), values(w.later.grad)) == ([10.0, 20.0], [0.0, 0.0])


@pytest.mark.parametrize("engine", ENGINES)
def test_the_numbers_of_a_large_parameter_are_those_before_the_step(tmp_path: Path, engine: str) -> None:
    drawn = graph(tmp_path, TRAINING, engine=engine)
    weight = leaf(drawn, "layer.weight")
    rows = {row.name: row for row in drawn.tensors}
    assert weight.numbers == rows["before"].numbers
    assert weight.grad.value == rows["grad"].numbers
    assert weight.numbers is not None
    assert (weight.numbers.elements, weight.numbers.numel) == (None, 1200)
    assert rows["layer.weight"].numbers != weight.numbers
    moment = rows["layer.weight"].moment
    assert moment is not None
    assert moment.numbers == weight.numbers


@pytest.mark.parametrize("engine", ENGINES)
def test_the_table_of_an_earlier_root_is_of_its_moment_also_outside_of_its_graph(tmp_path: Path, engine: str) -> None:
    rows = {row.name: row for row in graph(tmp_path, TURNS, engine=engine, roots=("first",), lines=True).tensors}
    # made.weight is 2, less one step of w = -1; its gradient is of the round before
    numbers, grad, later = rows["made.weight"].at_backward()
    assert (values(numbers), values(rows["fake"].numbers)) == ([[3.0]], [[3.0]])
    assert (values(grad.before), values(grad.value)) == ([[-1.0]], [[-1.0]])
    assert later is not None
    assert (values(later.numbers), values(later.grad)) == ([[7.0]], [[-4.0]])
    remarks = {name: row.moment.remark for name, row in rows.items() if row.moment is not None}
    assert {name for name, remark in remarks.items() if remark == MADE_LATER} == {"second"}


def test_the_table_has_what_the_script_left(tmp_path: Path) -> None:
    rows = {row.name: row for row in graph(tmp_path, UPDATE).tensors}
    assert values(rows["w"].numbers) == pytest.approx(2.8)
    assert rows["w"].grad.value is None
    moment = rows["w"].moment
    assert moment is not None
    assert (values(moment.numbers), values(moment.grad.value)) == (3.0, 20.0)
    assert (rows["x"].moment, rows["L"].moment) == (None, None)


def test_no_tensor_lives_longer_for_being_noted(tmp_path: Path) -> None:
    code = (
        "import gc, weakref, torch\nw = torch.ones(3, requires_grad=True)\nlosses = []\n"
        "for step in range(5):\n    loss = (w * w).sum()\n    loss.backward()\n    losses.append(weakref.ref(loss))\n"
        "gc.collect()\nalive = torch.tensor(float(sum(one() is not None for one in losses)))\n"
    )
    rows = {row.name: row for row in graph(tmp_path, code).tensors}
    assert values(rows["alive"].numbers) == 1.0  # the last one, which has a name


def test_a_graph_of_tensors_that_were_written_after_backward_says_so() -> None:
    from gviz import engine as torch

    w = torch.tensor(3.0, requires_grad=True)
    loss = (w * w) ** 2
    loss.backward()
    assert "now" not in leaf(gviz.graph(loss, {"w": w}), "w").state
    with torch.no_grad():
        w -= 1
    assert leaf(gviz.graph(loss, {"w": w}), "w").state == NOW
    w.grad = None
    drawn = gviz.graph(loss, {"w": w})
    assert NOW in str(render(drawn, "txt"))


def test_a_saved_graph_says_of_a_cleared_gradient_what_the_script_does(tmp_path: Path) -> None:
    drawn = graph(tmp_path, UPDATE)
    cause = why(Graph.from_json(drawn.to_json()), "w")
    what = "w had its gradient until it was taken away; whether a step() had used it by then is not known"
    assert (cause.verdict, cause.what) == ("cleared", what)


@pytest.mark.torch
def test_a_sparse_gradient_has_its_numbers(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    code = (
        "import torch\ne = torch.nn.Embedding(5, 2, sparse=True)\n"
        "loss = e(torch.tensor([1, 1, 3])).sum()\nloss.backward()\n"
    )
    weight = leaf(graph(tmp_path, code, engine="torch"), "e.weight")
    assert values(weight.grad.value) == [[0.0, 0.0], [2.0, 2.0], [0.0, 0.0], [1.0, 1.0], [0.0, 0.0]]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("write", ["w.mul_(10)", "torch.mul(w, 10, out=w)", "torch.add(w, 1, out=w.detach())"])
def test_a_write_after_the_operations_is_not_in_their_numbers(tmp_path: Path, write: str, engine: str) -> None:
    code = (
        "import torch\nw = torch.tensor(3.0, requires_grad=True)\nx = torch.tensor(2.0)\nloss = w * x\n"
        f"with torch.no_grad():\n    {write}\nloss.backward()\n"
    )
    w = leaf(graph(tmp_path, code, engine=engine), "w")
    assert (values(w.numbers), values(w.grad.value)) == (3.0, 2.0)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_hook_on_a_node_is_told_by_its_line(tmp_path: Path, engine: str) -> None:
    code = (
        "import torch\nw = torch.tensor(3.0, requires_grad=True)\nx = torch.tensor(3.0, requires_grad=True)\n"
        "h = w * x\nh.grad_fn.register_hook(lambda given, _: tuple(one * 10 for one in given))\nk = h * 2\n"
        "k.grad_fn.register_prehook(lambda given: tuple(one * 10 for one in given))\ny = k * 3\ny.backward()\n"
    )
    drawn = graph(tmp_path, code, engine=engine, flow=True, lines=True)
    hooks = {node.name: [one.place for one in node.grad.hooks] for node in drawn.nodes if node.grad.hooks}
    assert hooks == {"h": [Place(5)], "k": [Place(7)]}


def test_a_reading_lets_go_of_the_tensors(tmp_path: Path) -> None:
    reading = gviz.read("y=x*w", x=2, w=3)
    kept = weakref.ref(reading)
    del reading
    gc.collect()
    assert kept() is None


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("end", "runs"), [("loss.backward()\n", 2), ("", 1)])
def test_what_a_script_computes_again_for_backward_is_not_run_for_gvizs_sake(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], end: str, runs: int, engine: str
) -> None:
    code = (
        "import torch\nfrom torch.utils.checkpoint import checkpoint\nlayer = torch.nn.Linear(2, 2)\n"
        "def f(x):\n    print('f runs')\n    return torch.tanh(layer(x))\n"
        f"loss = checkpoint(f, torch.ones(1, 2), use_reentrant=False).sum()\n{end}"
    )
    graph(tmp_path, code, engine=engine, flow=True, jacobians=True, lines=True, kept=True)
    assert capsys.readouterr().out.count("f runs") == runs


LENT = """\
import numpy as np
import torch
a = np.array([1.0, 2.0], dtype=np.float32)
x = torch.{}(a)
w = torch.tensor([1.0, 1.0], requires_grad=True)
b = x.numpy()
{}
"""

NUMPY_WRITES = {
    "before": ("a[0] = 5\nloss = (w * x).sum()\nloss.backward()", [5.0, 2.0], "", None),
    "between": ("loss = (w * x).sum()\na[0] = 10\nloss.backward()", None, MIXED, None),
    "between_by_another": ("loss = (w * x).sum()\nb[0] = 10\nloss.backward()", None, MIXED, None),
    "after": ("loss = (w * x).sum()\nloss.backward()\nb[0] = 20", [1.0, 2.0], "", [20.0, 2.0]),
    "told": ("loss = (w + x).sum()\nx += 1\nloss.backward()", [1.0, 2.0], "", [2.0, 3.0]),
    "each_time": (
        "for i in range(3):\n    a[0] = i\n    loss = (w * x).sum()\n    w.grad = None\n    loss.backward()",
        [2.0, 2.0],
        "",
        None,
    ),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", NUMPY_WRITES)
@pytest.mark.parametrize("maker", ["from_numpy", "as_tensor"])
def test_what_numpy_writes_into_the_memory_of_a_tensor_is_seen(
    tmp_path: Path, maker: str, case: str, engine: str
) -> None:
    lines, then, remark, now = NUMPY_WRITES[case]
    program = graph(tmp_path, LENT.format(maker, lines), lines=True, flow=True, engine=engine)
    x = next(row for row in program.tensors if row.name == "x")
    numbers, _, later = x.at_backward()
    assert (x.moment.remark if x.moment is not None else "") == remark
    assert (numbers.nested() if numbers.is_known else None) == then
    assert (later.numbers.nested() if later is not None and later.numbers is not None else None) == now or then is None


LIST = "xs = [torch.tensor(2.0), torch.tensor(3.0)]"
OBJECT = "class P:\n    def __init__(self):\n        self.a, self.b = torch.tensor(2.0), torch.tensor(3.0)\nxs = P()"
MOVES = {
    "items": (LIST, "xs[0]", "xs.pop(0)"),
    "attributes": (OBJECT, "xs.a", "xs.a, xs.b = xs.b, xs.a"),
    "set": (OBJECT, "xs.a", "now = xs.b\nsetattr(xs, 'b', xs.a)\nsetattr(xs, 'a', now)\ndel now"),
    "a function": (f"{LIST}\ndef turn(of):\n    of[0], of[1] = of[1], of[0]", "xs[0]", "turn(xs)"),
}
"""What a list or an object holds, how the program reaches it, and how that becomes another tensor."""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("move", MOVES)
def test_what_is_called_like_an_operand_after_a_swap_is_not_the_operand(tmp_path: Path, move: str, engine: str) -> None:
    made, name, line = MOVES[move]
    code = f"import torch\nw = torch.tensor(5.0, requires_grad=True)\n{made}\nh = w * {name}\n{line}\ny = h * {name}\n"
    drawn = graph(tmp_path, f"{code}y.backward()\n", engine=engine, flow=True, lines=True)
    flows = {edge.flow.symbol: values(edge.flow.local) for edge in drawn.edges if edge.flow.local is not None}
    assert (flows[name], sorted(flows.values())) == (3.0, [2.0, 3.0])


def test_an_expression_has_the_names_that_a_picture_gives_to_its_leaves(tmp_path: Path) -> None:
    made = "xs = [torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)]"
    code = f"import torch\n{made}\nh = xs[0] ** 2 * xs[1]\n(lambda of: of.reverse())(xs)\ny = h * 2\ny.backward()\n"
    drawn = graph(tmp_path, code)
    assert values(leaf(drawn, "xs[0]").numbers) == 3.0
    assert next(words for words in words_of(drawn).values() if words.result == "h").expression.endswith(" * xs[0]")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_row_whose_name_another_leaf_has_now_is_of_the_leaf_that_had_it_at_backward(
    tmp_path: Path, engine: str
) -> None:
    made = "a, b = (torch.tensor(one, requires_grad=True) for one in (2.0, 3.0))"
    code = f"import torch\n{made}\nc = a * b + a\nc.backward()\na, b = b, a\n"
    rows = {row.name: row for row in graph(tmp_path, code, engine=engine, lines=True).tensors}
    then, grad, later = rows["a"].at_backward()
    assert (values(then), values(grad.value)) == (2.0, 4.0)
    assert later is not None
    assert (values(later.numbers), values(later.grad)) == (3.0, 2.0)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_gradient_with_a_name_of_its_own_has_its_numbers_of_before_backward(tmp_path: Path, engine: str) -> None:
    code = (
        "import torch\nw = torch.tensor(3.0, requires_grad=True)\n(w * 2).backward()\ng = w.grad\n"
        "loss = w * 5\nw.grad.zero_()\nloss.backward()\n"
    )
    rows = {row.name: row for row in graph(tmp_path, code, engine=engine, lines=True).tensors}
    assert [values(one) for one in (rows["g"].at_backward()[0], rows["g"].numbers)] == [0.0, 5.0]


def test_a_leaf_whose_name_is_gone_is_listed_by_it(tmp_path: Path) -> None:
    code = "import torch\nw = torch.tensor(3.0, requires_grad=True)\nloss = w * 5\nloss.backward()\ndel w\n"
    assert [row.name for row in graph(tmp_path, code, lines=True).tensors] == ["w", "loss"]
    function = "import torch\ndef train():\n    b = torch.tensor(3.0, requires_grad=True)\n    (b * 5).backward()\n    return b + 1\n"
    assert [row.name for row in graph(tmp_path, f"{function}r = train()\n", lines=True).tensors] == ["b", "r"]


STEPS = {
    "between": "first.backward(retain_graph=True)\nwith torch.no_grad():\n    w -= w.grad\nsecond.backward()",
    "twice": "for _ in range(3):\n    second.backward(retain_graph=True)\n    with torch.no_grad():\n        w.add_(1)",
    "grad": "torch.autograd.grad(first, w, retain_graph=True)\nwith torch.no_grad():\n    w *= 2\nsecond.backward()",
}
"""Steps between the calls of backward on one graph."""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("steps", STEPS)
def test_a_leaf_that_a_step_writes_between_two_passes_has_the_numbers_that_its_operations_used(
    tmp_path: Path, steps: str, engine: str
) -> None:
    code = (
        "import torch\nw = torch.tensor(3.0, requires_grad=True)\nh = w + 1\nfirst = h.sum()\nsecond = h.abs()\n"
        f"{STEPS[steps]}\n"
    )
    drawn = graph(tmp_path, code, engine=engine)
    assert values(leaf(drawn, "w").numbers) == 3.0


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("line", "now"),
    [
        ("w = torch.tensor(7.0, requires_grad=True)", 7.0),
        ("w = w - w.grad", -2.0),
        ("w = (w - w.grad).detach().requires_grad_()", -2.0),
        ("w = w * 2", 6.0),
        ("w = w.detach() * 2", 6.0),
        ("(lambda: globals().update(w=torch.tensor(3.0, requires_grad=True)))()", None),
    ],
)
def test_a_row_whose_name_a_new_tensor_has_now_is_of_the_tensor_that_had_it_at_backward(
    tmp_path: Path, engine: str, line: str, now: float | None
) -> None:
    code = f"import torch\nw = torch.tensor(3.0, requires_grad=True)\nloss = w * 5\nloss.backward()\n{line}\n"
    row = {row.name: row for row in graph(tmp_path, code, engine=engine, lines=True).tensors}["w"]
    then, grad, later = row.at_backward()
    assert (row.as_it_was.is_leaf, values(then), values(grad.value), row.is_renamed) == (True, 3.0, 5.0, True)
    assert row.is_leaf == (line not in ("w = w - w.grad", "w = w * 2"))
    assert later is not None
    assert (later.numbers and values(later.numbers), later.is_cleared) == (now, False)
    assert row.place is not None
    assert row.place.line == 2


def test_a_parameter_whose_module_is_another_now_has_a_row_with_its_gradient(tmp_path: Path) -> None:
    code = "import torch\nnet = torch.nn.Linear(1, 1)\nnet(torch.ones(1)).backward()\nnet = torch.nn.Linear(1, 1)\n"
    rows = {row.name: row for row in graph(tmp_path, code, lines=True).tensors}
    assert [*rows] == ["net.weight", "net.bias"]
    assert [values(row.at_backward()[1].value) for row in rows.values()] == [[[1.0]], [1.0]]
    assert [row.place and row.place.line for row in rows.values()] == [2, 2]


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_made_after_backward_is_made_later_also_a_leaf(tmp_path: Path, engine: str) -> None:
    code = (
        "import torch\nw = torch.tensor(3.0, requires_grad=True)\nearly = torch.tensor([4.0])\nloss = w * 5\nloss.backward()\n"
        "late = torch.tensor(3.0, requires_grad=True)\nearly.requires_grad_()\nw = torch.tensor(1.0, requires_grad=True)\n"
        "y = w * 2\nzeros = torch.zeros(())\nzeros += 1\n"
    )
    rows = {row.name: row for row in graph(tmp_path, code, engine=engine, lines=True).tensors}
    later = {name for name, row in rows.items() if row.moment is not None and row.moment.remark == MADE_LATER}
    assert later == {"late", "y", "leaf of y", "zeros"}
    assert [values(one) for one in (rows["zeros"].at_backward()[0], rows["zeros"].numbers)] == [1.0, 1.0]


def test_a_leaf_has_the_name_of_the_picture_also_where_a_function_has_returned_it(tmp_path: Path) -> None:
    code = (
        "import torch\ndef train():\n    w = torch.tensor(3.0, requires_grad=True)\n    b = torch.tensor(1.0, requires_grad=True)\n"
        "    (w * 5 + b).backward()\n    return w\nresult = train()\n"
    )
    for options in ({"lines": True}, {"diagnose": True, "lines": True}):
        drawn = graph(tmp_path, code, **options)
        assert {node.name for node in drawn.nodes if node.kind == "leaf"} == {"w", "b"}
        assert {row.name: row.same_as for row in drawn.tensors} == {"w": "", "b": "", "result": "w"}


def test_a_result_whose_name_a_number_has_now_keeps_its_row(tmp_path: Path) -> None:
    code = (
        "import torch\nw = torch.tensor(3.0, requires_grad=True)\ndef train():\n    inner = w * 2\n    return inner\n"
        "pred = train()\nloss = pred * 2\nloss.backward()\nloss = loss.item()\npred = float(pred)\n"
    )
    rows = {row.name: row for row in graph(tmp_path, code, lines=True).tensors}
    assert {name: (row.grad_fn, values(row.numbers)) for name, row in rows.items()} == {
        "w": (None, 3.0),
        "pred": ("MulBackward0", 6.0),
        "loss": ("MulBackward0", 12.0),
    }
    assert [row.place and row.place.line for row in rows.values()] == [2, 4, 7]


def test_a_diagnosis_lists_the_data_of_the_graph_whose_name_a_result_has_now(tmp_path: Path) -> None:
    code = (
        "import torch\nx = torch.tensor([1.0, 2.0])\nw = torch.tensor(3.0, requires_grad=True)\n(w * x).sum().backward()\n"
        "x = w * x\n"
    )
    causes = {cause.name: cause for cause in why_all(graph(tmp_path, code, diagnose=True))}
    assert {name: cause.verdict for name, cause in causes.items()} == {"w": "ok", "x (at backward)": "frozen"}
    assert [place.line for place, _ in causes["x (at backward)"].lines] == [2]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_name_that_is_used_again_stands_with_the_tensor_that_had_it_in_the_graph_of_an_earlier_root(
    tmp_path: Path, engine: str
) -> None:
    code = (
        "import torch\nx = torch.tensor([1.0, 2.0], requires_grad=True)\ny = x * 2\ny.retain_grad()\nz = (y**2).sum()\n"
        "z.backward()\ny = x.exp()\nL = y.sum()\nL.backward()\n"
    )
    drawn = graph(tmp_path, code, engine=engine, roots=("z",), lines=True)
    assert [node.name for node in drawn.nodes if node.label == "MulBackward0"] == ["y"]
    row = {row.name: row for row in drawn.tensors}["y"]
    then, grad, later = row.at_backward()
    assert (values(then), values(grad.value), row.is_renamed) == ([2.0, 4.0], [4.0, 8.0], True)
    assert later is not None
    assert values(later.numbers) == pytest.approx([2.7183, 7.3891], rel=1e-4)
    assert (row.as_it_was.grad_fn, row.place and row.place.line) == ("MulBackward0", 3)


@pytest.mark.parametrize("engine", ENGINES)
def test_whether_a_gradient_looks_like_rounding_changes_neither_names_nor_values_of_results(
    tmp_path: Path, engine: str
) -> None:
    code = "import torch\nw = torch.tensor([{}], requires_grad=True)\nL = (w * 1).tanh().sum()\nL.backward()\n"
    plain, tiny = (graph(tmp_path, code.format(number), engine=engine) for number in (0.5, 6.0))
    assert 0 < values(leaf(tiny, "w").grad.value)[0] < 1e-4
    results = [
        [(node.name, node.numbers is not None and node.numbers.is_known) for node in one.nodes] for one in (plain, tiny)
    ]
    assert results[0] == results[1]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_layer_outside_of_the_graph_has_the_gradient_that_it_had_at_backward(tmp_path: Path, engine: str) -> None:
    code = (
        "import torch\na, b = torch.nn.Linear(1, 1), torch.nn.Linear(1, 1)\nx = torch.ones(1)\n"
        "a(x).backward()\nloss = b(x)\nloss.backward()\na.zero_grad()\n"
    )
    rows = {row.name: row for row in graph(tmp_path, code, engine=engine, lines=True).tensors}
    _, grad, later = rows["a.bias"].at_backward()
    assert (values(grad.before), values(grad.value), rows["a.bias"].grad.value) == ([1.0], [1.0], None)
    assert later is not None
    assert later.is_cleared
    assert rows["b.bias"].grad.before is None


@pytest.mark.parametrize("engine", ENGINES)
def test_a_target_that_is_filled_before_its_use_has_the_numbers_of_backward(tmp_path: Path, engine: str) -> None:
    code = (
        "import torch\nw = torch.tensor([3.0, 1.0], requires_grad=True)\nh = torch.nn.Linear(2, 2)(w)\n"
        "target = torch.zeros(2)\ntarget[0] = 5.0\nloss = (h - (target + 1)).pow(2).sum()\nloss.backward()\n"
        "target[1] = 7.0\n"
    )
    then, _, later = {row.name: row for row in graph(tmp_path, code, engine=engine, lines=True).tensors}[
        "target"
    ].at_backward()
    assert values(then) == [5.0, 0.0]
    assert later is not None
    assert values(later.numbers) == [5.0, 7.0]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_leaf_keeps_the_name_of_backward_where_another_name_is_given_to_it_later(tmp_path: Path, engine: str) -> None:
    code = (
        "import torch\nx = torch.tensor(1.0, requires_grad=True)\n(x**2).backward()\n"
        "near = (x + 0.1 * x.grad).detach().requires_grad_()\nloss = near**3\nloss.backward()\nx = near\n"
    )
    drawn = graph(tmp_path, code, engine=engine, lines=True)
    assert [node.name for node in drawn.nodes if node.kind == "leaf"] == ["near"]
    then, grad, later = {row.name: row for row in drawn.tensors}["x"].at_backward()
    assert (values(then), values(grad.before), values(grad.value)) == (1.0, 2.0, 2.0)
    assert later is not None
    assert values(later.numbers) == pytest.approx(1.2)


@pytest.mark.parametrize("engine", ENGINES)
def test_what_a_layer_writes_that_it_has_made_itself_is_not_written_in_place(tmp_path: Path, engine: str) -> None:
    code = "import torch\nh = torch.nn.GRUCell(1, 2)(torch.ones(1, 1))\n{}\ny = h.sum()\ny.backward()\n"
    for line, is_written in (("", False), ("h.add_(1)", True), ("h = (h * 2).add_(1)", True)):
        rows = {row.name: row for row in graph(tmp_path, code.format(line), engine=engine, lines=True).tensors}
        assert rows["h"].is_written == is_written


@pytest.mark.parametrize("engine", ["gviz", pytest.param("torch", marks=pytest.mark.torch)])
def test_a_gradient_that_is_no_tensor_has_the_error_of_the_engine(tmp_path: Path, engine: str) -> None:
    if engine == "torch":
        pytest.importorskip("torch")
    (tmp_path / "program.py").write_text(
        "import torch\nw = torch.ones(2, requires_grad=True)\ny = w * 2\ny.backward([1.0, 1.0])\n"
    )
    with pytest.warns(gviz.GvizWarning, match="gradients can be either Tensors or None, but got float"):
        gviz.read(tmp_path / "program.py", gviz.SourceOptions(engine=engine))
