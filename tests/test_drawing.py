"""What is read of a source for somebody who wants to draw it."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import gviz
from gviz import SourceOptions, sources
from gviz.passes.others import OF_OTHERS
from gviz.render import render


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


@pytest.mark.parametrize("engine", ["gviz.engine", pytest.param("torch", marks=pytest.mark.torch)])
def test_a_gradient_of_another_backward_is_told_from_what_this_one_brings(engine: str) -> None:
    torch = import_module(engine)
    t = torch.tensor(2.0, requires_grad=True)
    k = t * t

    def told(view: str, **look: Any) -> list[bool]:
        text = render(gviz.graph(k, {"t": t, "k": k}, view=view), "dot", gviz.RenderOptions(view=view, **look))
        return [OF_OTHERS in text, "= 2 + 2" in text, "grad = 12" in text, "grad = 16" in text]

    assert told("dataflow") == [False] * 4
    (t**3).backward()
    assert told("dataflow") == told("teaching") == told("dataflow", path="t") == [True, False, True, False]
    k.backward(retain_graph=True)
    assert told("dataflow") == told("teaching") == [True, False, False, True]
    t.grad = None
    k.backward(retain_graph=True)
    assert told("dataflow")[:2] == [False, True]


@pytest.mark.parametrize("engine", ["gviz.engine", pytest.param("torch", marks=pytest.mark.torch)])
def test_a_hook_on_tensors_that_are_there_already_is_told_before_backward_has_run(engine: str) -> None:
    torch = import_module(engine)
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    h = w * 3
    root, names = (h**2).sum(), {"w": w, "h": h}
    h.register_hook(lambda grad: grad.clamp(-1, 1))
    graph = gviz.graph(root, names, flow=True)
    handed = [edge.flow.handed.elements for edge in graph.edges if edge.flow.handed is not None]
    assert handed == [(1.0, 1.0), (6.0, 12.0), (3.0, 3.0)]
    text = " ".join(str(gviz.explain(root, params=names)).split())
    assert "what comes to w is [3, 3], for hooks have changed it: at h [6, 12] → [1, 1]: a hook" in text
    assert w.grad is None
    w.register_hook(lambda grad: grad * 0)
    text = " ".join(str(gviz.explain(root, "w", params=names)).split())
    assert "at h [6, 12] → [1, 1]: a hook; then at w [3, 3] → [0, 0]: a hook" in text
    assert "the gradient of w is 0: a hook on w has made it so" in str(gviz.why(root, w))
    root.backward()
    assert torch.equal(w.grad, torch.zeros(2))


def test_the_key_of_a_root_is_its_name_whatever_variable_is_called_so() -> None:
    torch = import_module("gviz.engine")
    w = torch.tensor(3.0, requires_grad=True)
    a = w * 2
    b = w**2
    graph = gviz.graph({"first": a, "a": b})
    values = {node.name: node.value for node in graph.nodes if node.kind == "output" and node.value is not None}
    assert {name: value.elements for name, value in values.items()} == {"first": (6.0,), "a": (9.0,)}


def test_steps_of_tensors_have_letters_and_say_what_has_not_run(tmp_path: Path) -> None:
    torch = import_module("gviz.engine")
    a = torch.tensor(2.0, requires_grad=True)
    c = a**2 + 3 * a

    def said() -> str:
        gviz.steps(c, tmp_path / "c.html", params={"a": a, "c": c})
        return (tmp_path / "c.html").read_text()

    assert "∂c/∂·" not in said()
    assert "backward() has not run, or its gradients were cleared" in said()
    assert "a.grad = 7" in said()
    c.backward()
    with pytest.warns(gviz.GvizWarning, match=r"not all steps of backward are there: backward has freed the graph"):
        assert "Not all of it is followed: backward has freed the graph" in said()
