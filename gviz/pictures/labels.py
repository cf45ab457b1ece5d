"""What a box says, as lines of text in inks: the same in a picture and in the terminal.

A line is a list of spans. How an ink looks, and how a text is quoted, is the business of the format that writes it.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Container, Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate
from typing import Any

from gviz.formulas.expressions import output_name, words_of
from gviz.formulas.formula import UNKNOWN, Formula
from gviz.formulas.operands import input_names, option_text, signed
from gviz.formulas.operations import PUT_IN
from gviz.graphs import (
    FREED,
    LEFT_OUT,
    LOST,
    OVERWRITTEN,
    REMARKS,
    RETURNED,
    Blocks,
    Card,
    Edge,
    Gradient,
    Graph,
    Hooked,
    Later,
    Node,
    Share,
)
from gviz.graphs.numbers import Element, Numbers, Sizes, size_of
from gviz.passes.elements import MINUS_ONE, is_finite, plus, sum_of, sum_text, times
from gviz.pictures.digits import EQUAL, Listing, decimal, decimals_at, level_that_holds, printed_sum
from gviz.pictures.options import RenderOptions
from gviz.pictures.picture import LARGE
from gviz.pictures.spans import Box, Line, Span, text_of
from gviz.text import amount, braced, bytes_text, joined, shorten

OPERATIONS = ("operation", "accumulate")
"""Kinds of boxes that hold no tensor; one with a name makes the tensor of that name."""

TOLD_IN_LINES = ("carried", "added", "removed", "changed", "unchanged")
"""Kinds of boxes that no single tensor belongs to: their expression is lines of text."""

MOST_VALUES = 4
"""A tensor of more elements shows its shape instead of its values."""

MOST_OUTPUTS = 8
"""Outputs of an operation whose values stand in its box."""

LONGEST_NAME, LONGEST_EXPRESSION = 60, 44
"""Characters of a name and of what an operation computes; of a longer one the middle is left out."""

LONGEST_STATEMENT = 40
"""Characters of a name with its value in one line."""

REPEATED, USED = "repeated", "used"
"""States of a leaf's boxes: one that is drawn again beside a later use, and the first, which says how often it is
used."""

SPACE_KEPT = "\N{NO-BREAK SPACE}"

BEFORE = " (before)"
"""What follows a gradient that was there when backward was called."""


TOLD = (*REMARKS, LEFT_OUT, RETURNED)
"""How the states begin that every view tells."""

_FIRST = ("self", "input")
"""What an operation keeps under these names comes first."""


# ------------------------------------------------------------------ numbers
def _number(value: Element) -> str:
    """Return a number with the seven significant digits that a float32 has.

    >>> _number(6.0), _number(2.302585092994046), _number(True), _number(math.nan), _number(-0.0)
    ('6', '2.302585', 'True', 'nan', '0')
    """
    return f"{value or 0.0:.7g}" if isinstance(value, float) else str(value)


def value_text(value: Numbers | None, precision: int | None = None) -> str:
    """Return a tensor's numbers: one, or nested brackets; with so many decimals, or with all digits that a float32 has.

    >>> from gviz.graphs.numbers import Summary
    >>> value_text(Numbers.of([[1.0, 2.0], [3.0, 4.5]])), value_text(Numbers((2000,), about=Summary(norm=3.0)))
    ('[[1, 2], [3, 4.5]]', 'norm 3')
    """
    if value is None:
        return "None"
    if value.elements is None:
        return "" if value.about is None else f"norm {decimal(value.norm, precision or 4)}"
    return nested_text(
        value.nested(_number(item) if precision is None else decimal(item, precision) for item in value.elements)
    )


def in_brackets(text: str) -> str:
    """Return a text as it stands between two signs.

    >>> in_brackets("-1"), in_brackets("1 - t²"), in_brackets("2·x"), in_brackets("[1, 2]"), in_brackets("exp(x - y)")
    ('(-1)', '(1 - t²)', '2·x', '[1, 2]', 'exp(x - y)')
    """
    depths = accumulate((sign in "([") - (sign in ")]") for sign in text)
    is_sum = any(sign == " " and not depth for sign, depth in zip(text, depths, strict=True))
    return f"({text})" if text.startswith("-") or is_sum else text


def nested_text(texts: Any) -> str:
    """Return texts in nested lists with brackets around them."""
    return f"[{', '.join(map(nested_text, texts))}]" if isinstance(texts, list) else str(texts)


def shape_text(shape: Sizes) -> str:
    """Return sizes as TorchViz writes them, ``?`` for an unknown one.

    >>> shape_text((3, None)), shape_text(())
    ('(3, ?)', '()')
    """
    return f"({', '.join('?' if size is None else str(size) for size in shape)})"


def size_text(shape: Sizes) -> str:
    """Return sizes so that nobody takes them for numbers: nothing for those of a number, ``?`` for an unknown one.

    >>> size_text((3, 2)), size_text((3,)), size_text((None, 4)), size_text(())
    ('3×2', 'size 3', '?×4', '')
    """
    sizes = ["?" if size is None else str(size) for size in shape]
    return f"size {sizes[0]}" if len(sizes) == 1 else "×".join(sizes)


def is_small(shape: Sizes) -> bool:
    """Return whether the values are few enough to be read in a box.

    >>> is_small(()), is_small((2, 2)), is_small((5,)), is_small((0, 3))
    (True, True, False, False)
    """
    return 0 < math.prod(size if isinstance(size, int) else 0 for size in shape) <= MOST_VALUES


def short_value(value: Numbers | None, precision: int = 4, most: int = 1000) -> str:
    """Return the values of a small tensor; the norm of a large one, and of one whose values take too many characters.

    >>> pair = Numbers.of([1.0, 2.5])
    >>> short_value(pair), short_value(pair, most=5), short_value(Numbers.of([3.0, 4.0, 0.0, 0.0, 0.0]))
    ('[1, 2.5]', 'norm 2.6926', 'norm 5')
    """
    return _brief_text(value, precision, most) or f"norm {decimal(norm(value), precision)}"


def equation(name: str, value: Numbers | None, precision: int = 4, most: int = 1000) -> str:
    """Return what a name is equal to: the values of a small tensor, or the norm, as :func:`short_value` decides.

    >>> pair = Numbers.of([3.0, 4.0])
    >>> equation("∂y/∂w", pair), equation("w.grad", pair, most=5)
    ('∂y/∂w = [3, 4]', '‖w.grad‖ = 5')
    """
    text = _brief_text(value, precision, most)
    return f"{name} = {text}" if text else f"‖{name}‖ = {decimal(norm(value), precision)}"


def is_brief(value: Numbers | None, precision: int = 4, most: int = 1000) -> bool:
    """Return whether the values of a tensor are written out, rather than its norm, where there is so much room."""
    return bool(_brief_text(value, precision, most))


def _brief_text(value: Numbers | None, precision: int, most: int) -> str:
    """Return the values of a small tensor; nothing for a large one, and where they take too many characters."""
    text = small_text(value, precision)
    return text if len(text) <= most else ""


def small_text(value: Numbers | None, precision: int | None = 4) -> str:
    """Return the values of a small tensor; nothing for a large one."""
    return value_text(value, precision) if value is not None and is_small(size_of(value)) else ""


def norm(value: Numbers | None) -> float:
    """Return the square root of the sum of the squares; 0 for none."""
    return value.norm if value is not None else 0.0


def matrix(line: Line) -> Iterator[Line]:
    """Yield a line with a matrix as print shows it: its rows below each other.

    >>> rows = matrix((Span("W", is_bold=True), Span(" = [[1, 2], [30, 4]]")))
    >>> [text_of(row).replace(SPACE_KEPT, "_") for row in rows]
    ['W = [[1, 2],_', '_____[30, 4]]']
    """
    *before, last = line
    head, bracket, rest = last.text.partition("[[")
    if "], [" not in rest:
        yield line
        return
    margin = SPACE_KEPT * (len(text_of((*before, Span(head)))) + 1)
    first, *others = rest.split("], [")
    rows = [f"{first}],", *(f"[{row}]," for row in others[:-1]), f"[{others[-1]}"]
    width = max(len(rows[0]) + 1, *(len(row) for row in rows[1:]))
    yield (*before, last._replace(text=f"{head}{bracket}{rows[0].ljust(width - 1, SPACE_KEPT)}"))
    for row in rows[1:]:
        yield (last._replace(text=margin + row.ljust(width, SPACE_KEPT)),)


def local_text(edge: Edge, precision: int = 4, sign: str = EQUAL) -> str:
    """Return a local derivative as its symbol and its number, with a sign between them: ``b = 2``.

    Where its product with the gradient is added up, that stands behind it: ``1, Σ over rows``.
    """
    texts = edge.flow.symbol, small_text(edge.flow.local, precision)
    text = f" {sign}".join(dict.fromkeys(filter(None, texts)))
    return ", ".join(filter(None, (text, sum_text(edge))))


# ------------------------------------------------------------------ boxes
def boxes(graph: Graph, options: RenderOptions, *, table: bool = True, has_frames: bool = False) -> list[Box]:
    """Return what each box says, in the order of the nodes.

    Operations without a name of their own share their boxes: in a large graph most are alike.

    Args:
        graph: what is drawn.
        options: how it is drawn.
        table: whether what operations saved is written in columns.
        has_frames: whether the boxes stand in frames with titles, which need not be repeated in the boxes.
    """
    words = words_of(graph) if options.show and len(graph.nodes) <= LARGE else {}
    has_lines = "line" in options.show
    outputs = {node.id for node in graph.nodes if node.kind == "output"}
    with_boxes = {edge.source for edge in graph.edges if edge.kind == "data" and edge.target in outputs}
    roots, results = set(graph.roots), {edge.target for edge in graph.edges}
    names = {node.name for node in graph.nodes if node.id in roots}
    born = not_finite_first(graph) if "value" in options.show else set()
    norms = [node.card.grad for node in graph.nodes if node.card is not None and node.card.grad is not None]
    most = max(norms) if len(norms) > 1 else 0.0
    known: dict[tuple[object, ...], Box] = {}
    result, has_attrs = [], "attrs" in options.show
    texts = {node.id: words[node.id].expression if node.id in words else node.expression for node in graph.nodes}
    if graph.kind == "static":  # which derivative it is; of the dynamic half no formula with gaps
        texts |= {node.id: node.expression for node in graph.nodes if node.expression or UNKNOWN in texts[node.id]}
    printed = [node for node in graph.nodes if "value" in options.show and small_text(node.value)]
    listing = Listing([node._replace(expression=texts[node.id]) for node in printed], graph, options.precision, 1)
    for each in graph.nodes:
        node = each._replace(expression=texts[each.id])
        if has_frames and node.region >= 0:
            node = with_short_names(node, graph.regions[node.region].title)
        own, kind = node.id, node.kind
        if node.name is None and kind in OPERATIONS and own not in roots and own not in born:
            place = has_lines and (node.place, node.recorded.is_written)
            key = (
                node.label,
                node.shape,
                node.expression,
                node.state,
                own in with_boxes,
                has_attrs and node.recorded.attrs,
                node.grad.hooks,
                place,
                node.blocks,
            )
            box = known.get(key)
            if box is None:
                box = known[key] = _box_of(node, options, has_box=own in with_boxes, table=table)
        else:
            if node.scope and (node.name or "").removeprefix(f"{node.scope}/") in names - {node.name}:
                node = node._replace(module=None)  # the y of add_1/y is not the root y
            is_leaf = (
                kind == "output" and own not in results and bool(options.show)
            )  # TorchViz's own root is one all the same
            shown = node._replace(kind=leaf_kind(node)) if is_leaf else node
            facts = {"has_box": own in with_boxes, "is_root": own in roots, "is_born": own in born}
            box = _box_of(shown, options, table=table, most=most, sign=listing.sign(node), **facts)
        result.append(box)
    return result


def leaf_kind(root: Node) -> str:
    """Return the kind of a root that no operation has made: a leaf, or frozen, which keeps no gradient."""
    return "frozen" if root.state == "frozen" else "leaf"


def with_short_names(node: Node, frame: str) -> Node:
    """Return a node in whose texts the names of what is in its frame do not begin with the frame's title.

    >>> node = with_short_names(Node("n0", "group", "Linear", "net.b.fc", expression="net.b.ln + net.b.0"), "net.b")
    >>> node.name, node.expression
    ('fc', 'ln + net.b.0')
    """
    prefix = re.compile(rf"(?<![\w.]){re.escape(frame)}\.(?=[^\W\d])")  # a number alone would be no name
    name = node.name and prefix.sub("", node.name)
    return node._replace(label=prefix.sub("", node.label), name=name, expression=prefix.sub("", node.expression))


def _box_of(
    node: Node,
    options: RenderOptions,
    *,
    has_box: bool,
    table: bool,
    is_root: bool = False,
    is_born: bool = False,
    most: float = 0.0,
    sign: str = EQUAL,
) -> Box:
    """Return what one box says; ``is_born`` if nan or inf begin there, others as for :func:`lines`."""
    if node.state == REPEATED:
        return Box("repeat", (name_line(node),))
    rows = [*lines(node, options, has_box=has_box, table=table, most=most, sign=sign), *uses_line(node)]
    if is_born:
        text = node.value.not_finite if node.value is not None else ""
        rows.append((Span(f"{text} begins here", "error", is_bold=True),))
    is_error = any(span.ink == "error" for line in rows for span in line)
    return Box("output" if is_root and node.kind == "operation" else node.kind, tuple(rows), is_root, is_error)


def name_line(node: Node) -> Line:
    """Return all that a leaf's box says beside a later use."""
    return (Span(short(node.name or "", LONGEST_NAME)),)


