"""SOURCE [NAME=VALUE ...] and the options of reading it: one decorator for all commands that read a source."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial, reduce, wraps
from itertools import pairwise
from shlex import quote
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from gviz.cli import streams
from gviz.cli.values import first_of, given_options, read_words
from gviz.errors import FileError, GvizError, SourceError
from gviz.options import SourceOptions, declared, stop_text
from gviz.text import did_you_mean

if TYPE_CHECKING:
    from gviz import sources

Command: TypeAlias = Callable[..., int]

Source: TypeAlias = "sources.Source"
"""What a command is given; its help loads nothing of it."""

TYPED = "gviz.typed"
"""The key of the words of a command line, by which an option knows the name that it was given by."""

PIECE = re.compile(r"'[^']*'?|\"[^\"]*\"?|, (?:call|run|part) \d+(?: of \d+)?(?=\s*(?:,|$))|.", re.DOTALL)
"""A quoted text, which call of a module it is, or a character, of a list of names."""

WORD = re.compile(r"--[a-zA-Z][\w-]{2,}")
"""What looks like a long option, and not like an expression behind a minus sign."""

EVERY_OPTION = "gviz.every_option"
"""The key of whether the help is to show all options."""

OTHER_WORDS = {
    "--style": "--theme",
    "--file": "--output",
    "--direction": "--rankdir",
    "--orientation": "--rankdir",
    "--type": "--format",
}
"""Options that people try, and their names here."""

LARGER = "--scale 2 makes an image twice as large; pdf and svg are sharp at any size."
LISTS = "gviz formats lists the formats, gviz ops the operations, gviz help the commands."
ADVICE = {
    **dict.fromkeys(("--dpi", "--width", "--height", "--size", "--resolution", "--zoom"), LARGER),
    **dict.fromkeys(("--list", "--list-formats", "--formats", "--ops"), LISTS),
    "--version": "gviz version prints the version.",
}
"""What to say of others, which are none here."""


def _help_all(context: click.Context, _option: click.Parameter, asked: bool) -> None:
    """Print the help with all options."""
    if asked and not context.resilient_parsing:
        context.meta[EVERY_OPTION] = True
        click.echo(context.get_help())
        context.exit()


HELP_ALL = click.Option(
    ["--help-all"], is_flag=True, expose_value=False, is_eager=True, callback=_help_all, help="Show all options."
)


class ListedOption(click.Option):
    """An option with a line in the short help.

    Args:
        example: a value, as the line begins.
        short: what it does; "" for the words that it takes.
        alone: the value of one that stands alone, before no word that it takes; "" for none.
    """

    def __init__(
        self, flags: Sequence[str], *, example: str = "", short: str = "", alone: str = "", **more: Any
    ) -> None:
        super().__init__(flags, **more)
        self.example, self.short, self.alone = example, short, alone

    def line(self) -> tuple[str, str]:
        """Return the option as its line begins, and what it does."""
        head = f"{', '.join(sorted(self.opts, key=len))} {self.example}".rstrip()
        return head, self.short or ", ".join(getattr(self.type, "choices", ()))


class SourceCommand(click.Command):
    """A command whose words are SOURCE, then NAME=VALUE; the words after ``--`` are kept apart from them.

    ``--`` is the place for an expression that begins with a minus sign, and for a script's own arguments. ``--help``
    shows the options that people need, by groups.

    Args:
        page: the groups: a title -> the options, by their long names; None to show all options.
    """

    def __init__(self, *, page: Mapping[str, str] | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.page = page or {}
        for one in self.params:
            if (one.metavar or "").lstrip("[").startswith(("FILE", "SOURCE")):
                one.type = click.Path(readable=False)  # of which nothing is asked: Tab offers the names of files

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters, with those that ask for help."""
        return [*super().get_params(ctx), HELP_ALL]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options that people need, by groups, or all of them."""
        if ctx.meta.get(EVERY_OPTION) or not self.page:
            super().format_options(ctx, formatter)
            return
        groups = {title: [option.line() for option in self.listed(names)] for title, names in self.page.items()}
        groups["More"] = [("--help-all", "all options")]
        width = max(len(head) for rows in groups.values() for head, _ in rows)
        for title, rows in groups.items():
            with formatter.section(title):
                formatter.write_dl([(f"{head:<{width}}", text) for head, text in rows])

    def listed(self, names: str) -> list[ListedOption]:
        """Return the options of these long names."""
        options = {flag: one for one in self.params if isinstance(one, ListedOption) for flag in one.opts}
        return [options[f"--{name}"] for name in names.split()]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Split at the first ``--`` before click drops it."""
        end = args.index("--") if "--" in args else len(args)
        long = {name for each in self.params for name in each.opts if name[:2] == "--"}
        for word in args[:end]:  # -output is -o utput
            if word[1:2] != "-" and f"-{word.partition('=')[0]}" in long:
                raise click.UsageError(f"No such option '{word}'. Did you mean -{word}?")
        ctx.meta[TYPED] = {word.partition("=")[0] for word in args[:end]}
        listed = [one for one in self.params if isinstance(one, ListedOption) and one.alone]
        alone = {one.opts[0]: (one.alone, getattr(one.type, "choices", ())) for one in listed}
        words = [
            f"{word}={alone[word][0]}" if word in alone and after not in alone[word][1] else word
            for word, after in pairwise([*args[:end], ""])
        ]
        try:
            rest = super().parse_args(ctx, words)
        except click.NoSuchOption as error:
            raise click.UsageError(
                f"No such option '{error.option_name}'. {self._advice(ctx, error.option_name, args)}".rstrip()
            ) from None
        ctx.params["after"] = tuple(args[end + 1 :])
        return rest

    def _advice(self, context: click.Context, option: str, words: Sequence[str]) -> str:
        """Return what to write in place of an option that this command has not."""
        own = [name for each in self.params for name in each.opts if name[:2] == "--"]
        script = next((word for word in words if word.endswith((".py", ".pyw"))), "")
        word_typed = next((word for word in words if word.startswith(option)), option)
        *others, last = ["", *(f"gviz {name}" for name in _commands_with(context, option)[:4])]
        word = option if option[:2] == "--" else f"-{word_typed.partition('=')[0]}"
        meant = nearest(word, own) if WORD.fullmatch(word) and not last else ""
        after = f"A script's own arguments come after --: gviz ... {script} -- {option}" if script else ""
        path = context.command_path
        return first_of(
            {
                f"It prints its answer, which goes into a file with > FILE: {path} ... > FILE": (
                    option in {"-o", "--output"}
                ),
                f"{', '.join(others[1:])} and {last} have it.": len(others) > 1,
                f"{last} has it.": last,
                f"{meant} {after}".strip(): meant or option[:2] == "--",
                after: after,
                f'An expression that begins with a minus sign comes after --: {path} -- "{word_typed}"': (
                    option[:2] != "--"
                ),
            }
        )

    def make_parser(self, ctx: click.Context) -> Any:
        """Return the parser, which finds ``-o`` where it looks first: else it makes an error with similar words."""
        parser = super().make_parser(ctx)
        parser._long_opt.update(parser._short_opt)  # noqa: SLF001 - the one way to tell it
        return parser

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Return the parts of the usage line, with the words after ``--``."""
        return [*super().collect_usage_pieces(ctx), "[-- ARGUMENT...]"]


def _commands_with(context: click.Context, option: str) -> list[str]:
    """Return the commands that have an option."""
    group = context.find_root().command
    if not isinstance(group, click.Group):
        return []
    commands = {name: group.get_command(context, name) for name in group.list_commands(context)}
    return [name for name, command in commands.items() if command and any(option in one.opts for one in command.params)]


def typed_options(context: click.Context, *effective: str) -> list[str]:
    """Return the options that were typed, with values as a shell reads them, without those that have an effect."""
    flags = []
    for one in given_options(context):
        if one.name not in effective:
            value, name = context.params[str(one.name)], typed_name(context, one)
            flags += (
                [f"{name} {quote(str(part))}" for part in value]
                if isinstance(value, tuple)
                else [name if one.is_flag else f"{name} {quote(str(value))}"]
            )
    return flags


def nearest(option: str, options: Sequence[str]) -> str:
    """Return which option was probably meant.

    >>> names = ["--output", "--theme"]
    >>> nearest("--output-file", names), nearest("--themes", names), nearest("--foo", names)
    ('Did you mean --output?', 'Did you mean --theme?', '')
    """
    from difflib import get_close_matches  # only an error needs it

    if option in ADVICE:
        return ADVICE[option]
    option = OTHER_WORDS.get(option, option)
    alike = [other for other in options if other.startswith(option) or option.startswith(other)]
    return "".join(f"Did you mean {suggestion}?" for suggestion in (alike or get_close_matches(option, options, 1))[:1])


def typed_name(context: click.Context, option: click.Parameter) -> str:
    """Return an option by the one of its names that was typed."""
    return next((name for name in option.opts if name in context.meta.get(TYPED, ())), option.opts[0])


def not_blank(context: click.Context, option: click.Parameter, text: str | None) -> str:
    """Return the text of an option, "" if it is not there; refuse one that has none."""
    if text is not None and not text.strip():
        name = typed_name(context, option)
        raise click.UsageError(f"{name} is empty: write {name} {option.metavar}.")
    return text or ""


def _names(context: click.Context, option: click.Parameter, texts: Sequence[str]) -> tuple[str, ...]:
    """Return the names of an option that may be repeated and may have commas, each once."""
    for text in texts:
        not_blank(context, option, text.replace(",", " "))
    return tuple(dict.fromkeys(name for text in texts for name in split_names(text)))


def pairs(_context: click.Context, _parameter: click.Parameter, texts: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return the names and values of attributes."""
    for text in texts:
        if "=" not in text:
            raise click.BadParameter(f"{text!r} is not NAME=VALUE.")
    return tuple((name, value) for name, _, value in (text.partition("=") for text in texts))


