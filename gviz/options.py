"""Options as data: what a field of them says of itself, and how a source is to be read.

A field is declared once, by :func:`option`. The command line makes its option, its help and its refusals of it, the
record its docstring and its check.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from gviz.errors import SourceError
from gviz.graphs.numbers import ALL_ELEMENTS, FEW_ELEMENTS
from gviz.text import excerpt

Options = TypeVar("Options", bound=type)

BY_MODULE = {
    "class": "kind",
    "calls": "calls",
    "operations": "operations",
    "params": "parameters",
    "saved": "kept",
    "grad_norm": "grad",
}
"""The columns of a table by module, and what they are of a :class:`gviz.answers.summary.ModuleRow`."""


class Option(NamedTuple):
    """What a field of options says of itself.

    Args:
        text: what it does, in a sentence or two.
        words: what it may be; nothing for a number, a name or any text.
        flags: how it is typed; "" is ``--`` and the name of the field.
        metavar: what its value is called.
        bounds: the smallest and the largest number, None for no bound.
        example: a value, for the short help.
        short: its line in the short help; "" lists the words.
        instead: what to do in a source that has no use for it, by the kind of the source.
        is_look: whether pictures alone have a use for it.
    """

    text: str
    words: Sequence[str] = ()
    flags: str = ""
    metavar: str = ""
    bounds: tuple[float | None, float | None] = (None, None)
    example: str = ""
    short: str = ""
    instead: Mapping[str, str] = {}
    is_look: bool = False

    def flag(self, name: str) -> str:
        """Return the field of that name as it is typed."""
        return (self.flags or f"--{name.replace('_', '-')}").split()[0].partition("/")[0]


def option(
    default: object, text: str, words: Iterable[str] = (), *, make: Callable[[], Any] | None = None, **more: Any
) -> Any:
    """Return a field of options; ``make`` makes a default that can change, ``more`` goes to :class:`Option`."""
    says = {"option": Option(text, tuple(words), **more)}
    return field(default=default, metadata=says) if make is None else field(default_factory=make, metadata=says)


def declared(options: type[Any]) -> dict[str, Option]:
    """Return what the fields of a class of options say of themselves, by their names."""
    return {name: one.metadata["option"] for name, one in options.__dataclass_fields__.items() if one.metadata}


def documented(options: Options) -> Options:
    """Add the fields to the docstring of a class of options."""
    lines = [f"{options.__doc__ or ''}\n    Args:"]
    for name, one in declared(options).items():
        words = f" One of {', '.join(one.words)}." if one.words else ""
        lines.append(f"        {name}{f' ({one.flags})' if one.flags else ''}: {one.text}{words}")
    options.__doc__ = "\n".join(lines)
    return options


GIVE_TO_EXPRESSION = "a saved graph is shown as it was saved; give them to its expression"
OF_MODEL = "it is for a model, package.module:Model"
WHOLE = "an expression is computed as a whole; these are for scripts"
ADDS = "--gradients adds derivatives to a static graph"


@documented
@dataclass(frozen=True)
class SourceOptions:
    """How to read a source; every field has the command line's default.

    >>> SourceOptions(values={"x": 2, "W": [[1, 2.5]], "b": "ones(2,2)"}).values
    {'x': '2', 'W': '[[1, 2.5]]', 'b': 'ones(2,2)'}

    Where names are asked for, one may stand alone: ``roots="loss"``. Values that are arrays or tensors are kept as they
    are, all others as texts.
    """

    values: Mapping[str, Any] = option(
        None,
        "Values by name: a number, nested lists, an array or a tensor, or a text as it is typed on the command line.",
        make=dict,
        instead={
            "script": "a script makes its own tensors; what follows -- is in its sys.argv",
            "graph": GIVE_TO_EXPRESSION,
        },
    )
    roots: tuple[str, ...] = option(
        (),
        "The root. Repeat the option, or use commas, for several.",
        flags="--root",
        example="NAME",
        short="the tensor whose graph it is; repeatable",
        instead={"graph": GIVE_TO_EXPRESSION},
    )
    frozen: tuple[str, ...] = option(
        (),
        "Treat NAME as a constant (requires_grad=False).",
        example="NAME",
        short="treat NAME as a constant",
        instead={
            "script": "write requires_grad=False where the script makes the tensor",
            "static": ADDS,
            "graph": GIVE_TO_EXPRESSION,
        },
    )
    retain: tuple[str, ...] = option(
        (),
        "Keep the gradient of an intermediate (retain_grad).",
        example="NAME",
        short="keep the gradient of an intermediate",
        instead={"static": ADDS, "graph": GIVE_TO_EXPRESSION},
    )
    dtype: str | None = option(
        None,
        "The dtype of the values: float32 (the default), float64 ...",
        metavar="DTYPE",
        instead={
            "script": "write dtype=torch.float64 or the like where the script makes its tensors",
            "graph": GIVE_TO_EXPRESSION,
        },
    )
    grad_output: str | None = option(
        None,
        "The gradient of the root, such as ones, if it is not a scalar.",
        metavar="VALUE",
        example="ones",
        short="the gradient of a root that is not a scalar",
        instead={
            "script": "write it in the brackets of the script's own backward(...)",
            "static": ADDS,
            "graph": GIVE_TO_EXPRESSION,
        },
    )
    backward: bool = option(
        True,
        "Compute the values only; do not run backward.",
        flags="--no-backward",
        instead={
            "script": "gviz runs no backward in a script; the script calls it, or does not",
            "static": ADDS,
            "graph": GIVE_TO_EXPRESSION,
        },
    )
    order: int = option(
        0,
        "The graph of the N-th derivative by each leaf, as create_graph=True records it.",
        metavar="N",
        bounds=(1, 9),
        example="N",
        short="the graph of the N-th derivative",
    )
    wrt: tuple[str, ...] = option((), "Differentiate by NAME only; repeatable. It goes with --order.")
    engine: str = option(
        "auto",
        "The engine for a script: gviz's, the real PyTorch, or auto (PyTorch if gviz's lacks a name).",
        ("gviz", "torch", "auto"),
        example="torch",
        short="run it on the real PyTorch",
        instead={"graph": GIVE_TO_EXPRESSION},
    )
    inputs: tuple[str, ...] = option(
        (),
        "The sizes of an input of the model that SOURCE names, as in 1,3,224,224: normal numbers; 2,16:int64 is zeros. "
        "Repeatable.",
        flags="--input",
        metavar="SIZES",
        instead={"expression": OF_MODEL, "graph": OF_MODEL},
    )
    input_file: tuple[str, ...] = option(
        (),
        "A file with an input of the model, .npy or .pt. Repeatable.",
        metavar="FILE",
        instead={"expression": OF_MODEL, "graph": OF_MODEL},
    )
    loss: str = option(
        "sum",
        "What backward runs from: the sum or the mean of what the model returns.",
        ("sum", "mean"),
        instead={"expression": OF_MODEL, "graph": OF_MODEL},
    )
    stop_at: str = option(
        "",
        "End a script after its first (Nth) backward.",
        metavar="backward[:N]",
        example="backward:N",
        short="end it after its N-th backward",
        instead={"expression": WHOLE, "graph": GIVE_TO_EXPRESSION},
    )
    until: str = option(
        "",
        "End a script when it comes to that line for the first (Nth) time, before the line runs; "
        "in a notebook, LINE is 'cell 2:1'.",
        flags="--until --at",
        metavar="LINE[:N]",
        example="LINE",
        short="end it before that line runs",
        instead={"expression": WHOLE, "graph": GIVE_TO_EXPRESSION},
    )
    on_error: str = option(
        "draw",
        "If a script raises an error: draw the graph up to there, or stop.",
        ("draw", "stop"),
        instead={"graph": GIVE_TO_EXPRESSION},
    )
    watch: str = option(
        "",
        "List each line of a script that changed NAME, or its gradient.",
        metavar="NAME",
        example="NAME",
        short="each line of a script that changes NAME",
        instead={"expression": WHOLE, "graph": GIVE_TO_EXPRESSION},
    )
    on_interrupt: str = option(
        "raise",
        "raise KeyboardInterrupt if Ctrl-C interrupts a script, or draw its graph as far as it came.",
        ("raise", "draw"),
    )
    saved: bool = option(False, "Whether saved tensors become nodes.")
    details: bool = option(
        True,
        "Whether each operation of a large graph lists what it saved, which takes longer than the rest of the walk.",
    )
    folds: bool = option(False, "Whether every operation lists it: blocks that repeat are known by it.")
    shares: bool = option(
        False,
        "Whether the graph has the gradients that operations hand on: what each block of a fold hands to a leaf that "
        "all use. Not in a script that calls backward more than 100 times.",
    )
    flow: bool = option(False, "Whether the graph has local derivatives, and the gradients on their way.")
    lines: bool = option(
        False, "Whether it has the line of each operation, for which a script takes 1.1 to 1.6 times as long."
    )
    functions: bool = option(
        False, "Whether it has the calls of a script's functions that operations were recorded in; with lines."
    )
    kept: bool = option(
        False,
        "Whether it has the number of bytes that each operation keeps for backward; not in a script that calls it more "
        "than 100 times.",
    )
    costs: bool = option(False, "Whether it also has the time that each operation took.")
    jacobians: bool = option(False, "Whether it has the Jacobians of small operations as well; it needs flow.")
    is_whole: bool = option(False, "Whether the graph lists all elements of large tensors, and not only a summary.")
    names: tuple[str, ...] = option((), "Names that tensors of a script have in the graph beside shorter ones.")
    diagnose: bool = option(
        False,
        "Whether what is read is to answer why a gradient is what it is: the gradients on their way through graphs of "
        "thousands of operations, too, and of a script the graph of the first backward that brought nan or inf to "
        "stay. It sets lines and flow.",
    )
    argv: tuple[str, ...] = option((), "A script's own arguments.")
    static: bool = option(False, "Whether a static graph is wanted, of an expression too.")
    graph: str = option(
        "",
        "Draw the script's graph of that name, not the default graph.",
        metavar="NAME",
        example="NAME",
        short="the script's graph of that name",
        instead={"static": "an expression has one graph"},
    )

    most: int = field(init=False, repr=False, default=FEW_ELEMENTS)
    """Elements of a tensor that are listed: all of them where they are multiplied, or written for programs."""

    def __post_init__(self) -> None:
        """Keep values as sources read them, names as tuples.

        SourceError for a value that is neither a number nor a list.
        """
        values = {name: value if _is_array(value) else typed_value(name, value) for name, value in self.values.items()}
        lists = ("roots", "frozen", "retain", "wrt", "names", "argv", "inputs", "input_file")
        words = {name: (one,) if isinstance(one := getattr(self, name), str) else tuple(one) for name in lists}
        places = {name: getattr(self, name) for name in ("stop_at", "until")}
        stops = {name: stop_text(name, str(place)) for name, place in places.items() if place}
        switches = {name: getattr(self, name) or self.diagnose for name in ("lines", "flow")}
        most = ALL_ELEMENTS if self.is_whole or self.jacobians else FEW_ELEMENTS
        vars(self).update({**words, **stops, **switches, "values": values, "most": most})


def stop_text(name: str, text: str, flag: str = "") -> str:
    """Return a place for a run to end at, if it is one; ``flag`` is the option as it was written.

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
        raise SourceError(f"{flag or '--' + name.replace('_', '-')} {excerpt(text)}: write {example} the third time")
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
