"""The view autograd: forward and backward side by side, tensors as records."""

from __future__ import annotations

import json
import re
from pathlib import Path

from program import Program

from gviz import SourceOptions, read
from gviz.pictures import Arrow, Picture, RenderOptions, Shape, picture_of, places
from gviz.render import dot


def drawn(source: str, theme: str = "light", **values: object) -> Picture:
    graph = read(source, SourceOptions(values=values, flow=True), say=lambda _: None).graph
    return picture_of(graph, RenderOptions(view="autograd", theme=theme))


def text(shape: Shape) -> str:
    return re.sub(r"<[^<>]*>", " ", shape.look["label"]).strip("<> ")


def shapes(picture: Picture) -> list[Shape]:
    return [one for one in picture.statements if isinstance(one, Shape)]


def arrows(picture: Picture) -> list[Arrow]:
    return [one for one in picture.statements if isinstance(one, Arrow)]


def test_a_tensor_is_a_record_of_pytorchs_attributes() -> None:
    told = [" ".join(text(shape).split()) for shape in shapes(drawn("c=a*b", a=2, b=3))]
    assert "a data 2 grad 3 grad_fn None is_leaf True" in told
    assert "c data 6 grad None grad_fn MulBackward0 is_leaf False" in told


def test_each_operation_stands_beside_its_grad_fn_with_what_it_saved() -> None:
    told = [" ".join(text(shape).split()) for shape in shapes(drawn("c=a*b", a=2, b=3))]
    assert "MulBackward0 saved: self = a, other = b" in told
    assert "AccumulateGrad a.grad += 3" in told


def test_the_gradient_that_each_next_function_gets_stands_on_its_line() -> None:
    back = [arrow.look["label"].strip() for arrow in arrows(drawn("y=(x+w)*(w+1)", x=2, w=1)) if "label" in arrow.look]
    assert sorted(back) == ["2", "2", "2", "3", "3"]


def test_a_gradient_stands_beside_its_line_and_not_on_it() -> None:
    picture = drawn("y=sum((x*2)^2)", x=[0, 10, 20, 4])
    layout = places.laid_out(picture, dot.dot_text, "auto")
    texts = [
        (len(one.look["label"].strip()) * 12 * 0.6 / 2, layout.arrows[at])
        for at, one in enumerate(arrows(picture))
        if "label" in one.look
    ]
    assert len(texts) == 3
    for half, place in texts:
        ((x, y),) = places.curve_of(place["lp"])[0]
        line = places.points_on(places.curve_of(place["pos"])[0])
        assert not any(abs(at - x) < half + 4 and abs(height - y) < 8 for at, height in line), (half, place)


def test_what_arrives_at_a_leaf_is_the_sum() -> None:
    assert any("w.grad += 5" in text(shape) for shape in shapes(drawn("y=(x+w)*(w+1)", x=2, w=1)))


def test_a_retained_gradient_stands_in_its_record() -> None:
    graph = read("y=(x+w)*(w+1)", SourceOptions(flow=True, retain=("a",)), say=lambda _: None).graph
    told = [" ".join(text(shape).split()) for shape in shapes(picture_of(graph, RenderOptions(view="autograd")))]
    assert "a data 2 grad 2 grad_fn AddBackward0 is_leaf False" in told


def test_frozen_inputs_and_constants_take_no_part_in_backward() -> None:
    graph = read("y=x*w+1", SourceOptions(values={"x": 2, "w": 3}, flow=True, frozen=("x",)), say=lambda _: None).graph
    told = [" ".join(text(shape).split()) for shape in shapes(picture_of(graph, RenderOptions(view="autograd")))]
    assert "x data 2 grad None grad_fn None is_leaf True" in told
    assert "1" in told
    assert not any("x.grad" in one for one in told)


def test_the_gradient_goes_back_to_its_leaf_where_there_is_one_operation() -> None:
    back = [arrow for arrow in arrows(drawn("c=a*b", a=2, b=3)) if arrow.head == "grad"]
    assert len(back) == 2
    assert not [arrow for arrow in arrows(drawn("y=a*b+a", a=2, b=3)) if arrow.head == "grad"]


def test_a_large_tensor_has_its_shape_and_norm() -> None:
    told = [" ".join(text(shape).split()) for shape in shapes(drawn("y=(x*2).sum()", x=[1, 2, 3, 4, 5]))]
    assert "x data size 5 grad norm 4.4721 grad_fn None is_leaf True" in told


def test_a_leaf_alone_is_a_record_with_its_accumulate_grad() -> None:
    assert len(shapes(drawn("x", x=1))) == 2


def test_forward_is_left_of_backward(gviz: Program) -> None:
    done = gviz("render", "y=(x+w)*(w+1)", "x=2", "w=1", "--view", "autograd", "--format", "json0", "-o", "y.json0")
    assert done.status == 0, done.err
    placed = json.loads((gviz.folder / "y.json0").read_text(encoding="utf-8"))
    at = {
        item["name"]: [float(number) for number in item["pos"].split(",")]
        for item in placed["objects"]
        if "pos" in item
    }
    signs = {name.removesuffix("_sign") for name in at if name.endswith("_sign")}
    assert len(signs) == 3
    for name in signs:
        assert at[f"{name}_sign"][0] < at[f"{name}_back"][0]
        assert at[f"{name}_sign"][1] == at[f"{name}_back"][1]


def test_each_output_that_is_used_has_a_record_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "split.py").write_text(
        "import torch\nx = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)\n"
        "a, b, c, unused = x.unbind()\ny = a * b + c\ny.backward()\n"
    )
    graph = read(str(tmp_path / "split.py"), SourceOptions(flow=True), say=lambda _: None).graph
    picture = picture_of(graph, RenderOptions(view="autograd"))
    told = {one.id: " ".join(text(one).split()) for one in shapes(picture)}
    names = {told[one].split()[0]: one for one in told}
    assert [told[names[name]] for name in "abc"] == [
        f"{name} data {value} grad None grad_fn UnbindBackward0 is_leaf False"
        for name, value in zip("abc", "123", strict=True)
    ]
    assert "unused" not in names
    ways = {(told.get(one.start, ""), told.get(one.end, "")) for one in arrows(picture)}
    assert {(told[names[name]], sign) for name, sign in zip("abc", "××+", strict=True)} <= ways
    assert {("unbind", told[names[name]]) for name in "abc"} <= ways
    assert (told[names["a"]], "+") not in ways


def test_only_what_an_operation_makes_is_saved_under_its_name(tmp_path: Path) -> None:
    (tmp_path / "pool.py").write_text(
        "import torch\nx = torch.arange(16.0).reshape(1, 1, 4, 4).requires_grad_()\n"
        "y = torch.nn.functional.max_pool2d(x, 2)\nm, s = torch.std_mean(y)\nL = torch.exp(m) + s\nL.backward()\n"
    )
    graph = read(str(tmp_path / "pool.py"), SourceOptions(flow=True), say=lambda _: None).graph
    saved = [" ".join(text(one).split()) for one in shapes(picture_of(graph, RenderOptions(view="autograd")))]
    (pool,) = [one for one in saved if one.startswith("MaxPool2DWithIndicesBackward0 saved")]
    assert "result1 = [[[[5, 7], [13, 15]]]]" in pool  # the places that it picked, and no name
    assert any(one.startswith("StdMeanBackward0 saved") and "result0 = m" in one for one in saved)
    assert any(one.startswith("ExpBackward0 saved: result = ") for one in saved)
