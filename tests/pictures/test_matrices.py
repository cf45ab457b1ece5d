"""The view matrices: what stands on it can be read, and whoever computes with it gets what it shows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import inked
import numpy as np
import pytest
from fuzzing import relaxed
from hypothesis import given, strategies as st

import gviz
from gviz import engine
from gviz.graphs import Graph
from gviz.graphs.numbers import Numbers
from gviz.passes.dataflow import dataflow
from gviz.pictures.equations import Bracket, NumberGrid, Part, Phrase, Sign, is_result, number_grid
from gviz.pictures.parts import drawn_formula
from gviz.pictures.typesetting import text_box
from gviz.pictures.views.matrices import NOTHING, EquationReader, with_same_numbers
from gviz.render import RenderOptions, render

W, X, M, V = (
    [[1.0, 2.0], [3.0, -4.0]],
    [[1.0, 2.0], [0.0, 1.0], [-1.0, 1.0]],
    [[0.5, 0, 1], [-0.2, 0.1, 0.3]],
    [5.0, 6.0],
)

EQUATIONS: dict[str, dict[str, object]] = {
    "y=W@x+b": {"W": W, "x": V, "b": [0.5, -1.0]},
    "y=sum(relu(W@x+b))": {"W": W, "x": V, "b": [0.5, -1.0]},
    "h=tanh(W1@x+b1); y=sum(W2@h+b2)": {"W1": X, "x": [0.3, 0.2], "b1": V[:1] * 3, "W2": M, "b2": [0.5, 0.0]},
    "Z=X@W; P=softmax(Z,1); L=-sum(Y*log(P))": {"X": X, "W": W, "Y": [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]},
    "L=cross_entropy(X@W,t)": {"X": X, "W": W, "t": [0, 1, 1]},
    "y=sum((X@W+b)**2)": {"X": [*M, [1.0, 2.0, 3.0]], "W": [*M, [1.0, 0.0, 1.0]], "b": [0.1, 0.2, 0.3]},
    "y=mean(relu(X@W+b))": {"X": "randn(8, 6)", "W": "randn(6, 3)", "b": "randn(3)"},
    "y=sum(X@W.T+b)": {"X": X, "W": W, "b": [1.0, 2.0]},
    "y=sum(X.sum(1)*v)+sum(X.sum(0)*w)": {"X": X, "v": [1.0, 2.0, 3.0], "w": V},
    "z=x*w; y=sum(z)": {"x": V, "w": [0.5, -1.0]},
    "y=sum(x*x+W@x)": {"x": V, "W": W},
    "y=sum(x@W)": {"x": V, "W": W},
    "h=relu(W@x); y=sum(h+x)": {"x": V, "W": W},
    "y=norm(x/2-w)+x@w": {"x": V, "w": [1.0, 3.0]},
    "y=sum(x*w)": {"x": [float(number) for number in range(12)], "w": [0.5] * 12},
    "y=sum((X*2)**2)": {"X": [W, W]},
    "S=Q@K.T/sqrt(2); A=softmax(S,1); O=A@v; y=sum(O**2)": {"Q": W, "K": X, "v": [0.1, 0.2, 0.3]},
    "y=mean(X.sum(0,keepdim=True)/n)": {"X": X, "n": 2.0},
    "y=sum(relu(big@v))": {"big": "randn(20, 20)", "v": "randn(20)"},
}

MATRICES: st.SearchStrategy[str] = st.deferred(
    lambda: st.one_of(
        st.sampled_from(["X", "Y"]),
        st.builds("({}@W)".format, MATRICES),
        st.builds("{}({})".format, st.sampled_from(["tanh", "relu", "sigmoid", "exp"]), MATRICES),
        st.builds("softmax({},1)".format, MATRICES),
        st.builds("({}{}{})".format, MATRICES, st.sampled_from("+-*"), MATRICES | st.sampled_from(["b", "c", "2"])),
        st.builds("({}/(1+{}**2))".format, MATRICES, MATRICES),
    )
)
VECTORS: st.SearchStrategy[str] = st.deferred(
    lambda: st.one_of(
        st.sampled_from(["b", "v"]),
        st.builds("{}.sum(0)".format, MATRICES),
        st.builds("(W@{})".format, VECTORS),
        st.builds("({}{}{})".format, VECTORS, st.sampled_from("+-*"), VECTORS),
        st.builds("tanh({})".format, VECTORS),
    )
)
ROOTS = st.one_of(
    st.builds("{}({})".format, st.sampled_from(["sum", "mean", "norm"]), MATRICES | VECTORS),
    st.builds("sum({}@{})".format, MATRICES, VECTORS),
    st.builds("{}@{}".format, VECTORS, VECTORS),
    st.builds("sum({}.sum(1)**2)".format, MATRICES),
).filter(lambda text: len(re.findall(r"[-+*/@]|[a-z]{3,}", text)) <= 14)
VALUES = {
    "X": [[0.5, -1.0], [0.25, 1.5], [-0.75, 1.0]], "Y": [[1.0, 0.5], [2.0, -1.0], [0.5, 0.25]], "W": [[1.0, 0.5], [-0.5, 0.75]],
    "b": [0.5, -0.25], "v": [1.0, 2.0], "c": 1.5,
}  # fmt: skip


ROUNDING = 0.5e-4
"""What four decimals leave out."""


def graph_of(text: str, values: dict[str, Any], **more: Any) -> Graph:
    used = {name: value for name, value in values.items() if re.search(rf"\b{name}\b", text)}
    return gviz.read(text, gviz.SourceOptions(values=used, flow=True, **more), say=lambda _: None).graph


def svg_of(graph: Graph, **options: Any) -> str:
    return str(render(graph, "svg", RenderOptions(view="matrices", **options)))


def reader_of(graph: Graph) -> EquationReader:
    return EquationReader(
        with_same_numbers(drawn_formula(graph, RenderOptions(view="matrices"))), RenderOptions(view="matrices")
    )


def test_the_rows_of_several_matrices_are_set_apart_and_those_of_one_are_not() -> None:
    found = [number_grid(Numbers.of(value), 4) for value in (W, [W, W, W])]
    assert [grid and (len(grid.rows), grid.every) for grid in found] == [(2, 0), (6, 2)]


@pytest.mark.parametrize(
    ("b", "remark"),
    [
        ([1.0, 2.0], "to each row"),
        ([[1.0], [2.0], [3.0]], "to each column"),
        (2.0, "to every element"),
        ([[1.0, 2.0]] * 3, None),
    ],
)
def test_a_sign_says_where_the_smaller_operand_is_spread_to(b: object, remark: str | None) -> None:
    svg = svg_of(graph_of("Z=X+b; y=sum(Z)", {"X": X, "b": b}))
    assert re.findall(">(to each row|to each column|to every element)<", svg) == [remark] * (remark is not None)


# ---------------------------------------------------------------- what is shown holds
class Shown(np.ndarray):
    """A matrix, of which a row, or a column, is a column."""

    def __getitem__(self, key: Any) -> Any:
        return np.asarray(super().__getitem__(key)).reshape(-1, 1)


def array_of(grid: NumberGrid) -> Any:
    """Return what is written in brackets."""
    numbers = np.array([[float(text) for text in row] for row in grid.rows])
    return (numbers.T if grid.is_turned else numbers).view(Shown)


def computed(code: str, names: dict[str, Any], like: Any) -> Any:
    """Return what somebody gets who computes a formula with numbers, in the sizes of the gradient that it is for."""

    def added(value: Any) -> Any:
        spread = tuple(axis for axis in (0, 1) if like.shape[axis] == 1 < value.shape[axis])
        return np.asarray(value).sum(spread, keepdims=True)

    def one_hot(at: Any, count: int) -> Any:
        return np.eye(count)[np.asarray(at, int).ravel()]

    by_row = re.search(r"\w\[([a-z])\]", code)
    count = like.shape[1] if by_row else like.size
    functions = {name: getattr(np, name) for name in ("exp", "log", "sqrt", "sin", "cos", "tanh", "sign")}
    functions |= {"sum": added, "one_hot": one_hot, "I": np.eye(count), "ones": np.ones((count, 1))}
    functions |= {"diag": lambda column: np.diag(np.asarray(column).ravel())}
    text = code.replace("1 @", "ones @")
    everything = {**functions, **names}
    if by_row:
        return np.vstack([eval(text, {**everything, by_row[1]: at}) for at in range(like.shape[0])])  # noqa: S307 - gviz's own
    value = np.asarray(eval(text, everything), float)  # noqa: S307
    return value.reshape(like.shape) if value.size == like.size else np.broadcast_to(value, like.shape)


def nudged(names: dict[str, Any], seed: int) -> dict[str, Any]:
    """Return the numbers as they may have been before they were rounded."""
    random = np.random.default_rng(seed)
    return {name: value + random.choice([-ROUNDING, ROUNDING], value.shape) for name, value in names.items()}


def arrays_of(brackets: list[Bracket]) -> dict[str, Any]:
    """Return what is written in brackets by the names above them."""
    whole = (part for part in brackets if part.tip and part.value is not None and not part.value.is_cut)
    return {part.tip.partition(" = ")[0]: array_of(part.value) for part in whole if part.value is not None}


def results(row: list[Part], at: int) -> Bracket:
    """Return what the operation makes that a part of a row is an operand of."""
    place = next(
        place for place in range(at + 1, len(row)) if not isinstance(row[place], Sign | Bracket) or is_arrow(row[place])
    )
    while not (isinstance(row[place - 1], Sign) and is_arrow(row[place - 1])) and text_of(row[place - 1]) not in (
        "=",
        "≈",
    ):
        place += 1
    found = row[place]
    assert isinstance(found, Bracket)
    return found


def is_arrow(part: Part) -> bool:
    return isinstance(part, Sign) and part.is_arrow


def text_of(part: Part) -> str:
    return "" if isinstance(part, Bracket) else part.box.text


def wrong(graph: Graph) -> Iterator[str]:
    """Yield the formulas that do not hold with the numbers beside them, and the sums."""
    reader = reader_of(graph)
    rows = reader.rows()
    brackets = [part for row in rows for part in row if isinstance(part, Bracket)]
    everywhere = arrays_of(brackets)
    for row in rows:
        names = {**everywhere, **arrays_of([part for part in row if isinstance(part, Bracket)])}
        for at, part in enumerate(row):
            if not isinstance(part, Bracket) or not part.note.code or part.grad is None or part.grad.is_cut:
                continue
            made = results(row, at)
            if made.grad is None or made.grad.is_cut:
                continue
            code = part.note.code
            if set(re.findall(r"[A-Za-z_]\w*", code)) & (
                {other.tip.partition(" = ")[0] for other in brackets} - {*names}
            ):
                continue
            like = array_of(part.grad)
            known = {**names, reader.letter: array_of(made.grad)}
            with np.errstate(all="ignore"):
                value = computed(code, known, like)
                others = [computed(code, nudged(known, seed), like) for seed in range(4)]
            room = 4 * np.max([np.abs(other - value) for other in others], axis=0) + ROUNDING * (1 + np.abs(like))
            if not (np.abs(value - like) <= room).all():
                yield f"{code} for {part.tip}: {value.tolist()} is not {like.tolist()}"
        if isinstance(row[1], Bracket) and row[1].kind == "grad":
            *parts, total = (
                array_of(part.value) for part in row if isinstance(part, Bracket) and part.value is not None
            )
            if not np.allclose(sum(parts), total, atol=1e-3):
                yield f"a sum is not {total.tolist()}"


@pytest.mark.parametrize("text", EQUATIONS)
def test_who_computes_a_formula_with_the_numbers_shown_gets_the_gradient_shown(text: str) -> None:
    graph = graph_of(text, EQUATIONS[text])
    assert not list(wrong(graph))
    told = [part.note.code for row in reader_of(graph).rows() for part in row if isinstance(part, Bracket)]
    assert any(told)


@pytest.mark.fuzz
@pytest.mark.filterwarnings("ignore")
@relaxed(25)
@given(ROOTS, st.sampled_from(["none", "slide", "a4"]), st.sampled_from(["light", "dark", "print"]))
def test_random_equations_hold_and_can_be_read(text: str, fit: str, theme: str) -> None:
    graph = graph_of(f"y={text}", VALUES)
    assert not list(wrong(graph))
    assert not list(inked.faults(inked.read(svg_of(graph, fit=fit, theme=theme))))


# ---------------------------------------------------------------- it can be read
@pytest.mark.filterwarnings("ignore:the smallest type", "ignore:there are no numbers of gradients")
@pytest.mark.parametrize("fit", ["none", "slide", "a4"])
@pytest.mark.parametrize("text", EQUATIONS)
def test_no_text_stands_on_a_text_a_line_or_an_outline(text: str, fit: str) -> None:
    graph = graph_of(text, EQUATIONS[text])
    theme = {"none": "light", "slide": "dark", "a4": "print"}[fit]
    assert not list(inked.faults(inked.read(svg_of(graph, fit=fit, theme=theme))))


def test_the_gradient_of_a_vector_is_not_written_as_a_derivative_of_it() -> None:
    source = gviz.SourceOptions(values={"W": [[1, 2], [3, 4]], "x": [1, 2]}, flow=True, grad_output="[1,-1]")
    svg = str(render(gviz.read("y=W@x", source).graph, "svg", RenderOptions(view="matrices")))
    assert "∂" not in svg
    assert "gradient, below the value" in svg


def test_a_group_of_a_saved_graph_does_not_look_like_a_leaf() -> None:
    graph = gviz.read("h=W@x; y=h.sum()", W=W, x=V).graph
    reader = reader_of(graph.changed(nodes=tuple(
        node._replace(kind="group") if node.name == "h" else node for node in graph.nodes
    )))  # fmt: skip
    (group,) = (node for node in reader.graph.nodes if node.kind == "group")
    assert reader.bracket(group, None, NOTHING).kind == "group"


def numbers_in(graph: Graph) -> dict[str, tuple[object, ...] | None]:
    """Return the elements of each tensor, by its name or the letter it has got."""
    shown = with_same_numbers(drawn_formula(graph, RenderOptions(view="matrices")))
    return {node.name or "": node.numbers.elements if node.numbers else None for node in shown.nodes}


def test_a_result_without_numbers_has_those_of_the_tensor_it_is_in_other_sizes() -> None:
    w, x = engine.tensor(W, requires_grad=True), engine.tensor(V)
    turned = (w.t().t() @ x).sum()
    assert [*numbers_in(gviz.graph(turned, params={"W": w})).values()].count((1.0, 2.0, 3.0, -4.0)) == 2
    assert (1.0, 3.0, 2.0, -4.0) in numbers_in(gviz.graph(turned, params={"W": w})).values()
    product = ((w * 2).t()).t()
    back = numbers_in(gviz.graph(product, params={"W": w}))
    assert [*back.values()].count((2.0, 4.0, 6.0, -8.0)) == 2
    assert (2.0, 6.0, 4.0, -8.0) in back.values()


def test_a_detached_tensor_has_its_own_numbers_and_a_number_without_names_is_a_constant(tmp_path: Path) -> None:
    (tmp_path / "cut.py").write_text(
        f"import torch\nW = torch.tensor({W}, requires_grad=True)\n((W.detach() @ W).sum()).backward()\n"
    )
    assert numbers_in(gviz.read(tmp_path / "cut.py").graph)["W.detach()"] == (1.0, 2.0, 3.0, -4.0)
    shown = with_same_numbers(dataflow(gviz.read("y=sum(eye(2)@W)", W=W).graph))
    assert {node.name: node.kind for node in shown.nodes}["eye(2)"] == "constant"


def test_the_first_part_of_a_tensor_gives_its_numbers_to_what_is_made_of_it_alone(tmp_path: Path) -> None:
    (tmp_path / "parts.py").write_text(
        f"import torch\nW = torch.tensor({W}, requires_grad=True)\np, q = W.split(1)\n(q.t() + p.t()).sum().backward()\n"
    )
    elements = [*numbers_in(gviz.read(tmp_path / "parts.py").graph).values()]
    assert elements.count((1.0, 2.0)) == 2, "p and its transpose"


@pytest.mark.parametrize(("sign", "may_be_cut"), [(",", False), ("=", True), ("≈", True)])
def test_a_row_is_cut_behind_a_result_and_not_between_the_operands_of_a_function(
    sign: str, *, may_be_cut: bool
) -> None:
    row: list[Part] = [
        Bracket("leaf"),
        Phrase(text_box(sign, 20)),
        Bracket("leaf"),
        Sign(text_box("f", 20), is_arrow=True),
        Bracket("leaf"),
    ]
    assert is_result(row, 2) == may_be_cut


@pytest.mark.parametrize(
    ("formula", "operands"),
    [
        ("z=where(x>0, x**2, -x)", ["a", "b", "c"]),
        ("z=where(w>0, x, x)", ["a", "x", "x"]),
        ("z=x.lerp(w**2, 0.5)", ["x", "a"]),
        ("z=w-x", ["w", "x"]),
    ],
)
def test_the_operands_of_a_function_stand_in_the_order_of_its_call(formula: str, operands: list[str]) -> None:
    reader = reader_of(graph_of(f"{formula}; y=sum(z*w)", {"x": [-1.0, 2.0, 3.0], "w": [1.0, 2.0, 3.0]}))
    node = next(one for one in reader.nodes.values() if one.name == "z")
    assert [reader.nodes[edge.source].name for edge in reader.operands(node)] == operands
