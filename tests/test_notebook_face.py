"""Python's face as a notebook has it: errors without frames, notes, variables as names, views, tables and steps."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import pytest

import gviz
from gviz import engine
from gviz.causes.diagnosis import Cause

Y = "y=(x+w)*(w+1)"


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The variables of a notebook."""
    space: dict[str, Any] = {}
    shell = types.SimpleNamespace(user_ns=space, user_ns_hidden={"In": [], "Out": {}, "_1": 1})
    module: Any = types.ModuleType("IPython")
    module.get_ipython = lambda: shell
    monkeypatch.setitem(sys.modules, "IPython", module)
    return space


def leaf(value: float) -> Any:
    return engine.tensor(value, requires_grad=True)


def test_an_error_in_a_notebook_is_its_message_without_frames() -> None:
    with pytest.raises(gviz.GvizError) as caught:
        gviz.read("y=foo(x)+w")
    shown = "\n".join(caught.value._render_traceback_())
    assert shown == f"SourceError: {caught.value}"
    assert "  y=foo(x)+w\n    ^^^" in shown
    assert "File" not in shown


def test_the_notes_of_a_reading_are_shown_below_its_picture() -> None:
    shown = gviz.read(Y, x=2)._repr_html_()
    assert shown.startswith('<img alt="&lt;Reading y: ')
    assert "<pre>w not given: 1.0 used</pre>" in shown
    assert "&lt;Reading y: " in gviz.read("y=x" + "*x" * 400, x=1)._repr_html_()


def test_variables_of_a_notebook_are_names(notebook: dict[str, Any]) -> None:
    x, w, other = leaf(2.0), leaf(3.0), leaf(4.0)
    h = x * w
    loss = h * h
    notebook.update(x=x, parts=[w], h=h, loss=loss, other=other, _1=loss, In=[], Out={1: h}, number=3)
    graph = gviz.graph(loss)
    assert graph.title == "loss"
    assert {node.name for node in graph.nodes if node.kind == "leaf"} == {"x", "parts[0]"}
    assert {row.name for row in graph.tensors} == {"x", "parts[0]", "h", "loss"}
    assert gviz.graph(loss, {"weight": w, "root": loss}).title == "root"
    assert {node.name for node in gviz.graph(loss, {"weight": w}).nodes if node.kind == "leaf"} == {"x", "weight"}
    assert "loss" in str(loss._repr_svg_())


def test_variables_of_the_function_that_asks_are_names() -> None:
    x = leaf(2.0)
    y = x * x
    graph = gviz.graph(y)
    assert (graph.title, [node.name for node in graph.nodes if node.kind == "leaf"]) == ("y", ["x"])
    assert gviz.graph(x * 3, {"weight": x}).title == "output"


