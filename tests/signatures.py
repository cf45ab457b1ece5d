"""Writes ``gviz/engine/calls/signatures.txt``: the call forms of PyTorch's built-in functions that gviz's engine has.

``python tests/signatures.py`` needs the real torch. The forms stand as text in its library; which of them a function has, and
in which order it tries them, it says itself when it is called wrongly.
"""

from __future__ import annotations

import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gviz import engine
from gviz.engine import nn
from gviz.engine.calls.handed import HANDED
from gviz.engine.calls.signatures import FILE, read_form

TYPES = {"Tensor", "Scalar", "bool", "int64_t", "SymInt", "double", "complex"}


def declared(torch: Any) -> dict[str, list[str]]:
    """All texts in PyTorch's library that are a form, by name."""
    library = next(Path(torch.__file__).parent.glob("lib/libtorch_python.*")).read_bytes()
    found: dict[str, list[str]] = {}
    for match in re.finditer(rb"[\x20-\x7e]{4,}(?=\0)", library):
        text = match.group().decode()
        parts = re.fullmatch(r"(\w+)\((.*)\)(\|deprecated|\|hidden)?", text)
        if parts is None:
            continue
        arguments = parts[2].split(", ") if parts[2] else []
        if all(one == "*" or re.fullmatch(r"[\w:<>*]+(\[\d*\])?\?? \w+(=.*)?", one) for one in arguments):
            found.setdefault(parts[1], []).append(text)
    return {name: list(dict.fromkeys(forms)) for name, forms in found.items()}


def complaint(function: Any) -> str:
    """What a function says of far too many arguments that are nothing."""
    try:
        function(*[object()] * 40)
    except TypeError as error:
        return str(error)
    return ""


def forms(name: str, function: Any, known: list[str], *, method: bool) -> list[str]:
    """The forms of a function, in its order; empty for a method that takes nothing."""
    text = complaint(function)
    if "takes no arguments" in text:
        return []
    listed = re.findall(r"^ \* (.*)$", text, re.MULTILINE) or re.findall(r"but expected (\(.*\))$", text)
    by_text: dict[str, str] = {}
    for form in known:
        by_text.setdefault(str(read_form(form.partition("(")[2])), form)
    own = [form for form in known if (re.search(r"Tensor input\b", form) is not None) != method] or known
    if not listed:
        listed = [str(read_form(form.partition("(")[2])) for form in own if "|" not in form]
        if len(listed) != 1:
            raise LookupError(f"{name}: {text} {known}")
    return [by_text[one] for one in listed] + [form for form in own if "|" in form]


def places(torch: Any) -> Iterator[tuple[str, str, Any, bool]]:
    """All built-in functions that the engine has: the name in the file, that of the forms, the function, whether a method."""
    for prefix, at, ours, theirs in (
        ("", "", engine, torch),
        (".", "", engine.Tensor, torch.ones(2, 2)),
        ("F.", "", nn.functional, torch.nn.functional),
        ("special_", "special_", engine.special, torch.special),
        ("linalg_", "linalg_", engine.linalg, torch.linalg),
    ):
        for name in sorted(n for n in dir(ours) if not n.startswith("__") and callable(getattr(ours, n, None))):
            function = getattr(theirs, name, None)
            if isinstance(function, types.BuiltinFunctionType) and name != "from_numpy":
                yield prefix + name, at + {"logsigmoid": "log_sigmoid"}.get(name, name), function, prefix == "."
    yield "_VF.split", "split", torch._VF.split, False  # what Python's split calls
    for name in sorted(
        {text.split()[0] for one in HANDED.values() for text in ([one] if isinstance(one, str) else one.values())}
    ):
        yield "_VF." + name, name, getattr(torch._C._nn, name, None) or getattr(torch._VF, name), False
    yield "new", "new", torch.Tensor, False
    yield "device", "device", torch.device, False


def main() -> None:
    """Write the file."""
    import torch

    known = declared(torch)
    lines: list[str] = []
    for name, form, function, method in places(torch):
        if form in known:
            lines += [name + text.removeprefix(form) for text in forms(name, function, known[form], method=method)] or [name]
        elif "takes no arguments" in complaint(function):
            lines.append(name)
        else:
            sys.stderr.write(f"no form of {name}: {complaint(function)[:100]}\n")
    FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    sys.stdout.write(f"{len(lines)} lines\n")


if __name__ == "__main__":
    main()
