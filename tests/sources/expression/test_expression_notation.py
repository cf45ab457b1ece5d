"""What people type as mathematics gets a helpful answer: the source with a caret, and what to write instead."""

from __future__ import annotations

from typing import Any

import pytest

from gviz.errors import SourceError
from gviz.options import SourceOptions
from gviz.sources import read
from gviz.sources.expression import evaluate
from gviz.sources.expression.program import ExpressionText
from gviz.sources.expression.rewriting import rewrite
from gviz.sources.expression.suggestion import is_right
from gviz.sources.source import Source


def refusal(text: str) -> SourceError:
    with pytest.raises(SourceError) as error:
        evaluate(text)
    place = error.value.place
    assert place is not None
    assert place.column is not None
    assert "^" in str(error.value)
    return error.value


def marked(error: SourceError) -> str:
    assert error.place is not None
    assert error.place.column is not None
    return error.place.text[error.place.column : error.place.column + error.place.length]


@pytest.mark.parametrize(
    ("text", "mark", "suggested"),
    [
        # operators that mathematics leaves out
        ("y=x mod 2", "mod", "y=x % 2"),
        ("y=x*2 z=y", "z", "write ; between two statements: 2; z="),
        ("x(w+1)", "x", "to multiply, write x*(w+1)"),
        ("y=x*2; z=y(x+1)", "y", "y=x*2; z=y*(x+1)"),
        ("y=x[0]w", "w", "y=x[0]*w"),
        ("2e", "e", "2*e"),
        # functions without brackets, and with other names
        ("log x*w", "log", "log(x)*w"),
        ("sin cos x", "sin", "sin(cos(x))"),
        # powers, comparisons, brackets
        ("y==(x+w)*(w+1)", "y==(x+w)*(w+1)", "y=(x+w)*(w+1)"),
        ("x=1.5; y==x*2", "y==x*2", "x=1.5; y=x*2"),
        ("y:=x*2", ":=", "y=x*2"),
        ("x=>2", "=>", "x>=2"),
        ("x<>2", "<>", "x!=2"),
        ("{x+1}*2", "{x+1}", "write (x+1)*2"),
        ("[x+1]*2", "[x+1]", "round ones"),
        ("(x+w", "(", "write (x+w)"),
        ("y=log((x)", "(", "write y=log((x))"),
        ("y=x[log(w", "(", "write y=x[log(w)]"),
        # other characters
        ("xᵀ", "ᵀ", "x.T"),
        ("y=x\u200b*2", "\ufffd", "y=x*2"),
        ("xˆ2", "ˆ", "x**2"),
        ("h⁽¹⁾=σ(x)", "⁽", "write h_1=sigmoid(x)"),
        ("y=x⁽ⁱ⁾w", "⁽", "write y=x_i*w"),
        ("y=x⁽ⁿ⁻¹⁾", "⁽", "write x**(n-1) for a power, x_1 for a name with a number"),
    ],
)
def test_mathematics_is_answered_with_what_to_write(text: str, mark: str, suggested: str) -> None:
    error = refusal(text)
    assert marked(error) == mark
    assert error.hint is not None
    assert suggested in error.hint


