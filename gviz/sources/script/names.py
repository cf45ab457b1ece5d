"""The names of a program's tensors: at one moment, and in the picture.

Tensors are known by their type alone, and objects by what they hold: nothing that the program has written is called for
it, for its globals may be anything.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from itertools import accumulate, compress
from operator import not_
from types import MemberDescriptorType
from typing import Any, TypeAlias

from gviz.sources.script.syntax import bindings
from gviz.text import letters_of
from gviz.walk import grad_fn, graph_nodes

Names: TypeAlias = "dict[str, Any]"
"""Name -> tensor, in the order of first assignment."""

Parts: TypeAlias = "list[tuple[str, Any]]"
"""End of a name -> what it leads to."""

Unnamed: TypeAlias = "dict[str, Parts]"
"""Name of a list or a dictionary -> those of its items that have no names."""

DEEPEST = 9
"""How far inside of objects tensors are looked for; an attribute counts as two steps, an item or a parameter as one: as
far as ``net.layers[0].neurons[0].w[0]``."""

PASSING = 2 * DEEPEST
"""How much further off the names are that loops give, such as p of ``for p in net.parameters()``."""

LIBRARIES = {*sys.stdlib_module_names, "torch", "gviz", "numpy"}
"""Whose objects are not looked into, but for PyTorch's modules."""

MOST_NAMED = 10_000
"""Items that require no gradient and have names, where not all have to: more of them are data."""

MAX_COPIED = 1000
"""Items of a list that are remembered at a backward call; a longer list is data, not parameters."""


def loop_names(tree: ast.Module) -> set[str]:
    r"""Return the names that loops alone give, as their variable or in their bodies, of the script and its functions.

    >>> text = "for p, (q, w) in x: p.grad = 0; r = s = p; w += 1\nr = [p for p in x]\ndef f(): q = 1"
    >>> sorted(loop_names(ast.parse(text)))
    ['p', 'q', 's', 'w']
    """
    inside, outside = (
        {(scope, name) for name, _, scope, is_looped, is_new in bindings(tree) if is_new and is_looped == where}
        for where in (True, False)
    )
    return {name for _, name in inside - outside} - {name for scope, name in outside if not scope}


def named_tensors(
    namespace: Mapping[str, Any],
    libraries: Iterable[Any],
    unnamed: Unnamed | None = None,
    loops: Collection[str] = (),
    asked: Collection[str] = (),
) -> Names:
    """Return every tensor that a name of the namespace reaches: ``x``, ``parts[0]``, ``net.fc.weight``, ``model.w``.

    What only an object of the program holds, or what is further inside, has a name if no shorter one leads to it; an
    item of a list in a list has one only if it requires a gradient. A tensor that PyTorch refuses to look at has none.

    Args:
        namespace: what there is by name.
        libraries: what the program may know as torch, loaded already; nothing is loaded for this.
        unnamed: takes the items of lists and dictionaries that have no name, since they need no gradient and are more
            than :data:`MOST_NAMED`; None if all are to have one.
        loops: names that loops give: a leaf that has another name, which lasts, has these last.
        asked: names that a tensor has beside a shorter one.
    """
    tensors = tuple(library.Tensor for library in libraries)
    layers = (sys.modules.get(f"{library.__name__}.nn") for library in libraries)
    modules = tuple(nn.Module for nn in layers if nn is not None)
    ways = {letters_of(f"{one}."[: end.start()]) for one in asked for end in re.finditer(r"[.\[]", f"{one}.")}
    start = ((PASSING * (name in loops), name, value) for name, value in namespace.items() if type(name) is str)
    todo = [one for one in start if not one[1].startswith("__")][::-1]
    candidates, seen, room = list[tuple[int, str, Any]](), dict[int, int](), MOST_NAMED
    while todo:
        depth, name, value = todo.pop()
        kind = type(value)
        if issubclass(kind, tensors):
            is_listed = _is_readable(value) and (depth % PASSING < 2 or name[-1] != "]" or value.requires_grad)
            candidates += [(depth, name, value)] * is_listed  # but for pairs of a dataset, say
        elif (
            (own := depth % PASSING) == 0  # objects may hold one another
            or (own < DEEPEST and depth < seen.get(id(value), 2 * PASSING))
            or (own < PASSING - 2 and letters_of(name) in ways)
        ):
            seen[id(value)] = min(depth, seen.get(id(value), depth))
            near, far = parts(name, value, kind, tensors, modules, ways=ways, is_outer=own == 0)
            if own == 0 and unnamed is not None and not issubclass(kind, modules):
                are_data = [issubclass(type(part), tensors) and not part.requires_grad for _, part in near]
                if (data := sum(are_data)) > room:
                    numbered = zip(are_data, accumulate(are_data), strict=True)
                    is_left = [is_one and number > room for is_one, number in numbered]
                    unnamed[name] = list(compress(near, is_left))
                    near = list(compress(near, map(not_, is_left)))
                room -= min(data, room)
            todo += [(depth + 2, f"{name}{path}", part) for path, part in reversed(far)]
            todo += [(depth + 1, f"{name}{path}", part) for path, part in reversed(near)]
    best: dict[int, str] = {}
    for _, name, tensor in sorted(candidates, key=lambda one: one[0] if one[2].is_leaf else one[0] % PASSING):
        best.setdefault(id(tensor), name)  # of a result the name that a loop gives tells most
    return lasting_first(
        {
            name: tensor
            for depth, name, tensor in candidates
            if depth % PASSING < 2 or best[id(tensor)] == name or letters_of(name) in ways
        },
        loops,
    )


