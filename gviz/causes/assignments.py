"""Where a value goes in a program, by the names that its text gives it: of a number, nothing else tells."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Set as AbstractSet
from typing import NamedTuple, TypeAlias

from gviz.causes.syntax import SPACES, calls_of, is_stored, last_name, names_within, parsed

Key: TypeAlias = "tuple[ast.AST | str | None, str]"
"""The function that has a variable, None for the program itself; "." for an attribute, "()" for what a function
returns; and the name, of one of several results with its place, and with [] for any of them."""

STORES = {"append", "appendleft", "extend", "insert", "add", "update", "setdefault", "put"}
"""Methods that put what they are given into what they are called on, besides those such as ``copy_``."""


class Line(NamedTuple):
    """A statement, the function that it is in, and the blocks around it by their identity, the outermost first."""

    statement: ast.stmt
    function: ast.FunctionDef | None
    blocks: tuple[int, ...]


class Carrier(NamedTuple):
    """A statement that carries a value on.

    Args:
        statement: which.
        names: the variables and attributes by which it takes the value; none in the statement that makes it.
        is_list: whether one of them is a list.
        is_kept: whether it holds what earlier runs of a loop have put there, too.
        is_result: whether it takes the value from a call of a function that returns it.
    """

    statement: ast.stmt
    names: frozenset[str] = frozenset()
    is_list: bool = False
    is_kept: bool = False
    is_result: bool = False

    def is_taking(self, node: ast.AST) -> bool:
        """Return whether a node of the statement takes the value."""
        return (
            isinstance(node, ast.Call if self.is_result else ast.Name | ast.Attribute)
            and not is_stored(node)
            and not {last_name(node), f".{last_name(node)}"}.isdisjoint(self.names)  # with a dot that of a method
            and ast.unparse(getattr(node, "value", ast.Name(""))) not in SPACES  # as that of F.one_hot is
        )


class Assignments:
    """What a program assigns to which names; branches count as taken, and each name of a function as one variable.

    Args:
        program: its text.
    """

    def __init__(self, program: str) -> None:
        self.lines: dict[ast.stmt, Line] = {}
        self.around: dict[ast.FunctionDef, ast.FunctionDef | None] = {}  # function -> the one that it stands in
        self.functions: dict[str, list[ast.FunctionDef]] = {}
        self.variables: dict[ast.FunctionDef | None, set[str]] = {None: set()}
        self.writers: dict[Key, list[Line]] = {}
        self.replacers: dict[Key, list[Line]] = {}  # those that leave nothing of a variable as it was
        self.readers: dict[Key, list[Line]] = {}
        self.lists: set[Key] = set()
        self.loops: set[int] = set()  # blocks by their identity
        nodes = [*ast.walk(parsed(program))]
        self.records = {"dict", "SimpleNamespace", *(one.name for one in nodes if isinstance(one, ast.ClassDef))} | {
            last_name(one.targets[0])  # whose call gives what holds several values
            for one in nodes
            if isinstance(one, ast.Assign) and last_name(one.value) in ("namedtuple", "NamedTuple")
        }
        self.no_modules = {  # names whose call is no call of a layer
            *dir(builtins),
            *self.records,
            *(one.asname or one.name for one in nodes if isinstance(one, ast.alias)),
        }
        self.collect(parsed(program))
        for line in self.lines.values():
            for key in self.keys_replaced(line):
                self.replacers.setdefault(key, []).append(line)
            for source, keys in self.flows_of(line):
                for key in keys:
                    self.writers.setdefault(key, []).append(line)
                    self.lists |= {key} if isinstance(source, ast.List | ast.ListComp) else set()
                for key in self.keys_read(source, line.function):
                    self.readers.setdefault(key, []).append(line)

    # ---------------------------------------------------------------- the text
    def collect(self, tree: ast.AST) -> None:
        """Note the statements with their functions, and the functions with their variables."""
        todo = [(tree, Line(ast.Pass(), None, ()))]
        while todo:
            node, line = todo.pop()
            if isinstance(node, ast.FunctionDef):
                self.around[node], own = line.function, [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                self.functions.setdefault(function_key(node), []).append(node)
                self.variables[node], line = {one.arg for one in own}, line._replace(function=node)
            elif isinstance(node, ast.stmt):
                self.lines[node] = line._replace(statement=node)
                self.variables[line.function] |= {
                    target.id for target in assignment_targets(node) if isinstance(target, ast.Name)
                }
            for body in [value for _, value in ast.iter_fields(node) if isinstance(value, list)]:
                inner = line._replace(blocks=(*line.blocks, id(body)))
                self.loops |= {id(body)} if isinstance(node, ast.For | ast.While) else set()
                todo += [(one, inner) for one in reversed(body) if isinstance(one, ast.stmt | ast.ExceptHandler)]

    def key(self, node: ast.AST, function: ast.FunctionDef | None) -> Key:
        """Return the variable, or the attribute, that an expression is, or is an item of; "" as the name of another."""
        while isinstance(node, ast.Subscript | ast.Starred):
            node = node.value
        if not isinstance(node, ast.Name):
            return ".", last_name(node)
        while function is not None and node.id not in self.variables[function]:
            function = self.around[function]
        return function, node.id

    def keys_read(self, source: ast.AST, function: ast.FunctionDef | None) -> Iterator[Key]:
        """Yield the variables, attributes and results of functions of which an expression reads more than the shape."""
        items: dict[ast.AST, str] = {}  # calls of which one item is taken: which
        shapes = {
            part
            for node in ast.walk(source)
            if getattr(node, "attr", "") in ("shape", "size", "ndim", "dim", "numel", "dtype", "device")
            for part in ast.walk(node)
        }
        for node in ast.walk(source):
            if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
                items[node.value] = f"[{node.slice.value!r}]"
            if isinstance(node, ast.Call):
                result = self.callee(node)
                yield from (("()", f"{result}{item}") for item in ("", items.get(node, "[]")))
            if isinstance(node, ast.Name | ast.Attribute) and node not in shapes and not is_stored(node):
                yield self.key(node, function)

    def callee(self, call: ast.Call) -> str:
        """Return the function, or method, of the program that a call may be of; forward for one of an object."""
        name, owner = last_name(call.func), getattr(call.func, "value", None)
        name_called = name if owner is None else f".{name}"
        return (
            name_called
            if name_called in self.functions
            or name_called in self.no_modules
            or last_name(owner or call.func) not in (name, "self")
            else ".forward"
        )

    def flows_of(self, line: Line) -> Iterator[tuple[ast.AST, list[Key]]]:
        """Yield the expressions of a statement, each with what comes to hold its value; of a record with nothing.

        Of several values in a dictionary, a tuple, or an object of a class, nobody tells which one is read.
        """
        for source, keys in self.all_flows_of(line):
            yield source, [] if isinstance(source, ast.Dict | ast.Tuple) or last_name(source) in self.records else keys

    def all_flows_of(self, line: Line) -> Iterator[tuple[ast.AST, list[Key]]]:
        """Yield the expressions of a statement, each with what comes to hold its value, or an object that has it.

        These are its targets, lists, parameters, and the result of its function.
        """
        statement, function = line.statement, line.function
        if isinstance(statement, ast.Return) and statement.value is not None and function is not None:
            parts = statement.value.elts if isinstance(statement.value, ast.Tuple) else []
            for at, part in enumerate(parts):
                yield part, [("()", f"{function_key(function)}{item}") for item in (f"[{at}]", "[]")]
            yield (ast.Pass() if parts else statement.value), [("()", function_key(function))]
        for call in [node for node in own_parts(statement) if isinstance(node, ast.Call)]:
            name, words = last_name(call.func), [(word.arg, word.value) for word in call.keywords]
            is_store = name in STORES or (name[-1:] == "_" and name[-2:] != "__")
            if isinstance(call.func, ast.Attribute) and is_store and self.callee(call) not in self.functions:
                key = self.key(call.func.value, function)
                self.lists |= {key} if name in STORES else set()
                yield from ((value, [key]) for value in (*call.args, *(value for _, value in words)))
            for one in [other for other in self.functions.get(self.callee(call), ()) if other is not function]:
                own = [arg.arg for arg in (*one.args.posonlyargs, *one.args.args) if arg.arg != "self"]
                for to, value in (*zip(own, call.args, strict=False), *words):
                    yield value, [(one, to)] if to else []
        for value, target in assigned_pairs(statement):
            for at, part in enumerate(getattr(target, "elts", [target])):
                is_item = part is not target and isinstance(value, ast.Call)
                yield (
                    ast.Subscript(value, ast.Constant(at), ast.Load()) if is_item else value,
                    [self.key(one, function) for one in names_within(part)],
                )
        if isinstance(statement, ast.Expr) and last_name(statement.value) not in STORES:
            yield statement.value, []

    # ---------------------------------------------------------------- ways
    def way(self, start: ast.stmt, part: ast.AST, ends: AbstractSet[int], last: AbstractSet[int]) -> list[Carrier]:
        """Return the statements through which what an expression gives comes to one of some lines; [] if it does not.

        Args:
            start: the statement that the expression is in.
            part: the expression.
            ends: the lines at which a statement that takes the value puts it into the graph.
            last: those of the root, which may be the line of the expression itself.
        """
        if not last.isdisjoint(line_numbers(start)):
            return [Carrier(start)]
        before: dict[tuple[Key, Line], tuple[Key, Line] | None] = dict.fromkeys(
            (key, self.lines[start])
            for source, keys in self.flows_of(self.lines[start])
            for key in keys
            if part in ast.walk(source)
        )
        todo, later = [*before], list[tuple[Key, Line]]()
        for here in todo:  # grows while it is read
            key, writer = here
            for line in [one for one in self.readers.get(key, ()) if not self.is_overwritten(key, writer, one)]:
                if not ends.isdisjoint(line_numbers(line.statement)):
                    return self.carriers(here, line, before, last)
                for source, keys in self.flows_of(line):
                    if key in self.keys_read(source, line.function):
                        new = [(one, line) for one in keys if (one, line) not in before]
                        before.update(dict.fromkeys(new, here))
                        (
                            later  # what a program detaches may be a constant
                            if any(key in self.keys_read(one, line.function) for one in calls_of(source, "detach"))
                            else todo
                        ).extend(new)
            todo += [later.pop(0)] if later and here is todo[-1] else []
        return []

    def carriers(
        self,
        here: tuple[Key, Line] | None,
        line: Line,
        before: dict[tuple[Key, Line], tuple[Key, Line] | None],
        last: AbstractSet[int],
    ) -> list[Carrier]:
        """Return the statements of a way, known from its end on; a function keeps nothing until its next call."""
        carriers = list[Carrier]()
        while here is not None:
            key, writer = here
            is_list, names = key in self.lists, frozenset([key[1].partition("[")[0]])
            own = {one for source, _ in self.flows_of(writer) for one in self.keys_read(source, writer.function)}
            is_growing = (
                key in own
                or isinstance(writer.statement, ast.AugAssign)
                or (is_list and key not in self.keys_replaced(writer))
            )
            is_of_call = isinstance(key[0], ast.FunctionDef) and (
                self.depth_of_loop(writer, line) == 0
                or last.isdisjoint(range(key[0].lineno, (key[0].end_lineno or key[0].lineno) + 1))
            )
            is_lost = key[0] == "()" or is_of_call or self.is_overwritten(key, writer, line, is_carried=True)
            carriers.append(Carrier(line.statement, names, is_list, is_growing and not is_lost, key[0] == "()"))
            line, here = writer, before[here]
        return [Carrier(line.statement), *reversed(carriers)]

    def carried_into(self, number: int, part: ast.AST | None = None) -> Iterator[tuple[ast.expr, ast.stmt, ast.AST]]:
        """Yield the variables that a line reads as an earlier run has left them, each with the statement and the value.

        Args:
            number: of the line.
            part: what reads them in it; None for all of it.
        """
        todo, seen = list[tuple[int, ast.AST | None]]([(number, part)]), set[Key]()
        for at, given in todo:  # grows while it is read, by what gives a variable its value
            for line in [one for one in self.lines.values() if at in line_numbers(one.statement)]:
                flows = self.flows_of(line) if given is None else ((given, ()),)
                reads = [node for source, _ in flows for node in ast.walk(source)]
                called = [node.func for node in reads if isinstance(node, ast.Call)]  # x.mean() is no self.mean
                names = (one for one in reads if isinstance(one, ast.Name | ast.Attribute) and one not in called)
                for key, node in {self.key(one, line.function): one for one in names if not is_stored(one)}.items():
                    for writer in self.writers.get(key, ()):
                        values = [value for value, keys in self.flows_of(writer) if key in keys]
                        is_given = key[0] is not None and key[0] is line.function is not writer.function
                        is_near = writer.statement.lineno < at and writer.function is line.function
                        handed = values[:1] * is_given or same_tensors(values[0]) * is_near
                        todo += [(writer.statement.lineno, one) for one in handed if key not in seen]
                        is_carried = key[0] == "." or self.depth_of_loop(writer, line) > 0
                        is_value = (
                            writer.statement.lineno >= at and is_carried and not isinstance(values[0], ast.Constant)
                        )
                        if is_value and not self.is_overwritten(key, writer, line):
                            yield node, writer.statement, values[0]
                    seen.add(key)

    def depth_of_loop(self, one: Line, other: Line) -> int:
        """Return in how many blocks the innermost loop around two lines stands, with its own; 0 if there is none."""
        pairs = enumerate(zip(one.blocks, other.blocks, strict=False), 1)
        return max([depth for depth, (block, same) in pairs if block == same and block in self.loops], default=0)

    def keys_replaced(self, line: Line) -> list[Key]:
        """Return the variables of which a line leaves nothing as it was."""
        targets = assignment_targets(line.statement) if isinstance(line.statement, ast.Assign | ast.For) else []
        return [self.key(to, line.function) for to in targets if isinstance(to, ast.Name)]

    def is_overwritten(self, key: Key, writer: Line, reader: Line, *, is_carried: bool = False) -> bool:
        """Return whether a variable is always assigned anew between a line that writes it and one that reads it.

        Args:
            key: the variable.
            writer: the one line.
            reader: the other.
            is_carried: whether that is to be in another run of the loop that both are in.
        """
        number, at = reader.statement.lineno, writer.statement.lineno
        depth = self.depth_of_loop(writer, reader)
        anew = [
            one.statement.lineno
            for one in self.replacers.get(key, ())
            if one.function is reader.function
            and not (is_carried and one is writer)
            and one.blocks == reader.blocks[: len(one.blocks)]
            and (
                (at < number and not is_carried) or len(one.blocks) >= depth
            )  # what stands before a loop is not run between its runs
        ]
        last = max([line for line in anew if line < number], default=0)
        return last > 0 and at != last and (is_carried or not last < at < number)


def own_parts(statement: ast.stmt) -> Iterator[ast.AST]:
    """Yield the parts of a statement, without the statements within it."""
    todo: list[ast.AST] = [statement]
    for node in todo:  # grows while it is read
        yield node
        todo += [one for one in ast.iter_child_nodes(node) if not isinstance(one, ast.stmt | ast.ExceptHandler)]


def assigned_pairs(statement: ast.stmt) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield what a statement assigns, each with its target."""
    value: ast.expr | None = getattr(statement, "value", None)
    if isinstance(statement, ast.Assign):
        for target in statement.targets:
            values, targets = getattr(value, "elts", []), getattr(target, "elts", [])
            yield from (
                zip(values, targets, strict=True) if len(values) == len(targets) > 0 else [(statement.value, target)]
            )
    elif isinstance(statement, ast.AugAssign | ast.AnnAssign) and value is not None:
        yield value, statement.target
    elif isinstance(statement, ast.For):
        yield statement.iter, statement.target
    yield from ((one.value, one.target) for one in own_parts(statement) if isinstance(one, ast.NamedExpr))


def same_tensors(value: ast.AST) -> list[ast.AST]:
    """Return the variables and attributes that an assigned value is one of, as they are: both ways of a condition."""
    parts = [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]
    return [one for one in parts if isinstance(one, ast.Name | ast.Attribute)]


def assignment_targets(statement: ast.stmt) -> list[ast.expr]:
    """Return what a statement assigns to: names, attributes, items."""
    return [part for _, target in assigned_pairs(statement) for part in names_within(target)]


def function_key(function: ast.FunctionDef) -> str:
    """Return the name by which calls know a function: of a method it begins with a dot, of __call__ it is forward."""
    is_method = bool(function.args.args) and function.args.args[0].arg == "self"
    return (".forward" if function.name == "__call__" else f".{function.name}") if is_method else function.name


def line_numbers(statement: ast.stmt) -> range:
    """Return the lines of a statement, of a block those of its head."""
    body = getattr(statement, "body", None)
    return range(statement.lineno, body[0].lineno if body else (statement.end_lineno or statement.lineno) + 1)