@pytest.mark.parametrize(
    ("text", "mark", "what"),
    [
        ("y=(x+)*2", ")", "there is nothing after +"),
        ("y=x*", "*", "there is nothing after *"),
        ("y=x**", "**", "there is nothing after **"),
        ("y=*/x", "/", "there is nothing after *"),
        ("/x", "/", "there is nothing before /"),
        ("y=", "=", "there is nothing after ="),
        ("x==", "==", "there is nothing after =="),
        ("log(,)", ",", "there is nothing after ("),
        ("log(x,,w)", ",", "there is nothing after ,"),
        ("x[]", "]", "there is nothing after ["),
        ("x.", ".", "there is nothing after ."),
        ("y=x and", "and", "there is nothing after and"),
        ("5%", "%", "there is nothing after %"),
        ("x;;y", ";", "there is nothing after ;"),
        (";x", ";", "there is nothing before ;"),
        ("(x", "(", "'(' was never closed"),
        ("y=log((x)", "(", "'(' was never closed"),
        ("x)", ")", "unmatched ')'"),
        ("(x]", "]", "closing parenthesis ']' does not match opening parenthesis '('"),
        ("2=x", "2", "cannot assign to literal"),
        ("x+1=y", "x", "cannot assign to expression"),
        ("a=log(x, y=2); x+1=y", "x", "cannot assign to expression"),
        ("lambda*x", "lambda", "lambda is a word of Python's own and cannot be a name"),
        ("y=lambda", "lambda", "lambda is a word of Python's own and cannot be a name"),
        ("in=2", "in", "there is nothing before in"),
        ("y=from*2", "from", "from is a word of Python's own and cannot be a name"),
        ("x!", "!", "there is no factorial"),
        ("x?", "?", "there is no ? : in an expression"),
        ("{x}2", "2", "there is no operator between } and 2"),
        ("x'", "'", "a prime cannot be in a name"),
        (r"\frac{x}{w}", "\\", "\\ has no meaning in an expression"),
        ("$x$", "$", "$ has no meaning in an expression"),
        ("x ☃", "☃", "☃ (snowman) is not part of an expression"),
        ("print x", "print", "Missing parentheses in call to 'print'"),
        ("x w z = 2", "w", "there is no operator between x and w"),
        ("x=2,w=3", "x", "invalid syntax"),
        ("1 2", "2", "there is no operator between 1 and 2"),
        ("for i in x: y", "for", "for is not possible in an expression"),
        ("y=x\nfor i in", "for", "for is a word of Python's own and cannot be a name"),
        ("9" * 5000, "9", "Exceeds the limit (4300 digits)"),
        ("x\x00", "\ufffd", "the character U+0000 cannot be part of an expression"),
        ("x\ud800", "\ufffd", "the character U+D800 cannot be part of an expression"),
        ("x\x1b[31m", "\ufffd", "the character U+001B cannot be part of an expression"),
        ("0777", "0", "leading zeros in decimal integer literals are not permitted"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_place(text: str, mark: str, what: str) -> None:
    error = refusal(text)
    assert error.what.startswith(what)
    assert marked(error).startswith(mark)


def test_a_number_has_one_decimal_point() -> None:
    error = refusal("y=1.2.3*x")
    assert (marked(error), error.hint) == (".3", "a number has one decimal point")


def test_the_right_line_is_shown_and_the_column_counts_its_indentation() -> None:
    assert str(refusal("a = x*2\n\n   y = 3 4  # three")).splitlines()[:3] == [
        "line 3: there is no operator between 3 and 4",
        "     y = 3 4  # three",
        "           ^",
    ]


def test_wide_characters_before_the_caret_take_two_columns() -> None:
    assert str(refusal("変数 = （x")).splitlines()[1:3] == ["  変数 = （x", "         ^^"]


def test_characters_in_a_comment_are_no_operators() -> None:
    assert evaluate("y=x*2 # x·2 ² √").roots["y"].item() == 2.0


def test_a_long_line_is_cut_around_the_caret() -> None:
    report = str(refusal("y=" + "x+" * 200 + "w!" + "+x" * 200)).splitlines()
    assert len(report[1]) < 90
    assert report[2].index("^") == report[1].index("w!") + 1


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("y=" + "+".join(["x"] * 50_000), id="50,000 terms"),
        pytest.param("y=" + "+".join(["x"] * 20_000), id="20,000 terms"),
        pytest.param("y=" + "(" * 10_000 + "x" + ")" * 10_000, id="10,000 brackets"),
        pytest.param("y=" + "[" * 10_000, id="10,000 open brackets"),
        pytest.param("y=" + "-" * 20_000 + "x", id="20,000 signs"),
        pytest.param("y=" + "**".join(["x"] * 10_000), id="10,000 powers"),
        pytest.param("y=x" + ".T" * 20_000, id="20,000 attributes"),
        pytest.param("y=" + "x" * 100_000, id="a name of 100,000 characters"),
        pytest.param("x\n" * 40_000, id="40,000 lines"),
    ],
)
def test_an_expression_beyond_the_parser_is_answered_with_a_way_out(text: str) -> None:
    error = refusal(text)
    assert error.hint is not None
    assert "gviz render file.py" in error.hint
    assert len(str(error)) < 500


@pytest.mark.parametrize("text", ["", "   ", "\n\n", "# only a comment", "\ufeff"])
def test_an_empty_expression_is_refused(text: str) -> None:
    with pytest.raises(SourceError, match="the expression is empty"):
        evaluate(text)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("2π r", "2*π*r"),
        ("A ⊙ B", "A * B"),
        ("x.sum() w", "x.sum()*w"),
        ("y=sin(x)cos(x)", "y=sin(x)*cos(x)"),
        ("xⁿ⁺¹", "x**(n+1)"),
        ("||x||*2", "norm(x)*2"),
        ("sin x^2 + 1", "sin(x**2) + 1"),
        ("log(x+1) (w)", "log(x+1)*(w)"),
        ("max(x, dim=0)", "max(x, dim=0)"),
        ("lambda x: x", "lambda x: x"),
        ("x != 2", "x != 2"),
    ],
)
def test_notation_is_rewritten(text: str, written: str) -> None:
    assert rewrite(text) == written


