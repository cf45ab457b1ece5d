"""``torch.optim``: the optimizers; schedules of the learning rate are ``optim.lr_scheduler``.

Updates are written with operators on arrays, in place, in PyTorch's order of operations, so that the numbers agree.
Source: https://docs.pytorch.org/docs/2.13/optim.html, and generated/torch.optim.<name>.html beside it
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from functools import partial, wraps
from itertools import chain
from typing import Any, ClassVar, NamedTuple

import numpy as np

from gviz.autograd.hooks import append
from gviz.autograd.modes import enable_grad, mode
from gviz.autograd.tensor import Tensor, from_array
from gviz.engine.copying import Portable
from gviz.engine.func import mapped
from gviz.engine.nn.module import clear_gradient
from gviz.engine.nn.options import method, refuse_options
from gviz.engine.nn.parameter import typename
from gviz.numbers.types import Array
from gviz.numbers.words import absent, refuse, refuse_any, warn
from gviz.ops.rows import array_of

__all__ = [
    "ASGD", "LBFGS", "SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam", "Optimizer", "RAdam", "RMSprop",
    "Rprop", "SparseAdam", "lr_scheduler",
]  # fmt: skip


class RequiredParameter:
    """What stood in an optimizer's signature for an argument without a default, before PyTorch 2."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = RequiredParameter()
STATES = "state_dict", "load_state_dict"


def not_below(name: str, words: str, least: float = 0, most: float = math.inf) -> dict[str, Any]:
    """Return what refuses an option of that name, if it is given, that is less than this or more than that."""
    return {f"Invalid {words}: {{{name}}}": lambda **given: not least <= given.get(name, least) <= most}


WRONG: dict[str, Any] = {
    "Tensor lr must be 1-element": lambda lr, **_: isinstance(lr, Tensor) and lr.numel() != 1,
    **not_below("lr", "learning rate"),
    **not_below("eps", "epsilon value"),
    **{
        f"Invalid beta parameter at index {i}: {{betas[{i}]}}": (lambda betas=(0, 0), i=i, **_: not 0 <= betas[i] < 1)
        for i in (0, 1)
    },
    **not_below("momentum", "momentum value"),
    **not_below("rho", "rho value", 0, 1),
    **not_below("lr_decay", "lr_decay value"),
    **not_below("weight_decay", "weight_decay value"),
    "Invalid alpha value: {alpha}": lambda alpha=0, t0=None, **_: t0 is None and not alpha >= 0,  # ASGD takes any
    **not_below("initial_accumulator_value", "initial_accumulator_value value"),
    **not_below("momentum_decay", "momentum_decay value"),
    "Nesterov momentum requires a momentum and zero dampening": lambda nesterov=False, momentum=0, dampening=0, **_: (
        nesterov and (momentum <= 0 or dampening != 0)
    ),
    "Invalid eta values: {etas[0]}, {etas[1]}": lambda etas=(0.5, 1.2), **_: not 0 < etas[0] < 1 < etas[1],
}
"""What no option may be, by what is said of it."""


EVERY: dict[str, list[Any]] = {"pre": [], "post": []}
"""The hooks of the steps of all optimizers."""
register_optimizer_step_pre_hook, register_optimizer_step_post_hook = (partial(append, EVERY[when]) for when in EVERY)


def with_hooks(step: Callable[..., Any]) -> Any:
    """Return a method ``step`` that calls the hooks before and after it, and tells a schedule that it ran."""

    @wraps(step)
    def run(*args: object, **kwargs: object) -> Any:
        self: Any = args[0]  # hooks see it among the arguments
        for hook in (*EVERY["pre"], *vars(self).get("_optimizer_step_pre_hooks", ())):
            if (new := hook(self, args, kwargs)) is not None:
                refuse(
                    not isinstance(new, tuple) or len(new) != 2,
                    f"{step} must return None or a tuple of (new_args, new_kwargs), but got {new}.",
                )
                args, kwargs = new
        if "_opt_called" in vars(self):  # there is a schedule, which warns if it goes on before this
            self._opt_called = True
        result = step(*args, **kwargs)
        for hook in (*vars(self).get("_optimizer_step_post_hooks", ()), *EVERY["post"]):
            hook(self, args, kwargs)
        return result

    return run


