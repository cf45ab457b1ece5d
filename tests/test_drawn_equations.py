"""A picture is an equation: what its lines say is computed again, with the numbers that stand on the same picture."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fuzzing import relaxed
from hypothesis import assume, given, strategies as st

import gviz
from gviz import engine
from gviz.formulas.expressions import with_letters
from gviz.graphs import Graph
from gviz.passes.dataflow import dataflow, outputs_of
from gviz.pictures.circuit_reader import CircuitReader
from gviz.pictures.equations import Bracket
from gviz.pictures.options import SHEETS
from gviz.pictures.parts import drawn_formula
from gviz.pictures.spans import text_of
from gviz.pictures.steps import lines_at, steps_of
from gviz.pictures.views.matrices import EquationReader
from gviz.render import RenderOptions, render

VALUES = {
    "x": 1.5,
    "w": -0.75,
    "b": 0.4,
    "u": [0.5, -1.25],
    "v": [2.0, 0.8],
    "W": [[0.3, -0.6], [1.1, 0.9]],
    "c": [[0.7], [-0.2]],
}

SIGNS = str.maketrans({"·": "*", "²": "**2", "³": "**3", "−": "-", "×": "*", "↑": " ", "^": "**", "\u00a0": " "})

VIEWS = ["dataflow", "teaching", "path", "steps"]

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.py"))

FEW_DIGITS = 1e-5
"""Smaller numbers have so few digits on a picture that what is computed of them is another number."""

LARGE = frozenset({
    "contrastive_loss", "gradient_clipping", "gru", "maml", "neural_ode", "packed_sequences", "policy_gradient",
    "quant_words", "rnn_from_scratch", "seq2seq_attention", "tiny_gpt", "transformer_encoder",
})  # fmt: skip
"""Programs whose pictures have more than 60 boxes, or large tensors alone: nobody reads the numbers of so many."""

SEVERAL = {
    "loop": "y = 0\nfor wi in w:\n    y = y + wi**2 * torch.tanh(wi)\n",
    "gates": (
        "h, c = w[0] * 0, w[0] * 0\nfor x in [1.0, 0.5]:\n    i, f, g, o = (w * (h + x)).sigmoid()\n"
        "    c = f * c + i * g\n    h = o * torch.tanh(c)\ny = h * v[0]\n"
    ),
    "chunks": "p, q = w.chunk(2)\ny = (p / q).sum() * v.split(1)[1].sum()\n",
    "fields": "Q, R = torch.linalg.qr(w.view(2, 2))\ns, m = torch.var_mean(w)\ny = (Q * R).sum() * s + m * w.max(0)[0]\n",
}
"""Programs with operations that make several tensors, of which some have a name and others have none."""

REUSED = {
    "result": "x = torch.tensor(5.0)\ny = w * x\nx = y - 1\nx.backward()\n",
    "state": "h = torch.tensor([2.0, -3.0])\na = v * h\nh = a * 2\ny = (a * h).sum()\ny.backward()\n",
    "target": "t = torch.tensor([0.5, 2.0])\ne = v - t\nq = e**2\nt = q.sum()\nt.backward()\n",
    "test": (
        "x, t = torch.tensor(3.0), torch.tensor(2.0)\ny = (w * x - t) ** 2\ny.backward()\n"
        "x, t = torch.tensor([[7.0]]), torch.tensor(9.0)\np = (w * x - t) ** 2\n"
    ),
    "swap": "c, d = torch.tensor(3.0), torch.tensor(4.0)\ny = w * c + w * d\nc, d = d, c\ny.backward()\n",
    "alias": "b = w * 2\nc = b\nd = b * c\nb = d * w\nb.backward()\n",
    "attribute": "s = type('S', (), {})()\ns.x = torch.tensor(2.0)\ny = w * s.x\ns.x = s.x * 5\ny.backward()\n",
    "part": "x = torch.tensor(2.0)\ny = w * (x * 2)\nx = x + 1\nz = y * (x * 2)\nz.backward()\n",
    "local": "x = torch.tensor(2.0)\ndef f(x):\n    return w * (x * 2)\ny = f(x + 1)\nz = y * x\nz.backward()\n",
    "written": "h = w * 2\na = h * 3\nh += 1\ny = a * h\ny.backward()\n",
}
"""Programs with names that are other tensors' in the end."""

