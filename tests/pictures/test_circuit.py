"""The view circuit: what stands on it, and that it can be read: texts are on no text, no line and no outline."""

from __future__ import annotations

import re

import inked
import pytest
from fuzzing import relaxed
from hypothesis import given, strategies as st

import gviz
from gviz.layout import RenderWarning
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
