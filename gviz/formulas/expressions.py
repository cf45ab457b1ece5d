"""What each operation computes, in the names of the program: ``x + w`` for an AddBackward0 between x and w.

:func:`gviz.walk.walk` takes it from the program, where a statement gives a name to what it computes;
:func:`words_of` reads the rest off the graph, so that it serves saved graphs and PyTorch's as well.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain, count, filterfalse, product, zip_longest
from keyword import iskeyword
from typing import NamedTuple

from gviz.formulas.formula import UNKNOWN, Formula
from gviz.formulas.operands import UNTOLD, arguments_of, held_operands, option_text, part_of_result, signed
from gviz.formulas.operations import GRAD_FN, OPERATORS, SIGNS, is_of_program, operator_of, recorded_function
from gviz.graphs import Edge, Graph, Node
from gviz.graphs.numbers import Numbers

MINUS, WHOLE = 3, 5
"""How strongly a sign before one operand binds, and what needs no brackets anywhere."""

MOST_OPERANDS = 3

LONGEST_PART = 16
"""Characters of an operation without a name, when it stands inside the expression of another one."""

ITEM = re.compile(r"[\d']\]?$|\.\w+$")
"""How a number ends, an item, and an attribute."""

REMARKS = re.compile(r'(?s)""".*?"""|#[^\n]*')
"""Docstrings and comments of a program."""

LONGEST_STATEMENT = 300
"""Characters of a statement that is taken apart."""


class Text(NamedTuple):
    """An expression, and how strongly the last of its operations binds."""

    text: str
    level: int = WHOLE


class Words(NamedTuple):
    """What is said of an operation.

    Args:
        expression: what it computes; "" if too little of it is known.
        operands: what each of its inputs is called, or how it is computed; :data:`UNKNOWN` where that is not known.
        result: what it makes is called; "" for nothing.
    """

    expression: str
    operands: tuple[str, ...]
    result: str


def words_of(graph: Graph) -> dict[str, Words]:
    """Return what is said of each operation, by its id.

    >>> from gviz.graphs import Edge, Graph, Node, Recorded
    >>> nodes = Node("n0", "operation", "AddBackward0", name="a", recorded=Recorded(slots=2)), Node("n1", "leaf", name="x")
    >>> words_of(Graph(nodes, (Edge("n1", "n0"),)))
    {'n0': Words(expression='x + □', operands=('x', '□'), result='a')}
    """
    kinds = graph.by_id
    inputs = {node: [edge for edge in edges if edge.kind == "data"] for node, edges in graph.inputs.items()}
    outputs = {
        edge.source: node.name or "" for node in graph.nodes if node.kind == "output" for edge in inputs[node.id]
    }
    texts: dict[str, Text] = {}
    words: dict[str, Words] = {}
    pieces = pieces_of(graph, inputs)
    for each in graph.inputs_first(("data",)):
        node = each._replace(expression=pieces[each.id]) if each.id in pieces else each
        operands = {edge.slot: operand_text(edge, kinds[edge.source], texts) for edge in inputs[node.id]}
        operands |= {slot: Text(name) for edge in inputs[node.id] for slot, name in edge.called}
        name = node.name or ""  # neither "net.fc, call 2" nor the "0" of a Sequential is a name in a formula
        is_phrase = node.kind == "group" and (", " in name or not name[:1].isidentifier())
        text = Text("" if is_phrase else outputs.get(node.id) or name)
        if node.kind == "accumulate":
            text = operands.get(0, text)
        elif node.kind == "operation":
            sources = [kinds[edge.source] for edge in inputs[node.id]]
            written_text, parts = words_beside(node, operands, sources, 0 if node.id in pieces else WHOLE)
            if written_text.text.endswith(")") and not (node.expression or node.recorded.outputs):
                part = part_of_result(node.label, {use.output for use in graph.uses[node.id]})
                written_text = Text(f"{written_text.text}{part}", written_text.level)
            words[node.id] = Words(written_text.text, parts, outputs.get(node.id) or node.name or "")
            if not text.text and len(written_text.text) <= LONGEST_PART:
                text = written_text
        texts[node.id] = text
    return words


def words_beside(
    node: Node, operands: dict[int, Text], sources: Iterable[Node], level: int
) -> tuple[Text, tuple[str, ...]]:
    """Return what an operation computes, and what each of its inputs is called.

    Args:
        node: the operation.
        operands: the texts of the inputs that the graph has, by their slots.
        sources: the nodes of these.
        level: how strongly the last operation in the expression of the node binds.
    """
    given = zip_longest(node.recorded.given, node.recorded.given_numbers)
    is_alike = all(
        re.search(rf"(?<![\w.]){text}(?!\w)", node.expression)
        if number and text.isidentifier()
        else text in node.expression
        for text, number in given
        if ITEM.search(text) or (number and not is_plain_call(node.expression))
    )
    if (
        not is_alike
    ):  # X[i] of the statement is known to be X[1], d to be 3.5, p.a what p.b is called now, b a long text
        node = node._replace(expression="")
    is_told = bool(node.expression) and all(mentions(node.expression, source) for source in sources)
    is_told = is_told and has_sides(node, operands)
    constant_texts = held_operands(node, operands) if node.recorded.held or node.recorded.given else {}
    result = Text(node.expression, level) if is_told else expression_of(node, operands, constant_texts)
    parts = [
        (operands[slot].text or UNKNOWN) if slot in operands else constant_texts.get(slot, UNKNOWN)
        for slot in range(node.recorded.slots)
    ]
    constants = with_constants(parts, operands, result.text)
    is_partial = UNKNOWN in result.text or UNTOLD in result.text
    if is_partial and node.module is None and is_plain_call(node.expression):
        result = Text(node.expression)  # of a function that is several operations, and no module
    return result, constants


def has_sides(node: Node, operands: Mapping[int, Text]) -> bool:
    """Return False for an operation with a sign between two whose expression has other names there.

    So it is after two items of a list have been swapped.

    >>> from gviz.graphs import Node
    >>> node = Node("n0", "operation", "MulBackward0", expression="xs[0] ** 2 * xs[1]")
    >>> [has_sides(node, {0: Text("a"), 1: Text(name)}) for name in ("xs[1]", "xs[0]")]
    [True, False]
    """
    tree = Formula.parse(node.expression).node
    is_alike = isinstance(tree, ast.BinOp) and OPERATORS.get(type(tree.op)) == operator_of(node.label)
    sides = Formula(tree).sides if is_alike else None
    return sides is None or all(
        one.text in (sides[0].python, sides[1].python) for one in operands.values() if ITEM.search(one.text)
    )


def is_plain_call(text: str) -> bool:
    """Return whether a text is the call of a function with names and numbers, so that nothing else is computed in it.

    >>> [is_plain_call(text) for text in ("logdet(A)", "torch.where(x, 0, w)", "logdet(A @ B)", "f(x)*w", "")]
    [True, True, False, False, False]
    """
    formula = Formula.read(text)
    match formula and formula.node:
        case ast.Call(args=args, keywords=keywords):
            values = [*args, *(keyword.value for keyword in keywords)]
            return all(isinstance(one, ast.Name | ast.Constant) for one in values)
    return False


def pieces_of(graph: Graph, inputs: Mapping[str, list[Edge]]) -> dict[str, str]:
    """Return for each operation without a name of its own the part of the statement that it computes, if that is clear.

    >>> from gviz.graphs import Edge, Graph, Node, Recorded
    >>> total = Node("n0", "operation", "AddBackward0", name="h", expression="w * x + b", recorded=Recorded(slots=2))
    >>> product = Node("n1", "operation", "MulBackward0", recorded=Recorded(slots=2))
    >>> nodes = total, product, Node("n2", "leaf", name="w"), Node("n3", "leaf", name="b")
    >>> edges = [Edge("n1", "n0"), Edge("n3", "n0", 1), Edge("n2", "n1")]
    >>> pieces_of(Graph(nodes, tuple(edges)), {"n0": edges[:2], "n1": edges[2:], "n2": [], "n3": []})
    {'n1': 'w * x'}
    """
    nodes = graph.by_id
    text_of: dict[str, str] = {}
    operations = [node for node in graph.nodes if node.kind == "operation"]
    if not any(len(inputs[node.id]) < node.recorded.slots and not node.expression for node in operations):
        return text_of  # all is known
    texts = (node for node in operations if 0 < len(node.expression) <= LONGEST_STATEMENT)
    todo = [(node, formula.node) for node in texts if (formula := Formula.read(node.expression))]
    while todo:
        node, tree = todo.pop()
        operands = operands_in(tree, node, inputs[node.id], nodes, inputs)
        if operands and not node.expression:
            text_of[node.id] = ast.unparse(tree)
        for edge, part in operands:
            source = nodes[edge.source]
            if source.kind == "operation" and not (
                source.expression or source.id in text_of or known_name(edge, nodes, inputs)
            ):
                todo.append((source, part))
    return text_of


def operands_in(
    tree: ast.expr, node: Node, inputs: list[Edge], nodes: Mapping[str, Node], made_from: Mapping[str, list[Edge]]
) -> list[tuple[Edge, ast.expr]]:
    """Return the inputs of an operation, each with the part of an expression that it is.

    None if the two are not alike.
    """

    def fits(edge: Edge, part: ast.expr) -> bool:
        name = known_name(edge, nodes, made_from)
        return name == ast.unparse(part) if name else not isinstance(part, ast.Name | ast.Constant)

    sign = operator_of(node.label)
    match tree:
        case ast.BinOp(left, op, right) if OPERATORS.get(type(op)) == sign:
            ways: list[tuple[ast.expr, ...]] = [
                (left, right),
                (right, left),
            ]  # PyTorch has the number of 2 * x on the right
        case ast.UnaryOp(ast.USub(), operand) if node.label.startswith("Neg"):
            ways = [(operand,)]
        case ast.Call(ast.Attribute(value, name), [first, *_]) if name == sign:
            ways = [(value,), (first,)]
        case ast.Call(ast.Attribute(value, name), []) if name == sign:
            ways = [(value,)]
        case ast.Call(ast.Name(name), [first, *_]) if name == sign:
            ways = [(first,)]
        case _:
            return []
    for parts in ways:
        slots = [(edge, parts[edge.slot]) for edge in inputs if edge.slot < len(parts)]
        if len(slots) == len(inputs) and all(fits(*pair) for pair in slots):
            return slots
    return []


def known_name(edge: Edge, nodes: Mapping[str, Node], inputs: Mapping[str, list[Edge]]) -> str:
    """Return the program's own name for what goes along an edge; "" if it has none."""
    source = nodes[edge.source]
    if source.kind == "accumulate" and inputs[source.id]:
        source = nodes[inputs[source.id][0].source]
    return "" if source.is_letter and not source.recorded.outputs else output_name(source, edge.output)


