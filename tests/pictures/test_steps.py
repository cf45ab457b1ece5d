"""The steps of a computation: their order, their arithmetic, and slides on which nothing moves."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from graphs import numbers
from program import SAMPLES

from gviz import GvizWarning, RenderOptions, SourceOptions, read
from gviz.graphs import Graph
from gviz.layout.graphviz import draw
from gviz.passes.dataflow import dataflow
from gviz.pictures import Arrow, Shape
from gviz.pictures.look import PAGES
from gviz.pictures.series import Slide, series
from gviz.pictures.spans import text_of
from gviz.pictures.steps import Step, chosen, lines_at, steps_of
from gviz.render import dot, render

LIGHT = RenderOptions(theme="light")
FIVE = "b=w1*a; c=w2*a; d=w3*b+w4*c; L=10-d"
VALUES = {"a": 2, "w1": 1, "w2": 2, "w3": 3, "w4": 4}

TENSORS = {"x": [[1, 2]], "W": [[1, -2], [3, -4]], "b": [0.5, 0.5]}


def graph_of(source: str, values: Mapping[str, Any] | None = None, **options: Any) -> Graph:
    return read(source, SourceOptions(values=values or {}, flow=True, **options)).graph


def told(graph: Graph) -> list[str]:
    """What the steps say, each in one line."""
    return [" | ".join(map(text_of, step.caption)) for step in steps_of(dataflow(graph), LIGHT)]


def slides_of(graph: Graph, options: RenderOptions = LIGHT) -> list[Slide]:
    return series(graph, options, PAGES["slide"], dot.dot_text)


def said(graph: Graph) -> dict[str, list[list[str]]]:
    """What each box says at each step, by its name, without empty lines."""
    shown = dataflow(graph)
    lines = lines_at(shown, LIGHT, steps_of(shown, LIGHT))
    return {
        node.name or "": [[text_of(line) for line in at if text_of(line).strip()] for at in lines[node.id]]
        for node in shown.nodes
    }


# ------------------------------------------------------------------ what happens
def test_the_first_articles_formula_is_told_in_nine_steps() -> None:
    assert told(graph_of("y=(x+w)*(w+1)", {"x": 2, "w": 1})) == [
        "The leaves have values. Nothing is computed yet, and there is no graph.",
        "forward  a = x + w = 2 + 1 = 3 | recorded for backward: AddBackward0, as a.grad_fn",
        "forward  b = w + 1 = 1 + 1 = 2 | recorded for backward: AddBackward0, as b.grad_fn",
        "forward  y = a × b = 3 × 2 = 6 | recorded for backward: MulBackward0, as y.grad_fn",
        "backward  starts at y:  ∂y/∂y = 1",
        "to a:  ∂y/∂y · ∂y/∂a = 1 · 2 = 2 | to b:  ∂y/∂y · ∂y/∂b = 1 · 3 = 3",
        "to w:  ∂y/∂b · ∂b/∂w = 3 · 1 = 3   part 1 of 2",
        "to x:  ∂y/∂a · ∂a/∂x = 2 · 1 = 2 | to w:  ∂y/∂a · ∂a/∂w = 2 · 1 = 2   w.grad += 3 + 2 = 5",
        "done  x.grad = 2,  w.grad = 5 | What lies between leaf and root keeps no .grad: it is not a leaf.",
    ]


def test_what_backward_is_given_to_start_with_is_no_derivative() -> None:
    graph = graph_of("y=x**2", {"x": [1, 2]}, grad_output="[1, 0.5]")
    start, way = told(graph)[2:4]
    assert start == "backward  starts at y:  gradient at y = [1, 0.5]"
    assert way == "to x:  gradient at y · ∂y/∂x = [1, 0.5] · [2, 4] = [2, 2]"
    boxes = said(graph)
    assert boxes["y"][-1] == ["y = [1, 4]", "gradient at y = [1, 0.5]"]
    assert "∂y/∂y" not in str(slides_of(graph))
    assert "∂y/∂y" not in str(render(graph, "dot", RenderOptions(view="teaching")))
    assert told(graph_of("y=x**2", {"x": [1, 2]}, grad_output="ones"))[2] == "backward  starts at y:  ∂y/∂y = [1, 1]"


def test_a_result_that_keeps_its_gradient_is_told_with_it_at_the_end(tmp_path: Path) -> None:
    graph = graph_of("y=(x+w)*(w+1)", {"x": 2, "w": 1}, retain=("a", "y"))
    remark = "What else lies between leaf and root keeps no .grad: it is not a leaf."
    assert told(graph)[-1] == f"done  x.grad = 2,  w.grad = 5,  y.grad = 1,  a.grad = 2 | {remark}"
    code = (
        "import torch\nx = torch.tensor(2.0, requires_grad=True)\nh = x * 3\nh.retain_grad()\ny = h**2\ny.backward()\n"
    )
    (tmp_path / "kept.py").write_text(code)
    assert told(graph_of(str(tmp_path / "kept.py")))[-1] == f"done  x.grad = 36,  h.grad = 12 | {remark}"


@pytest.mark.parametrize(
    ("source", "values", "line"),
    [
        ("y=softmax(x,dim=0)[0]", {"x": [1, 2]}, "to x:  ∂y/∂a @ (diag(a) - a·aᵀ) = [0.1966, -0.1966]"),
        ("L=cross_entropy(x,t)", {"x": [1, 2], "t": 1}, "to x:  ∂L/∂a @ (I - 1·exp(a)ᵀ) = [0.2689, -0.2689]"),
        (
            "y=softmax(x,dim=-1).sum(0)[0]",
            {"x": [[1, 2]]},
            "to x:  ∂y/∂a[i] @ (diag(a[i]) - a[i]·a[i]ᵀ) = [[0.1966, -0.1966]]",
        ),
    ],
)
def test_what_arrives_stands_before_a_jacobian(source: str, values: Mapping[str, Any], line: str) -> None:
    assert line in " | ".join(told(graph_of(source, values))).split(" | ")


def test_backward_goes_the_other_way_round_as_pytorch_does() -> None:
    steps = steps_of(dataflow(graph_of(FIVE, VALUES)), LIGHT)
    forward = [step.nodes for step in steps if step.phase == "forward"]
    backward = [step.nodes for step in steps if step.phase == "backward"]
    assert len(forward) == 6
    assert backward == forward[::-1]


def test_a_negative_number_after_a_sign_has_brackets() -> None:
    lines = told(graph_of(FIVE, VALUES))
    assert "to a:  ∂L/∂b · ∂b/∂a = (-3) · 1 = -3   a.grad += -8 + (-3) = -11" in lines[13]
    assert "y = a + b = 1 + (-2) = -1" in told(graph_of("y=a+b", {"a": 1, "b": -2}))[1]


def test_a_negative_number_alone_in_a_call_has_no_brackets_of_its_own() -> None:
    assert "y = tanh(a) = tanh(-1) = -0.7616" in told(graph_of("y=tanh(a)", {"a": -1}))[1]
    assert "y = max(a, b) = max((-1), 2)" in told(graph_of("y=max(a,b)", {"a": -1, "b": 2}))[1]


def test_a_script_is_told_as_an_expression_is() -> None:
    script, expression = told(graph_of(str(SAMPLES / "five_neurons.py"))), told(graph_of(FIVE, VALUES))
    assert script[7:-1] == expression[7:-1]  # forward, PyTorch keeps no value of what has no name
    assert script[3].startswith("forward  f = w3 × b | ")


@pytest.mark.torch
def test_the_real_torch_is_told_as_gviz_is() -> None:
    pytest.importorskip("torch")
    for sample in ("five_neurons.py", "y_xw.py"):
        gviz, torch = (told(graph_of(str(SAMPLES / sample), engine=engine)) for engine in ("gviz", "torch"))
        assert gviz == torch


def test_a_saved_graph_is_told_as_the_one_that_was_saved() -> None:
    graph = graph_of(FIVE, VALUES)
    assert told(Graph.from_json(graph.to_json())) == told(graph)


def test_a_gradient_at_a_leaf_is_whole_when_its_last_part_has_come() -> None:
    boxes = said(graph_of("y=(x+w)*(w+1)", {"x": 2, "w": 1}))
    assert [at[1:] for at in boxes["w"]] == [*[["grad = None"]] * 6, ["grad = 3 + …"], *[["grad = 5", "= 3 + 2"]] * 2]
    assert [at[1:] for at in boxes["x"]] == [*[["grad = None"]] * 7, *[["grad = 2"]] * 2]


def test_a_value_appears_when_it_is_computed_and_a_gradient_when_it_comes() -> None:
    boxes = said(graph_of("y=(x+w)*(w+1)", {"x": 2, "w": 1}))
    assert boxes["a"] == [[], *[["a = 3"]] * 4, *[["a = 3", "∂y/∂a = 2"]] * 4]
    assert [len(at) for at in boxes["y"]] == [0, 0, 0, 1, 2, 2, 2, 2, 2]


def test_an_operand_that_is_used_twice_gets_two_parts() -> None:
    lines = told(graph_of("y=x*x", {"x": 3}))
    assert lines[1].startswith("forward  y = x × x = 3 × 3 = 9")
    assert lines[3].split(" | ") == [
        "to x:  ∂y/∂y · local derivative = 1 · 3 = 3   part 1 of 2",  # ∂y/∂x is 6
        "to x:  ∂y/∂y · local derivative = 1 · 3 = 3   x.grad += 3 + 3 = 6",
    ]


SPLIT = "import torch\nx = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)\na, b, c = x.unbind()\n"


def test_an_operation_is_told_with_its_options(tmp_path: Path) -> None:
    loss = "y = torch.nn.functional.mse_loss(x.triu(1), x.sum(0, keepdim=True).expand(2, 2), reduction='sum')"
    (tmp_path / "net.py").write_text(f"import torch\nx = torch.ones(2, 2, requires_grad=True)\n{loss}\n")
    lines = [line.partition(" | ")[0] for line in told(graph_of(str(tmp_path / "net.py")))]
    assert [line.removeprefix("forward  ") for line in lines if line.startswith("forward")] == [
        "a = triu(x, 1)",
        "b = sum(x, 0, keepdim=True)",
        "c = expand(b, (2, 2))",
        "y = mse_loss(a, c, reduction='sum') = 13",
    ]


def test_each_output_of_an_operation_has_a_name_and_a_gradient_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "split.py").write_text(f"{SPLIT}y = a * b + c\ny.backward()\n")
    graph = graph_of(str(tmp_path / "split.py"))
    lines, boxes = told(graph), said(graph)
    assert lines[1].startswith("forward  a, b, c = unbind(x) = 1, 2, 3 | ")
    assert lines[3].startswith("forward  y = f + c = 5 | ")
    assert lines[5:8] == [
        "to f:  ∂y/∂y · ∂y/∂f = 1 · 1 = 1 | to c:  ∂y/∂y · ∂y/∂c = 1 · 1 = 1",
        "to a:  ∂y/∂f · ∂f/∂a = 1 · 2 = 2 | to b:  ∂y/∂f · ∂f/∂b = 1 · 1 = 1",
        "to x:  from UnbindBackward0: [2, 1, 1]",
    ]
    values = ["a, b, c", "a = 1", "b = 2", "c = 3"]
    assert boxes["a"][-1] == [*values, "∂y/∂a = 2", "∂y/∂b = 1", "∂y/∂c = 1"]
    assert boxes["a"][5] == [*values, "∂y/∂c = 1"]


def test_an_output_that_is_used_twice_gets_its_own_two_parts(tmp_path: Path) -> None:
    (tmp_path / "split.py").write_text(f"{SPLIT}d = a * b\ny = d * b + c\ny.backward()\n")
    lines = told(graph_of(str(tmp_path / "split.py")))
    assert lines[2].startswith("forward  d = a × b = 1 × 2 = 2 | ")
    assert "to b:  ∂y/∂d · ∂d/∂b = 2 · 1 = 2   summed: 2 + 2 = 4" in lines[8]
    assert not any("of 3" in line for line in lines)


def test_a_sum_is_readable_where_its_parts_have_no_room(tmp_path: Path) -> None:
    script = tmp_path / "loop.py"
    script.write_text(
        "import torch\nw = torch.tensor(-0.5123, requires_grad=True)\nh = torch.tensor(0.7345)\nfor i in range(6):\n"
        "    h = torch.sin(h * w) - 0.1234\nh.backward()\n"
    )
    graph = graph_of(str(script))
    grad = next(node.grad.value.nested() for node in graph.nodes if node.name == "w" and node.grad.value)
    (last,) = [line for line in told(graph) if "w.grad +=" in line]
    assert last.endswith(f"   w.grad += {grad:.4g} (6 parts)")


def test_what_does_not_fit_before_a_value_is_left_out_rather_than_the_value() -> None:
    values = {f"a_name_that_is_rather_long_{number}": 1.2345 for number in range(2)}
    lines = told(graph_of(f"y={'+'.join(values)}", values))
    assert lines[1].startswith("forward  y = a_name_that_is_rather_long_0 + a_name_that_is_rather_long_1 = 2.469 | ")
    longest = {f"{name}_{'n' * 30}": value for name, value in values.items()}
    assert told(graph_of(f"y={'+'.join(longest)}", longest))[1].startswith("forward  y = 2.469 | ")


def test_several_roots_are_told_by_their_names() -> None:
    lines = told(graph_of("y1=a*b+a; y2=sin(a)*y1", {"a": 1, "b": 2}, roots=("y1", "y2")))
    assert not any("∂root" in line for line in lines)
    assert "backward  starts at y1:  ∂y1/∂y1 = 1 | backward  starts at y2:  ∂y2/∂y2 = 1" in lines
    assert any(
        "to y1:  ∂y2/∂y2 · ∂y2/∂y1 = 1 · 0.8415 = 0.8415   summed: 1 + 0.8415 = 1.8415" in line for line in lines
    )
    assert any("to b:  ∂(y1 + y2)/∂c · ∂c/∂b = 1.8415 · 1 = 1.8415" in line for line in lines)


def test_a_root_that_backward_does_not_start_at_is_in_no_derivative(tmp_path: Path) -> None:
    (tmp_path / "two.py").write_text(
        "import torch\nw = torch.tensor(2.0, requires_grad=True)\nd = w * 3\nL = d * d\nL.backward()\n"
    )
    lines = told(graph_of(str(tmp_path / "two.py"), roots=("d", "L")))
    assert lines[3] == "backward  starts at L:  ∂L/∂L = 1"
    assert lines[5] == "to w:  ∂L/∂d · ∂d/∂w = 12 · 3 = 36"


def test_where_no_factor_is_the_vector_jacobian_product_is_named() -> None:
    lines = told(graph_of("y=sum(relu(x@W+b))", TENSORS))
    assert "to x:  ∂y/∂a @ W.T = [[1, 3]] | to W:  x.T @ ∂y/∂a = [[1, 0], [2, 0]]" in lines


def test_the_gradient_of_what_was_broadcast_is_summed() -> None:
    lines = told(graph_of("y=sum(w*x)", {"w": 3, "x": [1, 2]}))
    assert "to w:  ∂y/∂a · ∂a/∂w = [1, 1] · [1, 2], summed = 3" in lines[5]
    assert lines[-1].startswith("done  w.grad = 3,  x.grad = [3, 3]")


def test_a_large_tensor_shows_its_size_and_its_norm() -> None:
    lines = told(graph_of("y=sum(w*x)", {"w": [1, 2, 3, 4, 5], "x": [2, 2, 2, 2, 2]}))
    assert "∂y/∂a · x = size 5, norm 4.4721" in lines[5]


def test_the_numbers_of_an_expression_are_those_of_the_moment_of_backward(tmp_path: Path) -> None:
    """A script has changed the leaf since."""
    script = tmp_path / "update.py"
    script.write_text(
        "import torch\nw = torch.tensor(1.0, requires_grad=True)\nx = torch.tensor(2.0, requires_grad=True)\n"
        "y = w * x\ny.backward()\nwith torch.no_grad():\n    w -= 0.5 * w.grad\n"
    )
    assert told(graph_of(str(script)))[1].startswith("forward  y = w × x = 1 × 2 = 2 | ")


def test_what_was_in_grad_before_is_not_taken_for_this_backward() -> None:
    lines = told(graph_of(str(SAMPLES / "five_neurons_retain_graph.py")))
    assert "a.grad += -11" in lines[-1]
    assert "of this backward alone" in lines[-1]


def test_what_a_function_of_the_users_own_hands_on_is_what_came_from_it(tmp_path: Path) -> None:
    script = tmp_path / "cube.py"
    script.write_text(
        "import torch\n"
        "class Cube(torch.autograd.Function):\n"
        "    @staticmethod\n"
        "    def forward(ctx, x):\n"
        "        ctx.save_for_backward(x)\n"
        "        return x ** 3\n"
        "    @staticmethod\n"
        "    def backward(ctx, grad):\n"
        "        (x,) = ctx.saved_tensors\n"
        "        return grad * 3 * x ** 2\n"
        "x = torch.tensor(2.0, requires_grad=True)\n"
        "w = torch.tensor(5.0, requires_grad=True)\n"
        "a = x * w\n"
        "y = Cube.apply(a) + a + w\n"
        "y.backward()\n"
    )
    graph = graph_of(str(script))
    lines, boxes = told(graph), said(graph)
    assert any(line.startswith("to a:  from CubeBackward: 300") for line in lines), lines
    assert any(line.startswith("to x:  ∂y/∂a · ∂a/∂x = 301 · 5 = 1505") for line in lines), lines
    assert boxes["x"][-1][1] == "grad = 1505"
    assert boxes["w"][-1][1] == "grad = 603"
    assert lines[-1].startswith("done  x.grad = 1505,  w.grad = 603")
    assert "Not all of it is followed" not in lines[-1]


def test_a_backward_that_fails_is_told_as_far_as_it_came() -> None:
    with pytest.warns(GvizWarning):
        lines = told(graph_of(str(SAMPLES / "five_neurons_twice.py")))
    assert len(lines) == 11
    assert lines[9].startswith("to f:  ∂L/∂d · ∂d/∂f")
    assert lines[10].startswith(
        "✗ line 16  L.backward() | RuntimeError: Trying to backward through the graph a second time"
    )


def test_without_backward_the_steps_end_at_the_root() -> None:
    steps = steps_of(dataflow(graph_of("y=(x+w)*(w+1)", backward=False)), LIGHT)
    assert [step.phase for step in steps] == ["leaves", "forward", "forward", "forward"]


def test_captions_fit_on_a_slide() -> None:
    graph = graph_of("a_very_long_name_of_a_result=" + "*".join(f"a_very_long_name_{number}" for number in range(6)))
    assert all(len(text_of(line)) <= 84 for step in steps_of(dataflow(graph), LIGHT) for line in step.caption)


def test_a_long_chain_takes_no_recursion() -> None:
    graph = graph_of("; ".join(["a0=x*1", *[f"a{number + 1}=a{number}*1" for number in range(140)]]))
    assert len(steps_of(dataflow(graph), LIGHT)) == 2 * 141 + 3


def test_steps_are_chosen_by_half_and_by_number() -> None:
    steps = [Step(phase) for phase in ("leaves", "forward", "forward", "start", "backward", "done")]
    assert chosen(steps) == [1, 2, 3, 4, 5, 6]
    assert chosen(steps, "forward") == [1, 2, 3]
    assert chosen(steps, "backward", 5) == [5, 6]
    assert chosen(steps, "", 2, 99) == [2, 3, 4, 5, 6]
    assert chosen(steps, "backward", 1, 3) == []


# ------------------------------------------------------------------ slides
def places(svg: str) -> dict[str, list[float]]:
    """Where each box of a drawing is: the first numbers of its outline, to a tenth of a point, by its id."""
    found = {}
    for name, part in re.findall(r'<g id="node\d+" class="node">\s*<title>([^<]*)</title>(.*?)</g>', svg, re.DOTALL):
        outline = re.search(r'(?:c[xy]|points|d)="([^"]*)"[^/]*', part)
        if outline and not name.startswith("_"):
            found[name] = [round(float(number), 1) for number in re.findall(r"-?[\d.]+", outline[0])[:4]]
    return found


@pytest.mark.parametrize(
    ("source", "values"),
    [
        ("y=(x+w)*(w+1)", {"x": 2, "w": 1}),
        (FIVE, VALUES),
        ("y=tanh(w*x+b)", {"w": 0.5, "x": 2, "b": -1}),
        ("y=sum(relu(x@W+b))", TENSORS),
    ],
)
def test_no_box_moves_and_none_changes_its_size(source: str, values: Mapping[str, Any]) -> None:
    drawn = [
        draw(dot.dot_text(slide.picture), "svg", program="nop2").decode()
        for slide in slides_of(graph_of(source, values))
    ]
    first, *others = map(places, drawn)
    assert len(first) >= 4
    for other in others:
        for name, place in first.items():  # where Graphviz rounds, a tenth of a point is no movement
            assert other[name] == pytest.approx(place, abs=0.11)
    assert len({re.search(r'viewBox="[^"]*"', svg)[0] for svg in drawn}) == 1  # type: ignore[index]


def test_a_wide_graph_does_without_texts_on_its_lines() -> None:
    slides = slides_of(graph_of(chain(40), {"x": 0.5, "w": 1}))
    texts = [dot.dot_text(slide.picture) for slide in slides[-2:]]
    assert not any(
        isinstance(one, Shape) and one.id.startswith("p") for slide in slides for one in slide.picture.statements
    )
    assert "∂ = 0." in texts[-1]
    assert "the gradient ∂a40/∂..." in texts[-1]


def chain(length: int) -> str:
    return "; ".join(["a0=x*w", *[f"a{number + 1}=tanh(a{number})" for number in range(length)]])


def test_a_long_graph_goes_on_in_the_next_row_and_keeps_its_texts() -> None:
    slides = slides_of(graph_of(chain(8), {"x": 0.5, "w": 1}))
    for slide in slides:
        shapes = {one.id: one.look for one in slide.picture.statements if isinstance(one, Shape)}
        assert {"__joint0", "__joint1"} <= shapes.keys()
        assert any(name.startswith("p") for name in shapes)
    backward = next(slide for slide in slides if slide.step.phase == "backward")
    against = [
        one.look for one in backward.picture.statements if isinstance(one, Arrow) and one.look.get("dir") == "back"
    ]
    assert sum("s," in look["pos"] for look in against) == 1
    cut = [one.look for one in backward.picture.statements if isinstance(one, Arrow) and ";" in one.look.get("pos", "")]
    assert cut
    assert all(draw(dot.dot_text(slide.picture), "svg", program="nop2") for slide in slides[:2])


def test_from_top_to_bottom_texts_stand_beside_the_circles_where_no_line_goes() -> None:
    graph = graph_of("y=(x+w)*(w+1)", {"x": 2, "w": 1})
    for rankdir, is_beside in (("LR", False), ("TB", True), ("BT", True)):
        slides = slides_of(graph, RenderOptions(theme="light", rankdir=rankdir))
        circles = [
            one.look
            for one in slides[-1].picture.statements
            if isinstance(one, Shape) and one.look.get("shape") == "circle"
        ]
        assert len(circles) == 3
        assert all(('WIDTH="44"' in look["label"]) is is_beside for look in circles)


def test_all_slides_have_the_same_boxes_and_lines_in_the_same_order() -> None:
    kinds = [
        [
            (type(one).__name__, getattr(one, "id", None), getattr(one, "start", None))
            for one in slide.picture.statements
        ]
        for slide in slides_of(graph_of("y=(x+w)*(w+1)"))
    ]
    assert all(one == kinds[0] for one in kinds)


def test_what_a_step_is_about_is_lit_and_what_is_to_come_is_faint() -> None:
    slides = slides_of(graph_of("y=(x+w)*(w+1)", {"x": 2, "w": 1}))
    shapes = [[one for one in slide.picture.statements if isinstance(one, Shape)] for slide in slides]
    fills = [{shape.id: shape.look["fillcolor"] for shape in at if shape.id in ("n1", "n2")} for at in shapes]
    lit, page, usual = "#FFF3B0", "#FFFFFF", "#F4F4F4"
    assert [fill["n2"] for fill in fills[:3]] == [page, lit, usual]
    assert [fill["n1"] for fill in fills[2:5]] == [page, lit, lit]


def test_an_arrow_turns_round_for_the_gradient() -> None:
    slide = slides_of(graph_of("y=(x+w)*(w+1)", {"x": 2, "w": 1}))[5]
    lines = [one.look for one in slide.picture.statements if isinstance(one, Arrow)]
    back = [look for look in lines if look.get("dir") == "back" and look.get("style") != "invis"]
    assert len(back) == 4  # two inputs, in two parts each, with the local derivative between
    assert sum(look["pos"].startswith("s,") for look in back) == 2
    assert {look["color"] for look in back} == {"#A63200"}


def test_the_same_steps_make_the_same_text() -> None:
    one, other = ([dot.dot_text(slide.picture) for slide in slides_of(graph_of(FIVE, VALUES))] for _ in range(2))
    assert one == other


@pytest.mark.parametrize("theme", ["torchviz", "light", "dark", "print"])
def test_every_theme_has_steps(theme: str) -> None:
    assert len(slides_of(graph_of("y=x*w"), RenderOptions(theme=theme))) == 5


LOOP = """\
import torch

