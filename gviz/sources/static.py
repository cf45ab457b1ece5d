"""A static graph that a source stands for, or that a script has left: its picture, its derivatives, its plan."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from gviz.errors import SourceError
from gviz.graphs import Graph as Picture
from gviz.passes.scopes import derivative_ids
from gviz.sources.notes import Note
from gviz.sources.reading import Reading, Talk
from gviz.static.errors import OpError
from gviz.static.gradients import gradients
from gviz.static.graph import Graph, Operation, Tensor, get_default_graph
from gviz.static.out import static_picture
from gviz.static.session import Session, computed, unused_operations
from gviz.static.variables import Variable
from gviz.text import did_you_mean, joined

MOST_WRITTEN = 16
"""Elements of a constant that are written out."""


@dataclass(frozen=True)
class StaticSource:
    """A static graph, and what is known of it.

    Args:
        graph: the graph.
        names: the source's names of its tensors; of a script's variables and operations too.
        root: the tensor that it is about; None for a script's graph.
        feeds: placeholder -> array, for an expression with values.
        notes: what there is to say.
        title: what it is called: an expression's root, a script's file.
        slopes: the derivatives of the root that were added.
    """

    graph: Graph
    names: dict[str, Any] = field(default_factory=dict)
    root: Tensor | None = None
    feeds: dict[Tensor, Any] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    title: str = ""
    slopes: tuple[Tensor, ...] = ()


def source_in(space: dict[str, Any], name: str = "", title: str = "") -> StaticSource | None:
    """Return the static graph that a script has built, None where there is none.

    Args:
        space: the script's global names.
        name: the name of a graph among them; "" for the default one, or where that is empty the first of the script's.
        title: what to call it.

    Raises:
        SourceError: there is no graph of that name.
    """
    types = {key: type(value) for key, value in space.items()}  # not isinstance: a script's globals may be anything
    graphs = {key: space[key] for key, of in types.items() if issubclass(of, Graph) and not key.startswith("_")}
    graphs.update((key, space[key].graph) for key, of in types.items() if issubclass(of, Session))
    if name and name not in graphs:
        raise SourceError(
            f"--graph {name}: there is no graph of that name",
            hint=f"the graphs are {', '.join(graphs)}" if graphs else "the script names none: leave --graph out",
        )
    choice = [graphs[name]] if name else [get_default_graph(), *graphs.values()]
    graph = next((each for each in choice if each.operations), None)
    if graph is None:
        return None
    tensors = ((key, space[key]) for key, of in types.items() if issubclass(of, (Tensor, Variable, Operation)))
    return StaticSource(
        graph,
        {key: each for key, each in tensors if each.graph is graph},
        notes=tuple(map(Note, unused_operations(graph))),
        title=title,
    )


def reading(source: StaticSource, talk: Talk, status: int = 0) -> Reading:
    """Return a static graph as every command reads it; ``status`` is that of the reading."""
    talk.say(*source.notes)
    return Reading(_picture_of(source), tuple(talk.notes), failed=status == 1, status=status, static=source)


def _picture_of(source: StaticSource) -> Picture:
    """Return its picture, with what one run gives for an expression's values; without where that run fails."""
    if source.root is not None:
        with suppress(OpError, ValueError, TypeError, ArithmeticError):
            values = computed(source.graph, source.feeds)
            return static_picture(source.graph, values=values, title=source.title, names=source.names)
    return static_picture(source.graph, title=source.title, names=source.names)


def with_gradients(reading: Reading) -> Reading:
    """Return the reading of an expression with the derivatives of its root with respect to its placeholders.

    Raises:
        SourceError: there is no root to differentiate, or an operation has no derivative.
    """
    source = reading.static
    if source is None:
        raise SourceError("--gradients needs an expression, not a saved picture of a graph")
    if source.root is None and derivative_ids(reading.graph):
        return reading
    if source.root is None:
        raise SourceError(
            "--gradients is for expressions: a script says itself what to differentiate",
            hint="in a script, write tf.gradients(y, [x]); gviz draws the operations that it adds",
        )
    try:
        slopes = tuple(slope for slope in gradients(source.root, list(source.feeds)) if slope is not None)
    except (LookupError, TypeError, ValueError) as error:
        raise SourceError(str(error)) from None
    return replace(reading, graph=_picture_of(source), static=replace(source, slopes=slopes))


def plan_text(reading: Reading, roots: Sequence[str] = ()) -> str:
    """Return the function that a run becomes: of the root with its derivatives, of a script's names, or of all ends.

    Raises:
        SourceError: there is nothing to run.
    """
    source = reading.static
    if source is None:
        raise SourceError("--plan needs the graph itself, not a saved picture of it")
    fetches = _fetches(source, roots)
    operations = source.graph.get_operations()
    feeds = [op.outputs[0] for op in operations if op.type == "Placeholder" and op.context is None]
    try:
        plan = Session(graph=source.graph).plan(fetches, feeds)
    except (ValueError, TypeError, RuntimeError, OpError) as error:
        raise SourceError(str(error)) from None
    constants = [f"{name} = {constant_text(value)}\n" for name, value in plan.constants.items()]
    constants += [f"{name} = {op.name!r}  # {op.type}\n" for name, op in plan.operations_used.items()]
    return (
        f"# {len(operations)} operations in the graph: "
        f"{len(plan.operations)} {'is' if len(plan.operations) == 1 else 'are'} computed, "
        f"{len(plan.folded)} folded into constants, {len(plan.shared)} shared"
        f"\n{''.join(constants)}{plan.source}"
    )


def constant_text(value: Any) -> str:
    """Return the numbers of a constant in a plan, and their type; of a large one the sizes in their place.

    >>> import numpy as np
    >>> constant_text(np.float32(3)), constant_text(np.zeros((9, 9)))
    ('3.0  # float32', '...  # float64 of size (9, 9)')
    """
    is_small = value.size <= MOST_WRITTEN
    return f"{value.tolist()}  # {value.dtype}" if is_small else f"...  # {value.dtype} of size {value.shape}"


def named_root(source: StaticSource, name: str) -> Any:
    """Return what a name of the source, or of an operation, stands for; SourceError if there is none."""
    outputs = {operation.name: operation.outputs[0] for operation in source.graph.get_operations() if operation.outputs}
    tensors = outputs | source.names
    if name not in tensors:
        raise SourceError(
            f"--root {name}: there is no such name",
            hint=did_you_mean(
                name, tensors, f"there are {joined(dict.fromkeys([*source.names, *outputs]), 12) or 'none'}"
            ),
        )
    return tensors[name]


def tells_side(op: Operation) -> bool:
    """Return whether an operation is there on one side of a branch alone, for others to wait for."""
    return op.type == "Identity" and op.inputs[0].op.type == "Switch"


def _fetches(source: StaticSource, roots: Sequence[str]) -> Any:
    """Return what a run computes; SourceError for a root that is not there."""
    fetched = [named_root(source, name) for name in roots]
    if source.root is not None:
        return [source.root, *source.slopes] if source.slopes else source.root
    if fetched:
        return fetched
    operations = source.graph.get_operations()
    inputs = {tensor for op in operations for tensor in op.inputs}
    ends = [op for op in operations if op.context is None and op.type != "VariableV2" and not tells_side(op)]
    # the second output of a Merge, which tells the branch, is of use to nobody
    outputs = [tensor for op in ends for tensor in (op.outputs[:1] if op.type == "Merge" else op.outputs)]
    return [tensor for tensor in outputs if tensor not in inputs]
