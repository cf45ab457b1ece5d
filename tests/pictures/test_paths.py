"""Paths of the chain rule in the picture: each in a look of its own, what they come to below."""

from __future__ import annotations

import math
import re

import pytest
from program import Program

from gviz import SourceOptions, read
from gviz.graphs import Graph
from gviz.pictures import Arrow, Picture, RenderOptions, Shape, picture_of
from gviz.render import render

ARTICLE = "y=(x+w)*(w+1)"
FIVE = "b=w1*a; c=w2*a; d=w3*b+w4*c; L=10-d"
LEAVES = """\
import torch
x = torch.tensor(2., requires_grad=True)
w = torch.tensor(1., requires_grad=True)
"""
VALUES = {"a": 2, "w1": 1, "w2": 2, "w3": 3, "w4": 4}


def values(source: str, **more: object) -> Graph:
    given = more or (VALUES if source == FIVE else {"x": 2, "w": 1})
    return read(source, SourceOptions(values=given, flow=True), say=lambda _: None).graph


def drawn(source: str, *names: str, theme: str = "light", by: str = "operation", fit: str = "none") -> Picture:
    return picture_of(values(source), RenderOptions(view="dataflow", path=names, theme=theme, by=by, fit=fit))


def test_a_dataflow_of_paths_says_that_its_numbers_are_rounded_too() -> None:
    graph = values("V=P*(1+r/n)**(n*t)", P=1000, r=0.05, n=12, t=10)
    options = RenderOptions(view="dataflow", path=("P",))
    assert "numbers are rounded" in str(render(graph, "dot", options)).replace("&#160;", " ")
    caption = "".join(picture_of(graph, RenderOptions(view="dataflow", path=("P",), fit="slide")).caption)
    assert "numbers are rounded" in caption.replace("\xa0", " ")


def arrows(picture: Picture) -> list[Arrow]:
    return [one for one in picture.statements if isinstance(one, Arrow)]


def shape(picture: Picture, text: str) -> Shape:
    return next(one for one in picture.statements if isinstance(one, Shape) and text in one.look["label"])


def test_each_path_is_drawn_in_its_colour_and_dash() -> None:
    looks = [arrow.look for arrow in arrows(drawn(ARTICLE, "w")) if "penwidth" in arrow.look]
    solid = [look for look in looks if look["style"] == "solid"]
    dashed = [look for look in looks if look["style"] == "dashed"]
    assert {look["color"] for look in solid} == {"#00589B"}
    assert {look["color"] for look in dashed} == {"#A63200"}
    assert len(solid) == len(dashed) == 4


def test_a_line_of_several_paths_has_their_colours_side_by_side() -> None:
    assert "#00589B:#A63200" in {arrow.look.get("color") for arrow in arrows(drawn(FIVE, "a"))}


def test_four_paths_in_print_are_four_lines_without_colour() -> None:
    looks = [
        arrow.look
        for arrow in arrows(drawn("y=a+b+c+d", "a", "b", "c", "d", theme="print"))
        if "penwidth" in arrow.look
    ]
    own = {(look.get("style"), look["color"]) for look in looks if look["penwidth"] != "4.5"}
    assert own == {(style, "#000000") for style in ("solid", "dashed", "dotted")} | {(None, "#000000:#FFFFFF:#000000")}


def test_what_is_off_the_paths_is_faint() -> None:
    picture = drawn(ARTICLE, "w")
    off, on = shape(picture, "<B>x</B>"), shape(picture, "<B>w</B>")
    assert off.look["fontcolor"] == off.look["color"] == "#BDBDBD"
    assert "fontcolor" not in on.look
    assert "#BDBDBD" not in on.look["label"]


def test_a_leaf_shows_its_sum_in_the_colours_of_the_paths() -> None:
    label = shape(drawn(ARTICLE, "w"), "<B>w</B>").look["label"]
    assert '<FONT COLOR="#00589B"><B>2</B></FONT>' in label
    assert '<FONT COLOR="#A63200"><B>3</B></FONT>' in label


