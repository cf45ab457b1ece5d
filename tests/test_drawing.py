"""What is read of a source for somebody who wants to draw it."""

from __future__ import annotations

from typing import Any

import pytest

import gviz
from gviz import SourceOptions, sources


@pytest.mark.parametrize(
    ("source", "is_script"),
    [("-", True), ("net.py", True), ("NET.PYW", True), ("book.ipynb", True), ("y=x*w", False), ("net.json", False)],
)
def test_of_scripts_and_notebooks_all_is_noted_that_a_view_may_show(
    source: str, is_script: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[SourceOptions] = []
    reading = sources.read("y=x*w", SourceOptions())

    def read(_: Any, options: SourceOptions) -> Any:
        seen.append(options)
        return reading

    monkeypatch.setattr(sources, "read", read)
    gviz.read(source)
    gviz.read(source, SourceOptions(lines=True))
    assert [(one.flow, one.lines, one.functions) for one in seen] == [(is_script,) * 3, (False, True, False)]