def uses_line(node: Node) -> list[Line]:
    """Return the line that says how often a leaf is used, if it is drawn again."""
    return [(Span(node.state, "muted"),)] if node.state.startswith(f"{USED} ") else []


def why_without_numbers(graph: Graph) -> str:
    """Return why the numbers of a graph's backward are not known."""
    from gviz.walk import MOST_FLOWING  # few pictures need it

    if sum(node.kind == "operation" for node in graph.nodes) > MOST_FLOWING:
        return f"the graph has more than {MOST_FLOWING} operations"
    if any(node.state == FREED for node in graph.nodes):
        return "backward has freed the graph; draw it before, or after backward(retain_graph=True)"
    if any(node.state == OVERWRITTEN for node in graph.nodes):
        return "a tensor that was saved for backward was written in place since; draw the graph before that"
    if graph.code and all(node.grad.value is None for node in graph.nodes):
        return "no backward ran"
    return "the graph was made, or saved, without them; name the view there, too"


def lacks_steps(graph: Graph) -> bool:
    """Return whether an operation has lost what it saved before anybody knew what it hands on."""
    lost = [node for node in graph.nodes if node.state in LOST]
    return any(all(edge.flow.handed is None for edge in graph.inputs[node.id]) for node in lost)


def is_alarming(node: Node) -> bool:
    """Return whether a tensor has nan or inf, but for an infinity that its operation puts in, as for a mask."""
    value = node.value
    return value is not None and not is_finite(value) and (value.has_nan or not node.label.startswith(PUT_IN))


