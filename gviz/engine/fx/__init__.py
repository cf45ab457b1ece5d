"""``torch.fx``: programs as graphs that can be read and changed.

``symbolic_trace`` runs a module or a function with proxies in place of tensors (``_symbolic_trace.py``, ``proxy.py``),
and notes what it does as a list of nodes (``graph.py``, ``node.py``). A ``GraphModule`` is a module whose ``forward`` is
written from such a graph. This is the forward program, before it runs; the graph that gviz draws is autograd's, which a
run leaves behind.

Source: https://docs.pytorch.org/docs/2.13/fx.html
"""

from __future__ import annotations

from gviz.engine.fx._symbolic_trace import Tracer, symbolic_trace, wrap
from gviz.engine.fx.graph import Graph
from gviz.engine.fx.graph_module import GraphModule
from gviz.engine.fx.interpreter import Interpreter, Transformer
from gviz.engine.fx.node import Node, has_side_effect, map_arg
from gviz.engine.fx.proxy import Proxy
from gviz.engine.fx.subgraph_rewriter import replace_pattern
from gviz.numbers.words import absent

__all__ = [
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Proxy",
    "Tracer",
    "Transformer",
    "has_side_effect",
    "map_arg",
    "replace_pattern",
    "symbolic_trace",
    "wrap",
]

__getattr__ = absent("torch.fx", "passes", "node", "graph", "proxy", "graph_module", "interpreter", "subgraph_rewriter")
