"""The view circuit: what stands on it, and that it can be read: texts are on no text, no line and no outline."""

from __future__ import annotations

import math
import re
from pathlib import Path

import inked
import pytest
from fuzzing import relaxed
from hypothesis import given, strategies as st
from program import Program

import gviz
from gviz.layout import RenderWarning
from gviz.layout.fonts.faces import FACES
from gviz.layout.ink import TextLine
from gviz.pictures import sheet_of
from gviz.pictures.circuit_content import CircuitContent
from gviz.pictures.circuit_reader import CircuitReader
from gviz.pictures.parts import drawn_formula
from gviz.pictures.theme import THEMES
from gviz.pictures.typesetting import Rule, typeset
from gviz.render import RenderOptions, render

VALUES = {"x": 1.5, "w": -0.75, "b": 0.4, "t": 1.0, "u": 0.3}

NUMBERS = st.recursive(
    st.sampled_from(["x", "w", "b", "u", "(x+1)", "(w*b)", "(10-t)"]),
    lambda inner: st.one_of(
        st.builds("{}({})".format, st.sampled_from(["tanh", "sigmoid", "relu", "exp", "sin", "cos"]), inner),
        st.builds("({}{}{})".format, inner, st.sampled_from(["+", "-", "*"]), inner),
        st.builds("({}**{})".format, inner, st.sampled_from(["2", "3"])),
        st.builds("({}/(1+{}**2))".format, inner, inner),
    ),
    max_leaves=6,
)

CIRCUITS = {
    "y=(x+w)*(w+1)": {"x": 2.0, "w": 1.0},
    "y=1/(1+exp(-(w0*x0+w1*x1+w2)))": {"w0": 2.0, "x0": -1.0, "w1": -3.0, "x1": -2.0, "w2": -3.0},
    "L=(tanh(w*x+b)-t)**2": {"w": 0.5, "x": 2.0, "b": -0.3, "t": 1.0},
    "e=a*b+log(d)*c": {"a": 2.0, "b": 3.0, "c": 4.0, "d": 5.0},
    "b=w1*a; c=w2*a; d=w3*b+w4*c; L=10-d": {"a": 2.0, "w1": 3.0, "w2": 4.0, "w3": 5.0, "w4": 6.0},
    "y=x*(x*w+1)+x": {"x": 2.0, "w": 3.0},
    "y=sin(x**2)*exp(-x)": {"x": 1.2},
    "e1=exp(z1); e2=exp(z2); e3=exp(z3); p=e1/(e1+e2+e3); L=-log(p)": {"z1": 1.0, "z2": 2.0, "z3": 0.5},
    "y=relu(w*x)+x": {"w": 2.0, "x": 3.0},
    "y=tanh(log(sqrt(exp(sin(x*w)+1)*2)+3)-1)**2": {"x": 0.7, "w": 1.3},
    "y=x*x": {"x": 3.0},
}


def svg_of(text: str, values: dict[str, float], **options: object) -> str:
    source = gviz.SourceOptions(values=values, flow=True)
    graph = gviz.read(text, source, say=lambda _: None).graph
    return str(render(graph, "svg", RenderOptions(view="circuit", **options)))  # type: ignore[arg-type]


def words_of(svg: str) -> list[str]:
    return [text.words for text in inked.read(svg).texts]


def of_script(folder: Path, body: str, **options: object) -> str:
    (folder / "p.py").write_text(f"import torch\n{body}", encoding="utf-8")
    graph = gviz.read(folder / "p.py", gviz.SourceOptions(flow=True, lines=True), say=lambda _: None).graph
    return str(render(graph, "svg", RenderOptions(view="circuit", **options)))  # type: ignore[arg-type]


def unheld(svg: str) -> list[str]:
    """Return the gradients before sums and products that are not what arrives times the local derivative."""
    theme, cards = THEMES["light"], inked.cards(svg)
    wires = inked.wires(svg, theme.value, theme.gradient)
    found = []
    for at, card in enumerate(cards):
        ins, outs = ([wire for wire in wires if wire[end] == at] for end in (1, 0))
        arrived = sum(wire.grad for wire in outs) if outs else 1.0
        for wire in ins:
            others = [other.value for other in ins if other is not wire]
            local = {"+": 1.0, "×": others[0]}.get(card.inside.strip()) if len(others) == 1 else None
            if local is None or math.isnan(arrived * local) or math.isnan(wire.grad):
                continue  # of two lines between the same cards, what is alike stands once
            if abs(arrived * local - wire.grad) > max(0.5001e-4, 5e-4 * abs(wire.grad) * (abs(wire.grad) < 1e-4)):
                found.append(f"{card.tip}: {arrived} · {local} is not {wire.grad}")
    return found


