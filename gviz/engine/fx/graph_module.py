"""``torch.fx.graph_module``: a module whose ``forward`` is written from a graph."""

from __future__ import annotations

import linecache
import sys
from copy import deepcopy
from typing import Any, Self

from gviz.autograd.tensor import Tensor
from gviz.engine.fx.graph import Graph
from gviz.engine.fx.node import Argument, Node, found
from gviz.engine.nn.module import Module
from gviz.numbers.words import absent, refuse

__all__ = ["GraphModule"]

REMINDER = "# To see more debug info, please use `graph_module.print_readable()`"
PREFIXES = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "int64": "i64", "int32": "i32",
            "bool": "b8"}  # fmt: skip
WRITTEN = [0]
"""How many functions were written so far: each has a file name of its own in tracebacks."""


class GraphModule(Module):
    """A module whose ``forward`` does what a graph says.

    Args:
        root: the module, or the dict by dotted names, that it takes the modules and tensors from which the graph names.
        graph: the graph; ``recompile()`` writes ``forward`` anew after it was changed.
        class_name: what it is called.
    """

    __module__ = "torch.fx.graph_module"

    def __new__(cls, *_: Argument, **__: Argument) -> Self:
        """Make it of a class of its own: ``forward`` is a method of that."""
        base = next(kind for kind in cls.__mro__ if "is_of_one" not in vars(kind))
        own = type("GraphModuleImpl", (base,), {"is_of_one": True, "__module__": cls.__module__})
        own.__qualname__ = "GraphModule.__new__.<locals>.GraphModuleImpl"
        return super().__new__(own)

    def __init__(self, root: Module | dict[str, Any], graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        type(self).__name__ = class_name
        if isinstance(root, Module):
            self.training = root.training
        names = {node.target: None for node in graph.nodes if node.op in ("get_attr", "call_module")}
        for name in sorted(names, key=lambda one: one.count(".")) if isinstance(root, dict) else names:
            refuse(
                isinstance(root, dict) and name not in root,
                f"Node referenced target {name} but that target was not provided in ``root``!",
            )
            put(self, name, root[name] if isinstance(root, dict) else found(root, name))
        self.graph = graph

    @property
    def graph(self) -> Graph:
        """The graph that ``forward`` is written from."""
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        refuse(not isinstance(g, Graph), f"Expected a Graph instance, but got {type(g)}", AssertionError)
        self.__dict__["_graph"] = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The code of ``forward``."""
        return str(self._code)

    def recompile(self) -> Any:
        """Write ``forward`` anew from the graph; return the code."""
        written = self._graph.python_code("self")
        self.__dict__["_code"] = written.src
        name = f"<eval_with_key>.{WRITTEN[0]}"
        WRITTEN[0] += 1
        space = dict(written.globals)
        source = written.src.lstrip("\n")
        exec(compile(source, name, "exec"), space)  # noqa: S102 - the code is written from the graph
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        type(self).forward = space["forward"]  # type: ignore[method-assign]
        return written

    # ------------------------------------------------------------------ modules
    def add_submodule(self, target: str, m: Module) -> bool:
        """Put a module under a dotted name; return whether that could be done."""
        put(self, target, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Remove the module of a dotted name; return whether there was one."""
        path, _, name = target.rpartition(".")
        try:
            parent = self.get_submodule(path)
        except AttributeError:
            return False
        return parent._modules.pop(name, None) is not None

    def delete_all_unused_submodules(self) -> None:
        """Remove the modules that the graph does not name."""
        used = [node.target for node in self.graph.nodes if node.op in ("call_module", "get_attr")]
        kept = {name[:end] for name in used for end in [i for i, c in enumerate(name) if c == "."] + [len(name)]}
        called = [node.target for node in self.graph.nodes if node.op == "call_module"]
        for name, _ in list(self.named_modules()):
            if name and name not in kept and not any(name.startswith(f"{one}.") for one in called):
                self.delete_submodule(name)

    def print_readable(self, print_output: bool = True, **_: Argument) -> str:
        """Print the code as a class, with the sizes that are known; return it."""
        lines = [f"class {self._get_name()}(torch.nn.Module):"]
        lines += [f"    {line}".rstrip() for line in self.code.strip("\n").rstrip().split("\n")]
        first = next((i for i, line in enumerate(lines) if i > 1 and line.strip()), len(lines))
        if any(node.op not in ("placeholder", "output") for node in self.graph.nodes):
            lines.insert(first, "        # No stacktrace found for following nodes")
        for node in self.graph.nodes:
            lines = [with_size(line, node) for line in lines]
        text = "\n".join(lines) + "\n"
        if print_output:
            sys.stdout.write(f"{text}\n")
        return text

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        base: Argument = type(self).__mro__[1]
        copy = base.__new__(base)
        Module.__init__(copy)
        type(copy).__name__ = type(self).__name__
        for name, value in vars(self).items():
            if name not in ("_graph", "_code"):
                copy.__dict__[name] = deepcopy(value, memo)
        copy.graph = deepcopy(self._graph, memo)
        return copy

    def __str__(self) -> str:
        return "\n".join([super().__repr__(), self.code, REMINDER])


def with_size(line: str, node: Node) -> str:
    """Return a line of code with the size of a node's result after its name, if it is known."""
    meta = node.meta.get("tensor_meta")
    if meta is None or not hasattr(meta, "shape"):
        return line
    size = f'"{PREFIXES.get(str(meta.dtype).removeprefix("torch."), "?")}{list(meta.shape)}"'
    if node.op == "placeholder" and line.lstrip().startswith("def forward("):
        head, _, rest = line.partition(f", {node.target}")
        return f"{head}, {node.target}: {size}{rest}"
    if line.strip().startswith(f"{node.name} = "):
        return line.replace(f"{node.name} = ", f"{node.name}: {size} = ", 1)
    return line


def put(module: Module, target: str, value: Argument) -> None:
    """Put a module or a tensor under a dotted name; plain modules are made on the way there."""
    *path, name = target.split(".")
    for part in path:
        if getattr(module, part, None) is None:
            setattr(module, part, Module())
        module = getattr(module, part)
    if isinstance(value, Tensor) and name not in module._parameters and not hasattr(value, "materialize"):
        from gviz.engine.nn.parameter import Parameter

        if not isinstance(value, Parameter):
            module.register_buffer(name, value)
            return
    setattr(module, name, value)


__getattr__ = absent("torch.fx.graph_module")
