"""What an expression may not contain or do: nothing outside the allow-list is read, nothing too large is made."""

from __future__ import annotations

import builtins
import time
from typing import Any

import pytest

from gviz import engine
from gviz.errors import GvizError, SourceError
from gviz.options import SourceOptions
from gviz.sources.expression import allowed as names, evaluate
from gviz.sources.expression.limits import MAX_WORK, Budget, most_elements


def refusal(text: str) -> SourceError:
    with pytest.raises(SourceError) as error:
        evaluate(text, SourceOptions(values={"x": "[1.,2.]"}))
    assert error.value.place is not None
    assert "^" in str(error.value)
    return error.value


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ("import os", ["import is not possible", "log(x)"]),
        ("from os import system", ["import is not possible"]),
        ("y=x; import os", ["import is not possible"]),
        ("def f(): pass", ["def is not possible", "gviz render file.py"]),
        ("class A: pass", ["class is not possible"]),
        ("while x: y", ["while is not possible"]),
        ("with x: y", ["with is not possible"]),
        ("del x", ["del is not possible"]),
        ("pass", ["pass is not possible"]),
        ("assert x", ["assert is not possible"]),
        ("raise x", ["raise is not possible"]),
        ("global x", ["global is not possible"]),
        ("lambda: x", ["lambda is not possible"]),
        ("y=[i for i in x]", ["a loop is not possible"]),
        ("y=sum(i for i in x)", ["a loop is not possible"]),
        ("y={i: i for i in x}", ["a loop is not possible"]),
        ("y={x}", ["write y=(x)"]),
        ("y={'a': x}", ["round ones"]),
        ("y=f'{x}'", ["a text is not possible"]),
        ("'text'", ["a text is not possible"]),
        ("b'bytes'", ["a text is not possible"]),
        ("y='a'*x", ["a text is not possible"]),
        ("y=x['a']", ["a text is not possible"]),
        ("'a'.sum()", ["a text is not possible"]),
        ("y=x if x else 2", ["if ... else is not possible", "where(condition, a, b)"]),
        ("y=x and x", ["and, or are not possible", "logical_and"]),
        ("y=not x", ["not is not possible", "~(x > 0)"]),
        ("y=0<x<1", ["cannot be chained", "(0 < x) & (x < 1)"]),
        ("y=x in [1]", ["in, is are not possible"]),
        ("y=x is None", ["in, is are not possible"]),
        ("y=(z:=x)", [":= is not possible"]),
        ("y=log(*x)", ["* and ** before a name are not possible"]),
        ("y=log(**x)", ["* and ** before a name are not possible"]),
        ("y=*x, 2", ["* and ** before a name are not possible"]),
        ("await x", ["await is not possible"]),
        ("yield x", ["yield is not possible"]),
        ("y: int = x", ["a type is not written", "--dtype"]),
        ("x += 1", ["in place", "write x = x + 1"]),
        ("x @= x*2", ["in place", "write x = x @ x*2"]),
        ("x[0] = 2", ["a part of a tensor cannot be assigned", "in place"]),
        ("x.data = 2", ["an attribute cannot be assigned"]),
        ("a, (b, c) = x", ["names in brackets cannot be assigned"]),
        ("a, b, c = x", ["not enough values to unpack (expected 3, got 2)"]),
        ("y=x + None", ["unsupported operand type(s) for +: 'Tensor' and 'NoneType'"]),
        ("y=x*float64", ["unsupported operand type(s) for *: 'Tensor' and 'dtype'"]),
        ("y=x @ 2", ["unsupported operand type(s) for @: 'Tensor' and 'int'", "write * to multiply by a number"]),
        ("y=2 @ x", ["unsupported operand type(s) for @: 'int' and 'Tensor'", "write * to multiply by a number"]),
        ("y=-[x]", ["a list takes no part in arithmetic"]),
        ("y=2 .sum()", ["'int' object has no attribute 'sum'"]),
        ("y=(x, x).sum()", ["'tuple' object has no attribute 'sum'"]),
        ("y=2[0]", ["'int' object is not subscriptable"]),
        ("y=(1/0)*x", ["division by zero", "of tensors it would be inf"]),
        ("y=2%0*x", ["modulo by zero"]),
        ("y=(-8)**(1/3)*x", ["not a real number"]),
        ("y=log(-1)*x", ["math domain error", "of a tensor it would be nan or inf"]),
        ("y=1e300**2*x", ["out of range", "1.8e308"]),
        ("y=__debug__*2", ["this is a word of Python's own"]),
        ("__debug__ = x", ["this is a word of Python's own"]),
        ("y=ªs*2", ["this is a word of Python's own"]),
        ("ªs = x", ["this is a word of Python's own"]),
        ("y=x.max*2", ["max is a method", "write .max()"]),
    ],
)
def test_what_is_no_formula_is_refused(text: str, phrases: list[str]) -> None:
    report = str(refusal(text))
    for phrase in phrases:
        assert phrase in report


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ("y=x.__class__", ["there is no attribute __class__"]),
        ("y=x.T.__init__", ["there is no attribute __init__"]),
        ("y=x.sum.__globals__", ["__globals__"]),
        ("y=x.grad", ["before backward"]),
        ("y=x.data", ["x.detach()"]),
        ("y=x._base", ["there is no attribute _base"]),
        ("y=x.sum", ["sum is a method", ".sum()"]),
        ("y=x.T()", ["T is not a method"]),
        ("y=x.values", ["'Tensor' object has no attribute 'values'"]),
        ("x.backward()", ["backward runs by itself"]),
        ("y=x.retain_grad()", ["--retain NAME"]),
        ("y=x.requires_grad_()", ["--frozen NAME"]),
        ("y=x.add_(1)", ["in place", ".add(...)", "or use a script: gviz render file.py"]),
        ("y=x.numpy()", ["x.detach()"]),
        ("y=x.linear(x)", ["linear is a function, not a method", "linear(x, ...)"]),
        ("y=x.smu()", ["there is no method smu", "did you mean sum?"]),
        ("y=add(x, x, out=x)", ["out= is not possible"]),
        ("y=sum(x, dim=0, dim=0)", ["dim is given twice", "leave one out"]),
        ("y=relu(x, inplace=True)", ["inplace= is not possible"]),
        ("y=__import__('os').system('ls')", ["system"]),
        ("y=getattr(x, 'sum')", ["getattr is not allowed in an expression"]),
        ("y=eval('1')", ["eval is not allowed in an expression", "a script can do it: gviz render file.py"]),
        ("y=exec('1')", ["exec is not allowed in an expression"]),
        ("y=open('f')", ["open is not allowed in an expression"]),
        ("y=print(x)", ["nothing has to be printed"]),
        ("y=len(x)", ["x.shape[0]"]),
        ("y=range(3)", ["arange"]),
        ("y=float(x)", ["x.float()"]),
        ("y=torch.save(x, 'f')", ["there is no function torch.save"]),
        ("y=torch.load('f')", ["there is no function torch.load"]),
        ("y=torch.nn.functional.save(x)", ["there is no"]),
        ("manual_seed(1); y=rand(2)*x", ["manual_seed(0)"]),
        ("y=np.log(x)", ["there is no np in an expression", "write log(...)"]),
        ("y=torch.linalg.norm(x)", ["there is no linalg in an expression", "write norm(...)"]),
        ("y=math.pi*x", ["math is not needed", "write pi"]),
        ("y=(x+w)*lgo(w)", ["there is no function lgo", "did you mean log?"]),
        ("y=Sigmoid(2)", ["there is no function Sigmoid", "did you mean sigmoid?"]),
        ("y=x.T.foo", ["there is no attribute foo"]),
        ("a=w.x + b", ["there is no attribute x", "write w*x; of two vectors w @ x"]),
        ("y=log(x)[0](x)", ["what a function returns cannot be called"]),
    ],
)
def test_names_outside_the_table_are_refused(text: str, phrases: list[str]) -> None:
    report = str(refusal(text))
    for phrase in phrases:
        assert phrase in report


