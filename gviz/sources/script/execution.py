"""The run of a script: which engine it runs on, what observes it, and what it leaves behind."""

from __future__ import annotations

import gc
import importlib
import linecache
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from traceback import walk_tb
from types import ModuleType
from typing import Any

from gviz.errors import SourceError
from gviz.files import STDIN
from gviz.options import SourceOptions
from gviz.sources.layers import module_names
from gviz.sources.lines import Lines
from gviz.sources.notebook import display
from gviz.sources.notes import Note, unused
from gviz.sources.pasted import parse
from gviz.sources.reading import Talk
from gviz.sources.script import torch_names
from gviz.sources.script.changes import Change, Changes
from gviz.sources.script.failure import described_error
from gviz.sources.script.harm import Unharmed
from gviz.sources.script.names import loop_names, named_tensors
from gviz.sources.script.process import ENGINE, EngineFinder, as_main
from gviz.sources.script.program import Script
from gviz.sources.script.roots import ScriptRun, assignment_lines
from gviz.sources.script.stops import RunEnd, Stopped
from gviz.sources.script.watch import Calls
from gviz.sources.source import Source
from gviz.trace import Trace
from gviz.trace.listening import Listener, Observer
from gviz.trace.modules import ModuleCalls


class Execution:
    """One run of a script: what it runs on, and all that observes it.

    Args:
        source: the program; pasted snippets with prompts work.
        options: the engine, the script's own arguments, and what is asked for of its graph.
        talk: takes what there is to say.
        tell: called with each change of a tensor that a name reaches; None for nobody.
        is_read: whether somebody is going to read what the script leaves; if not, nothing is noted of what it does.

    Raises:
        SourceError: there is no text, or it is not Python.
        MissingError: PyTorch is asked for and not installed.
    """

    def __init__(
        self,
        source: Source,
        options: SourceOptions,
        talk: Talk,
        tell: Callable[[Change], None] | None = None,
        *,
        is_read: bool = True,
    ) -> None:
        self.options, self.talk = source.with_paths(options), talk
        script = Script.of(source)
        if not source.text.strip():
            what = "is a model: gviz render draws it" if source.is_model else "is empty: there is nothing to run"
            raise SourceError(f"{script.file} {what}")
        talk.say(*unused(replace(self.options, grad_output=None) if options.order else self.options, "script"))
        self.parsed = parse(source.text, script.file, script.code_file, source.cells)
        talk.say(*self.parsed.notes)
        name, note = torch_names.choose(self.parsed.tree, script.folder, options.engine)
        talk.say(note)
        self.script = replace(script, engine=name)
        self.engine = torch_names.load_engine(name)
        self.libraries = {self.engine, sys.modules.get(ENGINE, self.engine)}  # a script on PyTorch may use both
        self.has_layers = torch_names.uses_layers(self.parsed.tree, script.folder)
        self.main = main_module(self.script)
        self._observe(tell, is_read=is_read)
        self.raised: BaseException | None = None
        self.error: SourceError | None = None
        self.line: int | None = None  # the script's own, at which it ended early

    def _observe(self, tell: Callable[[Change], None] | None, *, is_read: bool) -> None:
        """Make what observes the run."""
        options, script, engine = self.options, self.script, self.engine
        is_watched = options.watch or tell
        self.changes = Changes(self.libraries, options.watch, tell, most=options.most) if is_watched else None
        self.end = RunEnd(options, self.parsed, script, self.changes.saw if self.changes else None)
        is_traced = options.lines or options.kept or options.costs or options.functions
        facts = {"timed": options.costs, "valued": options.flow, "nested": options.functions}
        self.trace = trace = Trace(engine, script.is_ours, **facts) if is_traced else None
        self.calls = calls = Calls(
            script,
            engine,
            vars(self.main),
            options,
            after=self.end.after_backward,
            has_layers=self.has_layers,
            trace=trace,
            is_read=is_read,
        )
        self.observers: list[Observer] = [calls, calls.versions, calls.hooks] if is_read else [calls]
        self.observers += [ModuleCalls()] if self.has_layers and is_read else []
        if trace is not None:
            trace.versions = calls.versions
            self.observers += [trace, trace.gradients]

    def run(self) -> None:
        """Run the script to its end, or as far as it comes.

        Raises:
            KeyboardInterrupt: Ctrl-C ended it, and nothing is to be shown then.
        """
        script, code = self.script, self.end.compiled(self.parsed.code)
        finder = EngineFinder(self.engine if script.engine == "gviz" else None)
        finder.watch = self.calls.wrapper_of
        with (
            process_settings(self.engine, script.code_file, self.parsed.text),
            as_main(self.main, script.folder, (script.file, *self.options.argv), finder) as threads,
            Listener(self.engine, *self.observers, timed=self.options.costs),
            self.end.hooked(),
        ):
            unharmed = Unharmed(self.engine)
            self.raised = executed(code, vars(self.main), unharmed)
            self.talk.say(unharmed.note)
            if self.trace is not None:
                self.trace.gradients.is_complete = not isinstance(self.raised, KeyboardInterrupt | Stopped)
            self._report(threads)
        with suppress(AttributeError, OSError, ValueError):  # a notebook's stream, a closed one, a full disk
            sys.stdout.flush()  # what the script printed comes before what is said about it
        self.talk.say(self.end.note(is_at_end=self.raised is None))
        self.talk.say(self.calls.unretained())

    def _report(self, threads: Callable[[], list[Any]]) -> None:
        """Describe what the script raised, and say why gviz goes on, or still waits."""
        if self.raised is None:
            return
        self.error, self.line = described_error(self.raised, self.script)
        if isinstance(self.raised, KeyboardInterrupt):
            if self.options.on_interrupt == "raise":
                raise self.raised
            where = f" at {self.script.place(self.line)}" if self.line else ""
            what = f"Ctrl-C{where}: this is as far as the script came; Ctrl-C again ends gviz at once"
            self.talk.say(Note(what, "warning"))
        elif not isinstance(self.raised, Stopped) and threads():  # they are waited for now, maybe for ever
            first = str(self.error).partition("\n")[0]
            self.talk.say(Note(f"{first}; waiting for the threads that it started", "warning"))

    def result(self) -> ScriptRun:
        """Return what the script left behind, and what it raised."""
        options, script, parsed = self.options, self.script, self.parsed
        title = "" if script.file == STDIN else os.path.splitext(os.path.basename(script.file))[0]
        call = self.calls.chosen
        by_grad = self.calls.last.get("grad")  # the graph that it was asked of may outlive the names
        at_call = {name: one for noted in (by_grad, call) if noted is not None for name, one in noted.names.items()}
        space, unnamed = {**vars(self.main), **self._variables()}, dict[str, Any]()
        asked = [*options.roots, *options.retain, *options.frozen, *options.wrt, *options.names]
        loops = loop_names(parsed.tree).difference(asked)
        are_few = not (options.is_whole or options.roots or options.watch or any(one[-1:] == "]" for one in asked))
        names_at_call = named_tensors(at_call, self.libraries, {} if are_few else None, loops, asked)
        lines = {} if script.is_written else assignment_lines(parsed.tree, self.line)
        # TensorFlow's face is loaded if a program has used it
        has_static = options.graph or "gviz.static" in sys.modules
        source_in = importlib.import_module("gviz.sources.static").source_in if has_static else lambda *_: None
        return ScriptRun(
            names=named_tensors(space, self.libraries, unnamed if are_few else None, loops, [*asked, *names_at_call]),
            unnamed=unnamed,
            lines=self._lines(self.trace) if self.trace is not None else None,
            code="\n" if script.is_written else parsed.text,
            assignments={name: script.place(at) for name, at in lines.items()},
            modules=module_names({**at_call, **space, **at_call}, self.engine) if self.has_layers else {},
            has_layers=self.has_layers,
            has_checkpoint=self.calls.hooks.has_checkpoint,
            called_on=call.tensors if call is not None else (),
            error=None if isinstance(self.raised, KeyboardInterrupt | Stopped) else self.error,
            failure=self.calls.failure_in(parsed.text),
            script=script,
            tree=parsed.tree,
            calls=self.calls,
            names_at_call=names_at_call,
            static=source_in(vars(self.main), options.graph, title),
            interrupted=isinstance(self.raised, KeyboardInterrupt),
            status=exit_status(self.raised),
            changes=self.changes,
        )

    def _variables(self) -> dict[str, Any]:
        """Return the variables of the script's functions that were running when it stopped; the innermost one's win."""
        frames = [frame for frame, _ in walk_tb(getattr(self.raised, "__traceback__", None))]
        own = [frame for frame in frames if frame.f_code.co_filename == self.script.code_file]
        return {name: value for frame in own[1:] for name, value in frame.f_locals.items()}

    def _lines(self, trace: Trace) -> Lines:
        """Return the lines of what was traced, and what the operations keep, if that was measured."""
        call, script = self.calls.chosen, self.script
        is_measured = not self.calls.hooks.has_checkpoint and not (call and call.about.memory is None)
        keeps = bool(self.options.kept or self.options.costs) and is_measured
        return Lines(
            trace,
            lambda place: script.place(place.line, place.file),
            cell_code=lambda place: script.code_at(place, self.parsed.text),
            keeps=keeps,
            memory=call.about.memory if call else None,
            tree=self.parsed.tree,
            file=script.code_file,
        )


