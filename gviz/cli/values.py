"""The words of a command line and a file of values, as the texts that a source reads: ``{"x": "2"}``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from gviz.errors import FileError, Place

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["as_texts", "is_script", "read_json", "read_values", "read_words"]


def read_words(
    words: Sequence[str], after: Sequence[str], values_file: str | None
) -> tuple[str, dict[str, str], tuple[str, ...]]:
    """Sort the words of a command line.

    Args:
        words: those before ``--``.
        after: those after it.
        values_file: what ``--values`` names, or None.

    Returns:
        The source, the values by name (those on the command line win), and a script's own arguments.

    Raises:
        click.UsageError: no source, or a word that is no NAME=VALUE.
        FileError: the file of values is not right.
    """
    if not words:
        cut = after.index("--") if "--" in after else len(after)
        words, after = after[:cut], after[cut + 1 :]
    if not words:
        raise click.UsageError("Missing argument 'SOURCE': an expression, a .py script, a saved graph .json, or -.", _context())
    source, pairs = words[0], words[1:]
    if not is_script(source):
        pairs, after = (*pairs, *after), ()
    values = {} if values_file is None else read_values(values_file)
    return source, {**values, **_read_pairs(source, pairs)}, tuple(after)


def is_script(source: str) -> bool:
    """Whether the source may run a program of the user's: a ``.py`` file, any other file, or standard input.

    >>> is_script("net.py"), is_script("y=x+w")
    (True, False)
    """
    from gviz.sources.files import looks_like_a_file

    return source == "-" or (looks_like_a_file(source) and not source.lower().endswith(".json"))


def _read_pairs(source: str, pairs: Sequence[str]) -> dict[str, str]:
    """NAME=VALUE words by name."""
    values: dict[str, str] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        name = name.strip()
        if not equals or not name.isidentifier():
            raise click.UsageError(f"{pair!r} is no NAME=VALUE.{_advice(source, pair)}", _context())
        if name in values:
            raise click.UsageError(f"{name} is given twice: {name}={values[name]} and {pair}.", _context())
        if text.startswith("="):
            raise click.UsageError(f"{pair!r} is no NAME=VALUE: == compares. Write {name}{text}", _context())
        values[name] = text
    return values


def _advice(source: str, pair: str) -> str:
    """What was probably meant."""
    if is_script(source):
        return f" A script's own arguments come after --: gviz ... {source} -- {pair}"
    if not pair[:1].isalnum() or not source.isascii() or source.isidentifier():
        return ' Put the expression in quotes: "y = x + w"'
    return ""


def read_values(file: str) -> dict[str, str]:
    """Values from a JSON file, each as the text that a source reads.

    Args:
        file: its path; the JSON is one object, name -> number, nested list, or text such as ``"ones(3,3)"``.

    Raises:
        FileError: the file cannot be read, or is not such JSON.
    """
    values = read_json(file, _EXAMPLE)
    if not isinstance(values, dict):
        raise FileError(f"{file} holds no names with values", hint=_EXAMPLE)
    return as_texts(file, values, _EXAMPLE)


def read_json(file: str, example: str) -> Any:
    """What a JSON file holds.

    Args:
        file: its path.
        example: what it should look like, for the errors.

    Raises:
        FileError: the file cannot be read, or is no JSON.
    """
    import json

    from gviz.sources.files import read_file

    try:
        text = read_file(file).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileError(f"{file} is no text file", hint=example) from None
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        lines = text.rstrip().split("\n")  # as the parser counts them, without those behind all there is
        number = min(error.lineno, len(lines))
        column = error.colno - 1 if number == error.lineno else len(lines[-1])
        place = Place(lines[number - 1], column=column, file=file, line=number)
        raise FileError(f"this is no JSON: {error.msg}", place=place, hint=example) from None
    except RecursionError:
        raise FileError(f"{file} is nested too deeply") from None
    except ValueError:
        raise FileError(
            f"{file}: a whole number has too many digits", hint="write it as a decimal number, as in 1e30"
        ) from None


_EXAMPLE = 'such a file looks like {"x": 2, "W": [[1, 2], [3, 4]]}'


def as_texts(file: str, values: dict[str, Any], example: str) -> dict[str, str]:
    """Values as people type them; FileError where one is neither a number, a list nor a text."""
    for name, value in values.items():
        if value is None or isinstance(value, dict):
            raise FileError(f"{file}: the value of {name!r} is neither a number nor a list", hint=example)
    return {name: value if isinstance(value, str) else repr(value) for name, value in values.items()}


def _context() -> click.Context | None:
    return click.get_current_context(silent=True)
