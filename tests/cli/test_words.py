"""The words and options of a command line, before any source is read."""

from __future__ import annotations

from pathlib import Path

import pytest
from program import Program

from gviz.cli import COMMANDS
from gviz.cli.options import split_names
from gviz.cli.values import read_values, read_words
from gviz.errors import FileError
from gviz.sources import Source


@pytest.mark.parametrize(
    "words", [["--help"], ["-h"], ["render", "--help"], ["inspect", "-h"], ["formats", "--help"], ["ops", "-h"]]
)
def test_help_goes_to_standard_output(gviz: Program, words: list[str]) -> None:
    done = gviz(*words)
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("Usage: gviz")


def test_the_version_is_one_line(gviz: Program) -> None:
    import gviz as package

    done = gviz("--version")
    assert (done.status, done.out) == (0, f"gviz {package.__version__}\n")


def test_no_command_is_a_usage_error_that_shows_the_help(gviz: Program) -> None:
    done = gviz()
    done.assert_refused("Usage: gviz", "render", status=2)
    assert done.out == ""


@pytest.mark.parametrize(
    ("words", "phrase"),
    [
        (["rendr", "y=x"], "there is no command 'rendr': did you mean render?"),
        (["y=x+w"], 'gviz render "y=x+w"'),
        (["frobnicate"], f"the commands are {', '.join(COMMANDS)}"),
        (["render"], "Missing argument 'SOURCE'"),
        (["render", "y=x", "--foo"], "No such option"),
        (["static", "-o"], "requires an argument.\ngviz static --help"),
        (["render", "y=x", "--show", "colour"], "'colour' is not one of value, grad"),
        (["render", "y=x", "--show", "none,grad"], "none cannot be combined"),
        (["render", "y=x", "--show", "valeu"], "saved, attrs, line, none, all; did you mean value?"),
        (["render", "y=x", "--rankdir", "XY"], "'--rankdir': 'XY' is not one of TB, BT, LR, RL"),
        (["render", "y=x", "--format", "pfd"], "'--format': there is no format 'pfd'\nDid you mean pdf?"),
        (["render", "y=x", "--engine", "jax"], "--engine"),
        (["render", "y=x", "--on-error", "stp"], "'--on-error': 'stp' is not one of draw, stop; did you mean stop?"),
        (["render", "y=x", "--graphviz", "other"], "--graphviz"),
        (["render", "y", "=", "x"], "Put the expression in quotes"),
        (["explain", "y=x*w", "w.grad"], '"w.grad" is not NAME=VALUE. To derive the gradient of one tensor: --wrt w'),
        (["render", "y=x", "2"], '"2" is not NAME=VALUE. Write a value as in x=2'),
        (["render", "-x+w"], "An expression that begins with a minus sign comes after --"),
        (["draw", "y=x"], "did you mean render?"),
        (["show", "y=x"], "did you mean render?"),
        (["plot", "y=x"], "did you mean render?"),
        (["render", "y=x", "--themes", "dark"], "No such option '--themes'. Did you mean --theme?"),
        (["render", "y=x", "--style", "dark"], "No such option '--style'. Did you mean --theme?"),
        (["inspect", "y=x", "--at", ""], "--at is empty: write --at LINE[:N]."),
        (["inspect", "y=x", "--until= "], "--until is empty: write --until LINE[:N]."),
        (["inspect", "y=x", "--watch", ""], "--watch is empty: write --watch NAME."),
        (["render", "y=x", "--order", "1", "--wrt", " , "], "--wrt is empty: write --wrt NAME."),
        (["inspect", "y=x", "--root", ""], "--root is empty: write --root NAME."),
        (["inspect", "y=x", "--at", "x"], "--at x: write 12, cell 2:1 in a notebook, or 12:3 for the third time"),
        (["inspect", "y=x", "--until=x"], "--until x: write 12, cell 2:1 in a notebook, or 12:3 for the third time"),
        (["inspect", "“y", "=", "x+w”", "x=2"], "“ is no quote of a shell. Write straight ones"),
        (["inspect", "y=x+w", "“x=2”"], "“ is no quote of a shell. Write straight ones"),
        (["render", "y=x", "--colour", "value"], "No such option '--colour'. Did you mean --color-by?"),
        (["render", "y=x", "--output-file", "y.pdf"], "No such option '--output-file'. Did you mean --output?"),
        (["render", "y=x", "y.png"], '"y.png" is not NAME=VALUE. To name the file of the picture: -o y.png'),
        (["render", "train.py", "--epochs", "2"], "arguments come after --: gviz ... train.py -- --epochs"),
        (["render", "y=x", "2x=3"], '"2x=3" is not NAME=VALUE'),
        (["render", "y=x", "x=1", "x=2"], "x has two values"),
        (["render", "y=x", "x==2"], "== compares. Write x=2"),
        (["render", "y=x", "svg"], '"svg" is not NAME=VALUE. To draw it in that format: gviz render ... -o NAME.svg'),
        (["render", "y=x", "--dpi", "300"], "'--dpi'. --scale 2 makes an image twice as large; pdf and svg are sharp"),
        (["steps", "y=x", "--width=900"], "'--width'. --scale 2 makes an image twice as large; pdf and svg are sharp"),
        (["render", "--list"], "'--list'. gviz formats lists the formats"),
        (["render", "y=x", "--direction", "LR"], "Did you mean --rankdir?"),
        (["inspect", "y=x", "-o", "y.csv"], "'-o'. It prints its answer, which goes into a file with > FILE"),
        (["render", "help"], "help is no source: gviz help COMMAND shows the help."),
        (["render", "y=x+w", "--", "x"], '"x" is not NAME=VALUE'),
        (["inspect", "train.py", "epochs"], "arguments come after --"),
        (["render", "-", "z"], '"z" is not NAME=VALUE'),
        (["render", "y=x", "-view", "dataflow"], "No such option '-view'. Did you mean --view?"),
        (["render", "y=x", "-output", "y.svg"], "No such option '-output'. Did you mean --output?"),
        (["render", "y=x", "-o", ""], "-o is empty: write -o FILE."),
        (["render", "y=x", "-o", "y.svg,y.pdf"], "y.svg,y.pdf is the name of one file: write -o y.svg -o y.pdf"),
        (["inspect", "y=x", "--view", "dataflow"], "gviz render, gviz view and gviz convert have it."),
        (["why", "y.py", "--theme", "dark"], "'--theme'. gviz render, gviz view, gviz steps and gviz quiz have it."),
        (["explain", "y=x", "--order", "2"], "gviz render, gviz view, gviz steps and gviz inspect have it."),
        (["render", "-log(x)"], 'comes after --: gviz render -- "-log(x)"'),
        (["help", "leaf"], "there is no command 'leaf': gviz explain leaf explains the word"),
        (["render", "-", "-"], "To write the picture to standard output: -o -"),
    ],
)
def test_wrong_usage_has_status_2_and_says_what_would_be_right(gviz: Program, words: list[str], phrase: str) -> None:
    (gviz.folder / "train.py").write_text("import torch")
    done = gviz(*words, stdin="y=x+1")
    done.assert_refused(phrase, "--help has an example", status=2, files=("train.py",))
    assert "-" not in words or "arguments" not in done.err


