"""Pictures: by Graphviz in this process or by the system's dot, the same bytes each time, with any text in them."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings
import xml.etree.ElementTree as ET
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from graphs import article, chain, every_kind, loop, named
from program import ROOT, clean_environment
from pypdf import PdfReader

from gviz.errors import RenderError
from gviz.graphs import Graph, Node
from gviz.graphs.numbers import Numbers
from gviz.layout import DrawingError, NoEngineError, RenderWarning, embedded
from gviz.layout.graphviz import draw
from gviz.layout.plan import LayoutPlan, make_plan
from gviz.pictures.labels import boxes
from gviz.pictures.spans import text_of
from gviz.pictures.theme import THEMES
from gviz.render import RenderOptions, formats, image, render
from gviz.render.image import SUFFIXES, TEXTS, without_date
from gviz.render.marks import has_mark

SMALL_LINES = "\n" * 6_000
"""A graph of so many lines counts as a large one."""

HERE = [row for row in formats() if row.works and row.suffix in SUFFIXES]

BEGAN = time.monotonic()
PICTURES = {row.suffix: render(article(), row.suffix) for row in HERE}
"""Drawn before all tests, so that pictures of another second can be compared with them."""


def as_bytes(drawn: str | bytes) -> bytes:
    return drawn.encode() if isinstance(drawn, str) else drawn


def pdf_text(drawn: str | bytes) -> str:
    return PdfReader(io.BytesIO(as_bytes(drawn)), strict=True).pages[0].extract_text()


def svg_lines(drawn: str | bytes) -> list[str]:
    """Return the lines of each box, arrow and of the legend: a name in bold and its value are two texts at one height."""
    lines: list[str] = []
    for group in ET.fromstring(as_bytes(drawn)).iter("{http://www.w3.org/2000/svg}g"):  # noqa: S314 gviz's own picture
        rows: dict[str, str] = {}
        for text in group.findall(".//{http://www.w3.org/2000/svg}text") if group.get("class") != "graph" else ():
            rows[text.get("y", "")] = rows.get(text.get("y", ""), "") + (text.text or "").replace("\xa0", " ")
        lines += rows.values()
    return lines


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a fresh Python that knows gviz and this folder's helpers."""
    surroundings = {**clean_environment(Path("/nonexistent")), **environment}
    surroundings["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], env=surroundings, capture_output=True, text=True, check=False
    )


def test_the_usual_formats_are_made_in_this_process() -> None:
    made = {row.suffix: row.made_by for row in HERE}
    for suffix in ("pdf", "svg", "png", "jpg", "gif", "ps", "eps"):
        assert made[suffix].startswith("embedded Graphviz "), suffix


STARTS = {
    "pdf": b"%PDF-",
    "png": b"\x89PNG\r\n",
    "jpg": b"\xff\xd8\xff\xe0",
    "gif": b"GIF8",
    "ps": b"%!PS-Adobe",
    "eps": b"%!PS-Adobe-3.0 EPSF",
    "svg": b"<?xml",
    "svgz": b"\x1f\x8b",
}


@pytest.mark.parametrize("suffix", [*PICTURES, "svgz", "svg_inline", "plain-ext", "xdot1.2", "json0", "pic"])
def test_a_format_that_is_said_to_work_does(suffix: str) -> None:
    drawn = render(article(), suffix)
    assert isinstance(drawn, str) is (suffix in TEXTS)
    assert len(drawn) > 100
    assert as_bytes(drawn).startswith(STARTS.get(suffix, b""))


def test_a_pdf_is_one_page_with_every_text_of_the_boxes() -> None:
    drawn = as_bytes(render(article(), "pdf"))
    assert len(PdfReader(io.BytesIO(drawn), strict=True).pages) == 1
    lines = [text_of(line) for box in boxes(article(), RenderOptions(legend=False)) for line in box.lines]
    assert set(lines) <= set(pdf_text(drawn).split("\n"))


def test_an_svg_has_a_box_per_node_and_an_arrow_per_edge() -> None:
    drawn = str(render(every_kind(), "svg"))
    assert drawn.count('class="node"') == drawn.count('class="edge"') == 9
    for kind in ("leaf", "operation", "output", "intermediate", "saved", "frozen"):
        assert f'fill="{THEMES["torchviz"].boxes[kind].fill.lower()}"' in drawn
    plain = str(render(every_kind(), "svg", RenderOptions(show=())))
    assert plain.count('class="node"') == plain.count('class="edge"') == 9
    for colour in ("lightblue", "#caff70", "#a2cd5a", "orange", "lightgrey"):  # SVG has no darkolivegreen1 and 3
        assert f'fill="{colour}"' in plain


