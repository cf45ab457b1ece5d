"""``torch.optim.lr_scheduler``: the learning rate of each epoch."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from gviz.engine import text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gviz.engine.optim import Optimizer

__all__ = ["CosineAnnealingLR", "ExponentialLR", "LRScheduler", "LambdaLR", "MultiStepLR", "StepLR"]


EARLY = (
    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should call them in the "
    "opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will result in PyTorch skipping the "
    "first value of the learning rate schedule. See more details at "
    "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
)


class LRScheduler:
    """Base of the schedules: ``step()`` sets each group's learning rate for the next epoch."""

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        self.optimizer = optimizer
        for group in optimizer.param_groups:
            group.setdefault("initial_lr", group["lr"])
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._step_count = 0
        self._is_initial = self._get_lr_called_within_step = False
        self.step()

    def get_lr(self) -> Iterable[float]:
        """The learning rates of this epoch."""
        raise NotImplementedError

    def get_last_lr(self) -> list[float]:
        """The learning rates that were set last."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def step(self, epoch: Any = None) -> None:
        """Go on by one epoch."""
        if self._step_count == 1 and not getattr(self.optimizer, "_opt_called", False):
            text.warn(EARLY)
        self._step_count += 1
        self.last_epoch += 1
        for group, lr in zip(self.optimizer.param_groups, list(self.get_lr()), strict=True):
            group["lr"] = lr
        self._last_lr = self.get_last_lr()

    def state_dict(self) -> dict[str, Any]:
        """All that it keeps, but the optimizer."""
        return {name: value for name, value in vars(self).items() if name != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from there."""
        vars(self).update(state_dict)


class LambdaLR(LRScheduler):
    """The initial learning rate times a function of the epoch."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        count = len(optimizer.param_groups)
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, list | tuple) else [lr_lambda] * count
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Iterable[float]:
        """As the functions say."""
        return [base * factor(self.last_epoch) for base, factor in zip(self.base_lrs, self.lr_lambdas, strict=True)]


class StepLR(LRScheduler):
    """The learning rate times ``gamma`` every ``step_size`` epochs."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Iterable[float]:
        """As before, or times ``gamma``."""
        turn = self.last_epoch > 0 and self.last_epoch % self.step_size == 0
        return [group["lr"] * self.gamma if turn else group["lr"] for group in self.optimizer.param_groups]


class MultiStepLR(StepLR):
    """The learning rate times ``gamma`` at each milestone."""

    def __init__(self, optimizer: Optimizer, milestones: list[int], gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.milestones = list(milestones)
        super().__init__(optimizer, 1, gamma, last_epoch)

    def get_lr(self) -> Iterable[float]:
        """As before, or times ``gamma`` for each milestone that is now."""
        factor = self.gamma ** self.milestones.count(self.last_epoch)
        return [group["lr"] * factor for group in self.optimizer.param_groups]


class ExponentialLR(StepLR):
    """The learning rate times ``gamma`` every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        super().__init__(optimizer, 1, gamma, last_epoch)


class CosineAnnealingLR(LRScheduler):
    """The learning rate down along a cosine to ``eta_min`` in ``T_max`` epochs, and up again."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Iterable[float]:
        """The point of the cosine."""
        wave = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (base - self.eta_min) * wave for base in self.base_lrs]


__getattr__ = text.absent("torch.optim.lr_scheduler")
