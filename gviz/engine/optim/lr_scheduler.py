"""``torch.optim.lr_scheduler``: the learning rate of each epoch."""

from __future__ import annotations

import math
from collections import Counter
from types import FunctionType
from typing import TYPE_CHECKING, Any

from gviz.engine.copying import Portable
from gviz.numbers.words import absent, warn
from gviz.ops.checks import refuse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gviz.engine.optim import Optimizer

__all__ = ["CosineAnnealingLR", "ExponentialLR", "LRScheduler", "LambdaLR", "MultiStepLR", "StepLR"]

EARLY = ("Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should call them "
         "in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will result in PyTorch "
         "skipping the first value of the learning rate schedule. See more details at "
         "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate")
FRESH = "param 'initial_lr' is not specified in param_groups[{}] when resuming scheduler with last_epoch >= 0."

class LRScheduler(Portable):
    """Base of the schedules: ``step()`` sets each group's learning rate for the next epoch."""

    __module__, _importable = "torch.optim.lr_scheduler", "gviz.engine.optim.lr_scheduler"

    def __init_subclass__(cls) -> None:
        if cls.__module__ == __name__:
            cls.__module__ = LRScheduler.__module__

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        refuse(not hasattr(optimizer, "param_groups"), f"{type(optimizer).__name__} is not an Optimizer", TypeError)
        self.optimizer = optimizer
        vars(optimizer).setdefault("_opt_called", False)
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"])
            elif "initial_lr" not in group:
                raise KeyError(FRESH.format(i))
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch, self._step_count, self._is_initial = last_epoch, 0, True
        self.step()
        self._is_initial = False

    def get_lr(self) -> list[float]:
        """Return the learning rates of this epoch, from those of the last; meant for ``step``."""
        raise NotImplementedError

    def current(self) -> list[float]:
        """Return the learning rates that the groups have, with a warning where not ``step`` asks."""
        if not self._get_lr_called_within_step:
            warn("To get the last learning rate computed by the scheduler, please use `get_last_lr()`.")
        return [group["lr"] for group in self.optimizer.param_groups]

    def get_last_lr(self) -> list[float]:
        """Return the learning rates that were set last."""
        return self._last_lr

    def step(self) -> None:
        """Go on by one epoch."""
        if self._step_count == 1 and not self.optimizer._opt_called:
            warn(EARLY)
        self._step_count += 1
        self.last_epoch += 1
        self._get_lr_called_within_step = True
        rates = list(self.get_lr())
        self._get_lr_called_within_step = False
        for group, lr in zip(self.optimizer.param_groups, rates, strict=True):
            group["lr"] = lr
        self._last_lr = rates

    def state_dict(self) -> dict[str, Any]:
        """Return all that it keeps but the optimizer."""
        return {name: value for name, value in vars(self).items() if name != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from there."""
        vars(self).update(state_dict)

class LambdaLR(LRScheduler):
    """The initial learning rate times a function of the epoch."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        count = len(optimizer.param_groups)
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, list | tuple) else [lr_lambda] * count
        refuse(len(self.lr_lambdas) != count, f"Expected {count} lr_lambdas, but got {len(self.lr_lambdas)}", ValueError)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return what the functions say."""
        self.current()
        return [base * factor(self.last_epoch) for base, factor in zip(self.base_lrs, self.lr_lambdas, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        """Return all that it keeps but the optimizer; of callable objects what they keep, of functions nothing."""
        state = {name: value for name, value in super().state_dict().items() if name != "lr_lambdas"}  # which PyTorch puts last
        return {**state, "lr_lambdas": [None if isinstance(f, FunctionType) else dict(vars(f)) for f in self.lr_lambdas]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from there, with the own functions."""
        super().load_state_dict({name: value for name, value in state_dict.items() if name != "lr_lambdas"})
        for own, kept in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=False):
            vars(own).update(kept or {})

class StepLR(LRScheduler):
    """The learning rate times ``gamma`` every ``step_size`` epochs."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the learning rates as before, or times ``gamma``."""
        rates = self.current()
        return rates if self.last_epoch == 0 or self.last_epoch % self.step_size else [lr * self.gamma for lr in rates]

class MultiStepLR(LRScheduler):
    """The learning rate times ``gamma`` at each milestone."""

    def __init__(self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the learning rates as before, or times ``gamma`` for each milestone that is now."""
        return [lr * self.gamma ** self.milestones[self.last_epoch] for lr in self.current()]

class ExponentialLR(LRScheduler):
    """The learning rate times ``gamma`` every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the learning rates as before, times ``gamma``."""
        return self.current() if self._is_initial else [lr * self.gamma for lr in self.current()]

class CosineAnnealingLR(LRScheduler):
    """The learning rate down along a cosine to ``eta_min`` in ``T_max`` epochs, and up again."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the next point of the cosine from the last, so that what else changes the learning rate stays."""
        rates, epoch, least = self.current(), self.last_epoch, self.eta_min
        if self._is_initial:
            return rates
        if (epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # the last point was the least, which no factor leaves
            rise = 1 - math.cos(math.pi / self.T_max)
            return [lr + (base - least) * rise / 2 for lr, base in zip(rates, self.base_lrs, strict=True)]
        factor = (1 + math.cos(math.pi * epoch / self.T_max)) / (1 + math.cos(math.pi * (epoch - 1) / self.T_max))
        return [factor * (lr - least) + least for lr in rates]

__getattr__ = absent("torch.optim.lr_scheduler")