def lasting_first(names: Names, loops: Collection[str]) -> Names:
    """Return names without those that loops give to leaves of other names, and then these; arguments as above."""
    passing = {name for name, tensor in names.items() if global_of(name) in loops and tensor.is_leaf}
    ids = {id(tensor) for name, tensor in names.items() if name not in passing}
    return dict(sorted(names.items(), key=lambda pair: pair[0] in passing and id(pair[1]) in ids))


def global_of(name: str) -> str:
    """Return the global that a name goes through: parts for parts[0]."""
    return name.partition("[")[0].partition(".")[0]


def _is_readable(tensor: Any) -> bool:
    """Return False for a view whose base was changed in place, and for a parameter of a lazy layer that was not called.

    PyTorch refuses to say what made the one, and the shape of the other.
    """
    try:
        tensor.grad_fn, tensor.shape  # noqa: B018 - asking is the question
    except RuntimeError:
        return False
    return True


def parts(
    name: str,
    value: Any,
    kind: type,
    tensors: tuple[type, ...],
    modules: tuple[type, ...],
    *,
    ways: Collection[str],
    is_outer: bool,
) -> tuple[Parts, Parts]:
    """Return what an object holds by the ends of its names, if it may be tensors: items and parameters; attributes."""
    classes = (*tensors, *modules, list, tuple, dict)
    if issubclass(kind, list | tuple):
        items = list.copy(value) if issubclass(kind, list) else list(tuple.__iter__(value))
        holding = {of for of in set(map(type, items)) if _may_hold(of, classes)}  # of a million numbers: at once
        ends = _fields(kind if is_outer else tuple, len(items))  # further inside, as in a memory of steps, it is data
        return [(ends(at), item) for at, item in enumerate(items) if type(item) in holding] if holding else [], []
    if issubclass(kind, dict):
        return [(f"[{_written(key)}]", item) for key, item in dict.items(value) if _may_hold(type(item), classes)], []
    if not _may_hold(kind, classes):
        return [], []
    is_module = issubclass(kind, modules)
    near = [(f".{path}", item) for path, item in _parameters(name, value, ways)] if is_module else []
    holders = _modules(value) if is_module else [("", value)]
    attributes = [
        (f"{path}{name}", part)
        for path, holder in holders
        for name, part in _attributes(holder).items()
        if type(name) is str and not (is_module and name[0] == "_")
    ]
    return near, [(f".{name}", part) for name, part in attributes if _may_hold(type(part), classes)]