@pytest.mark.parametrize("fit", ["none", "slide", "a4"])
@pytest.mark.parametrize("text", CIRCUITS)
def test_no_text_stands_on_a_text_a_line_or_an_outline(text: str, fit: str) -> None:
    assert not list(inked.faults(inked.read(svg_of(text, CIRCUITS[text], fit=fit))))


@pytest.mark.fuzz
@pytest.mark.filterwarnings("ignore:the smallest type")
@relaxed(25)
@given(NUMBERS, st.sampled_from(["none", "slide"]))
def test_circuits_of_random_expressions_can_be_read(text: str, fit: str) -> None:
    used = {name: value for name, value in VALUES.items() if re.search(rf"\b{name}\b", text)}
    assert not list(inked.faults(inked.read(svg_of(f"y={text}", used, fit=fit))))


NETWORK = """
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3), torch.nn.Linear(3, 1))
x, t = torch.randn(4, 2), torch.randn(4, 1)
loss = torch.nn.functional.mse_loss(net(x), t)
loss.backward()
"""


def test_lists_on_the_lines_of_a_network_stand_on_nothing(tmp_path: Path) -> None:
    assert not list(inked.faults(inked.read(of_script(tmp_path, NETWORK))))


def test_a_number_makes_room_for_one_that_has_no_other_place(tmp_path: Path) -> None:
    body = """
logits = torch.tensor([1.,0.5,-1.], requires_grad=True)
g = torch.tensor([0.1,0.9,-0.2])
soft = torch.softmax((logits+g)/0.5, 0)
hard = torch.nn.functional.one_hot(soft.argmax(), 3).float()
st = hard + (soft - soft.detach())
v = torch.tensor([1.,2.,3.], requires_grad=True)
y = (st*v).sum()
y.backward()
"""
    assert not list(inked.faults(inked.read(of_script(tmp_path, body))))


def test_what_stands_at_a_circle_stays_in_its_row_where_a_circuit_goes_on_in_another() -> None:
    source = gviz.SourceOptions(values={"W": [[0.5, -1], [1, 2]], "x": [1, 0.5]}, flow=True)
    graph = gviz.read("a=W@x; b=tanh(a); c=b**2; d=c.sum(); e=d**2; f=log(e)", source, say=lambda _: None).graph
    page = sheet_of(graph, RenderOptions(view="circuit", fit="slide"))
    assert page is not None
    heights: dict[str, list[float]] = {}
    for item in page.items():
        if isinstance(item, TextLine) and item.part.startswith("note"):
            heights.setdefault(item.part, []).append(item.place[1])
    rows = [max(own) for own in heights.values()]
    assert max(rows) - min(rows) > 100, "two rows"
    assert all(max(own) - min(own) < 20 for own in heights.values())


AUTOENCODER = """
x = torch.tensor([0.5, -1.0])
A = torch.tensor([[1.0, 0.5], [-0.3, 0.8]], requires_grad=True)
mu = A @ x
logvar = torch.tensor([0.1, -0.2], requires_grad=True)
eps = torch.tensor([1.541, -0.29343])
z = mu + torch.exp(0.5*logvar)*eps
recon = ((z - x)**2).sum()
kl = -0.5*(1 + logvar - mu**2 - logvar.exp()).sum()
loss = recon + 0.1*kl
loss.backward()
"""


def test_columns_are_farther_apart_where_numbers_have_no_place_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text(f"import torch\n{AUTOENCODER}", encoding="utf-8")
    graph = gviz.read(tmp_path / "p.py", gviz.SourceOptions(flow=True, lines=True), say=lambda _: None).graph
    options = RenderOptions(view="circuit")
    assert not list(inked.faults(inked.read(str(render(graph, "svg", options)))))
    page = sheet_of(graph, options)
    assert page is not None
    heights = {item.part: item.place[1] for item in page.items() if isinstance(item, TextLine)}
    numbers = [part.split()[1] for part in heights if part.startswith("grad ")]
    assert all(heights[f"value {number}"] < heights[f"grad {number}"] for number in numbers)


def test_where_there_is_room_a_value_stands_above_its_line_and_the_gradient_below() -> None:
    values = {"X": [[1.0, 2.0], [3.0, 4.0]], "W": [[1.0, -1.0], [0.0, 2.0]], "b": [1.0, 0.0]}
    graph = gviz.read("y=sum((X@W+b)**2)", gviz.SourceOptions(values=values, flow=True), say=lambda _: None).graph
    page = sheet_of(graph, RenderOptions(view="circuit", path="b", fit="slide"))  # type: ignore[arg-type]
    assert page is not None
    heights = {item.part: item.place[1] for item in page.items() if isinstance(item, TextLine)}
    assert all(heights[f"value {number}"] < heights[f"grad {number}"] for number in range(6))


