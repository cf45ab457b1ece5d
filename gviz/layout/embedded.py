"""Graphviz in this process: the library inside pygraphviz's wheels, and of that package the compiled module alone.

The package's Python part costs more than a small picture (it imports subprocess, tempfile, pathlib), so the compiled
module is loaded by itself and its functions are called as the package calls them. Those are private names, tried with
pygraphviz 2.0; a test draws with them.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from gviz.layout import NoEngineError
from gviz.layout.fonts import drawing_environment
from gviz.layout.talk import overheard, pass_on, refusal, scratch_file

NAME = "the embedded Graphviz"

_COMPILED = "pygraphviz._graphviz"
_USED = ("agread", "agclose", "gvContextWithBuiltins", "gvFreeContext", "gvFreeLayout", "gvLayout", "gvRenderData")
"""The compiled module must have these functions to be used by itself."""

_VERSION = ("MAJOR", "MINOR", "PATCH")

_NEEDS = "apt-get install libx11-6 libxext6 libxrender1 libglib2.0-0 libexpat1"
"""The libraries that the wheel takes from the system; a slim container may lack them."""

_DEEP = 2_000
"""Statements from which Graphviz, which recurses, gets a stack of its own."""

_STACK = 256 << 20
"""Bytes of it; only what is used of them is taken. A chain of 50,000 boxes needs more than one megabyte."""


_FILES = 6
"""Files that a drawing has open at once, at most: its text, fonts and their configuration."""


class _State:
    """The state of the process: the library, and True if it was first used without the system's fonts."""

    module: Any = None
    narrow = False


def embedded_version() -> str:
    """Return the engine's name and version, for people.

    Raises:
        NoEngineError: there is no Graphviz in this process.
    """
    module = _load()
    return "embedded Graphviz " + ".".join(str(getattr(module, f"GRAPHVIZ_{part}_VERSION", "?")) for part in _VERSION)


def draw_embedded(dot: bytes, output: str, program: str = "dot", *, wide: bool = False) -> bytes:
    """Lay out and draw, in memory.

    Args:
        dot: UTF-8, without NUL.
        output: Graphviz's format, with a renderer if need be.
        program: the layout.
        wide: True if the text needs the system's fonts.

    Raises:
        NoEngineError: there is no Graphviz in this process, or it does not know the format.
        DrawingError: it cannot read or draw this.
    """
    with overheard() as lines:
        picture = draw_here(dot, output, program, wide=wide)
    if picture is None:
        raise refusal(lines, NAME, output)
    pass_on(lines)
    return picture


def is_narrow() -> bool:
    """Return True if fontconfig has read its configuration for good, without the system's fonts.

    Raises:
        NoEngineError: there is no Graphviz in this process.
    """
    _load()
    return _State.narrow


def draw_here(dot: bytes, output: str, program: str, *, wide: bool) -> bytes | None:
    """Return the picture by this very process, None where Graphviz cannot draw it; its remarks go to file descriptor 2.

    Raises:
        NoEngineError: there is no Graphviz in this process.
    """
    module = _load()
    _refuse_without_files()
    _State.narrow = _State.narrow or not wide
    with drawing_environment(wide=wide), _interruptible():
        return _on_deep_stack(lambda: _draw(module, dot, output, program), statements=dot.count(b"\n"))


def _refuse_without_files() -> None:
    """Raise OSError if no more files can be opened: Graphviz, which opens fonts, crashes then."""
    opened: list[int] = []
    try:
        opened.extend(scratch_file() for _ in range(_FILES))
    finally:
        for file in opened:
            os.close(file)


