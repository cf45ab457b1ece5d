"""The published schema of saved graphs: what gviz writes fits it, and what does not fit it gviz does not read."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import graphs
import pytest
from jsonschema import Draft202012Validator
from program import SAMPLES, Program

import gviz
from gviz import RenderOptions
from gviz.graphs import Graph
from gviz.graphs.schema import graph_schema
from gviz.pictures.parts import drawn_parts

SCHEMA = Draft202012Validator(graph_schema())

SCRIPTS = (
    "five_neurons_3x3",
    "five_neurons_twice",
    "five_neurons_frozen",
    "five_neurons_update",
    "uvte_retain",
    "while_static",
)

WRONG: tuple[object, ...] = ("nan", 7, 1.5, True, None, [], [[1]], {}, {"x": 1})

TYPE_ERRORS = (" not a ", " not true or false", " not a list", "unknown field", "unknown kind", " has no ", ", not ")


def saved() -> Iterator[Graph]:
    """Graphs of many kinds: by hand, of formulas, of the articles' scripts, static ones, folded ones, with differences."""
    yield from (graphs.article(), graphs.every_kind(), graphs.chain(20), graphs.loop(4))
    yield gviz.read("y=(x+w)*(w+1); z=softmax(W@x0).log().sum()", x=2, x0=[1, 2], W=[[1, 2], [3, 4]]).graph
    yield gviz.read("y=(log(x)*w).sum()", x=[0.0, -1.0, 2.0], w=2).with_facts(flow=True, jacobians=True)
    for name in SCRIPTS:
        static = "static" in name
        yield gviz.read(SAMPLES / f"{name}.py", options=gviz.SourceOptions(static=static, lines=not static)).graph
    net = gviz.read(SAMPLES / "models" / "gpt.py", options=gviz.SourceOptions(lines=True, kept=True)).graph
    yield drawn_parts(net, RenderOptions(by="module"))
    yield gviz.diff("y=x*w", "y=x*w+1").graph


@pytest.mark.filterwarnings("ignore::gviz.GvizWarning")  # of nan, and of scripts that end with an error
def test_what_gviz_saves_fits_the_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA.schema)
    for graph in saved():
        data = json.loads(graph.to_json())
        assert not (error := next(SCHEMA.iter_errors(data), None)), f"{graph.title}: {error}"
        assert Graph.from_dict(data) == graph


def places(data: Any) -> Iterator[tuple[Any, Any]]:
    """Each place in JSON, as what holds it and its key there; of long lists the first two items."""
    items = (
        list(data.items()) if isinstance(data, dict) else list(enumerate(data[:2])) if isinstance(data, list) else []
    )
    for key, inner in items:
        yield data, key
        yield from places(inner)


def test_the_schema_and_gviz_refuse_the_same_types() -> None:
    data = json.loads(gviz.read("y=x*w", x=2, w=1).with_facts(flow=True, jacobians=True).to_json())
    for holder, key in list(places(data)):
        right = holder[key]
        for wrong in WRONG:
            holder[key] = wrong
            fits, message = SCHEMA.is_valid(data), ""
            try:
                Graph.from_dict(copy.deepcopy(data))
            except ValueError as error:
                message = str(error)
            assert fits or message, f"{key}: {wrong!r} is read"
            assert not fits or not any(text in message for text in TYPE_ERRORS), f"{key}: {wrong!r}: {message}"
        holder[key] = right


def test_a_saved_graph_becomes_what_render_draws_and_nothing_else_is_converted(gviz: Program) -> None:
    gviz("render", "y=(x+w)*(w+1)", "x=2", "w=1", "-o", "y.json", "-o", "y.svg", "-o", "y.mmd")
    done = gviz("convert", "y.json", "-o", "again.svg", "-o", "again.mmd", "-o", "again.json")
    assert (done.status, done.raw, done.err) == (0, b"", "")
    for suffix in ("svg", "mmd", "json"):
        assert (gviz.folder / f"again.{suffix}").read_bytes() == (gviz.folder / f"y.{suffix}").read_bytes()
    assert json.loads(gviz("convert", "--schema").out) == graph_schema()
    files = tuple(done.files())
    gviz("convert", "y=x*w", "-o", "y.pdf").assert_refused("gviz render draws any other SOURCE", status=2, files=files)
    gviz("convert", "y.json").assert_refused("needs -o FILE", status=2, files=files)
    gviz("convert").assert_refused("needs SOURCE", status=2, files=files)
    gviz("convert", "no.json", "-o", "y.pdf").assert_refused("there is no file no.json", files=files)
