"""Scripts: a program runs as ``python file.py`` would run it, and its global tensors are what there is to draw."""

from __future__ import annotations

import gc
import importlib
import linecache
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from types import ModuleType
from typing import Any
from weakref import ref

from gviz.errors import SourceError
from gviz.files import STDIN
from gviz.graphs import Place, Stop
from gviz.options import SourceOptions
from gviz.sources import static as static_source
from gviz.sources.layers import module_names
from gviz.sources.lines import Lines
from gviz.sources.notebook import display
from gviz.sources.notes import Note, unused
from gviz.sources.pasted import Parsed, parse
from gviz.sources.reading import Reading, Talk, not_finite_notes
from gviz.sources.run import Pass, graph_of_run
from gviz.sources.script import torch_names
from gviz.sources.script.changes import Change, Changes
from gviz.sources.script.failure import described_error
from gviz.sources.script.harm import Unharmed
from gviz.sources.script.names import loop_names, named_tensors, with_names_of_the_picture
from gviz.sources.script.process import ENGINE, EngineFinder, as_main
from gviz.sources.script.program import Script
from gviz.sources.script.roots import ScriptRun, assignment_lines, choose_roots, why_no_root
from gviz.sources.script.statements import assigned_texts
from gviz.sources.script.stops import RunEnd, Stopped
from gviz.sources.script.watch import MEASURED, Calls
from gviz.sources.source import Source
from gviz.static.graph import reset_default_graph
from gviz.text import did_you_mean, joined
from gviz.trace import Trace
from gviz.trace.listening import Listener, Observer
from gviz.trace.modules import ModuleCalls
from gviz.trace.records import record_of
from gviz.walk import graph_nodes, saved_constants

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
    return _read(_run(source, options, talk), options, talk, rootless=rootless)


def run_only(source: Source, options: SourceOptions, talk: Talk, tell: Callable[[Change], None] | None = None) -> int:
    """Run a script and read nothing.

    Args:
        source: the program, as for :func:`run_script`.
        options: as for :func:`run_script`, as far as they are about the run.
        talk: takes what there is to say.
        tell: called with each change of a tensor that a name reaches; None for nobody.

    Returns:
        The exit status that the script has as a program; 130 if Ctrl-C ended it.

    Raises:
        SourceError: not Python.
        MissingError: PyTorch is asked for and not installed.
    """
    run = _run(source, options, talk, tell, is_read=False)
    if run.error is not None and not run.error.what.startswith("the script ended itself with exit status"):
        talk.say(Note(str(run.error), "error"))
    return run.status


def run_observed(source: Source, argv: tuple[str, ...], observer: Observer) -> dict[str, Any]:
    """Run a script on gviz's engine and return its global names.

    Nothing but the observer is put into its way: what the observer measures is the script's own time.

    Args:
        source: the program, as for :func:`run_script`.
        argv: its own arguments.
        observer: is told of what it does.

    Raises:
        SourceError: not Python, or the script's own error.
        KeyboardInterrupt: Ctrl-C ended it.
    """
    script = Script.of(source, "gviz")
    parsed = parse(source.text, script.file, script.code_file, source.cells)
    engine, main = torch_names.load_engine(script.engine), ModuleType("__main__")
    space = vars(main)
    space["__file__"] = script.code_file
    if script.cells is not None:
        space["display"] = display
    reset_default_graph()
    with (
        _process_settings(engine, script.code_file, parsed.text),
        as_main(main, script.folder, (script.file, *argv), EngineFinder(engine)),
        Listener(engine, observer),
    ):
        raised = _executed(parsed.code, space)
    sys.stdout.flush()
    if isinstance(raised, KeyboardInterrupt):
        raise raised
    if raised is not None:
        raise described_error(raised, script)[0] from None
    return space


