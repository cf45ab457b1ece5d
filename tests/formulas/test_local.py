"""Local derivatives as symbols: each one, computed with the program's numbers, is the factor that backward multiplies by."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gold import assert_gold
from graphs import node, numbers
from scripts import nested
from table_samples import sample

import gviz
from gviz import engine as torch
from gviz.autograd.row import ROWS
from gviz.flow import engine_of, flow
from gviz.formulas.facts import facts_about
from gviz.formulas.formula import UNKNOWN, Formula
from gviz.formulas.lectures import Facts
from gviz.formulas.local import Local, local_derivative, with_formula, with_symbols
from gviz.formulas.operands import rows_by_label
from gviz.formulas.symbolic import Symbol, applied
from gviz.graphs import Edge, Flow, Graph
from gviz.graphs.numbers import Numbers
from gviz.sources import SourceOptions
from gviz.walk import walk

VALUES = {"x": 1.3, "w": 0.7, "c": -0.4}

EXPRESSIONS = [
    *("y=x+w", "y=x-w", "y=x*w", "y=x/w", "y=x**w", "y=x**3", "y=2**x", "y=2-x", "y=-x", "y=exp(x)", "y=log(x)", "y=sqrt(x)"),
    *("y=rsqrt(x)", "y=sin(x)", "y=cos(x)", "y=tan(x)", "y=tanh(x)", "y=sigmoid(x)", "y=relu(x)", "y=relu(c)", "y=abs(c)"),
    *("y=reciprocal(x)", "y=square(x)", "y=sinh(x)", "y=cosh(x)", "y=log1p(x)", "y=expm1(x)", "y=log2(x)", "y=log10(x)"),
    *("y=exp2(x)", "y=asin(c)", "y=acos(c)", "y=atan(x)", "y=erf(x)", "y=softplus(x)", "y=leaky_relu(c)", "y=elu(c)"),
    *("y=silu(x)", "y=gelu(x)", "y=maximum(x,w)", "y=minimum(x,w)", "y=clamp(x,0,1)", "y=clamp(w,0,1)", "y=hypot(x,w)"),
    *("y=lerp(x,w,0.3)", "y=addcmul(x,w,c)", "y=x*x", "y=(x+w)*(w+1)", "e=x*w+log(x)*c", "y=tanh(x*w+c)", "y=(x-3)**2/2"),
]  # fmt: skip

FUNCTIONS: dict[str, Any] = {
    **{
        name: getattr(np, name)
        for name in ("exp", "log", "sin", "cos", "sinh", "cosh", "where", "minimum", "logical_and")
    },
    "erf": math.erf,
    "sgn": np.sign,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "π": math.pi,
    "sqrt": math.sqrt,
    "masked_fill": lambda value, mask, other: np.where(mask, other, value),
}


def computed(symbol: str, names: dict[str, Any]) -> float:
    """Return what a symbol comes to, read as mathematics is written."""
    text = symbol
    for sign, python in (("²", "**2"), ("³", "**3"), ("^", "**"), ("·", "*")):
        text = text.replace(sign, python)
    text = re.sub(r"\[(.*?)\]", r"(\1)", text)  # [x > 0] is 1 where that holds
    with np.errstate(all="ignore"):
        return float(eval(text, {**FUNCTIONS, **names}))  # noqa: S307 - gviz's own symbol


def read(text: str, **values: Any) -> Graph:
    """Return the graph of an expression with the flow of its gradient."""
    texts = {name: str(value) for name, value in values.items() if re.search(rf"\b{name}\b", text)}
    return gviz.read(text, SourceOptions(values=texts, flow=True)).graph


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_a_symbol_comes_to_the_factor_that_backward_multiplies_by(text: str) -> None:
    graph = read(text, **VALUES)
    names = {row.name: nested(row.value) for row in graph.tensors}
    nodes = {node.id: node for node in graph.nodes}
    factors = [edge for edge in graph.edges if nodes[edge.target].kind == "operation"]
    assert factors
    for edge in factors:
        assert edge.flow.symbol, edge
        arrived, factor = nested(nodes[edge.target].grad.arrived), nested(edge.flow.local)
        assert computed(edge.flow.symbol, names) == pytest.approx(factor, rel=1e-5), edge.flow.symbol
        assert isinstance(arrived, float)
        assert isinstance(factor, float)
        assert nested(edge.flow.handed) == pytest.approx(arrived * factor, rel=1e-5)


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_a_leaf_s_gradient_is_the_sum_of_what_is_handed_on_to_it(text: str) -> None:
    graph = read(text, **VALUES)
    nodes = {node.id: node for node in graph.nodes}
    leaf_of = {edge.target: edge.source for edge in graph.edges if nodes[edge.target].kind == "accumulate"}
    sums: dict[str, float] = {}
    for edge in graph.edges:
        if edge.source in leaf_of:
            handed = nested(edge.flow.handed)
            assert isinstance(handed, float)
            sums[leaf_of[edge.source]] = sums.get(leaf_of[edge.source], 0) + handed
    assert sums == {node: pytest.approx(nested(nodes[node].grad.value), rel=1e-5) for node in sums}
    assert len(sums) == sum(node.kind == "leaf" for node in graph.nodes)


def test_tensors_have_a_factor_for_each_element_where_there_is_one() -> None:
    graph = read("y=(tanh(x)*w).sum()", x=[0.5, -1.0], w=[2.0, 3.0])
    nodes = {node.id: node for node in graph.nodes}
    found = {
        (nodes[edge.target].label, edge.slot): edge.flow
        for edge in graph.edges
        if nodes[edge.target].kind == "operation"
    }
    assert found["TanhBackward0", 0].symbol == "1 - a²"
    assert nested(found["TanhBackward0", 0].local) == pytest.approx(
        [1 - math.tanh(x) ** 2 for x in (0.5, -1.0)], rel=1e-6
    )
    assert nested(found["MulBackward0", 0].local) == [2.0, 3.0]


def test_what_is_no_factor_is_named_for_what_it_does_to_the_gradient() -> None:
    graph = read("y=(x@w).sum()", x=[[1, 2], [3, 4]], w=[[1, 0], [0, 1]])
    nodes = {node.id: node for node in graph.nodes}
    symbols = {
        edge.slot: (edge.flow.symbol, edge.flow.local)
        for edge in graph.edges
        if nodes[edge.target].label == "MmBackward0"
    }
    assert symbols == {0: ("grad @ w.T", None), 1: ("x.T @ grad", None)}


@pytest.mark.parametrize(
    ("label", "operands", "symbols"),
    [
        ("AddBackward0", ["a", "b"], ["1", "1"]),
        ("SubBackward0", ["a", "b"], ["1", "-1"]),
        ("MulBackward0", ["a", "b"], ["b", "a"]),
        ("MulBackward0", ["a + 1", "b - c"], ["b - c", "a + 1"]),
        ("DivBackward0", ["a", "b"], ["1/b", "-(a/b/b)"]),
        ("ExpBackward0", ["a"], ["y"]),
        ("ReluBackward0", ["a"], ["[y > 0]"]),
        ("SinBackward0", ["x (1st)"], ["cos(x (1st))"]),
        ("MulBackward0", ["□", "b"], ["b", "□"]),
    ],
)
def test_symbols_are_simplified_by_rules_that_change_no_value(
    label: str, operands: list[str], symbols: list[str]
) -> None:
    found = [local_derivative(label, slot, operands, "y", {}) for slot in range(len(operands))]
    assert found == [Local(symbol, is_factor=True) for symbol in symbols]


def test_an_operation_that_the_table_lacks_has_no_symbol() -> None:
    assert local_derivative("CubeBackward", 0, ["x"], "y", {}) is None
    assert local_derivative("MulBackward0", 2, ["a", "b"], "y", {}) is None
    nodes = (node("n0", "operation", "CubeBackward", name="y", slots=1), node("n1", "leaf", name="x"))
    (edge,) = with_symbols(Graph(nodes, (Edge("n1", "n0", flow=Flow(local=numbers(3.0))),), ("n0",))).edges
    assert (edge.flow.symbol, edge.flow.local) == ("", None)


def test_a_running_sum_of_a_vector_has_the_jacobian_of_ones_below_the_diagonal() -> None:
    facts = (facts_about(numbers([1.0, 2.0, 3.0])), facts_about(numbers([1.0, 3.0, 6.0])))
    found = local_derivative("CumsumBackward0", 0, ["x"], "y", {"dim": "0"}, facts=facts)
    assert found == Local("tril(ones(3, 3))", is_factor=False)


def test_of_a_tensor_without_numbers_the_sizes_are_known() -> None:
    assert facts_about(Numbers((2,), "float32")) == Facts((2,))


def test_the_product_of_two_that_are_not_known_is_no_square() -> None:
    assert [str(applied("mul", Symbol.parse(text), Symbol.parse(text))) for text in ("x", UNKNOWN)] == ["x²", "□·□"]


def test_powers_and_products_are_written_as_mathematics_does() -> None:
    shown = {
        text: str(Formula.parse(text)) for text in ("3 * x ** 2", "x ** 3 / y", "x ** (w - 1)", "x ** 25", "x ** 3.5")
    }
    assert shown == {
        "3 * x ** 2": "3·x²",
        "x ** 3 / y": "x³/y",
        "x ** (w - 1)": "x^(w - 1)",
        "x ** 25": "x^25",
        "x ** 3.5": "x^3.5",
    }


SAMPLED = [key for key, row in ROWS.items() if row.node not in (None, "NotImplemented")]


def locals_of(label: str, attributes: dict[str, str], held: dict[str, str] | None = None) -> list[Local | None]:
    """Return the local derivatives of an operation whose inputs are a, b ..., and whose result is y, one for each input."""
    count = len(rows_by_label()[label].edges)
    return [local_derivative(label, slot, "abcdefgh"[:count], "y", attributes, constants=held) for slot in range(count)]


def test_the_symbols_of_all_rows_are_those_in_the_file() -> None:
    lines = []
    for label, row in sorted(rows_by_label().items()):
        options = {f"{name}_sym_sizes": "(2, 3)" for name in row.parameters} | {"dim": "0", "keepdim": "False"}
        symbols = locals_of(label, options)
        texts = [f"{'' if one.is_factor else 'not a factor: '}{one.symbol}" if one else "none" for one in symbols]
        lines.append(f"{label}: {'; '.join(texts)}\n")
    assert_gold("symbols.txt", "".join(lines))


@pytest.mark.parametrize(
    "label", sorted(label for label, row in rows_by_label().items() if row.edges and not row.takes_list)
)
def test_what_is_saved_without_a_name_or_freed_changes_no_symbol_into_another(label: str) -> None:
    names = rows_by_label()[label].parameters
    for one in locals_of(label, {}, dict.fromkeys(names, UNKNOWN)):
        assert one is None or Formula.read(one.symbol) is not None
    for plain, freed in zip(locals_of(label, {}), locals_of(label, dict.fromkeys(names, "freed")), strict=True):
        assert freed in (None, plain)


def used(argument: Any) -> Any:
    """Return the copy of an argument, made a leaf if it can be one: an operation may write into the copy."""
    is_real = isinstance(argument, torch.Tensor) and argument.is_floating_point()
    return argument.requires_grad_().clone() if is_real else argument


@pytest.mark.parametrize("key", SAMPLED)
def test_the_derivative_of_every_operation_that_runs_is_a_formula_or_none(key: str) -> None:
    """With what its node has really saved: of 600 formulas many ask for more than a symbol has, each in its own way."""
    row = ROWS[key]
    args = list(sample(row, 0, np.random.default_rng(0)))
    for place in row.edges:
        args[place] = [used(one) for one in args[place]] if isinstance(args[place], list) else used(args[place])
    made = row(*args)
    results = [
        one for one in (made if isinstance(made, tuple) else (made,)) if getattr(one, "grad_fn", None) is not None
    ]
    graph = with_formula(walk({"y": results[0]}, {}, flow=flow(engine_of(results[0]), results[:1], jacobians=True)))
    for edge in graph.edges:
        assert not edge.flow.symbol or Formula.read(edge.flow.symbol) is not None, edge


def test_a_target_that_backward_has_freed_has_its_name(tmp_path: Path) -> None:
    lines = "import torch", "z = torch.ones(1, 2, requires_grad=True)", "t = torch.tensor([1])"
    (tmp_path / "loss.py").write_text("\n".join([*lines, "torch.nn.functional.cross_entropy(z, t).backward()"]))
    graph = gviz.read(str(tmp_path / "loss.py"), SourceOptions(flow=True, lines=True)).graph
    assert "-one_hot(t, 2)" in {edge.flow.symbol for edge in graph.edges}