w = torch.tensor(0.5, requires_grad=True)
h = torch.tensor(2.0)
for i in range(2):
    h = torch.tanh(w * h)
v = torch.tensor(3.0, requires_grad=True)
loss = h * v
loss.backward()
"""


def test_by_line_each_run_of_a_line_is_a_step_with_the_code_beside_it(tmp_path: Path) -> None:
    (tmp_path / "loop.py").write_text(LOOP)
    graph = read(str(tmp_path / "loop.py"), SourceOptions(flow=True, lines=True)).graph
    by_line = RenderOptions(theme="light", every="line")
    steps = steps_of(dataflow(graph), by_line)
    assert [(step.phase, step.line) for step in steps][:7] == [
        ("leaves", 3), ("forward", 6), ("forward", 6), ("leaves", 7), ("forward", 8), ("start", 9), ("backward", 9),
    ]  # fmt: skip
    assert [text_of(row) for row in steps[1].caption] == [
        "line 6  h = torch.tanh(w * h)", "c = 0.7616", "recorded for backward: MulBackward0, TanhBackward0",
    ]  # fmt: skip
    slides = slides_of(graph, by_line)
    sides = [
        next(one for one in slide.picture.statements if isinstance(one, Shape) and one.id == "__side")
        for slide in slides
    ]
    texts = [one.look["label"].replace("\u00a0", " ") for one in sides]
    assert all("w = torch.tensor(0.5, requires_grad=True)" in text for text in texts)
    lit = [re.findall(r'BGCOLOR="[^"]*">([^<]*)<', text) for text in texts]
    assert lit[1] == ["    h = torch.tanh(w * h)"]
    assert lit[-1] == ["loss.backward()"]
    hidden = {
        one.id for one in slides[0].picture.statements if isinstance(one, Shape) and one.look.get("style") == "invis"
    }
    names = {node.id: node.name for node in dataflow(graph).nodes}
    assert "v" in {names.get(one) for one in hidden}, "a leaf is there from the line on that makes it"


ABOVE = """\
import torch
from torch import nn


