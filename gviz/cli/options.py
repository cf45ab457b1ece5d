"""Arguments and options that several commands share: what SOURCE is read with, and what is shown of it.

Each set is one decorator, so that it is spelt and explained the same everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeAlias

import click

__all__ = [
    "NAMES", "SHOWN", "SourceCommand", "dtype_option", "format_option", "graphviz_option", "rankdir_option", "show_option",
    "takes_source", "values_option",
]  # fmt: skip

Command: TypeAlias = Callable[..., int]

SHOWN = ("value", "grad", "shape", "dtype", "state", "saved", "attrs")
"""What ``--show`` knows."""


class SourceCommand(click.Command):
    """A command whose words are SOURCE, then NAME=VALUE; what follows ``--`` is kept apart from them.

    ``--`` is the place for an expression that begins with a minus sign, and for a script's own arguments.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Split at the first ``--`` before click drops it."""
        after: list[str] = []
        if "--" in args:
            cut = args.index("--")
            args, after = args[:cut], args[cut + 1 :]
        rest = super().parse_args(ctx, args)
        ctx.params["after"] = tuple(after)
        return rest

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """The usage line, with what may follow ``--``."""
        return [*super().collect_usage_pieces(ctx), "[-- ARGUMENT...]"]


def _names(_context: click.Context, _parameter: click.Parameter, given: Sequence[str]) -> tuple[str, ...]:
    """Names from an option that may be repeated and may have commas, each once."""
    return tuple(dict.fromkeys(name for text in given for name in split_names(text)))


def split_names(text: str) -> tuple[str, ...]:
    """Names from a comma-separated text.

    >>> split_names("x, w,parts[0,1],d['a,b']")
    ('x', 'w', 'parts[0,1]', "d['a,b']")
    """
    names, start, depth, quote = [], 0, 0, ""
    for position, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character in "[(":
            depth += 1
        elif character in "])":
            depth -= 1
        elif character == "," and depth <= 0:
            names.append(text[start:position])
            start = position + 1
    names.append(text[start:])
    return tuple(stripped for name in names if (stripped := name.strip()))


def _shown(context: click.Context, parameter: click.Parameter, given: str) -> tuple[str, ...]:
    """The choices in the order of :data:`SHOWN`; ``none`` is empty and ``all`` is everything."""
    chosen = {word.strip().lower() for word in given.split(",") if word.strip()}
    for word in sorted(chosen - {*SHOWN, "none", "all"}):
        raise click.BadParameter(f"{word!r} is none of {', '.join(SHOWN)}, none, all.", context, parameter)
    if "none" in chosen and len(chosen) > 1:
        raise click.BadParameter("none goes with nothing else.", context, parameter)
    return SHOWN if "all" in chosen else tuple(word for word in SHOWN if word in chosen)


show_option = click.option(
    "--show", callback=_shown, default="value,grad", show_default=True, metavar="WHAT,...",
    help=f"What the boxes tell: {', '.join(SHOWN)}, or none (TorchViz's own picture), or all.",
)  # fmt: skip

format_option = click.option(
    "--format", "suffix", metavar="SUFFIX", help="The format, where the file's suffix does not tell it."
)

graphviz_option = click.option(
    "--graphviz",
    type=click.Choice(["auto", "embedded", "system"]),
    default="auto",
    show_default=True,
    help="What makes images: the Graphviz that came with gviz, or the system's dot.",
)


def rankdir_option(default: str, what: str) -> Callable[[Command], Command]:
    """``--rankdir``, of which each command has another default and another explanation."""
    ways = click.Choice(["TB", "BT", "LR", "RL"], case_sensitive=False)
    return click.option("--rankdir", type=ways, default=default, metavar="TB|BT|LR|RL", show_default=True, help=what)


NAMES: dict[str, Any] = {"multiple": True, "callback": _names, "metavar": "NAME"}

values_option = click.option("--values", metavar="FILE.json", help='Values from a file: {"x": 2, "W": [[1, 2], [3, 4]]}.')
dtype_option = click.option("--dtype", metavar="DTYPE", help="Of the values: float32 (the default), float64 ...")

_SOURCE_OPTIONS = (
    values_option,
    click.option("--root", **NAMES, help="The root; repeat it, or use commas, for several."),
    click.option("--frozen", **NAMES, help="Requires no gradient, and so is not in the graph."),
    click.option("--retain", **NAMES, help="An intermediate that keeps its gradient."),
    dtype_option,
    click.option("--no-backward", is_flag=True, help="Leave out the backward pass that an expression gets."),
    click.option("--grad-output", metavar="ones", help="What backward starts from where the root is no scalar."),
    click.option("--engine", type=click.Choice(["gviz", "torch", "auto"]), default="auto", show_default=True,
                 help="What runs a script: gviz's own engine, or the real PyTorch where it is installed."),
    click.option("--on-error", type=click.Choice(["draw", "stop"]), default="draw", show_default=True,
                 help="Where a script raises: draw the graph as far as it came, or stop."),
)  # fmt: skip


def takes_source(command: Command) -> Command:
    """Give a command the words SOURCE [NAME=VALUE ...] and the options that go with them.

    The command is called with ``source`` and ``options`` (a :class:`gviz.sources.SourceOptions`) beside what is its own.
    """

    @wraps(command)
    def with_source(**given: Any) -> int:
        from gviz.cli.values import read_words
        from gviz.sources import SourceOptions

        source, values, argv = read_words(given.pop("words"), given.pop("after"), given.pop("values"))
        options = SourceOptions(
            values=values,
            argv=argv,
            roots=given.pop("root"),
            backward=not given.pop("no_backward"),
            **{key: given.pop(key) for key in ("frozen", "retain", "dtype", "grad_output", "engine", "on_error")},
        )
        return command(source=source, options=options, **given)

    decorated: Command = with_source
    for option in reversed(_SOURCE_OPTIONS):
        decorated = option(decorated)
    return click.argument("words", nargs=-1, metavar="SOURCE [NAME=VALUE]...")(decorated)