TENSOR = st.sampled_from(["u", "v", "(W@u)", "(W@v)", "W.sum(0)", "(u*x)", "(v+w)", "W[0]"])
MATRIX = st.sampled_from(["W", "(W+u)", "(W*v)", "(c*u)", "(W@W)", "W.T", "(c+v)", "(W-c)", "(W*x)", "(W@c+b)"])
TENSORS = st.recursive(
    TENSOR,
    lambda inner: st.one_of(
        st.builds("{}({})".format, st.sampled_from(["tanh", "sigmoid", "relu", "exp", "sin"]), inner),
        st.builds("({}{}{})".format, inner, st.sampled_from(["+", "-", "*"]), inner),
        st.builds("({}**2)".format, inner),
        st.builds("softmax({}, 0)".format, inner),
        st.builds("({}/(1+{}**2))".format, inner, inner),
    ),
    max_leaves=4,
)
NUMBERS = st.recursive(
    st.sampled_from(["x", "w", "b", "(x+1)", "(w*b)"]),
    lambda inner: st.one_of(
        st.builds("{}({})".format, st.sampled_from(["tanh", "sigmoid", "relu", "exp", "sin", "cos"]), inner),
        st.builds("({}{}{})".format, inner, st.sampled_from(["+", "-", "*"]), inner),
        st.builds("({}**{})".format, inner, st.sampled_from(["2", "3"])),
    ),
    max_leaves=5,
)
MATRICES = st.recursive(
    MATRIX,
    lambda inner: st.one_of(
        st.builds("{}({})".format, st.sampled_from(["tanh", "sigmoid", "relu", "exp", "sin"]), inner),
        st.builds("({}{}{})".format, inner, st.sampled_from(["+", "-", "*"]), MATRIX),
    ),
    max_leaves=3,
)
EXPRESSIONS = st.one_of(
    NUMBERS, st.builds("({}).{}()".format, st.one_of(TENSORS, MATRICES), st.sampled_from(["sum", "mean"]))
)


def graph_of(text: str) -> Graph:
    """Return the graph of an expression."""
    used = {name: value for name, value in VALUES.items() if re.search(rf"\b{name}\b", text)}
    options = gviz.SourceOptions(values=used, flow=True, dtype="float64")
    return gviz.read(f"root={text}", options, say=lambda _: None).graph


def lines_of(graph: Graph, view: str) -> list[str]:
    """Return the lines of text on a picture of a graph, as they stand in its boxes and beside its lines."""
    if view == "steps":
        shown, options = dataflow(graph), RenderOptions(precision=8, max_chars=400, view="dataflow")
        steps = steps_of(shown, options)
        boxes = [line for series in lines_at(shown, options, steps).values() for line in series[-1]]
        captions = [line for step in steps for line in step.caption]
        return joined(text_of(line) for line in (*boxes, *captions))
    leaves = sorted(node.name for node in graph.nodes if node.kind == "leaf" and node.name)
    path = tuple(leaves[:1]) if view == "path" else ()
    wanted = RenderOptions(view="" if path else view, path=path, precision=8, max_chars=400, legend=bool(path))
    dot = str(render(graph, "dot", wanted)).replace("&#160;", " ")
    lines = [unescape(re.sub(r"<[^>]*>", "", row)) for row in re.findall(r"<TD[^>]*>((?:(?!</?T[DR]).)*)</TD>", dot)]
    return joined(lines)


def lines_of_sheet(graph: Graph, view: str) -> list[str]:
    """Return what a circuit, or a row of matrices, says of numbers: the name of each, how it is made, and its value."""
    options = RenderOptions(view=view, precision=8, max_chars=400)
    shown = drawn_formula(graph, options)
    if view == "matrices":
        parts = [part for row in EquationReader(shown, options).rows() for part in row if isinstance(part, Bracket)]
        grids = [[", ".join(numbers) for numbers in one.value.rows] if one.value else [] for one in parts]
        texts = [grid[0] if len(grid) == 1 else f"[[{'], ['.join(grid)}]]" for grid in grids if grid]
        return [f"{one.tip} = {text}" for one, text in zip(parts, texts, strict=True)]
    cards, wires = CircuitReader(shown, options).circuit()
    nodes = [shown.by_id[card.node] for card in cards]
    ends = [(node, card.end.value) for node, card in zip(nodes, cards, strict=True) if card.end is not None]
    pairs = [*((nodes[wire.source], wire.value) for wire in wires), *ends]
    made = (f"{node.name} = {node.expression or node.name} = " * (" = " not in value) + value for node, value in pairs)
    return [line for line in made if not line.endswith("= ")]


