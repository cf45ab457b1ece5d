"""Expressions: names, numbers, roots and notes."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import pytest
from program import ROOT

from gviz.errors import SourceError
from gviz.options import SourceOptions
from gviz.sources.expression import evaluate
from gviz.sources.reading import not_finite_notes
from gviz.sources.run import Run


def run(text: str, *values: str, **options: Any) -> Run:
    return evaluate(text, SourceOptions(values=dict(text.split("=", 1) for text in values), **options))


def numbers(result: Run) -> dict[str, Any]:
    return {name: tensor.tolist() for name, tensor in result.names.items()}


def grads(result: Run) -> dict[str, Any]:
    return {
        name: tensor.grad.tolist()
        for name, tensor in result.names.items()
        if tensor.is_leaf and tensor.grad is not None
    }


def texts(result: Run, level: str | None = None) -> list[str]:
    return [note.text for note in result.notes if level in (None, note.level)]


# Names


def test_free_letters_skip_every_name_of_the_program() -> None:
    result = run("e = a*b + log(d)*c", "a=2", "b=3", "c=5", "d=10")
    assert result.expressions == {"f": "a * b", "g": "log(d)", "h": "g * c"}


def test_free_letters_skip_values_that_are_not_used_and_functions() -> None:
    result = run("y = t(x*2)*a + 1", "a=2", "b=3", "x=[1]")
    assert list(result.expressions) == ["c", "f", "g"]


def test_after_z_come_two_letters() -> None:
    result = run("y=" + "+".join(["x"] * 30))
    assert list(result.expressions)[:2] == ["a", "b"]
    assert list(result.expressions)[-8:] == ["z", "aa", "ab", "ac", "af", "ag", "ah", "aj"]


def test_what_is_taken_twice_from_a_frozen_tensor_has_one_letter() -> None:
    result = evaluate("y=x[0]*w + x[0]*w**2 + x[1]*w", SourceOptions(values={"x": "[1, 2]", "w": "3"}, frozen=("x",)))
    assert [name for name, text in result.expressions.items() if text == "x[0]"] == ["a"]
    assert result.expressions["b"] == "a * w"
    assert result.names["w"].grad.item() == 1 + 6 + 2


def test_no_result_is_called_d_e_or_i_which_mathematics_has_for_other_things() -> None:
    result = run("L = log(1 + e^(-y*(w*x + b)))", "y=1", "w=2", "x=3", "b=1")
    assert list(result.expressions) == ["a", "c", "f", "g", "h", "j"]


def test_values_come_in_the_order_of_their_appearance() -> None:
    assert list(run("z=b+a; y=z*c", "a=1", "c=1", "b=1").names) == ["b", "a", "c", "z", "y"]


def test_a_formula_without_a_name_is_called_y() -> None:
    result = run("(x+w)*(w+1)", "x=2", "w=1")
    assert list(result.roots) == ["y"]
    assert result.expressions["y"] == "a * b"
    assert result.names["y"].item() == 6.0


def test_a_root_is_not_called_y_where_a_value_is() -> None:
    assert list(run("y*2", "y=3").roots) == ["z"]


def test_a_last_statement_that_only_names_picks_that_root() -> None:
    assert list(run("y = x*2; z = y*3; y").roots) == ["y"]


def test_numbers_among_themselves_get_no_name() -> None:
    result = run("y = 2**3*x + 1/3*x", "x=1")
    assert result.expressions == {"a": "2 ** 3 * x", "b": "1 / 3 * x"}


def test_a_long_number_is_written_as_it_came_out() -> None:
    result = run("y = (1/3+1/7+1/11+1/13)*x*2", "x=1")
    assert result.expressions == {"a": f"{1 / 3 + 1 / 7 + 1 / 11 + 1 / 13!r} * x"}


def test_a_constant_tensor_gets_no_name() -> None:
    result = run("y = (x + ones(2)*3).sum()", "x=[1,2]")
    assert result.expressions == {"a": "x + ones(2) * 3"}


def test_an_operation_that_returns_its_input_gets_no_name() -> None:
    assert run("y = (+x)*2", "x=1").expressions == {}
    assert run("+(x*2)", "x=1").expressions == {"y": "x * 2"}


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("(x+w)*2", "x + w"),
        ("2**(x*1)", "x * 1"),
        ("((-2)**x)*1", "(-2) ** x"),
        ("(-x)*1", "-x"),
        ("(x**-1)*1", "x ** (-1)"),
        ("(x@x)*1", "x @ x"),
        ("sum(x, dim=0)*1", "sum(x, dim=0)"),
        ("x.sum(0, keepdim=True)*1", "x.sum(0, keepdim=True)"),
        ("x.T*1", "x.T"),
        ("x[0, 1:]*1", "x[0, 1:]"),
        ("x[::2]*1", "x[::2]"),
        ("x[None, ...]*1", "x[None, ...]"),
        ("x[[0, 1]]*1", "x[[0, 1]]"),
        ("stack([x, w])*1", "stack([x, w])"),
        ("torch.exp(x)*1", "exp(x)"),
        ("(x > 0)*x", "x > 0"),
        ("x.reshape((4,))*1", "x.reshape((4,))"),
        ("max(x, dim=0).values*1", "max(x, dim=0).values"),
        ("max(x, dim=0)[0]*1", "max(x, dim=0)[0]"),
        ("where(x > 0, x, 0)*1", "x > 0"),
        ("softmax(x, dim=-1)*1", "softmax(x, dim=-1)"),
    ],
)
def test_what_a_letter_stands_for_is_written_as_people_write_it(expression: str, text: str) -> None:
    result = run(f"y={expression}", "x=[[1,2],[3,4]]", "w=[[1,2],[3,4]]")
    assert result.expressions["a"] == text


def test_a_list_of_many_names_is_cut_in_the_middle() -> None:
    text = run(f"y=stack([{', '.join(['x'] * 500)}])*2", "x=1").expressions["a"]
    assert len(text) <= 120
    assert "…" in text


def test_several_names_of_one_assignment_are_one_tensor() -> None:
    result = run("a = b = x*2", "x=3")
    assert result.names["a"] is result.names["b"]
    assert list(result.roots) == ["b"]


def test_a_name_assigned_again_keeps_its_first_tensor_beside_it() -> None:
    result = run("x = x*2; x = x*3; y = x + 1", "x=1")
    assert numbers(result) == {"x (1st)": 1.0, "x (2nd)": 2.0, "x": 6.0, "y": 7.0}


def test_a_name_may_be_used_before_it_is_assigned() -> None:
    result = run("y = y*2", "y=3")
    assert numbers(result) == {"y (1st)": 3.0, "y": 6.0}


def test_the_parts_of_a_result_are_named_by_their_fields() -> None:
    result = run("m = max(x, dim=0); y = m.values*2", "x=[1,5,3]")
    assert numbers(result) == {"x": [1.0, 5.0, 3.0], "m.values": 5.0, "m.indices": 1, "y": 10.0}


def test_the_parts_of_a_tuple_are_named_by_their_places() -> None:
    result = run("p = (x*2, x*3); y = p[0]*p[1]", "x=1")
    assert numbers(result) == {"x": 1.0, "p[0]": 2.0, "p[1]": 3.0, "y": 6.0}


def test_several_names_take_the_parts_of_a_result() -> None:
    result = run("v, i = max(x, dim=0)", "x=[1,5,3]")
    assert list(result.roots) == ["v"]
    assert numbers(result)["i"] == 1
    assert numbers(run("p, q = x", "x=[1,5]"))["q"] == 5.0


def test_names_that_are_no_tensors_are_not_listed() -> None:
    assert list(run("n = 2; s = x.shape; y = x**n*s[0]", "x=[3]").names) == ["x", "a", "y"]


def test_unicode_names_work_as_python_reads_them() -> None:
    result = run("ﬁ = α*ｗ", "α=2", "w=3")
    assert numbers(result) == {"α": 2.0, "w": 3.0, "fi": 6.0}


# Syntax that is fine


@pytest.mark.parametrize(
    "text",
    [
        "a=x*2; y=a+1",
        "a=x*2\ny=a+1",
        "a=x*2;\r\n\r\ny=a+1;",
        "a=x*2\ry=a+1",
        "\ufeffa=x*2;y=a+1",
        "  a=x*2\n\ty=a+1",
        "# first\na=x*2  # then\n\ny=a+1 # last",
        "a=(x\n*2); y=a\\\n+1",
        "a\u00a0=\u3000x*2; y=a+1",
        "a=x*2; (y)=a+1",
        "a=torch.mul(x, 2); y=torch.add(a, 1)",
        "a=F.relu(x)*2; y=a+1",
    ],
)
def test_statements_may_be_written_in_many_ways(text: str) -> None:
    assert numbers(run(text, "x=3")) | {"a": 6.0, "y": 7.0} == numbers(run(text, "x=3"))


def test_a_long_sum_is_computed_within_the_recursion_limit_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(sys, "setrecursionlimit")
    result = run("y=" + "+".join(["x"] * 2500), "x=2")
    assert result.roots["y"].item() == 5000.0
    assert grads(result) == {"x": 2500.0}
    assert list(result.expressions.values())[-1].endswith(" + x")


@pytest.mark.parametrize(
    "text", ["-" * 1500 + "x", "x" + ".T" * 1500, "x" + "[None].sum()" * 700, "(" * 150 + "x*1" + ")" * 150]
)
def test_what_the_parser_accepts_is_computed_however_deep(text: str) -> None:
    assert run(f"y={text}", "x=1").roots["y"].numel() == 1


def test_many_statements_are_computed() -> None:
    assert run("y=x" + ";y=y+x" * 2000, "x=1").roots["y"].item() == 2001.0


def test_random_numbers_are_the_same_each_time() -> None:
    first, second = (run("y=(x*rand(3)).sum()", "x=randn(3)") for _ in range(2))
    assert numbers(first) == numbers(second)


def test_functions_of_plain_numbers_are_numbers() -> None:
    result = run("y = sqrt(2)*x + exp(0)", "x=1")
    assert result.roots["y"].item() == pytest.approx(math.sqrt(2) + 1)
    assert result.expressions == {"a": "sqrt(2) * x"}


def test_dtypes_are_arguments() -> None:
    assert str(run("y = x*ones(2, dtype=float64)", "x=[1,2]").roots["y"].dtype) == "torch.float64"


# Values, constants and functions


def test_missing_values_are_one_and_a_note_says_so() -> None:
    result = run("y=(x+w)*(w+1)")
    assert numbers(result)["y"] == 4.0
    assert texts(result) == ["x, w not given: 1.0 used"]


def test_a_missing_value_with_the_name_of_a_function_is_pointed_out() -> None:
    assert texts(run("y=log*2")) == ["log not given: 1.0 used (to call the function, write log(...))"]


def test_a_name_that_is_used_before_its_statement_is_told() -> None:
    early = "p is used before the statement that makes it; write that one first"
    assert texts(run("L=(y-p)**2; p=w*x")) == ["y, p, w, x not given: 1.0 used", early]
    for again in ("x=x+1; y=x*w", "y=x*w; x=y+1; z=x*2"):
        assert texts(run(again)) == ["x, w not given: 1.0 used"]


def test_a_value_that_is_not_used_is_a_warning() -> None:
    assert texts(run("y=x*2", "x=1", "z=3"), "warning") == ["z=3 is not used: the expression has no z"]


def test_a_value_that_is_not_used_is_compared_with_names_that_have_none() -> None:
    assert texts(run("y=weight*2", "wieght=3"), "warning") == [
        "wieght=3 is not used: the expression has no wieght; did you mean weight?"
    ]


def test_a_value_for_an_assigned_name_is_a_warning() -> None:
    assert texts(run("y=x*2", "x=1", "y=3"), "warning") == ["y=3 is not used: the expression assigns y itself"]


def test_a_value_wins_over_a_function_of_its_name() -> None:
    assert numbers(run("y=sum*2", "sum=3"))["y"] == 6.0
    with pytest.raises(SourceError, match="sum has a value here, so it is not the function sum"):
        run("y=sum(x)", "sum=3")


def test_a_function_wins_over_a_missing_value_of_its_name() -> None:
    assert numbers(run("y=t(x)*t", "x=[2]"))["y"] == [2.0]


def test_pi_is_a_number_unless_it_is_given() -> None:
    assert run("y=pi*r**2", "r=1").roots["y"].item() == pytest.approx(math.pi)
    assert run("y=π*r", "r=1").roots["y"].item() == pytest.approx(math.pi)
    assert texts(run("y=pi*r", "r=1")) == ["pi: the constant of that name; a value of yours wins"]
    assert run("y=pi*r", "r=1", "pi=3").roots["y"].item() == 3.0


# Roots


def test_the_last_assigned_name_is_the_root() -> None:
    assert list(run("y=x*2; z=y*3").roots) == ["z"]


def test_a_root_can_be_picked() -> None:
    result = run("y=x*2; z=y*3", roots=("y",))
    assert list(result.roots) == ["y"]
    assert grads(result) == {"x": 2.0}


def test_several_roots_run_backward_each_in_order() -> None:
    result = run("y=x*2; z=y*3", roots=("z", "y"))
    assert list(result.roots) == ["z", "y"]
    assert grads(result) == {"x": 8.0}


def test_an_automatic_name_can_be_a_root() -> None:
    assert list(run("y=(x+1)*2", roots=("a",)).roots) == ["a"]


def test_a_leaf_can_be_a_root() -> None:
    result = run("x", "x=2")
    assert list(result.roots) == ["x"]
    assert result.expressions == {}
    assert grads(result) == {"x": 1.0}


@pytest.mark.parametrize(("root", "hint"), [("lss", "did you mean loss?"), ("q", "there are x, loss")])
def test_an_unknown_root_is_refused(root: str, hint: str) -> None:
    with pytest.raises(SourceError, match=f"--root {root}: there is no tensor of that name") as error:
        run("loss=x*2", roots=(root,))
    assert error.value.hint == hint


@pytest.mark.parametrize(
    ("text", "options", "phrases"),
    [
        ("y=x*w", {"frozen": ("x", "w")}, ["all values are frozen (x, w)", "--frozen"]),
        ("y=x*2", {"frozen": ("x",)}, ["all values are frozen (x)", "take one out of --frozen"]),
        ("y=ones(2).sum()", {}, ["constants only"]),
        ("y=x>0", {}, ["bool values", "comparison"]),
        ("y=x.argmax()", {}, ["int64 values"]),
        ("y=x.detach()*2", {}, ["outside the graph", "detach()"]),
        ("y=x*2; m=y>0", {}, ["bool values", "--root y has a graph"]),
        ("ones(2)", {}, ["this expression has no graph"]),
    ],
)
def test_a_root_without_a_graph_is_explained(text: str, options: dict[str, Any], phrases: list[str]) -> None:
    with pytest.raises(SourceError, match="has no graph, nothing in it requires gradients") as error:
        run(text, **options)
    for phrase in phrases:
        assert phrase in str(error.value)


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ("y=2*3", ["y must be a Tensor, not int", "y=x*2 x=3"]),
        ("y=None", ["y must be a Tensor, not NoneType", "y=x*2 x=3"]),
        ("y=[1, 2]", ["y must be a Tensor, not list", "y=W*2 W=[1,2]"]),
        ("x.shape", ["x.shape must be a Tensor, not Size"]),
        ("y=[x, x]", ["y is several tensors", "write stack([x, x])"]),
        ("y=max(x, dim=0)", ["y is several tensors", "y.values or y.indices"]),
        ("y=1,5*x", ["a comma makes a tuple"]),
        ("y=x.item()", ["y must be a Tensor, not float", "numbers have no graph"]),
    ],
)
def test_a_root_that_is_no_tensor_is_refused(text: str, phrases: list[str]) -> None:
    with pytest.raises(SourceError) as error:
        run(text, "x=[3]")
    for phrase in phrases:
        assert phrase in str(error.value)


# Frozen, retained, dtype, backward


def test_a_frozen_value_requires_no_gradient() -> None:
    result = run("y=x*w", "x=2", "w=3", frozen=("w",))
    assert grads(result) == {"x": 3.0}


@pytest.mark.parametrize(
    ("name", "phrases"),
    [
        ("z", ["there is no value of that name", "the values are x, weight"]),
        ("weigth", ["did you mean weight?"]),
        ("y", ["y is computed"]),
    ],
)
def test_only_a_value_can_be_frozen(name: str, phrases: list[str]) -> None:
    with pytest.raises(SourceError) as error:
        run("y=x*weight", frozen=(name,))
    for phrase in phrases:
        assert phrase in str(error.value)


def test_a_retained_intermediate_keeps_its_gradient() -> None:
    result = run("y=(x+w)*(w+1)", "x=2", "w=1", retain=("a",))
    assert result.names["a"].grad.item() == 2.0
    assert result.names["a"].retains_grad
    assert not result.names["b"].retains_grad


def test_retaining_a_leaf_is_said_to_be_no_use() -> None:
    assert texts(run("y=x*2", "x=1", retain=("x",))) == ["x is a leaf: it keeps its gradient without --retain"]


def test_retaining_what_has_no_gradient_is_pytorchs_error() -> None:
    with pytest.raises(SourceError, match="can't retain_grad on Tensor that has requires_grad=False"):
        run("m=x>0; y=x*2", retain=("m",))


def test_retaining_an_unknown_name_is_refused() -> None:
    with pytest.raises(SourceError, match="--retain q: there is no tensor of that name"):
        run("y=x*2", retain=("q",))


@pytest.mark.parametrize(
    ("given", "found"), [("float64", "float64"), ("double", "float64"), ("torch.float32", "float32"), (None, "float32")]
)
def test_the_dtype_of_the_values_can_be_set(given: str | None, found: str) -> None:
    assert str(run("y=x*2", "x=1", dtype=given).roots["y"].dtype) == f"torch.{found}"


@pytest.mark.parametrize(
    ("given", "phrase"), [("int64", "have no gradients"), ("flaot32", "did you mean float32?"), ("", "no dtype")]
)
def test_a_dtype_without_gradients_is_refused(given: str, phrase: str) -> None:
    with pytest.raises(SourceError) as error:
        run("y=x*2", dtype=given or "nothing")
    assert phrase in str(error.value)


def test_without_backward_there_are_no_gradients() -> None:
    assert grads(run("y=x*2", "x=1", backward=False)) == {}


def test_the_graph_is_retained_so_that_backward_can_run_again() -> None:
    result = run("y=x*x", "x=3")
    result.roots["y"].backward()
    assert grads(result) == {"x": 12.0}


def test_a_root_of_one_element_runs_backward() -> None:
    assert grads(run("y=x*2", "x=[[3]]")) == {"x": [[2.0]]}


def test_a_root_that_is_no_scalar_says_what_pytorch_says() -> None:
    result = run("y=x*2", "x=[1,2]")
    assert grads(result) == {}
    assert texts(result, "warning") == [
        "grad can be implicitly created only for scalar outputs: y has shape (2,); --grad-output ones supplies a gradient"
    ]


@pytest.mark.parametrize(("given", "grad"), [("ones", [2.0, 2.0]), ("[1,10]", [2.0, 20.0]), ("arange(2)", [0.0, 2.0])])
def test_a_gradient_of_the_root_can_be_supplied(given: str, grad: list[float]) -> None:
    assert grads(run("y=x*2", "x=[1,2]", grad_output=given)) == {"x": grad}


def test_a_gradient_of_another_shape_is_pytorchs_error() -> None:
    with pytest.raises(SourceError, match="Mismatch in shape: grad_output"):
        run("y=x*2", "x=[1,2]", grad_output="[1,2,3]")


def test_a_gradient_that_is_no_value_is_shown_with_its_option() -> None:
    with pytest.raises(SourceError) as error:
        run("y=x*2", "x=[1,2]", grad_output="abc")
    assert str(error.value).splitlines()[1:3] == ["  --grad-output abc", "                ^^^"]


# What is not finite


@pytest.mark.parametrize(
    ("text", "value", "warnings"),
    [
        ("y=log(x)", "-1", ["y is NaN: the first tensor that is not finite"]),
        (
            "y=exp(log(x)*2)",
            "-1",
            ["a = log(x) is NaN: the first tensor that is not finite", "the gradient of x is NaN"],
        ),
        ("y=x/0", "1", ["y is inf: the first tensor that is not finite", "the gradient of x is inf"]),
        ("y=-x/0", "1", ["y is -inf: the first tensor that is not finite", "the gradient of x is -inf"]),
        ("y=sqrt(x)", "0", ["the gradient of x is inf"]),
        ("y=x*2", "nan", ["x is NaN: the first tensor that is not finite"]),
        ("y=x.sum()", "[inf,nan,1]", ["x is NaN: the first tensor that is not finite"]),
        ("y=x.sum()", "[]", []),
        ("y=x*2", "1e38", []),
    ],
)
def test_the_first_tensor_that_is_not_finite_is_named(text: str, value: str, warnings: list[str]) -> None:
    evaluated = run(text, f"x={value}")
    assert [note.text for note in not_finite_notes(evaluated.names, evaluated.expressions)] == warnings


def test_finite_numbers_with_an_infinite_sum_are_finite() -> None:
    assert not list(not_finite_notes(run("y=x[0]*1e-38", "x=[3e38,3e38]").names, {}))


# Errors of the engine


@pytest.mark.parametrize(
    ("text", "message", "marked"),
    [
        ("y=A@B", "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)", "A@B"),
        (
            "z=A*2; y=(z+1) + x",
            "The size of tensor a (3) must match the size of tensor b (2) at non-singleton dimension 1",
            "(z+1) + x",
        ),
        ("y=x[5]", "index 5 is out of bounds for dimension 0 with size 2", "x[5]"),
        ("y=A.sum(dim=7)", "Dimension out of range (expected to be in range of [-2, 1], but got 7)", "A.sum(dim=7)"),
        ("y=A.item()", "a Tensor with 6 elements cannot be converted to Scalar", "A.item()"),
        ("y=log(2, 3)", "log() takes 1 positional argument but 2 were given", "log(2, 3)"),
        ("y=matmul(A, 2)", "matmul(): argument 'other' (position 2) must be Tensor, not int", "matmul(A, 2)"),
        (
            "y=where(x>0, 1)",
            "where() received an invalid combination of arguments - got (Tensor, int)",
            "where(x>0, 1)",
        ),
        ("y=x*10**30", "int too big to convert", "x*10**30"),
    ],
)
def test_an_error_of_the_engine_shows_pytorchs_text_and_the_failing_piece(text: str, message: str, marked: str) -> None:
    with pytest.raises(SourceError) as error:
        run(text, "A=ones(2,3)", "B=ones(2,3)", "x=[1,2]")
    place = error.value.place
    assert error.value.what == message
    assert place is not None
    assert place.column is not None
    assert place.text[place.column : place.column + place.length] == marked


@pytest.mark.parametrize("text", ["sum([x, x])", "exp([x, 2])"])
def test_a_list_that_a_function_does_not_take_is_answered_with_what_to_write(text: str) -> None:
    with pytest.raises(SourceError, match="list") as error:
        run(f"y={text}*2")
    place = error.value.place
    assert place is not None
    assert (place.column, place.length) == (2, len(text))
    assert str(error.value.hint).startswith("write x + w to add tensors, stack([x, w]) to join them")


def test_detach_is_a_function_as_in_pytorch() -> None:
    assert grads(run("y=detach(x)*x", "x=3")) == {"x": 3.0}


def test_an_error_in_a_later_line_shows_that_line() -> None:
    with pytest.raises(SourceError) as error:
        run("y = x*2\nπ2 = 'é'\n", "x=1")
    place = error.value.place
    assert place is not None
    assert (place.text, place.line, place.column, place.length) == ("π2 = 'é'", 2, 5, 3)


def test_columns_are_characters_though_the_parser_counts_bytes() -> None:
    with pytest.raises(SourceError) as error:
        run("  αβγ = x[5]")
    assert str(error.value).splitlines()[1:3] == ["    αβγ = x[5]", "          ^^^^"]


def test_the_options_are_read_with_names_as_python_reads_them() -> None:
    result = evaluate("y=x*w", SourceOptions(values={"ｘ": "2"}, frozen=("ｗ",), roots=("ｙ",)))
    assert grads(result) == {"x": 1.0}
    with pytest.raises(SourceError, match="x has a value twice"):
        evaluate("y=x", SourceOptions(values={"ｘ": "2", "x": "3"}))


@pytest.mark.parametrize("text", ["y=dropout(x)", "y=F.mse_loss(x,w)", "y=F.normalize(x,dim=0)"])
def test_a_function_of_nn_needs_nothing_to_be_loaded_before(text: str) -> None:
    program = f"import gviz; print([node.label for node in gviz.read({text!r}, x=[1, 2]).graph.nodes])"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Backward" in done.stdout
