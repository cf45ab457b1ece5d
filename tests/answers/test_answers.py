"""An explanation in each format: what it says, how wide it is, and that LaTeX is whole."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gviz import engine
from gviz.answers import FORMATS, Explanation, PageStyle, explain, subject_of
from gviz.answers.latex import math, name_of, prose, tensor
from gviz.answers.terminal import TerminalWriter
from gviz.derivations.derivation import Derivation
from gviz.errors import RenderError
from gviz.graphs.numbers import Numbers
from gviz.sources import SourceOptions
from gviz.text import display_width

SOURCES: dict[str, tuple[str, dict[str, Any]]] = {
    "article": ("y=(x+w)*(w+1)", {"x": 2, "w": 1}),
    "tensors": ("L=(relu(x@W+b)**2).sum()", {"x": [[1, 2]], "W": [[1, 2], [3, 4]], "b": [0.5, -30]}),
    "large": ("L=(x@W).sum()", {"x": "ones(100,100)", "W": "ones(100,100)"}),
    "long": ("y=-2*x**2/w-exp(-x)*sqrt(w)*theta_1+a_long_name_of_a_weight*tanh(x)", {"x": 0.001}),
    "nan": ("y=log(x)*0+x/w", {"x": 0, "w": -3}),
    "deep": ("y=x" + "; y=y*1.01+w" * 60, {"x": 1, "w": 2}),
    "many": ("y=x" + "; y=y+y" * 60, {"x": 1}),
    "greek": ("α_1=β*x; y=softplus(α_1)+maximum(x,β)+ŷ*résumé", {"x": 2}),
}
WORDS = (
    "AddBackward0",
    "SoftmaxBackward",
    "ConvolutionBackward0",
    "AccumulateGrad",
    "Trying to backward through the graph a second time",
)


def explanation(name: str) -> Explanation:
    if name not in SOURCES:
        return explain(name)
    text, values = SOURCES[name]
    return explain(text, options=SourceOptions(values=values), say=lambda _: None)


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("name", [*SOURCES, *WORDS])
def test_no_line_is_wider_than_the_page(name: str, width: int) -> None:
    code = ("      ",)  # code is not broken
    lines = explanation(name).text("text", PageStyle(width)).splitlines()
    assert max(display_width(line) for line in lines if not line.startswith(code)) <= width


@pytest.mark.parametrize(
    ("count", "end"), [(24, "w23 = 1"), (25, "w23 = 1, … and 1 more"), (26, "w23 = 1, … and 2 more")]
)
def test_of_many_leaves_the_first_are_listed_and_the_others_counted(count: int, end: str) -> None:
    text = "y=" + "+".join(f"w{number}" for number in range(count))
    lines = explain(text, ["w0"], say=lambda _: None).text("text", PageStyle(400)).splitlines()
    assert next(line for line in lines if line.startswith("  w0 = 1, ")).endswith(f", {end}")


@pytest.mark.parametrize("name", [*SOURCES, *WORDS])
def test_ascii_and_colours_are_as_the_terminal_wants_them(name: str) -> None:
    found = explanation(name)
    assert found.text("text", PageStyle(ascii=True)).isascii()
    assert "\x1b" not in found.text()
    coloured = found.text("text", PageStyle(color=True))
    assert re.sub(r"\x1b\[\d*m", "", coloured) == found.text()
    assert coloured != found.text()


def test_the_article_s_derivation_is_written_as_the_article_does() -> None:
    lines = explanation("article").text().splitlines()
    assert lines[-4:] == [
        "∂y/∂w: two paths",
        "  y → a → w   ∂y/∂a · ∂a/∂w = b · 1 = 2 · 1 = 2",
        "  y → b → w   ∂y/∂b · ∂b/∂w = a · 1 = 3 · 1 = 3",
        "  ∂y/∂w = 2 + 3 = 5 = w.grad",
    ]
    assert lines[2:6] == ["  x = 2, w = 1", "  a = x + w = 3", "  b = w + 1 = 2", "  y = a·b = 6"]


def test_paths_whose_steps_are_rounded_come_near_the_gradient() -> None:
    options = SourceOptions(values={"x": 0.3}, dtype="bfloat16")
    told = explain("y=x**2*1.37+x", ["x"], options=options, say=lambda _: None)
    assert told.text().splitlines()[-1] == "  ∂y/∂x = 0.8224 + 1 = 1.8224 ≈ x.grad"
    assert "1.8224 — " not in told.text("markdown")
    assert "\\approx \\texttt{x.grad}" in told.text("latex")


def test_a_path_of_tensors_is_a_table_of_steps() -> None:
    text = explanation("tensors").text()
    assert "    ∂a/∂W  x.T @ grad  J = [[1, 0, 2, 0], [0, 1, 0, 2]]  [[15, 0], [30, 0]]" in text
    assert "  ∂L/∂W = [[15, 0], [30, 0]] = W.grad" in text


def test_markdown_has_tables_that_are_whole() -> None:
    for name in SOURCES:
        table = [line for line in explanation(name).text("markdown").splitlines() if line.startswith("|")]
        assert table
        columns = 0
        for line in table:
            cells = len(re.findall(r"(?<!\\)\|", line))
            columns = columns if "---" not in line and columns == cells else cells
            assert cells == columns
    assert "| y → a → w | ∂y/∂a · ∂a/∂w | b · 1 | 2 · 1 | 2 |" in explanation("article").text("markdown")


@pytest.mark.parametrize("name", [*SOURCES, *WORDS])
def test_latex_is_whole(name: str, tmp_path: Path) -> None:
    text = explanation(name).text("latex")
    code = re.sub(r"\\begin\{verbatim\}.*?\\end\{verbatim\}", "", text, flags=re.DOTALL)
    assert code.isascii()
    bare = re.sub(r"\\[\\{}$&#%_^~]", "", code)
    assert bare.count("{") == bare.count("}")
    assert bare.count("$") % 2 == 0
    assert code.count("\\left") == code.count("\\right")
    open_: list[str] = []
    for kind, environment in re.findall(r"\\(begin|end)\{(\w+\*?)\}", code):
        if kind == "begin":
            open_.append(environment)
        else:
            assert open_.pop() == environment
    assert not open_
    if shutil.which("pdflatex"):
        (tmp_path / "t.tex").write_text(text, encoding="utf-8")
        words = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, check=False)
        assert done.returncode == 0, done.stdout.decode(errors="replace")[-2000:]


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        ("w1*a", "w_{1} \\cdot a"),
        ("(a + b)·c", "\\left(a + b\\right) \\cdot c"),
        ("a - (b - c)", "a - \\left(b - c\\right)"),
        ("(-x)²", "\\left(-x\\right)^{2}"),
        ("2^(-x)", "2^{-x}"),
        ("sqrt(x)/abs(y)", "\\frac{\\sqrt{x}}{\\left|y\\right|}"),
        ("x > 0", "[x > 0]"),
        ("where(x > 0, 1, exp(x))", "\\operatorname{where}\\left([x > 0], 1, \\exp\\left(x\\right)\\right)"),
        ("W.T @ grad", "W^{\\top}\\, \\mathrm{grad}"),
        ("x (1st)", "\\mathrm{x\\ (1st)}"),
        ("θ_1*é*變", "\\theta_{1} \\cdot \\acute{e} \\cdot \\mathrm{[U+8B8A]}"),
    ],
)
def test_a_formula_is_set_as_mathematics(formula: str, text: str) -> None:
    assert math(formula) == text


def test_json_is_one_line_and_the_same_as_the_data() -> None:
    found = explanation("article")
    text = found.text("json")
    assert text.count("\n") == 1
    assert json.loads(text) == json.loads(json.dumps(found.as_dict()))
    assert set(json.loads(explain("AddBackward0").text("json"))["operations"][0]) >= {
        "grad_fn",
        "saves",
        "remarks",
        "example",
    }
    assert set(json.loads(explain(WORDS[-1]).text("json"))) == {"error", "older", "meaning", "ways"}


def test_a_file_has_the_format_of_its_suffix(tmp_path: Path) -> None:
    found = explanation("article")
    for suffix, form in {"txt": "text", "tex": "latex", "md": "markdown", "json": "json"}.items():
        path = tmp_path / f"y.{suffix}"
        assert found.save(path) == str(path)
        assert path.read_text(encoding="utf-8") == found.text(form) == found.text(suffix)
    with pytest.raises(RenderError, match=r"gviz explain writes no \.pdf files"):
        found.save(tmp_path / "y.pdf")
    with pytest.raises(RenderError, match="there is no format 'latx'"):
        found.text("latx")
    assert len(FORMATS) == 4


@pytest.mark.parametrize(
    ("word", "subject"),
    [
        ("y=(x+w)*(w+1)", "source"),
        ("x+w", "source"),
        ("-", "source"),
        ("-x", "source"),
        ("net.py", "source"),
        ("missing.json", "source"),
        ("exp(x)", "source"),
        ("a=x+w\nb=a*2  # and so on it goes", "source"),
        ("AddBackward0", "operation"),
        ("<AddBackward0>", "operation"),
        ("torch::autograd::CopySlices", "operation"),
        ("torch.mul", "operation"),
        ("relu", "operation"),
        ("RuntimeError: anything", "error"),
        ("Traceback (most recent call last):\n  File 'a.py'", "error"),
        ("a leaf Variable that requires grad is being used", "error"),
        ("UserWarning: The .grad attribute", "error"),
        ("torch.autograd.gradcheck.GradcheckError: Jacobian mismatch", "error"),
        ("invalid index of a 0-dim tensor. Use tensor.item() in Python", "error"),
        ("expected a Variable argument, but got FloatTensor", "error"),
        ("AddBackward0 AccumulateGrad", "error"),
        ("some words", "error"),
        ("sin x", "source"),
        ("y = some words", "source"),
        ("some + other words", "source"),
    ],
)
def test_it_is_decided_once_what_a_word_is(word: str, subject: str) -> None:
    assert subject_of(word) == subject


@pytest.mark.parametrize(
    ("name", "formula", "text"),
    [
        ("ŷ", r"\hat{y}", r"\^{y}"),
        ("é_2", r"\acute{e}_{2}", r"\'{e}\_2"),
        ("x\u0304", r"\bar{x}", r"\={x}"),
        ("résumé", r"\mathrm{r\acute{e}sum\acute{e}}", r"r\'{e}sum\'{e}"),
        ("ế", r"\acute{\hat{e}}", r"\'{\^{e}}"),
        ("變", r"\mathrm{[U+8B8A]}", "[U+8B8A]"),
    ],
)
def test_letters_with_accents_are_those_of_latex(name: str, formula: str, text: str) -> None:
    assert (name_of(name), prose(name)) == (formula, text)


def test_of_a_tensor_without_elements_the_shape_is_whole() -> None:
    text = explain("y=x.sum()", x=engine.zeros(2, 0, 3)).text()
    assert "  x of size (2, 0, 3)\n" in text
    assert "(2, 0)" not in text


def test_a_small_tensor_has_its_numbers_and_a_size_is_said_to_be_one() -> None:
    text = explain("L=cross_entropy(Z,t)", Z=[[1, 2, 3], [1, 0, 0]], t=[2, 0]).text()
    assert "= [[-2.4076, -1.4076, -0.4076], [-0.5514, -1.5514, -1.5514]]" in text
    assert "b = unsqueeze(x, 0) = [[1, 2]]\n" in explain("y=x@W@x", x=[1, 2], W=[[1, 2], [3, 4]]).text()
    assert "b = a + 1 = [2, 3]\n" in explain("y=softsign(x)", x=[1, 2]).text()
    assert "c = clone(a) of size (1)\n" in explain("y=cosine_similarity(x, w, dim=0)", x=[0, 0], w=[1, 2]).text()


@pytest.mark.parametrize(
    ("text", "values", "lines"),
    [
        ("L=logdet(A)", {"A": [[2, 1], [1, 3]]}, ["a = slogdet(A).logabsdet = 1.6094", "L = logdet(A) = 1.6094"]),
        ("y=log(p[0, 1])", {"p": [[1, 2], [3, 4]]}, ["b = p[0] = [1, 2]", "a = b[1] = 2"]),
        ("y=sum(max(A, dim=1)[0])", {"A": [[1, 2], [4, 3]]}, ["a = max(A, dim=1)[0] = [2, 4]"]),
        ("L=kl_div(q, p.detach(), reduction='sum')", {"q": [-1, -2], "p": [0.2, 0.8]}, ["b = a·q = [-0.2, -1.6]"]),
        (
            "L=cross_entropy(z, softmax(w, dim=0))",
            {"z": [1, 2], "w": [0, 0]},
            ["a = softmax(w, dim=0) = [0.5, 0.5]", "b = log_softmax(z, 0) = [-1.31326, -0.31326]", "c = b·a"],
        ),
    ],
)
def test_steps_inside_a_function_have_their_numbers_in_the_order_of_computing(
    text: str, values: dict[str, object], lines: list[str]
) -> None:
    told = explain(text, options=SourceOptions(values=values), say=lambda _: None).text()
    places = [told.find(f"  {line}") for line in lines]
    assert -1 not in places
    assert places == sorted(places)


def test_numbers_of_inner_steps_that_the_result_contradicts_are_left_out() -> None:
    told = explain("y=cosine_similarity(x, w, dim=0)", x=[0, 0], w=[1, 2], say=lambda _: None).text()
    assert "c = clone(a) of size (1)" in told  # PyTorch writes the least norm into it, where nothing is recorded


@pytest.mark.parametrize(
    ("text", "symbol"),
    [
        ("L=binary_cross_entropy_with_logits(z, t)", "sigmoid(z) - t"),
        ("L=smooth_l1_loss(z, t)", "where(absolute(z - t) < 1, z - t, sign(z - t))"),
        ("L=huber_loss(z, t)", "clip(z - t, -1, 1)"),
    ],
)
def test_a_frozen_target_takes_no_formula_away(text: str, symbol: str) -> None:
    found = explain(text, options=SourceOptions(values={"z": 0.5, "t": 1.0}, frozen=("t",)), say=lambda _: None).content
    assert isinstance(found, Derivation)
    assert found.symbols == {symbol}
    assert "  x of size (20), norm 26.6458\n" in explain("y=x.sum()", x="arange(20) - 8").text()


def test_a_constant_is_no_value_of_a_name() -> None:
    assert "\n  x = 1\n  y = inf·x = inf\n" in explain("y=∞*x", x=1).text()


def test_a_greek_letter_is_one_in_latex_outside_formulas_too() -> None:
    text = explain("ŷ=θ_1*Δ̂", "θ_1").text("latex")
    assert "\\texttt{$\\theta$\\_1.grad}" in text
    assert "\\hat{\\Delta}" in text
    assert "U+" not in text


def test_an_equation_has_a_line_or_a_line_for_each_side_none_of_them_longer_than_the_page() -> None:
    writer = TerminalWriter(PageStyle(width=40))
    assert list(writer.equation("dy/dx = ", ["2 * x", "4"])) == ["dy/dx = 2 * x = 4"]
    lines = list(writer.equation("dy/dx = ", ["2 * a_long_name_of_a_tensor", "b_long_name_of_a_tensor", "4" * 80]))
    assert lines[:2] == ["dy/dx = 2 * a_long_name_of_a_tensor", "        = b_long_name_of_a_tensor"]
    assert display_width(lines[2]) == 40
    assert "…" in lines[2]


def test_the_products_of_a_long_path_stand_below_each_other_as_a_slide_is_narrow() -> None:
    text = explain("y=sigmoid(w*x+b)", "w", w=2, x=3, b=1).text("latex")
    path = text[text.index(r"\to a \to w") :].split(r"\end{align*}")[0]

    assert path.count("\\\\\n  & = ") == 3
    short = explain("y=(x+w)*(w+1)", "x", w=2, x=3).text("latex")
    assert "\\\\\n  & = " not in short


def test_a_fragment_of_latex_has_no_preamble_and_nothing_that_a_slide_refuses() -> None:
    for word in (
        "y=(x+w)*(w+1)",
        "y=(x*ones(2,3)).sum()",
        "AddBackward0",
        "leaf",
        "grad can be implicitly created only for scalar outputs",
    ):
        whole, part = (explain(word).text("latex", PageStyle(fragment=fragment)) for fragment in (False, True))
        assert whole.startswith("\\documentclass")
        for refused in (
            "\\documentclass",
            "\\usepackage[",
            "\\begin{document}",
            "section*",
            "verbatim",
            "\\end{document}",
        ):
            assert refused not in part
        assert set(re.findall(r"\\begin\{align\*\}.*?\\end\{align\*\}", whole, re.DOTALL)) == set(
            re.findall(r"\\begin\{align\*\}.*?\\end\{align\*\}", part.replace(" \\\\\n  &\\quad ", " && "), re.DOTALL)
        )


def test_the_sum_over_rows_is_a_step_of_its_own_in_each_format() -> None:
    found = explain("y=(X+b).sum()", "b", X=[[1, 2], [3, 4]], b=[1, 2])
    lines = found.text().splitlines()
    at = next(number for number, line in enumerate(lines) if "∂a/∂b" in line)
    assert lines[at].split("  ")[-1].strip() == "[[1, 1], [1, 1]]"
    assert re.fullmatch(r" +Σ over rows +\[2, 2\]", lines[at + 1])
    assert "|  | Σ over rows |  | \\[2, 2\\] |" in found.text("markdown")
    assert r"\sum$ over rows}, && \text{gradient } \begin{bmatrix} 2 & 2 \end{bmatrix}" in found.text("latex")


def test_a_small_jacobian_stands_whole_that_of_softmax_as_lectures_write_it() -> None:
    found = explain("y=softmax(x,0)[0]", "x", x=[1.5, 2.5, 1])
    entries = ("0.1778", "-0.1453", "-0.0324", "0.2335", "-0.0881", "0.1206")
    for form in ("text", "markdown"):
        assert all(entry in found.text(form) for entry in entries)
        assert "diag(a) - a·aᵀ" in found.text(form)
    assert r"\operatorname{diag}\left(a\right) - a \cdot a^{\top},\ J = \begin{bmatrix}" in found.text("latex")
    assert "I - 1·exp(a)ᵀ" in explain("y=-log_softmax(x,0)[0]", "x", x=[1.5, 2.5, 1]).text()


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("y=relu(x)", "= [y > 0] = 1"),
        ("y=gelu(x)", "= 0.5·(1 + erf(x/sqrt(2))) + x·exp(-0.5·x²)/sqrt(2·π) = "),
        ("y=logaddexp(x,x+1)", "   1/(1 + exp(a - x)) = "),
        ("y=selu(x)", "where(x <= 0, 1.7581·exp(minimum(x, 0)), 1.0507)"),
    ],
)
def test_a_symbol_reads_as_mathematics_and_is_not_cut(source: str, told: str) -> None:
    assert told in explain(source, x=0.5).text("text", PageStyle(width=100))


def test_a_matrix_of_six_columns_is_set_as_one_and_a_wider_one_as_text() -> None:
    texts = [tensor(Numbers.of([[float(number) for number in range(count)]] * 2)) for count in (6, 7)]
    row = " & ".join(map(str, range(6)))
    assert texts == [
        f"\\begin{{bmatrix}} {row} \\\\ {row} \\end{{bmatrix}}",
        "\\text{[[0, 1, 2, 3, 4, 5, 6], [0, 1, 2, 3, 4, 5, 6]]}",
    ]


def test_the_name_of_a_module_is_no_operand_in_latex(tmp_path: Path) -> None:
    script = tmp_path / "net.py"
    script.write_text(
        "import torch as th\nr = th.tensor([[2.0]], requires_grad=True)\ns = th.exp(r)\nd = th.linalg.det(s)\n"
        "y = d.log()\ny.backward()\n"
    )
    text = explain(script, "r", options=SourceOptions(lines=True), say=lambda _: None).text("latex")
    for formula in (r"s &= \exp\left(r\right) ", r"d &= \det\left(s\right) ", r"y &= \log\left(d\right) "):
        assert formula in text


def test_a_vector_in_latex_is_a_column_so_that_its_product_with_a_matrix_is_one() -> None:
    values = {"W": [[1, 2], [3, 4]], "x": [1, 2]}
    text = explain("y=(W@x).sum()", "W", options=SourceOptions(values=values, frozen=("x",)), say=print).text("latex")
    assert r"a &= W\, x = \begin{bmatrix} 5 & 11 \end{bmatrix}^{\top}" in text
    assert r"y &= \operatorname{sum}\left(a\right) = 16" in text


@pytest.mark.parametrize(
    ("typed", "shown"),
    [("y=x^2^3", "y = x^(2³)"), ("y=5%3*x", "y = (5 % 3)·x"), ("y=x**(2**3)", "y = x^(2³)"), ("y=2^x^2", "y = 2^a")],
)
def test_a_formula_is_read_in_the_order_in_which_it_is_computed(typed: str, shown: str) -> None:
    assert shown in str(explain(typed, options=SourceOptions(values={"x": 1.5}), say=lambda _: None))


def test_a_tensor_of_three_dims_a_long_column_and_an_empty_one_are_texts_in_latex() -> None:
    long = Numbers.of([[float(number)] for number in range(17)])
    assert tensor(Numbers.of([[[1.0], [2.0]]])) == "\\text{[[[1], [2]]]}"
    assert tensor(long).startswith("\\text{(17, 1) norm ")
    assert tensor(Numbers((0,), "float32", ())) == "\\text{no elements}"