def output_name(node: Node, number: int) -> str:
    """Return the name of an output, which may be one of several; "" if it has none.

    >>> from gviz.graphs import Node, Recorded
    >>> node = Node("n0", "operation", name="a", recorded=Recorded(outputs=("a", "", "c")))
    >>> [output_name(node, number) for number in range(4)]
    ['a', '', 'c', '']
    """
    if not node.recorded.outputs:
        return node.name or ""
    return node.recorded.outputs[number] if number < len(node.recorded.outputs) else ""


def operand_text(edge: Edge, source: Node, texts: Mapping[str, Text]) -> Text:
    """Return what is used along an edge: one of several outputs has a name, a hidden view is the label."""
    text = Text(output_name(source, edge.output)) if source.recorded.outputs else texts[edge.source]
    is_view = edge.label.startswith(".") and bool(text.text)
    return Text(f"{in_brackets_below(text, WHOLE)}{edge.label}") if is_view else text


def mentions(statement: str, node: Node) -> bool:
    """Return whether a statement names an input.

    An operation with a name that it lacks computes a part of it in its own box.

    >>> from gviz.graphs import Node
    >>> [mentions("w3 * b + w4 * c", Node("n0", "operation", "MulBackward0", name)) for name in ("b", "w", None)]
    [True, False, True]
    """
    names = node.recorded.outputs or filter(None, [node.name if node.kind == "operation" else None])
    return all(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", statement) for name in names)


def with_constants(parts: list[str], slots: Collection[int], expression: str) -> tuple[str, ...]:
    """Return the operands with those that the graph lacks read off an expression with a sign between two.

    >>> with_constants(["w", "□"], {0}, "w + 1"), with_constants(["□", "w"], {1}, "10 * w")
    (('w', '1'), ('10', 'w'))
    """
    if len(parts) == 2 and len(slots) == 1:
        other = other_operand(expression, parts[min(slots)])
        if other is not None:
            return tuple(part if slot in slots else other.text for slot, part in enumerate(parts))
    return tuple(parts)


class Beside(NamedTuple):
    """The other operand of an operation with two, and whether it stands on the left."""

    text: str
    is_left: bool


def other_operand(expression: str, operand: str) -> Beside | None:
    """Return what stands beside an operand.

    None if the expression is not a sign between two, or has that operand nowhere.

    An operand that is written in another way is whatever is not a number: 2 / x is 2 times the reciprocal of x.

    >>> other_operand("10 - d", "d"), other_operand("x ** 2", "x"), other_operand("2 / x", "reciprocal(x)"), other_operand("x - y", "z")
    (Beside(text='10', is_left=True), Beside(text='2', is_left=False), Beside(text='2', is_left=True), None)
    """
    sides = Formula.parse(expression).sides
    if sides is None:
        return None
    left, right = sides
    are_numbers = left.is_number, right.is_number
    if operand in (left.python, right.python):
        is_left = operand != left.python
    elif are_numbers[0] != are_numbers[1]:
        is_left = are_numbers[0]
    else:
        return None
    return Beside(left.python if is_left else right.python, is_left)


def constant_of(label: str, words: Words) -> Beside | None:
    """Return the number in an operation such as 10 - d or x ** 2, which has only one input in the graph."""
    match = GRAD_FN.fullmatch(label)
    if match is None or match[1] not in SIGNS or len(words.operands) != 1:
        return None
    return other_operand(words.expression, words.operands[0])


def expression_of(node: Node, operands: dict[int, Text], constants: Mapping[int, str]) -> Text:
    """Return what an operation computes from the texts of its operands, and of those that it holds.

    "" if too little is known.

    A number beside the one operand stands in the statement that the operation is the last of.
    """
    own = {slot: as_typed(text) for slot, text in constants.items()}
    parts = [(own | operands).get(slot, Text(UNKNOWN)) for slot in range(node.recorded.slots)]
    match, options = GRAD_FN.fullmatch(node.label), dict(node.recorded.attrs)
    number = other_operand(node.expression, next(iter(operands.values())).text) if len(operands) == 1 else None
    is_known = all(part.text for part in parts) and any(part.text != UNKNOWN for part in parts)
    if match is None or not is_known:
        is_call = is_known and is_of_program(node.label)
        return Text(call_text(node, [part.text for part in parts]) if is_call else written_text(node, parts))
    if len(parts) > MOST_OPERANDS:
        parts = [*parts[:2], Text(UNTOLD), parts[-1]]
    name, overload = match.groups()
    if name == "Neg":
        return Text(f"-{in_brackets_below(parts[0], MINUS)}", MINUS)
    if name == "T":
        return Text(f"{in_brackets_below(parts[0], WHOLE)}.T")
    if place := index_text(name, node.recorded.options):
        return Text(f"{in_brackets_below(parts[0], WHOLE)}[{place}]")
    is_plain = options.get("alpha", "1") == "1" and options.get("rounding_mode", "None") == "None"
    if name not in SIGNS or not is_plain:  # a sign has no options
        return Text(call_text(node, [part.text for part in parts]))
    sign, level = SIGNS[name]
    is_turned = name == "Rsub" or (name == "Pow" and overload == "2")  # the number is on the left: 2 - x, 2 ** x
    other = as_typed(option_text(options.get("self" if is_turned else "exponent", options.get("other", UNKNOWN))))
    if other.text == UNKNOWN and len(parts) == len(node.recorded.given) == 1:  # 1 - x saves nothing
        other = as_typed(node.recorded.given[0] or UNKNOWN)
    if number is not None:
        other = as_typed(number.text)
    left, right = parts if len(parts) == 2 else (parts[0], other)
    if len(parts) == 2 and number is not None:
        left, right = (part if slot in operands else other for slot, part in enumerate(parts))
    if is_turned:
        left, right = right, left
    return Text(
        f"{in_brackets_below(left, level + (name == 'Pow'))} {sign} {in_brackets_below(right, level + 1)}", level
    )


def written_text(node: Node, parts: Sequence[Text]) -> str:
    """Return in words what ``b[1] = x`` makes of b; "" for another operation."""
    if node.label != "CopySlices" or not parts[0].text:
        return ""
    using = [
        f", using {part.text}" for part in parts[1:] if part.text not in ("", UNKNOWN)
    ]  # none of b.fill_diagonal_(0)
    return f"{parts[0].text} partly changed{''.join(using)}"


def as_typed(text: str) -> Text:
    """Return an operand as a program has it; what is more than a name, a number or a call needs brackets.

    >>> as_typed("x[0].mean(0)"), as_typed("-2.0"), as_typed("x + 1"), as_typed("f(x) + g(x)").level
    (Text(text='x[0].mean(0)', level=5), Text(text='-2', level=3), Text(text='x + 1', level=0), 0)
    """
    text = text.removesuffix(".0") if re.fullmatch(r"-?\d+\.0", text) else text
    if re.fullmatch(r"-[\d.e]+", text):
        return Text(text, MINUS)
    formula = None if re.fullmatch(r"[\w.]+", text) else Formula.read(text)
    return Text(text, 0 if formula is not None and formula.sides is not None else WHOLE)


def index_text(kind: str, options: Mapping[str, str]) -> str:
    """Return the index by which Python code takes this part of a tensor; "" if there is no such index.

    >>> index_text("Select", {"dim": "1", "index": "18446744073709551615"})
    ':, -1'
    >>> index_text("Slice", {"dim": "0", "start": "1", "end": "9223372036854775807", "step": "1"})
    '1:'
    """
    values = {name: int(signed(text)) for name, text in options.items() if re.fullmatch(r"\d+", text)}
    match kind, values:
        case "Select", {"dim": dim, "index": index} if dim >= LAST_DIM:
            own = str(index)
        case "Slice", {"dim": dim, "start": start, "end": end, "step": step} if dim >= LAST_DIM:
            own = f"{start or ''}:{end if end < LAST else ''}{f':{step}' if step != 1 else ''}"
        case _:
            return ""
    return ", ".join([*(["..."] if dim == LAST_DIM else [":"] * dim), own])


def call_text(node: Node, operands: Sequence[str]) -> str:
    """Return an operation as the call of a function.

    >>> from gviz.graphs import Node, Recorded
    >>> call_text(Node("n0", "operation", "SubBackward0", recorded=Recorded(attrs=(("alpha", "2"),))), ["x", "y"])
    'sub(x, y, alpha=2)'
    """
    return f"{recorded_function(node.label)}({', '.join(arguments_of(node, operands))})"


def in_brackets_below(part: Text, level: int) -> str:
    """Return an operand as it stands inside an operation that binds so strongly.

    >>> in_brackets_below(Text("x + w", 1), 2), in_brackets_below(Text("x * w", 2), 1)
    ('(x + w)', 'x * w')
    """
    return part.text if part.level >= level else f"({part.text})"


LAST, LAST_DIM = 2**62, -1
"""The end of a slice that has no end is a larger number; and the dimension that is known without their number."""

LETTERS = "abcfghjklmnopqrstuvwxyz"
"""The letters of results: without d and e, which mathematics has for a derivative and for 2.718, and i, an index."""


def letters() -> Iterator[str]:
    """Return a, b, c, f, ... z, aa, ab, ... without end, and without Python's own words.

    >>> from itertools import islice
    >>> list(islice(letters(), 22, 26)), "as" in islice(letters(), 100)
    (['z', 'aa', 'ab', 'ac'], False)
    """
    words = map("".join, chain.from_iterable(product(LETTERS, repeat=length) for length in count(1)))
    return filterfalse(iskeyword, words)


def root_names(other_names: Container[str]) -> Iterator[str]:
    """Return the names for roots that the program has given none: y, z, u, v, y2, y3 ... that are not taken.

    >>> from itertools import islice
    >>> list(islice(root_names(["y", "u"]), 3))
    ['z', 'v', 'y2']
    """
    return (name for name in chain("yzuv", (f"y{number}" for number in count(2))) if name not in other_names)


def with_letters(graph: Graph) -> Graph:
    """Return the graph with a letter for each result, and each operand outside of it, without a name: formulas need one."""
    nodes = dict(graph.by_id)
    texts = {text for node in graph.nodes for text in (node.name, node.expression, *node.recorded.given)}.union(
        row.name for row in graph.tensors
    )
    texts.add(REMARKS.sub("", graph.code))  # the program's numbers and functions have names, too
    names = {name for text in texts if text for name in re.findall(r"\w+", text)}  # also a of a.weight
    output_sources = {
        edge.source for edge in graph.edges if edge.kind == "data" and nodes[edge.target].kind == "output"
    }
    free = (letter for letter in letters() if letter not in names)
    letter_of: dict[Numbers, str] = {}  # what is given to several operations, as the x of one round, has one letter
    used = defaultdict[str, set[int]](set)
    for edge in graph.edges:
        if edge.kind == "data":
            used[edge.source].add(edge.output)
    for node in graph.inputs_first():
        recorded = node.recorded
        is_several = len(used[node.id]) > 1 or (node.name is not None and not node.is_letter and any(used[node.id]))
        if node.kind == "operation" and (recorded.outputs or is_several):  # each of several tensors has its own name
            own = filled(recorded.outputs or (node.name or "",), used[node.id], free)
            name = node.name or next(filter(None, own), None)
            nodes[node.id] = node._replace(name=name, recorded=recorded._replace(outputs=own))
            continue
        if node.kind == "operation" and node.name is None and node.id not in output_sources:
            # all fields at once: a third of the time of _replace, and nearly all nodes come here
            nodes[node.id] = tuple.__new__(Node, (*node[:3], next(free), *node[4:8], True, *node[9:]))
        if "" in recorded.given and any(numbers is not None for numbers in recorded.given_numbers):
            given = tuple(
                text or ("" if numbers is None else letter_of.get(numbers) or letter_of.setdefault(numbers, next(free)))
                for text, numbers in zip(recorded.given, recorded.given_numbers, strict=True)
            )
            nodes[node.id] = nodes[node.id]._replace(recorded=recorded._replace(given=given))
    return graph.changed(nodes=tuple(nodes.values()))


def filled(names: Sequence[str], used: Collection[int], free: Iterator[str]) -> tuple[str, ...]:
    """Return the names of an operation's outputs, with a free one for each output that is used and has none.

    >>> filled(["", "f"], {0, 2}, iter("abc"))
    ('a', 'f', 'b')
    """
    count = max(len(names), 1 + max(used, default=0))
    padded = (*names, *[""] * (count - len(names)))
    return tuple([name or (next(free) if at in used else "") for at, name in enumerate(padded)])
