"""The process as a script expects it: ``__main__``, its arguments, its folder on the path, and torch.

As ``runpy`` does it; what is put back afterwards is what scripts do change, not all that they could.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import os
import pkgutil
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import Any

ENGINE = "gviz.engine"
STATIC = frozenset({"tensorflow", "tensorflow.compat", "tensorflow.compat.v1"})
"""What ``gviz.static`` stands in for: TensorFlow 1 is all of it."""

PYTORCH = frozenset({"torch", "functorch"})
"""The packages that PyTorch brings: ``functorch`` is the old name of ``torch.func``."""

TORCHVIZ = frozenset({"torchviz", "torchviz.dot"})

KEPT = ("argv", "path", "meta_path", "stdin", "stdout", "stderr", "excepthook", "displayhook")
"""What of :mod:`sys` is put back."""

PUBLIC = re.compile(
    r"(accelerator|amp|ao|autograd|backends|cuda|distributed|distributions|fft|func|functional|fx|hub|jit|linalg|masked"
    r"|mps|multiprocessing|nested|nn|onnx|optim|overrides|profiler|quantization|random|serialization|signal|sparse|special"
    r"|storage|testing|types|utils|version)(\.|$)"
)
"""PyTorch's own submodules: a script may import those that the engine has, and none of the engine's other modules."""


class EngineFinder:
    """Resolves torch and functorch to ``gviz.engine``, tensorflow to ``gviz.static``, and torchviz to ``make_dot``.

    A finder and loader by its methods alone: ``importlib.abc``, which has their base classes, takes 12 ms to import.

    Args:
        engine: the module that is torch; None leaves torch alone.
    """

    def __init__(self, engine: ModuleType | None) -> None:
        self.engine = engine
        self.watch: Callable[[Callable[..., Any]], Callable[..., Any]] = lambda make_dot: make_dot
        self.packages = {"tensorflow", "torchviz", *(PYTORCH if engine is not None else ())}

    def find_spec(self, fullname: str, *_: Any) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of a module of torch, functorch, tensorflow or torchviz; None for all others.

        Raises:
            ModuleNotFoundError: there is no such module here; in Python's words.
        """
        package = _package(fullname)
        loader: Any = self  # has a loader's methods, not its base class
        if package not in self.packages:
            return None
        # Not left to the other finders: torch's path is gviz's own folder. PyTorch itself looks for TensorFlow.
        if fullname not in STATIC and self._module(fullname) is None:
            hint = " (gviz has TensorFlow 1's static graphs)" if package == "tensorflow" else ""
            raise ModuleNotFoundError(f"No module named {fullname!r}{hint}", name=fullname)
        return importlib.machinery.ModuleSpec(fullname, loader)

    def find_distributions(self, context: Any) -> list[Any]:
        """Return what ``importlib.metadata`` says of torch: the version whose behaviour the engine has."""
        if self.engine is None or context.name != "torch":
            return []
        metadata = importlib.import_module("importlib.metadata")
        text = f"Metadata-Version: 2.1\nName: torch\nVersion: {self.engine.__version__}\n"
        methods = {
            "read_text": lambda _, name: text if name == "METADATA" else None,
            "locate_file": lambda _, path: path,
        }
        return [type("EngineDistribution", (metadata.Distribution,), methods)()]

    def _module(self, fullname: str) -> Any:
        """Return the module that stands in for one of these names; None if there is none."""
        if fullname in STATIC:
            static: Any = importlib.import_module("gviz.static")
            return static.compat if fullname == "tensorflow.compat" else static
        if fullname in TORCHVIZ:
            module: Any = ModuleType(fullname)
            module.make_dot, module.__path__ = self.watch(importlib.import_module("gviz").make_dot), []
            return module
        return engine_module(fullname) if _package(fullname) in PYTORCH else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        """Leave it to the import system to make a module."""

    def exec_module(self, module: ModuleType) -> None:
        """Put the module that stands in for it in its place, which the import system allows for."""
        sys.modules[module.__name__] = self._module(module.__name__) or module


def engine_module(fullname: str) -> ModuleType | None:
    """Return the engine's module for ``torch.nn`` and the like, imported; None if the engine has none.

    >>> engine_module("torch.no_such_thing") is None
    True
    """
    package, _, below = fullname.partition(".")
    if below and package == "torch" and not PUBLIC.match(below):
        return None
    home = ".".join(filter(None, [ENGINE, below if package == "torch" else fullname]))
    try:
        return importlib.import_module(home)
    except ModuleNotFoundError as error:
        if error.name is not None and (home == error.name or home.startswith(f"{error.name}.")):
            parent, _, name = fullname.rpartition(".")
            file = getattr(engine_module(parent), name, None)  # a module may stand for several files of PyTorch's
            return file if isinstance(file, ModuleType) else None
        raise  # the module is there, and something that it needs is not


class Arguments(list[str]):
    """``sys.argv`` of a script.

    ``multiprocessing`` pickles it for each process that it starts: unpickled there, it makes ``import torch`` work.
    """

    def __init__(self, argv: Sequence[str], *, has_engine: bool) -> None:
        super().__init__(argv)
        self.has_engine = has_engine

    def __reduce__(self) -> tuple[Any, ...]:
        return in_child, ([*self], self.has_engine)