def split_names(text: str) -> tuple[str, ...]:
    """Return the names in a comma-separated text.

    >>> split_names("x, w,parts[0,1],d['a,b']"), split_names("net.fc, call 2")
    (('x', 'w', 'parts[0,1]', "d['a,b']"), ('net.fc, call 2',))
    """
    names, depth = [""], 0
    for piece in PIECE.findall(text):
        depth += (piece in "[(") - (piece in "])")
        if piece == "," and depth <= 0:
            names.append("")
        else:
            names[-1] += piece
    return tuple(filter(None, map(str.strip, names)))


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
    choices = list(words)
    return "; ".join(filter(None, [f"{word!r} is not one of {', '.join(choices)}", did_you_mean(word, choices)]))


def field_option(options: type[Any], name: str, *, dest: str = "", **more: Any) -> Callable[[Command], Command]:
    """Return the option for a field of a class of options, as the field declares it.

    Args:
        options: :class:`gviz.SourceOptions` or :class:`gviz.RenderOptions`.
        name: the field.
        dest: the parameter of the command that gets the value; "" for the name of the field.
        more: what :func:`click.option` is to take in place of what the field says.
    """
    one, usual = declared(options)[name], getattr(options, name)
    flags = (one.flags or f"--{name.replace('_', '-')}").split()
    words: dict[str, Any] = {
        "help": one.text,
        "example": one.example,
        "short": one.short,
        "metavar": one.metavar or None,
    }
    if isinstance(usual, bool):
        words |= {"is_flag": True, "default": usual}
        words |= {} if "/" in flags[0] else {"flag_value": not usual}
    elif isinstance(usual, tuple):
        words |= {"multiple": True, "callback": _names, "metavar": one.metavar or "NAME"}
    else:
        words |= {"default": usual, "show_default": True} if usual else {}
        if one.words:
            words["type"] = OneOf(one.words)
        elif one.bounds != (None, None):
            kind: Any = click.FloatRange if isinstance(usual, float) else click.IntRange
            words["type"] = kind(*one.bounds)
    return click.option(*flags, dest or name, **{**words, **more}, cls=ListedOption)