def not_finite_first(graph: Graph) -> set[str]:
    """Return the ids of the operations that make nan or inf out of finite inputs, as far as the values are known."""
    bad = {node.id for node in graph.nodes if is_alarming(node)}
    if not bad:
        return set()
    known = {node.id for node in graph.nodes if node.value is not None or node.kind == "accumulate"}
    born = {node.id for node in graph.nodes if node.id in bad and node.kind == "operation"}
    for edge in graph.edges if born else ():
        if edge.source in bad or edge.source not in known:
            born.discard(edge.target)
    return born


def lines(
    node: Node,
    options: RenderOptions,
    *,
    has_box: bool = False,
    table: bool = True,
    most: float = 0.0,
    sign: str = EQUAL,
) -> list[Line]:
    """Return what the box of a node says, top line first.

    Args:
        node: a box of the picture.
        options: ``show``, ``precision`` and ``max_chars`` are read.
        has_box: whether what the operation makes has a box of its own, which then tells its name and value.
        table: whether what the operation saved stands in columns.
        most: see :func:`card_lines`.
        sign: what stands before the value that an operation computes.

    >>> from gviz.graphs import Node
    >>> from gviz.pictures.options import RenderOptions
    >>> three, one = Numbers((), "float32", (3.0,)), Numbers((), "float32", (1.0,))
    >>> operation = Node("n0", "operation", "AddBackward0", name="a", numbers=three, expression="x + w")
    >>> [text_of(line) for line in lines(operation, RenderOptions())]
    ['AddBackward0', 'a = x + w = 3']
    >>> [text_of(line) for line in lines(Node("n0", "leaf", name="w", numbers=one), RenderOptions())]
    ['w = 1', 'grad = None']
    """
    show = options.show
    if node.card is not None:
        return card_lines(node, node.card, options, most)
    if not show:
        return [(Span(text),) for text in _torchviz(node)]
    is_operation = node.kind in OPERATIONS
    rows: list[Line] = [(Span(node.label),)] if node.label and node.kind != "saved" else []
    if node.kind in TOLD_IN_LINES:
        rows += [(Span(line, "muted"),) for line in node.expression.split("\n") if line]
    elif is_operation and (has_box or node.name is None):
        sizes = short(size_text(node.shape), LONGEST_NAME) if node.shape and node.kind == "operation" else ""
        about = short(node.expression, min(LONGEST_EXPRESSION, options.max_chars)) or sizes
        rows += [(Span(about, "muted"),)] if about else []
    else:
        rows += value_lines(node, options, sign)
        rows += [*gradient_line(node, options), *before_line(node, options)] if "grad" in show else []
    rows += [*hook_lines(node, options), *block_lines(node, options)]
    is_root = (node.kind, node.state) == ("output", "not retained")  # no root keeps it
    is_reason = node.kind == "frozen" and node.state != node.kind
    if node.state and not node.state.startswith(TOLD) and (is_reason or ("state" in show and not is_root)):
        rows.append((Span(node.state, "muted"),))
    rows += [] if is_operation and has_box else later_lines(node, options)
    rows += place_lines(node, options)
    if "attrs" in show and is_operation:
        rows += [(Span(cell),) for cell in _attributes(node, options.max_chars, table=table)]
    return rows


