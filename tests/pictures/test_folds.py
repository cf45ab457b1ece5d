"""Blocks that repeat in a picture: when they are drawn once without being asked for, and what is said of it."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import pytest

from gviz.errors import RenderError
from gviz.layout import RenderWarning
from gviz.pictures.options import RenderOptions
from gviz.pictures.parts import drawn_parts

sys.path.append(str(Path(__file__).parent.parent / "passes"))
from test_fold import layers, rnn


def boxes(steps: int, **look: object) -> int:
    """Return how many boxes a picture of so many steps has."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RenderWarning)
        return len(drawn_parts(rnn(steps), RenderOptions(**{"format": "svg", **look})).nodes)  # type: ignore[arg-type]


def test_a_large_picture_is_folded_and_a_small_one_or_data_only_if_asked() -> None:
    assert boxes(100) == boxes(5, fold="on") == boxes(100, format="json", fold="on") == 10
    assert boxes(5) == boxes(5, fold="off") == len(rnn(5).nodes)
    assert {
        boxes(100, **look) for look in ({"fold": "off"}, {"format": "json"}, {"show": ()}, {"view": "dataflow"})
    } == {408}


def test_what_is_folded_by_itself_is_said_with_the_way_back() -> None:
    with pytest.warns(RenderWarning, match=r"repeats × 100; 10 boxes in place of 408; --fold off draws all$"):
        drawn_parts(rnn(100), RenderOptions(format="svg"))


def test_a_fold_is_opened_by_its_name_or_where_there_are_few_blocks() -> None:
    for look in ({"unfold": "net.blocks"}, {"unfold": "net.blocks.{0…6}"}, {"fold_min": 8}):
        options = RenderOptions(format="svg", fold="on", **look)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RenderWarning)
            assert not drawn_parts(layers(7), options).regions
    with pytest.raises(RenderError, match=r"no fold 'net.block'") as error:
        drawn_parts(layers(7), RenderOptions(format="svg", unfold="net.block"))  # type: ignore[arg-type]
    assert error.value.hint == "did you mean net.blocks?"