def _run(  # noqa: PLR0915
    source: Source,
    options: SourceOptions,
    talk: Talk,
    tell: Callable[[Change], None] | None = None,
    *,
    is_read: bool = True,
) -> ScriptRun:
    """Find the engine for a script, and run it there; return what it left behind, and what it raised.

    If nobody is going to read it, nothing is noted of what it does.
    """
    options, script = source.with_paths(options), Script.of(source)
    if not source.text.strip():
        raise SourceError(f"{script.file} is empty: there is nothing to run")
    talk.say(*unused(replace(options, grad_output=None) if options.order else options, "script"))
    parsed = parse(source.text, script.file, script.code_file, source.cells)
    talk.say(*parsed.notes)
    name, note = torch_names.choose(parsed.tree, script.folder, options.engine)
    talk.say(note)
    script = replace(script, engine=name)
    reset_default_graph()
    engine = torch_names.load_engine(script.engine)
    libraries = {engine, sys.modules.get(ENGINE, engine)}  # a script on PyTorch may use gviz.engine as well
    changes = Changes(libraries, options.watch, tell, most=options.most) if options.watch or tell else None
    stop = RunEnd(options, parsed, script, changes.saw if changes else None)
    main = ModuleType("__main__")
    space = vars(main)
    if script.file != STDIN:
        space["__file__"] = script.code_file
    if script.cells is not None:
        space["display"] = display
    finder = EngineFinder(engine if script.engine == "gviz" else None)
    process = as_main(main, script.folder, (script.file, *options.argv), finder)
    is_traced = options.lines or options.kept or options.costs or options.functions
    facts = {"timed": options.costs, "valued": options.flow, "nested": options.functions}
    trace = Trace(engine, script.is_ours, **facts) if is_traced else None
    code, has_layers = stop.compiled(parsed.code), torch_names.uses_layers(parsed.tree, script.folder)
    calls = Calls(
        script, engine, space, options, after=stop.after_backward, has_layers=has_layers, trace=trace, is_read=is_read
    )
    finder.watch = calls.wrapper_of
    if trace is not None:
        trace.versions = calls.versions
    observers: list[Observer] = [calls, calls.versions, calls.hooks] if is_read else [calls]
    observers += [ModuleCalls()] if has_layers and is_read else []
    observers += [trace, trace.gradients] if trace is not None else []
    with (
        _process_settings(engine, script.code_file, parsed.text),
        process as threads,
        Listener(engine, *observers, timed=options.costs),
        stop.hooked(),
    ):
        unharmed = Unharmed(engine)
        raised = _executed(code, space)
        talk.say(unharmed.put_back())
        error, line = (None, None) if raised is None else described_error(raised, script)
        if isinstance(raised, KeyboardInterrupt):
            if options.on_interrupt == "raise":
                raise raised
            where = f" at {script.place(line)}" if line else ""
            talk.say(
                Note(f"Ctrl-C{where}: this is as far as the script came; Ctrl-C again ends gviz at once", "warning")
            )
        elif (
            raised is not None and not isinstance(raised, Stopped) and threads()
        ):  # they are waited for now, maybe for ever
            first = str(error).partition("\n")[0]
            talk.say(Note(f"{first}; waiting for the threads that it started", "warning"))
    with suppress(
        AttributeError, OSError, ValueError
    ):  # a notebook's stream, a closed one, a full disk: its owner meets it
        sys.stdout.flush()  # what the script printed comes before what is said about it
    talk.say(stop.note(is_at_end=raised is None))
    talk.say(calls.unretained())
    title = "" if script.file == STDIN else os.path.splitext(os.path.basename(script.file))[0]
    static = static_source.source_in(space, options.graph, title)
    call = calls.chosen
    space, then = {**space, **stop.local}, call.names if call is not None else {}
    loops = loop_names(parsed.tree) - {*options.roots, *options.retain, *options.frozen}
    unnamed = None if options.is_whole or options.diagnose or options.roots or options.watch else dict[str, Any]()
    return ScriptRun(
        names=named_tensors(space, libraries, unnamed, loops),
        unnamed={} if unnamed is None else unnamed,
        lines=_lines(trace, script, options, calls, parsed) if trace is not None else None,
        code=parsed.text,
        assignments={name: script.place(at) for name, at in assignment_lines(parsed.tree, line).items()},
        modules=module_names({**space, **then}, engine) if has_layers else {},
        has_layers=has_layers,
        has_checkpoint=calls.hooks.has_checkpoint,
        called_on=call.tensors if call is not None else (),
        error=None if isinstance(raised, KeyboardInterrupt | Stopped) else error,
        script=script,
        tree=parsed.tree,
        calls=calls,
        names_at_call=named_tensors(then, libraries, None if unnamed is None else {}, loops),
        static=static,
        interrupted=isinstance(raised, KeyboardInterrupt),
        status=_status(raised),
        changes=changes,
    )


def _lines(trace: Trace, script: Script, options: SourceOptions, calls: Calls, parsed: Parsed) -> Lines:
    """Return the lines of what was told, and what the operations keep, if that was measured."""
    call = calls.chosen
    is_measured = not calls.hooks.has_checkpoint and not (call and call.about.saved_bytes is None)
    keeps = bool(options.kept or options.costs) and is_measured
    return Lines(
        trace,
        lambda place: script.place(place.line, place.file),
        cell_code=lambda place: script.code_at(place, parsed.text),
        keeps=keeps,
        saved_bytes=call.about.saved_bytes if call else None,
        tree=parsed.tree,
        file=script.code_file,
    )


