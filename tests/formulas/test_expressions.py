"""What each operation computes, in the names of the program: read off the graph, with as few brackets as Python needs."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

import gviz
from gviz import engine as torch
from gviz.formulas.expressions import known_name, letters, with_letters, words_of
from gviz.formulas.formula import UNKNOWN
from gviz.formulas.operations import operator_of
from gviz.graphs import Edge, Graph, Node, Recorded
from gviz.walk import walk


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * 3 * ctx.saved_tensors[0] ** 2


def leaves() -> dict[str, Any]:
    space = {name: torch.tensor(value, requires_grad=True) for name, value in {"x": 2.0, "w": 3.0, "c": 5.0}.items()}
    return {**space, "A": torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True), "k": torch.tensor(7.0)}


def expression(text: str) -> str:
    """Return what the last operation of a program is said to compute, if the graph alone is known."""
    space = leaves()
    root = eval(text, {"torch": torch, "Cube": Cube, **space})  # noqa: S307 - the test's own
    params = {name: tensor for name, tensor in space.items() if name != "k"}
    graph = gviz.graph(root, params=params)
    return words_of(graph)[next(node.id for node in graph.nodes if node.kind == "operation")].expression


@pytest.mark.parametrize(
    "text",
    [
        *(
            "x + w * c",
            "(x + w) * c",
            "x - (w - c)",
            "x - w - c",
            "x / (w * c)",
            "x / w * c",
            "x / w / c",
            "x * (w / c)",
            "x + (w - c)",
        ),
        *(
            "-(x + w)",
            "-x * w",
            "-(x * w)",
            "(-x) ** 2",
            "-x ** 2",
            "(x + w) ** 2",
            "x ** w",
            "(x ** w) ** c",
            "2 ** x",
        ),
        *("A @ A", "A.T @ A", "(A @ A).T", "x - (w + c)", "x + w - c"),
    ],
)
def test_brackets_stand_where_python_needs_them(text: str) -> None:
    assert expression(text.replace("A.T", "A.t()").replace(").T", ").t()")) == text


def test_what_is_read_off_the_graph_means_what_the_program_says() -> None:
    for text in ("x+w*c-x/w", "(x-w)*(c-x)", "x-(w-c)/x", "-(x-w)**3", "x**(w/c)", "x*(w*c)"):
        shown = expression(text)
        assert UNKNOWN not in shown
        if shown:  # that of an operation that holds long ones is left out
            assert ast.dump(ast.parse(shown)) == ast.dump(ast.parse(text)), shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("x+1", "x + □"),
        ("1+x", "x + □"),
        ("2-x", "□ - x"),
        ("10-x*2", "□ - x * 2"),
        ("x*k", "x * 7"),
        ("k/x", "7 / x"),
        ("x**3", "x ** 3"),
        ("torch.exp(x+w)", "exp(x + w)"),
        ("torch.maximum(x,w)", "maximum(x, w)"),
        ("torch.stack([x,w,c]).sum()", "sum(stack(x, w, c))"),
        ("torch.relu(A@A)", "relu(A @ A)"),
        ("Cube.apply(x+w)", "Cube(x + w)"),
        # options, but for defaults; where one is not known, or there are many, that is said
        ("x.add(w,alpha=2)", "add(x, w, alpha=2)"),
        ("torch.rsub(x,3,alpha=2)", "rsub(x, …, alpha=2)"),
        ("torch.div(x,w,rounding_mode='floor')", "div(x, w, rounding_mode='floor')"),
        ("A.triu()", "triu(A)"),
        ("A.triu(1).transpose(-1,-2)", "transpose(triu(A, 1), -1, -2)"),
        ("A.sum((0,1))", "sum(A, (0, 1))"),
        ("A.sum(-1,keepdim=True)", "sum(A, -1, keepdim=True)"),
        ("torch.softmax(A,0)", "softmax(A, 0)"),
        ("A.norm()", "norm(A)"),
        ("A.norm(p=1)", "norm(A, 1)"),
        ("torch.nn.functional.leaky_relu(A,0.3)", "leaky_relu(A, 0.3)"),
        ("torch.nn.functional.leaky_relu(A)", "leaky_relu(A)"),
        ("torch.nn.functional.gelu(A,approximate='tanh')", "gelu(A, approximate='tanh')"),
        ("torch.nn.functional.mse_loss(A,A.exp(),reduction='sum')", "mse_loss(A, exp(A), reduction='sum')"),
        ("torch.nn.functional.mse_loss(A,A.exp())", "mse_loss(A, exp(A))"),
        ("torch.cat([A,A],1)", "cat(A, A, dim=1)"),
        ("A.reshape(-1)", "view(A, 4)"),
        ("A[:,torch.tensor([0])]", "index(A, …)"),
        ("A.topk(1).values", "topk(A, …).values"),
        ("A.clamp(max=1)", "clamp(A, max=1)"),
        (
            "torch.nn.functional.avg_pool2d(A[None],2,1,1,True)",
            "avg_pool2d(unsqueeze(A, 0), (2, 2), (1, 1), padding=(1, 1), ceil_mode=True)",
        ),
        # nothing rather than half of it
        ("(x+w+c)*(x-w-c)*(x+w)", ""),
    ],
)
def test_constants_functions_and_what_is_not_known(text: str, shown: str) -> None:
    assert expression(text) == shown


def test_a_statement_of_the_program_stands_for_what_it_computes() -> None:
    x = torch.tensor(2.0, requires_grad=True)
    y = x * 3 + 1
    graph = walk({"y": y}, {"x": x, "y": y}, statements={"y": "x * 3 + 1", "z": "none"})
    said = [word.expression for word in words_of(graph).values()]
    assert sorted(said) == ["x * 3", "x * 3 + 1"]


@pytest.mark.parametrize(
    ("statement", "operands"),
    [
        ("w * k + b", [("w", "k"), ("w * k", "b")]),
        ("b + k * w", [("b", "k * w"), ("k", "w")]),
        ("(w - k) ** 2", [("w", "k"), ("w - k",)]),
        ("torch.exp(w / k).sum()", [("w", "k"), ("w / k",), ("torch.exp(w / k)",)]),
        ("-(w @ fake.detach())", [("w", "fake.detach()"), ("□",)]),
        ("exp(w / k)", [("w", "k"), ("w / k",)]),
    ],
)
def test_an_operand_that_the_graph_lacks_is_read_off_the_statement_around_it(
    statement: str, operands: list[tuple[str, ...]]
) -> None:
    names = {"w": torch.tensor([1.0, 2.0], requires_grad=True), "b": torch.tensor(2.0, requires_grad=True)}
    k = torch.tensor([3.0, 4.0])
    made = eval(statement, {"torch": torch, "exp": torch.exp, "k": k, "fake": k, **names})  # noqa: S307 its texts are above
    graph = walk({"y": made}, {**names, "y": made}, statements={"y": statement})
    assert sorted(words.operands for words in words_of(graph).values()) == sorted(operands)


def test_a_statement_of_another_form_names_no_operand() -> None:
    w, k = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0)
    y = (w * k) + (w * 5)
    for other in ("f(w, k) + g(w)", "w / k + w", "(v * k) + (v * 5)", "y"):
        graph = walk({"y": y}, {"w": w, "y": y}, statements={"y": other})
        operands = [words.operands for words in words_of(graph).values() if "w" in words.operands]
        assert operands == [("w", "3"), ("w", "5")], other  # what the operations have saved


def test_the_number_that_the_graph_lacks_is_read_off_a_statement() -> None:
    x = torch.tensor(2.0, requires_grad=True)
    y = 10 - x
    z = y * 4
    graph = walk({"z": z}, {"x": x, "y": y, "z": z}, statements={"y": "10 - x", "z": "y * 4"})
    assert [word.operands for word in words_of(graph).values()][-1] == ("y", "4")


def test_results_without_names_get_the_first_free_letters_in_the_order_of_computing() -> None:
    x, a = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    graph = with_letters(walk({"y": (x * a).exp().log()}, {"x": x, "a": a}))
    assert {node.label: node.name for node in graph.nodes if node.kind == "operation"} == {
        "LogBackward0": "y",
        "ExpBackward0": "c",
        "MulBackward0": "b",
    }
    free = letters()
    assert [next(free) for _ in range(25)][22:] == ["z", "aa", "ab"]


def test_no_result_gets_the_letter_of_a_number_of_the_program() -> None:
    x = torch.tensor(2.0, requires_grad=True)
    graph = with_letters(walk({"y": (x * 3).exp()}, {"x": x}, statements={"y": "exp(x*a)"}))
    assert [node.name for node in graph.nodes if node.label == "MulBackward0"] == ["b"]


@pytest.mark.parametrize(
    ("label", "sign"),
    [("AddBackward0", "+"), ("MulBackward0", "×"), ("DivBackward0", "÷"), ("PowBackward0", "^"), ("RsubBackward1", "−"),
     ("MmBackward0", "@"), ("NegBackward0", "−"), ("LogSoftmaxBackward0", "log_softmax"), ("Cube", "Cube"),
     ("CubeBackward", "Cube"), ("Log1PBackward0", "log1p"), ("MaxPool2DWithIndicesBackward0", "max_pool2d"),
     ("UpsampleBilinear2DBackward0", "upsample_bilinear2d"), ("SmoothL1LossBackward0", "smooth_l1_loss"),
     ("Col2ImBackward0", "col2im"), ("FftR2CBackward0", "fft_r2c")],
)  # fmt: skip
def test_an_operation_has_the_sign_of_a_formula(label: str, sign: str) -> None:
    assert operator_of(label) == sign


def test_a_deep_graph_is_read_in_a_loop() -> None:
    nodes = [Node(f"n{index}", "operation", "AddBackward0", recorded=Recorded(slots=1)) for index in range(20_000)]
    graph = Graph(tuple(nodes), tuple(Edge(f"n{index + 1}", f"n{index}") for index in range(19_999)), ("n0",))
    assert len(words_of(graph)) == 20_000


def test_one_of_several_outputs_has_the_program_s_name_though_the_operation_has_a_letter() -> None:
    nodes = {
        "parts": Node("parts", "operation", name="a", is_letter=True, recorded=Recorded(outputs=("p", "q"))),
        "one": Node("one", "operation", name="b", is_letter=True),
    }
    edges = Edge("parts", "y", output=0), Edge("parts", "y", output=1), Edge("one", "y")
    assert [known_name(edge, nodes, {"parts": [], "one": []}) for edge in edges] == ["p", "q", ""]


def test_the_number_of_a_module_is_no_number_in_a_formula(tmp_path: Path) -> None:
    """The modules of a Sequential that is no variable are called 0, 1, 2: relu(0) and 2 ** 2 would be arithmetic."""

    def drawn(result: Any, net: Any) -> str:
        return Path(gviz.graph((result**2).mean(), model=net).save(tmp_path / "net.dot", by="module")).read_text()

    x, nn = torch.ones(4, 2), torch.nn
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    dot = drawn(net(x), net)
    assert not {one for one in ("relu(0)", "2 ** 2", "mean(2 ** 2)") if one in dot}
    assert "ReluBackward0" in dot
    fc = nn.Linear(2, 3)
    assert "relu(fc)" in drawn(fc(x).relu(), nn.ModuleDict({"fc": fc}))