class Optimizer(Portable):
    """Base of the optimizers: groups of parameters with options, and a state for each parameter.

    Args:
        params: tensors, (name, tensor) pairs, or dicts with ``params`` and options of their own.
        defaults: options of the groups that do not give them.
    """

    __module__, _importable = "torch.optim.optimizer", "gviz.engine.optim"
    _first_: ClassVar[str]
    _opt_called: bool
    _dense_only_: ClassVar[str] = "{} does not support sparse gradients"
    """What is said of a gradient that is told by some of its rows; empty where it will do."""
    _writes_: ClassVar[int] = 1  # how often PyTorch writes a parameter in one step

    def __init_subclass__(cls, takes: str = "", first: str = "") -> None:
        """Declare an optimizer: the options that it ``takes``, and those that stand ``first`` in its groups."""
        if "step" in vars(cls) or takes:
            cls.step = with_hooks(vars(cls).get("step", cls._step_))  # type: ignore[method-assign]
        if takes:
            cls.__module__, cls._first_ = f"torch.optim.{cls.__name__.lower()}", first
            method(cls, "__init__", f"params, {takes}", "self._begin_(locals())")

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        refuse(
            isinstance(params, Tensor),
            "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
            "torch.FloatTensor",
            TypeError,
        )
        self.defaults, self.param_groups = defaults, list[dict[str, Any]]()
        self.state: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
        groups = list(params)
        refuse(not groups, "optimizer got an empty parameter list", ValueError)
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def _begin_(self, arguments: dict[str, Any]) -> None:
        """Begin with these options. ValueError: one is not what it can be."""
        refuse_options(WRONG, arguments)
        options = {
            name: arguments[name] for name in (*self._first_.split(), *arguments) if name not in ("self", "params")
        }
        Optimizer.__init__(self, arguments["params"], options)

    def _tensors_(self) -> list[Tensor]:
        """Return the parameters of all groups."""
        return [tensor for group in self.param_groups for tensor in group["params"]]

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group; what it does not say is as in the defaults."""
        refuse(not isinstance(param_group, dict), f"param_group must be a dict, but got {type(param_group)}", TypeError)
        params = param_group["params"]
        refuse(
            isinstance(params, set),
            "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in "
            "sets will change between runs. Please use a list instead.",
            TypeError,
        )
        params = [params] if isinstance(params, Tensor) else list(params)
        if names := [pair[0] for pair in params if isinstance(pair, tuple)]:
            refuse(
                len(names) < len(params),
                "all optimizer params should be with/without names. Some param names are missing",
                ValueError,
            )
            param_group["param_names"] = names
        tensors = param_group["params"] = [p[1] if isinstance(p, tuple) else p for p in params]
        for tensor in tensors:
            refuse(
                not isinstance(tensor, Tensor),
                f"optimizer can only optimize Tensors, but one of the params is {typename(tensor)}",
                TypeError,
            )
            refuse(not tensor.is_leaf and not tensor.retains_grad, "can't optimize a non-leaf Tensor", ValueError)
        param_group.update({name: value for name, value in self.defaults.items() if name not in param_group})
        if len({*map(id, tensors)}) < len(tensors):
            warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an "
                "error; see github.com/pytorch/pytorch/issues/40967 for more information"
            )
        has_names = "param_names" in param_group
        refuse_any(
            {
                "all optimizer param groups should be with/without names. cannot add param group "
                f"with{'out' * (not has_names)} names to the optimizer": any(
                    ("param_names" in group) != has_names for group in self.param_groups
                ),
                "some parameters appear in more than one parameter group": (
                    {*map(id, tensors)} & {*map(id, self._tensors_())}
                ),
            },
            ValueError,
        )
        self.param_groups.append(param_group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or set them to zero."""
        for tensor in self._tensors_():
            clear_gradient(tensor, set_to_none)

    def _through_hooks_(self, which: str, *state: dict[str, Any]) -> Any:
        """Call the hooks of a kind; return the state, or what they make of it."""
        for hook in tuple(vars(self).get(f"_optimizer_{which}_hooks", ())):
            new = hook(self, *state)
            state = state if new is None or not state else (new,)
        return state[0] if state else None

    def step(self, closure: Any = None) -> Any:
        """Update the parameters; to be written by the subclass."""
        raise NotImplementedError

    def _step_(self, closure: Callable[..., Any] | None = None) -> Any:
        """Update every parameter that has a gradient; return what ``closure`` (which computes it anew) returned."""
        with enable_grad():
            loss = None if closure is None else closure()
        for group in self.param_groups:
            for tensor in group["params"]:
                if (meta := tensor._meta) is not None and meta.grad is not None:
                    if meta.grad.__class__ is not Tensor and self._dense_only_:
                        refuse(meta.grad.is_sparse, self._dense_only_.format(type(self).__name__))
                    self._update_from_(tensor, meta.grad._array, group)
        return loss

    def _update_from_(self, tensor: Tensor, grad: Array, group: dict[str, Any]) -> None:
        """Do one parameter's step from its gradient, as the group wants that."""
        if mode.writing is not None:
            mode.writing(tensor)
        value, state, decay, lr = (
            tensor._array,
            self.state.get(tensor, {}),
            group.get("weight_decay", 0),
            float(group["lr"]),
        )
        grad = -grad if group["maximize"] else grad
        if apart := decay != 0 and group.get("decoupled_weight_decay", False):  # a write of its own
            value *= 1 - lr * decay
        elif decay != 0:
            grad = add_scaled(grad.copy("K"), value, decay)
        self._update_(value, grad, lr, state, group)
        tensor._version_counter().count += self._writes_ + apart
        if state:
            self.state[tensor] = state

    def _update_(self, value: Array, grad: Array, lr: float, state: dict[str, Any], group: dict[str, Any]) -> None:
        """Do one parameter's step on arrays, in place."""
        raise NotImplementedError

    def state_dict(self) -> dict[str, Any]:
        """Return state and groups, with parameters as numbers."""
        self._through_hooks_("state_dict_pre")
        numbers = {id(p): i for i, p in enumerate(self._tensors_())}
        groups = [
            {name: value for name, value in group.items() if name != "params"}  # which PyTorch puts last
            | {"params": [numbers[id(p)] for p in group["params"]]}
            for group in self.param_groups
        ]
        state = {numbers.get(id(p), p): s for p, s in self.state.items()}
        return self._through_hooks_("state_dict_post", {"state": state, "param_groups": groups})

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over state and options. ValueError: of other groups than these."""
        state_dict = self._through_hooks_("load_state_dict_pre", state_dict.copy())
        groups = deepcopy(state_dict["param_groups"])
        refuse_any(
            {
                "loaded state dict has a different number of parameter groups": len(groups) != len(self.param_groups),
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group": any(
                    len(own["params"]) != len(saved_group["params"])
                    for own, saved_group in zip(self.param_groups, groups, strict=False)
                ),
            },
            ValueError,
        )
        groups = [
            saved_group
            | {"params": own["params"]}
            | {
                name: LATER.get(name, value)
                for name, value in own.items()
                if name not in saved_group and name in (*LATER, "decoupled_weight_decay", "param_names")
            }
            for own, saved_group in zip(self.param_groups, groups, strict=True)
        ]
        ids = chain.from_iterable(group["params"] for group in state_dict["param_groups"])
        tensors = dict(zip(ids, self._tensors_(), strict=True))
        state = {tensors.get(i, i): cast(entry, tensors.get(i)) for i, entry in state_dict["state"].items()}
        self.__setstate__({"state": defaultdict(dict, state), "param_groups": groups})
        self._through_hooks_("load_state_dict_post")

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)

    def __repr__(self) -> str:
        text = f"{type(self).__name__} ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n" + "".join(
                f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params"
            )
        return text + ")"


for which in ("step_pre", "step_post", *(f"{what}_{when}" for what in STATES for when in ("pre", "post"))):
    prepend = ", prepend=False" * which.startswith(STATES)
    method(
        Optimizer,
        f"register_{which}_hook",
        f"hook{prepend}",
        f"append(vars(self).setdefault('_optimizer_{which}_hooks', []), hook{prepend.replace('False', 'prepend')})",
        append=append,
    )


def cast(entry: Any, tensor: Any) -> Any:
    """Return what was kept of a tensor in its type, where that has fractions; the memory itself if it is of it."""
    if tensor is None or not tensor.is_floating_point():
        return entry
    return {
        name: value
        if name == "step"
        else mapped(lambda one: one.to(tensor.dtype) if isinstance(one, Tensor) else one, value)
        for name, value in entry.items()
    }


def running(state: dict[str, Any], value: Array, *names: str, **begun: Array) -> list[Any]:
    """Return the arrays of those names in a parameter's state, after its count of steps.

    They begin with zeros, or as is given by their names.
    """
    if not state:
        begun = {"step": np.zeros((), np.float32)} | {name: np.zeros_like(value) for name in names} | begun
        state.update((name, from_array(array, None)) for name, array in begun.items())
    state["step"]._array[...] += 1
    return [float(state["step"]._array), *(state[name]._array for name in names)]


def add_scaled(array: Array, other: Array, factor: Array | float) -> Array:
    """Add a multiple of another array in place, and return the array.

    In float32 it is rounded once, as processors with fused multiplication do.
    """
    if array.dtype != np.float32:
        return np.add(array, other * factor, out=array)
    wide = np.multiply(other, np.float32(factor), dtype=np.float64)
    return np.add(wide, array, out=array, casting="same_kind")


LATER = {
    **dict.fromkeys(("maximize", "capturable", "differentiable", "amsgrad", "nesterov", "centered"), False),
    **dict.fromkeys(("foreach", "fused")),
}
"""Options that older files do not have, and what stands for them; each other one is missing then, as in PyTorch."""
LAST = "maximize=False, foreach=None, capturable=False, differentiable=False, fused=None"
MOMENTS = "lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay={}, amsgrad=False"


class SparseAdam(
    Optimizer,
    takes="lr=1e-3, betas=(0.9, 0.999), eps=1e-8, maximize=False",
):
    """Adam whose means of a row of a table change where the row was looked up, and nowhere else."""

    _dense_only_ = ""

    def _update_(self, value: Array, grad: Array, lr: float, state: dict[str, Any], group: dict[str, Any]) -> None:
        """Do Adam's step on the rows of a sparse gradient."""
        first, second = group["betas"]
        rows = self.rows
        if not state:
            state.update(step=0, **{name: from_array(np.zeros_like(value), None) for name in ("exp_avg", "exp_avg_sq")})
        state["step"] += 1
        mean, square = state["exp_avg"]._array, state["exp_avg_sq"]._array
        mean[rows] += (grad[rows] - mean[rows]) * (1 - first)
        square[rows] += (grad[rows] ** 2 - square[rows]) * (1 - second)
        size = lr * math.sqrt(1 - second ** state["step"]) / (1 - first ** state["step"])
        value[rows] -= mean[rows] / (np.sqrt(square[rows]) + group["eps"]) * size

    def _update_from_(self, tensor: Tensor, grad: Array, group: dict[str, Any]) -> None:
        """Note which rows the gradient has. RuntimeError: it is dense."""
        told: Any = tensor.grad
        refuse(not told.is_sparse, "SparseAdam does not support dense gradients, please consider Adam instead")
        self.rows = tuple(told.coalesce()._indices()._array)
        super()._update_from_(tensor, grad, group)


