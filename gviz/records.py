"""Frozen records: dataclasses that share their methods, since to write and compile some takes time; and making many."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, fields
from functools import cache
from typing import Any, TypeVar, dataclass_transform

Some = TypeVar("Some")


@dataclass_transform(frozen_default=True, field_specifiers=(Field,))
def record(cls: type[Some]) -> type[Some]:
    """Make a class a frozen dataclass; ``fields``, ``replace`` and ``signature`` work as for any other.

    >>> @record
    ... class Point:
    ...     "A place."
    ...     x: int
    ...     y: int = 0
    >>> Point(1), Point(1) == Point(1, y=0), hash(Point(1)) == hash(Point(1, 0))
    (Point(x=1, y=0), True, True)
    """
    own = vars(cls)
    kind: Any = dataclass(init=False, repr=False, eq=False)(cls)
    kind.__init__, kind.__eq__, kind.__hash__ = _init, _eq, _hash
    kind.__repr__ = own.get("__repr__", _repr)
    kind.__setattr__ = kind.__delattr__ = _refuse
    kind.__signature__ = _Signature()
    return cls


@cache
def _parameters(cls: Any) -> tuple[tuple[str, ...], dict[str, Any], dict[str, Callable[[], Any]]]:
    """Return the arguments of a record, the defaults of its fields, and the functions that make one."""
    defaults = {field.name: field.default for field in fields(cls) if field.default is not MISSING}
    makers = {field.name: field.default_factory for field in fields(cls) if field.default_factory is not MISSING}
    return tuple(field.name for field in fields(cls) if field.init), defaults, makers


@cache
def _written(cls: Any) -> Any:
    """Return a dataclass of the same fields with methods of its own: it has the signature, and refuses a wrong call."""
    space = {field.name: field for field in fields(cls)}
    names = {name: getattr(cls, name) for name in ("__module__", "__qualname__", "__doc__", "__annotations__")}
    return dataclass(type(cls.__name__, (), {**space, **names}))


class _Signature:
    def __get__(self, _: object, cls: Any) -> Any:
        from inspect import signature  # few ask

        return signature(_written(cls))


def _init(self: Any, *args: Any, **words: Any) -> None:
    cls: Any = type(self)
    names, defaults, makers = _parameters(cls)
    arguments = dict(zip(names, args, strict=False)) | words
    values = {**defaults, **{name: make() for name, make in makers.items() if name not in arguments}, **arguments}
    if len(arguments) < len(args) + len(words) or not arguments.keys() <= {*names} <= values.keys():
        _written(cls)(*args, **words)
    vars(self).update(values)
    if hasattr(self, "__post_init__"):
        self.__post_init__()


def _repr(self: Any) -> str:
    texts = (f"{field.name}={getattr(self, field.name)!r}" for field in fields(self) if field.repr)
    return f"{type(self).__qualname__}({', '.join(texts)})"


def _compared(self: Any) -> tuple[Any, ...]:
    return tuple(getattr(self, field.name) for field in fields(self) if field.compare)


def _eq(self: Any, other: Any) -> bool:
    return _compared(self) == _compared(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_compared(self))


def _refuse(_: Any, name: str, *value: Any) -> None:
    raise FrozenInstanceError(f"cannot {'assign to' if value else 'delete'} field {name!r}")


@contextmanager
def without_collecting() -> Iterator[None]:
    """Let nobody look for garbage in the block, in which very many small objects are made and few are dropped."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
