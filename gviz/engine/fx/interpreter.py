"""``torch.fx.interpreter``: run a graph node by node, or write it anew node by node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gviz.engine.fx.graph import Graph, last_uses
from gviz.engine.fx.graph_module import GraphModule
from gviz.engine.fx.node import Argument, Node, Target, found, map_aggregate, map_arg
from gviz.engine.fx.proxy import GraphAppendingTracer, Proxy
from gviz.numbers.words import absent, refuse

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs a graph node by node: a subclass may do something else for each kind of node."""

    __module__ = "torch.fx.interpreter"

    def __init__(self, module: Argument, garbage_collect_values: bool = True, graph: Graph | None = None) -> None:
        self.module, self.graph = module, graph if graph is not None else module.graph
        self.submodules = dict(module.named_modules())
        self.garbage_collect_values = garbage_collect_values
        self.env: dict[Node, Any] = {}
        self.args_iter: Iterator[Any] = iter(())

    def run(
        self, *args: Argument, initial_env: dict[Node, Any] | None = None, enable_io_processing: bool = True
    ) -> Any:
        """Return what the graph returns for these inputs."""
        self.env, self.args_iter = dict(initial_env or {}), iter(args)
        deaths = last_uses(self.graph) if self.garbage_collect_values else {}
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                message = (
                    f"While executing {node.format_node()}\nOriginal traceback:\n{node.stack_trace}\n"
                    "Use tlparse to see full graph. "
                    "(https://github.com/pytorch/tlparse?tab=readme-ov-file#tlparse-parse-structured-pt2-logs)"
                )
                error.args = (f"{error.args[0]}\n\n{message}" if error.args else message, *error.args[1:])
                raise
            for one in deaths.get(node, ()):
                self.env.pop(one, None)
            if node.op == "output":
                return self.env[node]
        return None

    def run_node(self, n: Node) -> Any:
        """Return the result of one node."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        return getattr(self, n.op)(n.target, args, kwargs)

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments of a node, with results in place of nodes."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args: Argument, n: Node) -> Any:
        """Return nested arguments with results in place of nodes. RuntimeError: there is none so far."""

        def value(one: Node) -> Any:
            refuse(
                one not in self.env,
                f"Node {n} referenced nonexistent value {one}! Run Graph.lint() to diagnose such issues",
            )
            return self.env[one]

        return map_arg(args, value)

    def fetch_attr(self, target: str) -> Any:
        """Return what the module has under a dotted name."""
        return found(self.module, target, "Node referenced nonexistent target {path}", RuntimeError)

    def placeholder(self, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the next input, or its default."""
        if target.startswith("*"):
            return list(self.args_iter)
        for value in self.args_iter:
            return value
        if args:
            return args[0]
        raise RuntimeError(f"Expected positional argument for parameter {target}, but one was not passed in!")

    def get_attr(self, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return a parameter, a buffer or another attribute of the module."""
        return self.fetch_attr(target)

    def call_function(self, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return what a function returns."""
        return target(*args, **kwargs)

    def call_method(self, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return what a method of the first argument returns."""
        return getattr(args[0], target)(*args[1:], **kwargs)

    def call_module(self, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return what a module of the owner returns."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return what is returned."""
        return args[0]


class TransformerTracer(GraphAppendingTracer):
    """Adds to the new graph of a Transformer."""

    def is_leaf_module(self, _: Argument, __: str) -> bool:
        """Every module stays one node."""
        return True


def proxied(kind: str) -> Any:
    """Return a method that adds a node of that kind to the new graph, and returns a proxy for its result."""
    return lambda self, target, args, kwargs: self.tracer.create_proxy(kind, target, args, kwargs)


class Transformer(Interpreter):
    """Writes a graph anew, node by node: a subclass may write something else for each kind of node."""

    __module__ = "torch.fx.interpreter"

    def __init__(self, module: Argument) -> None:
        super().__init__(module)
        self.new_graph = Graph()
        self.tracer = TransformerTracer(self.new_graph)

    def placeholder(self, target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return a proxy for a new input."""
        return Proxy(self.new_graph.placeholder(target, default_value=next(iter(args), ...)), self.tracer)

    get_attr, call_module, call_function = map(proxied, ("get_attr", "call_module", "call_function"))

    def transform(self) -> GraphModule:
        """Return a module of the new graph."""
        result = self.run(enable_io_processing=False)
        if result is not None:
            self.new_graph.output(map_aggregate(result, lambda one: one.node if isinstance(one, Proxy) else one))
        return GraphModule(self.module, self.new_graph)


__getattr__ = absent("torch.fx.interpreter")
