"""``torch.fx.graph``: a program as a list of nodes, and the Python code of it."""

from __future__ import annotations

import builtins
import keyword
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import attrgetter
from typing import Any, NamedTuple

from gviz.engine.fx.node import Argument, Node, Target, found, map_arg, qualified_name, type_text
from gviz.engine.nn.options import method
from gviz.numbers.words import absent, refuse

__all__ = ["Graph", "PythonCode", "map_arg"]

SIGNS = {
    "add": "+", "sub": "-", "mul": "*", "floordiv": "//", "truediv": "/", "mod": "%", "pow": "**", "lshift": "<<",
    "rshift": ">>", "and_": "&", "or_": "|", "xor": "^", "matmul": "@", "eq": "==", "ne": "!=", "lt": "<", "gt": ">",
    "le": "<=", "ge": ">=",
}  # fmt: skip
FORMS = {name: f"{{}} {sign} {{}}" for name, sign in SIGNS.items()} | {
    "neg": "-{}", "pos": "+{}", "invert": "~{}", "getitem": "{}[{}]",
}  # fmt: skip
"""How the code writes calls of Python's module ``operator``."""
IN_PLACE = {
    f"i{name.rstrip('_')}": f"{sign}="
    for name, sign in SIGNS.items()
    if name not in ("eq", "ne", "lt", "gt", "le", "ge")
}
NAMES_OF_CODE = {"inf", "nan", "NoneType", "torch", "device", "fx_pytree", "pytree"}
"""What the code of a graph has as globals: no node is called so."""


WRAPPED: list[Any] = []
"""The functions that ``wrap`` has made nodes of their own."""


class PythonCode(NamedTuple):
    """The code of a graph and the globals that it needs."""

    src: str
    globals: dict[str, Any]


class Nodes:
    """The nodes of a graph in their order: one may change the graph while one goes through them."""

    def __init__(self, graph: Graph, backward: bool = False) -> None:
        self.graph, self.backward = graph, backward

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[Node]:
        root = self.graph._root
        node = root._prev if self.backward else root._next
        while node is not root:
            if not node._erased:
                yield node
            node = node._prev if self.backward else node._next

    def __reversed__(self) -> Nodes:
        return Nodes(self.graph, not self.backward)


