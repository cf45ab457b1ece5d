"""Scripts: a program runs as ``python file.py`` would run it, and its global tensors are what there is to draw."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from gviz.errors import SourceError
from gviz.graphs import AT_BACKWARD, Place, Stop
from gviz.options import SourceOptions
from gviz.sources.notes import Note
from gviz.sources.reading import Reading, Talk, not_finite_notes
from gviz.sources.run import Pass, graph_of_run
from gviz.sources.script.changes import Change
from gviz.sources.script.execution import Execution
from gviz.sources.script.names import lasting_first, loop_names, with_names_of_the_picture
from gviz.sources.script.program import Script
from gviz.sources.script.roots import ScriptRun, choose_roots, why_no_root
from gviz.sources.script.statements import assigned_texts
from gviz.sources.script.watch import MEASURED
from gviz.sources.source import Source
from gviz.text import did_you_mean, joined
from gviz.trace.listening import Observer
from gviz.trace.records import record_of
from gviz.walk import grad_fn, graph_nodes, saved_constants

STATIC_HINT = "build one with import tensorflow.compat.v1 as tf; gviz render draws what autograd recorded"


def run_script(source: Source, options: SourceOptions, talk: Talk, *, rootless: bool = False) -> Reading:
    """Run a script and read its graph.

    Args:
        source: the program; pasted snippets with prompts work.
        options: the engine, the roots, the script's own arguments, and what to do if it raises.
        talk: takes what there is to say.
        rootless: whether a script without any graph is fine, as for a table of its tensors.

    Returns:
        The graph that the script left; as far as it came, and ``failed``, if it raised and ``options.on_error`` is
        draw.

    Raises:
        SourceError: not Python, no graph, or the script's own error if there is no graph to draw.
        MissingError: PyTorch is asked for and not installed.
    """
    execution = Execution(source, options, talk)
    execution.run()
    return _read(execution.result(), execution.options, talk, rootless=rootless)


def run_only(
    source: Source,
    options: SourceOptions,
    talk: Talk,
    tell: Callable[[Change], None] | None = None,
    observers: Sequence[Observer] = (),
) -> int:
    """Run a script and read nothing.

    Args:
        source: the program, as for :func:`run_script`.
        options: as for :func:`run_script`, as far as they are about the run.
        talk: takes what there is to say.
        tell: called with each change of a tensor that a name reaches; None for nobody.
        observers: are told of the run, too.

    Returns:
        The exit status that the script has as a program; 130 if Ctrl-C ended it.

    Raises:
        SourceError: not Python.
        MissingError: PyTorch is asked for and not installed.
    """
    execution = Execution(source, options, talk, tell, is_read=False)
    execution.observers += observers
    execution.run()
    run = execution.result()
    if run.error is not None and not run.error.what.startswith("the script ended itself with exit status"):
        talk.say(Note(str(run.error), "error"))
    return run.status


def _read(run: ScriptRun, options: SourceOptions, talk: Talk, *, rootless: bool) -> Reading:
    """Return the graph of what a script left behind.

    Raises:
        SourceError: there is none; the script's own error if it failed, and nothing is to be drawn or can be.
    """
    static = run.static if options.static or not run.names else None
    try:
        roots, note = ({}, None) if static is not None else _roots(run, options, rootless=rootless)
    except SourceError as error:
        what = "a tensor" if rootless and not run.names else "a graph"
        earlier = "; --stop-at backward shows the graph of the first backward" if run.calls.count > 1 else ""
        text = f"the script fails before it has {what}: there is nothing to show{earlier}"
        talk.say(Note(str(error) if options.roots else text, "warning") if run.error else None)
        if run.interrupted:
            talk.say(Note(f"there is nothing to show: {error.what}", "warning"))
            raise KeyboardInterrupt from None
        raise run.error or error from None
    if run.error is not None:
        if options.on_error == "stop":
            raise run.error
        talk.say(Note(str(run.error), "error"))
    status = 130 if run.interrupted else int(run.error is not None)
    if static is not None:
        from gviz.sources.static import reading

        return reading(static, talk, status)
    run, notes = _with_used(run, roots)
    talk.say(note, *notes)
    drawn = _drawn(run, roots, options, talk)
    stop = _stop(drawn.error, run.script) if drawn.error is not None else None
    graph = graph_of_run(drawn, options).changed(stop=stop)
    with suppress(RuntimeError):  # a tensor that PyTorch refuses to look at, such as one without memory
        what = "listed tensor" if run.unnamed else "named tensor"  # results without a name are not searched
        talk.say(*not_finite_notes(run.names, {}, "gviz why tells where it began", run.assignments, what))
    call = run.calls.chosen
    if options.kept and call is not None and call.about.number > MEASURED and call.about.memory is None:
        talk.say(Note(f"what operations save for backward is measured in the first {MEASURED} calls of backward alone"))
    changes, unlisted = run.changes.result() if run.changes else ((), 0)
    if run.changes and not changes:
        names = {**run.names_at_call, **run.names}
        hint = did_you_mean(options.watch, names, f"its tensors: {joined(names)}" if names else "")
        raise SourceError(f"--watch {options.watch}: the script has no tensor of that name", hint=hint)
    codes = {place.without_run: run.script.code_at(place, run.code) for place, *_ in changes if place.cell}
    graph = graph.changed(codes=(*graph.codes, *codes.items()))
    return Reading(
        graph,
        tuple(talk.notes),
        run.error is not None,
        status,
        options.lines and call is not None and call.about.function == "backward",
        changes=changes,
        unlisted=unlisted,
    )


def _with_used(run: ScriptRun, roots: Mapping[str, Any]) -> tuple[ScriptRun, list[Note]]:
    """Return the script with names for the tensors that operations use, among very many; and how many have none."""
    about = run.calls.of([*roots.values()])
    tensors: list[Any] = [
        one for flow in (about.flow.values() if about is not None else ()) for _, one in flow.constants
    ]
    for node in graph_nodes(roots.values()) if run.unnamed else ():
        tensors += [one for _, one in saved_constants(node)]
        tensors += noted.tensors() if (noted := record_of(node)) else []
    ids, names, notes = set(map(id, tensors)), {**run.names}, []
    for of, items in run.unnamed.items():
        named = {f"{of}{path}": tensor for path, tensor in items if id(tensor) in ids}
        names |= named
        count = f"{len(items) - len(named):,}"
        notes.append(Note(f"{of} has {count} more tensors that require no gradient: they are not listed"))
    return replace(run, names=names), notes


def _stop(error: SourceError, script: Script) -> Stop:
    """Return why the script stopped."""
    excerpt = error.place
    if excerpt is None or not excerpt.line:
        return Stop(error.what, None, excerpt.text if excerpt is not None else "")
    file = "" if excerpt.cell or excerpt.file == script.file else excerpt.file or ""
    return Stop(error.what, Place(excerpt.line, file, cell=excerpt.cell), excerpt.text, error.hint or "")


def _roots(run: ScriptRun, options: SourceOptions, *, rootless: bool) -> tuple[dict[str, Any], Note | None]:
    """Return the roots to draw, and the line that says why these.

    SourceError if there are none and there have to be.
    """
    if options.static:
        raise SourceError("the script builds no static graph", hint=STATIC_HINT)
    roots, why = choose_roots(run, options.roots)
    if roots:
        return roots, why
    missing = why_no_root(run.names, has_cuts=run.lines is not None and bool(run.lines.trace.outside.cuts))
    if not rootless or (run.error is not None and not run.names):
        raise missing
    return {}, Note(missing.what, "warning")


def _drawn(run: ScriptRun, roots: Mapping[str, Any], options: SourceOptions, talk: Talk) -> ScriptRun:
    """Return a run with the roots and the names of its picture.

    Boxes have the names of the moment of ``backward()``, the table those of the end.
    """
    call, about = run.calls.chosen, run.calls.of(roots.values())
    about, is_chosen = about or Pass(""), call is not None and about is call.about
    then = {**run.names_at_call, **({} if is_chosen else about.names)}
    first, second, named = (then, run.names, {*map(id, then.values())}) if is_chosen else (run.names, then, set[int]())
    names = lasting_first(with_names_of_the_picture(first, second, roots.values(), named), loop_names(run.tree))
    if run.lines is not None:
        written, tensors = (
            run.lines.names_written(graph_nodes(roots.values())),
            {id(one): one for one in names.values()},
        )
        owners = {name: id(names[name]) for name in written if name in names}
        if sorted(owners.values()) == sorted(
            written.values()
        ):  # as of a and b that have changed places before backward
            names |= {name: tensors[leaf] for name, leaf in written.items()}
    now = {name: one for name, one in run.names.items() if names[name] is not one}
    if options.diagnose:  # why is asked about what has a name now, be it that another leaf had it
        inside = set(map(id, graph_nodes(roots.values()).values()))
        then = {
            name: names[name]
            for name in now
            if names[name].is_leaf and (names[name].requires_grad or now[name].grad_fn)
        }
        names |= {name: now[name] for name in then} | {
            f"{name}{AT_BACKWARD}": leaf for name, leaf in then.items() if id(leaf) in inside or not leaf.requires_grad
        }
    last_numbers = {one.about.number for one in (call, run.calls.last.get("backward")) if one is not None}
    about = replace(
        about,
        chain=call.about.chain if run.failure is not None and call is not None else about.chain,
        is_followed=about.function == "backward" and about.number not in last_numbers,
        moments=run.calls.moments_of(
            roots.values(), {**names, **{f"{name}, now": one for name, one in now.items()}}, about
        ),
    )
    if (
        options.jacobians
        and roots
        and not about.flow
        and not run.has_checkpoint
        and not any(tensor.numel() != 1 for tensor in roots.values())
    ):
        from gviz.flow import engine_of, flow

        about = replace(
            about,
            flow=flow(
                engine_of(next(iter(roots.values()))),
                [*roots.values()],
                jacobians=True,
                outdated=run.calls.versions.outdated(roots.values()),
            ),
        )
    if options.order and roots:
        from gviz.sources.order import derivatives, factors

        roots, more = derivatives(roots, names, options)
        talk.say(*more)
        of = " + ".join(name for name, tensor in names.items() if any(tensor is one for one in run.called_on))
        about = Pass("", flow=factors(roots) if options.flow else {}, of=of or "what backward was called on")
    written_in_place = {name for name, tensor in names.items() if tensor.grad_fn is not None and tensor._version}  # noqa: SLF001 - PyTorch's own name
    known = {*map(id, ({**run.names, **roots} if options.diagnose else names).values())}
    failure, error = run.failure, run.error
    if (failure is not None and options.roots and not is_chosen) and (
        about.function or graph_nodes(run.called_on).keys().isdisjoint(map(grad_fn, roots.values()))
    ):  # a backward that is neither of a root nor of what is made from one tells nothing of it
        is_same = options.diagnose and error is not None and error.what == failure.message
        failure, error = None, None if is_same else error
    return replace(
        run,
        names=names,
        roots=roots,
        failure=failure,
        error=error,
        statements=assigned_texts(run.tree, written_in_place),
        backward=about,
        table_tensors={  # with what only functions held; of a script that does all in functions with all of that
            **(run.names or names),
            **{
                name: one
                for name, one in names.items()
                if name not in run.names and " " not in name and id(one) not in known
                if one.is_leaf and one.requires_grad
            },
        },
    )
