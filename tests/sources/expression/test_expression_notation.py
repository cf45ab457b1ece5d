"""What people type as mathematics gets a helpful answer: the source with a caret, and what to write instead."""

from __future__ import annotations

import pytest

from gviz.errors import SourceError
from gviz.sources.expression import evaluate
from gviz.sources.expression.notation import rewrite


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
        ("2x", "x", "2*x"),
        ("y=2x+3w", "x", "y=2*x+3*w"),
        ("y = 3x**2 + 2x + 1", "x", "y = 3*x**2 + 2*x + 1"),
        ("x w", "w", "x*w"),
        ("2 x", "x", "2*x"),
        ("y=x mod 2", "mod", "y=x % 2"),
        ("y=x*2 z=y", "z", "write ; between two statements: 2; z="),
        ("2(x+1)", "2", "2*(x+1)"),
        ("(x+1)(w+1)", "x+1", "(x+1)*(w+1)"),
        ("x(w+1)", "x", "to multiply, write x*(w+1)"),
        ("y=x*2; z=y(x+1)", "y", "y=x*2; z=y*(x+1)"),
        ("y=(x+1)2", "2", "y=(x+1)*2"),
        ("y=x[0]w", "w", "y=x[0]*w"),
        ("2e", "e", "2*e"),
        ("2j*x", "2j", "2*j*x"),
        # functions without brackets, and with other names
        ("sin x", "sin", "sin(x)"),
        ("y = 3*sin x + 1", "sin", "y = 3*sin(x) + 1"),
        ("2sin x", "sin", "2*sin(x)"),
        ("sin 2x", "sin", "sin(2*x)"),
        ("log x*w", "log", "log(x)*w"),
        ("sin cos x", "sin", "sin(cos(x))"),
        ("ln(x)", "ln", "log(x)"),
        ("ln x", "ln", "log(x)"),
        ("σ(x)", "σ", "sigmoid(x)"),
        # powers, comparisons, brackets
        ("x^2", "^", "x**2"),
        ("y=(x+1)^2*w^3", "^", "y=(x+1)**2*w**3"),
        ("e^x", "^", "exp(x)"),
        ("y==(x+w)*(w+1)", "y==(x+w)*(w+1)", "y=(x+w)*(w+1)"),
        ("x=1.5; y==x*2", "y==x*2", "x=1.5; y=x*2"),
        ("y:=x*2", ":=", "y=x*2"),
        ("x=>2", "=>", "x>=2"),
        ("x<>2", "<>", "x!=2"),
        ("{x+1}*2", "{x+1}", "round ones"),
        ("[x+1]*2", "[x+1]", "round ones"),
        ("|x|", "|", "abs(x)"),
        ("||x||", "|", "norm(x)"),
        ("(x+w", "(", "write (x+w)"),
        ("y=log((x)", "(", "write y=log((x))"),
        ("y=x[log(w", "(", "write y=x[log(w)]"),
        ("2*|x-1|+1", "|", "2*abs(x-1)+1"),
        # other characters
        ("（x＋w）＊２", "（", "(x+w)*2"),
        ("y＝x", "＝", "y=x"),
        ("x×w", "×", "x*w"),
        ("x·w", "·", "x*w"),
        ("x⋅w", "⋅", "x*w"),
        ("x÷w", "÷", "x/w"),
        ("x−w", "−", "x-w"),
        ("x²+1", "²", "x**2+1"),
        ("x⁻¹", "⁻", "x**-1"),
        ("xⁿ", "ⁿ", "x**n"),
        ("x²³", "²", "x**23"),
        ("√x", "√", "sqrt(x)"),
        ("2√(x+1)", "√", "2*sqrt(x+1)"),
        ("½x", "½", "(1/2)*x"),
        ("xᵀ", "ᵀ", "x.T"),
        ("A⊙B", "⊙", "A*B"),
        ("x₁+x₂", "₁", "x_1+x_2"),
        ("x≤w", "≤", "x<=w"),
        ("y=‖x‖", "‖", "y=norm(x)"),
        ("y=x\u200b*2", "\ufffd", "y=x*2"),
        ("xˆ2", "ˆ", "x**2"),
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
        ("|x|", "|", "there is nothing before |"),
        ("(x", "(", "'(' was never closed"),
        ("y=log((x)", "(", "'(' was never closed"),
        ("x)", ")", "unmatched ')'"),
        ("(x]", "]", "closing parenthesis ']' does not match opening parenthesis '('"),
        ("2=x", "2", "cannot assign to literal"),
        ("f(x)=2*x", "f", "cannot assign to function call"),
        ("x+1=y", "x", "cannot assign to expression"),
        ("a=log(x, y=2); x+1=y", "x", "cannot assign to expression"),
        ("lambda*x", "lambda", "lambda is a word of Python's own and cannot be a name"),
        ("y=lambda", "lambda", "lambda is a word of Python's own and cannot be a name"),
        ("in=2", "in", "there is nothing before in"),
        ("y=from*2", "from", "from is a word of Python's own and cannot be a name"),
        ("x!", "!", "there is no factorial"),
        ("x?", "?", "invalid syntax"),
        ("{x}2", "2", "there is no operator between } and 2"),
        ("x'", "'", "this quote begins a text that does not end"),
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
    assert str(refusal("a = x*2\n\n   y = 3a  # three")).splitlines()[:3] == [
        "line 3: there is no operator between 3 and a",
        "     y = 3a  # three",
        "          ^",
    ]


def test_wide_characters_before_the_caret_take_two_columns() -> None:
    assert str(refusal("変数 = （x")).splitlines()[1:3] == ["  変数 = （x", "         ^^"]


def test_characters_in_a_comment_are_no_operators() -> None:
    assert evaluate("y=x*2 # x·2 ² √").roots["y"].item() == 2.0


def test_a_long_line_is_cut_around_the_caret() -> None:
    report = str(refusal("y=" + "x+" * 200 + "2w" + "+x" * 200)).splitlines()
    assert len(report[1]) < 90
    assert report[2].index("^") == report[1].index("2w") + 1


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
