"""The process as a script expects it: ``__main__``, its arguments, its folder on the path, and torch.

Everything is put back afterwards, so that a program that uses gviz as a library keeps its own.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import os
import re
import signal
import sys
import warnings
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import ModuleType

__all__ = ["EngineFinder", "as_main", "engine_module", "put_back_all"]

ENGINE = "gviz.engine"
STATIC = frozenset({"tensorflow", "tensorflow.compat", "tensorflow.compat.v1"})
"""What ``gviz.static`` stands in for: TensorFlow 1 is all of it."""

PUBLIC = re.compile(
    r"(amp|autograd|backends|cuda|distributed|distributions|fft|func|functional|fx|hub|jit|linalg|masked|mps"
    r"|multiprocessing|nested|nn|onnx|optim|overrides|profiler|quantization|random|serialization|signal|sparse|special"
    r"|storage|testing|types|utils|version)(\.|$)"
)
"""PyTorch's own submodules: a script may import those that the engine has, and none of the engine's other modules."""


class EngineFinder:
    """Resolves torch to ``gviz.engine``, tensorflow to ``gviz.static``, and torchviz to ``make_dot``.

    A finder and loader by its methods alone: ``importlib.abc``, which has their base classes, takes 12 ms to import.

    Args:
        engine: the module that is torch; None leaves torch alone and stands in for torchviz only.
        make_dot: what ``from torchviz import make_dot`` gives; asked for only when a script does.
    """

    def __init__(self, engine: ModuleType | None, make_dot: Callable[[], Callable[..., Any]]) -> None:
        self.engine = engine
        self.make_dot = make_dot

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,  # noqa: ARG002 - the import system's signature
        target: ModuleType | None = None,  # noqa: ARG002 - likewise
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec of a module of torch, tensorflow or torchviz; None for all others.

        Raises:
            ModuleNotFoundError: the engine has no such module; in Python's words for PyTorch's.
        """
        package = _package(fullname)
        if package == "torchviz" and fullname in {"torchviz", "torchviz.dot"}:
            return importlib.machinery.ModuleSpec(fullname, self._loader(), is_package=fullname == "torchviz")
        if package == "tensorflow":
            if fullname not in STATIC:
                raise ModuleNotFoundError(
                    f"No module named {fullname!r} (gviz has TensorFlow 1's static graphs)", name=fullname
                )
            return importlib.machinery.ModuleSpec(fullname, self._loader(), is_package=True)
        if package != "torch" or self.engine is None:
            return None
        if engine_module(fullname) is None:  # not left to the other finders: torch's path is gviz's own folder
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        return importlib.machinery.ModuleSpec(fullname, self._loader())

    def _loader(self) -> Any:
        return self  # has a loader's methods, not its base class

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        """A new module, as the import system makes it."""

    def exec_module(self, module: ModuleType) -> None:
        """Fill the module, or put the engine's in its place (which the import system allows for)."""
        name = module.__name__
        if name.startswith("torchviz"):
            module.make_dot = self.make_dot()  # type: ignore[attr-defined]
            return
        if name in STATIC:
            static: Any = importlib.import_module("gviz.static")
            sys.modules[name] = static.compat if name == "tensorflow.compat" else static
            return
        found = engine_module(name)
        if found is not None:
            sys.modules[name] = found


def engine_module(fullname: str) -> ModuleType | None:
    """The engine's module for ``torch.nn`` and the like, imported; None where the engine has none.

    >>> engine_module("torch.no_such_thing") is None
    True
    """
    below = fullname.partition(".")[2]
    if below and not PUBLIC.match(below):
        return None
    home = f"{ENGINE}.{below}" if below else ENGINE
    try:
        return importlib.import_module(home)
    except ModuleNotFoundError as error:
        if error.name is not None and (home == error.name or home.startswith(f"{error.name}.")):
            return None
        raise  # the module is there, and something that it needs is not


@contextmanager
def as_main(
    module: ModuleType, folder: str, argv: Sequence[str], finder: EngineFinder, stdout: TextIO | None = None
) -> Iterator[Callable[[], list[Any]]]:
    """Let the block run as ``python file.py`` would: all that it may change is put back afterwards.

    Args:
        module: the script's own, ``__main__`` for the time of the block.
        folder: where the script is; first on the path.
        argv: the script's name and its arguments.
        finder: stands in for torch and torchviz.
        stdout: where the script's prints go; None leaves them on standard output.

    Yields:
        A function that lists the script's threads that are running, which are waited for at the end.
    """
    with ExitStack() as after:
        after.callback(_put_back("argv", "path", "meta_path", "stdin", "excepthook", "displayhook"))
        after.callback(_put_back_streams())
        after.callback(setattr, os, "environ", os.environ)
        after.callback(_put_back_signals())
        after.callback(sys.setrecursionlimit, sys.getrecursionlimit())
        after.callback(_put_back_folder())
        after.callback(_put_back_modules(folder, finder))
        before = _threads()

        def threads() -> list[Any]:
            return [thread for thread in _threads() - before if not thread.daemon]

        after.enter_context(warnings.catch_warnings())
        if stdout is not None:
            after.enter_context(redirect_stdout(stdout))
        sys.modules["__main__"] = module
        sys.argv = list(argv)
        sys.path = [folder, *sys.path]
        sys.meta_path.insert(0, finder)
        importlib.invalidate_caches()  # a file written a moment ago is found
        yield threads
        for thread in threads():
            thread.join()  # as Python does at its end: it may still be computing