def test_graphviz_s_own_formats_hold_the_graph() -> None:
    assert b"MulBackward0" in gzip.decompress(as_bytes(render(article(), "svgz")))
    assert len(json.loads(render(article(), "json0"))["objects"]) == 8


NAMES = [
    'say "hi"',
    "<b>bold</b>",
    "<b>",
    "a&b",
    "&lt;",
    "&amp;amp;",
    "C:\\new\\",
    "\\N\\G\\l",
    "{a|b}",
    "a-->b",
    "]]>",
    "%s $x",
]
BEYOND = ["naïve", "β→∑", "Ж"]
CONTROLS = {
    "two\nlines": "two\nlines",
    "nul\x00": "nul\\x00",
    "tab\t": "tab\\t",
    "\ud800": "\\ud800",
    "\ufffe": "\\ufffe",
    "\u202eturned": "\\u202eturned",
}
"""Names with a newline, which is a new line, and with characters that no picture can show, which are written out."""


@pytest.mark.parametrize("suffix", ["svg", "pdf"])
def test_any_name_is_shown_as_it_is(suffix: str) -> None:
    wanted = {name: name for name in (*NAMES, *BEYOND)} | CONTROLS
    drawn = render(named(*wanted), suffix)
    text = "\n".join(svg_lines(drawn)) if suffix == "svg" else pdf_text(drawn)
    for name in wanted.values():
        assert all(line in text for line in f"{name} = 1".split("\n")), name
    assert "two = 1" not in text


def test_a_title_may_be_anything() -> None:
    for title in ('"', "\\", "a\nb", "\x00\ud800", "<&>", "--", "node", ""):
        drawn = render(Graph(article().nodes, article().edges, ("n0",), title=title), "svg")
        assert len(svg_lines(drawn)) == 13


def test_a_very_long_name_or_title_does_not_stretch_the_picture() -> None:
    for show in ((), ("value",), ("shape",)):
        sizes = Numbers(tuple([10**500] * 100) if show else ())
        node = Node("n0", "leaf", name="x" * 40_000, numbers=sizes)
        drawn = str(render(Graph((node,), (), ("n0",), title="k" * 100_000), "svg", RenderOptions(show=show)))
        width = re.search(r'width="(\d+)pt"', drawn)
        assert width is not None
        assert int(width[1]) < 1500
        assert len(drawn) < 10_000
    plain = RenderOptions(show=())
    assert "x" * 200 in str(render(named("x" * 200), "svg", plain))
    drawn = str(render(named("x" * 40_000), "svg", plain))
    assert "x" * 90 + "..." + "x" * 90 in drawn
    assert "x" * 200 not in drawn


@pytest.mark.parametrize("graph", [Graph(), named(), named("w")])
def test_small_graphs_are_pictures_too(graph: Graph) -> None:
    for suffix in ("pdf", "svg", "png"):
        assert len(render(graph, suffix)) > 100


# The same bytes


def test_a_date_among_compressed_objects_is_overwritten_too() -> None:
    def file(date: bytes) -> bytes:
        packed = zlib.compress(b"1 0 << /Producer (cairo 1.18) /CreationDate (D:%s+01'00) >>" % date)
        return b"%%PDF-1.7\n1 0 obj\n<< /Type /ObjStm /Length %d >>\nstream\n%s\nendstream\n" % (len(packed), packed)

    dated = without_date(file(b"20261121013308"))
    assert len(dated) == len(file(b"20261121013308"))
    inside = re.search(rb"stream\n(.*)\nendstream", dated, re.DOTALL)
    assert inside is not None
    assert b"(D:20000101000000+01'00)" in zlib.decompressobj().decompress(inside[1])


def test_a_pdf_to_which_a_reader_added_notes_is_the_reader_s() -> None:
    drawn = as_bytes(render(article(), "pdf"))
    assert has_mark(drawn)
    assert drawn.rstrip().endswith(b"%%EOF")
    assert not has_mark(drawn + b"9 0 obj << >> endobj\nxref\ntrailer << >>\nstartxref\n1234\n%%EOF\n")