class Graph:
    """A program as a list of nodes: ``placeholder`` for inputs, calls, ``output``.

    Nodes are added at the end, or where ``inserting_before`` and ``inserting_after`` say.
    """

    __module__ = "torch.fx.graph"

    def __init__(
        self, owning_module: Argument = None, tracer_cls: Argument = None, tracer_extras: Argument = None
    ) -> None:
        self._names, self._counts = set[str](), dict[str, int]()
        self._root = Node(self, "", "root", "", (), {})
        self._before = self._root  # new nodes stand before this one
        self.owning_module, self._tracer_cls = owning_module, tracer_cls

    @property
    def nodes(self) -> Nodes:
        """All nodes in their order."""
        return Nodes(self)

    # ------------------------------------------------------------------ making nodes
    def create_node(
        self,
        op: str,
        target: Target,
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        name: str | None = None,
        type_expr: Argument = None,
    ) -> Node:
        """Add a node of any kind."""
        node = Node(self, self.new_name(name or name_for(target)), op, target, args or (), kwargs or {}, type_expr)
        self._before.prepend(node)
        return node

    def new_name(self, candidate: str) -> str:
        """Return a name that no node has so far, like the one that is wished."""
        candidate = re.sub(r"[^0-9a-zA-Z_]+", "_", candidate) or "_unnamed"
        candidate = f"_{candidate}" if candidate[0].isdigit() else candidate
        match = re.match(r"(.*)_(\d+)$", candidate)
        base, number = (match[1], int(match[2])) if match else (candidate, 0)
        name, number = f"{base}_{number}" if match else base, number or self._counts.get(base, 0)
        while name in self._names or is_taken(name):
            number += 1
            name = f"{base}_{number}"
        self._names.add(name)
        self._counts[base] = number
        return name

    def placeholder(self, name: str, type_expr: Argument = None, default_value: Argument = builtins.Ellipsis) -> Node:
        """Add an input."""
        args = () if default_value is ... else (default_value,)
        return self.create_node("placeholder", name, args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Argument = None) -> Node:
        """Add a node for a parameter, a buffer or another attribute of the module."""
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def output(self, result: Argument, type_expr: Argument = None) -> Node:
        """Add what is returned."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Any] = lambda node: node) -> Node:
        """Add a copy of a node of any graph; ``arg_transform`` gives the nodes here for those there."""
        args, kwargs = map_arg((node.args, node.kwargs), arg_transform)
        copy = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        copy.meta = dict(node.meta)
        return copy

    def graph_copy(self, g: Graph, val_map: dict[Node, Any], return_output_node: bool = False) -> Any:
        """Add all nodes of another graph but its output; return what that returns. ``val_map`` gets the new nodes."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], val_map.__getitem__)
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, val_map.__getitem__)
        return None

    # ------------------------------------------------------------------ changing
    @contextmanager
    def _at(self, node: Node) -> Iterator[None]:
        before, self._before = self._before, node
        try:
            yield
        finally:
            self._before = before

    def inserting_before(self, n: Node | None = None) -> Any:
        """Add nodes before this one, in a ``with`` block; at the beginning if there is none."""
        return self._at(self._root._next if n is None else self._own(n))

    def inserting_after(self, n: Node | None = None) -> Any:
        """Add nodes after this one, in a ``with`` block; at the end if there is none."""
        return self._at(self._root if n is None else self._own(n)._next)

    def _own(self, node: Node) -> Node:
        refuse(node.graph is not self, "Node to insert before is not in graph.", AssertionError)
        return node

    def erase_node(self, to_erase: Node) -> None:
        """Remove a node. RuntimeError: another one still uses it."""
        refuse(
            to_erase.users,
            f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: "
            f"{to_erase.users}!",
        )
        refuse(to_erase.graph is not self, f"Attempting to remove {to_erase} from wrong graph!")
        if not to_erase._erased:
            to_erase._unlink()
            to_erase._erased = True
            to_erase._set((), {})

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Remove calls whose results nobody uses; return whether there were any."""
        is_impure, changed = is_impure_node or Node.is_impure, False
        for node in reversed(self.nodes):
            if not node.users and not is_impure(node):
                self.erase_node(node)
                changed = True
        return changed

    def find_nodes(self, *, op: str, target: Target = None, sort: bool = True) -> list[Node]:
        """Return the nodes of a kind, and of a target if one is given."""
        return [node for node in self.nodes if node.op == op and (target is None or node.target == target)]

    def output_node(self) -> Node:
        """Return the node that says what is returned."""
        return next(node for node in reversed(self.nodes) if node.op == "output")

    def lint(self) -> None:
        """Check that arguments come before their users, are of this graph, and that modules and attributes exist."""
        seen: set[Node] = set()
        for node in self.nodes:
            for one in node.all_input_nodes:
                refuse(
                    one.graph is not self,
                    f"Argument '{one}' of Node '{node}' does not belong to this Graph, but was used as an argument! If "
                    "you are copying nodes from another graph, make sure to use ``arg_transform`` on node_copy() to "
                    f"remap values\n{self}",
                )
                refuse(
                    one not in seen,
                    f"Argument '{one}' of Node '{node}' was used before it has been defined! Please check that Nodes in "
                    f"the graph are topologically ordered\n{self}",
                )
            seen.add(node)
            if self.owning_module is not None and node.op in ("call_module", "get_attr"):
                words = f"Node {node} target {node.target} references nonexistent attribute {{part}}"
                found(self.owning_module, node.target, words, RuntimeError)

    # ------------------------------------------------------------------ text
    def __str__(self) -> str:
        return "graph():" + "".join(f"\n    {node.format_node()}" for node in self.nodes)

    def print_tabular(self) -> None:
        """Print the nodes as a table."""
        head = ["opcode", "name", "target", "args", "kwargs"]
        rows = [[str(one) for one in (n.op, n.name, n.target, n.args, n.kwargs)] for n in self.nodes]
        widths = [max(len(title) + 2, *map(len, column)) for title, *column in zip(head, *rows, strict=True)]
        for row in (head, ["-" * width for width in widths], *rows):
            line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            sys.stdout.write(f"{line.rstrip()}\n")

    def python_code(self, root_module: str, **_: Argument) -> PythonCode:
        """Return the code of a function ``forward`` that does what the graph says; the module is called so in it."""
        return Code(self, root_module).python_code()

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Graph:
        copy, nodes = Graph(tracer_cls=self._tracer_cls), dict[Node, Any]()
        result = copy.graph_copy(self, nodes, return_output_node=True)
        if result is not None:
            value, old = result
            copy.output(value, old.type).meta = dict(old.meta)
        return copy


for op, called in (("call_function", "the_function"), ("call_method", "method_name"), ("call_module", "module_name")):
    method(
        Graph,
        op,
        f"{called}, args=None, kwargs=None, type_expr=None, name=None",
        f"self.create_node('{op}', {called}, args, kwargs, name, type_expr)",
    )


def name_for(target: Target) -> str:
    """Return the name that the node of a target has, if it is free: ``relu`` of ``torch.relu``, in snake case."""
    public = getattr(target, "public", None)
    name = (
        target if isinstance(target, str) else qualified_name(target).rpartition(".")[2] if public else target.__name__
    )
    name = name[2:-2] if re.fullmatch(r"__\w+__", name) else name
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name.replace("*", "")).lower() if name else name


def is_taken(name: str) -> bool:
    """Return whether Python, or the code of a graph, has another use for a name."""
    return keyword.iskeyword(name) or hasattr(builtins, name) or name in NAMES_OF_CODE


class Code:
    """The code of a graph while it is written: lines, and the globals that they name."""

    def __init__(self, graph: Graph, root: str) -> None:
        self.graph, self.root = graph, root
        self.globals: dict[str, Any] = {"torch": TORCH}
        self.parameters: list[str] = []
        self.lines: list[str] = []
        self.result = ""
        self.wraps: list[str] = []

    def python_code(self) -> PythonCode:
        """Return the code and its globals."""
        deaths = last_uses(self.graph)
        for node in self.graph.nodes:
            self.write(node, deaths.get(node, []))
        wraps = "\n".join(f'torch.fx._symbolic_trace.wrap("{name}")' for name in self.wraps)
        text = "\n".join(f"    {line}" for line in ("".join(self.lines) or "pass\n").split("\n"))
        head = ", ".join([self.root, *self.parameters])
        return PythonCode(f"\n{wraps}\n\ndef forward({head}){self.result}:\n{text}", self.globals)

    def write(self, node: Node, dead: list[Node]) -> None:
        """Write the line of a node, and forget the results that nobody uses after it."""
        if node.op == "placeholder":
            self.write_input(node)
            return
        if node.op == "output":
            self.result = f" -> {self.type_name(node.type)}" if node.type is not None else ""
            self.lines.append(f"return {self.text(node.args[0])}\n")
            return
        freed = [*dead, *([node] if not node.users else [])]
        end = f";  {' = '.join([*map(repr, freed), 'None'])}\n" if freed else "\n"
        name = f"{node!r}" + (f" : {self.type_name(node.type)}" if node.type is not None else "")
        inplace = IN_PLACE.get(getattr(node.target, "__name__", "")) if is_operator(node.target) else None
        if inplace:
            first, second = map(self.text, node.args)
            self.lines.append(f"{first} {inplace} {second};  {name} = {first}{end}")
        else:
            self.lines.append(f"{name} = {self.call(node)}{end}")

    def write_input(self, node: Node) -> None:
        """Write a parameter of the function."""
        kind = f" : {self.type_name(node.type)}" if node.type is not None else ""
        default = f" = {self.text(node.args[0])}" if node.args else ""
        self.parameters.append(f"{node.target}{kind}{default}")
        name = node.target.replace("*", "")
        if name != repr(node):
            self.lines.append(f"{node!r} = {name}\n")

    def call(self, node: Node) -> str:
        """Return the expression of a node."""
        args, function = [self.text(arg) for arg in node.args], node.target
        words = [*args, *(f"{key} = {self.text(value)}" for key, value in node.kwargs.items())]
        if node.op == "call_method":
            return f"{attribute_of(args[0], function)}({', '.join(words[1:])})"
        if node.op in ("call_module", "get_attr"):
            return attribute_of(self.root, function) + (f"({', '.join(words)})" if node.op == "call_module" else "")
        if is_operator(function) and not node.kwargs and function.__name__ in FORMS:
            return str(FORMS[function.__name__].format(*args))
        if function is getattr and len(args) == 2 and str(node.args[1]).isidentifier():
            return attribute_of(args[0], node.args[1])
        return f"{self.global_name(function)}({', '.join(words)})"

    def global_name(self, function: Argument) -> str:
        """Return the name that the code calls a function by; one that is not torch's becomes a global of the code."""
        name = qualified_name(function)
        if name.startswith("torch."):
            return name
        if getattr(builtins, name, None) is not function:
            name = re.sub(r"\W", "_", f"_{name}" if is_operator(function) else name)
            while self.globals.setdefault(name, function) is not function:
                name = f"{name}_1"
        if function in WRAPPED and name not in self.wraps:
            self.wraps.append(name)
        return name

    def type_name(self, kind: Argument) -> str:
        """Return a type as the code has it."""
        text = type_text(kind)
        if not hasattr(builtins, text) and not text.startswith("torch."):
            text = re.sub(r"\W", "_", text)
            self.globals[text] = kind
        return text

    def text(self, arg: Argument) -> str:
        """Return an argument as the code has it."""
        if isinstance(arg, tuple | list):
            parts = ", ".join(map(self.text, arg))
            if hasattr(arg, "_fields"):
                return f"{self.global_name(type(arg))}({parts})"
            return f"[{parts}]" if isinstance(arg, list) else f"({parts}{',' * (len(arg) == 1)})"
        if isinstance(arg, dict):
            return "{" + ", ".join(f"{key!r}: {self.text(value)}" for key, value in arg.items()) + "}"
        if isinstance(arg, slice):
            return f"slice({self.text(arg.start)}, {self.text(arg.stop)}, {self.text(arg.step)})"
        text = repr(arg)
        if text.startswith("device("):
            self.globals["device"] = type(arg)
        elif text in ("inf", "nan", "-inf"):
            self.globals[text.lstrip("-")] = float(text.lstrip("-"))
        return text