def square(a):
    return a * a


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(torch.tensor(2.0))
        self.b = nn.Parameter(torch.tensor(-1.0))

    def forward(self, x):
        h = self.a * x
        return torch.relu(h + self.b)


net = Net()
x = torch.tensor(3.0, requires_grad=True)
t = torch.tensor(4.0, requires_grad=True)
loss = square(x) + square(t) + net(x)
loss.backward()
"""


def test_what_lines_make_is_there_when_they_run_and_not_where_they_stand(tmp_path: Path) -> None:
    """Functions and classes stand above the lines that make what they are given."""
    (tmp_path / "net.py").write_text(ABOVE)
    graph = read(str(tmp_path / "net.py"), SourceOptions(flow=True, lines=True)).graph
    steps = steps_of(dataflow(graph), RenderOptions(every="line"))
    assert [(step.phase, step.line) for step in steps if step.phase in ("leaves", "forward")] == [
        ("leaves", 20), ("leaves", 21), ("leaves", 22), ("forward", 6), ("forward", 6), ("forward", 23),
        ("forward", 16), ("forward", 17), ("forward", 23),
    ]  # fmt: skip


def test_statements_of_an_expression_are_its_lines() -> None:
    graph = read("a = x + w\ny = a*w", SourceOptions(flow=True, lines=True)).graph
    steps = steps_of(dataflow(graph), RenderOptions(every="line"))
    assert [step.line for step in steps if step.phase == "forward"] == [1, 2]


TRAINING = """\
import torch