BRIEF = 30
"""Characters of a line from which down boxes are short."""

MOST_SIZES = 4
"""Sizes that a group's box tells of what goes in, and of what goes out."""


def card_lines(node: Node, card: Card, options: RenderOptions, most: float = 0.0) -> list[Line]:
    """Return what the box of a group says: its name and class, what is in it, what goes through it.

    >>> from gviz.graphs import Node
    >>> card = Card("Linear", 2, 2, 20, ((3, 4),), ((3, 4),), 2048, 0.5)
    >>> [text_of(line) for line in card_lines(Node("n0", "group", name="net.fc", card=card), card, RenderOptions(), 1.0)]
    ['net.fc  Linear', '2 operations, 2 KiB saved', '20 numbers in 2 parameters', '3×4 → 3×4', '‖grad‖ = 0.5 ████']

    Args:
        node: the group.
        card: what is known of it.
        options: ``show``, ``precision`` and ``max_chars`` are read: with short lines there are no amounts.
        most: the largest norm of a gradient of all groups, to which a bar is drawn; 0 for no bar.
    """
    is_brief, name = options.max_chars <= BRIEF, Span(short(node.name or node.label, LONGEST_NAME), is_bold=True)
    kind = short(card.kind, min(LONGEST_EXPRESSION, options.max_chars))
    is_code = " " in kind
    rows: list[Line] = [(name, Span(f"  {kind}", "muted")) if kind and not is_code else (name,)]
    rows += [(Span(kind, "muted"),)] if is_code else []
    kept = f", {bytes_text(card.kept)} saved" if card.kept is not None else ""
    rows += [] if is_brief else [(Span(f"{amount(card.operations, 'operation')}{kept}", "muted"),)]
    if card.parameters and not is_brief:
        rows.append((Span(f"{card.elements:,} numbers in {amount(card.parameters, 'parameter')}", "muted"),))
    sides = [
        joined((size_text(shape) or "number" for shape in shapes), 1 if is_brief else MOST_SIZES)
        for shapes in (card.inputs, card.outputs)
    ]
    if any(sides):
        text = " → ".join(sides).strip() if sides[1] else f"from {sides[0]}"
        rows.append((Span(text, "muted"),))
    if card.grad is not None and "grad" in options.show:
        text = f"‖grad‖ = {decimal(card.grad, options.precision)} {bar(card.grad, most)}"
        rows.append((Span(text.rstrip(), "gradient"),))
    return [*rows, *block_lines(node, options)]


