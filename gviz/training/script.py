"""The training of a script: its models are those that its variables hold when it calls ``backward()`` first."""

from __future__ import annotations

from collections.abc import Sequence
from traceback import walk_stack
from typing import Any

from gviz.sources.layers import module_names
from gviz.training.hunt import Hunt
from gviz.training.log import Log
from gviz.training.running import EngineTensor
from gviz.training.steps import Steps


class ScriptSteps(Steps):
    """Measures the steps of a script's models.

    Args:
        patterns: of the names of the parameters, or of modules, that are measured.
        every: steps from one that is measured to the next.
    """

    def __init__(self, patterns: Sequence[str], every: int) -> None:
        super().__init__(Log(every), patterns, Hunt(is_on=False))

    def will_run(self, roots: Sequence[EngineTensor]) -> dict[str, tuple[Any, int]]:
        """Find the models before a backward, as long as there are none."""
        if not self.parameters.models:
            models = self.models_here()
            self.take(models if len(models) != 1 else {"": next(iter(models.values()))})
        return super().will_run(roots)

    def models_here(self) -> dict[str, Any]:
        """Return the modules with parameters that variables hold, and are in no other, by their names."""
        space: dict[str, Any] = {}
        for frame, _ in reversed([*walk_stack(None)]):
            if self.modules.frames.is_ours(frame.f_code.co_filename):
                space |= frame.f_globals | frame.f_locals
                space |= getattr(frame.f_locals.get("self"), "__dict__", {})
        modules = module_names(space, self.listener.engine).values()
        inner = {id(child) for _, one in modules for child in one.modules() if child is not one}
        return {name: one for name, one in modules if id(one) not in inner and any(True for _ in one.parameters())}
