"""Units that give 0 for all inputs of a step: the results of ReLUs, by the module and the line that calls them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from gviz.graphs import Place
from gviz.trace.listening import Listener
from gviz.training.rows import LEAST_INPUTS, Idle
from gviz.training.running import EngineTensor, RunningModules, path_and_line
from gviz.walk import NodeLike

RELUS = ("relu", "relu_")
"""The names of what is listened to: functions of torch, and methods of tensors; the first is in nn.functional, too."""

OF_CHANNELS = ("Conv", "BatchNorm", "GroupNorm", "InstanceNorm", "Pool")
"""Operations whose units are their channels, along the second axis."""

OF_FEATURES = ("Linear", "NativeLayerNorm")
"""Operations whose units are features, along the last axis."""

OF_PRODUCTS = {"Addmm": (-2, -1), "Bmm": (-2, -1), "Mm": (-2, -1), "Addmv": (-1, None), "Mv": (-1, None)}
"""Operations whose units are along the axis that comes from the weight: the first operand, or the second one."""

KEEPS_AXES = ("Add", "Sub", "Mul", "Div", "Relu", "NativeDropout", "View", "UnsafeView")
"""Operations that may leave the axes as they are: the one before them says which is that of the units."""

FARTHEST = 8
"""Operations between a ReLU and what its units are known by."""


class Site:
    """A ReLU: a module, or a line that calls the function behind a module.

    Attributes:
        name: of the ``nn.ReLU``, or of the module before the function, with the line.
        idle: which units have given 0 alone since an optimizer has stepped last, if there were inputs since.
        count: inputs since then, as many as the first axis has.
        step: the number of the last measured step; other optimizers may have stepped in it.
        unused: which units have given 0 alone in that step.
        silent: of measured steps, the inputs since each unit has given something else than 0.
    """

    def __init__(self, name: str, idle: EngineTensor) -> None:
        self.name, self.idle, self.unused = name, idle, idle
        self.count, self.step = 0, -1
        self.silent: Any = 0

    def end_step(self, number: int) -> Idle:
        """Return the units of a step, of all that was seen in it, when an optimizer has stepped."""
        if self.count:
            self.unused = self.unused & self.idle if number == self.step else self.idle
            self.silent = self.unused * (self.silent + self.count)
        self.step, self.count = number, 0
        long = self.silent[self.silent >= LEAST_INPUTS]
        return Idle(
            self.unused.numel(), int(self.unused.sum()), long.numel(), inputs=int(long.min()) if long.numel() else 0
        )


class Units:
    """The units of all ReLUs that run while it is on, and not paused, as it is while backward runs."""

    def __init__(self) -> None:
        self.modules: RunningModules
        self.is_on = self.is_inside = self.is_paused = False
        self.sites: dict[tuple[str, str, Place | None, int], Site] = {}

    def attach(self, listener: Listener) -> None:
        """Begin to be told of the calls of ReLUs."""
        engine = listener.engine
        for owner, names in ((engine, RELUS), (engine.nn.functional, RELUS[:1]), (engine.Tensor, RELUS)):
            for name in names:
                listener.replace(owner, name, self.around(getattr(owner, name), listener))

    def around(self, original: Callable[..., Any], listener: Listener) -> Callable[..., Any]:
        """Return a function that is noted when it is called."""

        @wraps(original)
        def relu(*args: object, **kwargs: object) -> Any:
            if listener.is_compiling() or not self.is_on or self.is_inside or self.modules.is_relu:
                return original(*args, **kwargs)
            self.is_inside = True
            try:
                result = original(*args, **kwargs)
                self.note(result)
            finally:
                self.is_inside = False
            return result

        return relu

    def note(self, result: EngineTensor) -> None:
        """Note the result of a ReLU, if its graph is recorded: of a pass for evaluation it is not."""
        is_wanted = self.is_on and not self.is_paused and result.numel() and self.is_of_model(result)
        if not is_wanted or (axis := axis_of_units(result)) is None:
            return
        numbers, modules, place = result.detach(), self.modules, self.modules.place("relu")
        others = [at for at in range(numbers.dim()) if at != axis % numbers.dim()]
        idle = (numbers.sum(others) if others else numbers) == 0  # none is negative
        by = modules.path if modules.is_relu else f"after {modules.last}" if modules.last else ""
        if (site := self.sites.get(key := (modules.path, by, place, idle.numel()))) is None:
            line = f" ({path_and_line(place)})" * (place is not None)
            site = self.sites[key] = Site(f"relu {by}".rstrip() + line, idle)
        site.idle = site.idle & idle if site.count else idle
        site.count += numbers.shape[others[0]] if others else 1

    def is_of_model(self, result: EngineTensor) -> bool:
        """Return whether a ReLU is in a module of the models, or the nearest parameters behind it are theirs."""
        level = [result.grad_fn] if result.grad_fn is not None else []
        if self.modules.path:
            return bool(level)
        for _ in range(FARTHEST):
            level = [one for node in level for one, _ in node.next_functions if one is not None]
            leaves = [leaf for node in level if (leaf := getattr(node, "variable", None)) is not None]
            if leaves:
                return any(id(leaf) in self.modules.parameters for leaf in leaves)
        return False

    def end_step(self, number: int) -> dict[str, Idle]:
        """Return the units of a step in which an optimizer has stepped, by the names of their sites."""
        return {site.name: site.end_step(number) for site in self.sites.values() if site.count or site.step == number}


def axis_of_units(result: EngineTensor) -> int | None:
    """Return the axis along which the results of a ReLU are its units; None where the operations before do not tell."""
    node: Any = result.grad_fn
    for _ in range(FARTHEST):
        node = next((one for one, _ in node.next_functions if one is not None), None)
        name = type(node).__name__
        axis = -1 if name.startswith(OF_FEATURES) else 1 if any(word in name for word in OF_CHANNELS) else None
        if (kind := name.partition("Backward")[0]) in OF_PRODUCTS:
            is_first, is_last = (is_weight(one) for one, _ in node.next_functions[-2:])
            axis = OF_PRODUCTS[kind][is_last] if is_first != is_last else None
        if axis is not None:
            made = getattr(node, "_input_metadata", ())  # a view may have put another axis there
            return axis if made and [*made[0].shape[axis:]][:1] == [*result.shape[axis:]][:1] else None
        if node is None or not name.startswith(KEEPS_AXES):
            return None
    return None


def is_weight(node: NodeLike | None, most: int = FARTHEST) -> bool:
    """Return whether an operand, by what has made it, is a parameter, or made of those alone, as a transposed one is."""
    return node is not None and (
        type(getattr(node, "variable", None)).__name__.endswith("Parameter")
        or (most > 0 and bool(node.next_functions) and all(is_weight(one, most - 1) for one, _ in node.next_functions))
    )
