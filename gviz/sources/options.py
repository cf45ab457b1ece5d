"""How a source is to be read, what is said while it is read, and the result of an expression."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal, TypeAlias

from gviz.errors import SourceError
from gviz.graphs.numbers import ALL_ELEMENTS, FEW_ELEMENTS
from gviz.records import record
from gviz.text import excerpt, joined

Level: TypeAlias = Literal["note", "warning", "error", "dim"]
"""How loud a note is: ``dim`` is for a terminal only, ``error`` goes with exit status 1."""


@record
class SourceOptions:
    """How to read a source; every field has the command line's default.

    >>> SourceOptions(values={"x": 2, "W": [[1, 2.5]], "b": "ones(2,2)"}).values
    {'x': '2', 'W': '[[1, 2.5]]', 'b': 'ones(2,2)'}

    Args:
        values: name -> value, in the order given: a number, nested lists, an array or a tensor, or a text as it is
            typed on the command line. Arrays and tensors are kept as they are, all others as texts.
        roots: names of the root tensors, in the order asked for; empty leaves it to the source. One name may stand
            alone, here
            and below: ``roots="loss"``.
        frozen: names of tensors that require no gradient.
        retain: names of intermediates that keep their gradient.
        dtype: of the values, ``float32``, ``float64`` ...; None is float32.
        backward: whether an expression runs backward from its roots.
        grad_output: a value with the root's shape, or ``ones``: what backward starts from if a root is not a scalar.
        stop_at: where the run of a script ends: ``backward`` after the first call of it, ``backward:3`` after the
            third; "" for its own end.
        until: likewise: ``12`` before line 12 runs for the first time, ``12:3`` for the third; ``cell 2:1`` before line
            1 of a notebook's second code cell runs, ``cell 2:1:3`` for the third time.
        watch: name of a tensor of a script whose changes are told; "" for none.
        on_interrupt: ``raise`` KeyboardInterrupt if Ctrl-C interrupts a script, or ``draw`` its graph as far as it
            came.
        engine: ``gviz``, ``torch`` or ``auto``; expressions are always gviz's own.
        on_error: ``draw`` a script's graph as far as it came, or ``stop``.
        saved: whether saved tensors become nodes.
        details: whether each operation of a large graph lists what it saved, which takes longer than the rest of the
            walk.
        folds: whether every operation lists it, since blocks that repeat are told by it.
        shares: whether it tells the gradients that operations hand on: what each block of a fold hands to a leaf that
            all use. Not in a script that calls backward more than 100 times.
        flow: whether the graph tells local derivatives, and the gradients on their way.
        lines: whether it tells the line of each operation, for which a script takes 1.1 to 1.6 times as long.
        functions: whether it tells the calls of a script's functions that operations were recorded in; with ``lines``.
        kept: whether it tells how many bytes each operation keeps for backward; not in a script that calls it more than
            100 times.
        costs: whether it also tells how long each operation took.
        jacobians: whether it has the Jacobians of small operations as well; it needs ``flow``.
        is_whole: whether the graph lists all elements of large tensors, and not only what they come to.
        diagnose: whether what is read is to answer why a gradient is what it is: the gradients on their way through
            graphs of thousands of operations, too, and of a script the graph of the first backward that brought nan or
            inf to stay. It sets ``lines`` and ``flow``.
        order: how many times each root is differentiated; the graph is that of the derivatives then.
        wrt: names of the tensors to differentiate by; empty for all leaves.
        argv: a script's own arguments.
        static: whether a static graph is wanted, of an expression too.
        graph: name of the static graph that is wanted of a script; "" for the default one.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    roots: tuple[str, ...] = ()
    frozen: tuple[str, ...] = ()
    retain: tuple[str, ...] = ()
    dtype: str | None = None
    backward: bool = True
    grad_output: str | None = None
    stop_at: str = ""
    until: str = ""
    watch: str = ""
    on_interrupt: str = "raise"
    engine: str = "auto"
    on_error: str = "draw"
    saved: bool = False
    details: bool = True
    folds: bool = False
    shares: bool = False
    flow: bool = False
    lines: bool = False
    functions: bool = False
    kept: bool = False
    costs: bool = False
    jacobians: bool = False
    is_whole: bool = False
    diagnose: bool = False
    order: int = 0
    wrt: tuple[str, ...] = ()
    argv: tuple[str, ...] = ()
    static: bool = False
    graph: str = ""

    def __post_init__(self) -> None:
        """Keep values as sources read them, names as tuples.

        SourceError for a value that is neither a number nor a list.
        """
        values = {name: value if _is_array(value) else typed_value(name, value) for name, value in self.values.items()}
        lists = {name: getattr(self, name) for name in ("roots", "frozen", "retain", "wrt", "argv")}
        words = {name: (given,) if isinstance(given, str) else tuple(given) for name, given in lists.items()}
        places = {name: getattr(self, name) for name in ("stop_at", "until")}
        stops = {name: stop_text(name, str(place)) for name, place in places.items() if place}
        asked = {name: getattr(self, name) or self.diagnose for name in ("lines", "flow")}
        vars(self).update({**words, **stops, **asked, "values": values})

    @property
    def most(self) -> int:
        """Elements of a tensor that are listed: all of them where they are multiplied, or written for programs."""
        return ALL_ELEMENTS if self.is_whole or self.jacobians else FEW_ELEMENTS