w = torch.tensor(1.0, requires_grad=True)
loss = (w * 3 - 2) ** 2
loss.backward()
with torch.no_grad():
    w -= 0.1 * w.grad
"""


def test_a_leaf_has_the_value_that_it_had_when_backward_was_called(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAINING)
    graph = read(str(tmp_path / "train.py"), SourceOptions(flow=True, lines=True)).graph
    assert {node.name: node.value for node in graph.nodes if node.kind == "leaf"} == {"w": numbers(1.0)}
    assert next(row.numbers.nested() for row in graph.tensors if row.name == "w") == pytest.approx(0.4), (
        "the table has it as it is left"
    )


MODULES = """\
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1))
loss = net(torch.ones(1, 2)).pow(2).sum()
loss.backward()
"""


def test_a_step_may_be_the_call_of_a_module(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(MODULES)
    graph = dataflow(read(tmp_path / "net.py", SourceOptions(flow=True)).graph)
    by_operation, by_module = (steps_of(graph, RenderOptions(every=every)) for every in ("operation", "module"))
    heads = [text_of(step.caption[0]) for step in by_module]
    assert [head for head in heads if "net." in head and head.startswith("forward")] == [
        "forward  net.0  Linear",
        "forward  net.2  Linear",
    ]
    assert len(by_module) < len(by_operation)
    assert sorted(by_module[-1].handed) == sorted(by_operation[-1].handed)
    assert by_module[-1].computed == by_operation[-1].computed


def test_no_step_is_a_call_of_a_module_that_names_of_parameters_alone_tell() -> None:
    from gviz import engine as torch, graph as graph_of

    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Tanh(), torch.nn.Linear(2, 1))
    graph = dataflow(graph_of(net(torch.ones(1, 2)).sum(), model=net, flow=True))
    assert any(node.module is not None for node in graph.nodes if node.kind == "operation")
    by_operation, by_module = (steps_of(graph, RenderOptions(every=every)) for every in ("operation", "module"))
    assert by_module == by_operation


UPDATED = """\
import torch
w = torch.tensor(3.0, requires_grad=True)
for i in range(2):
    L = w * w
    L.backward()
    {}
"""


@pytest.mark.parametrize("update", ["with torch.no_grad(): w -= 0.25 * w.grad", "torch.optim.SGD([w], 0.25).step()"])
def test_a_leaf_that_was_updated_is_told_at_the_line_that_did(tmp_path: Path, update: str) -> None:
    (tmp_path / "net.py").write_text(UPDATED.format(update))
    graph = dataflow(read(tmp_path / "net.py", SourceOptions(flow=True, lines=True)).graph)
    steps, options = steps_of(graph, RenderOptions(every="line")), RenderOptions(every="line")
    assert [(step.phase, step.line) for step in steps[:3]] == [("leaves", 6), ("forward", 4), ("start", 5)]
    assert text_of(steps[0].caption[1]) == "w = 1.5"
    leaf = next(node.id for node in graph.nodes if node.kind == "leaf")
    said = [[text_of(row) for row in rows] for rows in lines_at(graph, options, steps)[leaf]]
    assert not any("grad" in row for row in said[0]), "at that line it has the gradient of an earlier backward"
    assert any("grad = 6" in row for row in said[2]), "which is still there when this backward starts"