BAR, EIGHTHS = 8, " ▏▎▍▌▋▊▉"
"""Characters of the longest bar, and what it ends with."""


def bar(part: float, whole: float) -> str:
    """Return a bar as long as a number is of the largest one; the least that can be seen for what is not 0.

    >>> bar(1.0, 1.0), bar(0.3, 1.0), bar(1e-9, 1.0), bar(0.0, 1.0), bar(1.0, 0.0)
    ('████████', '██▍', '▏', '', '')
    """
    if not 0 < part <= whole or not math.isfinite(whole):
        return ""
    full, rest = divmod(max(round(BAR * len(EIGHTHS) * part / whole), 1), len(EIGHTHS))
    return f"{'█' * full}{EIGHTHS[rest]}".rstrip()


MOST_VARYING, MOST_SHARES = 3, 6
"""Numbers that vary, and shares of a gradient, that a box lists."""


def block_lines(node: Node, options: RenderOptions) -> list[Line]:
    """Return what is known of all blocks of a fold: numbers that vary, ranges, and shares of a gradient.

    >>> from gviz.graphs import Blocks, Node, Share, Varying
    >>> shares = Share("3", Numbers.of(0.5)), Share("2", Numbers.of(0.25)), Share("", Numbers.of(0.1))
    >>> blocks = Blocks((Varying("alpha", ("0.1", "0.2", "0.4", "0.8")),), (1.0, 2.5), shares=shares)
    >>> [text_of(line) for line in block_lines(Node("n0", "leaf", blocks=blocks), RenderOptions())]
    ['alpha varies: 0.1, 0.2, … 0.8', 'all blocks: 1 … 2.5', 'block 3: 0.5 ████████', '2: 0.25 ████', 'elsewhere: 0.1 █▋']
    """
    blocks = node.blocks or Blocks()
    rows: list[Line] = []
    for one in blocks.varies[:MOST_VARYING]:
        text = f"{one.name} varies: ".lstrip() + braced([option_text(text) for text in one.texts])[1:-1]
        rows.append((Span(short(text, LONGEST_EXPRESSION), "muted"),))
    if len(blocks.varies) > MOST_VARYING:
        rows.append((Span(f"{len(blocks.varies) - MOST_VARYING} more vary", "muted"),))
    is_number = node.card is None and (node.numbers is None or node.numbers.numel == 1)
    for ends, name, word in ((blocks.values, "norm", "value"), (blocks.grads, "‖grad‖", "grad")):
        if ends and word in options.show:
            own = ("grad " if word == "grad" else "") if is_number else f"{name} "
            least, most = (decimal(end, options.precision) for end in ends)
            span = "nan" if math.isnan(ends[0]) else least if least == most else f"{least} … {most}"
            rows.append((Span(f"all blocks: {own}{span}", "gradient" if word == "grad" else "muted"),))
    total = node.grad.value if node.grad.before is None else None
    return [*rows, *(share_lines(blocks.shares, total, options) if blocks.shares and "grad" in options.show else [])]


def share_lines(shares: Sequence[Share], total: Numbers | None, options: RenderOptions) -> list[Line]:
    """Return what blocks have handed to the gradient of a leaf, the last first: what it is the sum of, or norms.

    Numbers have the decimals with which they add up to the gradient as it is printed.
    """
    is_number = all(share.grad.numel == 1 and share.grad.elements for share in shares)
    own = [share for share in shares if share.block]
    few = own if len(own) <= MOST_SHARES else own[:MOST_SHARES]
    rest = sum_of([share.grad for share in own[len(few) :]]) if is_number else None
    named: list[tuple[str, Numbers]] = [(share.block, share.grad) for share in few]
    named += [(f"{len(own) - len(few)} others", rest)] if rest is not None else []
    named += [("elsewhere", share.grad) for share in shares if not share.block]
    numbers = [(name, one.elements[0] if is_number and one.elements else one.norm) for name, one in named]
    sizes = [abs(number) if isinstance(number, float) else 0.0 for _, number in numbers]
    parts = [one for _, one in named]
    level = (
        level_that_holds(total or sum_of(parts), options.precision, partial(printed_sum, parts, options.precision))
        if is_number
        else 0
    )
    texts = [
        f"{name}: {decimal(number, decimals_at(one, options.precision, level))} {bar(size, max(sizes))}".rstrip()
        for (name, number), one, size in zip(numbers, parts, sizes, strict=True)
    ]
    texts[len(few) : len(few)] = ["…"] * (len(few) < len(own) and rest is None)
    head = "block " if is_number else "norms: block "
    return [(Span(f"{'' if number else head}{text}", "gradient"),) for number, text in enumerate(texts)]