@pytest.mark.parametrize(
    ("text", "values", "written"),
    [
        ("y=1/wx", {"w": 2, "x": 3}, "y=1/(w*x)"),
    ],
)
def test_names_that_are_glued_are_no_new_input(text: str, values: dict[str, object], written: str) -> None:
    with pytest.raises(SourceError) as error:
        evaluate(text, SourceOptions(values=values))
    assert error.value.hint is not None
    assert error.value.hint.partition(";")[0] == f"write {written}".partition(";")[0]
    assert "^" in str(error.value)


@pytest.mark.parametrize("values", [{"wx": 2, "w": 1, "x": 1}, {"wx": 2, "q": 1}, {"wx": 2, "l": 1, "o": 1}])
def test_a_name_with_a_value_or_of_other_letters_is_one_name(values: dict[str, object]) -> None:
    assert evaluate("y=wx*2 + loss", SourceOptions(values=values)).names.keys() >= {"wx", "loss"}


@pytest.mark.parametrize(
    ("text", "values", "written"),
    [
        ("y=x sin²(x)", {"x": 1}, "y=x*sin(x)**2"),
        ("y=sin²2x", {"x": 1}, "y=sin(2*x)**2"),
        ("y=x²3", {"x": 1}, "y=x**2*3"),
        ("y=W⁻¹x", {"x": "[1,2]", "W": "[[1,2],[3,4]]"}, "y=inverse(W) @ x"),
        ("y=2W⁻¹", {"W": "[[1,2],[3,4]]"}, "y=2*inverse(W)"),
        ("y=(XᵀX)⁻¹Xᵀt", {"X": "[[1,2],[3,4]]", "t": "[1,2]"}, "y=inverse(X.T @ X) @ X.T @ t"),
        ("a=x+w, b=w+1", {"x": 3, "w": 2}, "a=x+w; b=w+1"),
    ],
)
def test_what_is_to_be_written_can_be_read(text: str, values: dict[str, object], written: str) -> None:
    with pytest.raises(SourceError) as error:
        evaluate(text, SourceOptions(values=values))
    hint = error.value.hint or ""
    assert hint in (f"write {written}", f"write {written.removeprefix('y=')}")
    assert evaluate(written, SourceOptions(values=values)).names.keys() - values.keys() - set("abcfghy") == set()


SUMS = [
    ("L=Σ(y-t)²", "L=sum((y-t)**2)", 5),
    ("L=Σ(y-t)^2", "L=sum((y-t)**2)", 5),
    ("L=½Σ(y-t)²", "L=(1/2)*sum((y-t)**2)", 2.5),
    ("L=1/n Σ(y-t)²", "L=1/n*sum((y-t)**2)", 2.5),
    ("L=1/2Σ(y-t)²", "L=1/2*sum((y-t)**2)", 2.5),
    ("L=-Σ y*log(p)", "L=-sum(y*log(p))", -3 * 0.6931472),
    ("L=Σ y*p + n", "L=sum(y*p) + n", 8),
    ("L=Σy²", "L=sum(y**2)", 5),
    ("L=Σy", "L=sum(y)", 3),
    ("L=nΣy", "L=n*sum(y)", 6),
    ("L=∑ y²", "L=sum(y**2)", 5),
    ("L=∏y²", "L=prod(y**2)", 4),
    ("L=Σ 1e-1*y", "L=sum(1e-1*y)", 0.3),
    ("L=e^n/Σe^y", "L=exp(n)/sum(exp(y))", 0.7310586),
    ("L=Σ_i (y_i-t_i)²", "L=sum((y-t)**2)", 5),
    ("L=Σᵢ(yᵢ-tᵢ)²", "L=sum((y-t)**2)", 5),
    ("L=1/n Σ_i(y_i-t_i)**2", "L=1/n*sum((y-t)**2)", 2.5),
    ("L=Σ_{i=1}^{n} y_i*p_i", "L=sum(y*p)", 6),
    ("L=Σ_i y_i p_i", "L=sum(y*p)", 6),
    ("L=Σ tᵢ + ½Σ(yᵢ-pᵢ)²", "L=sum(t) + (1/2)*sum((y-p)**2)", 0.5),
    ("L=-Σ_i [y_i*log(p_i) + (1-y_i)*p_i]", "L=-sum(y*log(p) + (1-y)*p)", -0.0794415),
    ("L=Σ_i y_i / Σ_i p_i", "L=sum(y / sum(p))", 0.75),
]