def test_what_follows_the_dashes_is_the_source_where_there_is_none_yet() -> None:
    assert read_words([], ["-x+w", "x=2"], None) == (Source("expression", "-x+w"), {"x": "2"}, ())


def test_a_lowered_number_in_the_name_of_a_value_is_read() -> None:
    source, values, _ = read_words(["y=x₁w₁", "x₁=2", "w_1=3"], [], None)
    assert values == {"x_1": "2", "w_1": "3"}
    assert source.kind == "expression"


def test_what_follows_the_dashes_are_values_of_an_expression() -> None:
    assert read_words(["y=x+w"], ["x=-2"], None) == (Source("expression", "y=x+w"), {"x": "-2"}, ())


def test_what_follows_the_dashes_are_arguments_of_a_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("net.py", "-net.py"):
        (tmp_path / name).write_text("import torch")
    net, other = (Source("script", "import torch", name) for name in ("net.py", "-net.py"))
    assert read_words(["net.py", "x=1"], ["--epochs", "3"], None) == (net, {"x": "1"}, ("--epochs", "3"))
    assert read_words([], ["-net.py", "--", "a"], None) == (other, {}, ("a",))


def test_a_value_may_hold_equals_signs_and_brackets() -> None:
    assert read_words(["y=x"], ["x=ones(2,dtype=float64)"], None)[1] == {"x": "ones(2,dtype=float64)"}