class SGD(
    Optimizer,
    takes="lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, *, maximize=False, "
    "foreach=None, differentiable=False, fused=None",
):
    """Gradient descent, with momentum (also Nesterov's), dampening and weight decay."""

    _dense_only_ = ""

    def _update_(self, value: Array, grad: Array, lr: float, state: dict[str, Any], group: dict[str, Any]) -> None:
        """``b = m b + (1 - d) g``; ``p -= lr b``."""
        if momentum := group["momentum"]:
            if "momentum_buffer" in state:
                buffer = state["momentum_buffer"]._array
                add_scaled(np.multiply(buffer, momentum, out=buffer), grad, 1 - group["dampening"])
            else:
                buffer = grad.copy("K")
                state["momentum_buffer"] = from_array(buffer, None)
            grad = add_scaled(grad.copy("K"), buffer, momentum) if group["nesterov"] else buffer
        add_scaled(value, grad, -lr)


class Adam(Optimizer, takes=f"{MOMENTS.format(0)}, *, {LAST}, decoupled_weight_decay=False"):
    """Steps scaled by running means of the gradient and of its square."""

    _dense_only_ = "Adam does not support sparse gradients, please consider SparseAdam instead"

    def _update_(self, value: Array, grad: Array, lr: float, state: dict[str, Any], group: dict[str, Any]) -> None:
        """``p -= lr m / (sqrt(v) + eps)``, both means corrected for their beginning at zero."""
        first, second = group["betas"]
        names = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")[: 2 + bool(group["amsgrad"])]
        step, mean, square, *largest = running(state, value, *names)
        add_scaled(mean, grad - mean, 1 - first)
        add_scaled(np.multiply(square, second, out=square), grad * (1 - second), grad)
        if largest:
            square = np.maximum(largest[0], square, out=largest[0])
        value += mean * (-lr / (1 - first**step)) / (np.sqrt(square) / math.sqrt(1 - second**step) + group["eps"])


