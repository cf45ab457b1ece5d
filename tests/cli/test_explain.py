"""``gviz explain`` as a program: expressions, scripts, saved graphs, names, errors, and what cannot be explained."""

from __future__ import annotations

import json

import pytest
from program import SAMPLES, Program

ARTICLE = "y=(x+w)*(w+1)"
SCALARS = "grad can be implicitly created only for scalar outputs"


def test_the_article_s_gradient_is_explained(gviz: Program) -> None:
    done = gviz("explain", ARTICLE, "x=2", "w=1", "--wrt", "w")
    assert done.status == 0
    assert "  y → a → w   ∂y/∂a · ∂a/∂w = b · 1 = 2 · 1 = 2\n" in done.out
    assert done.out.endswith("  ∂y/∂w = 2 + 3 = 5 = w.grad\n")
    assert done.err == ""


def test_json_is_the_product_alone(gviz: Program) -> None:
    done = gviz("explain", str(SAMPLES / "five_neurons.py"), "--json", "--wrt", "a")
    (chain,) = done.json()["wrt"]
    assert (chain["sum"], chain["grad"]) == (-11, -11)
    assert [path["product"] for path in chain["paths"]] == [-3, -8]
    assert "root: L" in done.err


def test_a_file_is_written_by_its_suffix(gviz: Program) -> None:
    for suffix, word in {
        "tex": "\\documentclass",
        "md": "## The gradient",
        "json": '{"of": "y"',
        "txt": "The gradient",
    }.items():
        done = gviz("explain", ARTICLE, "x=2", "w=1", "-o", f"y.{suffix}")
        assert (done.status, done.out) == (0, "")
        assert (done.folder / f"y.{suffix}").read_text(encoding="utf-8").startswith(word)


def test_a_folder_in_the_place_of_the_file_is_refused_with_a_file_of_its_kind(gviz: Program) -> None:
    (gviz.folder / "y.tex").mkdir()
    gviz("explain", ARTICLE, "-o", "y.tex").assert_refused(
        "y.tex is a folder", "name a file in it: y.tex/graph.tex", files=("y.tex",)
    )


INTERRUPTED = "import torch\nw = torch.tensor(3.0, requires_grad=True)\n(w * w).backward()\nraise KeyboardInterrupt\n"


@pytest.mark.parametrize("command", ["explain", "why", "inspect"])
def test_ctrl_c_shows_what_there_is(gviz: Program, command: str) -> None:
    (gviz.folder / "net.py").write_text(INTERRUPTED)
    done = gviz(command, "net.py")
    assert done.status == 130
    assert "Ctrl-C at line 4: this is as far as the script came" in done.err
    assert {"explain": "= 6 = w.grad", "why": "ok", "inspect": "grad_after"}[command] in done.out


def test_two_to_the_sixty_paths_take_no_time(gviz: Program) -> None:
    done = gviz("explain", "y=x" + "; y=y+y" * 60, "x=1", "--max-paths", "2")
    assert "∂y/∂x: 1,152,921,504,606,846,976 paths, of which 2 are listed\n" in done.out
    assert "the sum of all 1,152,921,504,606,846,976" in done.out


def test_an_operation_and_an_error_are_explained(gviz: Program) -> None:
    assert gviz("explain", "AddBackward0").out.startswith("AddBackward0 (add)\n")
    assert gviz("explain", "<AddBackward0>", "--json").json()["operations"][0]["grad_fn"] == "AddBackward0"
    assert "y.sum().backward()" in gviz("explain", f"RuntimeError: {SCALARS}").out
    assert gviz("explain", *SCALARS.split()).out == gviz("explain", SCALARS).out  # without quotes


def test_a_traceback_may_come_from_a_pipe(gviz: Program) -> None:
    (gviz.folder / "net.py").write_text("import torch\nx = torch.ones(2, requires_grad=True)\n(x * 2).backward()\n")
    traceback = f'Traceback (most recent call last):\n  File "net.py", line 3\n    (x * 2).backward()\nRuntimeError: {SCALARS}\n'
    assert gviz("explain", "-", stdin=traceback).out == gviz("explain", SCALARS).out
    assert gviz("explain", "-", stdin="AddBackward0\n").out == gviz("explain", "AddBackward0").out
    assert gviz("explain", "-", "x=2", "w=1", stdin=ARTICLE).out == gviz("explain", ARTICLE, "x=2", "w=1").out


WARNING = (
    "/home/a/train.py:7: UserWarning: The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. (Triggered "
    "internally at /pytorch/build/aten/src/ATen/core/TensorBody.h:499.)\n  print(y.grad)\nNone\n"
)
TRACEBACK = (
    'loss 0.5\nTraceback (most recent call last):\n  File "net.py", line 3\n    import a; y.backward()\n'
    f"RuntimeError: {SCALARS}\n"
)


@pytest.mark.parametrize(("text", "begins"), [(WARNING, "The .grad attribute of a Tensor"), (TRACEBACK, SCALARS)])
def test_a_warning_or_an_error_may_come_from_a_pipe_or_a_log(gviz: Program, text: str, begins: str) -> None:
    (gviz.folder / "log.txt").write_text(text)
    piped, read = gviz("explain", "-", stdin=text), gviz("explain", "log.txt")
    assert (piped.status, piped.err, piped.out) == (0, "", read.out)
    assert piped.out.startswith(begins)