def later_lines(node: Node, options: RenderOptions) -> list[Line]:
    """Return the line that says what the program has made of a tensor since its backward ran.

    >>> from gviz.graphs import Later, Node, Place
    >>> later = Later(Numbers.of(2.8), is_cleared=True, cleared_at=Place(9))
    >>> [text_of(line) for line in later_lines(Node("n0", "leaf", later=later), RenderOptions())]
    ['now 2.8; grad cleared, line 9']
    """
    text = later_text(node.later, options.show, options.precision)
    told = [node.state] * node.state.startswith(TOLD)
    return [(Span(line, "muted"),) for line in (text, *told) if line]


def hook_lines(node: Node, options: RenderOptions) -> list[Line]:
    """Return what hooks of the program have made of a gradient, each with both numbers.

    >>> from gviz.graphs import Hooked, Gradient, Place
    >>> change = Hooked(Numbers.of(10.0), Numbers.of(20.0), Place(4))
    >>> [text_of(line) for line in hook_lines(Node("n0", "leaf", grad=Gradient(hooks=(change,))), RenderOptions())]
    ['10 → 20: a hook, line 4']
    """
    hooks = node.grad.hooks if "grad" in options.show else ()
    return [(Span(change_text(change, options.precision), "muted"),) for change in hooks]


def change_text(change: Hooked, precision: int = 4) -> str:
    """Return what a hook has made of a gradient: ``10 → 20: a hook, line 4``."""
    texts = ["None" if one is None else short_value(one, precision) for one in (change.given, change.made)]
    words = {"arrived": "", "handed": "hands on ", "grad": "grad "}
    return f"{words.get(change.kind, '')}{' → '.join(texts)}: {change.where}"


def cause_of_hooks(hooks: Iterable[Hooked]) -> str:
    """Return what hooks have done, in words, with the lines where they were registered.

    >>> from gviz.graphs import Hooked, Place
    >>> cause_of_hooks([Hooked(place=Place(5)), Hooked(place=Place(4))]), cause_of_hooks([Hooked()])
    ('hooks, line 4, line 5, have changed it', 'a hook has changed it')
    """
    places = sorted({one.place.without_run for one in hooks if one.place is not None})
    if len(places) > 1:
        return f"hooks, {', '.join(map(str, places))}, have changed it"
    return f"a hook, {places[0]}, has changed it" if places else "a hook has changed it"


def is_added(node: Node) -> bool:
    """Return whether backward adds to the gradient of a leaf: it need not be asked to."""
    return not node.state.startswith((LEFT_OUT, RETURNED))


def later_text(later: Later | None, show: Container[str], precision: int = 4) -> str:
    """Return what the program has made of a tensor, its value or its gradient, in the words of all views."""
    parts = []
    if later is not None and later.numbers is not None and "value" in show:
        parts.append(f"now {small_text(later.numbers, precision) or value_norm(later.numbers, precision)}")
    if later is not None and "grad" in show and (later.is_cleared or later.cleared_at is not None):
        parts.append("grad cleared" + (f", {later.cleared_at}" if later.cleared_at is not None else ""))
    elif later is not None and "grad" in show and later.grad is not None:
        text = short_value(later.grad, precision)
        parts.append(f"grad {text} is of {later.other}" if later.other else f"grad now {text}")
    if later is not None and later.requires_grad is not None:
        word = "now requires grad" if later.requires_grad else "now frozen"
        parts.append(word + (f", {later.set_at}" if later.set_at is not None else ""))
    return "; ".join(parts)


def place_lines(node: Node, options: RenderOptions) -> list[Line]:
    """Return the line that says where an operation stands in the program, if that is to be shown and known."""
    return [(Span(place_text(node), "muted"),)] if "line" in options.show and node.place is not None else []


def place_text(node: Node) -> str:
    """Return where an operation stands in the program: ``line 3``, ``model.py:3``; of an expression the column.

    >>> from gviz.graphs import Node, Place, Recorded
    >>> places = Place(3), Place(1, "", 5), Place(2, "", 5)
    >>> [place_text(Node("n0", "operation", place=place)) for place in places]
    ['line 3', 'column 5', 'line 2, column 5']
    >>> place_text(Node("n0", "operation", place=Place(9), recorded=Recorded(is_written=True)))
    'written in place at line 9'
    """
    if node.place is None:
        return ""
    column = f"column {node.place.column}" if node.place.column else ""
    place = column if column and node.place.line == 1 else ", ".join(filter(None, [str(node.place), column]))
    return f"written in place at {place}" if node.recorded.is_written else place


