"""The page under real input: mouse, wheel, fingers, keys, print and saved files in Chromium; the same in Firefox."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.dom import minidom

import pytest
from browser import FIREFOXES, Browser, Firefox, program

import gviz
from gviz import RenderOptions
from gviz.graphs import Edge, Graph, Node
from gviz.render import html

needs_chromium = pytest.mark.skipif(program() is None, reason="needs Chromium")
needs_firefox = pytest.mark.skipif(program(FIREFOXES) is None, reason="needs Firefox: apt-get install firefox-esr")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the page of a formula, and with one that does harm if it can."""
    folder = tmp_path_factory.mktemp("pages")
    gviz.read("y=(x+w)*(w+1)", x=2, w=1).save(folder / "y.html")
    harm = '"><img src=x onerror=document.body.id=1></script><script>document.body.id=1</script>\u2028__proto__'
    graph = Graph(
        (Node(harm, "output", name=harm), Node("b", "operation", harm)), (Edge("b", harm),), (harm,), title=harm
    )
    (folder / "bad.html").write_text(html.render(graph, RenderOptions(format="html")), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    browser = Browser(tmp_path_factory.mktemp("browser"), "--window-size=1000,700")
    yield browser
    browser.close()


@pytest.fixture
def page(browser: Browser, folder: Path) -> Browser:
    browser.open("about:blank")
    browser.open((folder / "y.html").as_uri())
    return browser


def middle(page: Browser, selector: str) -> dict[str, Any]:
    """Where the middle of an element is."""
    rect = (
        f"(b => [b.x + b.width / 2, b.y + b.height / 2])(document.querySelector('{selector}').getBoundingClientRect())"
    )
    x, y = page.value(rect)
    return {"x": x, "y": y}


def drawn_again(page: Browser) -> None:
    """Wait for what the next frame draws."""
    page.value("draw()")


@needs_chromium
def test_the_wheel_zooms_where_the_mouse_is(page: Browser) -> None:
    before = middle(page, ".leaf")
    page.call("Input.dispatchMouseEvent", type="mouseWheel", **before, deltaX=0, deltaY=-120)
    page.wait("view.k > 1.7")
    drawn_again(page)
    after = middle(page, ".leaf")
    assert after == pytest.approx(before, abs=2)


@needs_chromium
def test_dragging_moves_the_picture_and_chooses_nothing(page: Browser) -> None:
    before = middle(page, ".leaf")
    page.call("Input.dispatchMouseEvent", type="mousePressed", **before, button="left", clickCount=1)
    for step in range(1, 5):
        place = {"x": before["x"] + 20 * step, "y": before["y"] + 10 * step}
        page.call("Input.dispatchMouseEvent", type="mouseMoved", **place, button="left", buttons=1)
    page.call("Input.dispatchMouseEvent", type="mouseReleased", **place, button="left", clickCount=1)
    drawn_again(page)
    assert middle(page, ".leaf") == pytest.approx({"x": before["x"] + 80, "y": before["y"] + 40}, abs=2)
    assert page.value("picked") is None


@needs_chromium
def test_two_fingers_zoom_and_one_chooses(page: Browser) -> None:
    place, before = middle(page, ".leaf"), page.value("view.k")
    page.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[place])
    page.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    page.wait("picked && graph.nodes[picked.node].kind === 'leaf'")
    for apart, kind in ((40, "touchStart"), (60, "touchMove"), (80, "touchMove")):
        points = [{"x": 400 + way * apart, "y": 300, "id": number} for number, way in enumerate((-1, 1))]
        page.call("Input.dispatchTouchEvent", type=kind, touchPoints=points)
    page.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    assert page.value("view.k") > 1.5 * before


@needs_chromium
def test_tab_goes_through_the_page_in_order_and_enter_goes_into_the_picture(page: Browser) -> None:
    order = []
    for _ in range(14):
        page.press("Tab")
        order.append(page.value("document.activeElement.id"))
    assert order[:4] == ["search", "views", "fit", "less"]
    assert order.index("help") < order.index("stage")
    page.value("stage.focus()")
    page.press("Enter")
    assert page.value("document.activeElement.getAttribute('aria-label')").startswith("y = 6")