listed_option = partial(click.option, cls=ListedOption)
"""An option that is no field, with its line in the short help."""


def _stop(context: click.Context, option: click.Parameter, text: str | None) -> str:
    """Return a place for a run to end at."""
    if not not_blank(context, option, text):
        return ""
    try:
        return stop_text(str(option.name), str(text), typed_name(context, option))
    except SourceError as error:
        raise click.UsageError(str(error)) from None


NAMES: dict[str, Any] = {"multiple": True, "callback": _names, "metavar": "NAME"}

VALUES = listed_option(
    "--values",
    metavar="FILE.json",
    help='Read values from a file: {"x": 2, "W": [[1, 2], [3, 4]]}.',
    example="FILE.json",
    short='read values: {"x": 2, "W": [[1, 2], [3, 4]]}',
)

SOURCE = (
    *("values", "roots", "frozen", "retain", "dtype", "backward", "grad_output", "order", "wrt", "engine"),
    *("stop_at", "until", "on_error", "inputs", "input_file", "loss"),
)
"""The fields of :class:`gviz.SourceOptions` that are options of a command, in the order of its help."""

READING = tuple(name for name in SOURCE if name not in ("order", "wrt"))
"""Those for a command that is about the graph itself, not that of a derivative."""


def with_options(command: Command, options: Iterable[Callable[[Command], Command]]) -> Command:
    """Return a command with options, in the order in which its help lists them."""
    return reduce(lambda decorated, option: option(decorated), reversed([*options]), command)