def _with_used(run: ScriptRun, roots: Mapping[str, Any]) -> tuple[ScriptRun, list[Note]]:
    """Return the script with names for the tensors that operations use, among very many; and how many have none."""
    about = run.calls.of([*roots.values()])
    tensors: list[Any] = [one for flow in (about.flow.values() if about is not None else ()) for _, one in flow.held]
    for node in graph_nodes(roots.values()) if run.unnamed else ():
        tensors += [one for _, one in saved_constants(node)]
        tensors += [one() for _, one in noted.constants if isinstance(one, ref)] if (noted := record_of(node)) else []
    ids, names, notes = set(map(id, tensors)), {**run.names}, []
    for of, items in run.unnamed.items():
        named = {f"{of}{path}": tensor for path, tensor in items if id(tensor) in ids}
        names |= named
        count = f"{len(items) - len(named):,}"
        notes.append(Note(f"{of} has {count} more tensors that require no gradient: they are not listed"))
    return replace(run, names=names), notes


def _executed(code: Any, space: dict[str, Any]) -> BaseException | None:
    """Run the code in its namespace; return what it raised, if that is the script's own affair."""
    try:
        exec(code, space)  # noqa: S102 - running the user's own script is what it was given for
    except SystemExit as end:
        return None if end.code is None or (isinstance(end.code, int) and not end.code) else end
    except BaseException as error:
        if isinstance(error, BrokenPipeError) and (_is_unread(sys.stdout) or _is_unread(sys.stderr)):
            raise  # nor is this: someone reads its output no further
        return error
    return None


def _status(raised: BaseException | None) -> int:
    """Return the exit status of a script that has raised this."""
    if isinstance(raised, SystemExit):
        return raised.code & 255 if isinstance(raised.code, int) else 1
    return 130 if isinstance(raised, KeyboardInterrupt) else int(raised is not None and not isinstance(raised, Stopped))


def _is_unread(stream: Any) -> bool:
    """Return whether a stream is a pipe that nobody reads any more; other pipes of a script's are its own affair."""
    import select

    try:
        poll = select.poll()
        poll.register(stream.fileno(), 0)
        return any(state & select.POLLERR for _, state in poll.poll(0))
    except (AttributeError, OSError, ValueError):  # not a file, closed, or a system without poll
        return False


@contextmanager
def _process_settings(engine: Any, file: str, text: str) -> Iterator[None]:
    """Let tracebacks show the lines that run, also of a pasted session; collect the garbage of a script.

    Put back what a script switches for the process.
    """
    collects = gc.isenabled()
    gc.enable()
    is_on, dtype = engine.is_grad_enabled(), engine.get_default_dtype()
    is_gviz = engine.__name__ == ENGINE  # PyTorch does not warn of nan and infinity, whatever filters a script sets
    silent: Any = importlib.import_module("numpy").errstate(all="ignore") if is_gviz else nullcontext()
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    try:
        with silent:
            yield
    finally:
        if not collects:
            gc.disable()
        linecache.cache.pop(file, None)
        engine.set_grad_enabled(is_on)
        engine.set_default_dtype(dtype)
        engine.set_printoptions(profile="default")


def _read(run: ScriptRun, options: SourceOptions, talk: Talk, *, rootless: bool) -> Reading:
    """Return the graph of what a script left behind.

    Raises:
        SourceError: there is none; the script's own error if it failed, and nothing is to be drawn or can be.
    """
    static = run.static if options.static or not run.names else None
    try:
        roots, note = ({}, None) if static is not None else _roots(run, options, rootless=rootless)
    except SourceError as error:  # a name may be one that the script did not come to
        what = "that graph" if run.names or not rootless else "a tensor"
        talk.say(
            Note(f"the script fails before it has {what}: there is nothing to show", "warning") if run.error else None
        )
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
        return static_source.reading(static, talk, status)
    run, notes = _with_used(run, roots)
    talk.say(note, *notes)
    graph = graph_of_run(_drawn(run, roots, options, talk), options)
    with suppress(RuntimeError):  # a tensor that PyTorch refuses to look at, such as one without memory
        what = "listed tensor" if run.unnamed else "named tensor"  # results without a name are not searched
        talk.say(*not_finite_notes(run.names, {}, "gviz why tells where it began", run.assignments, what))
    call = run.calls.chosen
    if options.kept and call is not None and call.about.number > MEASURED and call.about.saved_bytes is None:
        talk.say(Note(f"what operations save for backward is measured in the first {MEASURED} calls of backward alone"))
    if run.error is not None:
        graph = graph.changed(stop=_stop(run.error, run.script))
    changes, unlisted = run.changes.result() if run.changes else ((), 0)
    if run.changes and not changes:
        names = {**run.names_at_call, **run.names}
        hint = did_you_mean(options.watch, names, f"its tensors: {joined(names)}" if names else "")
        raise SourceError(f"--watch {options.watch}: the script has no tensor of that name", hint=hint)
    codes = {place.without_run: run.script.code_at(place, run.code) for place, *_ in changes if place.cell}
    graph = graph.changed(codes=(*graph.codes, *codes.items()))
    ran_backward = options.lines and call is not None and call.about.function == "backward"
    return Reading(
        graph,
        tuple(talk.notes),
        run.error is not None,
        status,
        ran_backward,
        changes=changes,
        unlisted=unlisted,
    )