@pytest.mark.parametrize(("text", "written", "value"), SUMS)
def test_a_sum_is_proposed_with_all_of_its_term(text: str, written: str, value: float) -> None:
    values = {"y": "[1, 2]", "t": "[0, 0]", "p": "[2, 2]", "n": "2"}
    with pytest.raises(SourceError) as error:
        evaluate(text, SourceOptions(values=values))
    assert (error.value.hint or "").partition(";")[0] == f"write {written}"
    assert evaluate(written, SourceOptions(values=values)).roots["L"].item() == pytest.approx(value)


@pytest.mark.parametrize(
    "text",
    [
        "y=Σ(x)*w",
        "y=Σ_i i*x_i",
        "y=Σ_i (y-t)*x",
        "y=Σ_i Σ_j w_ij x_j",
        "y=Σ_{i=1}^3 w_i*x_i",
        "y=e^{x_i} / Σ_j e^{x_j}",
        "y=∏ x*w",
        "y=2Σ",
        "y=Σ_i v*x_i",
    ],
)
def test_of_a_sum_that_may_mean_something_else_nothing_is_proposed(text: str) -> None:
    with pytest.raises(SourceError) as error:
        evaluate(text, SourceOptions(values={"v": "[1, 2]"}))
    assert (error.value.hint or "sum(...)").startswith("sum(...)")


@pytest.mark.parametrize(
    ("text", "values", "hint"),
    [
        ("y=sinx", {"x": 1}, "write y=sin(x)"),
        ("y=1/expx", {"x": 1}, "write y=1/exp(x)"),
        ("y=log2x", {"x": 1}, "write log2(x) or log(2*x)"),
        ("y=sin2x", {"x": 1}, "write y=sin(2*x)"),
        ("y=lnx", {"x": 1}, "write y=log(x)"),
        ("y=σx", {"x": 1}, "write y=sigmoid(x)"),
        ("y=cosx+sinw", {"x": 1}, "write y=cos(x)+sin(w)"),
        ("y=sinx+x", {}, "write y=sin(x)+x"),
        ("a=x*2; y=sina", {"x": 1}, "write a=x*2; y=sin(a)"),
    ],
)
def test_a_function_that_is_glued_to_a_name_is_no_new_input(text: str, values: dict[str, object], hint: str) -> None:
    with pytest.raises(SourceError, match="is one name, and it has no value") as error:
        evaluate(text, SourceOptions(values=values))
    name = text.rpartition("=")[2].partition("+")[0].rpartition("/")[2]
    assert error.value.hint == f"{hint}; or give it a value, if it is a name: {name}=1"


@pytest.mark.parametrize(
    ("text", "values", "hint"),
    [
        ("y=W @ x", {}, "W, x not given: write W=[[1,2],[3,4]] x=[1,2]"),
        ("y=w @ x", {}, "w, x not given: write w=[1,2] x=[3,4]"),
        ("y=sigmoid(w @ x) + b", {"w": "[5,6]"}, "x not given: write x=[1,2]"),
        ("y=w @ x", {"w": 2, "x": 3}, "@ is for vectors and matrices: w=[1,2] x=[3,4]; write * for numbers"),
    ],
)
def test_a_matrix_product_of_numbers_asks_for_vectors(text: str, values: dict[str, object], hint: str) -> None:
    with pytest.raises(SourceError, match="both arguments to matmul") as error:
        evaluate(text, SourceOptions(values=values))
    assert error.value.hint == hint