@pytest.mark.parametrize("text", CIRCUITS)
def test_what_arrives_times_the_local_derivative_is_the_gradient_on_the_line(text: str) -> None:
    assert not unheld(svg_of(text, CIRCUITS[text]))


@pytest.mark.fuzz
@pytest.mark.filterwarnings("ignore:the smallest type")
@relaxed(25)
@given(NUMBERS)
def test_the_numbers_of_random_circuits_hold_with_each_other(text: str) -> None:
    used = {name: value for name, value in VALUES.items() if re.search(rf"\b{name}\b", text)}
    svg = svg_of(f"y={text}", used)
    is_whole = inked.read(svg).size[0] < 1000  # a line that is cut has its numbers on one piece of it
    assert not (is_whole and unheld(svg))


def test_values_stand_above_lines_and_gradients_below_in_their_colours() -> None:
    texts = words_of(svg_of("y=(x+w)*(w+1)", {"x": 2.0, "w": 1.0}, legend=False))
    formula = ["y", "  =  ", "(", "x", " + ", "w", ")", "(", "w", " + ", "1", ")"]
    cards, values, gradients = (
        ["x", "w", "+", "+_", "1", "×", "y"],
        ["2", "1", "1", "3", "2", "6"],
        ["2", "2", "3", "2", "3", "1"],
    )
    notes = ["1", "2 + 3 = 5"]
    assert sorted(texts) == sorted([*formula, *(one.replace("_", " ") for one in cards), *values, *gradients, *notes])


def test_one_divided_is_one_step_and_its_derivative_is_in_terms_of_what_comes_in() -> None:
    texts = "".join(words_of(svg_of("y=1/(1+exp(-x))", {"x": 0.0}, legend=False)))
    assert "reciprocal" not in texts
    assert "−1 / z2 = −0.25" in texts
    assert "ez = 1" in texts


def test_a_frozen_input_has_a_dashed_line_and_no_gradient() -> None:
    source = gviz.SourceOptions(values={"x": 2.0, "w": 3.0}, flow=True, frozen=("x",))
    svg = str(render(gviz.read("y=x*w", source).graph, "svg", RenderOptions(view="circuit", legend=False)))
    assert svg.count("stroke-dasharray") >= 2
    assert words_of(svg).count("3") == 1  # the value of w; a gradient of x would be a second one


@pytest.mark.filterwarnings("ignore:invalid value")
def test_the_gradient_of_a_leaf_in_a_part_has_summands_that_are_not_drawn(gviz: Program) -> None:
    gviz("render", "y=(x+w)*(w+1)*x*w", "x=2", "w=3", "--view", "circuit", "--max-nodes", 5, "-o", "y.svg")
    assert "40 + … = 94" in (gviz.folder / "y.svg").read_text(encoding="utf-8")


def test_what_a_part_leaves_out_stands_at_its_edge_with_its_value_and_gradient() -> None:
    graph = gviz.read("y=(x+w)*(w+1)*x*w", gviz.SourceOptions(values={"x": 2.0, "w": 3.0}, flow=True)).graph
    reader = CircuitReader(
        drawn_formula(graph, RenderOptions(view="circuit", max_nodes=5)), RenderOptions(view="circuit")
    )
    cards, wires = reader.circuit()
    assert {(card.box.text, card.kind) for card in cards} == {
        *(("×", "operation"), ("×", "output"), ("x", "leaf"), ("w", "leaf")),
        ("(x + w)(w + 1)", "intermediate"),
    }
    assert sorted((wire.value, wire.grad) for wire in wires) == [("2", "60"), ("20", "6"), ("3", "40"), ("40", "3")]
    near = drawn_formula(graph, RenderOptions(view="circuit", around=("x",), hops=1))
    assert near.remarks == ("5 of 7 boxes: up to 1 line from x, with their inputs; gradients are those of y",)


def test_nan_is_seen() -> None:
    svg = svg_of("y=log(x)*w", {"x": -1.0, "w": 2.0})
    assert "#B00020" in svg
    assert "nan" in words_of(svg)


def test_the_pdf_holds_the_same_texts() -> None:
    import io

    from pypdf import PdfReader

    source = gviz.SourceOptions(values={"x": 2.0, "w": 1.0}, flow=True)
    data = render(gviz.read("y=(x+w)*(w+1)", source).graph, "pdf", RenderOptions(view="circuit"))
    assert isinstance(data, bytes)
    assert len(data) < 20_000
    text = PdfReader(io.BytesIO(data)).pages[0].extract_text()
    assert "value, above the line" in text
    assert "2 + 3 = 5" in text
    assert b"LiberationSans-Bold" in data
    assert b"LiberationSerif-Italic" in data


