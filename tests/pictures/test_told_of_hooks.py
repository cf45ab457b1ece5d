"""What a hook has made of a gradient, and what a pass was not asked for, stands in every view; equations hold with it."""

from __future__ import annotations

import importlib.util
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from gviz import SourceOptions, engine as torch, graph, read
from gviz.derivations.derivation import derive
from gviz.graphs import Graph, Node
from gviz.graphs.numbers import Numbers
from gviz.passes.dataflow import dataflow
from gviz.passes.elements import agree, sum_of, times
from gviz.passes.rounding import without_rounding
from gviz.pictures.options import RenderOptions
from gviz.pictures.spans import text_of
from gviz.pictures.steps import steps_of
from gviz.render import render

START = """\
import torch
x = torch.tensor(2.0, requires_grad=True)
w = torch.tensor(3.0, requires_grad=True)
h = x * w
{}
y = (h - 1) ** 2
y.backward({})
"""


def items(value: Numbers | None) -> tuple[object, ...]:
    return () if value is None else value.elements or ()


VIEWS = ("torchviz", "dataflow", "teaching", "autograd", "micrograd")


NO_TORCH = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
ENGINES = ("gviz", pytest.param("torch", marks=NO_TORCH))


def graph_of(tmp_path: Path, program: str, engine: str = "gviz", **options: Any) -> Graph:
    (tmp_path / "program.py").write_text(program)
    wanted = {"flow": True, "lines": True, **options}
    return read(tmp_path / "program.py", SourceOptions(engine=engine, **wanted)).graph


def node_of(graph: Graph, name: str) -> Node:
    return next(node for node in dataflow(graph).nodes if node.name == name)


def drawn(graph: Graph, view: str) -> str:
    """Return the texts of a picture, without inks."""
    svg = str(render(graph, "svg", RenderOptions(view=view))).replace("&#160;", " ")
    return unescape("\n".join(re.findall(r">([^<>]+)</text>", svg)))


HOOKS = {
    "doubled": ("h.register_hook(lambda g: g * 2)", "h", "10 → 20: a hook, line 5"),
    "zeros": ("h.register_hook(torch.zeros_like)", "h", "10 → 0: a hook, line 5"),
    "clipped": ("h.register_hook(lambda g: g.clamp(-1, 1))", "h", "10 → 1: a hook, line 5"),
    "in place": ("h.register_hook(lambda g: g.mul_(3) and None)", "h", "10 → 30: a hook, line 5"),
    "retained": ("h.register_hook(lambda g: g * 2); h.retain_grad()", "h", "10 → 20: a hook, line 5"),
    "of the node": ("h.grad_fn.register_prehook(lambda gs: (gs[0] * 2,))", "h", "10 → 20: a hook, line 5"),
    "handed on": (
        "h.grad_fn.register_hook(lambda made, came: tuple(g * 2 for g in made))",
        "h",
        "hands on 30 → 60: a hook, line 5",
    ),
    "of the gate": (
        "w.expand_as(w).grad_fn.next_functions[0][0].register_prehook(lambda gs: (gs[0] * 2,))",
        "w",
        "20 → 40: a hook, line 5",
    ),
    "of a leaf": ("w.register_hook(lambda g: -g)", "w", "20 → -20: a hook, line 5"),
    "afterwards": (
        "w.register_post_accumulate_grad_hook(lambda p: [p.grad.zero_()] and None)",
        "w",
        "grad 20 → 0: a hook, line 5",
    ),
    "taken away": (
        "w.register_post_accumulate_grad_hook(lambda p: setattr(p, 'grad', None))",
        "w",
        "grad 20 → None: a hook, line 5",
    ),
}


UNHEARD = ("of the gate",)
"""A hook on a node that the program reaches through another one: what it does on PyTorch is seen, its line is not."""


@pytest.mark.parametrize("case", HOOKS)
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_view_tells_what_a_hook_has_made_of_a_gradient(tmp_path: Path, case: str, view: str, engine: str) -> None:
    code, _, text = HOOKS[case]
    text = text.removesuffix(", line 5") if engine == "torch" and case in UNHEARD else text
    lines = drawn(graph_of(tmp_path, START.format(code, ""), engine, flow=view != "torchviz"), view).splitlines()
    assert [line for line in lines if "a hook" in line] == [text]