def test_a_png_is_intact_with_its_mark() -> None:
    drawn, place = as_bytes(render(article(), "png")), 8
    kinds = []
    while place < len(drawn):
        length, kind = int.from_bytes(drawn[place : place + 4], "big"), drawn[place + 4 : place + 8]
        body = drawn[place + 4 : place + 8 + length]
        assert zlib.crc32(body) == int.from_bytes(drawn[place + 8 + length : place + 12 + length], "big")
        kinds.append(kind)
        place += 12 + length
    assert kinds[-2:] == [b"tEXt", b"IEND"]


# Engines


def nothing_here() -> None:
    raise NoEngineError("no wheel fits", hint="pip install pygraphviz")


def test_each_way_out_stands_on_a_line_that_can_be_read_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(using: str) -> tuple[str, list[str]]:
        with pytest.raises(NoEngineError) as caught:
            draw("digraph {}", "svg", using=using)
        reason = caught.value.what.partition(": ")[2]
        return reason, [line.partition(" (")[0] for line in str(caught.value.hint).split("\n")]

    monkeypatch.setenv("PATH", "/nowhere")
    assert draw("digraph {}", "svg", using="embedded")
    monkeypatch.setattr(embedded, "_load", nothing_here)
    last = "SVG, PDF, DOT, JSON and the tree of a graph need no Graphviz: graph.svg"
    ways = ["pip install pygraphviz", "or install Graphviz itself", last]
    assert refused("auto") == ("no wheel fits; there is no dot program", ways)
    assert refused("system") == ("there is no dot program", ["install Graphviz itself", last])


FAKE_DOT = """\
#!/bin/sh
cat > "$0.in"
echo "$@" > "$0.arguments"
echo "$FONTCONFIG_FILE" > "$0.fonts"
echo "Warning: something odd" >&2
case "$*" in
  *-Tgif*) echo 'Format: "gif" not recognized. Use one of: svg' >&2; exit 1;;
  *-Tpng*) echo 'Error: <stdin>: syntax error in line 1' >&2; exit 1;;
  *) printf '<?xml version="1.0"?>\\n<svg/>\\n';;
esac
"""


@pytest.fixture
def fake_dot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if os.name == "nt":
        pytest.skip("a shell script takes the place of dot")
    program = tmp_path / "dot"
    program.write_text(FAKE_DOT)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    return program


def test_the_system_s_dot_is_used_on_demand_with_gviz_s_font(fake_dot: Path) -> None:
    with pytest.warns(RenderWarning, match="Graphviz: something odd"):
        drawn = render(article(), "svg", RenderOptions(graphviz="system"))
    assert drawn == '<?xml version="1.0"?>\n<svg/>\n<!-- made by gviz -->\n'
    assert (fake_dot.parent / "dot.in").read_text() == render(article(), "dot")
    assert (fake_dot.parent / "dot.arguments").read_text() == "-Kdot -Tsvg\n"
    assert (fake_dot.parent / "dot.fonts").read_text().strip().endswith("own.conf")
    assert "FONTCONFIG_FILE" not in os.environ


@pytest.mark.filterwarnings("ignore::gviz.layout.RenderWarning")
def test_the_system_s_dot_is_fallen_back_to(fake_dot: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "_load", nothing_here)
    assert "<svg/>" in str(render(article(), "svg"))
    with pytest.raises(RenderError, match="no wheel fits; the system's dot does not make gif"):
        render(article(), "gif")
    with pytest.raises(DrawingError, match="<stdin>: syntax error"):
        render(article(), "png")
    with pytest.raises(RenderError, match="no wheel fits"):
        render(article(), "svg", RenderOptions(graphviz="embedded"))


@pytest.mark.parametrize(
    ("error", "reason", "hint"),
    [
        (
            ImportError("libXrender.so.1: cannot open"),
            "cannot be loaded (libXrender.so.1: cannot open)",
            "libxrender1 libglib2.0-0",
        ),
        (
            ImportError("libcairo.so: failed to map segment"),
            "failed to map segment",
            "give gviz more memory: see ulimit -v",
        ),
        (ModuleNotFoundError("No module named 'pygraphviz'"), "is not installed", "pip install pygraphviz"),
    ],
)
def test_without_pygraphviz_the_message_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, error: Exception, reason: str, hint: str
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr(embedded._State, "module", None)
    monkeypatch.delitem(sys.modules, "pygraphviz._graphviz", raising=False)
    monkeypatch.setattr(embedded, "_load_compiled", fail)
    with pytest.raises(NoEngineError) as caught:
        render(article(), "pdf", RenderOptions(graphviz="embedded"))
    assert reason in str(caught.value)
    if sys.platform == "linux" or "pip" in hint:
        assert hint in str(caught.value.hint)
    assert str(render(article(), "dot")).startswith("digraph")