def short(text: str, most: int) -> str:
    """Return the text, the middle of a longer one left out."""
    return text if len(text) <= most else shorten(text, most, middle=True, mark="…")


def statement_of(node: Node, options: RenderOptions) -> Formula | None:
    """Return the formula of a statement of several operations, which stands in place of a sign; None of any other node.

    >>> texts = "x + w", "x*w + 1"
    >>> nodes = [Node("n0", "operation", "AddBackward0", "a", expression=text) for text in texts]
    >>> [str(statement_of(node, RenderOptions(by="statement"))) for node in nodes]
    ['None', 'x·w + 1']
    """
    formula = Formula.read(node.expression) if options.by == "statement" and node.kind == "operation" else None
    parts = ast.iter_child_nodes(formula.node) if formula is not None else ()
    is_one = all(isinstance(part, ast.Name | ast.Constant | ast.operator) for part in parts)
    return None if is_one else formula


def _torchviz(node: Node) -> list[str]:
    """Return TorchViz's own label: the class of an operation; the name of a tensor, known or not, above its shape."""
    if node.kind in OPERATIONS:
        return [node.label]
    if node.kind in ("placeholder", "variable"):
        return [node.label, _name(node)]
    name = (node.label or node.name) if node.kind == "saved" else node.name
    return [name or "", f" {shape_text(node.shape if node.shape is not None else ())}"]


def name_along(edge: Edge, source: Node) -> str:
    """Return what the tensor is called that goes along an edge: one of several outputs has a name of its own."""
    return output_name(source, edge.output) or "·"


def outputs_line(node: Node) -> Line:
    """Return the names of several outputs, and what they are computed by."""
    names = [Span(short(name or "_", LONGEST_NAME), is_bold=True) for name in node.recorded.outputs]
    head = [part for name in names for part in (name, Span(", "))][:-1]
    return (*head, Span(f" = {short(node.expression, LONGEST_EXPRESSION)}")) if node.expression else tuple(head)


def result_lines(node: Node, options: RenderOptions) -> Iterator[Line]:
    """Yield the value of each of several outputs, if they are few and it is known."""
    recorded = node.recorded
    if "value" not in options.show or sum(map(bool, recorded.outputs)) > MOST_OUTPUTS:
        return
    for number, name in enumerate(recorded.outputs):
        if name and recorded.result(number) is not None:
            own = Node(node.id, node.kind, name=name, numbers=recorded.result(number))
            yield from value_lines(own, options)


def value_lines(node: Node, options: RenderOptions, sign: str = EQUAL) -> list[Line]:
    """Return name, shape, dtype, expression and value, on one line if they fit; of several outputs all names first.

    Args:
        node: a tensor, or what makes one.
        options: ``show``, ``precision`` and ``max_chars`` are read.
        sign: what stands before the value of what has an expression: see :meth:`Listing.sign`.
    """
    if node.recorded.outputs:
        return [outputs_line(node), *result_lines(node, options)]
    show = options.show
    shape = node.shape
    text = small_text(node.value, options.precision) if "value" in show else ""
    has_value = 0 < len(text) <= options.max_chars
    name, expression = (
        short(_name(node), LONGEST_NAME),
        short(node.expression, min(LONGEST_EXPRESSION, options.max_chars)),
    )
    sizes = [short(size_text(shape), LONGEST_NAME)] if shape and ("shape" in show or not has_value) else []
    dtype = (Span(f" {node.dtype}", "muted"),) if "dtype" in show and node.dtype else ()
    head = [Span(name, is_bold=True)] if name else []
    sign = sign if expression and name else EQUAL
    if expression and name:
        head.append(Span(f" = {expression}"))
    if sizes:
        head.append(Span((" " if head else "") + " ".join(sizes), "muted"))
    if "value" in show and not has_value and node.value is not None and not is_finite(node.value):
        head.append(Span(f" has {node.value.not_finite}", "error" if is_alarming(node) else "muted"))
    rows: list[Line] = [(*head, *dtype)] if head else []
    if has_value:
        ink = "error" if is_alarming(node) else ""
        if len(text_of(tuple(head))) + len(text) + 3 <= min(LONGEST_STATEMENT, options.max_chars) or not head:
            rows = [(*head, Span(f" {sign}{text}" if head else text, ink), *dtype)]
        else:
            rows = [tuple(head), (Span(f"{sign}{text}", ink), *dtype)]
    is_changed = node.later is not None and node.later.numbers is not None
    if is_changed and "value" in show and not has_value and node.value is not None and is_finite(node.value):
        rows.append((Span(value_norm(node.value, options.precision)),))  # what it is now stands below
    return rows


def value_norm(value: Numbers, precision: int = 4) -> str:
    """Return the norm of a tensor's value, as an equation.

    >>> value_norm(Numbers.of([3.0, 4.0]))
    '‖value‖ = 5'
    """
    return f"‖value‖ = {decimal(value.norm, precision)}"