def test_a_png_is_drawn_from_the_same_places() -> None:
    source = gviz.SourceOptions(values={"x": 2.0, "w": 1.0}, flow=True)
    data = render(gviz.read("y=(x+w)*(w+1)", source).graph, "png", RenderOptions(view="circuit"))
    assert isinstance(data, bytes)
    assert data.startswith(b"\x89PNG")
    assert len(data) > 10_000


def test_a_large_graph_is_drawn_as_boxes_and_says_so() -> None:
    text = "y=" + "+".join(f"sin({n}*x)" for n in range(1, 40))
    with pytest.warns(RenderWarning, match="at most 60 boxes"):
        assert "graphviz" in svg_of(text, {"x": 0.5}).lower()


def test_dot_has_the_boxes_of_dataflow_and_says_so() -> None:
    source = gviz.SourceOptions(values={"x": 2.0}, flow=True)
    with pytest.warns(RenderWarning, match="DOT has no circuits"):
        assert "digraph" in str(render(gviz.read("y=x*x", source).graph, "dot", RenderOptions(view="circuit")))


# ------------------------------------------------------------------ paths, arrows, mathematics
def test_each_path_has_its_colour_its_dash_and_its_product_in_full() -> None:
    svg = svg_of("y=(x+w)*(w+1)", {"x": 2.0, "w": 1.0}, path=("w",))
    blue, red = THEMES["light"].paths[:2]
    assert f"stroke:{blue};stroke-width:2.4}}" in svg
    assert f"stroke:{red};stroke-width:2.4;stroke-dasharray:7,4" in svg
    text = "".join(words_of(svg))
    assert "∂y/∂w by the chain rule: two paths, multiply along, add" in text
    assert "y → a → w:   b · 1 = 2 · 1 = 2" in text
    assert "y → b → w:   a · 1 = 3 · 1 = 3" in text
    assert "∂y/∂w = 2 + 3 = 5   which is w.grad" in text
    assert not list(inked.faults(inked.read(svg)))


def test_what_is_off_the_paths_is_faint_and_can_be_read() -> None:
    svg = svg_of("y=(x+w)*(w+1)", {"x": 2.0, "w": 1.0}, path=("w",))
    theme = THEMES["light"]
    (x,) = [text for text in inked.read(svg).texts if text.words == "x" and text.ink.top > 60 and text.size > 18]
    assert x.colour == theme.muted
    assert f"stroke:{theme.faint}" in svg


def test_a_letter_that_a_path_has_as_a_factor_stands_at_its_circle() -> None:
    svg = svg_of("z=r*(1-h)+r*n", {"r": 0.3, "h": 0.5, "n": -0.2}, path=("r",))
    assert words_of(svg).count("a") == 2  # in the product, and above 1 - h, which is on no path
    source = gviz.SourceOptions(values={"x": 0.5, "t": 1.0}, frozen=("t",), flow=True)
    graph = gviz.read("y=(1-t)*log(x)", source).graph
    words = words_of(str(render(graph, "svg", RenderOptions(view="circuit", path=("x",)))))
    assert words.count("a") == 2  # above 1 - t, which needs no gradient