@pytest.mark.parametrize("words", [["x", "=", "2"], ["x=", "2"], ["x", "=2"], ["x＝2"], ["x = 2"]])
def test_a_value_may_have_spaces_around_its_sign(gviz: Program, words: list[str]) -> None:
    rows = gviz.inspect("y=x*w", *words, "W=[1,", "2]", "w=3")
    assert (rows["x"]["value"], rows["w"]["value"]) == (2, 3)


def test_a_file_without_a_suffix_is_told_of_the_usual_ones_first(gviz: Program) -> None:
    gviz("render", "y=x", "-o", "foo").assert_refused("end it in one of pdf, svg, png, ")
    gviz("render", "y=x", "-o", "foo.docx").assert_refused("The formats are pdf, svg, png, ")


def test_names_are_split_at_commas_outside_brackets_and_quotes() -> None:
    assert split_names("x,,w , d['a,b'],f(1,2),p[0,1]") == ("x", "w", "d['a,b']", "f(1,2)", "p[0,1]")


def test_values_of_a_file_yield_to_those_of_the_command_line(gviz: Program) -> None:
    (gviz.folder / "v.json").write_text('{"x": 2, "w": [[1, 2.5], [true, NaN]], "b": "ones(2,2)"}')
    values = read_words(["y=x+w"], ["x=7"], str(gviz.folder / "v.json"))[1]
    assert values == {"x": "7", "w": "[[1, 2.5], [True, nan]]", "b": "ones(2,2)"}


@pytest.mark.parametrize(
    ("content", "phrase"),
    [
        (b"", "not JSON"),
        (b"{'x': 2}", "not JSON"),
        (b"[1, 2]", "has no names with values"),
        (b'{"x": null}', "neither a real number nor a list"),
        (b'{"x": {"y": 1}}', "neither a real number nor a list"),
        (b"\xff\xfe\x00\x01", "not a text file"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_a_file_of_values_that_is_not_right_is_refused(gviz: Program, content: bytes, phrase: str) -> None:
    (gviz.folder / "v.json").write_bytes(content)
    with pytest.raises(FileError) as caught:
        read_words(["y=x"], [], str(gviz.folder / "v.json"))
    assert phrase in str(caught.value)


def test_a_file_of_values_shows_where_its_json_breaks(gviz: Program) -> None:
    (gviz.folder / "v.json").write_text('{"x": 2,\n "w": }')
    done = gviz("inspect", "y=x+w", "--values", "v.json")
    done.assert_refused("v.json:2: this is not JSON", '   "w": }\n        ^', files=("v.json",))


def test_values_with_too_many_digits_or_cut_short_are_refused_with_their_place(tmp_path: Path) -> None:
    file = tmp_path / "v.json"
    file.write_text('{"x": ' + "1" * 5000 + "}", encoding="utf-8")
    with pytest.raises(FileError, match="too many digits"):
        read_values(str(file))
    file.write_text('{"x": 1,\n\n\n', encoding="utf-8")
    with pytest.raises(FileError) as caught:
        read_values(str(file))
    assert caught.value.place is not None
    assert (caught.value.place.line, caught.value.place.text) == (1, '{"x": 1,')


def test_a_folder_is_refused_with_a_file_of_the_format_that_was_asked_for(gviz: Program) -> None:
    done = gviz("render", "y=x", "-o", "new/", "--format", "svg")
    assert (done.status, done.err) == (1, "error: new/ is a folder\nname a file in it: new/graph.svg\n")


@pytest.mark.parametrize(
    ("words", "warning"),
    [
        (["explain", "leaf", "--max-paths", "3"], "--max-paths 3 not used: no expression or script is explained here"),
        (["explain", "MulBackward0", "--root", "x", "--wrt", "y"], "--root x, --wrt y not used: no expression"),
        (["render", "y=x*w", "--scale", "2", "-o", "y.pdf"], "the format pdf has no use for --scale"),
    ],
)
def test_an_option_without_an_effect_is_named(gviz: Program, words: list[str], warning: str) -> None:
    done = gviz(*words)
    assert done.status == 0
    assert f"warning: {warning}" in done.err