def gradient_line(node: Node, options: RenderOptions) -> list[Line]:
    """Return the line about the gradient: its values, or its norm; None for a leaf that waits for one."""
    if node.grad.value is None:
        return [(Span("grad = None", "muted"),)] if node.kind == "leaf" and node.state != "frozen" else []
    remark = "  (retained)" if node.kind != "leaf" and node.state == "retained" else ""
    text = small_text(node.grad.value, options.precision)
    if not is_finite(node.grad.value):
        text = f"= {text}" if text else f"has {node.grad.value.not_finite}"
        return [(Span(f"grad {text} ⚠", "error", is_bold=True),)]
    if not node.grad.value.is_known:
        return [(Span(f"grad {size_text(node.grad.value.shape or ())}{remark}", "gradient"),)]
    text = equation("grad", node.grad.value, options.precision, options.max_chars)
    return [(Span(f"{text}{remark}", "gradient"),)]


def before_line(node: Node, options: RenderOptions) -> list[Line]:
    """Return the line that tells a leaf's gradient before backward, if it was not 0, from what was added.

    >>> from gviz.graphs import Gradient
    >>> leaf = Node("n0", "leaf", grad=Gradient(Numbers.of(111.0), before=Numbers.of(108.0)))
    >>> [text_of(line) for line in before_line(leaf, RenderOptions())]
    ['= 108 (before) + 3']
    """
    before, value = node.grad.before, node.grad.value
    is_known = node.kind == "leaf" and norm(before) > 0 and is_brief(value, options.precision, options.max_chars)
    added = of_one_pass(node.grad) if is_known and not node.grad.hooks else None
    if added is None or not is_small(size_of(added)) or not is_finite(added):
        return []
    first, second = (value_text(part, options.precision) for part in (before, added))
    text = f"= {first}{BEFORE} + {in_brackets(second)}"
    return [(Span(text, "gradient"),)] if len(text) <= options.max_chars else []


def of_one_pass(grad: Gradient) -> Numbers | None:
    """Return what the backward of a graph has brought, without what was there before; None where that is not known.

    >>> from gviz.graphs import Gradient
    >>> [value_text(of_one_pass(Gradient(Numbers.of(111.0), before))) for before in (None, Numbers.of(108.0))]
    ['111', '3']
    """
    return plus(grad.value, times(grad.before, MINUS_ONE)) if norm(grad.before) > 0 else grad.value


def _name(node: Node) -> str:
    """Return what a tensor is called: its name below its scope, for a saved one also what it is kept as."""
    if node.kind == "saved" and node.label and node.name and node.name != node.label:
        return f"{node.label}: {node.name}"
    if node.scope and node.name:
        return node.name.removeprefix(f"{node.scope}/")  # its cluster has the rest
    return node.name or (node.label if node.kind == "saved" else "")


def _attributes(node: Node, most: int, *, table: bool) -> list[str]:
    """Return what an operation saved; tensors are left to the boxes of ``saved``."""
    rows = [
        (key, signed(text))
        for key, text in node.recorded.attrs
        if key not in node.recorded.tensors and not (text == node.state and text in LOST)
    ]
    width = max((len(key) for key, _ in rows), default=0) if table else 0
    cells = [f"{key:<{width}}: {text if len(text) <= most else shorten(text, most)}" for key, text in rows]
    longest = max(map(len, cells), default=0)
    return [cell.ljust(longest) for cell in cells]


def saved_text(node: Node, inputs: list[Edge], nodes: dict[str, Node]) -> str:
    """Return what an operation keeps for backward: tensors by their names, options by their values."""
    keys = input_names(node.label)
    only = inputs[0].slot if len(keys) == len(inputs) == 1 else None  # a number on the left has taken the first place
    names = {0 if edge.slot == only else edge.slot: name_along(edge, nodes[edge.source]) for edge in inputs}
    results = {
        "result": node.name,
        "result0": node.recorded.outputs[0] if node.recorded.outputs else "",
    }  # result1 ... are none of them
    outside = {nodes[edge.source].name: nodes[edge.source] for edge in inputs if nodes[edge.source].kind == "frozen"}
    known = {node.name or "": Formula.read(node.expression) for node in nodes.values() if node.kind == "frozen"}
    letters = {name: formula for name, formula in known.items() if formula is not None}
    parts = []
    for key, text in sorted(node.recorded.attrs, key=lambda pair: pair[0] not in _FIRST):
        if key.endswith(("_sym_sizes", "_sym_strides")) or text == "None" or (key, text) == ("alpha", "1"):
            continue
        is_tensor = text in LOST or key in node.recorded.tensors
        name = results.get(key) or (
            names.get(keys.index(key), "") if key in keys else dict(node.recorded.held).get(key, "")
        )
        own = [name if is_tensor else signed(text)]
        if is_tensor and name in outside:  # it has no box of its own
            formula = Formula.read(outside[name].expression)
            own += [formula.replaced(letters).python if formula is not None else "", small_text(outside[name].value)]
        parts.append(" = ".join(filter(None, [key, *own])))
    return ", ".join(parts)