@pytest.mark.parametrize("text", ["y=sin**2*x 3", "y=x.TW 2", "y=2log2x"])
def test_a_correction_that_gviz_would_refuse_is_not_proposed(text: str) -> None:
    assert is_right("y = x*2", ExpressionText("y = 2x"))
    source = ExpressionText(text)
    source.values = {"x": 2}
    assert not is_right(rewrite(text, values=source.values), source)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("max(0, x)", "write relu(x), or clamp(x, min=0)"),
        ("maximum(x, 0)", "write relu(x), or clamp(x, min=0)"),
        ("max(x, x², 0.5)", "it takes two: write max(max(x, w), v); of a number clamp(x, min=2)"),
        ("max(x, 2x, sin(x))", "it takes two: write max(max(x, w), v)"),
        ("min(x, 2x, sin(x))", "it takes two: write min(min(x, w), v); of a number clamp(x, max=2)"),
        ("hypot(x, 2)", "put tensor(...) around the number there, as in tensor(2) for 2"),
        ("clamp(4, 0, 1)*x", "all of these are numbers: write what it comes to"),
        ("min(1, x)", "write clamp(x, max=1)"),
        ("cross_entropy(ones(2, 3)*x, ones(2)*x)", "write t.long() for t"),
        ("gather(ones(2)*x, 0, ones(2)*x)", "write t.long() for t"),
    ],
)
def test_a_call_that_pytorch_refuses_gets_the_way_out(text: str, hint: str) -> None:
    with pytest.raises(SourceError) as error:
        evaluate(f"y = {text}", SourceOptions(values={"x": 2}))
    assert hint in (error.value.hint or "")


@pytest.mark.parametrize(
    ("latex", "written"),
    [
        ("y=sum_{i=1}^{n} x_i", "y=sum(x)"),
        (r"$y=(x+w)\times w_{1}$", "y=(x+w)*w_1"),
        (r"\[ y = \frac{1}{1+e^{-x}} \]", "y=(1/(1+exp(-x)))"),
        (r"\(y = \left(x + w\right)^{2} \ln x\)", "y=(x+w)**2*log(x)"),
        (r"$$\hat{y} = \sigma(\mathbf{w}^\top x + b)$$", "y_hat=sigmoid(w @ x+b)"),
        (r"y=\sqrt{\frac{x^2}{w}} + \sin^{2} x", "y=sqrt((x**2/w))+sin(x)**2"),
        (r"$y=\lambda|x| + \|w\|$", "y=lam*abs(x)+norm(w)"),
        (r"$y=\sigma(w^Tx+b)$", "y=sigmoid(w @ x+b)"),
        (r"$y=Wx+b$", "y=W*x+b"),
        (r"\sigma(wx+b)", "sigmoid(w*x+b)"),
        (r"$L=\frac12(t-wx)^2$", "L=(1/2)*(t-w*x)**2"),
        (r"$y=\frac\pi{2a}+\sqrt2x$", "y=(π/(2*a))+sqrt(2)*x"),
        (r"$loss = wx_1b_{23}c; y=loss^nx$", "loss=w*x_1*b_23*c;y=loss**n*x"),
        (r"$y=\alpha_1\hat y+\mathrm{ReLU}(wx)$", "y=alpha_1*y_hat+relu(w*x)"),
        (r"y = x \cdot w\\ z=yx", "y=x*w;z=y*x"),
        (r"L=\sum (y-t)^2", "L=sum((y-t)**2)"),
        (r"$L=\frac{1}{n}\sum_{i=1}^{n}(y_i-t_i)^2$", "L=(1/n)*sum((y-t)**2)"),
        (r"$y=\sum\limits_{i} w_{i} x_{i} + b$", "y=sum(w*x)+b"),
        (r"$L = -\sum_i t_i \log y_i$", "L=-sum(t*log(y))"),
        (r"$y=\prod_i x_i$", "y=prod(x)"),
        (r"$L=\sum_i \left[t_i\log p_i + (1-t_i)\right]$", "L=sum(t*log(p)+(1-t))"),
        (r"$y=\|x\|_1$", "y=norm(x, 1)"),
        (r"$y=\|x\|_2^2 + \lVert w\rVert_{2}$", "y=norm(x)**2+norm(w)"),
        (r"$y=\mathbf{W}^{(1)}x + W_{1}^{[2]}b$", "y=W_1*x+W_1_2*b"),
        (r"$y=W^{(1)\top}x$", "y=W_1.T @ x"),
        (r"$y=e^{(x)}x^{(a+b)/2}$", "y=exp(((x)))*x**((a+b)/2)"),
        (r"$y=\sqrt[3]{x}\sqrt[n]{\frac{x}{2}}$", "y=(x)**(1/3)*((x/2))**(1/n)"),
        (r"\begin{align} y &= 2x \\ z &= yx \end{align}", "y=2*x;z=y*x"),
    ],
)
def test_pasted_latex_is_read(latex: str, written: str) -> None:
    source = Source.of(latex)
    assert (source.text, [note.text for note in source.notes]) == (written, [f"read the LaTeX as {written}"])


