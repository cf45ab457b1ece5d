"""What happens to a model while it is trained: ``with gviz.watch(model) as log:`` around the loop."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from gviz.trace.listening import ENGINE, Listener
from gviz.trace.modules import EngineModule
from gviz.training.hunt import Hunt
from gviz.training.log import Log
from gviz.training.rows import Finding
from gviz.training.steps import Steps

__all__ = ["Finding", "Log", "Watch", "watch"]


def watch(
    model: EngineModule | Mapping[str, EngineModule],
    names: str | Sequence[str] = "*",
    *,
    every: int = 10,
    hunt: bool = False,
) -> Watch:
    """Watch the training of a model in a ``with`` block.

    Norms of gradients and parameters by step, units that are dead, and the first nan or inf.

    >>> from gviz.engine import nn, ones, optim
    >>> net = nn.Linear(2, 1)
    >>> trainer = optim.SGD(net.parameters(), lr=0.1)
    >>> with watch(net, every=1) as log:
    ...     for _ in range(3):
    ...         trainer.zero_grad()
    ...         net(ones(4, 2)).mean().backward()
    ...         trainer.step()
    >>> [row.norms["bias"].grad for row in log.rows]
    [1.0, 1.0, 1.0]

    Args:
        model: an ``nn.Module`` of gviz's engine or of the real torch; a dict of names for several.
        names: patterns of the parameters, or modules, that are measured: ``"blocks.*"``.
        every: how many steps there are from one that is measured to the next; step 0 is measured.
        hunt: True to look at each result and each gradient, so that the operation is found that makes the first nan or
            inf, with its line and its operands. A step takes up to twice as long.

    Returns:
        What a ``with`` statement takes; it gives the :class:`Log`.

    Raises:
        TypeError: the model is not a module.
        ValueError: ``every`` is less than 1.
    """
    return Watch(model, (names,) if isinstance(names, str) else tuple(names), every=every, hunt=hunt)


class Watch:
    """A training that is watched from the beginning of a ``with`` block to its end; see :func:`watch`."""

    def __init__(
        self, model: EngineModule | Mapping[str, EngineModule], patterns: Sequence[str], *, every: int, hunt: bool
    ) -> None:
        if every < 1:
            raise ValueError(f"every is 1 or more, not {every}")
        self.models: dict[str, Any] = dict(model) if isinstance(model, Mapping) else {"": model}
        kinds = {name: import_module(f"{name}.nn").Module for name in ("torch", ENGINE) if name in sys.modules}
        first = next(iter(self.models.values()), None)
        name = next((name for name, kind in kinds.items() if isinstance(first, kind)), "")
        if not name or not all(isinstance(one, kinds[name]) for one in self.models.values()):
            raise TypeError(
                f"gviz.watch() takes an nn.Module, or a dict of names and modules; not of type {type(first).__name__}"
            )
        self.log = Log(every)
        self.steps = Steps(self.log, patterns, hunter := Hunt(is_on=hunt))
        self.listener = Listener(sys.modules[name], self.steps, *[hunter] * hunt)

    def __enter__(self) -> Log:
        """Begin to watch."""
        self.listener.__enter__()
        with self.listener.quiet():
            self.steps.take(self.models)
        return self.log

    def __exit__(self, *error: object) -> None:
        """Take away whatever listens; the log stays."""
        with self.listener.quiet():
            self.steps.end()
        self.listener.__exit__(*error)
