"""Saved graphs that somebody has made to harm: a picture in which everything is escaped, or a sentence; never another error."""

from __future__ import annotations

import copy
import json
import warnings
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from fuzzing import guarded, relaxed
from graphs import article, chain, every_kind, node, numbers
from hypothesis import given, strategies as st
from program import SAMPLES
from scripts import Folder

from gviz.errors import GvizError, RenderError, SourceError
from gviz.graphs import Edge, Flow, Graph, Node, Recorded
from gviz.pictures.options import VIEWS
from gviz.render import RenderOptions, render
from gviz.sources.saved import load_graph

pytestmark = pytest.mark.fuzz


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


TEXTS = ("dot", "txt", "json")

NAMES = (
    "<script>alert(1)</script>",
    '"];node [URL="javascript:alert(1)"];"',
    "<TABLE><TR><TD>",
    "</TD></TR></TABLE>>",
    "&lt;&#0;&amp;&nosuch;",
    "]]><!--",
    "\\N\\G\\E\\T\\l\\",
    'a" -> "b',
    "{a|b|<c>}",
    "n0:n1",
    "\x00\x01\x07\x1b[2J\x7f\x9b",
    "\ud800",
    "\u202edcba\u2028\u2029\u200b\ufeff",
    "a\nb\r\tc",
    "",
    " ",
    "é数🙂" * 3,
    "long" * 5_000,
    "%s%n{0.__class__}{{}}",
    "javascript:alert(1)",
)

VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 2**31, 10**40, 10**400, 1e308, 1e999, float("nan"), float("-inf"), "nan", "inf", "", "x", "n0",
    "n1", [], [[]], [1, [2]], [[1, 2], [3]], ["nan"], [None], {}, {"a": 1}, [["a", "b"]], [["a", 1]], [-1], [2**70],
    [10**9, 10**9], "a\0b", "\ud800",
)  # fmt: skip


def drawn(text: str) -> None:
    """Load a graph and draw it in every view and format of text, or be refused in words."""
    with warnings.catch_warnings(), guarded():
        warnings.simplefilter("ignore")
        try:
            graph = load_graph(text, "g.json")
        except GvizError as error:
            assert str(error)  # noqa: PT017 - or there is a graph; the command line shows control characters as codes
            return
        for view in VIEWS:
            for suffix in TEXTS if view == "torchviz" else ("dot",):
                try:
                    assert render(graph, suffix, RenderOptions(view=view))
                except GvizError as error:
                    assert str(error)  # noqa: PT017 - either answer is right