def main_module(script: Script) -> ModuleType:
    """Return the module that a script runs in, with the names that Python, or a notebook, gives it."""
    main = ModuleType("__main__")
    if script.file != STDIN:
        vars(main)["__file__"] = script.code_file
    if script.cells is not None:
        vars(main)["display"] = display
    return main


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
    engine, main = torch_names.load_engine(script.engine), main_module(script)
    with (
        process_settings(engine, script.code_file, parsed.text),
        as_main(main, script.folder, (script.file, *argv), EngineFinder(engine)),
        Listener(engine, observer),
    ):
        raised = executed(parsed.code, vars(main), Unharmed(engine))
    sys.stdout.flush()
    if isinstance(raised, KeyboardInterrupt):
        raise raised
    if raised is not None:
        raise described_error(raised, script)[0] from None
    return vars(main)


def executed(code: Any, space: dict[str, Any], unharmed: Unharmed) -> BaseException | None:
    """Run the code in its namespace; return the error that it raised, unless the error is about a closed pipe."""
    try:
        with unharmed:
            exec(code, space)  # noqa: S102 - running the user's own script is what it was given for
    except SystemExit as end:
        return None if end.code is None or (isinstance(end.code, int) and not end.code) else end
    except BaseException as error:
        if isinstance(error, BrokenPipeError) and (_is_unread(sys.stdout) or _is_unread(sys.stderr)):
            raise  # nor is this: someone reads its output no further
        return error
    return None


