"""Two scripts, each run once and observed: one that feeds a static graph, and one that records a graph in each run.

A run of the static script is a call of ``Session.run``. A run of the dynamic one is a call of ``backward()`` or
``autograd.grad()``, with the graph that it goes through.
"""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from time import perf_counter
from typing import Any

from gviz import engine
from gviz.autograd.modes import mode
from gviz.compare.measuring import Agreement, agreement_between
from gviz.errors import SourceError
from gviz.graphs import Graph
from gviz.sources import static as static_source
from gviz.sources.script.execution import run_observed
from gviz.sources.script.names import named_tensors
from gviz.sources.script.program import GVIZ
from gviz.sources.source import Source
from gviz.static.graph import Operation, Tensor
from gviz.static.out import static_picture
from gviz.static.session import Session
from gviz.static.types import leaves
from gviz.trace.listening import Listener, Observer
from gviz.walk import graph_nodes, walk

MOST_DRAWN = 3
"""Graphs of the dynamic script that are drawn."""

GRAD = ".grad"


@dataclass
class ScriptRuns:
    """What a script did in its one run.

    Args:
        operations: of each graph that it built, how many it has.
        times: of each run, in seconds.
        results: of each run, the values by their names; of a gradient the name is ``x.grad``.
        pictures: graphs by the numbers of their runs, of the dynamic script the first ones that differ.
        build: from the first operation of the static graph to the first run, in seconds; None for the dynamic script.
    """

    operations: list[int] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    results: list[dict[str, Any]] = field(default_factory=list)
    pictures: dict[int, Graph] = field(default_factory=dict)
    build: float | None = None


@dataclass(frozen=True)
class ScriptComparison:
    """Two scripts and what they did.

    Args:
        files: their names, the static one first.
        static: what the static script did.
        dynamic: what the dynamic script did.
        names: the results that were compared: both have them in runs of the same number.
        runs: of each script the count of the runs that have such results; as many as both have were compared.
        numbers: those of these runs, which are counted from 1.
    """

    files: tuple[str, str]
    static: ScriptRuns
    dynamic: ScriptRuns
    names: tuple[str, ...]
    runs: tuple[int, int]
    numbers: Agreement


def compare_scripts(sources: Sequence[Source], argv: tuple[str, ...] = ()) -> ScriptComparison:
    """Run two scripts, and compare what they built and what came out.

    Args:
        sources: a script that imports tensorflow, and one that does not, in any order.
        argv: the arguments of both.

    Raises:
        SourceError: they are not one of each kind, or one of them raises an error.
    """
    statics = [source for source in sources if "tensorflow" in source.text]
    if len(statics) != 1:
        which = "both import" if statics else "neither imports"
        raise SourceError(
            f"one of the scripts is to build a static graph, and one dynamic ones: {which} tensorflow",
            hint="as in gviz compare samples/while_static.py samples/while_dynamic.py",
        )
    ordered = sorted(sources, key=lambda source: source is not statics[0])
    static, names = run_static(ordered[0], argv)
    dynamic = run_dynamic(ordered[1], argv, names)
    files = (ordered[0].file or "", ordered[1].file or "")
    return ScriptComparison(files, static, dynamic, *compared(static.results, dynamic.results))


def compared(
    static: Sequence[Mapping[str, Any]], dynamic: Sequence[Mapping[str, Any]]
) -> tuple[tuple[str, ...], tuple[int, int], Agreement]:
    """Compare the runs in which both scripts have results of the same names, in their order.

    Returns:
        The names, the counts of runs that have them, and their numbers.
    """
    dynamic_names = {name for results in dynamic for name in results}
    names = tuple(dict.fromkeys(name for results in static for name in results if name in dynamic_names))
    ours, theirs = ([one for one in runs if any(name in one for name in names)] for runs in (static, dynamic))
    rows = [
        (number, name, one[name], other[name])
        for number, (one, other) in enumerate(zip(ours, theirs, strict=False), 1)
        for name in names
        if name in one and name in other
    ]
    in_pairs = {name for _, name, *_ in rows}
    names = tuple(name for name in names if name in in_pairs)  # what other runs have is not compared
    return names, (len(ours), len(theirs)), agreement_between(rows)