def _fields(kind: type, count: int) -> Callable[[int], str]:
    """Return what the items of a tuple are called by their places: ``.w`` of a named tuple, else ``[0]``."""
    spaces = (type.__getattribute__(one, "__dict__") for one in type.__getattribute__(kind, "__mro__"))
    names = next((space["_fields"] for space in spaces if "_fields" in space), ())
    is_named = type(names) is tuple and len(names) == count and {*map(type, names)} == {str}
    return lambda at: f".{names[at]}" if is_named else f"[{at}]"


def _may_hold(kind: type, classes: tuple[type, ...]) -> bool:
    """Return whether objects of a class may hold tensors: those of the given classes, and of the program's own."""
    if issubclass(kind, classes):
        return True
    home = type.__getattribute__(kind, "__module__")
    return type(home) is str and home.partition(".")[0] not in LIBRARIES


def _attributes(value: Any) -> Mapping[Any, Any]:
    """Return an object's own attributes, its class unasked: those in its dictionary, and those that have slots."""
    attributes: dict[Any, Any] = {}
    with suppress(AttributeError):
        own = object.__getattribute__(value, "__dict__")
        attributes |= own if type(own) is dict else {}
    spaces = [type.__getattribute__(kind, "__dict__") for kind in type.__getattribute__(type(value), "__mro__")]
    for name, slot in [pair for space in spaces if "__slots__" in space for pair in space.items()]:
        with suppress(AttributeError):  # it has no value
            attributes |= {name: slot.__get__(value)} if type(slot) is MemberDescriptorType else {}
    return attributes


def _written(key: object) -> str:
    """Return a key as the program would write it."""
    try:
        return repr(key)
    except BaseException:  # noqa: BLE001 - a key's own repr is the program's code, and may raise anything
        return f"<{type(key).__name__}>"


def _parameters(name: str, module: Any, ways: Collection[str]) -> Parts:
    """Return a module's parameters, with their paths; [] if its methods fail.

    And those of its buffers that require a gradient, or whose names are among the letters of what is asked about.
    """
    for words in ({"remove_duplicate": False}, {}):
        with suppress(Exception):  # overridden, or a module whose __init__ did not get that far
            buffers = [
                (path, one)
                for path, one in module.named_buffers(**words)
                if one.requires_grad or letters_of(f"{name}.{path}") in ways
            ]
            return [*module.named_parameters(**words), *buffers]
    return []


def _modules(module: Any) -> list[tuple[str, Any]]:
    """Return a module and those within it, each with the beginning of its attributes' names; [] if its methods fail."""
    try:
        return [(f"{path}." if path else "", one) for path, one in module.named_modules()]
    except Exception:  # noqa: BLE001 - as for its parameters
        return [("", module)]


def shallow(namespace: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of a namespace, with copies of its lists and dicts, so that later assignments do not change it."""
    copy = dict(namespace)
    for name, value in copy.items():
        if type(value) in {list, dict} and len(value) <= MAX_COPIED:
            copy[name] = value.copy()
    return copy


def with_names_of_the_picture(
    first: Mapping[str, Any], second: Mapping[str, Any], roots: Iterable[Any], named: Collection[int] = ()
) -> Names:
    """Return the names that a picture needs: those of two moments, of which what is in the picture wins.

    ``w = w - lr * w.grad`` takes the name from the leaf that the picture shows; there the leaf keeps it.

    Args:
        first: the names that win if both tensors, or neither, are in the picture.
        second: names of another moment.
        roots: what the picture is of.
        named: the identities of tensors that keep the names which they have in the first.
    """
    result = {**first, **{name: tensor for name, tensor in second.items() if name not in first}}
    other_names = [name for name, one in second.items() if result[name] is not one and id(one) not in named]
    nodes = graph_nodes(roots) if other_names else {}
    leaves = {id(leaf) for leaf in nodes.values() if leaf is not None}

    def is_inside(tensor: Any) -> bool:
        return id(tensor) in leaves or grad_fn(tensor) in nodes

    return result | {
        name: second[name] for name in other_names if is_inside(second[name]) and not is_inside(first[name])
    }
