"""The words of a command line and the files of values, as texts by name: ``{"x": "2"}``."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from gviz.errors import FileError, RenderError, SourceError

if TYPE_CHECKING:
    from gviz.sources.source import Source

VALUES = 'such a file looks like {"x": 2, "W": [[1, 2], [3, 4]]}'
FEEDS = 'such a file looks like [{"a": 1, "b": 2}, {"a": 3, "b": 4}]'

DASHES = "‐‑‒–—―−"
"""What word processors make of one hyphen, or of two."""


def first_of(sentences: Mapping[str, object]) -> str:
    """Return the first of these sentences whose value says that it is so; "" for none."""
    return next((sentence for sentence, is_so in sentences.items() if is_so), "")


def refuse_first(mistakes: Mapping[str, object]) -> None:
    """Refuse a command line with the first of these sentences that is so."""
    if mistake := first_of(mistakes):
        raise click.UsageError(mistake)


def read_words(
    words: Sequence[str], after: Sequence[str], values_file: str | None
) -> tuple[Source, dict[str, str], tuple[str, ...]]:
    """Sort the words of a command line.

    Args:
        words: those before ``--``.
        after: those after it.
        values_file: the file of ``--values``, or None.

    Returns:
        The source, the values by name (those on the command line win), and a script's own arguments.

    Raises:
        click.UsageError: there is no source, or a word is not NAME=VALUE.
        FileError: the source or the file of values cannot be read.
    """
    if not words:
        end = after.index("--") if "--" in after else len(after)
        words, after = after[:end], after[end + 1 :]
    refuse_first(
        {
            "Missing argument 'SOURCE': an expression, a .py script, a saved graph .json, or -.": not words,
            "help is no source: gviz help COMMAND shows the help.": [*words, *after] == ["help"],
        }
    )
    from gviz.sources.source import Source

    if len(words) == 1:
        _refuse_word(words[0])
    values = {} if values_file is None else read_values(values_file)
    pairs = words[1:]
    typed_values = {
        name.strip() if name.isascii() else as_name(name): text
        for name, _, text in (pair.partition("=") for pair in (*pairs, *after))
    }
    source = Source.of(words[0], values={**values, **typed_values})
    if source.kind != "script":
        pairs, after = (*pairs, *after), ()
    return source, {**values, **_read_pairs(words[0], pairs, source.kind)}, tuple(after)


def _refuse_word(word: str) -> None:
    """Refuse a word alone that is a command's or an option's name, such as ``gviz render help``."""
    context = click.get_current_context(silent=True)
    if context is None or os.path.lexists(word):
        return
    main, options = context.find_root().command, [name for one in context.command.params for name in one.opts]
    commands = main.list_commands(context) if isinstance(main, click.Group) else ()
    path = context.command_path
    refuse_first(
        {
            f'"{word}" is no expression. Write {path} --help, or gviz --version.': word in ("help", "version"),
            f'"{word}" is a command. gviz {word} --help has an example.': word in commands,
            f'"{word}" is an option. Write --{word}; {path} --help explains it.': f"--{word}" in options,
        }
    )


def _read_pairs(word: str, pairs: Sequence[str], kind: str) -> dict[str, str]:
    """Return the NAME=VALUE words behind the source's word, by name."""
    values: dict[str, str] = {}
    for pair in pairs if kind == "script" else _without_spaces(pairs):
        name, equals, text = pair.partition("=")
        name = name.strip() if name.isascii() else as_name(name)  # x₁
        if not equals or not name.isidentifier():
            raise click.UsageError(f'"{pair}" is not NAME=VALUE.{_advice(word, pair, kind)}')
        refuse_first(
            {
                f"{name} has two values: {name}={values.get(name)} and {pair}.": name in values,
                f'"{pair}" is not NAME=VALUE: == compares. Write {name}{text}': text.startswith("="),
            }
        )
        values[name] = text
    return values


def _without_spaces(pairs: Sequence[str]) -> list[str]:
    """Return the words, those of one value put together.

    >>> _without_spaces(["x", "=", "2", "w=", "1", "b＝3", "W=[1,", "2]", "z=[1", "t=2"])
    ['x=2', 'w=1', 'b=3', 'W=[1, 2]', 'z=[1', 't=2']
    """
    whole: list[str] = []
    for pair in pairs:
        name, equals, value = (whole[-1] if whole else "").partition("=")
        word = pair if "=" in pair or pair[:1] == "-" else pair.replace("＝", "=", 1)
        if (equals and not value) or (name.isidentifier() and not equals and word.startswith("=") and word[1:2] != "="):
            whole[-1] += word
        elif sum(map(value.count, "[(")) > sum(map(value.count, "])")) and not word.partition("=")[0].isidentifier():
            whole[-1] += f" {word}"
        else:
            whole.append(word)
    return whole


