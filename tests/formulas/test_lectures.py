"""Derivatives as lectures write them: each is computed from its text, and compared with what backward hands on."""

from __future__ import annotations

import ast
import re
from typing import Any

import numpy as np
import pytest

from gviz import engine as torch
from gviz.answers import explain
from gviz.answers.latex import prose
from gviz.derivations.derivation import Derivation
from gviz.formulas.formula import GRAD, Formula
from gviz.formulas.lectures import JACOBIANS, Facts, lecture
from gviz.formulas.local import Local, local_derivative
from gviz.graphs import Edge
from gviz.sources import SourceOptions

VALUES = {
    "x": [1.0, 2.5, 4.0], "W": [[1.0, 2.5, 4.0], [0.5, -1.0, 3.0]], "c": [1.0, 0.0, 2.0], "t": [1.0, 0.0, 1.0],
    "S": [[2.0, 0.5], [0.5, 3.0]], "k": [1, 2], "T": [[[1.0, -2.0], [0.5, 3.0]], [[-1.0, 0.1], [0.2, 0.4]]],
}  # fmt: skip

EXPRESSIONS = """
norm(x); x.norm(1); norm(x*0.5+c); (W.norm(dim=1)*k).sum(); W.norm(dim=1,keepdim=True).sum(); x.dist(c)
std(x); var(x); var(x,correction=0); (W.std(1)*k).sum(); (W.std(1,keepdim=True)*W).sum(); (W.var(0)*x).sum()
x.max(); x.min(); x.amax(); x.amin(); x.median(); (c-1).abs().max(); (W.amax(0)*x).sum(); (W.max(dim=1)[0]*k).sum()
(W.min(dim=0).values*x).sum(); x.prod(); (W.prod(1)*k).sum(); (x.cumsum(0)*c).sum(); (W.cumsum(1)*W).sum()
(x.cumprod(0)*c).sum(); (layer_norm(x,[3])*c).sum(); (layer_norm(W,[3])*x).sum(); logsumexp(x,0); (W.logsumexp(1)*k).sum()
(softmax(x,0)*c).sum(); (softmax(W,0)*x).sum(); (softmax(W,1)*x).sum(); (log_softmax(x,0)*c).sum()
(log_softmax(W,1)*x).sum(); (softmax(T,1)*T).sum(); (softmax(T,0)*T).sum(); cross_entropy(W,k); nll_loss(log_softmax(W,1),k)
mse_loss(x,c); mse_loss(x,c,reduction='sum'); smooth_l1_loss(x,c); huber_loss(x,c); binary_cross_entropy(sigmoid(x),t)
binary_cross_entropy_with_logits(x,t); S.det(); S.trace(); x[1]; x[-1]; (W.reshape(6)*W.T.reshape(6)).sum(); x.nansum()
(inverse(S)*S).sum(); (S.inverse()@S.T*S).sum(); (x.repeat(2)*W.reshape(6)).sum(); (x.expand(2,3)*W).sum(); (W.mean(1)*k).sum(); mean(x)
(cat([x,c])*W.reshape(6)).sum(); (cat([W,W*2],1)**2).sum(); (cat([k,c])*cat([c,k])).sum(); (stack([x,c])*W).sum()
(stack([x,c],1)*W.T).sum(); (W[1]*x).sum(); (W[:,2]*k).sum(); (x[1:]*k).sum(); (x[::2]*k).sum(); (W[:,1:]**2).sum()
(W[:1]**3).sum(); (T[:,:,1:]**2).sum(); (diagonal(S)*k).sum(); (cdist(W,W+c)**2).sum(); (cdist(W,x.reshape(1,3)+1)**3).sum()
norm(x,3); norm(x-2.2,4); slogdet(S)[1]; (logsigmoid(x)*c).sum(); (logsigmoid(x*-3)*c).sum()
""".replace("\n", ";").split(";")


