"""``torch.optim.lr_scheduler``: the learning rate of each epoch."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, SupportsFloat

from gviz.engine.copying import Portable
from gviz.engine.nn.options import method
from gviz.engine.optim import Optimizer
from gviz.numbers.words import absent, refuse, warn

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]


BY_EPOCH = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please "
    "use `scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the "
    "closed form is used instead of the new chainable form, where available. Please open an issue if you are "
    "unable to replicate your use case: https://github.com/pytorch/pytorch/issues/new/choose."
)
"""What PyTorch says of it."""


class LRScheduler(Portable):
    """Base of the schedules: ``step()`` sets each group's learning rate for the next epoch.

    Most say in ``takes`` what they take and keep, and in ``rate`` what a group's learning rate is, from that of the
    last epoch and the one at the beginning; in ``closed`` from the latter alone, for an epoch that ``step`` is given.
    """

    __module__, _importable = "torch.optim.lr_scheduler", "gviz.engine.optim.lr_scheduler"
    _parts_ = ""
    """The name of the schedules, or functions, that it is made of."""
    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def __init_subclass__(
        cls, takes: str = "", rate: Callable[..., Any] | None = None, closed: Callable[..., Any] | None = None
    ) -> None:
        if cls.__module__ == __name__:
            cls.__module__ = LRScheduler.__module__
        cls._rate_ = rate or cls._rate_  # type: ignore[method-assign] # as a method of the class would be
        if closed is not None:
            method(cls, "_get_closed_form_lr", "", "[closed(self, base) for base in self.base_lrs]", closed=closed)
        if takes:
            method(cls, "__init__", f"optimizer, {takes}, last_epoch=-1", "self._begin_(locals())")

    def _begin_(self, arguments: dict[str, Any]) -> None:
        """Keep the options, and begin."""
        vars(self).update(
            {name: value for name, value in arguments.items() if name not in ("self", "optimizer", "last_epoch")}
        )
        LRScheduler.__init__(self, arguments["optimizer"], arguments["last_epoch"])

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        refuse(not hasattr(optimizer, "param_groups"), f"{type(optimizer).__name__} is not an Optimizer", TypeError)
        self.optimizer = optimizer
        vars(optimizer).setdefault("_opt_called", False)
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"])
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with "
                    "last_epoch >= 0."
                )
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count, self._is_initial = 0, True
        self.step()
        self._is_initial = False

    def _rate_(self, lr: float, base: float) -> float:
        """Return a group's learning rate in this epoch; to be written."""
        raise NotImplementedError

    def get_lr(self) -> list[float]:
        """Return the learning rates of this epoch; meant for ``step``."""
        if not self._get_lr_called_within_step:
            warn("To get the last learning rate computed by the scheduler, please use `get_last_lr()`.")
        return [self._rate_(lr, base) for lr, base in zip(self._rates_(), self.base_lrs, strict=True)]

    def get_last_lr(self) -> list[float]:
        """Return the learning rates that were set last."""
        return self._last_lr

    def step(self, epoch: int | None = None) -> None:
        """Go on by one epoch, or to one."""
        if self._step_count == 1 and not self.optimizer._opt_called:
            warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you "
                "should call them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure "
                "to do this will result in PyTorch skipping the first value of the learning rate schedule. See more "
                "details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
            )
        if epoch is not None:
            warn(BY_EPOCH)
        self._step_count += 1
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        self._renew_(self.get_lr if epoch is None else getattr(self, "_get_closed_form_lr", self.get_lr))

    def _rates_(self) -> list[float]:
        return [group["lr"] for group in self.optimizer.param_groups]

    def _restart_(self) -> None:
        """Begin at epoch 0 again, as at first."""
        for group, base in zip(self.optimizer.param_groups, self.base_lrs, strict=True):
            group["lr"] = base
        self.last_epoch, self._is_initial = 0, True
        self._renew_(self.get_lr)
        self._is_initial = False

    def _renew_(self, rates_now: Callable[[], Iterable[float]]) -> None:
        """Set the learning rates of this epoch."""
        self._get_lr_called_within_step = True
        self._last_lr = list(rates_now())
        self._get_lr_called_within_step = False
        for group, lr in zip(self.optimizer.param_groups, self._last_lr, strict=True):
            group["lr"] = lr

    def state_dict(self) -> dict[str, Any]:
        """Return all that it keeps but the optimizer.

        Its parts (last, as in PyTorch) by their states: functions have none.
        """
        state = {name: value for name, value in vars(self).items() if name not in ("optimizer", self._parts_)}
        return state | ({self._parts_: [state_of(one) for one in getattr(self, self._parts_)]} if self._parts_ else {})

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what ``state_dict`` returned; the parts stay the same objects and take over theirs."""
        vars(self).update({name: value for name, value in state_dict.items() if name != self._parts_})
        for own, entry in zip(getattr(self, self._parts_, ()), state_dict.get(self._parts_, ()), strict=False):
            (own.load_state_dict if isinstance(own, LRScheduler) else vars(own).update)(entry or {})


_LRScheduler = LRScheduler  # its old name, from which many programs derive their own


def state_of(part: object) -> Any:
    """Return what a schedule, or a callable object, keeps; a function keeps nothing."""
    return (
        part.state_dict()
        if isinstance(part, LRScheduler)
        else None
        if isinstance(part, FunctionType)
        else dict(vars(part))
    )


class LambdaLR(LRScheduler):
    """The initial learning rate times a function of the epoch."""

    _parts_ = "lr_lambdas"

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | list[Callable[[int], float]],
        last_epoch: int = -1,
    ) -> None:
        count = len(optimizer.param_groups)
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, list | tuple) else [lr_lambda] * count
        refuse(
            len(self.lr_lambdas) != count, f"Expected {count} lr_lambdas, but got {len(self.lr_lambdas)}", ValueError
        )
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return what the functions say."""
        return [base * factor(self.last_epoch) for base, factor in zip(self.base_lrs, self.lr_lambdas, strict=True)]


