"""SOURCE [NAME=VALUE ...] and the options of reading it: one decorator for all commands that read a source."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any, TypeAlias

import click

from gviz.text import did_you_mean

__all__ = ["Command", "OneOf", "SourceCommand", "not_one_of", "pairs", "takes_source"]

Command: TypeAlias = Callable[..., int]


class SourceCommand(click.Command):
    """A command whose words are SOURCE, then NAME=VALUE; the words after ``--`` are kept apart from them.

    ``--`` is the place for an expression that begins with a minus sign, and for a script's own arguments.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Split at the first ``--`` before click drops it."""
        cut = args.index("--") if "--" in args else len(args)
        try:
            rest = super().parse_args(ctx, args[:cut])
        except click.NoSuchOption as error:
            script = next((word for word in args if word.endswith((".py", ".pyw"))), None)
            advice = f"A script's own arguments come after --: gviz ... {script} -- {error.option_name}"
            if script is None:
                advice = "An expression that begins with a minus sign comes after --."
                if error.option_name.startswith("--"):
                    raise
            raise click.UsageError(f"{error.format_message()} {advice}") from None
        ctx.params["after"] = tuple(args[cut + 1 :])
        return rest

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Return the parts of the usage line, with the words after ``--``."""
        return [*super().collect_usage_pieces(ctx), "[-- ARGUMENT...]"]


def _names(_context: click.Context, _parameter: click.Parameter, texts: Sequence[str]) -> tuple[str, ...]:
    """Return the names of an option that may be repeated and may have commas, each once."""
    return tuple(dict.fromkeys(name for text in texts for name in split_names(text)))


def pairs(_context: click.Context, _parameter: click.Parameter, given: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return the names and values of attributes."""
    for text in given:
        if "=" not in text:
            raise click.BadParameter(f"{text!r} is not NAME=VALUE.")
    return tuple((name, value) for name, _, value in (text.partition("=") for text in given))


def split_names(text: str) -> tuple[str, ...]:
    """Return the names in a comma-separated text.

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


class OneOf(click.Choice):  # type: ignore[type-arg]  # has parameters since click 8.2
    """Words to choose from, in any case; another word is refused with the one that was probably meant."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the word as it is listed."""
        word = next((word for word in self.choices if word.lower() == str(value).lower()), None)
        return word if word is not None else self.fail(not_one_of(value, self.choices), param, ctx)


def not_one_of(word: str, words: Iterable[str]) -> str:
    """Return what to say of a word that is not among those that an option takes.

    >>> not_one_of("stp", ["draw", "stop"])
    "'stp' is not one of draw, stop; did you mean stop?"
    """
    listed = list(words)
    return "; ".join(filter(None, [f"{word!r} is not one of {', '.join(listed)}", did_you_mean(word, listed)]))


def _stop(_context: click.Context, parameter: click.Parameter, text: str) -> str:
    """Return a place for a run to end at."""
    if not text:
        return text
    from gviz.errors import SourceError
    from gviz.sources.options import stop_text

    try:
        return stop_text(parameter.name or "", text)
    except SourceError as error:
        raise click.UsageError(str(error)) from None


NAMES: dict[str, Any] = {"multiple": True, "callback": _names, "metavar": "NAME"}

OPTIONS = {
    "values": click.option("--values", metavar="FILE.json", help='Read values from a file: {"x": 2, "W": [[1, 2], [3, 4]]}.'),
    "root": click.option("--root", **NAMES, help="The root. Repeat the option, or use commas, for several."),
    "frozen": click.option("--frozen", **NAMES, help="Treat NAME as a constant (requires_grad=False)."),
    "retain": click.option("--retain", **NAMES, help="Keep the gradient of an intermediate (retain_grad)."),
    "dtype": click.option("--dtype", metavar="DTYPE", help="The dtype of the values: float32 (the default), float64 ..."),
    "no_backward": click.option("--no-backward", is_flag=True, help="Compute the values only; do not run backward."),
    "grad_output": click.option("--grad-output", metavar="VALUE",
                                help="The gradient of the root, such as ones, if it is not a scalar."),
    "engine": click.option("--engine", type=OneOf(["gviz", "torch", "auto"]), default="auto", show_default=True,
                           help="The engine for a script: gviz's, the real PyTorch, or auto (PyTorch if gviz's lacks a name)."),
    "stop_at": click.option("--stop-at", default="", metavar="backward[:N]", callback=_stop,
                            help="End a script after its first (Nth) backward."),
    "until": click.option("--until", "--at", "until", default="", metavar="LINE[:N]", callback=_stop,
                          help="End a script when it comes to that line for the first (Nth) time, before the line runs."),
    "on_error": click.option("--on-error", type=OneOf(["draw", "stop"]), default="draw", show_default=True,
                             help="If a script raises an error: draw the graph up to there, or stop."),
}  # fmt: skip
"""The options of reading a source."""


def takes_source(*names: str, required: bool = True) -> Callable[[Command], Command]:
    """Give a command the words SOURCE [NAME=VALUE ...] and the options that go with them.

    The command is called with ``source`` and ``options`` (:class:`gviz.sources.Source`, :class:`gviz.sources.SourceOptions`).

    Args:
        names: the options, by their names in :data:`OPTIONS`; all of them if none is named.
        required: whether there has to be a source; without one ``source`` is None.
    """

    def decorate(command: Command) -> Command:
        @wraps(command)
        def with_source(**params: Any) -> int:
            from gviz.cli.values import read_words
            from gviz.sources import SourceOptions

            words, after = params.pop("words"), params.pop("after")
            own = {name: params.pop(name) for name in names or OPTIONS}
            if not words and not after and not required:
                unused = next((name for name, value in own.items() if value), None)
                if unused is not None:
                    raise click.UsageError(f"--{unused.replace('_', '-')} needs a SOURCE.")
                return command(source=None, options=SourceOptions(), **params)
            source, values, argv = read_words(words, after, own.pop("values", None))
            roots, backward = own.pop("root", ()), not own.pop("no_backward", False)
            options = SourceOptions(values=values, argv=argv, roots=roots, backward=backward, **own)
            return command(source=source, options=options, **params)

        decorated: Command = with_source
        for name in reversed(names or tuple(OPTIONS)):
            decorated = OPTIONS[name](decorated)
        words = "SOURCE [NAME=VALUE]..."
        return click.argument("words", nargs=-1, metavar=words if required else f"[{words}]")(decorated)

    return decorate
