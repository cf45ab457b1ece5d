"""Local derivatives as symbols, the paths of the chain rule, and the table of operations as people read it.

The module is also a function, ``gviz.explain(word, wrt=(), *, options=None, max_paths=8, say=None, **values)``, which
returns what ``gviz explain`` prints: see :func:`gviz.answers.explain`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class CallableModule(ModuleType):
    """This module: once it is imported, ``gviz.explain`` is its name, which people also call."""

    def __call__(self, word: Any, wrt: Any = (), **options: Any) -> Any:
        """Return the chain rule of a source, path by path; or what an operation's name, or an error's text, means.

        >>> from gviz import explain
        >>> print(explain("y=x*w", "w", x=2, w=3))
        The gradient of y, path by path
        <BLANKLINE>
          x = 2, w = 3
          y = x·w = 6
        <BLANKLINE>
        ∂y/∂w: one path
          y → w   ∂y/∂w = x = 2
          ∂y/∂w = 2 = w.grad

        Args:
            word: an expression, a script, a saved graph; the name of an operation; or the text of an error.
            wrt: names of tensors whose gradients are derived; all leaves if there is none.
            options: those of :func:`gviz.answers.explain`, and values by name.

        Raises:
            SourceError: as :func:`gviz.answers.explain`.
        """
        return import_module("gviz.answers").explain(word, wrt, **options)


sys.modules[__name__].__class__ = CallableModule
