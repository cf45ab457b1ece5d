"""The page of ``gviz steps`` in headless Chromium: buttons, keys, slider, what a screen reader hears, the program's lines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Browser, program

from gviz import RenderOptions, SourceOptions, read
from gviz.render import series

pytestmark = pytest.mark.skipif(program() is None, reason="needs Chromium")

PLACE = "$('place').textContent"
CAPTION = "$('caption').innerText"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The steps of the first article's formula."""
    graph = read("y=(x+w)*(w+1)", SourceOptions(values={"x": 2, "w": 1}, flow=True)).graph
    path = tmp_path_factory.mktemp("player") / "y.html"
    series.save(graph, str(path), RenderOptions(view="dataflow", title="y = (x + w) × (w + 1)"), seconds=0.1)
    return path


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    browser = Browser(tmp_path_factory.mktemp("browser"))
    yield browser
    browser.close()


@pytest.fixture
def page(browser: Browser, file: Path) -> Browser:
    browser.open("about:blank")
    browser.requests.clear()
    browser.open(file.as_uri())
    return browser


def test_it_opens_on_the_circuit_at_the_first_step_and_loads_nothing(page: Browser, file: Path) -> None:
    assert page.value(PLACE) == "forward 1/9"
    assert page.value("graph.name") == "circuit"
    assert page.value("document.querySelector('h1').textContent") == "y = (x + w) × (w + 1)"
    assert {url.partition("#")[0] for url in page.requests} <= {file.as_uri(), "about:blank"}
    assert page.value("performance.getEntriesByType('resource').length") == 0


@pytest.mark.parametrize("hash", ["8", "step=8"])
def test_a_link_opens_on_its_step(page: Browser, file: Path, hash: str) -> None:
    page.open("about:blank")
    page.open(f"{file.as_uri()}#{hash}")
    assert page.value(PLACE) == "backward 8/9"
    assert "w.grad += 3 + 2 = 5" in page.value(CAPTION)


def test_keys_go_to_the_next_the_last_and_the_first_step(page: Browser) -> None:
    for key, place in (
        ("ArrowRight", "forward 2/9"), ("PageDown", "forward 3/9"), ("ArrowLeft", "forward 2/9"), ("End", "backward 9/9"),
        ("ArrowRight", "backward 9/9"), ("Home", "forward 1/9"), ("ArrowLeft", "forward 1/9"),
    ):  # fmt: skip
        page.press(key)
        assert page.value(PLACE) == place, key


def test_buttons_step_rest_at_the_ends_and_show_the_whole_graph(page: Browser) -> None:
    assert page.value("$('back').disabled")
    page.click("#next")
    assert page.value(PLACE) == "forward 2/9"
    assert page.value(CAPTION).startswith("forward  a = x + w = 2 + 1 = 3")
    page.click("#back")
    assert page.value(PLACE) == "forward 1/9"
    page.press("End")
    assert page.value("$('next').disabled")
    page.click("#first")
    assert page.value(PLACE) == "whole graph"


def test_the_slider_takes_the_mouse_and_its_own_keys(page: Browser) -> None:
    page.click("#slider", 0.5)
    assert page.value(PLACE) == "backward 5/9"
    page.press("ArrowRight")
    assert page.value(PLACE) == "backward 6/9"
    page.press("Home")
    assert page.value(PLACE) == "forward 1/9"
    assert page.value("$('slider').getAttribute('aria-valuetext')") == "forward 1 of 9"


def test_play_goes_to_the_end_and_stops_there(page: Browser) -> None:
    page.press(" ")
    assert page.value("$('play').textContent") == "Pause"
    page.wait(f"{PLACE} === 'backward 9/9'")
    page.wait("$('play').textContent === 'Play'")


def test_space_on_a_button_presses_it_once_and_any_step_stops_the_play(page: Browser) -> None:
    page.value("$('play').focus()")
    page.press(" ")
    assert page.value("$('play').textContent") == "Pause"
    page.press("Home")
    assert (page.value("$('play').textContent"), page.value(PLACE)) == ("Play", "forward 1/9")


