"""Formulas as students and teachers type them: each is read, or refused with advice that works when it is pasted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from mends import mends

from gviz.answers import explain
from gviz.errors import GvizError
from gviz.sources import SourceOptions, read
from gviz.sources.expression import advice, evaluate, run
from gviz.sources.source import Source

TYPED = (Path(__file__).parent / "typed.txt").read_text(encoding="utf-8").splitlines()

GIVEN = re.compile(r"(?:[^\W\d]\w*=[\[\d][\d\[\],.]*(?: |$))+")
"""Values that a hint gives to names."""

COMMAND = re.compile(r'gviz (\w+) "([^"]*)"((?: --\w+ \w+| [^\W\d]\w*=[^\s,;]+)*)')
"""A command that a hint proposes: its name, its source, and its options and values."""

WITHOUT_ADVICE = {"x~w", "x⁺", "x†", "∀x", "∃x"}
"""What nobody can guess the meaning of."""

VALUES = {"x": "[0.5, -1]", "w": "[1, 2]", "A": "[[2, 1], [1, 3]]", "i": "[0, 1]", "n": "2", "t": "[1, 0]"}

PART = re.compile("has no graph|must be a Tensor")
"""How a comparison, or a number, is refused as a whole expression: it is a part of one."""


def refusal(text: str, values: Mapping[str, str] | None = None) -> GvizError | None:
    """Return what is said of a text that is not read; None for one that is."""
    try:
        read(Source.of(text, values=values), SourceOptions(values=values or {}), say=lambda _: None)
    except GvizError as error:
        return error
    return None


def run_command(command: str, source: str, words: str) -> None:
    """Do what a proposed command does."""
    values = dict(word.split("=", 1) for word in words.split() if "=" in word)
    options = dict(re.findall(r"--(\w+) (\w+)", words))
    order = int(options.get("order", 0))
    settings = SourceOptions(values=values, order=order, wrt=(options["wrt"],) if "wrt" in options and order else ())
    if command == "explain":
        explain(source, options.get("wrt", ()), options=settings, say=lambda _: None)
    else:
        read(Source.of(source, values=values), settings, say=lambda _: None)


@pytest.mark.parametrize("part", range(8))
def test_what_is_typed_is_read_or_gets_advice_that_works(part: int) -> None:
    wrong = []
    for text in TYPED[part::8]:
        error = refusal(text)
        if error is None:
            continue
        if error.hint is None and text not in WITHOUT_ADVICE:
            wrong.append(f"{text}: no advice: {error.what}")
        for mend, more in mends(error.hint):
            values = dict(word.split("=", 1) for word in mend.split()) if GIVEN.fullmatch(mend) else {}
            tries = [refusal(text, values)] if values else [refusal(mend, {**own, **more}) for own in ({}, VALUES)]
            if all(again and not PART.search(again.what) for again in tries):
                wrong.append(f"{text}: write {mend}: {tries[0]}")
        for command in COMMAND.findall(error.hint or ""):
            try:
                run_command(*command)
            except GvizError as again:
                wrong.append(f"{text}: gviz {' '.join(command)}: {again.what}")
    assert wrong == []


def test_what_a_table_of_advice_proposes_can_be_computed() -> None:
    tables = (advice.MARKS, advice.WORDS, advice.SYNTAX, advice.PRIVATE, advice.CALLED)
    hints = [hint for table in tables for _, hint in table.values()]
    hints += [
        *advice.SIGNS.values(),
        *advice.LATEX.values(),
        *advice.ELSEWHERE.values(),
        *(hint for *_, hint in run.HINTS),
    ]
    proposed = [(mend, {**VALUES, **more}) for hint in hints for mend, more in mends(hint)]
    assert len(proposed) > 30
    for hint in hints:
        for command in COMMAND.findall(hint):
            run_command(*command)
    refused = {mend: refusal(mend, values) for mend, values in proposed}
    assert not {mend: error for mend, error in refused.items() if error and not PART.search(error.what)}


@pytest.mark.parametrize(
    "text", ["dy/dx", "d/dx", r"\frac{dy}{dx}", r"\frac{d}{dx} x^2", r"\frac{\partial L}{\partial w}", "d(x)/d(w)"]
)
def test_a_derivative_is_no_fraction(text: str) -> None:
    error = refusal(text)
    assert error is not None
    assert "a derivative is not part of an expression" in error.what
    assert COMMAND.search(error.hint or "")


def test_a_name_in_chinese_is_one_name() -> None:
    found = evaluate("输出=输入*权重+偏置", SourceOptions(values={"输入": "2", "权重": "3"}))
    assert found.names["输出"].item() == 7.0
