"""``torch.optim.swa_utils``: a copy of a model whose parameters are averages over the training."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, TypeAlias

from gviz import engine
from gviz.autograd.modes import no_grad
from gviz.autograd.tensor import Tensor
from gviz.engine.nn.module import Module
from gviz.numbers.words import absent, refuse

torch: Any = engine
Average: TypeAlias = Callable[[Any, Any, Any], Any]
"""What is told the average, the new value and how many there were, and returns the next average."""


def get_swa_avg_fn() -> Average:
    """Return the average in which all values count the same."""
    return no_grad()(lambda average, value, count: average + (value - average) / (count + 1))


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """Return the average in which old values count less and less."""
    refuse(
        not 0 <= decay <= 1, f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.", ValueError
    )
    return no_grad()(lambda average, value, _: decay * average + (1 - decay) * value)


def get_ema_multi_avg_fn(decay: float = 0.999) -> Average:
    """Return the same for lists of parameters, which it changes in place."""
    get_ema_avg_fn(decay)

    def update(averages: list[Any], values: list[Tensor], _count: object) -> None:
        with no_grad():
            for average, value in zip(averages, values, strict=True):
                if average.is_floating_point():
                    average.lerp_(value, 1 - decay)
                else:
                    average.copy_(average * decay + value * (1 - decay))

    return update


class AveragedModel(Module):
    """A copy of a model whose parameters are averages; ``update_parameters`` takes the model's as they are."""

    def __init__(
        self,
        model: Module,
        device: object = None,
        avg_fn: Average | None = None,
        multi_avg_fn: Average | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        refuse(avg_fn and multi_avg_fn, "Only one of avg_fn and multi_avg_fn should be provided", AssertionError)
        self.module: Any = copy.deepcopy(model)
        self.register_buffer("n_averaged", torch.tensor(0, device=device))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: object, **kwargs: object) -> Any:
        """Return what the copy returns."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Take the parameters of the model into the averages; buffers are copied, or taken too."""
        mine, others = ([one.detach() for one in each.parameters()] for each in (self.module, model))
        pairs = list(zip(self.module.buffers(), model.buffers(), strict=True))
        if self.use_buffers:
            mine, others, pairs = [*mine, *(a for a, _ in pairs)], [*others, *(b for _, b in pairs)], []
        count: Any = self.n_averaged
        with no_grad():
            if self.multi_avg_fn and count:
                self.multi_avg_fn(mine, others, count)
            else:
                rule = self.avg_fn or get_swa_avg_fn()
                for average, value in zip(mine, others, strict=True):
                    average.copy_(rule(average, value, count) if count else value)
            for buffer, value in pairs:
                buffer.copy_(value)
            self.n_averaged += 1


__getattr__ = absent("torch.optim.swa_utils")