def refuse_source(file: str | None, source: Source | None, product: str, name: str = "file") -> None:
    """Refuse to write a product into the file that it is made from."""
    with suppress(OSError, ValueError):  # one of the files is not there
        if file and source is not None and source.file and os.path.samefile(file, source.file):
            raise FileError(
                f"-o {file} is SOURCE: the {product} would replace it", hint=f"give the {name} another name"
            )


def takes_source(
    *names: str, required: bool = True, has_name: bool = False, has_other: bool = False
) -> Callable[[Command], Command]:
    """Give a command the words SOURCE [NAME=VALUE ...] and the options that go with them.

    The command is called with ``source`` and ``options`` (:class:`gviz.sources.Source`,
    :class:`gviz.sources.SourceOptions`).

    Args:
        names: the options, by their fields; all of :data:`SOURCE` if none is named.
        required: whether there has to be a source; without one ``source`` is None.
        has_name: whether the name of a tensor may follow SOURCE: the command is called with ``name`` then, None for
            none.
        has_other: whether another source follows SOURCE: the command is called with its word as ``other``.
    """

    def decorate(command: Command) -> Command:
        @wraps(command)
        def with_source(**params: Any) -> int:
            words, after = params.pop("words"), params.pop("after")
            if has_name:
                params["name"] = next((word for word in words[1:] if "=" not in word), None)
                words = tuple(word for word in words if word != params["name"] or word == words[0])
            if has_other:
                if len(words) < 2:
                    raise click.UsageError("Missing argument 'SOURCE': this command takes two.")
                params["other"] = words[1]
                words = (words[0], *words[2:])
            own = {name: value for name in names or SOURCE if (value := params.pop(name)) is not None}
            if not words and not after and not required:
                unused = next((name for name, value in own.items() if value != getattr(SourceOptions, name, None)), "")
                if unused:
                    raise click.UsageError(f"{declared(SourceOptions)[unused].flag(unused)} needs a SOURCE.")
                return command(source=None, options=SourceOptions(), **params)
            if own.get("wrt") and not own.get("order"):
                raise click.UsageError(
                    "--wrt names what --order N differentiates by: --order 1 draws the first derivative."
                )
            source, values, argv = read_words(words, after, own.pop("values", None))
            options = SourceOptions(**own, values=values, argv=argv, on_interrupt="draw")
            try:
                with streams.stages():
                    return command(source=source, options=options, **params)
            except Exception as error:
                if source.kind != "script" or source.file is None or isinstance(error, GvizError):
                    raise
                from gviz.sources.script.failure import raised_late

                raise raised_late(error, source) from None

        stops: dict[str, Any] = {
            **{name: {"callback": _stop} for name in ("stop_at", "until")},
            **{name: {"callback": None} for name in ("inputs", "input_file")},  # a size has commas
        }
        fields = [
            VALUES if name == "values" else field_option(SourceOptions, name, **stops.get(name, {}))
            for name in names or SOURCE
        ]
        decorated = with_options(with_source, fields)
        words = f"SOURCE {'[NAME] ' * has_name}{'SOURCE ' * has_other}[NAME=VALUE]..."
        return click.argument("words", nargs=-1, metavar=words if required else f"[{words}]")(decorated)

    return decorate
