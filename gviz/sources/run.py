"""A program after its run, be it an expression or a script, and the one way from there to its graph."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from gviz.errors import SourceError
from gviz.garbage import without_collecting
from gviz.graphs import AT_BACKWARD, GRAD_OF, RENAMED, Graph, Module, Moment, Place, Stop, TensorRow
from gviz.options import SourceOptions
from gviz.sources.derivatives import origin_in_derivative
from gviz.sources.notes import Note
from gviz.sources.reading import find_aliases
from gviz.walk import (
    DETAILED,
    FEW,
    NodeFlow,
    NodeLike,
    grad_fn,
    graph_nodes,
    may_be_rounding,
    tensor_row,
    walk,
)
from gviz.wiring import Wires

if TYPE_CHECKING:
    from gviz.sources.lines import Lines  # an expression's picture tells no lines, and comes without loading the trace
    from gviz.trace.frames import Chain

FIRST_CALLS, FEW_NODES = 20, 60
"""The flow of so many calls of backward, the first ones, is kept for a look at rounding, and of so many operations."""


@dataclass(frozen=True)
class Pass:
    """One pass of ``backward()`` through a graph, or one call of ``make_dot()``; but for names no tensor lives longer.

    Args:
        function: its name.
        place: the script's line that the call came from; None if no line of the script was running.
        flow: how the gradient is going to flow, if that was asked for.
        late_flow: returns how it flows, if that was not asked for, but is needed to tell what rounding has left of a
            sum; None if that is not known.
        memory: what each operation has saved, which backward frees; None if it was not looked at.
        moments: what the tensors were when it ran, by their identity.
        earlier: how many runs of lines there had been when each of the last hundred calls before this one was made, so
            that operations with a smaller run are of an earlier graph.
        run: how many there had been when this one was made; 0 where they are not counted.
        number: which call this is, counted from 1.
        at: when it was called, by the numbers of operations; 0 where that was not asked for.
        names: the named tensors then, where a root is asked for by its name; they live as long as that.
        chain: where the functions of the program stood, if backward was called.
        of: the name of what it is of; "" where that is not known, or if it is of the roots.
        is_first_bad: whether it is the first of the last calls that all left something that is not finite.
        is_followed: whether it was asked for by the name of its root, and the program called backward again afterwards.
    """

    function: str
    place: Place | None = None
    flow: Mapping[NodeLike, NodeFlow] = field(default_factory=dict)
    late_flow: Callable[[], Mapping[NodeLike, NodeFlow]] | None = None
    memory: Mapping[NodeLike, Mapping[object, int] | None] | None = None
    moments: Mapping[int, Moment] = field(default_factory=dict)
    earlier: tuple[int, ...] = ()
    run: int = 0
    number: int = 1
    is_first_bad: bool = False
    is_followed: bool = False
    of: str = ""
    chain: Chain = ()
    at: float = 0.0
    names: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Run:
    """A program after its run.

    Args:
        names: every named tensor that the picture may show, in the order of first assignment.
        roots: name -> root tensor, in the order asked for; none of a script until they are chosen.
        expressions: automatically named intermediate -> what it stands for, ``{"a": "x + w"}``.
        statements: name -> what its tensor was computed by, for these and for assigned names.
        notes: what there is to say, in order.
        lines: the places of its operations, if they were asked for.
        backward: the call that the graph is of: the gradients on their way, and what the tensors were then.
        table_tensors: the tensors of the table, if these are others than the picture's.
        code: its text.
        assignments: name -> the line that gives it its value, in the order of the text.
        modules: its ``nn.Module`` objects by their identity, each with its name.
        has_layers: whether the calls of such objects were noted.
        has_checkpoint: whether to read what operations saved runs functions of the program once more.
        called_on: the tensors that backward was called on.
        error: what it stopped with; None if it came to its end.
        failure: why its last backward failed, if it did, be it that the program has caught the error.
    """

    names: Mapping[str, Any]
    roots: Mapping[str, Any] = field(default_factory=dict)
    expressions: Mapping[str, str] = field(default_factory=dict)
    statements: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    lines: Lines | None = None
    backward: Pass = Pass("")
    table_tensors: Mapping[str, Any] | None = None
    code: str = ""
    assignments: Mapping[str, Place] = field(default_factory=dict)
    modules: Mapping[int, tuple[str, Any]] = field(default_factory=dict)
    has_layers: bool = False
    has_checkpoint: bool = False
    called_on: tuple[Any, ...] = ()
    error: SourceError | None = None
    failure: Stop | None = None


def graph_of_run(run: Run, options: SourceOptions) -> Graph:
    """Return the graph below the roots of a run, as options want it."""
    Wires.stage("reading")  # a script that prints has ended
    with without_collecting():
        names, leaves = {**run.names}, dict[Any, tuple[int, list[Any]]]()
        if options.flow and run.table_tensors is not None:
            from gviz.sources.lines import leaves_below, unnamed_leaves

            first_names = {} if run.lines is None else {"first_name": run.lines.first_name}
            names |= unnamed_leaves(names, leaves_below(names, leaves), **first_names)
        graph = _walked(run, names, options)
        tensors = names if run.table_tensors is None else run.table_tensors
        replaced = _replaced(names, tensors, diagnose=options.diagnose)
        tensors = {**tensors, **{name: names[name] for name in replaced}}
        boxes = {node.name: node.kind for node in graph.nodes}
        lost = {name: one for name, one in names.items() if boxes.get(name) == "leaf" and name not in tensors}
        tensors = {  # with the leaves whose names are gone, and with results whose names are a number's now, say
            **lost,
            **tensors,
            **{
                name: one
                for name, one in names.items()
                if name.endswith(AT_BACKWARD) or (name in run.assignments and name in boxes and name not in tensors)
            },
        }
        rows_by_name = {row.name: row for row in graph.tensors if names.get(row.name) is tensors.get(row.name)}
        aliases = find_aliases(tensors)

        def row_of(name: str, tensor: Any) -> TensorRow:
            expression, moment = run.expressions.get(name), run.backward.moments.get(id(tensor))
            row = rows_by_name.get(name) or tensor_row(name, tensor, expression, most=options.most, moment=moment)
            if name in replaced:
                moment, (then, grad, _), made_by = row.moment or Moment(), row.at_backward(), row.grad_fn or ""
                is_told = row.required_grad or replaced[name].requires_grad
                remark = "; ".join(filter(None, (moment.remark, RENAMED * is_told)))
                moment = Moment(then, grad, row.required_grad, remark, made_by=made_by)
                row = tensor_row(name, replaced[name], most=options.most)._replace(moment=moment)
            return row._replace(same_as=aliases.get(name, ""))

        rows = tuple(row_of(name, tensor) for name, tensor in tensors.items())
        if run.lines is None:
            return graph.changed(tensors=rows, code=run.code if options.watch else "")
        from gviz.sources.lines import leaves_below

        below, uses = leaves_below(tensors, leaves), first_uses(graph)
        data = {name: one for name, one in replaced.items() if options.diagnose and not names[name].requires_grad}
        rows = tuple(
            run.lines.rows(
                rows,
                {**tensors, **data},
                below,
                run.assignments,
                row_of,
                uses=uses,
                chain=run.backward.chain,
                earlier=max(run.backward.earlier, default=0),
            )
        )
        return _with_lines(graph, run, run.lines, _with_unlisted(rows, run, run.lines, tensors), {**names, **tensors})


def _replaced(names: Mapping[str, Any], tensors: Mapping[str, Any], *, diagnose: bool) -> dict[str, Any]:
    """Return the tensors that have names now which others had when backward ran, each by its name.

    A diagnosis is asked about what has a name now: a result that is without a graph since keeps it, to tell why.
    """
    return {
        name: now
        for name, now in tensors.items()
        if name in names and names[name] is not now
        if not diagnose or now.requires_grad >= names[name].requires_grad
    }


def _walked(run: Run, names: Mapping[str, Any], options: SourceOptions) -> Graph:
    """Return the graph that a walk finds, with the flow of its gradients, and the formulas that are asked for."""
    walked = partial(
        walk,
        run.roots,
        names,
        saved=options.saved,
        expressions=run.expressions,
        most=options.most,
        detailed=(math.inf if options.folds else DETAILED if options.details else FEW)
        * (-1 if run.has_checkpoint else 1),
        statements=run.statements,
        origin_of=run.lines.origin_of if run.lines is not None else origin_in_derivative if options.flow else None,
        moments=run.backward.moments,
        modules=_modules_of_run(run, names) if run.has_layers else None,
    )
    graph = walked(flow=run.backward.flow)
    if (run.backward.late_flow is not None and len(graph.nodes) <= FEW_NODES) and any(
        may_be_rounding(node.grad.value) for node in graph.nodes
    ):
        graph = with_gradients_of(graph, walked(flow=run.backward.late_flow()))
    if options.order:  # of a script it is that of its own backward
        graph = graph.changed(
            nodes=tuple(
                node._replace(state=f"{GRAD_OF}{run.backward.of or ' + '.join(run.roots)}")
                if node.kind == "leaf" and node.grad.value is not None
                else node
                for node in graph.nodes
            )
        )
    if (options.flow or (run.backward.flow and not options.shares)) and not options.diagnose:  # shares need no names
        from gviz.formulas.local import MOST_DERIVED, with_formula

        graph = graph if len(graph.nodes) > MOST_DERIVED else with_formula(graph.changed(code=run.code))
    return graph


def _with_unlisted(
    rows: tuple[TensorRow, ...], run: Run, lines: Lines, tensors: Mapping[str, Any]
) -> tuple[TensorRow, ...]:
    """Return rows that know what keeps them out of a module's parameters."""
    from gviz.sources.layers import unlisted

    unlisted_by_name = unlisted(run.modules, tensors, lines.trace.frames.is_ours)
    with_places = {
        name: one._replace(place=one.place and lines.place(one.place)) for name, one in unlisted_by_name.items()
    }
    return tuple(row._replace(unlisted=with_places.get(row.name)) for row in rows)