def test_pygraphviz_can_be_imported_before_and_after() -> None:
    for first, then in (("import pygraphviz", "draw()"), ("draw()", "import pygraphviz")):
        code = f"""
            from graphs import article
            from gviz.render import render
            def draw(): return render(article(), "svg")
            {first}
            {then}
            import pygraphviz
            assert pygraphviz.AGraph("digraph {{ a -> b }}").draw(format="svg", prog="dot")
            draw()
        """
        done = run(code)
        assert done.returncode == 0, done.stderr


# What goes wrong


@pytest.mark.parametrize(
    ("text", "said"),
    [
        *(
            (text, "Graphviz cannot draw this")
            for text in ("digraph {", "digraph { a -> }", "", "no dot", 'digraph { a [label="')
        ),
        ("digraph { a \0 }", "NUL"),
        ("digraph { layout=foo a }", 'Layout type: "foo" not recognized'),
    ],
)
def test_a_text_that_is_not_dot_is_an_error(text: str, said: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(DrawingError, match=said):
        draw(text, "svg")
    assert capfd.readouterr().err == ""


def test_graphviz_s_remarks_become_warnings(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.warns(RenderWarning, match="^Graphviz: node a, port nowhere unrecognized$"):
        draw("digraph { a:nowhere -> b }", "svg")
    assert capfd.readouterr().err == ""


def test_standard_error_may_be_closed() -> None:
    code = """
        import os
        os.close(2)
        from graphs import article
        from gviz.render import render
        assert render(article(), "pdf").startswith(b"%PDF")
        try:
            os.fstat(2)
        except OSError:
            print("still closed")
    """
    assert run(code).stdout == "still closed\n"


def test_drawing_leaves_no_descriptor_and_no_memory_behind() -> None:
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("counts by /proc")
    render(article(), "pdf")

    def memory() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1])

    for _ in range(20):
        render(article(), "pdf")
    open_before, before = len(os.listdir("/proc/self/fd")), memory()
    for _ in range(150):
        render(article(), "pdf")
    assert len(os.listdir("/proc/self/fd")) == open_before
    assert (memory() - before) * 4096 < 150 * 20_000


