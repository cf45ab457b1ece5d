"""``torch.optim.lr_scheduler``: the learning rate of each epoch."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar, SupportsFloat

from gviz.autograd.tensor import Tensor
from gviz.engine.copying import Portable
from gviz.engine.nn.options import method, refuse_options
from gviz.engine.optim import Optimizer
from gviz.numbers.words import absent, refuse, refuse_any, warn

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


LATE = """param 'initial_lr' is not specified in param_groups[{}] when resuming scheduler with last_epoch >= 0.
This typically happens when:
1. You're trying to resume training from a checkpoint but haven't properly loaded the optimizer state
2. You're using last_epoch >= 0 for a fresh training run (not recommended)"""


class LRScheduler(Portable):
    """Base of the schedules: ``step()`` sets each group's learning rate for the next epoch.

    Most say in ``takes`` what they take and keep, in ``refused`` what they refuse, and in ``rate`` what a group's
    learning rate is, from that of the last epoch and the one at the beginning; in ``closed`` from the latter alone, for
    an epoch that ``step`` is given.
    """

    __module__, _importable = "torch.optim.lr_scheduler", "gviz.engine.optim.lr_scheduler"
    _get_lr_called_within_step = _is_initial = False
    _parts_ = ""
    """The name of the schedules, or functions, that it is made of."""
    _refused_: ClassVar[dict[str, Any]] = {}
    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def __init_subclass__(
        cls,
        takes: str = "",
        refused: dict[str, Any] | None = None,
        rate: Callable[..., Any] | None = None,
        closed: Callable[..., Any] | None = None,
    ) -> None:
        if cls.__module__ == __name__:
            cls.__module__ = LRScheduler.__module__
        if rate is not None:
            method(cls, "get_lr", "", "self._rates_(rate)", rate=rate)
        if closed is not None:
            method(cls, "_get_closed_form_lr", "", "[closed(self, base) for base in self.base_lrs]", closed=closed)
        if takes:
            cls._refused_ = refused or {}
            method(cls, "__init__", f"optimizer, {takes}, last_epoch=-1", "self._begin_(locals())")

    def _begin_(self, arguments: dict[str, Any]) -> None:
        """Keep the options, and begin."""
        refuse_options(self._refused_, arguments)
        vars(self).update(
            {name: value for name, value in arguments.items() if name not in ("self", "optimizer", "last_epoch")}
        )
        LRScheduler.__init__(self, arguments["optimizer"], arguments["last_epoch"])

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        self.optimizer = an_optimizer(optimizer)
        vars(optimizer).setdefault("_opt_called", False)
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(LATE.format(i))
        self.base_lrs = of_groups(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count, self._is_initial = 0, True
        self.step()
        self._is_initial = False

    def get_lr(self) -> list[Any]:
        """Return the learning rates of this epoch; to be written, and meant for ``step``."""
        raise NotImplementedError

    def _rates_(self, rate: Callable[..., Any]) -> list[Any]:
        """Return what a function makes of each group's learning rate, and of the one at the beginning."""
        if not self._get_lr_called_within_step:
            warn("To get the last learning rate computed by the scheduler, please use `get_last_lr()`.")
        return [rate(self, *both) for both in zip_longest(of_groups(self.optimizer, "lr"), self.base_lrs)]

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
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        """Set the learning rates of the next epoch, or of one."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        self._write_(self.get_lr if epoch is None else getattr(self, "_get_closed_form_lr", self.get_lr))

    def _write_(self, rates: Callable[[], Iterable[Any]]) -> None:
        """Set the learning rates."""
        self._get_lr_called_within_step = True
        for group, lr in zip(self.optimizer.param_groups, rates(), strict=True):
            write(group, "lr", lr)
        self._get_lr_called_within_step = False
        self._last_lr = of_groups(self.optimizer, "lr")

    def state_dict(self) -> dict[str, Any]:
        """Return all that it keeps but the optimizer.

        Its parts (last, as in PyTorch) by their states: functions have none.
        """
        state = {name: value for name, value in vars(self).items() if name not in ("optimizer", self._parts_)}
        return state | ({self._parts_: state_of(getattr(self, self._parts_))} if self._parts_ else {})

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what ``state_dict`` returned; the parts stay the same objects and take over theirs."""
        state = dict(state_dict)
        parts, states = (getattr(self, self._parts_), state.pop(self._parts_)) if self._parts_ else ([], [])
        vars(self).update(state)
        for own, entry in zip(parts, states, strict=False) if isinstance(states, list) else [(parts, states)]:
            if entry is not None:
                (own.load_state_dict if isinstance(own, LRScheduler) else vars(own).update)(entry)


class _LRScheduler(LRScheduler):
    """Its old name, from which many programs derive their own."""


def an_optimizer(value: Any) -> Optimizer:
    """Return an optimizer. TypeError: it is none."""
    refuse(not isinstance(value, Optimizer), f"{type(value).__name__} is not an Optimizer", TypeError)
    return value


def copied(value: object) -> Any:
    """Return a number, or a tensor of its own: a learning rate may be either."""
    return value.clone() if isinstance(value, Tensor) else value


def of_groups(optimizer: Optimizer, key: str) -> list[Any]:
    """Return an option of each group."""
    return [copied(group[key]) for group in optimizer.param_groups]


def write(group: dict[str, Any], key: str, value: object) -> None:
    """Set an option of a group: in the memory of the tensor that it is."""
    if isinstance(group[key], Tensor):
        group[key].fill_(value)
    else:
        group[key] = value


def state_of(part: object) -> Any:
    """Return what a schedule, or a callable object, keeps, or each of several; a function keeps nothing."""
    if isinstance(part, LRScheduler):
        return part.state_dict()
    if isinstance(part, list | tuple):
        return list(map(state_of, part))
    return None if part is None or isinstance(part, FunctionType) else dict(vars(part))


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
        for one in self.lr_lambdas:
            refuse(not callable(one), f"lr_lambda should be a function, but got {type(one).__name__}", TypeError)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """Return what the functions say."""
        return [base * factor(self.last_epoch) for base, factor in zip(self.base_lrs, self.lr_lambdas, strict=True)]


class MultiplicativeLR(LambdaLR):
    """The learning rate times a function of the epoch, every epoch."""

    def get_lr(self) -> list[float]:
        """Return the learning rates before, each times what its function says."""
        return [
            lr if self._is_initial else lr * factor(self.last_epoch)
            for lr, factor in zip(of_groups(self.optimizer, "lr"), self.lr_lambdas, strict=True)
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


def next_of_cosine(self: LRScheduler, lr: float, base: float) -> Any:
    """Return the next point of a cosine from the last, so that what else changes the learning rate stays."""
    epoch, least = self.last_epoch, self.eta_min
    if self._is_initial:
        return lr
    if (epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # the last point was the least, which no factor leaves
        return lr + (base - least) * (1 - math.cos(math.pi / self.T_max)) / 2
    factor = (1 + math.cos(math.pi * epoch / self.T_max)) / (1 + math.cos(math.pi * (epoch - 1) / self.T_max))
    return factor * (lr - least) + least


class CosineAnnealingLR(
    LRScheduler,
    takes="T_max, eta_min=0.0",
    rate=next_of_cosine,
    closed=lambda self, base: (
        self.eta_min + (base - self.eta_min) * (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
    ),
):
    """The learning rate down along a cosine to ``eta_min`` in ``T_max`` epochs, and up again."""


class ConstantLR(
    LRScheduler,
    takes="factor=1.0 / 3, total_iters=5",
    refused={
        "Constant multiplicative factor expected to be between 0 and 1.": lambda factor, **_: factor > 1 or factor < 0
    },
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


def next_of_line(self: LRScheduler, lr: float, base: float) -> Any:
    """Return the next point of a line from the last."""
    epoch, rise = self.last_epoch, self.end_factor - self.start_factor
    if epoch == 0:
        return lr * self.start_factor
    if self._is_initial or epoch > self.total_iters:
        return lr
    return lr * (1.0 + rise / (self.total_iters * self.start_factor + (epoch - 1) * rise))


class LinearLR(
    LRScheduler,
    rate=next_of_line,
    takes="start_factor=1.0 / 3, end_factor=1.0, total_iters=5",
    refused={
        "Starting multiplicative factor expected to be greater than 0 and less or equal to 1.": (
            lambda start_factor, **_: start_factor > 1 or start_factor <= 0
        ),
        "Ending multiplicative factor expected to be between 0 and 1.": (
            lambda end_factor, **_: end_factor > 1 or end_factor < 0
        ),
    },
    closed=lambda self, base: (
        base
        * (
            self.start_factor
            + (self.end_factor - self.start_factor) * min(self.total_iters, self.last_epoch) / self.total_iters
        )
    ),
):
    """The learning rate times a factor that goes from one to another in ``total_iters`` epochs."""


class CosineAnnealingWarmRestarts(
    LRScheduler,
    takes="T_0, T_mult=1, eta_min=0.0",
    refused={
        "Expected positive integer T_0, but got {T_0}": lambda T_0, **_: T_0 <= 0 or not isinstance(T_0, int),
        "Expected integer T_mult >= 1, but got {T_mult}": lambda T_mult, **_: T_mult < 1 or not isinstance(T_mult, int),
        "Expected float or int eta_min, but got {eta_min} of type {eta_min.__class__}": (
            lambda eta_min, **_: not isinstance(eta_min, float | int)
        ),
    },
    rate=lambda self, lr, base: (
        self.eta_min + (base - self.eta_min) * (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
    ),
):
    """The learning rate down along a cosine, again and again, each time ``T_mult`` times as long."""

    T_cur: float
    T_i: int

    def _begin_(self, arguments: dict[str, Any]) -> None:
        super()._begin_(
            {"T_0": arguments["T_0"], "T_i": arguments["T_0"], **arguments, "T_cur": arguments["last_epoch"]}
        )

    def step(self, epoch: float | None = None) -> None:
        """Go on by one epoch, or to an epoch or a part of one."""
        if epoch is None and self.last_epoch >= 0:
            epoch, self.T_cur = self.last_epoch + 1, self.T_cur + 1
            if self.T_cur >= self.T_i:
                self.T_cur, self.T_i = self.T_cur % self.T_i, self.T_i * self.T_mult
        else:
            epoch, first, factor = epoch or 0, self.T_0, self.T_mult
            refuse(epoch < 0, f"Expected non-negative epoch, but got {epoch}", ValueError)
            turns = int(math.log(epoch / first * (factor - 1) + 1, factor)) if epoch >= first and factor > 1 else 0
            self.T_cur = epoch - first * (factor**turns - 1) / (factor - 1) if turns else epoch % first
            self.T_i = first * factor**turns
        self.last_epoch = math.floor(epoch)
        self._write_(self.get_lr)


class Turning(LRScheduler):
    """Base of the schedules that change the momentum, too: it goes down where the learning rate goes up."""

    def _begin_momentum_(self, least: object, most: object, last_epoch: int) -> Any:
        """Return the least and the largest momentum of each group, which begins with the latter.

        ValueError: the optimizer has none.
        """
        groups = self.optimizer.param_groups
        refuse(
            not {"momentum", "betas"} & {*self.optimizer.defaults},
            "optimizer must support momentum or beta1 with `cycle_momentum` option enabled",
            ValueError,
        )
        self.use_beta1 = "betas" in self.optimizer.defaults
        bounds = [
            per_group(f"{name}_momentum", self.optimizer, value) for name, value in (("base", least), ("max", most))
        ]
        for group, low, high in zip(groups, *bounds, strict=True) if last_epoch == -1 else ():
            group.update(max_momentum=high, base_momentum=low)
            self._set_momentum_(group, high)
        return bounds

    def _set_momentum_(self, group: dict[str, Any], momentum: float) -> None:
        """Set a group's momentum: Adam and its kin have it as the first of their betas."""
        group.update({"betas": (momentum, *group["betas"][1:])} if self.use_beta1 else {"momentum": momentum})


class OneCycleLR(
    Turning,
    takes="max_lr, total_steps=None, epochs=None, steps_per_epoch=None, pct_start=0.3, "
    "anneal_strategy='cos', cycle_momentum=True, base_momentum=0.85, max_momentum=0.95, div_factor=25.0, "
    "final_div_factor=1e4, three_phase=False",
    refused={
        "Expected float between 0 and 1 pct_start, but got {pct_start}": (
            lambda pct_start, **_: not isinstance(pct_start, float) or not 0 <= pct_start <= 1
        ),
        "anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}": (
            lambda anneal_strategy, **_: anneal_strategy not in ("cos", "linear")
        ),
    },
):
    """The learning rate up to ``max_lr`` and down again in all steps, one per batch, and the momentum down and up."""

    def _begin_(self, arguments: dict[str, Any]) -> None:
        self.optimizer, last_epoch = an_optimizer(arguments["optimizer"]), arguments["last_epoch"]
        names = ["epochs", "steps_per_epoch"] if arguments["total_steps"] is None else ["total_steps"]
        counts = [arguments[name] for name in names]
        refuse(None in counts, "You must define either total_steps OR (epochs AND steps_per_epoch)", ValueError)
        for name, count in zip(names, counts, strict=True):
            refuse(
                not isinstance(count, int) or count <= 0,
                f"Expected positive integer {name}, but got {count}",
                ValueError,
            )
        refuse_options(self._refused_, arguments)
        self.total_steps = math.prod(counts)
        self._schedule_phases = phases(self.total_steps, arguments["pct_start"], arguments["three_phase"])
        self._anneal_func_type, self.cycle_momentum = arguments["anneal_strategy"], arguments["cycle_momentum"]
        peaks = per_group("max_lr", self.optimizer, arguments["max_lr"])
        for group, peak in zip(self.optimizer.param_groups, peaks, strict=True) if last_epoch == -1 else ():
            least = peak / arguments["div_factor"]
            group.update(initial_lr=least, max_lr=peak, min_lr=least / arguments["final_div_factor"])
        if self.cycle_momentum:
            self._begin_momentum_(arguments["base_momentum"], arguments["max_momentum"], last_epoch)
        LRScheduler.__init__(self, self.optimizer, last_epoch)

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
                self._set_momentum_(group, self._between_(group, phases[0], "momentum", share))
        return rates

    def _between_(self, group: dict[str, Any], phase: dict[str, Any], what: str, share: float) -> float:
        """Return a point on the way from one number of the group's to another."""
        start, end = group[phase[f"start_{what}"]], group[phase[f"end_{what}"]]
        linear, cosine = (end - start) * share + start, end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)
        return linear if self._anneal_func_type == "linear" else cosine


def phases(total: int, start: float, three: bool) -> list[dict[str, Any]]:
    """Return the ways of one cycle in so many steps, the first of which is this share of it: where each ends."""
    up = float(start * total) - 1
    ways = [
        (up, "initial_lr", "max_lr", "max_momentum", "base_momentum"),
        (2 * up, "max_lr", "initial_lr", "base_momentum", "max_momentum"),
        (total - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum"),
    ]
    keys = "end_step", "start_lr", "end_lr", "start_momentum", "end_momentum"
    two = [ways[0], (total - 1, "max_lr", "min_lr", "base_momentum", "max_momentum")]
    return [dict(zip(keys, way, strict=True)) for way in (ways if three else two)]


class CyclicLR(Turning):
    """The learning rate from ``base_lr`` up to ``max_lr`` and down again, in cycles, and the momentum down and up.

    Source: L. N. Smith, Cyclical Learning Rates for Training Neural Networks, https://arxiv.org/abs/1506.01186
    """

    _parts_ = "_scale_fn_custom"

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
        self.optimizer = an_optimizer(optimizer)
        base_lrs = per_group("base_lr", optimizer, base_lr)
        for group, lr in zip(optimizer.param_groups, base_lrs, strict=True) if last_epoch == -1 else ():
            write(group, "lr", lr)
        self.max_lrs = per_group("max_lr", optimizer, max_lr)
        self.total_size = float(step_size_up) + float(step_size_up if step_size_down is None else step_size_down)
        self.step_ratio = float(step_size_up) / self.total_size
        refuse(
            mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None,
            "mode is invalid and scale_fn is None",
            ValueError,
        )
        self.mode, self.gamma, self._scale_fn_custom = mode, gamma, scale_fn
        usual = "iterations" if mode == "exp_range" else "cycle"
        self.scale_mode, self.cycle_momentum = usual if scale_fn is None else scale_mode, cycle_momentum
        if cycle_momentum:
            self.base_momentums, self.max_momentums = self._begin_momentum_(base_momentum, max_momentum, last_epoch)
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
                self._set_momentum_(group, most - (most - least) * share * height)
        return [base + (most - base) * share * height for base, most in zip(self.base_lrs, self.max_lrs, strict=True)]


def per_group(name: str, optimizer: Optimizer, value: object) -> list[Any]:
    """Return a value for each group of parameters. ValueError: a list of another length."""
    count = len(optimizer.param_groups)
    values = value if isinstance(value, list | tuple) else [value] * count
    refuse(
        len(values) != count,
        f"{name} must have the same length as optimizer.param_groups. {name} has {len(values)} values, param_groups "
        f"has {count}.",
        ValueError,
    )
    return list(map(copied, values))


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
        min_lr: Any = 0,
        eps: float = 1e-8,
    ) -> None:
        refuse(factor >= 1.0, "Factor should be < 1.0.", ValueError)
        self.factor, self.optimizer = factor, an_optimizer(optimizer)
        count = len(optimizer.param_groups)
        bounds: Any = (None, list(min_lr)) if isinstance(min_lr, list | tuple) else (min_lr, [min_lr] * count)
        self.default_min_lr, self.min_lrs = bounds
        refuse(len(self.min_lrs) != count, f"expected {count} min_lrs, got {len(self.min_lrs)}", ValueError)
        self.patience, self.cooldown, self.eps, self.last_epoch = patience, cooldown, eps, 0
        self._last_lr = of_groups(optimizer, "lr")
        refuse_any(
            {
                f"mode {mode} is unknown!": mode not in ("min", "max"),
                f"threshold mode {threshold_mode} is unknown!": threshold_mode not in ("rel", "abs"),
            },
            ValueError,
        )
        self.mode_worse, self.mode = math.inf if mode == "min" else -math.inf, mode
        self.threshold, self.threshold_mode = threshold, threshold_mode
        self._reset()

    def _reset(self) -> None:
        """Begin anew."""
        self.best, self.cooldown_counter, self.num_bad_epochs = self.mode_worse, 0, 0

    in_cooldown = property(lambda self: self.cooldown_counter > 0)

    def step(self, metrics: SupportsFloat, epoch: int | None = None) -> None:  # type: ignore[override]
        """Go on by one epoch, or to one, with what was measured in it."""
        current = float(metrics)
        if epoch is not None:
            warn(BY_EPOCH)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        is_better = self._is_better(current, self.best)
        self.best, self.num_bad_epochs = (current, 0) if is_better else (self.best, self.num_bad_epochs + 1)
        if self.in_cooldown:
            self.cooldown_counter, self.num_bad_epochs = self.cooldown_counter - 1, 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr(self.last_epoch)
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = of_groups(self.optimizer, "lr")

    def _is_better(self, a: float, best: float) -> bool:
        """Return whether a measure is better than the best so far, by more than the threshold."""
        sign = -1 if self.mode == "min" else 1
        bound = best * (1 + sign * self.threshold) if self.threshold_mode == "rel" else best + sign * self.threshold
        return sign * a > sign * bound

    def _reduce_lr(self, epoch: int) -> None:
        """Make the learning rates less. RuntimeError: there are more groups than least rates."""
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            refuse(self.default_min_lr is None, GROUPS_ADDED.format(len(groups), len(self.min_lrs)))
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, least in zip(groups, self.min_lrs, strict=True):
            before = float(group["lr"])
            lr = max(before * self.factor, least)
            if before - lr > self.eps:
                write(group, "lr", lr)


GROUPS_ADDED = (
    "The number of param groups in the `optimizer` ({}) differs from when `ReduceLROnPlateau` was initialized ({}), "
    "usually due to a new param group being added to the optimizer. Please modify the `min_lrs` field to match the "
    "length of the `optimizer` param groups."
)


class Several(LRScheduler):
    """Base of the schedules that are made of others."""

    _parts_ = "_schedulers"

    def _of_one_optimizer_(self, schedulers: Sequence[Any], optimizer: Any) -> None:
        """Refuse schedules of other optimizers than this, and those whose ``step`` wants a measure."""
        name = type(self).__name__
        for i, one in enumerate(schedulers):
            refuse(
                not hasattr(one, "optimizer"),
                f"{name} at index {i} should have `optimizer` as its attribute.",
                TypeError,
            )
            refuse(
                isinstance(one, ReduceLROnPlateau),
                f"{name} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be "
                f"specified when calling `step`, but got one at index {i} in the given schedulers sequence.",
                ValueError,
            )
            refuse(
                optimizer is not one.optimizer,
                f"{name} expects all schedulers to belong to the same optimizer, but got scheduler "
                f"{type(one).__name__} at index {i} has {one.optimizer}, which is different from "
                f"{type(optimizer).__name__}.",
                ValueError,
            )


class SequentialLR(Several):
    """One schedule after the other, the next from each milestone on."""

    def __init__(
        self, optimizer: Optimizer, schedulers: Sequence[LRScheduler], milestones: list[int], last_epoch: int = -1
    ) -> None:
        refuse(
            not schedulers, f"{type(self).__name__} expects at least one scheduler, but got no scheduler.", ValueError
        )
        self._of_one_optimizer_(schedulers, optimizer)
        refuse(
            len(milestones) != len(schedulers) - 1,
            "Sequential Schedulers expects number of schedulers provided to be one "
            f"more than the number of milestone points, but got number of schedulers {len(schedulers)} and the "
            f"number of milestones to be equal to {len(milestones)}",
            ValueError,
        )
        self._schedulers, self._milestones = schedulers, milestones
        self.last_epoch, self.optimizer = last_epoch + 1, optimizer
        for group in optimizer.param_groups:
            write(group, "lr", group["initial_lr"])
        self.recursive_undo()
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def recursive_undo(self, sched: Any = None) -> None:
        """Undo the first step of each, which only the one whose turn it is should have."""
        parts = [self if sched is None else sched]
        for one in parts:
            if hasattr(one, "_schedulers"):
                parts += one._schedulers
            elif hasattr(one, "last_epoch"):
                one.last_epoch -= 1

    def step(self) -> None:  # type: ignore[override]
        """Go on by one epoch, with the one whose turn it is."""
        self.last_epoch += 1
        now = self._schedulers[bisect_right(self._milestones, self.last_epoch)]
        if self.last_epoch in self._milestones:
            now._update_lr(0)
        else:
            now.step()
        self._last_lr = now.get_last_lr()


class ChainedScheduler(Several):
    """Several schedules at once, each from the learning rate that the one before it set."""

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        refuse(
            len(schedulers) < 1,
            f"{type(self).__name__} expects at least one scheduler to be chained, but got no scheduler.",
            ValueError,
        )
        self.optimizer = optimizer or schedulers[0].optimizer
        self._of_one_optimizer_(schedulers, self.optimizer)
        self._schedulers = schedulers
        self._last_lr = of_groups(schedulers[-1].optimizer, "lr")

    def step(self) -> None:  # type: ignore[override]
        """Go on by one epoch with all of them."""
        for one in self._schedulers:
            one.step()
        self._last_lr = of_groups(self._schedulers[-1].optimizer, "lr")


__getattr__ = absent("torch.optim.lr_scheduler")