def test_nothing_is_evaluated_before_the_whole_expression_is_looked_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gviz.sources.expression.run", lambda *_: pytest.fail("it was computed"))
    with pytest.raises(SourceError, match="import is not possible"):
        evaluate("y = x*2; import os")


@pytest.mark.parametrize("name", ["eval", "exec", "open", "__import__", "getattr", "setattr", "compile", "input"])
def test_no_builtin_function_can_be_reached(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[Any] = []
    if name not in ("__import__", "compile", "getattr", "setattr"):  # Python itself needs those
        monkeypatch.setattr(builtins, name, lambda *args: called.append(args))
    with pytest.raises(GvizError):
        evaluate(f"y = {name}('x', 'y')")
    assert called == []


def test_the_allow_list_holds_nothing_that_writes() -> None:
    allowed = names.functions() | names.tensor_methods() | names.ATTRIBUTES | names.FIELDS
    assert not [name for name in allowed if name.startswith("_") or name.endswith("_")]
    for name in (
        "backward",
        "save",
        "load",
        "manual_seed",
        "set_default_dtype",
        "from_numpy",
        "as_strided",
        "apply",
        "numpy",
        "register_hook",
    ):
        assert name not in allowed


def test_what_an_expression_may_call_is_there() -> None:
    assert not [name for name in names.functions() if not callable(names.find_function(name))]
    assert not [name for name in names.tensor_methods() if not callable(getattr(engine.Tensor, name))]


# Too large


@pytest.mark.parametrize(
    "text",
    [
        "ones(1000000,1000000)",
        "ones((1000000,1000000))",
        "zeros(2**40)",
        "full((10**9,), 1.0)",
        "full(size=(10**9,), fill_value=1.0)",
        "eye(10**9)",
        "eye(10, 10**9)",
        "rand(10**10)",
        "randn((10**5,10**5))",
        "randint(0, 10, (10**5,10**5))",
        "randperm(10**11)",
        "arange(10**12)",
        "arange(0, 1, 1e-12)",
        "arange(end=10**12)",
        "arange(inf)",
        "linspace(0, 1, 10**11)",
        "linspace(0, 1, steps=10**11)",
        "ones(1).expand(10**5, 10**5)",
        "x.reshape(-1, 1).expand(-1, 10**10)",
        "x.new_zeros(10**6, 10**6)",
        "x.new_full((10**10,), 2)",
        "arange(10**5).reshape(-1,1) + arange(10**5)",
        "arange(1e6).reshape(-1,1) + arange(1e6)",
        "maximum(arange(10**5).reshape(-1,1), arange(10**5))",
        "arange(10**5).reshape(-1,1) @ arange(10**5).reshape(1,-1)",
        "ones(10**8)*2",
        "stack([ones(10**7), ones(10**7), ones(10**7), ones(10**7), ones(10**7), ones(10**7)])",
        "x.unbind(0)[0] + unbind(arange(10**5))[0]",
    ],
)
def test_a_tensor_that_is_too_large_is_refused_before_it_is_made(text: str) -> None:
    start = time.process_time()
    error = refusal(f"y=({text})")
    assert error.what.startswith("too large: ")
    assert "elements" in error.what
    assert time.process_time() - start < 5


def test_a_refused_size_is_said() -> None:
    assert refusal("y=ones(1000000,1000000)").what == (
        "too large: 1,000,000,000,000 elements (4,000.0 GB); an expression may have 100,000,000"
    )


@pytest.mark.parametrize(
    ("name", "args", "size"),
    [
        ("ones", [2, 3], 6),
        ("ones", [(2, 3)], 6),
        ("ones", [0, 10**12], 0),
        ("arange", [5], 5),
        ("arange", [1, 2, 0.25], 4),
        ("arange", [5, 1], 0),
        ("arange", [5, 1, -1], 4),
        ("eye", [3], 9),
        ("eye", [3, 4], 12),
        ("linspace", [0, 1, 7], 7),
        ("hann_window", [10**10], 10**10),
        ("tril_indices", [10**5, 10**5], 10**10),
        ("randint", [0, 10**9, (3,)], 3),
        ("full", [(2, 2), 10**9], 4),
        ("repeat", ["1000", 10**6], 10**9),
        ("tile", ["1000", (10**6,)], 10**9),
        ("outer", ["10000", "100000"], 10**9),
        ("matmul", ["1x100000", "100000x1"], 1),
        ("matmul", ["100000x1", "1x100000"], 10**10),
        ("matmul", ["20x30000x2", "2x30000"], 20 * 30000 * 30000),
        ("add", ["100000x1", "100000"], 10**10),
        ("linear", ["100000x1", "100000x1"], 10**10),
        ("linear", ["100000x10", "2x10"], 200_000),
        ("scaled_dot_product_attention", ["8x100x10", "8x200x10", "8x200x10"], 8 * 100 * 200),
        ("addmm", ["3", "2000x10", "10x3000"], 2000 * 3000),
        ("tensor", [[1000, 2000, 3000, 40000]], 0),
        ("cross_entropy", ["20000x10", "20000"], 220_000),
        ("split", ["1000000", 100], 0),
        ("cat", [["60000", "60000"]], 120_000),
        ("cdist", ["100000x1", "100000x1"], 10**10),
        ("kron", ["100000", "100000"], 10**10),
        ("einsum", ["i,j->ij", "100000", "100000"], 10**10),
        ("einsum", ["ij,jk->ik", "1000x10", "10x1000"], 1000 * 1000),
        ("einsum", ["i,j", "1000", "1000"], 10**6),
        ("meshgrid", ["100000", "100000"], 10**10),
        ("pad", ["10", (10**9, 0)], 10**10),
        ("one_hot", ["3", 10**9], 3 * 10**9),
        ("repeat_interleave", ["10", 10**9], 10**10),
        ("[]", ["10", [0] * 20], 20),
        ("[]", ["100x100", ([0] * 50, None, slice(None))], 5000),
        ("sum", ["1000000", 0], 10**6),
    ],
)
def test_the_size_of_a_result_is_bounded(name: str, args: list[Any], size: float) -> None:

    def made(argument: Any) -> Any:
        if isinstance(argument, list) and argument and isinstance(argument[0], str):
            return [made(part) for part in argument]
        if isinstance(argument, str) and argument[0].isdigit():
            return engine.zeros(*(int(part) for part in argument.split("x")))
        return argument

    found = most_elements(name, [made(argument) for argument in args], {})
    assert size <= found <= max(size * 1.01, size + 1)


@pytest.mark.parametrize("text", ["nn.Linear(2,3)(x)", "torch.nn.Linear(2,3)(x)", "nn.Linear(2,3)", "Linear(2,3)(x)"])
def test_a_module_needs_a_script(text: str) -> None:
    error = refusal(f"y={text}")
    assert error.what == f"{text.partition('(')[0]} is a module, which an expression cannot have"
    assert str(error.hint).startswith("modules need a script: gviz render file.py")


@pytest.mark.parametrize("text", ["foo(x)", "x.foo()", "torch.foo(x)", "x.foo"])
def test_a_name_that_is_like_no_other_gets_no_suggestion(text: str) -> None:
    assert "did you mean" not in str(refusal(f"y={text}"))


def test_e_is_a_name_as_any_other_unless_it_is_raised_and_the_note_says_what_is_not() -> None:
    (note,) = evaluate("y=e**x", SourceOptions(values={"x": "2"})).notes
    assert note.text == "read as y=exp(x)"
    (note,) = evaluate("y=e*x", SourceOptions(values={"x": "2"})).notes
    assert note.text == "e not given: 1.0 used; exp(x) is the exponential function"


def test_cutting_into_too_many_pieces_is_refused() -> None:
    assert refusal("y=unbind(arange(10**6))[0]").what.startswith("too large")


@pytest.mark.parametrize(
    "text",
    [
        "9**9**9**9",
        "x*9**9**9**9",
        "10**10**10",
        "(-9)**9**9",
        "1<<10**10",
        "2**(2**63)",
        "(10**1000)*(10**1000)*x",
        "x*10**5000",
    ],
)
def test_a_number_of_too_many_digits_is_refused_before_it_is_computed(text: str) -> None:
    start = time.process_time()
    assert "too large" in refusal(f"y={text}").what
    assert time.process_time() - start < 1


def test_the_digits_of_a_refused_number_are_said() -> None:
    assert refusal("y=10**10**10").what == "too large: this number would have 10,000,000,001 digits"


def test_a_whole_number_may_have_many_digits_on_the_way() -> None:
    result = evaluate("y = x*(10**100/10**99)", SourceOptions(values={"x": "1"}))
    assert result.roots["y"].item() == 10.0


def test_a_name_may_be_long() -> None:
    assert "n" * 1000 in evaluate("y=2*" + "n" * 1000).names


@pytest.mark.parametrize(
    ("expression", "hint"),
    [
        (
            "y=x.reshape(99999999999999999999)",
            "write it as a decimal number, as in 1e30; sizes, dims and indices are small whole numbers",
        ),
        (
            "y=x[99999999999999999999]",
            "write it as a decimal number, as in 1e30; sizes, dims and indices are small whole numbers",
        ),
        (
            "y=x*99999999999999999999",
            "write it as a decimal number, as in 1e30; sizes, dims and indices are small whole numbers",
        ),
        (
            "y=nothinglikeit(x)",
            "functions are called as in PyTorch, exp(x) or relu(x); to multiply, write * before the bracket",
        ),
        ("y=x.nothinglikeit()", "tensors have PyTorch's methods, as in x.exp() or x.sum()"),
        ("y=x*٣", "write y=x*3"),
    ],
)
def test_the_hint_of_a_refusal_can_be_followed(expression: str, hint: str) -> None:
    with pytest.raises(SourceError) as caught:
        evaluate(expression, SourceOptions(values={"x": "[1, 2]"}))
    assert caught.value.hint == hint


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("svd(ones(4000,4000))[1].sum()", "svd"),
        ("cdist(ones(5000,4000),ones(5000,4000)).sum()", "cdist"),
        ("inverse(ones(5000,5000)).sum()", "inverse"),
        ("(ones(5000,5000)@ones(5000,5000)).sum()", "@"),
        ("ones(8,1850,1850).matmul(ones(8,1850,1850)).sum()", "matmul"),
    ],
)
def test_too_much_work_with_matrices_is_refused_before_it_is_done(text: str, name: str) -> None:
    start = time.process_time()
    assert refusal(f"y={text}").what.startswith(f"too much work: {name} takes about ")
    assert time.process_time() - start < 5