def value(name: str) -> Any:
    """Return a function of the engine by its name; those of lectures are not all in it."""
    known = {"clip": torch.clamp, "maximum": lambda one, least: one.clamp(min=least)}
    if name in ("zeros", "ones", "eye"):
        return lambda *sizes: getattr(torch, name)(*sizes, dtype=torch.float64)
    return known.get(name) or getattr(torch, name, None) or getattr(torch.nn.functional, name)


def computed(text: str, names: dict[str, Any]) -> Any:
    """Return what a symbol comes to as an array; of a Jacobian with columns for the vectors in it."""
    formula = Formula.read(text)
    assert formula is not None, text

    class Reader(ast.NodeTransformer):
        def visit_List(self, node: ast.List) -> ast.AST:
            return ast.BinOp(self.generic_visit(node).elts[0], ast.Mult(), ast.Constant(1.0))  # type: ignore[attr-defined]

    tree = ast.fix_missing_locations(Reader().visit(ast.Expression(formula.node)))
    functions = {name: value(name) for name in formula.names - names.keys()}
    if "one_hot" in functions:
        functions["one_hot"] = lambda at, count: torch.nn.functional.one_hot(torch.as_tensor(at).long(), count)
    return eval(compile(tree, "<symbol>", "eval"), {**functions, **names})  # noqa: S307 - gviz's own symbol


def jacobian(text: str, names: dict[str, Any]) -> Any:
    """Return the matrix that a Jacobian is, whose names are vectors: columns, but within a diagonal."""
    columns = {name: one.reshape(-1, 1) for name, one in names.items()}
    size = next(iter(names.values())).numel()
    own = {"I": torch.eye(size, dtype=torch.float64), "diag": lambda column: torch.diag(column.reshape(-1))}
    return computed(text, {**columns, **own})


def array(numbers: Any) -> Any:
    """Return the elements of numbers as a tensor."""
    return torch.tensor(numbers.nested(), dtype=torch.float64)


def check(edge: Edge, arrived: Any, names: dict[str, Any]) -> None:
    """Compare what a step hands on with what its symbol makes of the gradient that arrives."""
    symbol, handed = edge.flow.symbol, array(edge.flow.handed)
    if edge.flow.local is not None:
        found = computed(symbol, names)
        local = array(edge.flow.local)
        assert np.allclose((found + 0 * local).numpy() if torch.is_tensor(found) else found, local.numpy()), symbol
        return
    rows = re.findall(r"\w+\[([:, ijk]+)\]", symbol)
    if GRAD in symbol:
        names = {**names, GRAD: arrived}
        assert np.allclose(computed(symbol, names).numpy(), handed.numpy()), (symbol, computed(symbol, names), handed)
        return
    if not rows:
        found = arrived.reshape(1, -1) @ jacobian(
            symbol, {k: v for k, v in names.items() if re.search(rf"\b{k}\b", symbol)} or {"x": arrived}
        )
        assert np.allclose(found.numpy().reshape(-1), handed.numpy().reshape(-1)), symbol
        return
    at = [part.strip() for part in rows[0].split(",")]
    at += [":"] * (handed.dim() - len(at))
    for place in np.ndindex(*(size for size, one in zip(handed.shape, at, strict=True) if one != ":")):
        inner = iter(place)
        row = tuple(slice(None) if one == ":" else next(inner) for one in at)
        used = set(re.findall(r"(\w+)\[", symbol))
        own = {name: one[row] for name, one in names.items() if name in used}
        text = re.sub(r"(\w+)\[[:, ijk]+\]", r"\1", symbol)
        found = arrived[row].reshape(1, -1) @ jacobian(text, own)
        assert np.allclose(found.numpy().reshape(-1), handed[row].numpy().reshape(-1)), symbol