def last_uses(graph: Graph) -> dict[Node, list[Node]]:
    """Return, for each node, the nodes whose results nobody uses after it."""
    seen: set[Node] = set()
    deaths: dict[Node, list[Node]] = {}
    for node in reversed(graph.nodes):
        for one in node.all_input_nodes:
            if one not in seen:
                seen.add(one)
                deaths.setdefault(node, []).append(one)
    return deaths


def is_operator(function: Argument) -> bool:
    """Return whether a function is one of the module ``operator``."""
    return getattr(function, "__module__", "") == "_operator"


def attribute_of(base: str, target: str) -> str:
    """Return ``base.a.b``; a part that is no name, such as a number, by ``getattr``."""
    for part in target.split("."):
        base = f"{base}.{part}" if part.isidentifier() else f'getattr({base}, "{part}")'
    return base


class Torch:
    """What the code of a graph calls ``torch``: the engine, and where PyTorch has functions of C++ and Python."""

    def __getattr__(self, name: str) -> Any:
        from gviz import engine

        if name in ("_C", "functional"):
            return self
        home = {"_nn": "nn.functional", "_linalg": "linalg", "_special": "special"}.get(name)
        if home is None:
            prefix, _, rest = name.partition("_")
            own = getattr(engine, name, None)
            return own if own is not None or not rest else getattr(getattr(engine, prefix), rest)
        return attrgetter(home)(engine)


TORCH = Torch()
__getattr__ = absent("torch.fx.graph")
