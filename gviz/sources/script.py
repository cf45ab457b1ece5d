"""Scripts: a program runs as ``python file.py`` would run it, and its global tensors are what there is to draw."""

from __future__ import annotations

import builtins
import importlib
import os
import sys
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from types import ModuleType
from typing import TYPE_CHECKING, Any, TextIO

from gviz.errors import SourceError
from gviz.sources import snippet, torch_names
from gviz.sources.backward_watch import BackwardWatch
from gviz.sources.files import STDIN
from gviz.sources.options import Note
from gviz.sources.reading import Reading, find_aliases
from gviz.sources.script_failure import Failure, Script, describe
from gviz.sources.script_names import Kinds, named, with_names_of_the_picture
from gviz.sources.script_process import EngineFinder, as_main, put_back_all
from gviz.sources.script_roots import Left, choose_roots, why_no_root

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from gviz.graph import Graph
    from gviz.sources.options import SourceOptions
    from gviz.sources.reading import Talk

__all__ = ["run"]


@dataclass(frozen=True)
class Ending:
    """How a run ended.

    Args:
        left: what the script left behind.
        failure: what it raised, if it did.
        static: the static graph that it has built, if it has.
    """

    left: Left
    failure: Failure | None
    static: Any = None


def run(
    text: str,
    file: str,
    options: SourceOptions,
    talk: Talk,
    *,
    stdout: TextIO | None = None,
    make_dot: Callable[..., Any] | None = None,
    rootless: bool = False,
) -> Reading:
    """Run a script and read its graph.

    Args:
        text: the program, its line ends as newlines; pasted snippets with prompts work.
        file: its name; :data:`~gviz.sources.files.STDIN` for one without a file.
        options: the engine, the roots, the script's own arguments, and what to do where it raises.
        talk: takes what there is to say.
        stdout: where the script's prints go; None for standard output.
        make_dot: what ``from torchviz import make_dot`` gives the script; None for gviz's own.
        rootless: whether a script without any graph is fine, as for a table of its tensors.

    Returns:
        The graph that the script left; as far as it came, and ``failed``, where it raised and ``options.on_error`` is draw.

    Raises:
        SourceError: no Python, no graph, or the script's own error where there is no graph to draw.
        MissingError: PyTorch is asked for and not installed.
    """
    if not text.strip():
        raise SourceError(f"{file} is empty: there is nothing to run")
    talk.say(*_unused(options))
    parsed = snippet.parse(text, file)
    talk.say(*parsed.notes)
    folder = os.getcwd() if file == STDIN else os.path.dirname(os.path.abspath(file))
    choice = torch_names.choose(parsed.tree, folder, options.engine)
    if choice.note:
        talk.say(choice.note)
    code_file = file if file == STDIN else os.path.abspath(file)  # as Python: a script may change the current folder
    script = Script(file, code_file, folder, tuple(parsed.text.split("\n")), choice.engine)
    ending = _execute(parsed, script, options, talk, stdout, make_dot)
    return _read(ending, options, talk, rootless=rootless)


def _unused(options: SourceOptions) -> Iterator[Note]:
    """A warning for each option that belongs to expressions."""
    if options.values:
        given = ", ".join(f"{name}={text}" for name, text in options.values.items())
        yield Note(f"{given} not used: a script makes its own tensors, values belong to expressions", "warning")
    for option, names, instead in (
        ("--frozen", options.frozen, "requires_grad=False"),
        ("--retain", options.retain, ", ".join(f"{name}.retain_grad()" for name in options.retain)),
    ):
        if names:
            shown = f"{option} {','.join(names)}"
            yield Note(f"{shown} not used: it belongs to expressions; write {instead} in the script", "warning")
    for option, given_value in (
        ("--dtype", options.dtype),
        ("--grad-output", options.grad_output),
        ("--no-backward", None if options.backward else ""),
    ):
        if given_value is not None:
            shown = f"{option} {given_value}".strip()
            yield Note(f"{shown} not used: it belongs to expressions, a script is shown as it left its tensors", "warning")


