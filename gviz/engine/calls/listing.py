"""PyTorch's message where no call form fits: all forms, with what is wrong about those of that many arguments."""

from __future__ import annotations

from typing import Any

from gviz.engine.data.classes import type_text

__all__ = ["listed"]


def listed(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], forms: list[str]) -> str:
    """The message that lists the forms, with what is wrong about those of that many arguments.

    PyTorch reads the forms that it has written: the star counts as an argument, and the last word as its name, which is the
    default where there is one.
    """
    words = dict(reversed(kwargs.items()))  # its table gives them backwards
    text = f"{name}() received an invalid combination of arguments - "
    if len(forms) == 1:
        arguments = forms[0][1:-1].split(", ")
        if strange := unmatched(arguments, words):
            return f"{text}got unrecognized keyword arguments: {', '.join(strange)}"
        fits = len(args) + len(words) == len(arguments)
        given = marked(arguments, args, words) if fits else described(args, words)
        return f"{text}got {given}, but expected {forms[0]}"
    text += f"got {described(args, words)}, but expected one of:\n"
    for form in forms:
        text += f" * {form}\n"
        arguments = form[1:-1].split(", ")
        if len(args) + len(words) != len(arguments):
            continue
        text += "      didn't match because some of the "
        if strange := unmatched(arguments, words):
            text += f"keywords were incorrect: {', '.join(strange)}\n"
        else:
            text += f"arguments have invalid types: {marked(arguments, args, words)}\n"
    return text


def described(args: tuple[Any, ...], words: dict[str, Any]) -> str:
    """The types that were given."""
    given = [type_text(value) for value in args] + [f"{key}={type_text(value)}" for key, value in words.items()]
    return f"({', '.join(given)}{', ' if words and not args else ''})"


def unmatched(arguments: list[str], words: dict[str, Any]) -> list[str]:
    """Keywords that are not among the last arguments of a written form."""
    names = [argument.rpartition(" ")[2] for argument in arguments[max(len(arguments) - len(words), 0) :]]
    return [key for key in words if key not in names]


def marked(arguments: list[str], args: tuple[Any, ...], words: dict[str, Any]) -> str:
    """The types that were given, those marked that a written form does not have at that place."""
    parts = []
    for argument, place in zip(arguments, range(len(args) + len(words)), strict=False):
        wanted, _, name = argument.rpartition(" ")
        value = args[place] if place < len(args) else words[name]
        shown = type_text(value)
        fits = shown == wanted or (shown == "int" and wanted == "float")
        if isinstance(value, list | tuple):
            inner = ", ".join(map(type_text, value))
            if isinstance(value, tuple):
                shown += f" of ({inner}{',' if len(value) == 1 else ''})"
            else:
                shown += f" of [{inner}]"
        shown = shown if place < len(args) else f"{name}={shown}"
        parts.append(shown if fits else f"!{shown}!")
    return f"({', '.join(parts)}{', ' if words and not args else ''})"
