"""``torch.nn``: modules, parameters and layers. The functions are ``nn.functional``, initial values ``nn.init``.

A layer says in a line what it takes (``options.py``). Those that are a function with options are lines of
``declared.py``; those with parameters are in ``layers.py``, ``recurrent.py`` and
``transformer.py``.
"""

from __future__ import annotations

import importlib
from typing import Any

from gviz.engine.nn import containers, declared, layers, recurrent, transformer, utils  # noqa: F401
from gviz.engine.nn.module import Module
from gviz.engine.nn.options import LAYERS
from gviz.engine.nn.parameter import Parameter
from gviz.numbers.words import absent

__all__ = ["Module", "Parameter", "functional", "init", "parameter", "utils"]

HELD = {name: getattr(containers, name) for name in containers.__all__} | LAYERS
globals().update(HELD)
__all__ += list(HELD)

RNNBase, RNNCellBase = recurrent.Recurrent, recurrent.Cell
missing = absent("torch.nn", "attention", "modules", "parallel")


def __getattr__(name: str) -> Any:
    """Load the lazy layers when one is first named."""
    lazy = name.startswith(("Lazy", "Uninitialized")) and importlib.import_module("gviz.engine.nn.lazy")
    return vars(lazy)[name] if lazy and name in lazy.LAZY else missing(name)