def _execute(  # noqa: PLR0917 - what a run is made of
    parsed: snippet.Parsed,
    script: Script,
    options: SourceOptions,
    talk: Talk,
    stdout: TextIO | None,
    make_dot: Callable[..., Any] | None,
) -> Ending:
    """Run the program; what it left behind, and what it raised."""
    code = _compile(parsed, script)
    if "gviz.static" in sys.modules:
        sys.modules["gviz.static"].reset_default_graph()
    engine = torch_names.load(script.engine)
    main = ModuleType("__main__")
    space = vars(main)
    if script.file != STDIN:
        space["__file__"] = script.code_file
    torch = engine if script.engine == "gviz" else None
    finder = EngineFinder(torch, lambda: make_dot or importlib.import_module("gviz").make_dot)
    watch = BackwardWatch(engine, script.code_file, space)
    process = as_main(main, script.folder, (script.file, *options.argv), finder, stdout)
    is_as_filed = script.file != STDIN and not parsed.notes
    known = _source_known(script, is_as_filed=is_as_filed)
    failure = None
    numpy: Any = importlib.import_module("numpy") if torch is not None else None  # whatever filters of warnings a script sets:
    silent = nullcontext() if torch is None else numpy.errstate(divide="ignore", invalid="ignore", over="ignore")
    with silent, _modes_kept(engine), known, watch, _torch_kept(engine), process as threads:
        error = _run(code, space)
        if error is not None:
            failure = describe(error, script)
            if threads():  # they are waited for now, which may take for ever
                first = failure.error.report().partition("\n")[0]
                talk.say(Note(f"{first}; waiting for the threads that it started", "warning"))
    _flush()
    title = "" if script.file == STDIN else os.path.splitext(os.path.basename(script.file))[0]
    static = _static(space, options, title)
    kinds, call = _kinds(engine), watch.last
    names = named(space, kinds)
    then = named(call.names, kinds) if call else {}
    local = named(call.local_names, kinds) if call else {}
    return Ending(Left(parsed.tree, names, call, then, local, failure.line if failure else None), failure, static)


def _static(space: dict[str, Any], options: SourceOptions, title: str) -> Any:
    """The static graph that a script has built; None where it has none, or where a recorded one is wanted."""
    if "gviz.static" not in sys.modules:
        return None
    from gviz.sources import static_source

    return static_source.left_in(space, options.graph, title)


def _compile(parsed: snippet.Parsed, script: Script) -> Any:
    """The program's code; SourceError for what only the compiler notices, such as a return outside of a function."""
    try:
        return compile(parsed.tree, script.code_file, "exec", dont_inherit=True)
    except SyntaxError as error:
        if not error.text and error.lineno:
            error.text = script.line(script.code_file, error.lineno)
        raise snippet.syntax_error(error, script.file) from None
    except (RecursionError, MemoryError):
        raise SourceError(f"{script.file} is nested too deeply for Python to compile") from None


def _run(code: Any, space: dict[str, Any]) -> BaseException | None:
    """Run the code in its namespace; what it raised, if that is the script's own affair."""
    builtins_back = put_back_all(vars(builtins))
    trace, profile = sys.gettrace(), sys.getprofile()
    try:
        try:
            exec(code, space)  # noqa: S102 - running the user's own script is what it was given for
        finally:
            sys.settrace(trace)  # at once: one that the script left must not meet gviz's own calls
            try:
                sys.setprofile(profile)
            except BaseException:  # noqa: BLE001 - the script's was called once more, and is off by what it raised
                sys.setprofile(profile)
            builtins_back()  # all that follows needs them
    except KeyboardInterrupt:
        raise  # not the script's: someone pressed Ctrl-C
    except SystemExit as end:
        return None if _is_success(end) else end
    except BaseException as error:
        if issubclass(type(error), BrokenPipeError) and (_is_unread(sys.stdout) or _is_unread(sys.stderr)):
            raise  # nor is this: someone reads its output no further
        return error
    return None


def _is_success(end: SystemExit) -> bool:
    """Whether Python would end with status 0; the code may be anything, such as a tensor."""
    code = vars(SystemExit)["code"].__get__(end)  # not the property that a class of the script's may have in its place
    return code is None or (issubclass(type(code), int) and int.__eq__(code, 0) is True)


def _is_unread(stream: Any) -> bool:
    """Whether a stream is a pipe that nobody reads any more; other pipes of a script's are its own affair."""
    try:
        stream.flush()
        import select

        poll = select.poll()
        poll.register(stream.fileno(), 0)
        return any(state & select.POLLERR for _, state in poll.poll(0))
    except BrokenPipeError:
        return True
    except (AttributeError, OSError, ValueError):  # a stream of the script's own, or a system without poll
        return False


def _flush() -> None:
    """Let what the script printed come before what is said about it."""
    flush = getattr(sys.stdout, "flush", None)  # a notebook's stream need not be a file
    if flush is None:
        return
    try:
        if not getattr(sys.stdout, "closed", False):
            flush()
    except BrokenPipeError:
        raise
    except (OSError, ValueError):
        return  # a full disk: it stays in the buffer, and whoever owns the stream meets it at the end


@contextmanager
def _modes_kept(engine: Any) -> Iterator[None]:
    """Put back what a script may switch for the whole process: the grad mode, the default dtype, how tensors print."""
    switches = [("is_grad_enabled", "set_grad_enabled"), ("get_default_dtype", "set_default_dtype")]
    before = [(put, getattr(engine, get)()) for get, put in switches if hasattr(engine, get) and hasattr(engine, put)]
    try:
        yield
    finally:
        for put, state in before:
            getattr(engine, put)(state)
        if hasattr(engine, "set_printoptions"):
            engine.set_printoptions(profile="default")


