"""``torch.nn``: modules, parameters and layers. The functions are ``nn.functional``, initial values ``nn.init``.

A layer declares what it takes (``options.py``). Those that are a function with options are lines of ``declared.py``; those with
parameters are in ``layers.py``, ``norms.py`` and ``recurrent.py``.
"""

from __future__ import annotations

from gviz.numbers.words import absent
from gviz.engine.nn import containers, declared, functional, init, layers, norms, parameter, recurrent, utils  # noqa: F401 - declare
from gviz.engine.nn.module import Module
from gviz.engine.nn.options import LAYERS
from gviz.engine.nn.parameter import Buffer, Parameter

__all__ = ["Buffer", "Module", "Parameter", "functional", "init", "parameter", "utils"]

globals().update((name, getattr(containers, name)) for name in containers.__all__)
globals().update(LAYERS)
__all__ += containers.__all__
__all__ += list(LAYERS)


__getattr__ = absent("torch.nn")
