"""Which module of a model is running, and on which line of the program: hooks on the modules, and the frames."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, TypeAlias

from gviz.graphs import Place
from gviz.trace.frames import RunningProgram

EngineTensor: TypeAlias = Any
"""A tensor of gviz's engine, or of PyTorch, that is computed with."""

EngineModule: TypeAlias = Any
"""An ``nn.Module`` of either."""

OWN = os.path.dirname(os.path.dirname(__file__))
"""The folder of gviz, whose lines are not the program's."""


class RunningModules:
    """The modules that are running, the innermost last.

    Args:
        engine: the module that the program knows as torch.
        on_relu: called with what an ``nn.ReLU`` has made, while modules are listened to.
    """

    def __init__(self, engine: ModuleType, on_relu: Callable[[Any], None]) -> None:
        self.on_relu, self.paths, self.parameters = on_relu, dict[int, str](), set[int]()
        self.modules, self.stack, self.handles = list[Any](), list[Any](), list[Any]()
        self.last = ""  # the name of the module that has ended last
        libraries = OWN, os.path.dirname(engine.__file__ or OWN)
        self.frames = RunningProgram(lambda file: file[:1] != "<" and not file.startswith(libraries))

    def __reduce__(self) -> tuple[type[IdleModules], tuple[()]]:
        """Return what the hooks of a copy of a model belong to."""
        return IdleModules, ()

    def take(self, models: Mapping[str, Any]) -> None:
        """Begin to know models by their names; "" for one without. Compiled ones run no hooks of their modules."""
        for prefix, model in models.items():
            modules = {prefix + "." * bool(prefix and path) + path: one for path, one in model.named_modules()}
            is_compiled = any(type(one).__name__ == "OptimizedModule" for one in modules.values())
            self.paths |= {id(one): path for path, one in modules.items()}
            self.parameters |= {id(one) for one in model.parameters()}
            self.modules += [] if is_compiled else modules.values()

    def listen(self, *, is_on: bool) -> None:
        """Put hooks on the modules, or take them away."""
        if is_on and not self.handles:
            for module in self.modules:
                self.handles.append(module.register_forward_pre_hook(self.begin))
                self.handles.append(module.register_forward_hook(self.end))
        elif not is_on:
            for handle in self.handles:
                handle.remove()
            self.handles.clear()
            self.stack.clear()

    def begin(self, module: EngineModule, _: object) -> None:
        """Note that a module is called."""
        if id(module) in self.paths:
            self.stack.append(module)

    def end(self, module: EngineModule, _: object, result: object) -> None:
        """Note that a call has ended, and those within it that have raised an error."""
        if id(module) not in self.paths:
            return
        if self.is_relu:
            self.on_relu(result)
        while self.stack and self.stack.pop() is not module:
            pass
        self.last = self.paths[id(module)]

    @property
    def is_relu(self) -> bool:
        """Whether the innermost module is an ``nn.ReLU``."""
        return bool(self.stack) and type(self.stack[-1]).__name__ == "ReLU"

    @property
    def path(self) -> str:
        """The name of the innermost module; "" outside of the models."""
        return self.paths[id(self.stack[-1])] if self.stack else ""

    def place(self, name: str) -> Place | None:
        """Return the line of the program that calls the function of that name; None for none."""
        call = self.frames.note_call(name, is_new=False)
        return None if call is None else call.place

    def names_here(self) -> dict[int, str]:
        """Return what the innermost function of the program that is running calls its objects, by their identity."""
        frame: Any = sys._getframe(1)  # noqa: SLF001 - inspect.currentframe costs a large import and does just this
        while frame is not None and not self.frames.is_ours(frame.f_code.co_filename):
            frame = frame.f_back
        return {} if frame is None else {id(one): name for name, one in {**frame.f_globals, **frame.f_locals}.items()}


class IdleModules(RunningModules):
    """Modules of which nobody is told: those of a copy that was made of a model while it was listened to."""

    def __init__(self) -> None:
        self.paths = {}


def path_and_line(place: Place | None) -> str:
    """Return a line as people look for it: with the path from the current folder, if it is there; "" for None."""
    if place is None:
        return ""
    path = os.path.relpath(place.file)
    return str(place._replace(file=place.file if path.startswith("..") else path))
