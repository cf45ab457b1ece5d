"""An expression's static graph: which operations its pieces become, what they are called, and what is refused where."""

from __future__ import annotations

import pytest

from gviz.errors import SourceError
from gviz.options import SourceOptions
from gviz.sources.expression.static import build
from gviz.sources.static import StaticSource

VALUES = {"x": "[[1, 2, 3], [4, 5, 6]]", "w": "2", "W": "[[1, 2], [3, 4], [5, 6]]", "v": "[1, 2, 3]"}


def built(text: str, *roots: str) -> StaticSource:
    return build(text, SourceOptions(values=VALUES, roots=roots))


def operations(source: StaticSource) -> list[str]:
    """All operations but the placeholders, each as ``name = Type(inputs)``."""
    made = [op for op in source.graph.get_operations() if op.type != "Placeholder"]
    return [f"{op.name} = {op.type}({', '.join(t.op.name for t in op.inputs)})" for op in made]


def test_two_numbers_are_pythons() -> None:
    ops = built("y=a*(1/2)+2*pi").graph.get_operations()
    assert [op.type for op in ops] == ["Placeholder", "Const", "Mul", "Const", "AddV2"]
    assert [float(op.attrs["value"]) for op in ops if op.type == "Const"] == pytest.approx([0.5, 6.2831855])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("y=x*w+x", ["mul = Mul(x, w)", "y = AddV2(mul, x)"]),
        ("y=2*x", ["y/x = Const()", "y = Mul(y/x, x)"]),
        ("2*x", ["mul/x = Const()", "mul = Mul(mul/x, x)"]),
        ("y=x*sqrt(4)", ["y/y = Const()", "y = Mul(x, y/y)"]),
        ("y=x", ["y = Identity(x)"]),
        ("y=z=x; y*z", ["y = Identity(x)", "mul = Mul(y, y)"]),
        ("n=3; m=n; y=x*m", ["y/y = Const()", "y = Mul(x, y/y)"]),
        ("y=-x; +y", ["y = Neg(x)"]),
        ("y=x==w; x!=w", ["y = Equal(x, w)", "NotEqual = NotEqual(x, w)"]),
        ("y=x@W", ["y = MatMul(x, W)"]),
        ("y=log(x).tanh()", ["Log = Log(x)", "y = Tanh(Log)"]),
        ("y=torch.pi*x.detach()", ["StopGradient = StopGradient(x)", "y/x = Const()", "y = Mul(y/x, StopGradient)"]),
        ("x=x*w; x=x+w", ["x_1 = Mul(x, w)", "x_2 = AddV2(x_1, w)"]),
        ("z=stack([x, x])", ["z = Pack(x, x)"]),
    ],
)
def test_operations_have_the_names_of_what_is_assigned(text: str, expected: list[str]) -> None:
    assert operations(built(text)) == expected


def test_the_root_is_the_last_value_or_the_name_that_is_asked_for() -> None:
    text = "a=x*2; b=a+1; b-a"
    roots = [built(text, *root).root for root in ((), ("a",), ("x",))]
    assert [root.op.name for root in roots if root is not None] == ["sub", "a", "x"]
    assert [built(text, *root).title for root in ((), ("a",))] == ["", "a"]
    assert [built(text).title for text in ("y=x*w; y", "y=+x", "n=2*3")] == ["y", "y", "n"]


@pytest.mark.parametrize(
    ("text", "message", "column", "length"),
    [
        ("y=x+std(x)", "std is not there in gviz's static graphs", 4, 6),
        ("y=x+x[0]", "x[0]: a static graph's expression has no such form", 4, 4),
        ("y=~x", "~x: a static graph's expression has no such form", 2, 2),
        ("a, b = x", "a static graph's expression assigns one name at a time", 0, 4),
        ("y=x.sum(dtype=float64)", "float64 is not there in a static graph", 14, 7),
        ("y=x*9**9**9", "too large: this number would have 369,693,100 digits", 4, 7),
        ("y=x*(1/0)", "division by zero", 5, 3),
        ("y=[x, w]", "a list is not a tensor", 0, 8),
        ("y=None", "None values not supported.", 0, 6),
        ("y=x+matmul(x)", "matmul() missing 1 required positional argument", 4, 9),
        ("y=x.clamp()", "clamp() missing 2 required positional arguments", 2, 9),
        ("y=x.reshape()", 'reshape() missing 1 required positional arguments: "shape"', 2, 11),
        ("y=((x*w).abs(5)).T", "abs() takes 1 positional argument but 2 were given", 3, 12),
        ("y=x.abs(True)", "abs() takes 1 positional argument but 2 were given", 2, 11),
        ("y=clone(x,(2,3))", "clone() takes 1 positional argument but 2 were given", 2, 14),
        ("y=x.matmul(w, True)", "matmul() takes 2 positional arguments but 3 were given", 2, 17),
        ("y=elu(x, 2)", "elu() takes features in a static graph, and got 2 arguments", 2, 9),
        ("y=elu(x, 2).T", "elu() takes features in a static graph, and got 2 arguments", 2, 9),
        ("y=c%t([x,x])", "t(): argument 'input' (position 1) must be Tensor, not list", 4, 8),
        ("a=x; " + "a=[a]; " * 3000 + "y=stack(a)", "lists in lists, nested too deeply to compute with", 21007, 8),
        ("y=...", "Failed to convert elements of Ellipsis to Tensor.", 0, 5),
        ("y=2**63", "9223372036854775808 is too large for an integer of 64 bits: write it as a float", 0, 7),
        ("y=x+2**2000", "int too large to convert to float", 2, 9),
    ],
)
def test_what_static_graphs_lack_is_said_at_its_place(text: str, message: str, column: int, length: int) -> None:
    with pytest.raises(SourceError) as caught:
        built(text)
    place = caught.value.place
    assert place is not None
    assert str(caught.value).startswith(message)
    assert (place.column, place.length) == (column, length)


def test_branches_of_other_shapes_are_answered_with_what_to_write() -> None:
    with pytest.raises(SourceError, match="'then' and 'else' must have the same size") as caught:
        built("y=where(x>w, x, w)")
    assert caught.value.place is not None
    assert caught.value.place.column == 2
    assert caught.value.hint == "both need the shape of the condition, as in x*0 + w"