def test_threads_may_draw_at_once() -> None:
    expected, drawn = render(every_kind(), "pdf"), []
    threads = [threading.Thread(target=lambda: drawn.append(render(every_kind(), "pdf"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert drawn == [expected] * 8
    assert "FONTCONFIG_FILE" not in os.environ


LONG_LAYOUT = """
    import signal
    from gviz.layout.graphviz import draw
    draw("digraph {}", "svg")
    signal.signal(signal.SIGINT, lambda *_: print("too late"))
    edges = "".join(f"a{i} -> a{i * 7919 % 900}; a{i} -> a{i * 104729 % 900};" for i in range(900))
    print("drawing", flush=True)
    draw("digraph {" + edges + LINES + "}", "svg")
"""


def drawing(lines: str) -> subprocess.Popen[str]:
    """A process that has begun a layout of minutes."""
    environment = {**clean_environment(Path("/nonexistent")), "PYTHONPATH": str(ROOT)}
    code = textwrap.dedent(LONG_LAYOUT).replace("LINES", repr(lines))
    process = subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "drawing\n"
    return process


@pytest.mark.skipif(os.name == "nt", reason="signals are different there")
def test_an_interrupt_ends_a_long_layout_at_once() -> None:
    process = drawing("")
    time.sleep(0.3)
    assert process.poll() is None, "the layout should take longer than this"
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=5)
    assert (process.returncode, rest) == (-signal.SIGINT, "")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere the other process ends when it is done")
def test_whoever_kills_gviz_kills_the_process_that_draws() -> None:
    def wait_for(condition: Callable[[], bool], seconds: float = 20) -> None:
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end
            time.sleep(0.01)

    def state() -> str:
        try:
            return Path(f"/proc/{child}/status").read_text(encoding="utf-8")
        except OSError:
            return "gone"

    process = drawing(SMALL_LINES)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    wait_for(lambda: children.read_text(encoding="ascii") != "")
    child = children.read_text(encoding="ascii").strip()
    wait_for(lambda: "Threads:\t2" in state())  # it draws on a thread with a deep stack
    process.kill()
    process.communicate(timeout=20)
    wait_for(lambda: state() == "gone" or "zombie" in state(), 3)  # the layout takes longer


def test_python_s_handler_is_back_after_the_layout() -> None:
    before = signal.getsignal(signal.SIGINT)
    render(article(), "svg")
    assert signal.getsignal(signal.SIGINT) is before


# Large graphs


def plan_of(graph: Graph) -> LayoutPlan:
    return make_plan([node.id for node in graph.nodes], [(edge.source, edge.target) for edge in graph.edges])


def test_a_small_graph_is_laid_out_as_graphviz_does_by_itself() -> None:
    assert plan_of(every_kind()) == ({}, frozenset(), False)


def test_a_loop_of_400_steps_is_drawn_with_every_arrow() -> None:
    start = time.monotonic()
    drawn = str(render(loop(400), "svg", RenderOptions(layout="dot", repeat_leaves="never", fold="off")))
    assert drawn.count('class="node"') == 402
    assert drawn.count('class="edge"') == 800
    assert time.monotonic() - start < 60  # by itself Graphviz takes many minutes


def test_every_node_keeps_its_place_when_long_arrows_are_left_out() -> None:
    graph = loop(2_000)
    plan = plan_of(graph)
    kept = [edge for index, edge in enumerate(graph.edges) if index not in plan.long]
    assert 0 < len(plan.long) < len(graph.edges)
    assert {edge.source for edge in kept} == {edge.source for edge in graph.edges}
    assert plan.is_slow
    assert make_plan(["a", "b"], [("a", "b"), ("b", "a")]).long == frozenset()  # a circle has a plan, too


def test_names_survive_the_second_step_of_a_large_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gviz.layout.plan._MOST_PLACES", 100)
    graph, odd = loop(50), 'W "q" & \\N <b>'
    assert plan_of(graph).long
    nodes = tuple(node._replace(name=odd) if node.id == "w" else node for node in graph.nodes)
    assert f"{odd} = 1" in svg_lines(render(replace(graph, nodes=nodes), "svg"))


def test_a_deep_chain_does_not_overflow_the_stack() -> None:
    with pytest.warns(RenderWarning, match="12001 boxes"):
        assert len(render(chain(12_000), "plain", RenderOptions(layout="dot", fold="off"))) > 100_000


@pytest.mark.skipif(os.name == "nt", reason="shell scripts are programs elsewhere")
@pytest.mark.parametrize(
    ("ending", "said"),
    [
        ("echo out of memory >&2; exit 1", "ran out of memory"),
        ("kill -9 $$", "ran out of memory"),
        ("kill -11 $$", r"broke down on this graph \(signal 11\)"),
        ("exit 1", r"without a picture \(exit status 1\)"),
    ],
)
def test_a_large_graph_on_which_graphviz_breaks_down_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, said: str
) -> None:
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\ncat >/dev/null\n{ending}\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    with pytest.raises(DrawingError, match=said):
        draw(f"digraph {{{SMALL_LINES}}}", "svg", using="embedded")


def test_a_large_graph_is_drawn_here_where_no_other_process_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert draw(f"digraph {{{SMALL_LINES}}}", "plain", using="embedded").startswith(b"graph")


def test_another_process_draws_the_same_and_knows_the_formats(monkeypatch: pytest.MonkeyPatch) -> None:
    here = render(article(), "svg")
    monkeypatch.setattr("gviz.layout.graphviz._LARGE", 0)
    assert render(article(), "svg") == here
    with pytest.raises(NoEngineError, match="does not make foo"):
        draw("digraph {}", "foo", using="embedded")


def test_looking_for_formats_repeats_no_remark_of_graphviz(fake_dot: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert image._can_draw("system", "svg")


# At last, when a second has passed


def test_the_time_of_day_and_the_time_zone_leave_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.sleep(max(1.1 - (time.monotonic() - BEGAN), 0))
    assert {suffix: render(article(), suffix) for suffix in PICTURES} == PICTURES
    assert b"20000101000000" in as_bytes(PICTURES["pdf"])