def test_products_and_sum_stand_below_the_picture(gviz: Program) -> None:
    done = gviz(
        "render",
        FIVE,
        *(f"{name}={value}" for name, value in VALUES.items()),
        "--view",
        "dataflow",
        "--path",
        "a",
        "-o",
        "a.svg",
    )
    assert done.status == 0, done.err
    text = plain((gviz.folder / "a.svg").read_text(encoding="utf-8"))
    assert "L → d → f → b → a:   (-1) · 1 · w3 · w1 = (-1) · 1 · 3 · 1 = " in text
    assert "∂L/∂a" in text
    assert "which is a.grad" in text


def test_on_a_slide_they_are_the_caption_and_the_title_says_what_is_done(gviz: Program) -> None:
    done = gviz("render", ARTICLE, "x=2", "w=1", "--view", "dataflow", "--path", "w", "--fit", "slide", "-o", "w.svg")
    assert done.status == 0, done.err
    text = plain((gviz.folder / "w.svg").read_text(encoding="utf-8"))
    assert "∂y/∂w by the chain rule: two paths, multiply along, add" in text
    assert "y → a → w:   b · 1 = 2 · 1 = " in text


def test_what_backward_starts_from_stands_in_the_words_and_no_derivative_is_claimed(gviz: Program) -> None:
    assert gviz("render", ARTICLE, "x=2", "w=1", "--grad-output", "10", "--path", "w", "-o", "w.dot").status == 0
    text = plain((gviz.folder / "w.dot").read_text(encoding="utf-8"))
    assert "y → a → w:   10 · b · 1 = 10 · 2 · 1 = 20" in text
    assert "w.grad = 20 + 30 = 50" in text
    assert "∂y/∂w = 20" not in text
    assert "∂y/∂y" not in text


def test_more_paths_than_can_be_drawn_are_counted(gviz: Program) -> None:
    done = gviz("render", "y=x" + "; y=y+y" * 40, "x=1", "--path", "x", "-o", "x.dot")
    assert done.status == 0, done.err
    text = plain((gviz.folder / "x.dot").read_text(encoding="utf-8"))
    assert "4 of the 1,099,511,627,776 paths from y to x are drawn" in text
    assert "the sum of all 1,099,511,627,776 = " in text


def test_of_many_paths_those_that_come_to_0_are_drawn_last(gviz: Program) -> None:
    text = "a=relu(-x); b=a+a; c=b+b; d=c+c; y=d+x*5"
    assert gviz("render", text, "x=1", "--path", "x", "-o", "x.dot").status == 0
    assert "y → g → x:   1 · 5 = 5" in plain((gviz.folder / "x.dot").read_text(encoding="utf-8"))
    assert "\n  y → g → x  " in gviz("explain", text, "x=1", "--max-paths", "2").out


def test_without_numbers_the_symbols_stay_and_the_picture_says_why(gviz: Program) -> None:
    done = gviz("render", "a, b = W.split(1); y=(a*b).sum()", "W=[[1,2],[3,4]]", "--path", "W", "-o", "W.dot")
    assert done.status == 0, done.err
    text = plain((gviz.folder / "W.dot").read_text(encoding="utf-8"))
    assert "not all steps are factors: no numbers are claimed; W.grad = [[3, 4], [1, 2]]" in text


def test_a_path_through_a_jacobian_has_its_symbol_and_its_numbers(gviz: Program) -> None:
    done = gviz("render", "y=(softmax(x,0)*c).sum()", "x=[1,2]", "c=[1,0]", "--path", "x", "-o", "x.dot")
    assert done.status == 0, done.err
    text = plain((gviz.folder / "x.dot").read_text(encoding="utf-8"))
    assert "1 · c · (diag(a) - a·aᵀ)" in text
    assert "[1, 1] · [1, 0] @ [[0.1966, -0.1966], [-0.1966, 0.1966]]" in text
    assert "∂y/∂x = [0.1966, -0.1966]   which is x.grad" in text