def _advice(word: str, pair: str, kind: str) -> str:
    """Return a sentence on the word that was probably meant."""
    name, equals, text = pair.partition("=")
    quote = next((sign for sign in word + pair if sign in "“”„«»‘’‚"), "")
    option, leaf, is_dashed = pair.lstrip(f"-{DASHES}"), pair.removesuffix(".grad"), pair[:1] in DASHES
    is_option = is_dashed and option.replace("-", "_").isidentifier()
    context = click.get_current_context(silent=True)
    flags = [one.opts[-1] for one in given_options(context) if one.is_flag]
    has_wrt = context is not None and any("--wrt" in one.opts for one in context.command.params)
    has_signs = not pair[:1].isalnum() or not word.isascii() or word.isidentifier()
    return first_of(
        {
            f' {quote} is no quote of a shell. Write straight ones: "y = x + w" x=2': quote and kind == "expression",
            f" An option begins with two hyphens, and no dash: --{option}": is_option and option[1:],
            f" Write -{option}": is_option,
            f" {''.join(flags[:1])} takes no value": pair.isdigit() and flags,
            f" A script's own arguments come after --: gviz ... {word} -- {pair}": kind == "script",
            f" To draw it in that format: gviz render ... -o NAME.{pair.lower()}": kind != "script" and is_format(pair),
            f" To derive the gradient of one tensor: --wrt {leaf}": has_wrt and leaf.isidentifier(),
            f" To name the file of the picture: -o {pair}": "." in pair[1:-1],
            f" Write {as_name(name)}={text}": equals and as_name(name),
            " To write the picture to standard output: -o -": pair == "-",
            ' Put the expression in quotes: "y = x + w"': has_signs,
            f" Write a value as in {pair if pair.isidentifier() else 'x'}=2": True,
        }
    )


def given_options(context: click.Context | None) -> list[click.Option]:
    """Return the options that stand on the command line; None is no command line."""
    options = [one for one in context.command.params if isinstance(one, click.Option)] if context is not None else []
    return [
        one for one in options if context and context.get_parameter_source(str(one.name)) is ParameterSource.COMMANDLINE
    ]


def is_format(word: str) -> bool:
    """Return whether a word is the suffix of a picture."""
    from gviz.render import find  # only an error needs it

    with suppress(RenderError):
        return find(word) is not None
    return False


def as_name(text: str) -> str:
    """Return a name with other signs as an expression has it, x_1 for x₁; "" if it is none."""
    from unicodedata import normalize  # only names beyond ASCII need it

    from gviz.sources.expression.characters import replacement

    signs = re.sub("[₀-₉]+", lambda digits: "_" + normalize("NFKC", digits[0]), text.strip())
    name = "".join(sign if (plain := replacement(sign)) is None else plain for sign in signs)
    return name if name.isidentifier() else ""


def read_values(file: str) -> dict[str, str]:
    """Return the values of a JSON file: one object, name -> number, nested list, or text such as ``"ones(3,3)"``.

    Raises:
        FileError: the file cannot be read, or is not such JSON.
    """
    values = _read_json(file, VALUES)
    if not isinstance(values, dict):
        raise FileError(f"{file} has no names with values", hint=VALUES)
    return _texts(file, values, VALUES)


def read_feeds(file: str, most: int) -> list[dict[str, str]]:
    """Return the feeds of a JSON file: a list of such objects, at most so many.

    Raises:
        FileError: the file cannot be read, or is not such JSON.
    """
    feeds = _read_json(file, FEEDS)
    if not isinstance(feeds, list) or not feeds or not all(isinstance(feed, dict) for feed in feeds):
        raise FileError(f"{file} is not a list of feeds", hint=FEEDS)
    if len(feeds) > most:
        raise FileError(f"{file} has {len(feeds)} feeds; gviz runs {most} at most")
    return [_texts(file, feed, FEEDS) for feed in feeds]


def _texts(file: str, values: dict[str, Any], example: str) -> dict[str, str]:
    """Return values as people type them; FileError if one is neither a number, a list nor a text."""
    from gviz.options import typed_value

    try:
        return {name: typed_value(name, value) for name, value in values.items()}
    except SourceError as error:
        raise FileError(f"{file}: {error.what}", hint=example) from None


def _read_json(file: str, example: str) -> Any:
    """Return the content of a JSON file; FileError, with an example, if it cannot be read."""
    from gviz.files import parse_json, read_file

    try:
        return parse_json(read_file(file).decode("utf-8-sig"), file, example)
    except UnicodeDecodeError:
        raise FileError(f"{file} is not a text file", hint=example) from None