def stop_text(name: str, text: str, typed: str = "") -> str:
    """Return a place for a run to end at, if it is one; ``typed`` is the option as it was written.

    >>> stop_text("until", " 12:3 "), stop_text("stop_at", "backward"), stop_text("until", "cell 2, line 1")
    ('12:3', 'backward', 'cell 2:1')

    Raises:
        SourceError: it is neither a line nor, where that is what is asked for, ``backward``.
    """
    word, example = "backward", "backward, or backward:3 for"
    if name == "until":
        word, example = r"(cell\s+[1-9]\d*:)?[1-9]\d*", "12, cell 2:1 in a notebook, or 12:3 for"
    text = text.strip().replace(", line ", ":") if name == "until" else text.strip()
    if text and not re.fullmatch(rf"{word}(:[1-9]\d*)?", text):
        raise SourceError(f"{typed or '--' + name.replace('_', '-')} {excerpt(text)}: write {example} the third time")
    return text


def split_stop(text: str) -> tuple[str, int]:
    """Return the place for a run to end at, and which time, counted from 1.

    >>> split_stop("12:3"), split_stop("backward")
    (('12', 3), ('backward', 1))
    """
    word, _, count = text.partition(":")
    return word, int(count or 1)


def _is_array(value: Any) -> bool:
    """Return True for an array or a tensor of real numbers that has dimensions."""
    is_real = any(word in str(getattr(value, "dtype", "")) for word in ("float", "int", "bool"))
    return is_real and hasattr(value, "tolist") and len(value.shape) > 0


def typed_value(name: str, value: Any) -> str:
    """Return a value as people type it.

    >>> typed_value("x", (1, float("inf"), True))
    '[1, inf, True]'

    Raises:
        SourceError: it is neither a number nor a list of numbers.
    """
    match value.tolist() if hasattr(value, "tolist") else value:
        case str(text):
            return text
        case list() | tuple() | range() as items:
            return f"[{', '.join(typed_value(name, item) for item in items)}]"
        case int() | float() as number:
            return repr(number)
    raise SourceError(
        f"the value of {name!r} is neither a real number nor a list", hint="as in x=2, W=[[1, 2], [3, 4]]"
    )


def short_text(value: object) -> str:
    """Return a value as a message repeats it, in one line."""
    return excerpt(" ".join(str(value).split()))


def unused(options: SourceOptions, advice: Mapping[str, str]) -> list[Note]:
    """Return a warning for each option that was set though the source has no use for it: as it was typed, and what to do.

    >>> [note.text for note in unused(SourceOptions(values={"x": 2}, roots=("y",)), {"values roots": "use them before"})]
    ['x=2, --root y not used: use them before']

    Args:
        options: as they were given.
        advice: fields, with spaces between them -> what to do instead.
    """
    default, notes = SourceOptions(), []
    for fields, instead in advice.items():
        given = [(field, getattr(options, field)) for field in fields.split()]
        typed = [_typed(field, value) for field, value in given if value != getattr(default, field)]
        notes += [Note(f"{', '.join(typed)} not used: {instead}", "warning")] if typed else []
    return notes


def _typed(name: str, value: Any) -> str:
    """Return an option as the command line has it."""
    if name == "values":
        return joined([f"{each}={short_text(given)}" for each, given in value.items()], 3)
    if name == "backward":
        return "--no-backward"
    flag = "--root" if name == "roots" else f"--{name.replace('_', '-')}"
    return f"{flag} {excerpt(value if isinstance(value, str) else ','.join(value))}"


@record
class Note:
    """One line for standard error.

    Args:
        text: the line.
        level: how loud it is.
    """

    text: str
    level: Level = "note"

    def __str__(self) -> str:
        """Return the line."""
        return self.text