def test_a_picture_has_the_numbers_that_its_view_shows(tmp_path: Path) -> None:
    reading = gviz.read(Y, x=2, w=1)
    flowing = gviz.read(Y, gviz.SourceOptions(flow=True), x=2, w=1)
    for view in ("dataflow", "teaching", "micrograd", "autograd"):
        reading.save(tmp_path / "a.svg", view=view)
        flowing.save(tmp_path / "b.svg", gviz.RenderOptions(view=view))
        assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    reading.save(tmp_path / "a.svg", gviz.RenderOptions(path=("w",)), theme="dark")
    assert "w.grad" in (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert reading.graph == gviz.read(Y, x=2, w=1).graph
    with pytest.raises(TypeError, match="colour"):
        reading.save(tmp_path / "a.svg", colour="red")


def test_a_script_is_read_with_what_views_show_and_runs_once(tmp_path: Path) -> None:
    script = tmp_path / "net.py"
    script.write_text(
        f"import torch\nopen({str(tmp_path / 'runs')!r}, 'a').write('1')\n"
        "w = torch.tensor(3.0, requires_grad=True)\nd = (w * 2).detach()\ny = w * w\ny.backward()\n"
    )
    reading = gviz.read(script)
    reading.save(tmp_path / "y.txt", view="dataflow")
    reading.save(tmp_path / "y.svg", view="dataflow")
    assert "6" in (tmp_path / "y.svg").read_text(encoding="utf-8")
    assert reading.why("w").verdict == "ok"
    assert reading.why("d").lines[0][0].line == 4
    assert (tmp_path / "runs").read_text() == "1"
    plain = gviz.read(script, gviz.SourceOptions(roots=("y",)))
    with pytest.raises(gviz.GvizError, match=r"was not noted when .*net\.py ran") as caught:
        plain.save(tmp_path / "y.svg", view="dataflow")
    assert "gviz.SourceOptions(flow=True, ...)" in str(caught.value)


def test_the_graph_of_tensors_is_drawn_in_a_view(tmp_path: Path) -> None:
    x, w = leaf(2.0), leaf(3.0)
    drawing = gviz.graph(x * w, {"x": x, "w": w}, view="dataflow")
    assert drawing.save(tmp_path / "a.svg") == str(tmp_path / "a.svg")
    other = gviz.graph(x * w, {"x": x, "w": w}, flow=True)
    other.save(tmp_path / "b.svg", view="dataflow")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert drawing == other
    assert str(drawing._repr_svg_()).count("ellipse") == str((tmp_path / "a.svg").read_text()).count("ellipse") > 0
    with pytest.raises(gviz.GvizError, match="did you mean dataflow"):
        gviz.graph(x * w, view="dataflo")


def test_a_reading_says_why_and_draws_its_steps(tmp_path: Path) -> None:
    reading = gviz.read("y=(x*w).sum()", gviz.SourceOptions(frozen=("x",)), x=[1, 2], w=[3, 4])
    cause = reading.why("x")
    assert isinstance(cause, Cause)
    assert cause.verdict == "frozen"
    with pytest.raises(gviz.GvizError, match="there is no tensor q"):
        reading.why("q")
    assert reading.steps(tmp_path / "y.html") == [str(tmp_path / "y.html")]
    images: Any = reading.steps(tmp_path / "y.svg", every="line", theme="dark")
    assert images[0] == str(tmp_path / "y-01.svg")
    player: Any = reading.steps()
    assert player._repr_html_().startswith('<iframe sandbox="allow-scripts allow-downloads"')


def test_inspect_is_a_table_of_html_and_of_text() -> None:
    table = gviz.inspect("y=(x<w)*x", x=2, w=1)
    shown = table._repr_html_()
    assert shown.startswith("<table><thead><tr><th>name</th><th>is_leaf</th>")
    assert "x &lt; w" in shown
    assert shown.count("<tr>") == len(table.rows) + 1
    assert str(table).splitlines()[0].split()[:3] == ["name", "is_leaf", "requires_grad"]
    again = gviz.inspect(gviz.read(Y, gviz.SourceOptions(lines=True), x=2, w=1))
    assert str(again) == str(gviz.inspect(Y, x=2, w=1))


def test_the_path_of_a_picture_is_an_option_as_any_other(tmp_path: Path) -> None:
    gviz.read("y=log(x)*2", x=2).save(tmp_path / "p.dot", path="x")
    assert "∂y/∂x" in (tmp_path / "p.dot").read_text(encoding="utf-8")


def test_inspect_lists_the_tensors_of_a_graph_and_of_a_tensor() -> None:
    w = leaf(3.0)
    y = w * w
    y.backward()
    table = gviz.inspect(y, params={"w": w})
    assert [row.name for row in table.rows] == ["w", "y"]
    assert table.columns()["grad"] == ["6", "None"]
    assert str(table) == str(gviz.inspect(gviz.graph(y, {"w": w}))) == str(gviz.inspect({"y": y}, params={"w": w}))


def test_a_tensor_is_no_source_and_what_draws_it_is_named() -> None:
    with pytest.raises(TypeError, match=r"of type Tensor: gviz.graph\(tensor\)"):
        gviz.read(engine.ones(2))


@pytest.mark.parametrize("view", ["torchviz", "dataflow", "teaching"])
def test_a_graph_of_a_leaf_without_a_name_that_was_written_since_says_so(view: str, tmp_path: Path) -> None:
    w = leaf(3.0)
    loss = (w * 2 - 1) ** 2
    loss.backward()
    with engine.no_grad():
        w -= 0.01 * w.grad
    gviz.graph(loss, view=view).save(tmp_path / "l.dot")
    text = (tmp_path / "l.dot").read_text(encoding="utf-8")
    assert "its numbers are those of now" in text
    assert "None.grad" not in text


def test_a_notebook_that_takes_both_formats_of_a_picture_warns_once() -> None:
    w = leaf(3.0)
    loss = (w * w) ** 2
    loss.backward()
    shown = gviz.show(loss, view="circuit")
    with pytest.warns(gviz.GvizWarning, match="backward has freed the graph") as caught:
        kinds = shown._repr_mimebundle_().keys()
    assert (len(caught), {"image/svg+xml", "image/png"} <= kinds) == (1, True)
