"""The ``nn.Module`` objects of a program: their names, the parameters that they hold, and the tensors that they miss."""

from __future__ import annotations

import dis
import re
from collections.abc import Callable, Mapping
from importlib import import_module
from itertools import pairwise
from traceback import walk_tb
from types import FrameType, FunctionType
from typing import Any

from gviz.graphs import Module, Place, Unlisted
from gviz.text import joined

FORWARD = ("forward", "<lambda>")
"""Names of the code that computes a module; of many of the engine's own it has none."""

DEEPEST = 3
"""How far inside of lists, dictionaries and objects modules are looked for."""


def module_names(namespace: Mapping[Any, Any], engine: Any) -> dict[int, tuple[str, Any]]:
    """Return the modules that names of a program reach, by their identity: each with its first name, and itself.

    All that a variable holds comes before the next variable, and before lists and objects of the program's own, such as
    a Trainer: a module is called as its parameters are.
    """
    from gviz.sources.script.names import parts

    nn = import_module(f"{engine.__name__}.nn")
    todo = [(name, value, 0) for name, value in namespace.items() if str(name)[:2] != "__"]
    names, seen = dict[int, tuple[str, Any]](), set[int]()
    for name, value, depth in todo:  # grows while it is read
        if issubclass(type(value), nn.Module) and "_modules" in vars(value):
            inside = [(name, value)]
            for path, module in inside:  # grows, too
                if module is not None and id(module) not in names:
                    names[id(module)] = path, module
                    inside += [(f"{path}.{child}", one) for child, one in vars(module)["_modules"].items()]
        elif depth < DEEPEST and id(value) not in seen:  # objects may hold one another
            seen.add(id(value))
            near, far = parts(name, value, type(value), (), (nn.Module,), ways=(), is_outer=True)
            todo += [(f"{name}{end}", part, depth + 1) for end, part in (*near, *far)]
    return names


def failed_call(error: BaseException) -> str:
    """Return the innermost call of a module that an error came out of: its path, its class, and the sizes that it got.

    "" for an error outside of modules.
    """
    frames = [frame for frame, _ in walk_tb(error.__traceback__)]
    modules: list[Any] = [own_module(frame) if frame.f_code.co_name in FORWARD else None for frame in frames]
    calls = [at for at, module in enumerate(modules) if hasattr(type(module), "named_modules")]
    if not calls:
        return ""
    outer, inner, caller = modules[calls[0]], modules[calls[-1]], frames[calls[-1] - 1].f_locals
    names = [name for one in frames[: calls[0]] for name, value in one.f_locals.items() if value is outer]
    path = next((path for path, module in outer.named_modules() if module is inner), "")
    given = [*caller.get("args", ()), *caller.get("kwargs", {}).values()] if caller.get("self") is inner else []
    shapes = [getattr(one, "shape", None) for one in given]  # forward() itself may call other things by these names
    sizes = joined(f"({', '.join(map(str, shape))})" for shape in shapes if shape is not None)
    where = ".".join(filter(None, [(names or [type(outer).__name__])[0], path]))
    return f"in {where} ({type(inner).__name__})" + f", which got {sizes}" * bool(sizes)


def own_module(frame: FrameType) -> object:
    """Return what the first argument of a function that runs is now, as ``self`` is; None for one without arguments."""
    names = frame.f_code.co_varnames[: frame.f_code.co_argcount]
    return frame.f_locals.get(names[0]) if names else None


def holders_of(modules: Mapping[int, tuple[str, Any]], names: Mapping[str, Any]) -> dict[object, Module]:
    """Return the module that holds each parameter, by the parameter's name in the program.

    Args:
        modules: from :func:`module_names`.
        names: the tensors that have a name; it may lead past the module: ``weight``, ``fc.weight``.
    """
    holder: dict[int, Module] = {}
    for path, module in modules.values():
        for parameter in vars(module).get("_parameters", {}).values():
            holder.setdefault(id(parameter), Module(path, type(module).__name__))
    return {name: holder[id(tensor)] for name, tensor in names.items() if id(tensor) in holder}


def unlisted(
    modules: Mapping[int, tuple[str, Any]], names: Mapping[str, Any], is_ours: Callable[[str], bool]
) -> dict[str, Unlisted]:
    """Return, by its name, each tensor that a module holds but does not list as a parameter, with the reason.

    Args:
        modules: from :func:`module_names`.
        names: the tensors that have a name.
        is_ours: whether code of a file is the program's.
    """
    paths, result = dict(modules.values()), dict[str, Unlisted]()
    parameter_ids = {id(one) for module in paths.values() for one in vars(module).get("_parameters", {}).values()}
    for name, tensor in names.items():
        ends = [at for at, letter in enumerate(name) if letter == "." and name[:at] in paths]
        if not ends or id(tensor) in parameter_ids:
            continue
        path, attribute = name[: ends[-1]], re.split(r"[.\[]", name[ends[-1] + 1 :], maxsplit=1)[0]
        facts = vars(paths[path])
        buffer = facts["_buffers"].get(attribute)
        if wrapper := wrapper_of(facts.get(attribute, buffer), tensor):
            place = assigned_at(type(paths[path]), attribute, is_ours)
            result[name] = Unlisted(path, attribute, wrapper, place, is_buffer=buffer is tensor)
    return result


def wrapper_of(value: Any, tensor: Any) -> str:
    """Return the class of ``torch.nn`` in which a module lists what it holds: ``ModuleList`` for a list of layers.

    "" for what none of them takes.
    """
    if value is tensor:
        return "Parameter"
    is_dict = type(value) is dict
    items = [*value.values()] if is_dict else value if type(value) in (list, tuple) else []
    of = "Parameter" if any(one is tensor for one in items) else "Module"
    is_whole = all(type(one) is type(tensor) if of == "Parameter" else "_modules" in dir(one) for one in items)
    return f"{of}{'Dict' if is_dict else 'List'}" if items and is_whole else ""


def assigned_at(kind: type, attribute: str, is_ours: Callable[[str], bool]) -> Place | None:
    """Return the line of a class that gives an attribute its value, in the file of its code; None if none does."""
    members = (one for base in kind.__mro__ for one in vars(base).values())
    codes = [one.__code__ for one in members if type(one) is FunctionType and is_ours(one.__code__.co_filename)]
    places = (
        Place(one.positions.lineno, code.co_filename)
        for code in codes
        for one, after in pairwise(dis.get_instructions(code))
        if attribute == (after if one.argval == "register_buffer" else one).argval
        and (one.opname == "STORE_ATTR" or one.argval == "register_buffer")
        and one.positions
        and one.positions.lineno
    )
    return next(places, None)
