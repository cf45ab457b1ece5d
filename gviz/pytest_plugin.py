"""The fixtures that pytest has where gviz is installed: ``assert_gradients``, and ``graph_snapshot``.

A snapshot is the graph that a test has made, without its numbers, in the folder ``__graphs__`` beside the test.
``pytest --graph-update`` writes it anew.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:  # pytest loads this file in every run
    from gviz.drawing import Nest
    from gviz.walk import ModuleLike, Params

FOLDER = "__graphs__"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that writes snapshots."""
    parser.getgroup("gviz").addoption(
        "--graph-update", action="store_true", help="write the graphs of graph_snapshot anew"
    )


@pytest.fixture(name="assert_gradients")
def gradient_check() -> Callable[..., Any]:
    """Check that each parameter gets a gradient: :func:`gviz.assert_gradients`."""
    from gviz.questions import assert_gradients

    return assert_gradients


@pytest.fixture
def graph_snapshot(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Compare the graph of tensors with that which was saved for this test.

    ``graph_snapshot(loss, model=net)``: the arguments are those of :func:`gviz.graph`; ``name`` is that of the file, if
    a test has several. Where the graph is another one, the test fails with the difference, of which a picture is
    written beside the saved graph.
    """
    own = request.node.nodeid.rpartition("/")[2].replace(".py::", ".").replace("::", ".")  # module, class and test
    names = (f"{own}{f'-{number}' if number > 1 else ''}" for number in range(1, 1_000_000))

    def check(tensors: Nest, params: Params = None, *, name: str = "", model: ModuleLike | None = None) -> None:
        from gviz.drawing import Drawing, graph as graph_of

        __tracebackhide__ = True
        graph = graph_of(tensors, params, values=None, model=model)
        stem = re.sub(r"[^\w.-]+", "_", name or next(names)).strip("_")
        file, picture = (request.path.parent / FOLDER / f"{stem}{suffix}" for suffix in (".json", ".diff.svg"))
        shown = os.path.relpath(file)
        if request.config.getoption("--graph-update"):
            file.parent.mkdir(exist_ok=True)
            file.write_text(graph.to_json(), "utf-8")
            picture.unlink(missing_ok=True)
            return
        if not file.exists():
            pytest.fail(f"there is no {shown} yet: pytest --graph-update writes it", pytrace=False)
        difference = Drawing.from_json(file.read_text("utf-8")).diff(graph)
        if difference:
            difference.save(picture)
            lines = [f"the graph is not that of {shown}", str(difference), f"picture: {os.path.relpath(picture)}"]
            pytest.fail("\n".join([*lines, "if that is meant: pytest --graph-update"]), pytrace=False)

    return check