def test_a_path_through_rows_says_what_its_letter_is(gviz: Program) -> None:
    done = gviz(
        "render", "y=(softmax(x,1)*c).sum()", "x=[[1,2],[3,4]]", "c=[[1,0],[2,5]]", "--path", "x", "-o", "x.dot"
    )
    assert done.status == 0, done.err
    text = plain((gviz.folder / "x.dot").read_text(encoding="utf-8"))
    assert "diag(a[i]) - a[i]·a[i]ᵀ" in text
    assert "a letter in square brackets" in text
    assert "∂y/∂x = [[0.1966, -0.1966], [-0.5898, 0.5898]]   which is x.grad" in text


def test_several_tensors_share_the_four_looks() -> None:
    colours = {arrow.look.get("color") for arrow in arrows(drawn(FIVE, "a", "w1", "w2", "w3", "w4"))}
    assert colours >= {"#00589B", "#A63200", "#6A3D9A", "#00705A:#FFFFFF:#00705A"}


@pytest.mark.parametrize(
    ("words", "told", "status"),
    [
        (
            ["--path", "wx"],
            ("no path from h to wx: there is no tensor of that name", "there are paths to a, w, x, b"),
            1,
        ),
        (["--path", "x", "--frozen", "x"], ("no path from h to x: it requires no gradient",), 1),
        (["--by", "lines"], ("'lines' is not one of operation, statement, module", "did you mean line?"), 2),
    ],
)
def test_a_wrong_path_is_refused(gviz: Program, words: list[str], told: tuple[str, ...], status: int) -> None:
    gviz("render", "h=w*x+b", *words, "-o", "h.svg").assert_refused(*told, status=status)


def test_another_view_says_that_it_draws_no_paths(gviz: Program) -> None:
    done = gviz("render", "h=w*x+b", "--path", "w", "--view", "micrograd", "-o", "h.svg")
    assert done.status == 0
    assert "the view micrograd has no use for --path" in done.err


def test_a_second_name_of_a_tensor_leads_to_it(gviz: Program) -> None:
    text = f"{LEAVES}p = w\ny = x * w\ny.backward()\n"
    (gviz.folder / "two.py").write_text(text, encoding="utf-8")
    first, second = (gviz("render", "two.py", "--path", name, "-o", "-", "--format", "dot") for name in ("w", "p"))
    assert first.status == second.status == 0, second.err
    assert first.out == second.out


def test_a_path_that_is_cut_off_is_told_so(gviz: Program) -> None:
    text = LEAVES + "h = x * 2\nd = {}\ny = {} * w\ny.backward()\n"
    for cut, used, remark in (
        ("1", "h.detach()", "y is made from h.detach(), through which no gradient flows"),
        (
            "h.detach()",
            "d",
            "y is not made from it, or the way is cut off: detach(), item() and torch.no_grad() end a graph",
        ),
    ):
        (gviz.folder / "cut.py").write_text(text.format(cut, used), encoding="utf-8")
        done = gviz("render", "cut.py", "--path", "h", "-o", "-", "--format", "dot")
        assert done.status != 0
        assert f"no path from y to h: {remark}\n" in done.err


def test_a_root_that_is_the_tensor_itself_is_told_so(gviz: Program) -> None:
    done = gviz("render", "y=x", "--path", "x", "-o", "-")
    assert "no path from y to x: y is x itself, by another name" in done.err


HOOKED = """\
import torch
w = torch.tensor(3.0, requires_grad=True)
a = w * w
a.register_hook(lambda g: g * 10)
y = a + w
y.backward()
"""
TWO_ROOTS = """\
import torch
w = torch.tensor(3.0, requires_grad=True)
l1, l2 = w * 2, w ** 2
torch.autograd.backward([l1, l2], [torch.tensor(5.0), None])
"""
TWICE = "import torch\nw = torch.tensor(3.0, requires_grad=True)\n(w * 4).backward()\ny = w * w + w\ny.backward()\n"
OWN = """\
import torch
class Sq(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x
    @staticmethod
    def backward(ctx, g):
        return 2 * ctx.saved_tensors[0] * g
w = torch.tensor(3.0, requires_grad=True)
y = Sq.apply(w)
y.backward()
"""
OWN_OF_W = OWN.replace("backward()", "backward(inputs=[w])")