@pytest.mark.parametrize("text", [text.strip() for text in EXPRESSIONS if text.strip()])
def test_a_symbol_is_what_backward_does(text: str) -> None:
    used = {name: one for name, one in VALUES.items() if re.search(rf"\b{name}\b", text)}
    found = explain(f"y={text}", options=SourceOptions(values=used, dtype="float64"), say=lambda _: None)
    assert isinstance(found.content, Derivation)
    nodes = (*found.content.start_nodes, *found.content.operations)
    names = {node.name: array(node.numbers) for node in nodes if node.name and node.numbers and node.numbers.elements}
    steps = [
        (edge, path, at) for chain in found.content.chains for path in chain.paths for at, edge in enumerate(path.edges)
    ]
    assert steps
    for edge, path, at in steps:
        assert "J(" not in edge.flow.symbol, edge.flow.symbol
        before = path.gradients[at - 1] if at else None
        check(edge, array(before) if before is not None else torch.tensor(1.0, dtype=torch.float64), names)


def test_extremes_that_several_elements_share_are_divided() -> None:
    both, one = Facts((), ties=2), Facts((), ties=1)
    known = {"self": Formula.parse("x"), "result": Formula.parse("y")}
    found = [lecture("MaxBackward1", "self", known, Facts((3,)), facts) for facts in (both, one)]
    assert [str(each.formula) for each in found if each] == ["[x == y]/2", "[x == y]"]


@pytest.mark.parametrize("label", ["HardshrinkBackward0", "SoftshrinkBackward0"])
def test_a_comparison_has_no_opposite_where_there_is_nan(label: str) -> None:
    plain, nan = Facts((2,), has_zeros=False), Facts((2,), has_zeros=False, has_nan=True)
    found = [local_derivative(label, 0, ["x"], "y", {"lambd": "0.5"}, facts=[one, one]) for one in (plain, nan)]
    assert found == [Local("[absolute(x) > 0.5]", True), Local("where(absolute(x) <= 0.5, 0, 1)", True)]


def test_relu_at_nan_has_the_factor_that_pytorch_has() -> None:
    found = explain("y=relu(x).sum()", options=SourceOptions(values={"x": ["nan", 1.0, -2.0]}), say=lambda _: None)
    assert "where(a <= 0, 0, 1)  [1, 1, 0]" in str(found)


@pytest.mark.parametrize(
    ("text", "symbol"),
    [
        ("(layer_norm(x,[3],c,c)*x).sum()", "grad @ J(layer_norm)"),
        ("(batch_norm(W,None,None,training=True)*x).sum()", "grad @ J(batch_norm)"),
        ("(group_norm(T,1)*T).sum()", "grad @ J(group_norm)"),
        ("cholesky(S).sum()", "grad @ J(cholesky)"),
        ("svd(S)[1].sum()", "grad @ J(svd)"),
        ("S.pinverse().sum()", "grad @ J(pinv)"),
    ],
)
def test_a_formula_longer_than_a_line_is_a_jacobian_with_a_name_and_a_sentence(text: str, symbol: str) -> None:
    used = {name: one for name, one in VALUES.items() if re.search(rf"\b{name}\b", text)}
    found = explain(f"y={text}", options=SourceOptions(values=used), say=lambda _: None)
    assert isinstance(found.content, Derivation)
    assert symbol in found.content.symbols
    function = symbol.removeprefix("grad @ J(").removesuffix(")")
    for form in ("text", "latex", "markdown"):
        assert "Backward" not in found.text(form)
    assert f"J({function}) is the Jacobian of {function}: " in " ".join(str(found).split())


def test_the_note_on_a_jacobian_tells_that_of_each_input_and_of_eval_mode() -> None:
    """The matrix that is printed for a weight, or in eval mode, is another one than that for x in training."""
    given = {"x": [1.0, 2.0, 4.0], "w": [1.0, 2.0, 3.0], "b": [0.0, 1.0, 0.0]}
    options = SourceOptions(values=given)
    found = explain("y=layer_norm(x,[3],w,b)[0]", options=options, say=lambda _: None)
    told = " ".join(str(found).split())
    assert "for the weight w it is diag(z), and for the bias I" in told
    assert "in eval mode it is w·I/s" in JACOBIANS["batch_norm"]
    assert not any("[U+" in prose(text) for text in JACOBIANS.values())
    assert "$^{\\top}$" in found.text("latex")