def test_the_work_of_all_calls_is_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Budget, "work_left", MAX_WORK // 1000)
    two = "A=ones(90,90); y=x+svd(A)[1].sum()+svd(A*2)[1].sum()"
    assert evaluate(two, SourceOptions(values={"x": "0"})).roots["y"].item() == pytest.approx(270)
    assert refusal(f"{two}+svd(A*3)[1].sum()").what.startswith("too much work: svd takes about ")


@pytest.mark.parametrize(
    ("text", "values", "hint"),
    [
        ("y=x*w", {"x": "[1,2"}, "write x=[1,2]"),
        ("y=|x|w|", {}, "bars on both sides"),
        ("y=sum(x,w)", {}, "write x + w to add tensors"),
        ("y=W@x", {"W": "[[1,2],[3,4]]", "x": "[1,2,3]"}, "as many columns"),
        ("y=x+w", {"x": "[1,2]", "w": "[1,2,3]"}, "as many numbers"),
        ("y=cat([x,w])", {}, "write stack([x, w])"),
        ("y=x*[1,2]", {}, "tensor([1, 2])"),
        ("y=softmax(x,dim=0)[w]", {"x": "[1,2]"}, "write x[i.long()] for the elements at i"),
        ("y=max(x,w,v)", {}, "it takes two: write max(max(x, w), v)"),
    ],
)
def test_pytorch_s_error_gets_advice(text: str, values: dict[str, str], hint: str) -> None:
    with pytest.raises(SourceError) as error:
        evaluate(text, SourceOptions(values=values))
    assert hint in (error.value.hint or "")