class AdamW(Adam, takes=f"{MOMENTS.format(1e-2)}, *, {LAST}"):
    """Adam whose weight decay acts on the parameters themselves."""

    def _begin_(self, arguments: dict[str, Any]) -> None:
        super()._begin_({**arguments, "decoupled_weight_decay": True})


class Adamax(
    Optimizer,
    first="lr betas eps weight_decay foreach maximize differentiable",
    takes="lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, foreach=None, *, maximize=False, "
    "differentiable=False, capturable=False",
):
    """Adam with the largest gradient so far, which fades, in place of the mean of its square."""

    def _update_(self, value: Array, grad: Array, lr: float, state: dict[str, Any], group: dict[str, Any]) -> None:
        """``u = max(b u, |g| + eps)``; ``p -= lr m / u``, the mean corrected for its beginning at zero."""
        first, second = group["betas"]
        step, mean, largest = running(state, value, "exp_avg", "exp_inf")
        add_scaled(mean, grad - mean, 1 - first)
        np.maximum(largest * second, np.abs(grad) + group["eps"], out=largest)
        value += mean * (-lr / (1 - first**step)) / largest


class NAdam(
    Optimizer,
    first="lr betas eps weight_decay momentum_decay decoupled_weight_decay maximize",
    takes="lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, momentum_decay=4e-3, decoupled_weight_decay=False, "
    "*, foreach=None, maximize=False, capturable=False, differentiable=False",
):
    """Adam with Nesterov's momentum."""

    _writes_ = 2

    def _update_(self, value: Array, grad: Array, lr: float, state: dict[str, Any], group: dict[str, Any]) -> None:
        """``p -= lr ((1 - c) g + c' m) / (sqrt(v) + eps)``, with a momentum c that grows to b."""
        first, second = group["betas"]
        step, product, mean, square = running(
            state, value, "mu_product", "exp_avg", "exp_avg_sq", mu_product=np.ones((), np.float32)
        )
        now, next_one = (first * (1 - 0.5 * 0.96 ** (at * group["momentum_decay"])) for at in (step, step + 1))
        product *= now
        add_scaled(mean, grad - mean, 1 - first)
        add_scaled(np.multiply(square, second, out=square), grad * (1 - second), grad)
        root = np.sqrt(square / (1 - second**step)) + group["eps"]
        value += grad * (-lr * (1 - now) / (1 - float(product))) / root
        value += mean * (-lr * next_one / (1 - float(product) * next_one)) / root


