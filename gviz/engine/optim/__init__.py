"""``torch.optim``: SGD, Adam, AdamW, RMSprop and Adagrad; schedules of the learning rate are ``optim.lr_scheduler``.

Updates are written in place, unrecorded, in PyTorch's order of operations, so that the numbers agree.
Source: https://docs.pytorch.org/docs/2.13/optim.html, and generated/torch.optim.<name>.html beside it
"""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

from gviz.autograd.modes import enable_grad, no_grad
from gviz.autograd.tensor import Tensor, from_array
from gviz.engine.copying import Portable
from gviz.engine.nn.module import clear_gradient
from gviz.engine.nn.parameter import typename
from gviz.engine.optim import lr_scheduler
from gviz.numbers.words import absent, warn

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["SGD", "Adagrad", "Adam", "AdamW", "Optimizer", "RMSprop", "lr_scheduler"]


class Optimizer(Portable):
    """Base of the optimizers: groups of parameters with options, and a state for each parameter.

    Args:
        params: tensors, (name, tensor) pairs, or dicts with ``params`` and options of their own.
        defaults: options of the groups that do not give them.
    """

    __module__, _importable = "torch.optim.optimizer", "gviz.engine.optim"
    _opt_called: bool

    def __init_subclass__(cls) -> None:
        if cls.__module__ == __name__:
            cls.__module__ = f"torch.optim.{cls.__name__.lower()}"

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got torch.FloatTensor"
            )
        self.defaults = defaults
        self.state: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group; what it does not say is as in the defaults."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        given = param_group["params"]
        if isinstance(given, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets will "
                "change between runs. Please use a list instead."
            )
        given = [given] if isinstance(given, Tensor) else list(given)
        tensors = param_group["params"] = [p[1] if isinstance(p, tuple) else p for p in given]
        if names := [p[0] for p in given if isinstance(p, tuple)]:
            if len(names) < len(tensors):
                raise ValueError("all optimizer params should be with/without names. Some param names are missing")
            param_group["param_names"] = names
        for tensor in tensors:
            if not isinstance(tensor, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {typename(tensor)}")
            if not self.defaults.get("differentiable") and not tensor.is_leaf and not tensor.retains_grad:
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, value in self.defaults.items():
            param_group.setdefault(name, value)
        if len({id(tensor) for tensor in tensors}) < len(tensors):
            warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; see "
                "github.com/pytorch/pytorch/issues/40967 for more information"
            )
        if any(("param_names" in group) != bool(names) for group in self.param_groups):
            raise ValueError(
                "all optimizer param groups should be with/without names. cannot add param group "
                f"{'with' if names else 'without'} names to the optimizer"
            )
        known = {id(p) for group in self.param_groups for p in group["params"]}
        if any(id(tensor) in known for tensor in tensors):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or set them to zero."""
        for group in self.param_groups:
            for tensor in group["params"]:
                clear_gradient(tensor, set_to_none)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient; returns what ``closure`` (which computes it anew) gave."""
        if type(self) is Optimizer:
            raise NotImplementedError
        loss = None
        if "_opt_called" in vars(self):  # there is a schedule, which warns if it goes on before this
            self._opt_called = True
        with no_grad():
            if closure is not None:
                with enable_grad():
                    loss = closure()
            for group in self.param_groups:
                for tensor in group["params"]:
                    rare = tensor._rare
                    if rare is not None and rare.grad is not None:
                        self.update_from(tensor, rare.grad._array, group)
        return loss

    def update_from(self, tensor: Tensor, grad: Any, group: dict[str, Any]) -> None:
        """One parameter's step from its gradient, as the group wants that."""
        if group["maximize"]:
            grad = -grad
        decays = group["weight_decay"] != 0
        apart = decays and group.get("decoupled_weight_decay", False)  # then the parameter itself decays, a write of its own
        if decays and not apart:
            grad = grad + tensor._array * tensor._array.dtype.type(group["weight_decay"])
        self.update(tensor._array, grad, state := self.state[tensor], group)
        tensor.version_cell().count += 1 + apart
        if not state:
            del self.state[tensor]

    def update(self, value: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        """One parameter's step, on arrays, in place."""
        raise NotImplementedError

    def state_dict(self) -> dict[str, Any]:
        """State and groups, with parameters as numbers."""
        numbers = {id(p): i for i, p in enumerate(p for group in self.param_groups for p in group["params"])}
        groups = [
            {**{k: v for k, v in group.items() if k != "params"}, "params": [numbers[id(p)] for p in group["params"]]}
            for group in self.param_groups
        ]
        return {"state": {numbers[id(p)]: dict(s) for p, s in self.state.items()}, "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over state and options; refuses other groups than these."""
        groups = state_dict["param_groups"]
        if len(groups) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(own["params"]) != len(given["params"]) for own, given in zip(self.param_groups, groups, strict=True)):
            raise ValueError("loaded state dict contains a parameter group that doesn't match the size of optimizer's group")
        self.param_groups = [
            {**given, "params": own["params"], **{k: v for k, v in own.items() if k == "param_names" and k not in given}}
            for own, given in zip(self.param_groups, groups, strict=True)
        ]
        tensors = [p for group in self.param_groups for p in group["params"]]
        self.state = defaultdict(dict)
        for i, kept in state_dict["state"].items():
            copies = {k: from_array(v._array.copy(), None) for k, v in kept.items() if isinstance(v, Tensor)}
            self.state[tensors[i]] = {**kept, **copies}

    def __repr__(self) -> str:
        text = f"{type(self).__name__} ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n"
            text += "".join(f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params")
        return text + ")"


def options(given: dict[str, Any], checked: str, first: str = "") -> dict[str, Any]:
    """The options of an optimizer, its arguments; some are ``checked`` to be positive, or shares, some stand ``first``."""
    if isinstance(lr := given.get("lr"), Tensor) and lr._array.size != 1:
        raise ValueError("Tensor lr must be 1-element")
    for name in checked.split():
        if name == "betas":
            for i in range(2):
                if not 0 <= (beta := given[name][i]) < 1:
                    raise ValueError(f"Invalid beta parameter at index {i}: {beta}")
        elif given[name] < 0.0 or not given[name] >= 0:
            called = {"lr": "learning rate", "eps": "epsilon value"}.get(name, f"{name} value")
            raise ValueError(f"Invalid {called}: {given[name]}")
    return {name: given[name] for name in (*first.split(), *given) if name not in ("self", "params", "checked", "__class__")}


def begin(state: dict[str, Any], value: Any, *names: str) -> None:
    """Zeros to begin with."""
    state.update((name, from_array(np.zeros_like(value), None)) for name in names)


def count(state: dict[str, Any]) -> float:
    """The number of this step."""
    if "step" not in state:
        begin(state, np.float32(0), "step")
    state["step"]._array[...] += 1
    return float(state["step"]._array)


class SGD(Optimizer):
    """Gradient descent, with momentum (also Nesterov's), dampening and weight decay."""

    def __init__(
        self, params: Any, lr: float = 1e-3, momentum: float = 0, dampening: float = 0, weight_decay: float = 0,
        nesterov: bool = False, *, maximize: bool = False, foreach: Any = None, differentiable: bool = False, fused: Any = None,
    ) -> None:  # fmt: skip
        kept = options(locals(), "lr momentum weight_decay")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, kept)

    def update(self, value: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        """``b = m b + (1 - d) g``; ``p -= lr b``."""
        kind = value.dtype.type
        if group["momentum"] != 0:
            kept = state.get("momentum_buffer")
            if kept is None:
                kept = state["momentum_buffer"] = from_array(np.array(grad), None)
            else:
                kept._array[...] = kept._array * kind(group["momentum"]) + grad * kind(1 - group["dampening"])
            grad = grad + kept._array * kind(group["momentum"]) if group["nesterov"] else kept._array
        value -= grad * kind(group["lr"])


class Adam(Optimizer):
    """Steps scaled by running means of the gradient and of its square."""

    def __init__(
        self, params: Any, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0, amsgrad: bool = False, *, maximize: bool = False, foreach: Any = None,
        capturable: bool = False, differentiable: bool = False, fused: Any = None, decoupled_weight_decay: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, options(locals(), "lr eps betas weight_decay"))

    def update(self, value: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        """``p -= lr m / (sqrt(v) + eps)``, both means corrected for their beginning at zero."""
        kind = value.dtype.type
        (first, second), lr = group["betas"], group["lr"]
        if (step := count(state)) == 1:
            begin(state, value, "exp_avg", "exp_avg_sq", *["max_exp_avg_sq"] * bool(group["amsgrad"]))
        if group["decoupled_weight_decay"]:
            value *= kind(1 - lr * group["weight_decay"])
        mean, square = state["exp_avg"]._array, state["exp_avg_sq"]._array
        mean += (grad - mean) * kind(1 - first)
        square[...] = square * kind(second) + grad * grad * kind(1 - second)
        if group["amsgrad"]:
            square = np.maximum(state["max_exp_avg_sq"]._array, square, out=state["max_exp_avg_sq"]._array)
        root = np.sqrt(square) / kind(math.sqrt(1 - second**step)) + kind(group["eps"])
        value -= mean / root * kind(lr / (1 - first**step))


class AdamW(Adam):
    """Adam whose weight decay acts on the parameters themselves."""

    def __init__(
        self, params: Any, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 1e-2, amsgrad: bool = False, **more: Any,
    ) -> None:  # fmt: skip
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, **more, decoupled_weight_decay=True)


class RMSprop(Optimizer):
    """Steps scaled by the root of a running mean of the squared gradient."""

    def __init__(
        self, params: Any, lr: float = 1e-2, alpha: float = 0.99, eps: float = 1e-8, weight_decay: float = 0,
        momentum: float = 0, centered: bool = False, capturable: bool = False, foreach: Any = None, maximize: bool = False,
        differentiable: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, options(locals(), "lr eps momentum weight_decay alpha", "lr momentum alpha eps centered"))

    def update(self, value: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        """``v = a v + (1 - a) g^2``; ``p -= lr g / (sqrt(v) + eps)``, or the momentum of these steps."""
        kind, alpha = value.dtype.type, group["alpha"]
        if count(state) == 1:
            wanted = {"square_avg": True, "momentum_buffer": group["momentum"] > 0, "grad_avg": group["centered"]}
            begin(state, value, *(name for name, is_wanted in wanted.items() if is_wanted))
        square = state["square_avg"]._array
        square[...] = square * kind(alpha) + grad * grad * kind(1 - alpha)
        if group["centered"]:
            mean = state["grad_avg"]._array
            mean += (grad - mean) * kind(1 - alpha)
            square = square - mean * mean
        step = grad / (np.sqrt(square) + kind(group["eps"]))
        if group["momentum"] > 0:
            kept = state["momentum_buffer"]._array
            step = kept[...] = kept * kind(group["momentum"]) + step
        value -= step * kind(group["lr"])


class Adagrad(Optimizer):
    """Steps scaled by the root of the sum of all squared gradients."""

    def __init__(
        self, params: Any, lr: float = 1e-2, lr_decay: float = 0, weight_decay: float = 0, initial_accumulator_value: float = 0,
        eps: float = 1e-10, foreach: Any = None, *, maximize: bool = False, differentiable: bool = False, fused: Any = None,
    ) -> None:  # fmt: skip
        checked = "lr lr_decay weight_decay initial_accumulator_value eps"
        super().__init__(params, options(locals(), checked, "lr lr_decay eps"))
        for group in self.param_groups:
            for tensor in group["params"]:
                begun = np.full_like(tensor._array, initial_accumulator_value)
                begin(self.state[tensor], np.float32(0), "step")
                self.state[tensor]["sum"] = from_array(begun, None)

    def update(self, value: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        """``s += g^2``; ``p -= lr g / (sqrt(s) + eps)``."""
        kind = value.dtype.type
        rate = group["lr"] / (1 + (count(state) - 1) * group["lr_decay"])
        total = state["sum"]._array
        total += grad * grad
        value -= grad / (np.sqrt(total) + kind(group["eps"])) * kind(rate)


__getattr__ = absent("torch.optim")
