"""What gviz warns of is one line on standard error; a warning with a place in the user's script keeps that place."""

from __future__ import annotations

import json
import os

import pytest
from program import Program

DRAWS = """\
import torch
from torchviz import make_dot
x = torch.tensor(2.0, requires_grad=True)
y = x * x
picture = make_dot(y)
picture.edge("n0:nowhere", "n1")
picture.render(filename="a\\\\b")
"""

ASKS = """\
import torch
x = torch.tensor(2.0, requires_grad=True)
y = x * x
y.grad
"""


@pytest.mark.skipif(os.sep != "/", reason="where backslashes are no separators")
def test_what_a_script_s_own_pictures_warn_of_is_one_line_each(gviz: Program) -> None:
    (gviz.folder / "draws.py").write_text(DRAWS, encoding="utf-8")
    done = gviz("render", "draws.py", "-o", "y.json")
    warned = [line for line in done.err.splitlines() if not line.startswith("root:")]
    assert done.status == 0
    assert [line.partition(":")[0] for line in warned] == ["warning", "warning"], done.err
    assert "write a/b" in warned[0]
    assert "port nowhere" in warned[1]


@pytest.mark.parametrize(
    ("words", "remark"),
    [
        (("-o", "y.txt", "--theme", "dark", "--view", "dataflow"), "the format txt has no use for --theme and --view"),
        (("-o", "y.txt", "--by", "statement"), "the format txt has no use for --by"),
        (("-o", "y.json", "--view", "dataflow", "--fit", "slide"), "the format json has no use for --fit"),
        (("-o", "y.dot", "--fit", "a4"), "the format dot has no use for --fit"),
        (("-o", "y.jpg", "--transparent"), "a jpg is never transparent: its page has the colour of the theme"),
        (("-o", "y.svg", "--view", "teaching", "--ghosts"), "the view teaching has no use for --ghosts"),
    ],
)
def test_what_a_format_does_not_use_is_named(gviz: Program, words: tuple[str, ...], remark: str) -> None:
    done = gviz("render", "y=x*w", "x=2", "w=3", *words)
    assert (done.status, done.err) == (0, f"warning: {remark}\n")


def test_of_several_files_none_is_blamed_for_what_another_one_needs(gviz: Program) -> None:
    done = gviz("render", "y=x*w", "x=2", "w=3", "--theme", "dark", "-o", "y.svg", "-o", "y.txt")
    assert (done.status, done.err) == (0, "")


def test_a_script_s_own_warning_keeps_its_place(gviz: Program) -> None:
    (gviz.folder / "asks.py").write_text(ASKS, encoding="utf-8")
    done = gviz("render", "asks.py", "-o", "y.json")
    assert "asks.py:4: UserWarning: The .grad attribute" in done.err


def test_a_warning_about_an_expression_names_no_file_of_gviz(gviz: Program) -> None:
    done = gviz("inspect", "y=tensor(x)*w")
    assert done.status == 0
    assert "warning: To copy construct from a tensor" in done.err
    assert ".py" not in done.err


def test_a_name_of_100_000_characters_is_cut_in_the_talk_too(gviz: Program) -> None:
    script = "import torch\nx = torch.tensor(1.0, requires_grad=True)\nd = {'k' * 100_000: x * 2}\n"
    (gviz.folder / "long.py").write_text(script, encoding="utf-8")
    done = gviz("render", "long.py", "-o", "y.pdf")
    assert done.status == 0, done.err[:500]
    assert done.err.startswith("root: d['kkk")
    assert len(done.err) < 2_000


def test_finding_the_formats_leaves_the_current_folder_as_it_was(gviz: Program) -> None:
    (gviz.folder / "node1.png").write_text("mine", encoding="utf-8")
    done = gviz("formats")
    assert done.status == 0
    assert done.files() == ["node1.png"]
    assert (gviz.folder / "node1.png").read_text(encoding="utf-8") == "mine"


STRICT = """\
import warnings
warnings.simplefilter("error")
import torch
x = torch.tensor([0.0, 4.0], requires_grad=True)
y = (torch.log(x) + torch.sqrt(x - 1) + 1 / x).sum()
y.backward()
"""


def test_nan_and_infinity_are_nothing_to_warn_of_whatever_filters_a_script_sets(gviz: Program) -> None:
    (gviz.folder / "strict.py").write_text(STRICT, encoding="utf-8")
    done = gviz("inspect", "strict.py")
    assert (done.status, done.err.splitlines()) == (
        0,
        [
            "root: y (backward called at line 6)",
            "warning: y is NaN: the first named tensor that is not finite (line 5)",
            "warning: the gradient of x is NaN; gviz why tells where it began",
        ],
    ), "numpy has nothing to say, and gviz a line for each"


@pytest.mark.parametrize("command", ["inspect", "static"])
def test_many_values_that_are_not_used_have_one_line(gviz: Program, command: str) -> None:
    values = {f"x{number}": number for number in range(10_000)}
    (gviz.folder / "values.json").write_text(json.dumps(values), encoding="utf-8")
    done = gviz(command, "y=x7*2", "--values", "values.json", *(["--table"] if command == "static" else []))
    assert done.status == 0
    what = "x0=0, x1=1 and 9997 more not used: the expression has no such names, or assigns them itself"
    assert done.err == f"warning: {what}\n"