def test_a_program_that_quotes_an_error_is_a_program(gviz: Program) -> None:
    code = f"'''\nRuntimeError: {SCALARS}\n'''\nimport torch\nw = torch.tensor(2.0, requires_grad=True)\ny = w * 3\n"
    (gviz.folder / "net.txt").write_text(code)
    assert gviz("explain", "-", stdin=code).out == gviz("explain", "net.txt").out
    assert "∂y/∂w = 3" in gviz("explain", "net.txt", "--no-backward").out


@pytest.mark.parametrize(
    ("words", "error", "hint"),
    [
        (["nn.Linear"], "nn.Linear is no operation of the graph: it is made of several", "gviz ops nn.Linear lists"),
        (["gradient None"], "'gradient None' is neither an expression, nor", "gviz why SOURCE NAME says why"),
        (
            ["why", "is", "my", "gradient", "None"],
            "'why is my gradient None' is neither",
            "gviz why SOURCE NAME says why",
        ),
    ],
)
def test_what_cannot_be_explained_is_sent_on(gviz: Program, words: list[str], error: str, hint: str) -> None:
    done = gviz("explain", *words)
    assert (done.status, done.out) == (1, "")
    assert error in done.err.splitlines()[0]
    assert hint in done.err.splitlines()[1]


def test_an_error_is_headed_by_its_own_words(gviz: Program) -> None:
    text = "'NoneType' object has no attribute 'zero_'"
    done = gviz("explain", text)
    assert done.out.startswith(f"{text}\n")
    assert "gviz why train.py" in done.out


def test_a_script_that_fails_is_explained_as_far_as_it_came(gviz: Program) -> None:
    done = gviz("explain", str(SAMPLES / "five_neurons_twice.py"), "--wrt", "a")
    assert done.status == 1
    assert "Trying to backward through the graph a second time" in done.err
    assert done.out.endswith("  ∂L/∂a = (-3) + (-8) = -11 = a.grad\n")


def test_a_root_that_is_no_number_needs_a_gradient_to_begin_with(gviz: Program) -> None:
    done = gviz("explain", "y=x*w", "x=[1,2]", "w=3")
    assert SCALARS in done.err
    assert "not checked: backward did not run" in done.out
    done = gviz("explain", "y=x*w", "x=[1,2]", "w=3", "--grad-output", "ones")
    assert "  the gradient of w = 3 = w.grad\n" in done.out


def test_a_saved_graph_has_its_numbers_if_they_were_saved(gviz: Program) -> None:
    gviz("render", ARTICLE, "x=2", "w=1", "--view", "dataflow", "-o", "y.json")
    assert "= 5 = w.grad" in gviz("explain", "y.json", "--wrt", "w").out
    gviz("render", ARTICLE, "x=2", "w=1", "-o", "y.json")
    assert "are not in this graph" in " ".join(gviz("explain", "y.json", "--wrt", "w").out.split())


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([ARTICLE, "--wrt", "v"], "no path from y to v: there is no tensor of that name"),
        ([ARTICLE, "--wrt", "y"], "it is the root itself"),
        ([ARTICLE, "--frozen", "x", "--wrt", "x"], "it requires no gradient"),
        (["AddBakward0"], "did you mean AddBackward0?"),
        (["AddBackward0 AccumulateGrad"], "gviz explains no word of that name: AddBackward0 AccumulateGrad"),
        (["hidden layer"], "the words are chain rule, leaf, is_leaf, "),
        (["ValueError: something else entirely"], "gviz does not know this error"),
        ([ARTICLE, "-o", "y.pdf"], "gviz explain writes no .pdf files"),
        (["missing.py"], "missing.py"),
        (["y=1/2x"], "write 1/(2*x)"),
    ],
)
def test_a_mistake_is_refused_with_what_to_do(gviz: Program, words: list[str], told: str) -> None:
    gviz("explain", *words).assert_refused(told)


def test_two_formats_at_once_are_refused(gviz: Program) -> None:
    gviz("explain", ARTICLE, "--json", "--format", "latex").assert_refused("take one", status=2)


def test_the_source_is_not_replaced(gviz: Program) -> None:
    (gviz.folder / "net.py").write_text("import torch\n")
    done = gviz("explain", "net.py", "-o", "net.py", "--format", "text")
    done.assert_refused("is SOURCE", files=("net.py",))


def test_a_static_graph_is_refused(gviz: Program) -> None:
    gviz("static", "e=a*b", "a=1", "b=2", "-o", "e.json")
    gviz("explain", "e.json").assert_refused("this graph is static", files=("e.json",))


def test_json_of_a_nan_is_text(gviz: Program) -> None:
    record = json.loads(gviz("explain", "y=log(x)*0", "x=0", "--json").out)
    assert record["wrt"][0]["grad"] == "nan"


def test_a_fragment_is_latex(gviz: Program) -> None:
    done = gviz("explain", "y=x*w", "--fragment", "-o", "y.tex")
    assert done.status == 0
    assert "documentclass" not in (gviz.folder / "y.tex").read_text(encoding="utf-8")
    gviz("explain", "y=x*w", "--fragment").assert_refused("--format latex, or -o FILE.tex", status=2, files=("y.tex",))


def test_numbers_that_float32_has_not_the_digits_for_are_told_as_float64_has_them(gviz: Program) -> None:
    note = "float32 has seven digits, too few here: with --dtype float64 FV = 1647.0095"
    words = ("FV=PV*(1+r/n)**(n*t)", "PV=1000", "r=0.05", "n=12", "t=10")
    assert note in gviz("explain", *words).err
    assert "digits" not in gviz("explain", *words, "--dtype", "float64").err
    assert "digits" not in gviz("explain", "y=sigmoid(w*x+b)", "w=0.5", "x=1.3", "b=-0.2").err