def _put_back(*names: str) -> Callable[[], None]:
    """A function that gives these names of sys the values they have now, and lists their items."""
    before = {name: getattr(sys, name) for name in names}
    items = [(value, list(value)) for value in before.values() if isinstance(value, list)]

    def put_back() -> None:
        for name, value in before.items():
            setattr(sys, name, value)
        for value, contents in items:
            value[:] = contents

    return put_back


def _put_back_streams() -> Callable[[], None]:
    """A function that puts standard output and error back, open even where a script wrapped or detached what is below."""
    before = [(name, getattr(sys, name), getattr(getattr(sys, name), "buffer", None)) for name in ("stdout", "stderr")]

    def put_back() -> None:
        for name, stream, buffer in before:
            now: Any = getattr(sys, name, None)
            if buffer is not None and now is not stream and getattr(now, "buffer", None) is buffer:
                with suppress(OSError, ValueError, AttributeError):
                    now.detach()  # or its end would close what is below both of them
            setattr(sys, name, stream)
            try:
                is_detached = buffer is not None and stream.buffer is None
            except ValueError:
                is_detached = True
            if is_detached:
                import io

                setattr(sys, name, io.TextIOWrapper(buffer, "utf-8", "backslashreplace"))

    return put_back


def _put_back_signals() -> Callable[[], None]:
    """A function that gives signals the handlers that they have now, and stops the script's timers."""
    before = {number: signal.getsignal(number) for number in signal.valid_signals()}

    def put_back() -> None:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            if handler is not None and signal.getsignal(number) is not handler:
                with suppress(OSError, ValueError):  # not the main thread
                    signal.signal(number, handler)

    return put_back


def put_back_all(space: dict[str, Any]) -> Callable[[], None]:
    """A function that gives a namespace the contents that it has now."""
    before = dict(space)

    def put_back() -> None:
        for name in [name for name in space if name not in before]:
            del space[name]
        space.update(before)

    return put_back


def _put_back_folder() -> Callable[[], None]:
    """A function that goes back to the current folder: pictures are written from there."""
    try:
        before = os.getcwd()
    except OSError:  # it was deleted: nowhere to go back to
        return lambda: None

    def put_back() -> None:
        with suppress(OSError):  # the script has deleted it
            os.chdir(before)

    return put_back


def _put_back_modules(folder: str, finder: EngineFinder) -> Callable[[], None]:
    """Hide the modules that the script must not meet; returns what shows them again and forgets the script's own."""
    main = sys.modules["__main__"]
    beside = _modules_in(folder)
    others = [name for name in _loaded() if _package(name) in beside and not _is_neighbour(name, folder)]
    hide = [*others, *(name for name in _loaded() if _stands_in(name, finder))]
    hidden = {name: sys.modules.pop(name) for name in hide}
    if finder.engine is not None:
        sys.modules["torch"] = finder.engine
    before = set(sys.modules)

    def put_back() -> None:
        sys.modules["__main__"] = main
        new = [name for name in _loaded() if name not in before and _is_neighbour(name, folder)]
        for name in dict.fromkeys([*new, *(name for name in _loaded() if _stands_in(name, finder))]):
            del sys.modules[name]
        sys.modules.update(hidden)

    return put_back


def _loaded() -> list[str]:
    """The names of all modules; a script may have put other keys among them."""
    return [name for name in sys.modules if type(name) is str]


def _package(name: str) -> str:
    return name.partition(".")[0]


def _stands_in(name: str, finder: EngineFinder) -> bool:
    """Whether a module is one that gviz stands in for."""
    return _package(name) in {"tensorflow", "torchviz"} or (_package(name) == "torch" and finder.engine is not None)


def _modules_in(folder: str) -> set[str]:
    """The modules in a folder that would be met before others of their name; gviz, numpy and Python's own stay as they are."""
    try:
        entries = os.listdir(folder or os.curdir)
    except OSError:
        return set()
    packages = {entry for entry in entries if os.path.isfile(os.path.join(folder, entry, "__init__.py"))}
    found = packages | {entry[:-3] for entry in entries if entry.endswith(".py")}
    return found - {"gviz", "numpy", "__main__"} - sys.stdlib_module_names


def _is_neighbour(name: str, folder: str) -> bool:
    """Whether a module was imported from the script's own folder."""
    return _package(name) != "gviz" and _home(_package(name)) == folder


def _home(package: str) -> str | None:
    """The folder that a loaded top-level module or package was found in."""
    module = sys.modules.get(package)
    try:
        file = getattr(module, "__file__", None)
        paths = list(getattr(module, "__path__", None) or ())  # a folder without __init__.py
    except Exception:  # noqa: BLE001 - what a script puts among the modules may raise anything
        return None
    if isinstance(file, str):
        home = os.path.dirname(os.path.abspath(file))
        return os.path.dirname(home) if os.path.basename(file) == "__init__.py" else home
    return os.path.dirname(os.path.abspath(paths[0])) if paths and isinstance(paths[0], str) else None


def _threads() -> set[Any]:
    """The threads that run now, beside this one and the main one."""
    threading = sys.modules.get("threading")
    if threading is None:  # not imported: no thread was started
        return set()
    return set(threading.enumerate()) - {threading.current_thread(), threading.main_thread()}