def in_child(argv: list[str], has_engine: bool) -> list[str]:
    """Return a script's arguments in a process that it has started; there ``import torch`` works from now on."""
    if not any(
        isinstance(finder, EngineFinder) for finder in sys.meta_path
    ):  # there is one where a script copies sys.argv
        engine = engine_module("torch") if has_engine else None
        sys.meta_path.insert(0, EngineFinder(engine))
        if engine is not None:
            sys.modules["torch"] = engine
            importlib.import_module("numpy").seterr(all="ignore")  # as in the script's own process
    return argv


@contextmanager
def as_main(
    module: ModuleType, folder: str, argv: Sequence[str], finder: EngineFinder
) -> Iterator[Callable[[], list[Any]]]:
    """Let the block run as ``python file.py`` would, and put back afterwards what every script meets.

    Args:
        module: the script's own, ``__main__`` for the time of the block.
        folder: where the script is; first on the path.
        argv: the script's name and its arguments.
        finder: stands in for torch and torchviz.

    Yields:
        A function that lists the script's threads that are running, which are waited for at the end.
    """
    originals = {name: getattr(sys, name) for name in KEPT}
    lists = [(value, list(value)) for value in originals.values() if isinstance(value, list)]
    before, limit, current, shows = _threads(), sys.getrecursionlimit(), "", os.environ.get("MPLBACKEND")
    with suppress(OSError):  # the current folder was deleted: nowhere to go back to
        current = os.getcwd()

    def threads() -> list[Any]:
        return [thread for thread in _threads() - before if not thread.daemon]

    with _own_modules(folder, finder), warnings.catch_warnings():
        try:
            sys.modules["__main__"] = module
            sys.argv = Arguments(argv, has_engine=finder.engine is not None)
            sys.path = [folder, *sys.path]
            sys.meta_path.insert(0, finder)
            importlib.invalidate_caches()  # a file written a moment ago is found
            os.environ.setdefault("MPLBACKEND", "Agg")  # plt.show() opens no window, and does not wait for one
            yield threads
            for thread in threads():
                thread.join()  # as Python does at its end: it may still be computing
        finally:
            _let_go(originals["stdout"], originals["stderr"])
            for name, value in originals.items():
                setattr(sys, name, value)
            for value, contents in lists:
                value[:] = contents
            sys.setrecursionlimit(limit)
            if shows is None:
                os.environ.pop("MPLBACKEND", None)
            with suppress(OSError):  # the script has deleted it
                os.chdir(current)  # pictures are written from there


def _let_go(*streams: Any) -> None:
    """Detach what a script wrapped around the buffer of a stream: its end would close what is below both of them."""
    others: tuple[Any, ...] = (sys.stdout, sys.stderr)
    for stream, now in zip(streams, others, strict=True):
        buffer = getattr(stream, "buffer", None)
        if buffer is not None and now is not stream and getattr(now, "buffer", None) is buffer:
            now.detach()


@contextmanager
def _own_modules(folder: str, finder: EngineFinder) -> Iterator[None]:
    """Hide the modules that the script must not meet; afterwards show them again and forget the script's own."""
    main, beside = sys.modules["__main__"], {module.name for module in pkgutil.iter_modules([folder])}
    hidden_by = beside - {"gviz", "numpy", "__main__"} - sys.stdlib_module_names  # these stay as they are
    others = [name for name in sys.modules if _package(name) in hidden_by and not _is_neighbour(name, folder)]
    hidden = {name: sys.modules.pop(name) for name in [*others, *_stand_ins(finder)]}
    if finder.engine is not None:
        sys.modules["torch"] = finder.engine
    before = set(sys.modules)
    try:
        yield
    finally:
        sys.modules["__main__"] = main
        new = [name for name in sys.modules if name not in before and _is_neighbour(name, folder)]
        for name in {*new, *_stand_ins(finder)}:
            del sys.modules[name]
        sys.modules.update(hidden)


def _stand_ins(finder: EngineFinder) -> list[str]:
    """Return the loaded modules that gviz stands in for."""
    return [name for name in sys.modules if _package(name) in finder.packages]


def _package(name: str) -> str:
    return name.partition(".")[0]


def _is_neighbour(name: str, folder: str) -> bool:
    """Return whether a module was imported from the script's own folder."""
    package = _package(name)
    module = sys.modules.get(package)
    paths = list(getattr(module, "__path__", None) or ())  # a package, with or without an __init__.py
    file = paths[0] if paths else getattr(module, "__file__", None)
    return package != "gviz" and file is not None and os.path.dirname(os.path.abspath(file)) == folder


def _threads() -> set[Any]:
    """Return the threads that run now, beside this one and the main one."""
    threading = sys.modules.get("threading")  # None if it is not imported: no thread was started
    return set(threading.enumerate()) - {threading.current_thread(), threading.main_thread()} if threading else set()