def _draw(module: Any, dot: bytes, output: str, program: str) -> bytes | None:
    """Return the picture by the C calls, each in its turn; None if one of them fails."""
    with open(scratch_file(), "w+b") as file:
        file.write(_without_empty_first_lines(dot))
        file.seek(0)
        try:
            graph = module.agread(file, None)
        except ValueError:
            return None
    context = module.gvContextWithBuiltins()
    try:
        if module.gvLayout(context, graph, program.encode()) != 0:
            return None
        result = module.gvRenderData(context, graph, output.encode())
        module.gvFreeLayout(context, graph)
    finally:
        module.agclose(graph)
        module.gvFreeContext(context)
    return bytes(result[1]) if isinstance(result, list | tuple) and result[0] == 0 else None


def _without_empty_first_lines(dot: bytes) -> bytes:
    """Return the DOT text with a space in each empty first line of a label, as TorchViz's unnamed tensors have it.

    It looks the same, and Graphviz 14 crashes without it: it frees memory that it never set.
    """
    return re.sub(rb'(=\s*")(?=\\[nlr]|\r?\n)', rb"\1 ", dot)


def _load() -> Any:
    """Return the compiled module.

    Raises:
        NoEngineError: it is not here; the hint names what to install.
    """
    if _State.module is None:
        try:
            _State.module = sys.modules.get(_COMPILED) or _load_compiled()
        except ModuleNotFoundError:
            raise NoEngineError(
                "pygraphviz, which carries Graphviz, is not installed", hint="pip install pygraphviz"
            ) from None
        except ImportError as error:
            hint = f"{_NEEDS} installs the libraries that it needs" if sys.platform == "linux" else None
            if "map segment" in str(error) or "allocate memory" in str(error):  # the libraries are there
                hint = "give gviz more memory: see ulimit -v"
            raise NoEngineError(f"pygraphviz, which carries Graphviz, cannot be loaded ({error})", hint=hint) from None
        if hasattr(
            _State.module, "agattr"
        ):  # the first layout declares it for all later graphs: here, for the first as well
            _State.module.agattr(None, _State.module.AGNODE, b"label", rb"\N")
    return _State.module


def _load_compiled() -> Any:
    """Return the compiled module by itself, under its own name, by which the package finds it later."""
    from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, ModuleSpec, PathFinder

    package = PathFinder.find_spec("pygraphviz")
    for folder in (package and package.submodule_search_locations) or ():
        libraries = os.path.join(os.path.dirname(folder), "pygraphviz.libs")
        if sys.platform == "win32" and os.path.isdir(libraries):
            os.add_dll_directory(libraries)
        for suffix in EXTENSION_SUFFIXES:
            file = os.path.join(folder, f"_graphviz{suffix}")
            if os.path.exists(file):
                loader = ExtensionFileLoader(_COMPILED, file)
                module = loader.create_module(ModuleSpec(_COMPILED, loader, origin=file))
                loader.exec_module(module)
                if not all(hasattr(module, name) for name in _USED):
                    raise ImportError("its functions are not those of version 2")
                sys.modules[_COMPILED] = module
                return module
    raise ModuleNotFoundError(_COMPILED)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Ctrl-C ends the process at once: a layout in C may take minutes, and Python's handler would wait for its end.

    Not in an interactive session, which would be lost with it, nor where Ctrl-C is ignored.
    """
    handler = signal.getsignal(signal.SIGINT)
    is_main = threading.current_thread() is threading.main_thread()  # Ctrl-C comes to no other
    if not is_main or not callable(handler) or hasattr(sys, "ps1"):
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


def _on_deep_stack(function: Callable[[], bytes | None], *, statements: int) -> bytes | None:
    """Call the function; for a large graph on a thread with room for the depth of its recursion."""
    if statements < _DEEP:
        return function()
    results: list[bytes | None] = []
    thread = threading.Thread(target=lambda: results.append(function()), daemon=True)
    before = threading.stack_size()
    try:
        threading.stack_size(_STACK)
        thread.start()
    except (RuntimeError, ValueError):  # so much address space is not to be had here
        return function()
    finally:
        threading.stack_size(before)
    thread.join()
    return results[0] if results else None