class MultiplicativeLR(LambdaLR):
    """The learning rate times a function of the epoch, every epoch."""

    def get_lr(self) -> list[float]:
        """Return the learning rates before, each times what its function says."""
        return [
            lr if self._is_initial else lr * factor(self.last_epoch)
            for lr, factor in zip(self._rates_(), self.lr_lambdas, strict=True)
        ]


class StepLR(
    LRScheduler,
    takes="step_size, gamma=0.1",
    rate=lambda self, lr, base: lr if self.last_epoch == 0 or self.last_epoch % self.step_size else lr * self.gamma,
    closed=lambda self, base: base * self.gamma ** (self.last_epoch // self.step_size),
):
    """The learning rate times ``gamma`` every ``step_size`` epochs."""


class MultiStepLR(
    LRScheduler,
    takes="milestones, gamma=0.1",
    rate=lambda self, lr, base: lr * self.gamma ** self.milestones[self.last_epoch],
    closed=lambda self, base: (
        base * self.gamma ** sum(count for at, count in self.milestones.items() if at <= self.last_epoch)
    ),
):
    """The learning rate times ``gamma`` at each milestone."""

    def _begin_(self, arguments: dict[str, Any]) -> None:
        super()._begin_({**arguments, "milestones": Counter(arguments["milestones"])})


class ExponentialLR(
    LRScheduler,
    takes="gamma",
    rate=lambda self, lr, base: lr if self._is_initial else lr * self.gamma,
    closed=lambda self, base: base * self.gamma**self.last_epoch,
):
    """The learning rate times ``gamma`` every epoch."""


class CosineAnnealingLR(
    LRScheduler,
    takes="T_max, eta_min=0.0",
    closed=lambda self, base: (
        self.eta_min + (base - self.eta_min) * (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
    ),
):
    """The learning rate down along a cosine to ``eta_min`` in ``T_max`` epochs, and up again."""

    def _rate_(self, lr: float, base: float) -> float:
        """Return the next point of the cosine from the last, so that what else changes the learning rate stays."""
        epoch, least = self.last_epoch, self.eta_min
        if self._is_initial:
            return lr
        if (epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # the last point was the least, which no factor leaves
            return lr + (base - least) * (1 - math.cos(math.pi / self.T_max)) / 2
        factor = (1 + math.cos(math.pi * epoch / self.T_max)) / (1 + math.cos(math.pi * (epoch - 1) / self.T_max))
        return factor * (lr - least) + least


class ConstantLR(
    LRScheduler,
    takes="factor=1.0 / 3, total_iters=5",
    rate=lambda self, lr, base: (
        lr * (self.factor if self.last_epoch == 0 else 1.0 / self.factor if self.last_epoch == self.total_iters else 1)
    ),
    closed=lambda self, base: base * (self.factor + (self.last_epoch >= self.total_iters) * (1 - self.factor)),
):
    """The learning rate times ``factor`` for ``total_iters`` epochs."""


class PolynomialLR(
    LRScheduler,
    takes="total_iters=5, power=1.0",
    rate=lambda self, lr, base: (
        lr * ((1 - self.last_epoch / self.total_iters) / (1 - (self.last_epoch - 1) / self.total_iters)) ** self.power
        if 0 < self.last_epoch <= self.total_iters and not self._is_initial
        else lr
    ),
    closed=lambda self, base: base * (1.0 - min(self.total_iters, self.last_epoch) / self.total_iters) ** self.power,
):
    """The learning rate times a power of the share of ``total_iters`` epochs that is left."""


class LinearLR(
    LRScheduler,
    takes="start_factor=1.0 / 3, end_factor=1.0, total_iters=5",
    closed=lambda self, base: (
        base
        * (
            self.start_factor
            + (self.end_factor - self.start_factor) * min(self.total_iters, self.last_epoch) / self.total_iters
        )
    ),
):
    """The learning rate times a factor that goes from one to another in ``total_iters`` epochs."""

    def _rate_(self, lr: float, base: float) -> float:
        """Return the next point of the line from the last."""
        epoch, rise = self.last_epoch, self.end_factor - self.start_factor
        if epoch == 0:
            return lr * self.start_factor
        if self._is_initial or epoch > self.total_iters:
            return lr
        return lr * (1.0 + rise / (self.total_iters * self.start_factor + (epoch - 1) * rise))


class CosineAnnealingWarmRestarts(
    LRScheduler,
    takes="T_0, T_mult=1, eta_min=0.0",
    rate=lambda self, lr, base: (
        self.eta_min + (base - self.eta_min) * (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
    ),
):
    """The learning rate down along a cosine, again and again, each time ``T_mult`` times as long."""

    def _begin_(self, arguments: dict[str, Any]) -> None:
        refuse(arguments["T_0"] <= 0, f"Expected positive integer T_0, but got {arguments['T_0']}", ValueError)
        super()._begin_(arguments)

    def step(self, epoch: float | None = None) -> None:
        """Go on by one epoch, or to an epoch or a part of one."""
        epoch = self.last_epoch + 1 if epoch is None else epoch
        self.T_cur, self.T_i = epoch, self.T_0
        while self.T_cur >= self.T_i:
            self.T_cur, self.T_i = self.T_cur - self.T_i, self.T_i * self.T_mult
        self.last_epoch = math.floor(epoch)
        self._renew_(self.get_lr)


class OneCycleLR(
    LRScheduler,
    takes="max_lr, total_steps=None, epochs=None, steps_per_epoch=None, pct_start=0.3, "
    "anneal_strategy='cos', cycle_momentum=True, base_momentum=0.85, max_momentum=0.95, div_factor=25.0, "
    "final_div_factor=1e4, three_phase=False",
):
    """The learning rate up to ``max_lr`` and down again in all steps, one per batch, and the momentum down and up."""

    def _begin_(self, arguments: dict[str, Any]) -> None:
        optimizer, most, total = arguments["optimizer"], arguments["max_lr"], arguments["total_steps"]
        if total is None:
            refuse(
                None in (arguments["epochs"], arguments["steps_per_epoch"]),
                "You must define either total_steps OR (epochs AND steps_per_epoch)",
                ValueError,
            )
            total = arguments["epochs"] * arguments["steps_per_epoch"]
        refuse(total <= 0, f"Expected positive integer total_steps, but got {total}", ValueError)
        refuse(
            not 0 <= arguments["pct_start"] <= 1,
            f"Expected float between 0 and 1 pct_start, but got {arguments['pct_start']}",
            ValueError,
        )
        refuse(
            arguments["anneal_strategy"] not in ("cos", "linear"),
            f"anneal_strategy must be one of 'cos' or 'linear', instead got {arguments['anneal_strategy']}",
            ValueError,
        )
        ways, up = (
            [("initial_lr", "max_lr", "max_momentum", "base_momentum")],
            float(arguments["pct_start"] * total) - 1,
        )
        ends: list[float] = [up, total - 1]
        if arguments["three_phase"]:
            ends.insert(1, 2 * up)
            ways += [
                ("max_lr", "initial_lr", "base_momentum", "max_momentum"),
                ("initial_lr", "min_lr", "max_momentum", "max_momentum"),
            ]
        else:
            ways.append(("max_lr", "min_lr", "base_momentum", "max_momentum"))
        keys = "start_lr", "end_lr", "start_momentum", "end_momentum"
        self.total_steps = total
        self._schedule_phases: Any = [
            {"end_step": end, **dict(zip(keys, way, strict=True))} for end, way in zip(ends, ways, strict=True)
        ]
        self._anneal_func_type, self.cycle_momentum = arguments["anneal_strategy"], arguments["cycle_momentum"]
        if self.cycle_momentum:
            self.use_beta1 = has_beta1(optimizer)
        for i, group in enumerate(optimizer.param_groups if arguments["last_epoch"] == -1 else []):
            peak = most[i] if isinstance(most, list | tuple) else most
            least = peak / arguments["div_factor"]
            group.update(initial_lr=least, max_lr=peak, min_lr=least / arguments["final_div_factor"])
            if arguments["cycle_momentum"]:
                group.update(max_momentum=arguments["max_momentum"], base_momentum=arguments["base_momentum"])
        super()._begin_({name: arguments[name] for name in ("optimizer", "last_epoch")})

    def get_lr(self) -> list[float]:
        """Return the point on the way up, or down; the momentum is set, too."""
        step, start, phases = self.last_epoch, 0.0, list(self._schedule_phases)
        refuse(
            step > self.total_steps,
            f"Tried to step {step} times. The specified number of total steps is {self.total_steps}",
            ValueError,
        )
        while len(phases) > 1 and step > phases[0]["end_step"]:
            start = phases.pop(0)["end_step"]
        share, rates = (step - start) / (phases[0]["end_step"] - start), []
        for group in self.optimizer.param_groups:
            rates.append(self._between_(group, phases[0], "lr", share))
            if self.cycle_momentum:
                group.update(momentum_option(group, self._between_(group, phases[0], "momentum", share)))
        return rates

    def _between_(self, group: dict[str, Any], phase: dict[str, Any], what: str, share: float) -> float:
        """Return a point on the way from one number of the group's to another."""
        start, end = group[phase[f"start_{what}"]], group[phase[f"end_{what}"]]
        linear, cosine = (end - start) * share + start, end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)
        return linear if self._anneal_func_type == "linear" else cosine


class CyclicLR(LRScheduler):
    """The learning rate from ``base_lr`` up to ``max_lr`` and down again, in cycles, and the momentum down and up.

    Source: L. N. Smith, Cyclical Learning Rates for Training Neural Networks, https://arxiv.org/abs/1506.01186
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.8,
        max_momentum: float | list[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        refuse(not isinstance(optimizer, Optimizer), f"{type(optimizer).__name__} is not an Optimizer", TypeError)
        groups = optimizer.param_groups if last_epoch == -1 else []
        base_lrs = per_group("base_lr", optimizer, base_lr)
        for group, lr in zip(groups, base_lrs, strict=False):
            group["lr"] = lr
        self.max_lrs, self.mode, self.gamma = per_group("max_lr", optimizer, max_lr), mode, gamma
        self.total_size = float(step_size_up) + float(step_size_up if step_size_down is None else step_size_down)
        self.step_ratio = float(step_size_up) / self.total_size
        refuse(
            mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None,
            "mode is invalid and scale_fn is None",
            ValueError,
        )
        self._scale_fn_custom = scale_fn
        usual = "iterations" if mode == "exp_range" else "cycle"
        self.scale_mode, self.cycle_momentum = usual if scale_fn is None else scale_mode, cycle_momentum
        if cycle_momentum:
            self.use_beta1 = has_beta1(optimizer)
            self.base_momentums = per_group("base_momentum", optimizer, base_momentum)
            self.max_momentums = per_group("max_momentum", optimizer, max_momentum)
            for group, most, least in zip(groups, self.max_momentums, self.base_momentums, strict=False):
                group.update(momentum_option(group, most), max_momentum=most, base_momentum=least)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """Return the height of a cycle, beside that of the first, from its number or that of the step."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        return {"triangular": 1.0, "triangular2": 1 / 2.0 ** (x - 1), "exp_range": self.gamma**x}[self.mode]

    def get_lr(self) -> list[float]:
        """Return the point on the way up, or down; the momentum is set, too."""
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        share = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        height = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            bounds = zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True)
            for group, least, most in bounds:
                group.update(momentum_option(group, most - (most - least) * share * height))
        return [base + (most - base) * share * height for base, most in zip(self.base_lrs, self.max_lrs, strict=True)]


def per_group(name: str, optimizer: Optimizer, value: float | Sequence[float]) -> list[float]:
    """Return a value for each group of parameters. ValueError: a list of another length."""
    count = len(optimizer.param_groups)
    if not isinstance(value, Sequence):
        return [value] * count
    refuse(
        len(value) != count,
        f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, param_groups has "
        f"{count}.",
        ValueError,
    )
    return list(value)


def has_beta1(optimizer: Optimizer) -> bool:
    """Return whether the momentum of an optimizer is the first of its betas. ValueError: it has none."""
    refuse(
        not {"momentum", "betas"} & {*optimizer.defaults},
        "optimizer must support momentum or beta1 with `cycle_momentum` option enabled",
        ValueError,
    )
    return "betas" in optimizer.defaults


def momentum_option(group: dict[str, Any], momentum: float) -> dict[str, Any]:
    """Return a group's option for this momentum: Adam and its kin have it as the first of their betas."""
    return {"betas": (momentum, *group["betas"][1:])} if "betas" in group else {"momentum": momentum}


class ReduceLROnPlateau(LRScheduler):
    """The learning rate times ``factor`` where a measure has not become better for ``patience`` epochs."""

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float = 0,
        eps: float = 1e-8,
    ) -> None:
        refuse(factor >= 1.0, "Factor should be < 1.0.", ValueError)
        refuse(mode not in ("min", "max"), f"mode {mode} is unknown!", ValueError)
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.threshold_mode, self.cooldown = threshold, threshold_mode, cooldown
        self.min_lr, self.eps, self.last_epoch, self.best = min_lr, eps, 0, math.inf if mode == "min" else -math.inf
        self.cooldown_counter = self.num_bad_epochs = 0
        self._last_lr = self._rates_()

    def step(self, metrics: SupportsFloat) -> None:  # type: ignore[override]
        """Go on by one epoch, with what was measured in it."""
        current, sign = float(metrics), -1 if self.mode == "min" else 1
        step = sign * self.threshold
        bound = self.best * (1 + step) if self.threshold_mode == "rel" else self.best + step
        self.last_epoch, self.num_bad_epochs = self.last_epoch + 1, self.num_bad_epochs + 1
        if sign * current > sign * bound:
            self.best, self.num_bad_epochs = current, 0
        if self.cooldown_counter > 0:
            self.cooldown_counter, self.num_bad_epochs = self.cooldown_counter - 1, 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr(self.last_epoch)
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = self._rates_()

    def _reduce_lr(self, epoch: int) -> None:
        for group in self.optimizer.param_groups:
            lr = max(float(group["lr"]) * self.factor, self.min_lr)
            group["lr"] = lr if group["lr"] - lr > self.eps else group["lr"]


class SequentialLR(LRScheduler):
    """One schedule after the other, the next from each milestone on."""

    _parts_ = "_schedulers"

    def __init__(
        self, optimizer: Optimizer, schedulers: Sequence[LRScheduler], milestones: list[int], last_epoch: int = -1
    ) -> None:
        refuse(
            len(milestones) != len(schedulers) - 1,
            "Sequential Schedulers expects number of schedulers provided to be one "
            f"more than the number of milestone points, but got number of schedulers {len(schedulers)} and the "
            f"number of milestones to be equal to {len(milestones)}",
            ValueError,
        )
        self._schedulers, self._milestones = schedulers, milestones
        self.optimizer, self.last_epoch = optimizer, last_epoch + 1
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"]
        for one in schedulers:  # each has done its first step, which only the first of them should have
            one.last_epoch -= 1
        schedulers[0]._initial_step()
        self._last_lr = schedulers[0].get_last_lr()

    def step(self) -> None:  # type: ignore[override]
        """Go on by one epoch, with the one whose turn it is."""
        self.last_epoch += 1
        now = self._schedulers[bisect_right(self._milestones, self.last_epoch)]
        (now._restart_ if self.last_epoch in self._milestones else now.step)()
        self._last_lr = now.get_last_lr()


class ChainedScheduler(LRScheduler):
    """Several schedules at once, each from the learning rate that the one before it set."""

    _parts_ = "_schedulers"

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        refuse(
            len(schedulers) < 1,
            "ChainedScheduler expects at least one scheduler to be chained, but got no scheduler.",
            ValueError,
        )
        self._schedulers, self.optimizer = schedulers, optimizer or schedulers[0].optimizer
        self._last_lr = self._rates_()

    def step(self) -> None:  # type: ignore[override]
        """Go on by one epoch with all of them."""
        for one in self._schedulers:
            one.step()
        self._last_lr = self._rates_()


__getattr__ = absent("torch.optim.lr_scheduler")