class RAdam(
    Optimizer,
    first="lr betas eps weight_decay maximize foreach capturable",
    takes="lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, decoupled_weight_decay=False, *, foreach=None, "
    "maximize=False, capturable=False, differentiable=False",
):
    """Adam that takes the running mean of squares into account only when that is known well."""

    def _update_(self, value: Array, grad: Array, lr: float, state: dict[str, Any], group: dict[str, Any]) -> None:
        """``p -= lr m`` in the first steps, then ``p -= lr r m / (sqrt(v) + eps)`` with the rectification r."""
        first, second = group["betas"]
        step, mean, square = running(state, value, "exp_avg", "exp_avg_sq")
        add_scaled(mean, grad - mean, 1 - first)
        add_scaled(np.multiply(square, second, out=square), grad * (1 - second), grad)
        change, most = mean / (1 - first**step) * lr, 2 / (1 - second) - 1
        length = most - 2 * step * second**step / (1 - second**step)
        if length > 5:
            share = (length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length)
            change = change * (math.sqrt(1 - second**step) / (np.sqrt(square) + group["eps"])) * math.sqrt(share)
        value -= change


class RMSprop(
    Optimizer,
    first="lr momentum alpha eps centered",
    takes="lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False, capturable=False, "
    "foreach=None, maximize=False, differentiable=False",
):
    """Steps scaled by the root of a running mean of the squared gradient."""

    def _update_(self, value: Array, grad: Array, lr: float, state: dict[str, Any], group: dict[str, Any]) -> None:
        """``v = a v + (1 - a) g^2``; ``p -= lr g / (sqrt(v) + eps)``, or the momentum of these steps."""
        alpha, momentum = group["alpha"], group["momentum"]
        names = ["momentum_buffer"] * (momentum > 0) + ["grad_avg"] * group["centered"]
        _, square, *more = running(state, value, "square_avg", *names)
        add_scaled(np.multiply(square, alpha, out=square), grad * (1 - alpha), grad)
        if group["centered"]:
            mean = more[-1]
            add_scaled(mean, grad - mean, 1 - alpha)
            square = square - mean * mean
        root = np.sqrt(square) + group["eps"]
        if momentum > 0:
            more[0][...] = more[0] * momentum + grad / root
            add_scaled(value, more[0], -lr)
        else:
            value += grad * -lr / root