@pytest.mark.parametrize(
    ("latex", "mark", "what"),
    [
        (r"$y=\int x dx$", r"\int", r"\int has no meaning in an expression"),
        (r"$y=\dot{x}$", r"\dot", r"\dot has no meaning in an expression"),
        (r"y=\frac{\partial x}{w}", r"\partial", r"\partial has no meaning in an expression"),
        (r"$y=\begin{bmatrix}1&2\\3&4\end{bmatrix}x$", r"\begin", r"\begin has no meaning in an expression"),
        (r"$y=\alpha+$", r"\alpha", "\\ has no meaning in an expression"),
        (r"$a_i=\sum_j w_{ij} x_j$", r"\sum", "a sum has no index in an expression"),
        (r"$y=e^{-\alpha/RT}$", "/", "/ may be of the next factor, or of all"),
        (r"$y=\sqrt[]{x}$", r"\sqrt", "\\ has no meaning in an expression"),
        (r"$y=\sum_i \sum_j w_{ij}$", r"\sum", "a sum has no index in an expression"),
        (r"$y=\frac{e^{x_i}}{\sum_j e^{x_j}}$", r"\sum", "a sum has no index in an expression"),
        ("$y={x$", "{", "this { is not closed"),
        ("$y=x}$", "}", "this } closes nothing"),
        (r"$y=\frac{1}{x$", "{x", "this { is not closed"),
        (r"$y=x^{(n-1)}$", "^{(", "this may be a power, or the number of a layer"),
        ("y=x$2", "$", "$ has no meaning in an expression"),
    ],
)
def test_latex_that_means_more_is_refused_where_it_does(latex: str, mark: str, what: str) -> None:
    source = Source.of(latex)
    assert (source.text, source.notes) == (latex, ())
    error = refusal(source.text)
    assert error.what == what
    assert error.place is not None
    assert (error.place.column, marked(error)) == (latex.index(mark), mark[: len(marked(error))])


@pytest.mark.parametrize(
    ("latex", "values", "written"),
    [
        ("$y=Wx+b$", {"W": "[[1, 2]]", "x": [3, 4], "b": 0}, "y=W @ x+b"),
        (r"$y=\mathbf{W}\mathbf{x}$", {"W": [[1, 2]], "x": "[3, 4]"}, "y=W @ x"),
        ("$y=wx+b$", {"wx": 2}, "y=wx+b"),
        (r"$y=\mathbf{w}^\top\mathbf{x}$", {"w": [1, 2], "x": [3, 4]}, "y=w @ x"),
        (r"$y=W_2\tanh(Wx)$", {"W": [[1, 2]], "W_2": [[3]], "x": [3, 4]}, "y=W_2·tanh(W @ x)"),
        (r"$y=x^\top A \tanh(x)$", {"A": [[1, 2], [3, 4]], "x": [3, 4]}, "y=x @ A @ tanh(x)"),
        (r"$y=\frac{x-\mu}{\sigma\sqrt{x}}$", {"μ": 0, "sigma": 2}, "y=((x-μ)/(sigma*sqrt(x)))"),
        (
            r"$y=e^{-\frac{1}{2}\left(\frac{x-1}{\sigma}\right)^2}$",
            {"sigma": 2},
            "y=exp((-(1/2)*(((x-1)/sigma))**2))",
        ),
        (r"$y=x^{\frac{1}{2}}$", {"x": 9}, "y=x**((1/2))"),
        ("$y=W^{-1}x$", {"W": [[1, 2], [3, 4]], "x": [3, 4]}, "y=inverse(W) @ x"),
    ],
)
def test_letters_side_by_side_in_latex_are_what_their_values_say(
    latex: str, values: dict[str, Any], written: str
) -> None:
    assert Source.of(latex, values=values).text == written
    assert next(note.text for note in read(latex, **values).notes) == f"read the LaTeX as {written}"