@needs_chromium
def test_back_goes_back_along_the_way_that_was_walked(page: Browser) -> None:
    page.value("stage.focus()")
    page.press("Enter")
    page.press("ArrowUp")
    page.press("ArrowUp")
    names = [page.value("name(picked.node)")]
    for _ in range(2):
        entries = page.call("Page.getNavigationHistory")
        page.call("Page.navigateToHistoryEntry", entryId=entries["entries"][entries["currentIndex"] - 1]["id"])
        page.wait(f"name(picked.node) !== '{names[-1]}'")
        names.append(page.value("name(picked.node)"))
    assert names == ["AddBackward0", "MulBackward0", "y"]


@needs_chromium
@pytest.mark.parametrize("view", range(3))
def test_it_is_printed_on_one_page(page: Browser, view: int) -> None:
    from pypdf import PdfReader

    page.value(f"use({view})")
    data = base64.b64decode(page.call("Page.printToPDF", landscape=True)["data"])
    pages = PdfReader(io.BytesIO(data)).pages
    assert len(pages) == 1
    assert "w" in pages[0].extract_text()


@needs_chromium
@pytest.mark.parametrize("view", range(3))
def test_the_whole_graph_is_saved_as_it_is_shown(page: Browser, tmp_path: Path, view: int) -> None:
    page.call_browser("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    page.value(f"use({view}); useTheme(true); draw()")
    page.click("#svg")
    svg = wait_for(tmp_path / "y.svg")
    texts = minidom.parseString(svg).getElementsByTagName("text")  # noqa: S318 - it is gviz's own
    assert "var(" not in svg.decode()
    assert "#14171A" in svg.decode()  # the dark page
    assert any("w" in text.toxml() for text in texts)
    page.click("#png")
    assert wait_for(tmp_path / "y.png")[:4] == b"\x89PNG"


def wait_for(path: Path) -> bytes:
    """Return what was saved, as soon as it is there."""
    import time

    end = time.monotonic() + 20
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.05)
    return path.read_bytes()


# ------------------------------------------------------------------ Firefox
@pytest.fixture(scope="module")
def firefox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    firefox = Firefox(tmp_path_factory.mktemp("firefox"))
    yield firefox
    firefox.close()


@needs_firefox
def test_firefox_draws_it_and_takes_mouse_wheel_fingers_and_keys(firefox: Firefox, folder: Path) -> None:
    firefox.open((folder / "y.html").as_uri())
    assert firefox.value("document.querySelectorAll('.box').length") == 8
    zoomed = "document.getElementById('world').transform.baseVal.consolidate().matrix.a"
    before = firefox.value(zoomed)
    x, y = firefox.value(
        "(b => [b.x + b.width / 2, b.y + b.height / 2])(document.querySelector('.leaf').getBoundingClientRect())"
    )
    place = {"x": round(x), "y": round(y)}
    down, up, move = (
        {"type": "pointerDown", "button": 0},
        {"type": "pointerUp", "button": 0},
        {"type": "pointerMove", **place},
    )
    firefox.act({"type": "pointer", "id": "mouse", "actions": [move, down, up]})
    assert "grad" in firefox.value("document.getElementById('panel').innerText")
    firefox.act({"type": "wheel", "id": "wheel", "actions": [{"type": "scroll", **place, "deltaX": 0, "deltaY": -120}]})
    assert firefox.value(f"new Promise(done => setTimeout(() => done({zoomed}), 100))") > 1.1 * before
    firefox.act(
        {
            "type": "key",
            "id": "keys",
            "actions": [{"type": "keyDown", "value": "\ue00c"}, {"type": "keyUp", "value": "\ue00c"}],
        }
    )
    assert firefox.value("document.getElementById('panel').hidden")
    finger = {"type": "pointer", "id": "finger", "parameters": {"pointerType": "touch"}, "actions": [move, down, up]}
    firefox.act(finger)
    assert "hidden" not in firefox.value("document.getElementById('panel').outerHTML.slice(0, 80)")


@needs_firefox
def test_firefox_runs_no_script_of_a_name(firefox: Firefox, folder: Path) -> None:
    firefox.open((folder / "bad.html").as_uri())
    assert firefox.value("document.querySelectorAll('.box').length") >= 1
    assert firefox.value("document.body.id") == ""
    assert firefox.value("document.querySelectorAll('script').length") == 2
