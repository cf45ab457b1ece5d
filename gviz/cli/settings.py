"""``[tool.gviz]`` in pyproject.toml: what options are where the command line does not have them."""

from __future__ import annotations

import os
import re

import click
from click.core import ParameterSource

from gviz.errors import FileError
from gviz.text import did_you_mean

HEADER = re.compile(rb"^[ \t]*\[[ \t]*tool[ \t]*\.[ \t]*gviz[ \t]*(?:\]|$)", re.MULTILINE)
FILE = "pyproject.toml"


def find_settings() -> tuple[str, str] | None:
    """Return the nearest pyproject.toml that has ``[tool.gviz]``, from the current folder upwards, and its text."""
    folder, before = os.getcwd(), ""
    while folder != before:
        file = os.path.join(folder, FILE)
        try:
            with open(file, "rb") as opened:
                raw = opened.read()
        except OSError:
            raw = b""
        if HEADER.search(raw):
            return file, raw.decode("utf-8", "replace")
        folder, before = os.path.dirname(folder), folder
    return None


def settings() -> dict[str, object]:
    """Return what ``[tool.gviz]`` says of options, by the names of their fields.

    Raises:
        FileError: the file cannot be read, or has a key that is no option; with its line.
    """
    try:
        found = find_settings()
    except FileNotFoundError:  # the current folder is gone
        found = None
    if found is None:
        return {}
    import tomllib

    from gviz.options import SourceOptions, declared
    from gviz.pictures.options import RenderOptions

    file, text = found
    try:
        table = tomllib.loads(text)["tool"]["gviz"]
    except tomllib.TOMLDecodeError as error:
        raise FileError(f"{file}: {error}") from None
    fields = {
        one.flag(name).removeprefix("--"): (name, getattr(options, name, ()))
        for options in (SourceOptions, RenderOptions)
        for name, one in declared(options).items()
        if one.flag(name).startswith("--") and name != "values"
    }
    values: dict[str, object] = {}
    for key, value in table.items():
        flag = key.replace("_", "-")
        if flag not in fields:
            hint = did_you_mean(flag, fields, "a key is the name of an option: gviz render --help-all lists them")
            raise FileError(f"{key_place(file, text, key)}: [tool.gviz] has no {key}", hint=hint)
        name, usual = fields[flag]
        if isinstance(usual, str) and not isinstance(value, str):
            raise FileError(f"{key_place(file, text, key)}: {key} is a word in quotes, not {value}")
        values[name] = click_value(value, flag, usual)
    return values


def click_value(value: object, flag: str, usual: object) -> object:
    """Return a value of the file as click takes it.

    >>> click_value("loss", "root", ()), click_value(["value", "grad"], "show", ())
    (['loss'], 'value,grad')
    >>> click_value(True, "no-backward", True)
    False
    """
    if isinstance(value, bool):
        return value != flag.startswith("no-")
    if flag == "show":
        return ",".join(map(str, value)) if isinstance(value, list) else value
    return [value] if isinstance(value, str) and isinstance(usual, tuple) else value


def key_place(file: str, text: str, key: str) -> str:
    """Return a key of ``[tool.gviz]`` with its file and line."""
    lines = text.split("\n")
    start = next((at for at, line in enumerate(lines) if HEADER.match(line.encode())), 0)
    keys = [line.partition("=")[0].strip(" \t\"'").replace("_", "-") for line in lines[start:]]
    line = start + 1 + (keys.index(key.replace("_", "-")) if key.replace("_", "-") in keys else 0)
    return f"{file}, line {line}"


def with_place(error: click.UsageError, command: str) -> str:
    """Return what click says, with the place of a value in pyproject.toml, else with the help of a command."""
    text, option = error.format_message(), getattr(error, "param", None)
    name = str(option.name) if option is not None else ""
    if error.ctx is None or error.ctx.get_parameter_source(name) is not ParameterSource.DEFAULT_MAP:
        return f"{text}\n{command} --help has an example."
    found = find_settings()
    key = option.opts[-1].removeprefix("--") if option is not None else ""
    return f"{key_place(*found, key)}: {text}" if found else text
