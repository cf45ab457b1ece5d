"""Themes: text and lines stand out from what is behind them, and kinds of boxes differ in a print without colour."""

from __future__ import annotations

from itertools import combinations

import pytest

from gviz.graphs import KINDS
from gviz.pictures.html import swatch
from gviz.pictures.shades import FILLS, LIGHT
from gviz.pictures.theme import THEMES, Theme, box_attributes, edge_attributes, error_attributes

TEXT, LINE = 4.5, 3.0
"""The least contrasts of WCAG 2.2: of text (1.4.3) and of what is drawn (1.4.11)."""

ALLOWED = {("torchviz", "gradient", "saved")}
"""TorchViz's orange is too dark for the ink of gradients; a saved tensor shows none."""

BOTH_GREY = "accumulate"
"""Its line is TorchViz's grey of operations made lighter, as AccumulateGrad is said in passing."""


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour.

    Source: https://www.w3.org/TR/WCAG22/#dfn-relative-luminance
    """
    channels = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4 for channel in channels]
    return sum(weight * channel for weight, channel in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, from 1 to 21.

    Source: https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio
    """
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def test_a_contrast_is_that_of_the_web() -> None:
    assert contrast("#000000", "#FFFFFF") == contrast("#FFFFFF", "#000000") == pytest.approx(21)
    assert contrast("#767676", "#FFFFFF") == pytest.approx(4.54, abs=0.01)


def test_every_theme_that_can_be_chosen_is_there() -> None:
    assert list(THEMES) == ["torchviz", "light", "dark", "print"]
    assert all(set(KINDS) <= theme.boxes.keys() for theme in THEMES.values())


@pytest.mark.parametrize("name", THEMES)
def test_text_stands_out_from_the_page_and_from_each_box(name: str) -> None:
    theme = THEMES[name]
    fills = {kind: pair.fill for kind, pair in theme.boxes.items()} | {"page": theme.page}
    inks = {ink: getattr(theme, ink) for ink in ("ink", "muted", "gradient")}
    low = {
        (name, ink, place)
        for ink, colour in inks.items()
        for place, fill in fills.items()
        if contrast(colour, fill) < TEXT
    }
    assert low <= ALLOWED
    for fill in (theme.page, theme.boxes["error"].fill):  # nan in a box and in the legend's banner
        assert contrast(theme.boxes["error"].pen, fill) >= TEXT
    assert contrast(theme.value, theme.page) >= TEXT


@pytest.mark.parametrize("name", THEMES)
def test_lines_stand_out_from_the_page_and_boxes_from_their_lines(name: str) -> None:
    theme = THEMES[name]
    assert contrast(theme.line, theme.page) >= LINE
    for kind, pair in theme.boxes.items():
        assert contrast(pair.pen, theme.page) >= LINE, kind
        assert contrast(pair.pen, pair.fill) >= (LINE if kind != BOTH_GREY else 2), kind
    for look in edge_attributes(theme).values():
        assert contrast(look.get("color", theme.line), theme.page) >= LINE


def without_colour(kind: str, theme: Theme) -> dict[str, str]:
    """Return what a box looks like in black and white."""
    return {key: value for key, value in box_attributes(kind, theme).items() if "color" not in key}


@pytest.mark.parametrize("name", THEMES)
def test_kinds_differ_without_colour(name: str) -> None:
    looks = {kind: without_colour(kind, THEMES[name]) for kind in KINDS}
    for one, other in combinations(KINDS, 2):
        assert looks[one] != looks[other], (one, other)
    arrows = [
        {key: value for key, value in look.items() if key != "color"} for look in edge_attributes(THEMES[name]).values()
    ]
    assert all(one != other for one, other in combinations(arrows, 2))
    error = error_attributes(THEMES[name])
    assert all(look.get("penwidth") != error["penwidth"] for look in looks.values())


def test_pale_fills_are_three_shades_of_grey_in_print() -> None:
    leaf, operation, error = (luminance(THEMES["light"].boxes[kind].fill) for kind in ("leaf", "operation", "error"))
    assert operation - error > 0.05 < error - leaf


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "accumulate"])
def test_the_legend_shows_the_pen_and_the_corners_of_a_kind(kind: str) -> None:
    theme = THEMES["light"]
    look, cell = box_attributes(kind, theme), swatch(kind, theme)
    assert f'"{theme.boxes[kind].fill}"' in cell
    assert f'"{theme.boxes[kind].pen}"' in cell
    for style in ("rounded", "dashed", "dotted"):
        assert (style in look.get("style", "")) is (style.upper() in cell)
    assert f'BORDER="{max(round(float(look.get("penwidth", "1"))), 1)}"' in cell


@pytest.mark.parametrize("theme", THEMES)
def test_all_inks_can_be_read_on_all_shades(theme: str) -> None:
    look = THEMES[theme]
    inks = (look.ink, look.muted, look.gradient)
    assert min(contrast(ink, fill) for ink in inks for fill in FILLS.get(theme, LIGHT)) >= 4.5