def exit_status(raised: BaseException | None) -> int:
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
def process_settings(engine: Any, file: str, text: str) -> Iterator[None]:
    """Let tracebacks show the lines that run, also of a pasted session; collect the garbage of a script.

    Begin a new static graph. Put back what a script switches for the process.
    """
    collects = gc.isenabled()
    if not collects:
        gc.freeze()  # to look through all that gviz and PyTorch have made so far takes long, and frees nothing
    gc.enable()
    is_on, dtype = engine.is_grad_enabled(), engine.get_default_dtype()
    is_gviz = engine.__name__ == ENGINE  # PyTorch does not warn of nan and infinity, whatever filters a script sets
    silent: Any = importlib.import_module("numpy").errstate(all="ignore") if is_gviz else nullcontext()
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    if "gviz.static" in sys.modules:  # to load it takes a third of the time of loading gviz
        importlib.import_module("gviz.static.graph").reset_default_graph()
    try:
        with silent:
            yield
    finally:
        if not collects:
            gc.unfreeze()
            gc.disable()
        linecache.cache.pop(file, None)
        for name, usual in (("grad_enabled", is_on), ("default_dtype", dtype), ("default_device", None)):
            getattr(engine, f"set_{name}")(usual)
        engine.set_printoptions(profile="default")