def _with_lines(graph: Graph, run: Run, lines: Lines, rows: tuple[TensorRow, ...], names: Mapping[str, Any]) -> Graph:
    """Return a graph with the rows of its table, and with what is known of the program's lines."""
    error = run.error.what if run.error is not None else run.failure.message if run.failure is not None else ""
    has_graph = bool(run.roots) and (run.failure is None or any(map(grad_fn, run.called_on)))
    later = {row.name: row.at_backward()[2] for row in rows if not row.is_renamed}
    nodes = (
        node._replace(later=later.get(node.name or "") or node.later) if node.later else node for node in graph.nodes
    )
    return graph.changed(
        nodes=tuple(nodes),
        tensors=rows,
        code=run.code,
        backward=lines.with_code_kept(run.backward.place) if run.backward.function in ("backward", "grad") else None,
        earlier_runs=run.backward.earlier,
        is_followed=run.backward.is_followed,
        is_first_bad=run.backward.is_first_bad,
        failure=run.failure,
        writes=lines.writes_in(error, run.called_on) if error else (),
        breaks=tuple(lines.cuts(run.roots.values() if has_graph else run.called_on, names, run.backward.flow)),
        codes=tuple(lines.codes.items()),
        functions=tuple(lines.functions),
    )


def first_uses(graph: Graph) -> dict[str, int]:
    """Return for each leaf, by its name, the first run of a line that uses it in the graph."""
    first: dict[str, int] = {}
    for node in graph.nodes:
        if node.kind in ("leaf", "frozen", "constant") and node.name:
            users = [edge.target for edge in graph.uses[node.id]]
            ends = [one for use in users for one in (graph.uses[use] if graph.by_id[use].kind == "accumulate" else ())]
            runs = [graph.by_id[one].run for one in (*users, *(edge.target for edge in ends))]
            first[node.name] = min(filter(None, runs), default=0)
    return first