class Adagrad(
    Optimizer,
    first="lr lr_decay eps",
    takes="lr=1e-2, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10, foreach=None, *, "
    "maximize=False, differentiable=False, fused=None",
):
    """Steps scaled by the root of the sum of all squared gradients."""

    _dense_only_ = ""

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group, whose sums begin at the value that was given."""
        super().add_param_group(param_group)
        for tensor in param_group["params"]:
            self.state[tensor] = {
                "step": from_array(np.zeros((), np.float32), None),
                "sum": from_array(np.full_like(tensor._array, param_group["initial_accumulator_value"]), None),
            }

    def _update_(self, value: Array, grad: Array, lr: float, state: dict[str, Any], group: dict[str, Any]) -> None:
        """``s += g^2``; ``p -= lr g / (sqrt(s) + eps)``."""
        step, total = running(state, value, "sum")
        add_scaled(total, grad, grad)
        value += grad * (-lr / (1 + (step - 1) * group["lr_decay"])) / (np.sqrt(total) + group["eps"])


class Adadelta(
    Optimizer,
    first="lr rho eps weight_decay maximize capturable",
    takes="lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, foreach=None, *, capturable=False, maximize=False, "
    "differentiable=False",
):
    """Steps as large as the last ones were, over the root of a running mean of the squared gradient."""

    def _update_(self, value: Array, grad: Array, lr: float, state: dict[str, Any], group: dict[str, Any]) -> None:
        """``d = g sqrt(u + eps) / sqrt(v + eps)``; ``p -= lr d``, with running means u of d^2, v of g^2."""
        rho, eps = group["rho"], group["eps"]
        _, square, steps = running(state, value, "square_avg", "acc_delta")
        add_scaled(np.multiply(square, rho, out=square), grad * (1 - rho), grad)
        step = np.sqrt(steps + eps) / np.sqrt(square + eps) * grad
        add_scaled(np.multiply(steps, rho, out=steps), step * (1 - rho), step)
        add_scaled(value, step, -lr)


class ASGD(
    Optimizer,
    takes="lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0, foreach=None, maximize=False, "
    "differentiable=False, capturable=False",
):
    """Gradient descent with smaller and smaller steps, and the mean of the parameters since step ``t0``."""

    _writes_ = 2

    def _update_(self, value: Array, grad: Array, lr: float, state: dict[str, Any], group: dict[str, Any]) -> None:
        """``p -= e (l p + g)``; ``a += m (p - a)``; the sizes e of steps and m of the mean become smaller."""
        begun = {name: np.full((), size, np.float32) for name, size in (("eta", lr), ("mu", 1.0))}
        step, eta, share, mean = running(state, value, "eta", "mu", "ax", **begun)
        value *= 1 - group["lambd"] * float(eta)
        add_scaled(value, grad, -float(eta))
        mean[...] = value if share == 1 else mean + (value - mean) * float(share)
        eta[...] = lr / (1 + group["lambd"] * lr * step) ** group["alpha"]
        share[...] = 1 / max(1, step - group["t0"])


class Rprop(
    Optimizer,
    takes="lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50), *, capturable=False, foreach=None, maximize=False, "
    "differentiable=False",
    first="lr etas step_sizes foreach maximize differentiable",
):
    """Steps from the sign of the gradient alone, which grow while it stays and shrink when it changes."""

    def _update_(self, value: Array, grad: Array, lr: float, state: dict[str, Any], group: dict[str, Any]) -> None:
        """``p -= s sign(g)``, where s grows by one factor while g keeps its sign; else it shrinks, and p stays."""
        _, before, size = running(state, value, "prev", "step_size", step_size=np.full_like(value, lr))
        shrink, grow = group["etas"]
        agreement = np.sign(grad * before)
        factor = np.where(agreement > 0, grow, np.where(agreement < 0, shrink, 1)).astype(value.dtype)
        size[...] = np.clip(size * factor, *group["step_sizes"])
        before[...] = np.where(agreement < 0, 0, grad)
        value -= np.sign(before) * size


class Point(NamedTuple):
    """A place on the way down: the size of the step to it, the loss, the gradient, and its part along the way."""

    t: Any
    loss: float
    grad: Any
    slope: Any

    def high(self, start: Point) -> bool:
        """Return whether the loss has come down too little for so far a step."""
        return bool(self.loss > start.loss + 1e-4 * self.t * start.slope)

    def flat(self, start: Point) -> bool:
        """Return whether it goes down less steeply than at the start."""
        return bool(abs(self.slope) <= -0.9 * start.slope)


def lowest(a: Point, b: Point, ends: Iterable[float] | None = None) -> Any:
    """Return the size of step with the least loss on the cubic through two points, between these, or other ends."""
    low, high = ends or sorted((a.t, b.t))
    bend = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    if not (square := bend**2 - a.slope * b.slope) >= 0:
        return (low + high) / 2.0
    root, (near, far) = np.sqrt(square), (a, b) if a.t <= b.t else (b, a)
    return min(
        max(far.t - (far.t - near.t) * ((far.slope + root - bend) / (far.slope - near.slope + 2 * root)), low), high
    )


def strong_wolfe(
    at: Callable[[float], Point], start: Point, t: float, width: float, change: float, most: int
) -> tuple[Point, int]:
    """Return a point that is low and flat enough, as Wolfe's conditions say, and how many were tried.

    ``at(t)`` tries one.
    """
    before, now, turn, stuck = start, at(t), 0, False
    while turn < most:
        up = now.high(start) or (turn > 1 and now.loss >= before.loss)
        done = not up and now.flat(start)
        if up or done or now.slope >= 0:
            break
        before, now, turn = now, at(lowest(before, now, (now.t + 0.01 * (now.t - before.t), now.t * 10))), turn + 1
    else:
        before, done = start, False
    ends = [now if done else before, now]
    low = int(ends[0].loss > ends[1].loss)
    while not done and turn < most and not abs(ends[1].t - ends[0].t) * width < change:
        t, (left, right) = lowest(*ends), sorted(end.t for end in ends)
        margin = 0.1 * (right - left)
        stuck, was = bool(min(right - t, t - left) < margin), stuck
        if stuck and (was or t >= right or t <= left):  # away from the end, where nothing is gained
            t, stuck = right - margin if abs(t - right) < abs(t - left) else left + margin, False
        now, turn = at(t), turn + 1
        if now.high(start) or now.loss >= ends[low].loss:
            ends[1 - low] = now
            low = int(ends[0].loss > ends[1].loss)
            continue
        done = now.flat(start)
        if not done and now.slope * (ends[1 - low].t - ends[low].t) >= 0:
            ends[1 - low] = ends[low]
        ends[low] = now
    return ends[low], turn + 1


class LBFGS(
    Optimizer,
    takes="lr=1, max_iter=20, max_eval=None, tolerance_grad=1e-7, tolerance_change=1e-9, history_size=100, "
    "line_search_fn=None",
):
    """Newton's method with what the last gradients tell of the curvature; ``step`` calls its closure several times."""

    def _begin_(self, arguments: dict[str, Any]) -> None:
        most = arguments["max_iter"] * 5 // 4 if arguments["max_eval"] is None else arguments["max_eval"]
        super()._begin_({**arguments, "max_eval": most})
        refuse(
            len(self.param_groups) != 1, "LBFGS doesn't support per-parameter options (parameter groups)", ValueError
        )

    def step(self, closure: Any) -> Any:  # type: ignore[override]
        """Do up to ``max_iter`` steps of ``lr``; return what the closure returned first."""
        group, state = self.param_groups[0], self.state[self._tensors_()[0]]
        memory = {"func_evals": 0, "n_iter": 0} | mapped(array_of, dict(state))
        (begun, loss, grad), calls = self._evaluated_(closure), 1
        for turn in range(1, group["max_iter"] + 1):
            if np.abs(grad).max() <= group["tolerance_grad"]:
                break
            memory["n_iter"] += 1
            way, size = self._direction_(grad, memory, group["history_size"]), array_of(group["lr"])
            if memory["n_iter"] == 1:
                size = min(1.0, 1.0 / np.abs(grad).sum()) * size
            memory |= {"d": way, "t": size, "prev_flat_grad": grad, "prev_loss": loss}
            change = group["tolerance_change"]
            if float(grad @ way) > -change:
                break
            if group["line_search_fn"] is not None:
                refuse(group["line_search_fn"] != "strong_wolfe", "only 'strong_wolfe' is supported")
                start = Point(0, loss, grad, grad @ way)
                (size, loss, grad, _), evaluations = strong_wolfe(
                    partial(self._try_, closure, way), start, size, np.abs(way).max(), change, group["max_eval"] - calls
                )
                memory["t"], calls = size, calls + evaluations
            self._move_(way * size)
            if turn == group["max_iter"]:
                break
            if group["line_search_fn"] is None:
                _, loss, grad = self._evaluated_(closure)
                calls += 1
            if (
                calls >= group["max_eval"]
                or np.abs(way * size).max() <= change
                or abs(loss - memory["prev_loss"]) < change
            ):
                break
        memory["func_evals"] += calls
        state.update(
            mapped(
                lambda one: from_array(np.asarray(one), None) if isinstance(one, np.ndarray | np.generic) else one,
                memory,
            )
        )
        return begun

    def _direction_(self, grad: Array, memory: dict[str, Any], most: int) -> Any:
        """Return the way down: the gradient times what is known of the inverse of the second derivative."""
        if memory["n_iter"] == 1:
            memory |= {"old_dirs": [], "old_stps": [], "ro": [], "H_diag": 1}
            return -grad
        change, step = grad - memory["prev_flat_grad"], memory["d"] * memory["t"]
        if (product := change @ step) > 1e-10:
            for name, one in (("old_dirs", change), ("old_stps", step), ("ro", 1.0 / product)):
                memory[name] = [*memory[name], one][-most:]
            memory["H_diag"] = product / (change @ change)
        pairs = list(zip(memory["old_dirs"], memory["old_stps"], memory["ro"], strict=True))
        way, shares = -grad, list[Any]()
        for change, step, inverse in reversed(pairs):
            shares.insert(0, step @ way * inverse)
            way = way - change * shares[0]
        way = way * memory["H_diag"]
        for (change, step, inverse), share in zip(pairs, shares, strict=True):
            way = way + step * (share - change @ way * inverse)
        memory["al"] = shares + [None] * (most - len(shares))
        return way

    def _evaluated_(self, closure: Callable[..., Any]) -> tuple[Any, float, Any]:
        """Return what the closure returns, the same as a number, and all gradients one after the other."""
        with enable_grad():
            loss = closure()
        grads = [np.zeros_like(p._array) if p.grad is None else p.grad._array for p in self._tensors_()]
        return loss, float(array_of(loss)), np.concatenate([grad.reshape(-1) for grad in grads])

    def _try_(self, closure: Callable[..., Any], way: Array, size: float) -> Point:
        """Return what is found after a step of that size, and go back."""
        before = [tensor._array.copy() for tensor in self._tensors_()]
        self._move_(way * size)
        _, loss, grad = self._evaluated_(closure)
        for tensor, array in zip(self._tensors_(), before, strict=True):
            tensor._array[...] = array  # what it was before, of which _move_ has told
            tensor._version_counter().count += 1
        return Point(size, loss, grad, grad @ way)

    def _move_(self, step: Array) -> None:
        for tensor in self._tensors_():
            if mode.writing is not None:
                mode.writing(tensor)
            part, step = step[: tensor._array.size], step[tensor._array.size :]
            tensor._array += part.reshape(tensor._array.shape)
            tensor._version_counter().count += 1


__getattr__ = absent("torch.optim", "lr_scheduler", "swa_utils")
