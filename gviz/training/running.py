"""Which module of a model is running, and on which line of the program."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from traceback import walk_stack
from types import ModuleType
from typing import Any, TypeAlias

from gviz.graphs import Place
from gviz.pictures.table import near
from gviz.trace.frames import RunningProgram
from gviz.trace.modules import EngineModule, ModuleObserver

EngineTensor: TypeAlias = Any
"""A tensor of gviz's engine, or of PyTorch, that is computed with."""

OWN = os.path.dirname(os.path.dirname(__file__))
"""The folder of gviz, whose lines are not the program's."""


class RunningModules(ModuleObserver):
    """The modules that are running, the innermost last, of calls that begin while ``is_on``.

    Args:
        engine: the module that the program knows as torch.
        on_relu: called with what an ``nn.ReLU`` has made.
    """

    def __init__(self, engine: ModuleType, on_relu: Callable[[Any], None]) -> None:
        self.on_relu, self.paths, self.parameters = on_relu, dict[int, str](), set[int]()
        self.is_on, self.modules, self.stack = False, list[Any](), list[Any]()
        self.last = ""  # the name of the module that has ended last
        libraries = OWN, os.path.dirname(engine.__file__ or OWN)
        self.frames = RunningProgram(  # a cell of a notebook is in a folder, that of a terminal's IPython in none
            lambda file: not file.startswith(("<", *libraries)) or file.startswith("<ipython-input-")
        )

    def take(self, models: Mapping[str, Any]) -> None:
        """Begin to know models by their names; "" for one without."""
        for prefix, model in models.items():
            modules = {prefix + "." * bool(prefix and path) + path: one for path, one in model.named_modules()}
            self.paths |= {id(one): path for path, one in modules.items()}
            self.parameters |= {id(one) for one in model.parameters()}
            self.modules += modules.values()  # so that their identities stay theirs

    def begin(self, module: EngineModule) -> None:
        """Note that a module is called."""
        if self.is_on and id(module) in self.paths:
            self.stack.append(module)

    def end(self, module: EngineModule, result: object) -> None:
        """Note that a call has ended."""
        if not self.stack or self.stack[-1] is not module:  # another model's, or it began when nobody listened
            return
        if self.is_relu and result is not None:
            self.on_relu(result)
        self.stack.pop()
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
        frame = next((one for one, _ in walk_stack(None) if self.frames.is_ours(one.f_code.co_filename)), None)
        return {} if frame is None else {id(one): name for name, one in {**frame.f_globals, **frame.f_locals}.items()}


def path_and_line(place: Place | None) -> str:
    """Return a line as people look for it, as :func:`gviz.pictures.table.near` has it; "" for None."""
    return "" if place is None else str(near(place))
