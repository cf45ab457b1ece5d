"""Saved graphs of version 1: values as nested lists, places as words, and all in one record."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gviz.graphs.numbers import Numbers
from gviz.text import excerpt

PLACE = re.compile(r"(?:cell (?P<cell>\d+), )?(?:line (?P<line>\d+)|(?P<file>.+):(?P<number>\d+))$")
CELL = re.compile(r"cell (\d+)$")


def renewed(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a graph of version 1 as the version after it has it.

    Raises:
        ValueError: numbers that are no nested lists.
    """
    graph = {
        name: value
        for name, value in data.items()
        if name not in ("error", "line", "file", "codes", "writes", "cuts", "turn")
    }
    for part, renew in (("nodes", _node), ("edges", _edge), ("tensors", _row)):
        if isinstance(data.get(part), list):
            graph[part] = [
                renew(dict(item), f"{part}[{number}]") if isinstance(item, Mapping) else item
                for number, item in enumerate(data[part])
            ]
    if (error := data.get("error", "")) != "":
        if not isinstance(error, str):
            raise ValueError(f"error is {excerpt(repr(error))}, not a text")
        head, _, message = error.partition("\n")
        where, _, code = head.partition("  ")
        graph["stop"] = _filled(message=message, place=_place_of(where) if code else None, code=code)
    graph |= _filled(backward=_place(data.get("line", 0), data.get("file", "")), earlier=data.get("turn", 0))
    graph |= {"codes": _with_places(data.get("codes", [])), "writes": _with_places(data.get("writes", []))}
    cuts = data.get("cuts", [])
    return graph | {"breaks": [graph_break(cut) for cut in cuts] if isinstance(cuts, list) else cuts}


def _node(old: dict[str, Any], at: str) -> dict[str, Any]:
    """Return a box: its facets are apart."""
    value, shape = old.pop("value", None), old.pop("shape", None)
    tensor = _numbers(value, shape, old.pop("dtype", None), f"{at}.value")
    grad = _filled(value=_numbers(old.pop("grad", None), None, None, f"{at}.grad"))
    grad |= _filled(arrived=_numbers(old.pop("arrives", None), None, None, f"{at}.arrives"))
    where = _place(old.pop("line", 0), old.pop("file", ""), old.pop("column", 0), old.pop("turn", 0))
    names = ("slots", "attrs", "held", "outputs", "seconds", "kept", "is_written")
    recorded = {name: old.pop(name) for name in names if name in old}
    attrs = recorded.get("attrs", [])
    pairs = [one for one in (attrs if isinstance(attrs, list) else []) if isinstance(one, list) and len(one) == 2]
    recorded |= _filled(tensors=[name for name, text in pairs if str(text).startswith("[saved tensor")])
    scope = old.pop("scope", "")
    return {
        **old,
        **_filled(numbers=tensor, grad=grad, place=where, recorded=recorded, module=scope and {"path": scope}),
    }


def _edge(old: dict[str, Any], at: str) -> dict[str, Any]:
    """Return an arrow: what flows along it is apart."""
    parts = {
        name: _numbers(old.pop(name, None), None, None, f"{at}.{name}") for name in ("local", "handed", "jacobian")
    }
    flow = _filled(symbol=old.pop("symbol", ""), **parts)
    return {**old, **_filled(flow=flow)}


def _row(old: dict[str, Any], at: str) -> dict[str, Any]:
    """Return a row of the table: its facets are apart."""
    tensor = _numbers(old.pop("value", None), old.pop("shape", None), old.pop("dtype", None), f"{at}.value")
    grad = _filled(value=_numbers(old.pop("grad", None), None, None, f"{at}.grad"))
    grad |= _filled(before=_numbers(old.pop("before", None), None, None, f"{at}.before"))
    old_cut = {name: old.pop(name, "") for name in ("cut", "cut_by", "cut_at", "cut_from")}
    where = _place_of(old_cut["cut_at"]) or None
    reason, call, _, source = old_cut.values()
    broken = reason and {"place": where, "call": call, "reason": reason, "source": source}
    history = _filled(
        grad_cleared=_place_of(old.pop("taken_at", "")),
        requires_grad_set=_place_of(old.pop("cured_at", "")),
        autograd_grad=_place_of(old.pop("by_hand_at", "")),
        was_used=old.pop("was_used", False),
        was_early=old.pop("was_early", False),
    )
    where = _place(old.pop("line", 0), old.pop("file", ""))
    return {**old, "numbers": tensor or {}, **_filled(grad=grad, broken=broken, history=history, place=where)}


def _with_places(old: Any) -> Any:
    """Return pairs of a place and a text, without those whose place is not known; what is no list of pairs as it is."""
    if not isinstance(old, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in old):
        return old
    return [[_place_of(where), text] for where, text in old if _place_of(where)]


def graph_break(old: Any) -> Any:
    """Return a line that cut tensors off."""
    if not isinstance(old, Mapping):
        return old
    new = {"place": _place_of(old.get("at", "")) or None, "call": old.get("by", ""), "reason": old.get("why", "")}
    return new | {name: value for name, value in old.items() if name not in ("at", "by", "why")}


def _numbers(value: object, shape: Any, dtype: Any, at: str) -> dict[str, Any]:
    """Return numbers with their shape, as records have them; nothing where there are none."""
    sizes = _filled(shape=shape, dtype=dtype) | ({"shape": shape} if shape is not None else {})
    if value is None:
        return sizes | ({"shape": None} if dtype and shape is None else {})
    try:
        new = Numbers.of(value)
    except ValueError as error:
        raise ValueError(f"{at} is {excerpt(repr(value))}: {error}") from None
    return {"shape": list(new.shape or ()), **sizes, "elements": list(new.elements or ())}


def _place(line: int, file: Any = "", column: int = 0, run: int = 0) -> dict[str, Any]:
    """Return a place; nothing for line 0."""
    cell = CELL.match(file) if isinstance(file, str) else None
    if cell is not None:
        return _filled(line=line, column=column, run=run, cell=int(cell[1]))
    return _filled(line=line, file=file, column=column, run=run) if line != 0 else {}


def _place_of(words: Any) -> dict[str, Any]:
    """Return the place of words such as ``line 3``, ``model.py:3`` or ``cell 2, line 3``; nothing for any others."""
    match = PLACE.match(words) if isinstance(words, str) else None
    if match is None:
        return {}
    return _filled(line=int(match["line"] or match["number"]), file=match["file"] or "", cell=int(match["cell"] or 0))


def _filled(**parts: Any) -> dict[str, Any]:
    """Return the parts that say something."""
    return {name: part for name, part in parts.items() if part not in (None, "", 0, {}, False)}