def _stop(error: SourceError, script: Script) -> Stop:
    """Return why the script stopped."""
    excerpt = error.place
    if excerpt is None or not excerpt.line:
        return Stop(error.what, None, excerpt.text if excerpt is not None else "")
    file = "" if excerpt.cell or excerpt.file == script.file else excerpt.file or ""
    return Stop(error.what, Place(excerpt.line, file, cell=excerpt.cell), excerpt.text)


def _roots(run: ScriptRun, options: SourceOptions, *, rootless: bool) -> tuple[dict[str, Any], Note | None]:
    """Return the roots to draw, and the line that says why these.

    SourceError if there are none and there have to be.
    """
    if options.static:
        raise SourceError("the script builds no static graph", hint=STATIC_HINT)
    roots, why = choose_roots(run, options.roots)
    if roots:
        return roots, why
    has_cuts = run.lines is not None and bool(run.lines.trace.outside.cuts)
    missing = why_no_root(run.names, has_cuts=has_cuts)
    if not rootless or (run.error is not None and not run.names):
        raise missing
    return {}, Note(missing.what, "warning")


def _drawn(run: ScriptRun, roots: Mapping[str, Any], options: SourceOptions, talk: Talk) -> ScriptRun:
    """Return a run with the roots and the names of its picture.

    Boxes have the names of the moment of ``backward()``, the table those of the end.
    """
    call, about = run.calls.chosen, run.calls.of(roots.values())
    moments = (
        (run.names_at_call, run.names) if call is not None and about is call.about else (run.names, run.names_at_call)
    )
    names = with_names_of_the_picture(*moments, roots.values())
    inside = graph_nodes(roots.values()).values() if run.calls.leaves_of_grad else ()
    unnamed = {id(leaf) for leaf in inside if leaf is not None} - set(map(id, names.values()))
    grad_leaves = {
        name: leaf for name, leaf in run.calls.leaves_of_grad.items() if name not in names and id(leaf) in unnamed
    }
    names = {**names, **grad_leaves}
    about = about or Pass("")
    last_numbers = {one.about.number for one in (call, run.calls.last.get("backward")) if one is not None}
    about = replace(
        about,
        is_followed=about.function == "backward" and about.number not in last_numbers,
        moments=run.calls.moments_of(roots.values(), names, about),
    )
    if (
        options.jacobians
        and not about.flow
        and not run.has_checkpoint
        and not any(tensor.numel() != 1 for tensor in roots.values())
    ):
        from gviz.flow import flow_of

        outdated = run.calls.versions.outdated(roots.values())
        about = replace(about, flow=flow_of(dict(roots), jacobians=True, outdated=outdated))
    if options.order and roots:
        from gviz.sources.order import derivatives, factors

        roots, more = derivatives(roots, names, options)
        talk.say(*more)
        of = " + ".join(name for name, tensor in names.items() if any(tensor is one for one in run.called_on))
        about = Pass("", flow=factors(roots) if options.flow else {}, of=of or "what backward was called on")
    written_in_place = {name for name, tensor in names.items() if tensor.grad_fn is not None and tensor._version}  # noqa: SLF001 - PyTorch's own name
    return replace(
        run,
        names=names,
        roots=roots,
        statements={name: text for name, text in assigned_texts(run.tree).items() if name not in written_in_place},
        backward=about,
        table_tensors={
            **(run.names or names),
            **grad_leaves,
        },  # of a script that does all in functions, what these functions held
    )
