"""The words and options of a command line, before any source is read."""

from __future__ import annotations

import click
import pytest
from program import Program

from gviz.cli.options import split_names
from gviz.cli.values import read_words
from gviz.errors import FileError


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
        (["rendr", "y=x"], "Did you mean 'render'?"),
        (["y=x+w"], 'gviz render "y=x+w"'),
        (["frobnicate"], "The commands are render, inspect, static, compare, ops, formats."),
        (["render"], "Missing argument 'SOURCE'"),
        (["render", "y=x", "--foo"], "No such option"),
        (["static", "-o"], "requires an argument.\ngviz static --help"),
        (["render", "y=x", "--show", "colour"], "'colour' is none of value, grad"),
        (["render", "y=x", "--show", "none,grad"], "none goes with nothing else"),
        (["render", "y=x", "--rankdir", "XY"], "--rankdir"),
        (["render", "y=x", "--engine", "jax"], "--engine"),
        (["render", "y=x", "--on-error", "ignore"], "--on-error"),
        (["render", "y=x", "--graphviz", "other"], "--graphviz"),
        (["render", "y", "=", "x"], "Put the expression in quotes"),
        (["render", "y=x", "2"], "'2' is no NAME=VALUE"),
        (["render", "y=x", "2x=3"], "'2x=3' is no NAME=VALUE"),
        (["render", "y=x", "x=1", "x=2"], "x is given twice"),
        (["inspect", "train.py", "epochs"], "arguments come after --"),
    ],
)
def test_wrong_usage_has_status_2_and_says_what_would_be_right(gviz: Program, words: list[str], phrase: str) -> None:
    gviz(*words).assert_refused(phrase, "--help has an example", status=2)


def test_what_follows_the_dashes_is_the_source_where_there_is_none_yet() -> None:
    assert read_words([], ["-x+w", "x=2"], None) == ("-x+w", {"x": "2"}, ())


def test_what_follows_the_dashes_are_values_of_an_expression() -> None:
    assert read_words(["y=x+w"], ["x=-2"], None) == ("y=x+w", {"x": "-2"}, ())


def test_what_follows_the_dashes_are_arguments_of_a_script() -> None:
    assert read_words(["net.py", "x=1"], ["--epochs", "3"], None) == ("net.py", {"x": "1"}, ("--epochs", "3"))
    assert read_words([], ["-net.py", "--", "a"], None) == ("-net.py", {}, ("a",))


def test_a_value_may_hold_equals_signs_and_brackets() -> None:
    assert read_words(["y=x"], ["x=ones(2,dtype=float64)"], None)[1] == {"x": "ones(2,dtype=float64)"}


def test_a_word_without_a_value_is_refused() -> None:
    with pytest.raises(click.UsageError, match="no NAME=VALUE"):
        read_words(["y=x+w"], ["x"], None)


def test_names_are_split_at_commas_outside_brackets_and_quotes() -> None:
    assert split_names("x,,w , d['a,b'],f(1,2),p[0,1]") == ("x", "w", "d['a,b']", "f(1,2)", "p[0,1]")


def test_values_of_a_file_yield_to_those_of_the_command_line(gviz: Program) -> None:
    (gviz.folder / "v.json").write_text('{"x": 2, "w": [[1, 2.5], [true, NaN]], "b": "ones(2,2)"}')
    values = read_words(["y=x+w"], ["x=7"], str(gviz.folder / "v.json"))[1]
    assert values == {"x": "7", "w": "[[1, 2.5], [True, nan]]", "b": "ones(2,2)"}


@pytest.mark.parametrize(
    ("content", "phrase"),
    [
        (b"", "no JSON"),
        (b"{'x': 2}", "no JSON"),
        (b"[1, 2]", "holds no names with values"),
        (b'{"x": null}', "neither a number nor a list"),
        (b'{"x": {"y": 1}}', "neither a number nor a list"),
        (b"\xff\xfe\x00\x01", "no text file"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_a_file_of_values_that_is_not_right_is_refused(gviz: Program, content: bytes, phrase: str) -> None:
    (gviz.folder / "v.json").write_bytes(content)
    with pytest.raises(FileError) as caught:
        read_words(["y=x"], [], str(gviz.folder / "v.json"))
    assert phrase in caught.value.report()


def test_a_file_of_values_shows_where_its_json_breaks(gviz: Program) -> None:
    (gviz.folder / "v.json").write_text('{"x": 2,\n "w": }')
    done = gviz("inspect", "y=x+w", "--values", "v.json")
    done.assert_refused("v.json:2: this is no JSON", '   "w": }\n        ^', files=("v.json",))