def joined(lines: Iterable[str]) -> list[str]:
    """Return lines with those that begin with a sign at the end of the line before."""
    text = "\n".join(line for line in lines if line.strip())
    return re.sub(r"\n *([=≈+]) ", r" \1 ", text).splitlines()


class _Tensors(ast.NodeTransformer):
    """Makes a tensor of each list of numbers that is not an argument, and a number of a comparison in brackets."""

    def visit_List(self, node: ast.List) -> ast.AST:
        if isinstance(node.elts[0], ast.Compare):
            return ast.BinOp(self.visit(node.elts[0]), ast.Mult(), ast.Constant(1.0))
        return ast.Call(ast.Name("tensor", ast.Load()), [node], [])

    def visit_Call(self, node: ast.Call) -> ast.AST:
        node.func = self.visit(node.func)
        node.args = [one if isinstance(one, ast.List) else self.visit(one) for one in node.args]
        return node


def evaluated(side: str, names: dict[str, Any]) -> np.ndarray[Any, Any] | None:
    """Return what one side of an equation comes to; None where it is not arithmetic on what the picture shows."""
    try:
        tree = ast.fix_missing_locations(_Tensors().visit(ast.parse(side.strip(), mode="eval")))
        functions = {
            name: getattr(engine, name)
            for name in ("tanh", "sigmoid", "relu", "exp", "sin", "cos", "softmax", "sum", "mean")
        }
        found = eval(  # noqa: S307 - the picture's own text
            compile(tree, "<picture>", "eval"),
            {**functions, "tensor": lambda numbers: engine.tensor(numbers, dtype=engine.float64), **names},
        )
        return np.asarray(found.detach().numpy() if isinstance(found, engine.Tensor) else found, dtype=float)
    except (SyntaxError, NameError, TypeError, AttributeError, ValueError):
        return None


def checked(lines: list[str]) -> int:
    """Check all equations of a picture's lines against its own numbers; return how many there were."""
    lines = [re.sub(r"^to \S+:|\(before\)|   .*$|^(forward|done|backward).*?  ", "", line) for line in lines]
    plain = (re.sub(r"^.*→ \w+:|(\w+)\.grad\b", r"grad_\1", line).translate(SIGNS) for line in lines)
    sides = [[side.strip() for side in line.split(" = ")] for line in plain]
    names: dict[str, Any] = {}
    for parts in sides:
        if len(parts) > 1 and parts[0].isidentifier() and not parts[0].startswith("grad"):
            value = evaluated(parts[-1], {})
            if value is not None and not np.any((value != 0) & (np.abs(value) < FEW_DIGITS)):
                names[parts[0]] = engine.tensor(value.tolist(), dtype=engine.float64)
    count = 0
    for parts in sides:
        known = [(part, evaluated(part, names)) for part in parts]
        values = [(part, value) for part, value in known if value is not None]
        for part, value in values[:-1]:
            last = values[-1][1]
            if value.shape != last.shape and 1 not in (value.size, last.size):
                continue
            assert np.allclose(value, last, rtol=1e-5, atol=1e-6, equal_nan=True), (
                " = ".join(parts),
                part,
                value,
                last,
            )
            count += 1
    return count


@pytest.mark.fuzz
@pytest.mark.parametrize("view", VIEWS)
@relaxed(25)
@given(text=EXPRESSIONS)
def test_what_a_picture_says_holds_with_its_own_numbers(view: str, text: str) -> None:
    assume(text not in VALUES)
    checked(lines_of(graph_of(text), view))


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("text", ["((x*w+b)**2+tanh(x))", "(u*tanh(u)+u/(1+u**2)).sum()", "((W*u+c)*(W@W)).sum()"])
def test_the_equations_of_a_picture_are_found(view: str, text: str) -> None:
    lines = lines_of(graph_of(text), view)
    assert checked(lines) >= 2, lines


def in_digits(lines: list[str]) -> int:
    """Check what boxes compute against all digits of the numbers that they print; return how many equations there were.

    An equation that does not hold so has the sign ≈, and is left out.
    """
    rows = [re.split(r" ([=≈]) ", line.strip().translate(SIGNS)) for line in lines]
    ends = {row[0]: evaluated(row[-1], {}) for row in rows if len(row) > 1}
    names: dict[str, Any] = {
        name: engine.tensor(value.tolist(), dtype=engine.float64) for name, value in ends.items() if value is not None
    }
    count = 0
    for row in rows:
        if len(row) != 5 or row[3] != "=" or not row[0].isidentifier() or row[0] == "grad":
            continue
        value, shown = evaluated(row[2], names), evaluated(row[4], {})
        if value is not None and shown is not None and value.shape == shown.shape:
            numbers = re.findall(r"-?\d+(?:\.(\d+))?(?:e([-+]\d+))?", row[4])
            room = np.array([10.0 ** (int(exponent or 0) - len(digits)) for digits, exponent in numbers])
            near = np.abs(value - shown).ravel() <= 0.50001 * room * (room < 1) + 3e-7 * np.abs(shown).ravel()
            assert near.all(), (row, value)
            count += 1
    return count