# ------------------------------------------------------------------ runs
class Runs(Observer):
    """Notes the runs of a script, and how long each takes."""

    def __init__(self) -> None:
        self.runs = ScriptRuns()
        self.begin: float | None = None  # when the first operation of a graph was made
        self.is_running = False

    def timed(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return a call that is noted as a run; what calls the same within it is a part of it."""

        @wraps(original)
        def run(*args: object, **words: object) -> Any:
            if self.is_running:
                return original(*args, **words)
            before = self.will_run(0.0 if self.begin is None else perf_counter() - self.begin, args, words)
            self.is_running, start = True, perf_counter()
            try:
                result = original(*args, **words)
                self.runs.times.append(before + perf_counter() - start)
            finally:
                self.is_running = False
            self.has_run(args, words, result)
            return result

        return run

    @abstractmethod
    def will_run(self, seconds: float, args: Sequence[Any], words: Mapping[str, Any], /) -> float:
        """Note a run that begins so many seconds after the first operation; return how many of these belong to it."""

    @abstractmethod
    def has_run(self, args: Sequence[Any], words: Mapping[str, Any], result: object, /) -> None:
        """Take note of the results of a run."""


# ------------------------------------------------------------------ the static script
class SessionRuns(Runs):
    """Notes the calls of ``Session.run``."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[dict[Tensor, Any]] = []

    def attach(self, listener: Listener) -> None:
        """Begin to be told of operations, until there is one, and of runs."""
        super().attach(listener)
        original: Callable[..., None] = Operation.__init__

        def first(operation: Operation, *args: object, **words: object) -> None:
            self.begin = perf_counter()
            Operation.__init__ = original  # type: ignore[method-assign]
            original(operation, *args, **words)

        listener.replace(Operation, "__init__", first)
        listener.replace(Session, "run", self.timed(Session.run))

    def will_run(self, seconds: float, *_: object) -> float:
        """Note how long the first run was waited for."""
        self.runs.build = self.runs.build or seconds
        return 0.0

    def has_run(self, args: Sequence[Any], words: Mapping[str, Any], result: object) -> None:
        """Note what was fetched."""
        session, fetches = args[0], args[1] if len(args) > 1 else words["fetches"]
        parts = map(session.graph.as_graph_element, leaves(fetches))
        values = {part: value for part, value in zip(parts, leaves(result), strict=True) if isinstance(part, Tensor)}
        self.fetched.append(values)


def run_static(source: Source, argv: tuple[str, ...]) -> tuple[ScriptRuns, set[str]]:
    """Run the static script; return what it did, and the names of its results.

    Raises:
        SourceError: it raises an error, or builds no graph.
    """
    observer = SessionRuns()
    graph_source = static_source.source_in(run_observed(source, argv, observer))
    if graph_source is None:
        raise SourceError(f"{source.file} imports tensorflow and builds no static graph")
    runs = observer.runs
    runs.operations.append(len(graph_source.graph.operations))
    runs.pictures[0] = static_picture(graph_source.graph, names=graph_source.names)
    runs.results.extend(results_of(graph_source, fetched) for fetched in observer.fetched)
    return runs, {name for results in runs.results for name in results}


def results_of(source: static_source.StaticSource, fetched: Mapping[Tensor, Any]) -> dict[str, Any]:
    """Return what a run fetched by the script's names, else by those of operations; of a gradient by ``x.grad``."""
    names = {getattr(part, "_ref", part): name for name, part in reversed(source.names.items())}
    results: dict[str, Any] = {}
    for tensor, value in fetched.items():
        by = [x for _, x in source.graph.derivatives.get(tensor, ())]
        result_names = [f"{names.get(x, x.op.name)}{GRAD}" for x in by] or [names.get(tensor, tensor.op.name)]
        results |= dict.fromkeys(result_names, value)
    return results


# ------------------------------------------------------------------ the dynamic script
class BackwardRuns(Runs):
    """Notes the calls of backward: the graph that each goes through, and what it leaves.

    Args:
        names: the names of the results that are noted.
    """

    def __init__(self, names: set[str]) -> None:
        super().__init__()
        self.names = names
        self.forms: set[object] = set()

    def attach(self, listener: Listener) -> None:
        """Begin to be told of operations, until there is one, and of backward."""
        super().attach(listener)
        module = listener.engine.autograd
        for owner, name in ((engine.Tensor, "backward"), (module, "backward"), (module, "grad")):
            listener.replace(owner, name, self.timed(getattr(owner, name)))
        listener.replace(mode, "node_callbacks", (*mode.node_callbacks, self.note))

    def note(self, *_: object) -> None:
        """Note when the first operation is recorded; for the others the engine takes its fast way."""
        self.begin = perf_counter()
        mode.node_callbacks = tuple(note for note in mode.node_callbacks if note != self.note)

    def will_run(self, seconds: float, args: Sequence[Any], words: Mapping[str, Any]) -> float:
        """Note the size of a graph on which no backward has run yet; the time of its forward belongs to the run."""
        roots = differentiable(args, words)
        notes = roots[0].grad_fn.metadata if roots and roots[0].grad_fn is not None else {}
        if roots and __name__ not in notes:
            self.runs.operations.append(sum(type(node).__name__ != "AccumulateGrad" for node in graph_nodes(roots)))
        notes[__name__] = True
        return seconds

    def has_run(self, args: Sequence[Any], words: Mapping[str, Any], *_: object) -> None:
        """Note the results that have names where backward was called, and the graph if it is another one."""
        self.begin = None
        mode.node_callbacks = (*mode.node_callbacks, self.note)
        frame = sys._getframe(1)  # noqa: SLF001 - as in gviz.sources.script.watch
        while frame.f_back is not None and frame.f_code.co_filename.startswith(GVIZ):
            frame = frame.f_back
        with self.listener.quiet():
            space, roots = {**frame.f_globals, **frame.f_locals}, differentiable(args, words)
            values = {name: named_value(space, name) for name in self.names}
            self.runs.results.append({name: value for name, value in values.items() if value is not None})
            if len(self.runs.pictures) < MOST_DRAWN:
                self.draw(roots, named_tensors(space, [engine]))

    def draw(self, roots: Sequence[Any], names: Mapping[str, Any]) -> None:
        """Keep the graph of a run if none before was like it."""
        names_by_id = {id(tensor): name for name, tensor in reversed([*names.items()])}
        graph = walk({names_by_id.get(id(root), f"root {number}"): root for number, root in enumerate(roots, 1)}, names)
        form = tuple(node.label for node in graph.nodes), tuple(edge[:3] for edge in graph.edges)
        if form not in self.forms:
            self.forms.add(form)
            self.runs.pictures[len(self.runs.times)] = graph


def differentiable(args: Sequence[Any], words: Mapping[str, Any]) -> list[Any]:
    """Return the tensors at which a graph begins, of what backward was given; all else the engine refuses."""
    argument = args[0] if args else words.get("outputs", words.get("tensors"))
    roots = argument if isinstance(argument, list | tuple) else [argument]
    return [tensor for tensor in roots if isinstance(tensor, engine.Tensor) and tensor.requires_grad]


def named_value(space: Mapping[str, Any], name: str) -> Any:
    """Return the number or tensor that a name stands for, as a tensor, or a gradient, as ``x.grad``; None for none."""
    value = space.get(name.removesuffix(GRAD))
    if name.endswith(GRAD):
        value = value.grad if isinstance(value, engine.Tensor) else None
    if isinstance(value, engine.Tensor):
        return value.detach().clone()
    return engine.tensor(value) if type(value) in (bool, int, float) else None


def run_dynamic(source: Source, argv: tuple[str, ...], names: set[str]) -> ScriptRuns:
    """Run the dynamic script; return what it did, with the results of these names.

    Raises:
        SourceError: it raises an error, or never goes backward.
    """
    observer = BackwardRuns(names)
    run_observed(source, argv, observer)
    if not observer.runs.times:
        raise SourceError(
            f"{source.file} never calls backward() or autograd.grad(): it has no run to compare",
            hint="a run of the dynamic script is a call of backward()",
        )
    return observer.runs