@pytest.mark.parametrize("case", HOOKS)
@pytest.mark.parametrize("engine", ENGINES)
def test_the_numbers_on_the_way_hold_with_the_hook(tmp_path: Path, case: str, engine: str) -> None:
    shown = dataflow(graph_of(tmp_path, START.format(HOOKS[case][0], ""), engine))
    for node in shown.nodes:
        came = [edge.flow.handed for edge in shown.uses[node.id]]
        if came and node.kind in ("leaf", "operation"):
            sent = node.grad.hook_change
            got = node.grad.arrived if node.kind == "operation" else node.grad.value
            later = [one.given for one in node.grad.hooks if one.kind == "grad"]
            assert agree(sum_of(came), sent.given if sent else later[0] if later else got)
            assert sent is None or agree(sent.made, got)
        for edge in shown.inputs[node.id] if node.kind == "operation" else ():
            is_changed = any(one.kind == "handed" for one in node.grad.hooks)
            if edge.flow.handed is not None and not is_changed:
                assert agree(times(node.grad.arrived, edge.flow.local), edge.flow.handed)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_hook_that_hands_on_nothing_is_told(tmp_path: Path, engine: str) -> None:
    code = "h.grad_fn.register_hook(lambda made, came: (None,) * len(made))"
    lines = drawn(graph_of(tmp_path, START.format(code, ""), engine), "dataflow").splitlines()
    assert [line for line in lines if "a hook" in line] == ["hands on 30 → None: a hook, line 5"]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_hook_that_changes_nothing_is_not_told(tmp_path: Path, engine: str) -> None:
    code = "h.register_hook(lambda g: None); w.register_hook(lambda g: g); print(h.grad_fn)"
    shown = graph_of(tmp_path, START.format(code, ""), engine)
    assert not any(node.grad.hooks for node in shown.nodes)
    assert "∂y/∂h = 10" in drawn(shown, "dataflow")


def test_what_arrives_below_a_hook_is_not_called_a_derivative(tmp_path: Path) -> None:
    text = drawn(graph_of(tmp_path, START.format("h.register_hook(lambda g: g * 2)", "")), "dataflow")
    assert "grad = 20" in text
    assert "∂y/∂h =" not in text


@pytest.mark.parametrize("engine", ENGINES)
def test_the_hook_of_a_module_stands_at_its_operation_and_what_is_below_is_known(tmp_path: Path, engine: str) -> None:
    shown = graph_of(
        tmp_path,
        """\
import torch
net = torch.nn.Linear(1, 1)
net.register_full_backward_hook(lambda module, given, got: (given[0] * 10,))
x = torch.ones(1, 1, requires_grad=True)
with torch.no_grad():
    net.weight.fill_(3.0)
y = net(x).sum()
y.backward()
""",
        engine,
    )
    [change] = [one for node in shown.nodes for one in node.grad.hooks]
    assert (items(change.given), items(change.made), str(change.place)) == ((3.0,), (30.0,), "line 3")
    assert items(node_of(shown, "x").grad.value) == (30.0,)


def test_steps_tell_a_hook_where_the_gradient_meets_it(tmp_path: Path) -> None:
    shown = dataflow(graph_of(tmp_path, START.format("h.register_hook(lambda g: g * 2)", "")))
    captions = [text_of(line) for step in steps_of(shown, RenderOptions(view="dataflow")) for line in step.caption]
    assert any(text.endswith("10   10 → 20: a hook, line 5") for text in captions)
    assert any("20 · 3 = 60" in text for text in captions)


def test_a_graph_with_hooks_is_the_same_after_json(tmp_path: Path) -> None:
    shown = graph_of(tmp_path, START.format("h.register_hook(lambda g: g * 2)", "inputs=[w]"))
    assert Graph.from_json(shown.to_json()).to_json() == shown.to_json()