def paths(record: Any, before: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to each part of a record."""
    items = record.items() if isinstance(record, dict) else enumerate(record) if isinstance(record, list) else ()
    return [before, *(path for key, part in items for path in paths(part, (*before, key)))]


RECORDS = [json.loads(graph.to_json()) for graph in (article(), every_kind())]
PATHS = [paths(record) for record in RECORDS]


@st.composite
def spoilt(take: st.DrawFn) -> str:
    """A good graph with some of its parts replaced, removed, doubled or moved."""
    which = take(st.integers(0, len(RECORDS) - 1))
    record = copy.deepcopy(RECORDS[which])
    for _ in range(take(st.integers(1, 4))):
        path = take(st.sampled_from(PATHS[which]))
        place = record
        try:
            for key in path[:-1]:
                place = place[key]
            if not path or take(st.integers(0, 5)) == 0:
                del place[path[-1] if path else "nodes"]
            elif take(st.integers(0, 5)) == 0:
                place[path[-1]] = [place[path[-1]]] * 2
            else:
                place[path[-1]] = take(st.sampled_from(VALUES) | st.sampled_from(NAMES))
        except (KeyError, IndexError, TypeError, AttributeError):
            continue  # an earlier change has taken that part away
    return json.dumps(record)


@relaxed(300)
@given(spoilt())
def test_a_graph_with_spoilt_parts_is_drawn_or_refused(text: str) -> None:
    drawn(text)


def named_everywhere(name: str) -> Graph:
    """A graph in which every text that may be any has this one."""
    tensor = node(
        "n0", "output", label=name, name=name, shape=(2,), dtype=name, value=(name, 1.0), grad=(name, name), state=name
    )
    made = node(
        "n1",
        "operation",
        label=name or "MulBackward0",  # an operation has one
        name=name,
        slots=2,
        attrs=((name, name),),
        scope=name,
        expression=name,
        outputs=(name, name),
    )
    leaf = node("n2", "leaf", label=name, name=name, shape=(), dtype=name, value=name, grad=name, state=name)
    edges = (
        Edge("n1", "n0", label=name, flow=Flow(name)),
        Edge("n2", "n1", label=name, flow=Flow(name, numbers(name), numbers(name))),
    )
    return Graph((tensor, made, leaf), edges, ("n0",), title=name)


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_a_hostile_name_is_text_in_the_picture(name: str) -> None:
    graph = load_graph(json.dumps(named_everywhere(name).as_dict()), "g.json")
    for view in VIEWS:
        everything = ("value", "grad", "shape", "dtype", "state", "attrs") if view == "torchviz" else ()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Graphviz has a word on empty labels
                svg = render(
                    graph, "svg", RenderOptions(view=view, show=everything) if everything else RenderOptions(view=view)
                )
        except RenderError:  # Graphviz takes no label of more than 16,384 characters
            assert len(name) > 10_000
            continue
        elements = list(ET.fromstring(svg).iter())  # noqa: S314 - it is what gviz wrote, and it has to be XML
        assert {element.tag.rpartition("}")[2] for element in elements} <= {
            "svg", "g", "title", "desc", "style", "polygon", "polyline", "ellipse", "path", "text", "tspan", "a", "defs",
            "rect", "line", "linearGradient", "stop", "clipPath", "metadata",
        }  # fmt: skip
        words = [(key, value) for element in elements for key, value in element.attrib.items()]
        assert not [key for key, value in words if key.startswith("on") or "javascript:" in value]
        texts = "".join(element.text or "" for element in elements)
        assert all(character.isprintable() or character in "\n\t\xa0\u200b" for character in texts)
    for suffix in TEXTS:
        assert render(graph, suffix)


@pytest.mark.parametrize("pairs", [[("n1", "n1")], [("n1", "n2"), ("n2", "n1")], [("n0", "n1"), ("n1", "n0")]], ids=str)
def test_a_graph_that_goes_round_in_a_circle_is_refused(pairs: list[tuple[str, str]]) -> None:
    nodes = [Node("n0", "output", name="y"), *(node(f"n{i}", "operation", "MulBackward0", slots=2) for i in (1, 2))]
    edges = [Edge("n1", "n0"), Edge("n2", "n1"), *(Edge(*pair, slot=1) for pair in pairs)]
    with pytest.raises(SourceError, match="round in a circle"), guarded():
        load_graph(Graph(tuple(nodes), tuple(edges), ("n0",)).to_json(), "g.json")


def test_the_loop_of_a_static_graph_is_drawn(folder: Folder) -> None:
    looped = folder.run((SAMPLES / "while_static.py").read_text(encoding="utf-8")).graph
    graph = load_graph(looped.to_json(), "g.json")
    for view in VIEWS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert render(graph, "dot", RenderOptions(view=view))


def test_an_input_that_an_operation_does_not_have_is_refused() -> None:
    record = json.loads(article().to_json())
    record["edges"][0]["slot"] = 2
    with pytest.raises(SourceError, match="edge n2 -> n1: there is no input 2"):
        load_graph(json.dumps(record), "g.json")


@pytest.mark.parametrize("slots", [2**31, 10**40, 10**4000])
def test_an_operation_with_more_inputs_than_anybody_draws_is_refused(slots: int) -> None:
    record = json.loads(article().to_json())
    record["nodes"][1]["recorded"]["slots"] = slots
    with pytest.raises(SourceError, match="inputs; 100,000 are drawn"), guarded():
        load_graph(json.dumps(record), "g.json")


def test_a_key_that_is_there_twice_counts_once() -> None:
    text = chain(2).to_json()
    twice = text.replace('"format"', '"nodes": [{"id": 5}], "format"', 1)
    drawn(twice)
    assert load_graph(twice, "g.json") == load_graph(text, "g.json")


@pytest.mark.parametrize("key", ["nodes", "edges", "tensors"])
@pytest.mark.parametrize("depth", [900, 100_000])
def test_json_that_is_nested_too_deeply_is_refused(depth: int, key: str) -> None:
    for opening, closing in (("[", "]"), ('{"a":', "}")):
        nested = opening * depth + "1" + closing * depth
        with pytest.raises(GvizError), guarded():
            load_graph(f'{{"format": "gviz-graph", "version": 2, "{key}": {nested}}}', "g.json")


@pytest.mark.parametrize("number", ["1" * 5_000, "-" + "9" * 100_000, "1e999999", "0." + "0" * 5_000 + "1"])
def test_numbers_of_thousands_of_digits_are_drawn_or_refused(number: str) -> None:
    for facet, field in (("numbers", "elements"), ("numbers", "shape"), ("recorded", "slots")):
        record = json.loads(article().to_json())
        record["nodes"][3].setdefault(facet, {})[field] = "HERE"
        drawn(json.dumps(record).replace('"HERE"', number))
        drawn(json.dumps(record).replace('"HERE"', f"[{number}]"))


def test_a_hundred_thousand_nodes_become_text() -> None:
    deep, count = chain(50_000), 50_000
    wide = tuple(Node(f"w{i}", "leaf", name=f"x{i}") for i in range(count))
    first, top, *others = deep.nodes
    graph = Graph(
        (first, top._replace(recorded=Recorded(count)), *others, *wide),
        (*deep.edges, *(Edge(f"w{i}", "n0", i) for i in range(count))),
        deep.roots,
    )
    with guarded():
        text = render(load_graph(graph.to_json(), "g.json"), "dot")
    assert len(text) > count


def test_a_saved_graph_without_roots_or_of_another_version_is_refused() -> None:
    record = json.loads(article().to_json())
    for changes in (
        {"version": 10**9},
        {"version": "1"},
        {"version": None},
        {"roots": ["n0"] * 3 + ["nosuch"]},
        {"format": ["gviz-graph"]},
    ):
        with pytest.raises(SourceError):
            load_graph(json.dumps(record | changes), "g.json")