@pytest.mark.parametrize(
    ("program", "told"),
    [
        (HOOKED, "= 7   but w.grad = 61: a hook, line 4, has changed it"),
        (TWO_ROOTS, "w.grad = 10 + 6 = 16"),
        (
            HOOKED.replace("y.b", "w.register_hook(lambda g: g + 1)\ny.b"),
            "w.grad = 62: hooks, line 4, line 6, have changed it",
        ),
        (TWICE, "= 7   added to w.grad, which was 4"),
        (OWN, "not all steps are factors: no numbers are claimed; w.grad = 6"),
        (OWN_OF_W, "w.grad = 6, and what an operation on the way hands on is not known: no numbers are claimed"),
    ],
)
def test_a_gradient_that_is_not_the_product_stands_beside_it(gviz: Program, program: str, told: str) -> None:
    (gviz.folder / "p.py").write_text(program)
    done = gviz("render", "p.py", "--path", "w", "-o", "w.dot")
    assert done.status == 0, done.err
    assert told in plain((gviz.folder / "w.dot").read_text(encoding="utf-8"))


def test_what_an_earlier_backward_left_is_a_part_of_the_sum(gviz: Program) -> None:
    (gviz.folder / "p.py").write_text(TWICE)
    (gviz.folder / "hooked.py").write_text(HOOKED)
    for words in ([], ["--path", "w"]):
        assert gviz("render", "p.py", "--root", "y", "--view", "dataflow", *words, "-o", "w.dot").status == 0
        assert "= 4 (before) + 3 + 3 + 1" in plain((gviz.folder / "w.dot").read_text(encoding="utf-8"))
    assert gviz("render", "hooked.py", "--view", "dataflow", "-o", "h.dot").status == 0
    assert "before" not in plain((gviz.folder / "h.dot").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("w = torch.tensor(3.0, requires_grad=True)\n(100.0 * w).backward()\nloss = -(w * 33.33333) * 2 - w * 33.33333\n",
         "= 100 (before) + (-66.6667) + (-33.3333)"),
        ("w = torch.tensor([0.1, 0.7], requires_grad=True)\n(w / 3).sum().backward()\nloss = (w**3 / 7).sum() + (w / 3).sum()\n",
         "= [0.3333, 0.3333] (before) + [0.0043, 0.21] + [0.3333, 0.3333]"),
        ("w = torch.tensor([0.1, 0.7], requires_grad=True)\n(w / 3).sum().backward()\nloss = (w**3 / 7).sum()\n",
         "= [0.3333, 0.3333] (before) + [0.0043, 0.21]"),
    ],
)  # fmt: skip
def test_what_was_there_before_is_a_part_whatever_rounding_or_the_room_of_a_box_does(
    gviz: Program, program: str, told: str
) -> None:
    (gviz.folder / "p.py").write_text(f"import torch\n{program}loss.backward()\n")
    assert gviz("render", "p.py", "--path", "w", "-o", "w.dot").status == 0
    assert told in plain((gviz.folder / "w.dot").read_text(encoding="utf-8"))


def test_names_may_be_repeated_or_have_commas_between(gviz: Program) -> None:
    for words in (["--path", "w,x"], ["--path", "w", "--path", "x"]):
        assert gviz("render", ARTICLE, *words, "-o", "y.dot").status == 0
        assert "x.grad" in (gviz.folder / "y.dot").read_text(encoding="utf-8")


def plain(markup: str) -> str:
    """Return the text of a picture: markup gone, spaces as they are typed."""
    import re
    from html import unescape

    return unescape(re.sub(r"<[^>]*>", "", markup)).replace("\u00a0", " ")


