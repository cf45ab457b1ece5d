"""What a source is asked for, what it says while it is read, and what an expression comes to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Evaluated", "Level", "Note", "SourceOptions"]

Level: TypeAlias = Literal["note", "warning", "error", "dim"]
"""How loud a note is: ``dim`` is for a terminal only, ``error`` goes with exit status 1."""


@dataclass(frozen=True)
class SourceOptions:
    """What to read a source with; every field has the command line's default.

    Args:
        values: name -> value as typed, ``{"x": "2", "W": "[[1,2],[3,4]]"}``, in the order given.
        roots: names of the root tensors, in the order asked for; empty leaves it to the source.
        frozen: names of tensors that require no gradient.
        retain: names of intermediates that keep their gradient.
        dtype: of the values, ``float32``, ``float64`` ...; None is float32.
        backward: whether an expression runs backward from its roots.
        grad_output: a value with the root's shape, or ``ones``: what backward starts from where a root is no scalar.
        engine: ``gviz``, ``torch`` or ``auto``; expressions are always gviz's own.
        on_error: ``draw`` a script's graph as far as it came, or ``stop``.
        saved: whether saved tensors become nodes.
        argv: a script's own arguments.
        static: whether a static graph is wanted, of an expression too.
        graph: name of the static graph that is wanted of a script; "" for the default one.
    """

    values: Mapping[str, str] = field(default_factory=dict)
    roots: tuple[str, ...] = ()
    frozen: tuple[str, ...] = ()
    retain: tuple[str, ...] = ()
    dtype: str | None = None
    backward: bool = True
    grad_output: str | None = None
    engine: str = "auto"
    on_error: str = "draw"
    saved: bool = False
    argv: tuple[str, ...] = ()
    static: bool = False
    graph: str = ""


@dataclass(frozen=True)
class Note:
    """One line for standard error.

    Args:
        text: the line.
        level: how loud it is.
    """

    text: str
    level: Level = "note"


@dataclass(frozen=True)
class Evaluated:
    """What an expression comes to.

    Args:
        names: every named tensor, values and intermediates, in the order of first assignment.
        roots: name -> root tensor, in the order asked for.
        expressions: automatically named intermediate -> what it stands for, ``{"a": "x + w"}``.
        notes: what there is to say, in order.
    """

    names: dict[str, Any]
    roots: dict[str, Any]
    expressions: dict[str, str]
    notes: tuple[Note, ...] = ()