@pytest.mark.fuzz
@relaxed(15)
@given(text=EXPRESSIONS)
def test_an_equation_of_rounded_numbers_holds_in_all_their_digits_or_says_that_it_does_not(text: str) -> None:
    assume(text not in VALUES)
    used = {name: value for name, value in VALUES.items() if re.search(rf"\b{name}\b", text)}
    graph = gviz.read(f"root={text}", gviz.SourceOptions(values=used, flow=True), say=lambda _: None).graph
    for view in ("torchviz", "teaching"):
        dot = str(render(graph, "dot", RenderOptions(view=view, max_chars=400))).replace("&#160;", " ")
        rows = re.findall(r"<TD[^>]*>((?:(?!</?T[DR]).)*)</TD>", dot)
        in_digits(joined(unescape(re.sub(r"<[^>]*>", "", row)) for row in rows))


def test_an_equation_with_wrong_digits_is_found() -> None:
    assert in_digits(["a = 0.1019", "b = sqrt(a) ≈ 0.3193", "c = a * 2 = 0.2038"]) == 1
    with pytest.raises(AssertionError):
        in_digits(["a = 0.6256", "b = a ** 2 = 0.3915"])


def test_a_wrong_number_is_found() -> None:
    lines = lines_of(graph_of("((x*w+b)**2+tanh(x))"), "dataflow")
    wrong = [re.sub(r"^(b|grad) = ([-\d.]+)", r"\1 = 7\2", line.strip()) for line in lines]
    with pytest.raises(AssertionError):
        checked(wrong)


@pytest.mark.parametrize(
    "program", [one for one in PROGRAMS if one.stem not in LARGE], ids=lambda program: program.stem
)
def test_what_the_pictures_of_a_program_say_holds_with_their_own_numbers(program: Path) -> None:
    graph = gviz.read(program, gviz.SourceOptions(flow=True, lines=True), say=lambda _: None).graph
    saved = {key for node in graph.nodes for key, _ in node.recorded.attrs}  # options of a call are no equations
    shown = [line for view in ("dataflow", "teaching", "steps") for line in lines_of(graph, view)]
    assert checked([line for line in shown if not saved & set(re.findall(r"(\w+) = ", line))])


@pytest.mark.parametrize("program", SEVERAL)
def test_each_of_several_results_has_the_number_that_equations_are_made_with(program: str, tmp_path: Path) -> None:
    script = tmp_path / f"{program}.py"
    leaves = "w, v = (torch.tensor(one, requires_grad=True) for one in ([0.3, -1.2, 0.7, 2.1], [0.5, -1.25]))\n"
    script.write_text(f"import torch\n{leaves}{SEVERAL[program]}y.backward()\n")
    graph = gviz.read(script, gviz.SourceOptions(flow=True, lines=True), say=lambda _: None).graph
    made = [one for several in outputs_of(with_letters(graph)).values() for one in several.values()]
    names = {one.name for one in made if one.shape == () and one.kind == "operation"}
    for view in ("circuit", "matrices", "dataflow", "steps"):
        lines = [line.strip() for line in (lines_of_sheet if view in SHEETS else lines_of)(graph, view)]
        assert checked(lines) > 1, view
        assert names == {name for name in names for line in lines if re.match(rf"{name} =.* [-−\[\d.]+", line)}, view


@pytest.mark.parametrize("program", REUSED)
def test_a_name_that_is_given_away_has_the_number_that_equations_are_made_with(program: str, tmp_path: Path) -> None:
    script = tmp_path / f"{program}.py"
    script.write_text(
        "import torch\nw = torch.tensor(3.0, requires_grad=True)\n"
        f"v = torch.tensor([0.5, -1.25], requires_grad=True)\n{REUSED[program]}"
    )
    graph = gviz.read(script, gviz.SourceOptions(flow=True, lines=True), say=lambda _: None).graph
    for view in ("circuit", "matrices", "dataflow", "steps"):
        lines = [line.strip() for line in (lines_of_sheet if view in SHEETS else lines_of)(graph, view)]
        assert checked(lines) > 0, view
