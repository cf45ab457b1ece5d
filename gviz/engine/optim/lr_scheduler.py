"""``torch.optim.lr_scheduler``: the learning rate of each epoch."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar

from gviz.engine.copying import Portable
from gviz.engine.nn.options import method
from gviz.numbers.words import absent, warn
from gviz.ops.checks import refuse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gviz.engine.optim import Optimizer

__all__ = [
    "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "ExponentialLR",
    "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR", "PolynomialLR",
    "ReduceLROnPlateau", "SequentialLR", "StepLR",
]

EARLY = ("Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should call them "
         "in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will result in PyTorch "
         "skipping the first value of the learning rate schedule. See more details at "
         "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate")
FRESH = "param 'initial_lr' is not specified in param_groups[{}] when resuming scheduler with last_epoch >= 0."

class LRScheduler(Portable):
    """Base of the schedules: ``step()`` sets each group's learning rate for the next epoch."""

    __module__, _importable = "torch.optim.lr_scheduler", "gviz.engine.optim.lr_scheduler"

    _refused: ClassVar[dict[str, Any]] = {}
    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


    def __init_subclass__(cls, takes: str = "", refused: Any = None) -> None:
        """Declare a schedule: the options that it ``takes`` and keeps, and what is ``refused`` of them."""
        cls._refused = refused or cls._refused
        if cls.__module__ == __name__:
            cls.__module__ = LRScheduler.__module__
        if takes:
            method(cls, "__init__", f"optimizer, {takes}, last_epoch=-1", "self._begin(locals())")

    def _begin(self, given: dict[str, Any]) -> None:
        options = {name: value for name, value in given.items() if name not in ("self", "optimizer", "last_epoch")}
        for message, wrong in self._refused.items():
            refuse(wrong(**options), message, ValueError)
        vars(self).update(options)
        LRScheduler.__init__(self, given["optimizer"], given["last_epoch"])

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
        self.last_epoch = last_epoch
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count, self._is_initial = 0, True
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
        self.renew(self.get_lr)

    def first(self) -> list[float]:
        """Return the learning rates of the beginning."""
        return list(self.base_lrs)

    def renew(self, wanted: Any) -> None:
        """Set the learning rates that a function gives."""
        self._get_lr_called_within_step = True
        rates = list(wanted())
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

    def first(self) -> list[float]:
        """Return the learning rates of the beginning."""
        return self.get_lr()

    def state_dict(self) -> dict[str, Any]:
        """Return all that it keeps but the optimizer; of callable objects what they keep, of functions nothing."""
        state = {name: value for name, value in super().state_dict().items() if name != "lr_lambdas"}  # which PyTorch puts last
        return {**state, "lr_lambdas": [None if isinstance(f, FunctionType) else dict(vars(f)) for f in self.lr_lambdas]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from there, with the own functions."""
        super().load_state_dict({name: value for name, value in state_dict.items() if name != "lr_lambdas"})
        for own, kept in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=False):
            vars(own).update(kept or {})

class StepLR(LRScheduler, takes="step_size, gamma=0.1"):
    """The learning rate times ``gamma`` every ``step_size`` epochs."""

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

class ExponentialLR(LRScheduler, takes="gamma"):
    """The learning rate times ``gamma`` every epoch."""

    def get_lr(self) -> list[float]:
        """Return the learning rates as before, times ``gamma``."""
        return self.current() if self._is_initial else [lr * self.gamma for lr in self.current()]

class CosineAnnealingLR(LRScheduler, takes="T_max, eta_min=0.0"):
    """The learning rate down along a cosine to ``eta_min`` in ``T_max`` epochs, and up again."""

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

class MultiplicativeLR(LambdaLR):
    """The learning rate times a function of the epoch, every epoch."""

    def get_lr(self) -> list[float]:
        """Return the learning rates as before, times what the functions say."""
        rates = self.current()
        return rates if self._is_initial else [
            lr * factor(self.last_epoch) for lr, factor in zip(rates, self.lr_lambdas, strict=True)]

class ConstantLR(LRScheduler, takes="factor=1.0 / 3, total_iters=5",
                 refused={"Constant multiplicative factor expected to be between 0 and 1.":
                          lambda factor, **_: not 0 <= factor <= 1}):
    """The learning rate times ``factor`` for ``total_iters`` epochs."""

    def get_lr(self) -> list[float]:
        """Return the learning rates times the factor at first, as they were at the end, else as before."""
        factor = self.factor if self.last_epoch == 0 else 1.0 / self.factor if self.last_epoch == self.total_iters else 1
        return [lr * factor for lr in self.current()]

    def first(self) -> list[float]:
        """Return the learning rates of the beginning."""
        return [base * self.factor for base in self.base_lrs]

class LinearLR(LRScheduler, takes="start_factor=1.0 / 3, end_factor=1.0, total_iters=5", refused={
        "Starting multiplicative factor expected to be greater than 0 and less or equal to 1.":
            lambda start_factor, **_: not 0 < start_factor <= 1,
        "Ending multiplicative factor expected to be between 0 and 1.": lambda end_factor, **_: not 0 <= end_factor <= 1}):
    """The learning rate times a factor that goes from one to another in ``total_iters`` epochs."""

    def get_lr(self) -> list[float]:
        """Return the next point of the line from the last."""
        rates, epoch, rise = self.current(), self.last_epoch, self.end_factor - self.start_factor
        if epoch == 0:
            return [lr * self.start_factor for lr in rates]
        if self._is_initial or epoch > self.total_iters:
            return rates
        return [lr * (1.0 + rise / (self.total_iters * self.start_factor + (epoch - 1) * rise)) for lr in rates]

    def first(self) -> list[float]:
        """Return the learning rates of the beginning."""
        return [base * self.start_factor for base in self.base_lrs]

class PolynomialLR(LRScheduler, takes="total_iters=5, power=1.0"):
    """The learning rate down to zero in ``total_iters`` epochs, along a power."""

    def get_lr(self) -> list[float]:
        """Return the next point of the curve from the last."""
        rates, epoch, total = self.current(), self.last_epoch, self.total_iters
        if self._is_initial or epoch > total:
            return rates
        factor = ((1.0 - epoch / total) / (1.0 - (epoch - 1) / total)) ** self.power
        return [lr * factor for lr in rates]

class CosineAnnealingWarmRestarts(LRScheduler):
    """The learning rate down along a cosine, again and again, each time ``T_mult`` times as long."""

    def __init__(self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        refuse(T_0 <= 0 or not isinstance(T_0, int), f"Expected positive integer T_0, but got {T_0}", ValueError)
        refuse(T_mult < 1 or not isinstance(T_mult, int), f"Expected integer T_mult >= 1, but got {T_mult}", ValueError)
        self.T_0, self.T_i, self.T_mult, self.eta_min = T_0, T_0, T_mult, eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the point of the cosine."""
        self.current()
        rise, least = 1 + math.cos(math.pi * self.T_cur / self.T_i), self.eta_min
        return [least + (base - least) * rise / 2 for base in self.base_lrs]

    first = get_lr

    def step(self, epoch: float | None = None) -> None:
        """Go on by one epoch, or to an epoch or a part of one."""
        if epoch is None and self.last_epoch >= 0:
            epoch, self.T_cur = float(self.last_epoch + 1), self.T_cur + 1
            if self.T_cur >= self.T_i:
                self.T_cur, self.T_i = self.T_cur % self.T_i, self.T_i * self.T_mult
        else:
            epoch = epoch or 0
            refuse(epoch < 0, f"Expected non-negative epoch, but got {epoch}", ValueError)
            past, ratio = epoch >= self.T_0, self.T_mult
            turns = int(math.log(epoch / self.T_0 * (ratio - 1) + 1, ratio)) if past and ratio > 1 else 0
            done = self.T_0 * (ratio**turns - 1) / (ratio - 1) if ratio > 1 else epoch - epoch % self.T_0
            self.T_cur, self.T_i = epoch - done if past else epoch, self.T_0 * ratio**turns
        self.last_epoch = math.floor(epoch)
        self.renew(self.get_lr)

class Cycling(LRScheduler):
    """Base of the schedules that move the momentum against the learning rate."""

    def begin_momentum(self, cycles: bool, least: Any, most: Any, last_epoch: int) -> tuple[list[Any], list[Any]]:
        """Keep the bounds of the momentum in the groups; return them."""
        self.cycle_momentum, defaults = cycles, self.optimizer.defaults
        low, high = self.each("base_momentum", least), self.each("max_momentum", most)
        if cycles:
            refuse(not {"momentum", "betas"} & {*defaults},
                   "optimizer must support momentum or beta1 with `cycle_momentum` option enabled", ValueError)
            self.use_beta1 = "betas" in defaults
            for a, b, group in zip(low, high, self.optimizer.param_groups, strict=True):
                if last_epoch == -1:
                    self.give(group, b)
                    group.update(max_momentum=b, base_momentum=a)
        return low, high

    def each(self, name: str, value: Any) -> list[Any]:
        """Return a value for each group."""
        count = len(self.optimizer.param_groups)
        values = list(value) if isinstance(value, list | tuple) else [value] * count
        refuse(len(values) != count, f"{name} must have the same length as optimizer.param_groups. {name} has {len(values)} "
               f"values, param_groups has {count}.", ValueError)
        return values

    def give(self, group: dict[str, Any], momentum: float) -> None:
        """Set a group's momentum."""
        group.update({"betas": (momentum, *group["betas"][1:])} if self.use_beta1 else {"momentum": momentum})

class OneCycleLR(Cycling):
    """The learning rate up to ``max_lr`` and down again in all steps, one per batch."""

    def __init__(self, optimizer: Optimizer, max_lr: Any, total_steps: int | None = None, epochs: int | None = None,
                 steps_per_epoch: int | None = None, pct_start: float = 0.3, anneal_strategy: str = "cos",
                 cycle_momentum: bool = True, base_momentum: Any = 0.85, max_momentum: Any = 0.95, div_factor: float = 25.0,
                 final_div_factor: float = 1e4, three_phase: bool = False, last_epoch: int = -1) -> None:
        self.optimizer = optimizer
        told = total_steps is not None or (epochs is not None and steps_per_epoch is not None)
        refuse(not told, "You must define either total_steps OR (epochs AND steps_per_epoch)", ValueError)
        total = (epochs or 0) * (steps_per_epoch or 0) if total_steps is None else total_steps
        refuse(total <= 0, f"Expected positive integer total_steps, but got {total}", ValueError)
        refuse(anneal_strategy not in ("cos", "linear"),
               f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}", ValueError)
        self.total_steps, up = total, float(pct_start * total) - 1
        rise = (up, "initial_lr", "max_lr", "max_momentum", "base_momentum")
        falls = ((total - 1, "max_lr", "min_lr", "base_momentum", "max_momentum"),)
        if three_phase:
            falls = ((float(2 * pct_start * total) - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum"),
                     (total - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum"))  # type: ignore[assignment]
        names = "end_step", "start_lr", "end_lr", "start_momentum", "end_momentum"
        self._schedule_phases: list[dict[str, Any]] = [dict(zip(names, phase, strict=True)) for phase in (rise, *falls)]
        self._anneal_func_type = anneal_strategy
        for group, most in zip(optimizer.param_groups, self.each("max_lr", max_lr), strict=True):
            if last_epoch == -1:
                group.update(initial_lr=most / div_factor, max_lr=most, min_lr=most / div_factor / final_div_factor)
        self.begin_momentum(cycle_momentum, base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the point between the two bounds of the phase that this step is in."""
        self.current()
        step, rates = self.last_epoch, []
        refuse(step > self.total_steps,
               f"Tried to step {step} times. The specified number of total steps is {self.total_steps}", ValueError)
        ends = [phase["end_step"] for phase in self._schedule_phases]
        at = next((i for i, end in enumerate(ends) if step <= end), len(ends) - 1)
        begun, phase = ends[at - 1] if at else 0.0, self._schedule_phases[at]
        share = (step - begun) / (ends[at] - begun)
        for group in self.optimizer.param_groups:
            rates.append(self.between(group[phase["start_lr"]], group[phase["end_lr"]], share))
            if self.cycle_momentum:
                self.give(group, self.between(group[phase["start_momentum"]], group[phase["end_momentum"]], share))
        return rates

    def between(self, start: float, end: float, share: float) -> float:
        """Return a point on the way from one number to the other."""
        if self._anneal_func_type == "linear":
            return (end - start) * share + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)

class CyclicLR(Cycling):
    """The learning rate up and down between two bounds, again and again."""

    def __init__(self, optimizer: Optimizer, base_lr: Any, max_lr: Any, step_size_up: int = 2000,
                 step_size_down: int | None = None, mode: str = "triangular", gamma: float = 1.0, scale_fn: Any = None,
                 scale_mode: str = "cycle", cycle_momentum: bool = True, base_momentum: Any = 0.8, max_momentum: Any = 0.9,
                 last_epoch: int = -1) -> None:
        self.optimizer = optimizer
        base, self.max_lrs = self.each("base_lr", base_lr), self.each("max_lr", max_lr)
        for group, lr in zip(optimizer.param_groups, base, strict=True):
            group["lr"] = lr if last_epoch == -1 else group["lr"]
        self.total_size = float(step_size_up) + float(step_size_up if step_size_down is None else step_size_down)
        self.step_ratio, self.mode, self.gamma = step_size_up / self.total_size, mode, gamma
        known = {"triangular": lambda _: 1.0, "triangular2": lambda x: 1 / (2.0 ** (x - 1)), "exp_range": lambda x: gamma**x}
        refuse(mode not in known and scale_fn is None, "mode is invalid and scale_fn is None", ValueError)
        self._scale_fn_custom, self.scale_fn = scale_fn, scale_fn or known[mode]
        self.scale_mode = scale_mode if scale_fn else "iterations" if mode == "exp_range" else "cycle"
        bounds = self.begin_momentum(cycle_momentum, base_momentum, max_momentum, last_epoch)
        if cycle_momentum:
            self.base_momentums, self.max_momentums = bounds
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base

    def get_lr(self) -> list[float]:
        """Return the point of the triangle."""
        self.current()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        for group in self.optimizer.param_groups if self.cycle_momentum else ():
            self.give(group, group["max_momentum"] - (group["max_momentum"] - group["base_momentum"]) * height * scale)
        return [base + (most - base) * height * scale for base, most in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        """Return all that it keeps but the optimizer and functions."""
        state = {name: value for name, value in super().state_dict().items() if name not in ("scale_fn", "_scale_fn_custom")}
        return {**state, "_scale_fn_custom": None}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from there, with the own function."""
        super().load_state_dict({name: value for name, value in state_dict.items() if name != "_scale_fn_custom"})

class ReduceLROnPlateau(LRScheduler):
    """The learning rate times ``factor`` where a measure has not become better for ``patience`` epochs."""

    def __init__(self, optimizer: Optimizer, mode: str = "min", factor: float = 0.1, patience: int = 10,
                 threshold: float = 1e-4, threshold_mode: str = "rel", cooldown: int = 0, min_lr: Any = 0,
                 eps: float = 1e-8) -> None:
        refuse(factor >= 1.0, "Factor should be < 1.0.", ValueError)
        refuse(not hasattr(optimizer, "param_groups"), f"{type(optimizer).__name__} is not an Optimizer", TypeError)
        refuse(mode not in ("min", "max"), f"mode {mode} is unknown!", ValueError)
        refuse(threshold_mode not in ("rel", "abs"), f"threshold mode {threshold_mode} is unknown!", ValueError)
        self.factor, self.optimizer, several = factor, optimizer, isinstance(min_lr, list | tuple)
        self.default_min_lr = None if several else min_lr
        self.min_lrs = list(min_lr) if several else [min_lr] * len(optimizer.param_groups)
        self.patience, self.cooldown, self.eps, self.last_epoch = patience, cooldown, eps, 0
        self._last_lr = [group["lr"] for group in optimizer.param_groups]
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode
        self.best, self.cooldown_counter, self.num_bad_epochs = self.mode_worse, 0, 0

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Go on by one epoch, with what was measured in it."""
        self.last_epoch, current = self.last_epoch + 1 if epoch is None else epoch, float(metrics)
        sign, least = (-1, self.best) if self.mode == "min" else (1, self.best)
        bound = least * (1.0 + sign * self.threshold) if self.threshold_mode == "rel" else least + sign * self.threshold
        if sign * current > sign * bound:
            self.best, self.num_bad_epochs = current, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter, self.num_bad_epochs = self.cooldown_counter - 1, 0
        if self.num_bad_epochs > self.patience:
            for group, low in zip(self.optimizer.param_groups, self.min_lrs, strict=False):
                lr = max(float(group["lr"]) * self.factor, low)
                group["lr"] = lr if group["lr"] - lr > self.eps else group["lr"]
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

class Together(LRScheduler):
    """Base of the schedules that are made of others."""

    def gather(self, schedulers: Any, optimizer: Any) -> None:
        """Keep the schedules. ValueError: they do not fit together."""
        name = type(self).__name__
        for i, one in enumerate(schedulers):
            refuse(isinstance(one, ReduceLROnPlateau), f"{name} does not support `ReduceLROnPlateau` scheduler as it requires "
                   "additional kwargs to be specified when calling `step`, but got one at index "
                   f"{i} in the given schedulers sequence.", ValueError)
            refuse(one.optimizer is not optimizer, f"{name} expects all schedulers to belong to the same optimizer, but got "
                   f"scheduler {type(one).__name__} at index {i} has {one.optimizer}, which is different from "
                   f"{type(optimizer).__name__}.", ValueError)
        self._schedulers, self.optimizer = schedulers, optimizer

    def state_dict(self) -> dict[str, Any]:
        """Return all that it keeps but the optimizer, and the states of its schedules."""
        state = {name: value for name, value in super().state_dict().items() if name != "_schedulers"}
        return {**state, "_schedulers": [one.state_dict() for one in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from there."""
        super().load_state_dict({name: value for name, value in state_dict.items() if name != "_schedulers"})
        for own, kept in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            own.load_state_dict(kept)

class ChainedScheduler(Together):
    """Several schedules at once."""

    def __init__(self, schedulers: Any, optimizer: Any = None) -> None:
        refuse(not schedulers, "ChainedScheduler expects at least one scheduler to be chained, but got no scheduler.",
               ValueError)
        self.gather(schedulers, optimizer or schedulers[0].optimizer)
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def step(self) -> None:
        """Go on by one epoch, with each of them."""
        for one in self._schedulers:
            one.step()
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

class SequentialLR(Together):
    """One schedule after the other, the next from each milestone on."""

    def __init__(self, optimizer: Optimizer, schedulers: Any, milestones: list[int], last_epoch: int = -1) -> None:
        refuse(not schedulers, "SequentialLR expects at least one scheduler, but got no scheduler.", ValueError)
        refuse(len(milestones) != len(schedulers) - 1, "Sequential Schedulers expects number of schedulers provided to be one "
               f"more than the number of milestone points, but got number of schedulers {len(schedulers)} and the number of "
               f"milestones to be equal to {len(milestones)}", ValueError)
        self.gather(schedulers, optimizer)
        self._milestones, self.last_epoch, begun = milestones, last_epoch + 1, [*schedulers]
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"]
        for one in begun:  # each has done its first step, which only the first of them should have
            begun.extend(getattr(one, "_schedulers", ()))
            if not hasattr(one, "_schedulers") and hasattr(one, "last_epoch"):
                one.last_epoch -= 1
        now = schedulers[bisect_right(milestones, 0)]
        now._initial_step()
        self._last_lr = now.get_last_lr()

    def step(self) -> None:
        """Go on by one epoch, with the one whose turn it is."""
        self.last_epoch += 1
        turn = bisect_right(self._milestones, self.last_epoch)
        now = self._schedulers[turn]
        if turn and self._milestones[turn - 1] == self.last_epoch:
            now.last_epoch = 0
            now.renew(now.first)
        else:
            now.step()
        self._last_lr = now.get_last_lr()

__getattr__ = absent("torch.optim.lr_scheduler")
