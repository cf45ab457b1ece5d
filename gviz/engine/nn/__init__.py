"""``torch.nn``: modules, parameters and layers. The functions are ``nn.functional``, initial values ``nn.init``.

Layers that are a function with options are declared in ``declared.py``; those with parameters are written in ``layers.py``,
``norms.py`` and ``recurrent.py``.
"""

from __future__ import annotations

from typing import Any

from gviz.engine.nn import containers, functional, init, layers, norms, parameter, recurrent, utils
from gviz.engine.nn.declared import LAYERS
from gviz.engine.nn.module import Module
from gviz.engine.nn.parameter import Buffer, Parameter

__all__ = ["Buffer", "Module", "Parameter", "functional", "init", "parameter", "utils"]

for part in (containers, layers, norms, recurrent):
    globals().update((name, getattr(part, name)) for name in part.__all__)
    __all__ += part.__all__
__all__ += list(LAYERS)
globals().update(LAYERS)


def __getattr__(name: str) -> Any:
    """What is not there is missing in PyTorch's words."""
    raise AttributeError(f"module 'torch.nn' has no attribute '{name}'")