def test_the_paths_of_a_print_are_told_apart_by_their_dashes() -> None:
    svg = svg_of("y=a+b+c+d", {"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0}, path=("a", "b", "c", "d"), theme="print")
    for dash in (
        ";stroke-width:2.4}",
        ";stroke-width:2.4;stroke-dasharray:7,4",
        "stroke-dasharray:1.6,3",
        "stroke-width:1.2",
    ):
        assert f"stroke:#000000{dash}" in svg or f"stroke:#000000;stroke-width:2.4;{dash}" in svg or dash in svg


def test_a_path_is_drawn_as_a_circuit_unless_another_view_is_asked_for(gviz: Program) -> None:
    for words, is_circuit in (([], True), (["--view", "dataflow"], False), (["--symbols", "number"], False)):
        done = gviz("render", "y=(x+w)*(w+1)", "x=2", "w=1", "--path", "w", *words, "-o", "-", "--format", "svg")
        assert (done.status, done.err) == (0, "")
        assert ("value, above the line" in done.out) is is_circuit
    large = "y=" + "+".join(f"sin({n}*x)" for n in range(1, 40))
    done = gviz("render", large, "x=2", "--path", "x", "-o", "-", "--format", "svg")
    assert done.status == 0
    assert "at most 60" not in done.err
    assert "value, above the line" not in done.out


def test_arrows_both_draws_a_backward_arrow_beside_each_line(gviz: Program) -> None:
    words = ("render", "y=(x+w)*(w+1)", "x=2", "w=1", "-o", "-", "--format", "svg")
    one, both = gviz(*words, "--view", "circuit").out, gviz(*words, "--arrows", "both").out
    assert both.count("<polygon") == one.count("<polygon") + 5 + 1  # of the legend
    assert "gradient, on its way back" in both
    assert not list(inked.faults(inked.read(both)))
    done = gviz(*words, "--view", "teaching", "--arrows", "both")
    assert "the view teaching has no use for --arrows" in done.err


def test_math_off_writes_code() -> None:
    values = {"w": 0.5, "x": 2.0, "b": -0.3, "t": 1.0}
    texts = inked.read(svg_of("L=(tanh(w*x+b)-t)**2", values, math="off", legend=False)).texts
    assert {"L = (tanh(w * x + b) - t) ** 2", "z ** 2", "tanh(z)"} <= {text.words for text in texts}
    css = FACES["math"].css
    assert css not in svg_of("L=(tanh(w*x+b)-t)**2", values, math="off", legend=False)


def test_options_without_a_use_say_so(gviz: Program) -> None:
    words = (
        "--view",
        "circuit",
        "--rankdir",
        "TB",
        "--color-by",
        "value",
        "--ghosts",
        "-N",
        "fontname=Arial",
        "-o",
        "y.svg",
    )
    done = gviz("render", "y=x*w", "x=2", "w=1", *words)
    assert all(word in done.err for word in ("no use for", "--rankdir", "--color-by", "--ghosts", "-N"))


# ------------------------------------------------------------------ titles
@pytest.mark.parametrize(
    ("head", "words", "title"),
    [
        ('"""A neuron."""', [], "A neuron"),
        ('"""A neuron."""', ["--title", "Mine"], "Mine"),
        ("", [], "p.py: yy  =  x · x + x"),
        ("", ["--order", "1"], "p.py: ∂y/∂xderivative:∂y/∂x  =  "),
    ],
)
def test_the_title_of_a_script_is_asked_for_or_its_docstring_or_its_name(
    gviz: Program, head: str, words: list[str], title: str
) -> None:
    body = f"{head}\nimport torch\nx = torch.tensor(2.0, requires_grad=True)\ny = x * x + x\ny.backward(retain_graph=True)\n"
    (gviz.folder / "p.py").write_text(body, encoding="utf-8")
    done = gviz("render", "p.py", "--view", "circuit", *words, "-o", "-", "--format", "svg")
    assert done.status == 0, done.err
    assert "".join(words_of(done.out)).startswith(title)


def test_a_derivative_says_that_it_is_one_and_has_values_on_every_line(gviz: Program) -> None:
    words = ("render", "y=x**3+sin(x)", "x=2", "--order", "2", "--view", "circuit", "-o", "-", "--format", "svg")
    done = gviz(*words)
    assert "".join(words_of(done.out)).startswith("y  =  x3 + sin(x)second derivative:∂²y/∂x²  =  ")
    wires = inked.wires(done.out, THEMES["light"].value, THEMES["light"].gradient)
    assert len(wires) == 8
    assert not any(math.isnan(wire.value) for wire in wires)


def test_a_product_of_a_name_with_itself_has_a_sign() -> None:
    assert "x · x" in "".join(words_of(svg_of("y=x*x", {"x": 3.0})))


def test_the_derivative_of_relu_is_said_of_what_comes_in() -> None:
    text = "".join(words_of(svg_of("y=relu(w*x)", {"w": 2.0, "x": 3.0})))
    assert "[z > 0] = 1" in text


# ------------------------------------------------------------------ what happened
SQUARE = """\
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * x
    @staticmethod
    def backward(ctx, grad):
        return grad * 20
x = torch.tensor(2.0, requires_grad=True)
w = torch.tensor(3.0, requires_grad=True)
"""
LEAVES = "x = torch.tensor(2.0, requires_grad=True)\nw = torch.tensor(3.0, requires_grad=True)\n"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (f"{LEAVES}a = x * w\na.register_hook(lambda g: g * 10)\ny = a + w\ny.backward()\n", ["1 → 10: a hook, line 5"]),
        (f"{LEAVES}y = x * w\ny.backward()\nwith torch.no_grad():\n    w -= 1\nw.grad = None\n", ["now 2; grad cleared, line 8"]),
        (f"{LEAVES}y = x * w + w\ny.backward(inputs=[x])\n", ["left out by backward(inputs=[x]), line 5"]),
        (f"{LEAVES}(x * 4).backward()\ny = x * w + x\ny.backward()\n", ["4 (before) + 3 + 1 = 8"]),
        (f"{LEAVES}h = x * w\ny = h.detach() * w + h\ny.backward()\n", ["detached from h, line 5", "needs no gradient"]),
        (f"{LEAVES}with torch.no_grad():\n    t = x * 2\ny = t * w\ny.backward()\n", ["under no_grad, line 5"]),
        ("v = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)\na, b, c = v.unbind()\ny = a * b + c\ny.backward()\n",
         ["a = 1", "b = 2", "c = 3"]),
        (f"{SQUARE}y = Square.apply(x * w) * 3\ny.backward()\n", ["60", "180", "120"]),
        ("x = torch.ones(2, 3, requires_grad=True)\nmask = torch.eye(2, 3) > 0\ny = torch.where(mask, x, x * 2).sum()\ny.backward()\n",
         ["2 of 6 true", "2×3"]),
        ("P = torch.eye(3, requires_grad=True)\ny = P.sum() * 2 + P[0].sum() + P[0].sum()\ny.backward()\n",
         ["norm 6", "norm 1.7321", "sum: norm 8.4853"]),
        (f"{LEAVES}y = torch.log(-x) * w\ny.backward()\n", ["nan or inf begins here"]),
        (f"{LEAVES}y = x * w\n", ["no gradients: no backward ran"]),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.filterwarnings("ignore::gviz.GvizWarning")
def test_what_a_program_did_stands_in_the_circuit(tmp_path: Path, body: str, told: list[str]) -> None:
    svg = of_script(tmp_path, body)
    assert set(told) <= set(words_of(svg))
    assert not list(inked.faults(inked.read(svg)))


@pytest.mark.parametrize(("first", "is_alarm"), [("False", False), ("True", True)])
@pytest.mark.filterwarnings("ignore::gviz.GvizWarning")
def test_a_mask_of_infinities_is_no_alarm_unless_it_masks_a_whole_row(
    tmp_path: Path, first: str, *, is_alarm: bool
) -> None:
    body = f"""
S = torch.tensor([[1.0, 2.0], [0.0, 1.0]], requires_grad=True)
masked = S.masked_fill(torch.tensor([[{first}, True], [False, False]]), -torch.inf)
y = torch.softmax(masked, -1).sum()
y.backward()
"""
    assert ("nan or inf begins here" in words_of(of_script(tmp_path, body))) == is_alarm


def test_an_error_in_backward_is_told_where_it_stops(gviz: Program) -> None:
    body = f"import torch\n{LEAVES}a = torch.exp(x)\na += 1\ny = a * w\ny.backward()\n"
    (gviz.folder / "p.py").write_text(body, encoding="utf-8")
    text = " ".join(words_of(gviz("render", "p.py", "--view", "circuit", "-o", "-", "--format", "svg").out))
    assert "backward stops here" in text
    assert "is at version 1; expected version 0 instead" in text


@pytest.mark.parametrize("command", ["render p.py", "steps p.py --only backward", "render p.py --fit slide"])
def test_pytorchs_sentence_stands_whole_below_the_picture(gviz: Program, command: str) -> None:
    body = f"import torch\n{LEAVES}a = torch.exp(x)\na += 1\ny = a * w\ny.backward()\n"
    (gviz.folder / "p.py").write_text(body, encoding="utf-8")
    gviz(*command.split(), "-o", "out/p.svg" if "render" in command else "out/", "--format", "svg")
    last = max((gviz.folder / "out").glob("*.svg")).read_text(encoding="utf-8")
    text = " ".join(re.findall(r">([^<>]+)</text>", last.replace("\u00a0", " ").replace("&#160;", " ")))
    assert "is at version 1; expected version 0 instead. Hint: enable anomaly detection" in text
    assert text.index("check_nan=False)") > 0


def test_the_gradient_of_a_vector_root_is_no_quotient() -> None:
    source = gviz.SourceOptions(values={"x": [1.0, 2.0], "w": 3.0}, flow=True, grad_output="[1,10]")
    svg = str(render(gviz.read("y=x*w", source).graph, "svg", RenderOptions(view="circuit")))
    assert {"[1, 10]", "[3, 30]", "21", "gradient, below the line"} <= set(words_of(svg))


def test_two_roots_and_a_root_that_is_a_leaf_are_drawn() -> None:
    source = gviz.SourceOptions(values={"x": 2.0, "w": 3.0}, flow=True, roots=("a", "b"))
    svg = str(render(gviz.read("a=x*w; b=x+w", source).graph, "svg", RenderOptions(view="circuit")))
    assert not unheld(svg)
    assert "3 + 1 = 4" in words_of(svg)
    assert "2" in words_of(svg_of("y=x", {"x": 2.0}))


def test_a_large_tensor_has_its_norm_on_both_sides_of_a_line_and_its_size_beside_its_box() -> None:
    graph = gviz.read(
        "y=(W@x).sum()", gviz.SourceOptions(values={"W": [[1.0] * 3] * 3, "x": [1.0] * 3}, flow=True)
    ).graph
    words = words_of(str(render(graph, "svg", RenderOptions(view="circuit"))))
    assert words.count("norm 3") == 2  # the value and the gradient of W
    assert "3×3" in words


def test_a_long_chain_goes_on_in_a_second_row_and_each_line_in_its_own_place() -> None:
    text = "m=mean(x); d=x-m; v=mean(d**2); y=d/sqrt(v); L=(c*y).sum()"
    source = gviz.SourceOptions(values={"x": [1.0, 5.0], "c": [1.0, 3.0]}, flow=True)
    svg = str(render(gviz.read(text, source).graph, "svg", RenderOptions(view="circuit", fit="slide")))
    words = words_of(svg)
    assert all(words.count(number) >= 2 for number in ("1", "2"))  # where lines are cut
    assert not list(inked.faults(inked.read(svg)))


# ------------------------------------------------------------------ themes
def brightness(colour: str) -> float:
    """Return the relative luminance of a colour: https://www.w3.org/TR/WCAG21/#dfn-relative-luminance."""
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((brightness(one), brightness(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("name", ["light", "dark", "print"])
def test_every_text_has_the_contrast_that_a_reader_needs(name: str) -> None:
    theme = THEMES[name]
    on_page = (theme.ink, theme.muted, theme.value, theme.gradient, theme.boxes["error"].pen, *theme.paths)
    assert min(contrast(ink, theme.page) for ink in on_page) >= 4.5
    kinds = ("leaf", "operation", "output", "frozen", "constant", "error")
    assert min(contrast(theme.ink, theme.boxes[kind].fill) for kind in kinds) >= 4.5


def test_a_print_tells_gradients_from_values_without_colour() -> None:
    texts = inked.read(svg_of("y=x*w", {"x": 2.0, "w": 3.0}, theme="print", legend=False))
    svg = svg_of("y=x*w", {"x": 2.0, "w": 3.0}, theme="print", legend=False)
    slanted = {name for name, rules in re.findall(r"\.(a\d+)\{([^}]*)\}", svg) if "italic" in rules}
    found = re.findall(r'<text class="(a\d+)"[^>]*>([\d]+)</text>', svg)
    assert sorted((name in slanted, number) for name, number in found) == [
        (False, "2"), (False, "3"), (False, "6"), (True, "1"), (True, "2"), (True, "3")
    ]  # fmt: skip
    assert texts


def test_a_transparent_page_has_nothing_behind_the_texts() -> None:
    svg = svg_of("y=x*w", {"x": 2.0, "w": 3.0}, transparent=True)
    assert 'fill="#FFFFFF"' not in svg
    assert "<title>y = x * w = 6</title>" in svg  # what is read on a circle is its statement


def test_dashes_of_a_png_are_drawn_one_by_one() -> None:
    from gviz.pictures import sheet_of
    from gviz.render._xdot import background

    source = gviz.SourceOptions(values={"x": 2.0, "w": 3.0}, flow=True, frozen=("x",))
    sheet = sheet_of(gviz.read("y=x*w", source).graph, RenderOptions(view="circuit", legend=False))
    assert sheet is not None
    assert background(sheet, 96).count(" L 2 ") > 12


def test_what_comes_in_has_a_letter_of_its_own() -> None:
    words = words_of(svg_of("p=z*2; y=1/p", {"z": 2.0}))
    assert "z" in words  # the leaf
    assert any(word.startswith("u is what comes in") or "u" in word.split() for word in words)
    assert "z is what comes in" not in " ".join(words)


def test_the_letter_of_what_comes_in_is_none_that_is_differentiated(gviz: Program) -> None:
    asked = ("render", "y=log(x**2+1)*w; z=y/sin(w)", "x=1.5", "w=0.7", "--order", "2", "--wrt", "x")
    text = "".join(words_of(gviz(*asked, "--view", "circuit", "-o", "-", "--format", "svg").out))
    assert "cos(z)" not in text.replace(" ", "")  # z is y / sin(w) there


@pytest.mark.parametrize(
    ("formula", "order", "told"),
    [("y=x**2", 1, "2x"), ("y=x**3*w", 2, "6wx"), ("y=tanh(x)", 2, "−2y(1 − y2)"), ("y=sigmoid(x)", 1, "(1 − y)y")],
)
def test_the_title_of_a_derivative_is_written_as_lecturers_do(
    gviz: Program, formula: str, order: int, told: str
) -> None:
    svg = gviz(
        *("render", formula, "--order", str(order), "--wrt", "x"),
        *("--view", "circuit", "-o", "-", "--format", "svg"),
    ).out
    text = "".join(words_of(svg)).replace(" ", "")
    assert f"∂x{'²' * (order == 2)}={told}".replace(" ", "") in text


@pytest.mark.parametrize(
    ("text", "values", "told"),
    [
        ("L=-(t*log(p)+(1-t)*log(1-p))", {"t": 1.0, "p": 0.25}, "L=−(tlog(p)+(1−t)log(1−p))"),
        ("i=a*x; f=c*x; y=f*b+i", {"a": 2.0, "b": 3.0, "c": 4.0, "x": 1.0}, "i=axf=cxy=fb+i"),
        ("y=(a>b)*c+(a<b)*b", {"a": 9.0, "b": 7.0, "c": 4.0}, "y=[a>b]·c+[a<b]·b"),
    ],
)
def test_the_title_is_what_was_typed_without_letters_that_nobody_has_given(
    text: str, values: dict[str, float], told: str
) -> None:
    options = gviz.SourceOptions(values=values, flow=True, frozen=("t",) if "t" in values else ())
    svg = str(render(gviz.read(text, options, say=lambda _: None).graph, "svg", RenderOptions(view="circuit")))
    assert "".join(words_of(svg)).replace(" ", "").startswith(told)


def test_long_numbers_beside_two_arrows_have_places_of_their_own_on_a_slide() -> None:
    values = {"X": [[1, 2], [3, 4], [5, 6]], "w": [0.5, -1], "b": 1, "y": [1, 2, 3]}
    source = gviz.SourceOptions(values=values, flow=True, frozen=("X", "y"))
    graph = gviz.read("L=mean((X@w+b-y)**2)", source, say=lambda _: None).graph
    svg = str(render(graph, "svg", RenderOptions(view="circuit", fit="slide", arrows="both")))
    faults = list(inked.faults(inked.read(svg)))
    assert not [fault for fault in faults if "goes through" not in fault]  # no text stands on another
    assert len(faults) <= 1


def test_a_module_before_a_function_is_no_operand(tmp_path: Path) -> None:
    body = "from torch import nn\nfrom torch.nn import functional as fn\nw = torch.tensor([3.0, 4.0], requires_grad=True)\n"
    lines = "h = fn.relu(w)\ns = nn.functional.softplus(h)\ny = torch.linalg.vector_norm(s, ord=1)\ny.backward()\n"
    svg = of_script(tmp_path, f"{body}{lines}")
    text = "".join(words_of(svg))
    assert "vector_norm" in text
    assert not {one for one in ("nn.", "functional", "fn", "linalg") if one in text}
    assert "F" in "".join(words_of(of_script(tmp_path, f"{body}F = w * 2\ny = F.abs().sum()\ny.backward()\n")))


def test_results_with_one_name_have_no_value_of_another(tmp_path: Path) -> None:
    body = (
        "w = torch.tensor([3.0, 5.0, 7.0], requires_grad=True)\ny = 0\nfor wi in w:\n    y = y + wi**2\ny.backward()\n"
    )
    words = words_of(of_script(tmp_path, body))
    assert {"9", "25", "49", "83"} <= set(words)
    assert "7" not in words
    assert "wi = 7" in words


def test_where_no_letter_is_free_the_legend_says_so_of_z_in() -> None:
    picture = gviz.read("y=(1-z)*u*v*q*s", z=2, u=1, v=1, q=1, s=1, say=lambda _: None).graph
    assert "is what comes in" in str(render(picture, "svg", RenderOptions(view="circuit")))


@pytest.mark.parametrize(
    ("source", "has_dot", "text"),
    [
        ("s=(A*B.T).sum()", True, "s  =  ΣABT"),
        ("s=(A@B.T).sum()", False, "s  =  ΣABT"),
        ("s=(A*B@C).sum()", True, "s  =  Σ(AB)C"),
        ("s=(A@B*C).sum()", True, "s  =  ΣABC"),
        ("s=(A@B@C).sum()", False, "s  =  ΣABC"),
        ("s=(2*A@B).sum()", False, "s  =  Σ2AB"),
    ],
)
def test_a_product_of_elements_is_not_written_as_one_of_matrices(source: str, has_dot: bool, text: str) -> None:
    matrices = {name: [[1.0, 2.0], [3.0, 4.0]] for name in "ABC" if name in source}
    options = RenderOptions(view="circuit")
    graph = gviz.read(source, gviz.SourceOptions(values=matrices, flow=True)).graph
    content = CircuitContent(CircuitReader(drawn_formula(graph, options), options))
    title = typeset(content.titles[0], 10, content.arrays)
    assert (any(isinstance(part, Rule) for part in title.parts), title.text) == (has_dot, text)