def with_gradients_of(graph: Graph, other: Graph) -> Graph:
    """Return a graph with the gradients on their way that another walk has found, and else as it is.

    They tell what rounding has left, and must change neither names nor values: whether they are looked for depends on
    the numbers.
    """
    from gviz.formulas.local import with_formula

    return graph.changed(
        nodes=tuple(one._replace(grad=late.grad) for one, late in zip(graph.nodes, other.nodes, strict=True)),
        edges=tuple(
            one._replace(flow=late.flow._replace(symbol=""))
            for one, late in zip(graph.edges, with_formula(other).edges, strict=True)
        ),
    )


def _modules_of_run(run: Run, names: Mapping[str, Any]) -> tuple[dict[object, Module], tuple[Module, ...]]:
    """Return the modules of operations, and those that hold leaves, by the leaves' names; and the calls around them."""
    from gviz.passes.modules import idle_modules
    from gviz.sources.layers import holders_of
    from gviz.trace.modules import modules_of

    paths = {key: path for key, (path, _) in run.modules.items()}
    nodes = graph_nodes(run.roots.values())
    modules, around = modules_of(nodes, paths)
    idle = idle_modules(run.modules.values(), nodes.values(), (*modules.values(), *around))
    return {**modules, **holders_of(run.modules, names)}, (*around, *idle)