def captions(source: str, *names: str, jacobians: bool = False, **given: object) -> list[str]:
    """Return the lines below the picture of paths."""
    options = RenderOptions(view="dataflow", path=names, fit="none")
    graph = read(source, SourceOptions(values=given, flow=True, jacobians=jacobians), say=lambda _: None).graph
    return plain("\n".join(picture_of(graph, options).caption).replace("<TR>", "\n")).splitlines()


def test_a_product_for_a_broadcast_input_is_added_up_in_words() -> None:
    lines = captions("y=(X+b).sum()", "b", X=[[1, 2], [3, 4]], b=[1, 2])
    at = next(number for number, line in enumerate(lines) if "y → a → b" in line)
    assert lines[at].endswith("Σ over rows (1 · 1)")
    assert lines[at + 1].strip() == "= Σ over rows ([[1, 1], [1, 1]] · [[1, 1], [1, 1]]) = [2, 2]"


def test_a_long_product_stands_in_full_on_several_lines() -> None:
    lines = captions("h=w1*x+b1; s=sigmoid(w2*h+b2); loss=(s-t)**2", "w1", w1=0.5, w2=1, b1=0.1, b2=0.2, x=2, t=1)
    assert any("= (-0.4283) · 1 · 0.1683 · 1 · 1 · 1 · 2" in line for line in lines)
    assert "= 0.7311" in "\n".join(captions("y=logaddexp(t,x)", "t", x=1, t=2))
    assert "(1/(" not in "\n".join(captions("y=logaddexp(t,x)", "t", x=1, t=2))


def test_the_title_of_a_path_has_the_symbol_of_its_line() -> None:
    graph = read("s=softmax(x, 0); L=(s*c).sum()", SourceOptions(flow=True), x=[1, 2, 4], c=[1, 0, 0]).graph
    text = str(render(graph, "dot", RenderOptions(view="dataflow", path=("x",)))).replace("\xa0", " ")
    assert "softmax_backward" not in text
    assert text.count("diag(s) - s·sᵀ") == 2


def rounds_to(product: float, told: str) -> bool:
    """Return whether a product is the number that is told, rounded to four decimals."""
    return f"{product:.4f}".rstrip("0").rstrip(".") == told


@pytest.mark.parametrize("x", [0.7, 1.1, 1.5, 1.9, 2.3, 2.7])
def test_who_multiplies_the_printed_numbers_gets_the_printed_product(x: float) -> None:
    lines = captions("y=0.5*sigmoid(w*x+1.5)*2/3", "w", x=x, w=1.3)
    product = re.search(r"= ([\d.]+(?: · [\d.]+)+) = ([\d.]+)", "".join(lines))
    assert product is not None
    assert rounds_to(math.prod(map(float, product[1].split(" · "))), product[2])
    graph = read("y=0.5*sigmoid(w*x+1.5)*2/3", SourceOptions(flow=True, values={"x": x, "w": 1.3})).graph
    text = str(render(graph, "dot", RenderOptions(view="teaching")))
    for one, other, told in re.findall(r"↑ ([\d.]+) · ([\d.]+) = ([\d.]+)", text):
        assert rounds_to(float(one) * float(other), told)


def test_a_sum_of_rounded_parts_is_the_printed_total() -> None:
    lines = "".join(captions("y=x/3+2*x/3*w", "x", x=1, w=0.5))
    assert "0.33333 + 0.33333 = 0.6667" in lines


def test_a_path_through_matrices_has_the_gradient_step_by_step() -> None:
    values = {"W": [[1, 2], [3, 4]], "x": [0.1, 0.2], "t": [1, 1]}
    lines = captions("L=((tanh(W@x)-t)**2).sum()", "W", jacobians=True, **values)
    text = " ".join(line.strip() for line in lines)
    assert "L → f → c → b → a → W" in text  # no name is left out where a line has room for it
    assert "grad, step by step: L: 1 → f: [1, 1] → c: [-1.0758, -0.399] → b: [-1.0758, -0.399] → a:" in text
    assert "Wᵀ" not in text
    assert "(Wᵀ @ grad)" in " ".join(captions("L=((tanh(W@x)-t)**2).sum()", "x", jacobians=True, **values))