@contextmanager
def _torch_kept(engine: Any) -> Iterator[None]:
    """Put back what a script may replace in torch: its result is read with the true ``Tensor.grad_fn`` and the like."""
    tensor = engine.Tensor
    of_engine, of_tensor = dict(vars(engine)), dict(vars(tensor))
    try:
        yield
    finally:
        vars(engine).update(of_engine)  # what is new may be a submodule
        for name in [name for name, new in vars(tensor).items() if name not in of_tensor and not _is_of_torch(new)]:
            with suppress(AttributeError, TypeError):
                delattr(tensor, name)
        for name, value in of_tensor.items():
            new = vars(tensor).get(name)
            if new is not value and not _is_of_torch(new):
                with suppress(AttributeError, TypeError):
                    setattr(tensor, name, value)


def _is_of_torch(part: Any) -> bool:
    """Whether torch made it itself: methods are made when they are first asked for."""
    return str(getattr(part, "__module__", "")).startswith(("gviz.", "torch"))


@contextmanager
def _source_known(script: Script, *, is_as_filed: bool) -> Iterator[None]:
    """Let tracebacks and warnings show the lines of a script that is in no file, or was a pasted session."""
    if is_as_filed:
        yield
        return
    import linecache  # brings tokenize along, which a script in a file has no need of

    lines = [f"{line}\n" for line in script.lines]
    linecache.cache[script.code_file] = (len(lines), None, lines, script.code_file)
    try:
        yield
    finally:
        linecache.cache.pop(script.code_file, None)


def _kinds(engine: Any) -> Kinds:
    """The classes whose objects are tensors and modules; looks at what is loaded, and loads nothing."""
    loaded = [engine, sys.modules.get("gviz.engine")]  # a script on PyTorch may use gviz.engine as well
    tensors = tuple({module.Tensor for module in loaded if module is not None})
    paths = [f"{module.__name__}.nn" for module in loaded if module is not None]
    libraries = [sys.modules[path] for path in paths if path in sys.modules]
    found = {getattr(library, "Module", None) for library in libraries}
    return Kinds(tensors, tuple(kind for kind in found if isinstance(kind, type)))


def _read(ending: Ending, options: SourceOptions, talk: Talk, *, rootless: bool) -> Reading:
    """The graph of what a script left behind; SourceError where there is none, or where it failed and is not to be drawn."""
    failure, left = ending.failure, ending.left
    if failure is not None and options.on_error == "stop":
        raise failure.error
    if ending.static is not None and (options.static or not left.names):
        from gviz.sources import static_source

        if failure is not None:
            talk.say(Note(failure.error.report(), "error"))
        return static_source.reading(ending.static, talk, failed=failure is not None)
    if options.static:
        hint = "build one with import tensorflow.compat.v1 as tf; gviz render draws what autograd recorded"
        raise failure.error if failure is not None else SourceError("the script builds no static graph", hint=hint)
    try:
        roots, why = choose_roots(left, options.roots)
    except SourceError:
        if failure is not None:  # the name may be one that the script did not come to
            raise failure.error from None
        raise
    if not roots and (not rootless or (failure is not None and not left.names)):
        what, hint = why_no_root(left.names)
        raise failure.error if failure is not None else SourceError(what, hint=hint)
    if failure is not None:
        talk.say(Note(failure.error.report(), "error"))
    if why is not None:
        talk.say(why)
    elif not roots:
        talk.say(Note(why_no_root(left.names)[0], "warning"))
    graph, is_failed = _graph(roots, left, saved=options.saved), failure is not None
    return Reading(graph, tuple(talk.notes), failed=is_failed, aliases=find_aliases(left.names))


def _graph(roots: Mapping[str, Any], left: Left, *, saved: bool) -> Graph:
    """Walk from the roots; boxes have the names of the moment of ``backward()``, the table those of the end."""
    from gviz.walk import tensor_row, walk

    is_calls = left.call is not None and any(root is tensor for root in roots.values() for tensor in left.call.tensors)
    moments = (left.then, left.local, left.names) if is_calls else (left.names, left.then, left.local)
    names = with_names_of_the_picture(*moments, roots=roots.values())
    graph = walk(roots, names, saved=saved)
    listed = left.names or names  # of a script that does all in functions, what these functions held
    rows = {row.name: row for row in graph.tensors if names.get(row.name) is listed.get(row.name)}
    return replace(graph, tensors=tuple(rows.get(name) or tensor_row(name, tensor) for name, tensor in listed.items()))
