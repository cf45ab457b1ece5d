"""gviz draws computational graphs, as automatic differentiation records them.

    >>> import gviz
    >>> reading = gviz.read("y=(x+w)*(w+1)", x=2, w=1)
    >>> [node.label for node in reading.graph.nodes if node.kind == "operation"]
    ['MulBackward0', 'AddBackward0', 'AddBackward0']

``reading.save("y.pdf")`` writes the picture, and a notebook shows it. Tensors of gviz or of the real torch have a graph
too:

    >>> from gviz import engine as torch
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> gviz.graph(x * x, params={"x": x}).title
    'output'

``gviz.why(loss, model)`` says of each parameter why its gradient is what it is, and
``gviz.assert_gradients(loss, model)`` checks them in a test. ``gviz.explain("y=x*w", "w", x=2, w=3)`` derives a
gradient path by path, and explains operations and errors by their names.

``gviz.engine`` reads like PyTorch, ``gviz.static`` like TensorFlow 1. A name is imported when it is first used, so that
``import gviz`` takes no time and loads neither numpy nor Graphviz.
"""

from __future__ import annotations

import sys

_program = "".join(sys.argv[:1]).replace("\\", "/").rpartition("/")[2].removesuffix(".exe")
if _program == "gviz" or (_program == "-m" and sys.orig_argv[1:3] == ["-m", "gviz"]):
    # the command starts: Ctrl-C ends it without a traceback, until gviz.__main__ has its own way
    import _signal  # type: ignore[import-not-found] # signal itself loads for longer

    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)

from gviz.wiring import Wires  # noqa: E402 - the handler comes first

TYPE_CHECKING = False  # known to type checkers by its name: the typing module is most of what importing gviz would cost
if TYPE_CHECKING:
    from gviz import engine, static
    from gviz.cli.notebook import load_ipython_extension, show_graph as show
    from gviz.drawing import (
        Drawing as Graph,
        Reading,
        diff_sources as diff,
        draw_steps as steps,
        graph,
        list_tensors as inspect,
        read,
    )
    from gviz.errors import GvizError, GvizWarning
    from gviz.graphs import Edge, Node, TensorRow
    from gviz.questions import assert_gradients, explain, save, summary, why
    from gviz.render import RenderOptions
    from gviz.render.torchviz import make_dot
    from gviz.sources import SourceOptions
    from gviz.training import watch
    from gviz.walk import TensorLike

__version__ = "1.0.0"

__all__ = [
    "Edge",
    "Graph",
    "GvizError",
    "GvizWarning",
    "Node",
    "Reading",
    "RenderOptions",
    "SourceOptions",
    "TensorRow",
    "__version__",
    "assert_gradients",
    "diff",
    "engine",
    "explain",
    "graph",
    "inspect",
    "load_ipython_extension",
    "make_dot",
    "read",
    "save",
    "show",
    "static",
    "steps",
    "summary",
    "watch",
    "why",
]

_HOMES = {
    "Edge": "gviz.graphs",
    "Graph": "gviz.drawing:Drawing",
    "GvizError": "gviz.errors",
    "GvizWarning": "gviz.errors",
    "Node": "gviz.graphs",
    "Reading": "gviz.drawing",
    "RenderOptions": "gviz.render",
    "SourceOptions": "gviz.sources",
    "TensorRow": "gviz.graphs",
    "assert_gradients": "gviz.questions",
    "diff": "gviz.drawing:diff_sources",
    "engine": "gviz.engine",
    "explain": "gviz.questions",
    "graph": "gviz.drawing",
    "inspect": "gviz.drawing:list_tensors",
    "load_ipython_extension": "gviz.cli.notebook",
    "make_dot": "gviz.render.torchviz",
    "read": "gviz.drawing",
    "save": "gviz.questions",
    "show": "gviz.cli.notebook:show_graph",
    "static": "gviz.static",
    "steps": "gviz.drawing:draw_steps",
    "summary": "gviz.questions",
    "watch": "gviz.training",
    "why": "gviz.questions",
}
"""The module that each public name comes from, and its name there if that is another; or the module that it is."""


def __getattr__(name: str) -> object:
    """Import a public name when it is first used (PEP 562)."""
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module 'gviz' has no attribute {name!r}")
    home, _, own = _HOMES[name].partition(":")
    module = import_module(home)
    value: object = module if home == f"gviz.{name}" else getattr(module, own or name)
    globals()[name] = value
    return value


def _picture(tensor: TensorLike) -> str | None:
    """Return the graph of a tensor as SVG, as notebooks show it; None, for its text, of a leaf and of a large graph."""
    from gviz.drawing import graph

    return None if tensor.is_leaf else graph(tensor)._repr_svg_()


Wires.picture = _picture  # type: ignore[assignment]


def __dir__() -> list[str]:
    """The public names, imported or not."""
    return sorted(__all__)