def test_nothing_starts_by_itself_and_nothing_fades_for_who_wants_no_motion(page: Browser, file: Path) -> None:
    page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "reduce"}])
    page.open("about:blank")
    page.open(file.as_uri())
    page.press("ArrowRight")
    assert page.value("document.getAnimations().length") == 0
    page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "no-preference"}])
    page.press("ArrowRight")
    assert page.value("document.getAnimations().length") == 1
    assert page.value("timer") == 0


def test_a_screen_reader_gets_names_and_the_caption(page: Browser) -> None:
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    named = {(node["role"]["value"], node.get("name", {}).get("value")) for node in nodes if not node["ignored"]}
    for role, name in (("button", "Previous step"), ("button", "Play"), ("button", "Next step"), ("slider", "Step")):
        assert (role, name) in named
    assert any(role == "status" for role, _ in named)
    assert page.value("$('caption').getAttribute('aria-live')") == "polite"


@pytest.mark.parametrize("view", ["circuit", "dataflow"])
def test_boxes_stay_where_they_are(page: Browser, view: str) -> None:
    """Measured in the page: each box of the first step is at one place in all steps."""
    page.value(f"use(data.views.findIndex((one) => one.name === '{view}'))")
    place = "(b => [b.x, b.y, b.width].map(Math.round).join())(rect.getBoundingClientRect())"
    boxes = f"[...document.querySelectorAll('#boxes rect')].map(rect => {place})"
    places = []
    for _ in range(9):
        places.append(page.value(boxes))
        page.press("ArrowRight")
    assert len({*places[0]}) >= 5  # two leaves and three operations, faint ones too
    assert all({*places[0]} <= {*step} for step in places)


def test_what_is_known_grows(page: Browser) -> None:
    counts = []
    for _ in range(9):
        counts.append(page.value("$('world').textContent.length"))
        page.press("ArrowRight")
    assert counts == sorted(counts)
    assert counts[-1] > 2 * counts[0]


def test_values_and_gradients_are_left_out_each_by_its_button(page: Browser) -> None:
    page.press("End")
    numbers = "draw(); $('world').textContent.replace(/[^\\d]/g, '')"
    everything = page.value(numbers)
    page.click("#gradients")
    without = page.value(numbers)
    page.click("#values")
    assert len(everything) > len(without) > len(page.value(numbers))
    assert page.value("$('values').getAttribute('aria-pressed')") == "false"


def test_a_part_of_the_steps_keeps_their_numbers(browser: Browser, tmp_path: Path) -> None:
    graph = read("y=(x+w)*(w+1)", SourceOptions(values={"x": 2, "w": 1}, flow=True)).graph
    series.save(graph, str(tmp_path / "y.html"), RenderOptions(view="dataflow"), wanted=[6, 7])
    browser.open((tmp_path / "y.html").as_uri())
    assert browser.value(PLACE) == "backward 6/9"
    browser.press("End")
    assert (browser.value(PLACE), browser.value("location.hash")) == ("backward 7/9", "#step=7")


def test_the_line_that_runs_is_lit_beside_the_graph(browser: Browser, tmp_path: Path) -> None:
    graph = read("a=x+w; y=a*w", SourceOptions(values={"x": 2, "w": 1}, flow=True, lines=True)).graph
    series.save(graph, str(tmp_path / "y.html"), RenderOptions(view="dataflow", every="line"))
    browser.open((tmp_path / "y.html").as_uri())
    lines = []
    for _ in range(browser.value("graph.steps.length")):
        lines.append(browser.value("$('now') && $('now').textContent"))
        browser.press("ArrowRight")
    assert graph.code.split("\n")[-1] in lines


def test_what_is_too_large_for_a_circuit_is_played_in_boxes(browser: Browser, tmp_path: Path) -> None:
    graph = read("y=" + "+".join(f"tanh(x*{i}.5)" for i in range(1, 22)), SourceOptions(flow=True)).graph
    series.save(graph, str(tmp_path / "y.html"), RenderOptions(view="dataflow"))
    browser.open((tmp_path / "y.html").as_uri())
    assert browser.value("graph.name") == "dataflow"
    browser.press("End")
    x = "graph.nodes.findIndex((node) => node.name === 'x')"
    assert browser.value(f"saysAt({x}, step).map(plain)[2]").startswith("grad = ")