def test_a_script_sees_its_own_hooks_as_ever(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = "import copy\ndef double(g):\n    return g * 2\nh.register_hook(double).remove(); copy.deepcopy(w)\nprint('ran')"
    shown = graph_of(tmp_path, START.format(code, ""))
    assert "ran" in capsys.readouterr().out
    assert items(node_of(shown, "x").grad.value) == (30.0,)


# ---------------------------------------------------------------- what a pass was not asked for
ASKED = {
    "backward": ("y.backward(inputs=[w])", "left out by backward(inputs=[w]), line 5"),
    "of several": ("torch.autograd.backward([y], inputs=(w,))", "left out by backward(inputs=[w]), line 5"),
    "grad": ("g, = torch.autograd.grad(y, [w])", "left out by autograd.grad(…, [w]), line 5"),
    "unused": (
        "torch.autograd.grad(outputs=y, inputs=[w, torch.ones(1, requires_grad=True)], allow_unused=True)",
        "left out by autograd.grad(…, [w, …]), line 5",
    ),
}
PROGRAM = """\
import torch
x = torch.tensor(2.0, requires_grad=True)
w = torch.tensor(3.0, requires_grad=True)
y = (x * w - 1) ** 2
{}
"""


@pytest.mark.parametrize("case", ASKED)
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_view_tells_what_a_pass_left_out(tmp_path: Path, case: str, view: str, engine: str) -> None:
    code, text = ASKED[case]
    assert text in drawn(graph_of(tmp_path, PROGRAM.format(code), engine), view)


@pytest.mark.parametrize("case", ASKED)
@pytest.mark.parametrize("engine", ENGINES)
def test_nothing_comes_to_what_a_pass_left_out(tmp_path: Path, case: str, engine: str) -> None:
    shown = dataflow(graph_of(tmp_path, PROGRAM.format(ASKED[case][0]), engine))
    came = {shown.by_id[edge.source].name: edge.flow.handed for edge in shown.edges}
    assert came["x"] is None
    assert items(came["w"]) == (20.0,)


def test_no_accumulate_grad_runs_for_what_was_left_out(tmp_path: Path) -> None:
    shown = graph_of(tmp_path, PROGRAM.format("y.backward(inputs=[w])"))
    assert "does not run" in drawn(shown, "autograd")
    assert "x.grad +=" not in drawn(shown, "autograd")
    assert "AccumulateGrad does not run" in drawn(shown, "teaching")


def test_a_derivation_says_which_call_left_a_leaf_out(tmp_path: Path) -> None:
    shown = graph_of(tmp_path, PROGRAM.format("y.backward(inputs=[w])"))
    [chain] = derive(shown, ["x"]).chains
    assert chain.absent == "left out by backward(inputs=[w]), line 5"


# ---------------------------------------------------------------- of the moment, and warnings
def test_what_is_frozen_later_is_said_apart(tmp_path: Path) -> None:
    shown = graph_of(tmp_path, PROGRAM.format("y.backward()\nw.requires_grad_(False)"))
    assert "now frozen, line 6" in drawn(shown, "torchviz")
    assert "grad = 20" in drawn(shown, "torchviz")


@pytest.mark.parametrize("is_grad", [False, True])
def test_a_graph_that_backward_freed_says_so(is_grad: bool) -> None:
    x: Any = torch.tensor(2.0, requires_grad=True)
    y = x * x
    if is_grad:
        torch.autograd.grad(y, [x])
    else:
        y.backward()
    with pytest.warns(UserWarning, match="backward has freed the graph; draw it before"):
        render(graph(y, view="dataflow"), "svg", RenderOptions(view="dataflow"))


def test_after_autograd_grad_there_are_numbers_and_no_warning(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    text = drawn(graph_of(tmp_path, PROGRAM.format("torch.autograd.grad(y, [w])")), "dataflow")
    assert "∂y/∂" in text
    assert not [one for one in recwarn if "no numbers of gradients" in str(one.message)]


SMALL = """\
import torch
x = torch.tensor([0.3, 0.2, 3.5], requires_grad=True)
y = torch.softmax(x, 0).sum()
y.backward()
"""


@pytest.mark.parametrize("view", ["torchviz", "dataflow", "micrograd"])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_script_has_0_where_only_rounding_is_left(tmp_path: Path, view: str, engine: str) -> None:
    text = drawn(graph_of(tmp_path, SMALL, engine, flow=view != "torchviz"), view)
    assert "grad = [0, 0, 0]" in text or "grad [0, 0, 0]" in text
    assert "e-0" not in text


def test_the_default_view_has_0_where_only_rounding_is_left() -> None:
    shown = read("y=softmax(x,0).sum()", x=[0.3, 0.2, 3.5]).graph
    assert "grad = [0, 0, 0]" in drawn(shown, "torchviz")
    assert any(any(items(node.grad.value)) for node in shown.nodes)  # as data it is exact


def test_a_gradient_that_vanishes_by_products_is_no_rounding() -> None:
    layers = "; ".join(f"h{n}=A@h{n - 1}" for n in range(2, 61))
    options = SourceOptions(values={"A": [[0.35, -0.35], [0.35, 0.35]], "w": [1.0, 2.0]}, flow=True)
    recorded = read(f"h1=A@w; {layers}; y=sum(h60)", options).graph
    w, shown = (next(node for node in one.nodes if node.name == "w") for one in (recorded, without_rounding(recorded)))
    assert w.grad.value is not None
    assert 0 < w.grad.value.norm < 1e-15
    assert shown.grad.value == w.grad.value
