"""``torch.utils.checkpoint``: what a function's operations save is computed again when backward asks for it.

Without reentrance hooks stand for the saved tensors, and run the function anew, with the random numbers that it had, up
to the last tensor that is needed. With it the function is one node, which runs it and its backward in its own backward.
Source: https://docs.pytorch.org/docs/2.13/checkpoint.html
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from types import SimpleNamespace
from typing import Any
from weakref import WeakKeyDictionary

from gviz.autograd.modes import enable_grad, mode
from gviz.autograd.requests import backward
from gviz.autograd.saved import Saved, save, unpack
from gviz.autograd.tensor import Tensor
from gviz.engine.autograd.function import Function
from gviz.engine.autograd.packing import saved_tensors_hooks
from gviz.engine.nn.containers import Sequential
from gviz.engine.random import default_generator
from gviz.numbers.types import Array
from gviz.numbers.words import absent, refuse, refuse_any, warn

__all__ = ["CheckpointError", "CheckpointFunction", "checkpoint", "checkpoint_sequential", "set_checkpoint_early_stop"]

NOT_SAID = (
    "the use_reentrant parameter should be passed explicitly. {} use_reentrant=False is recommended, but if you need "
    "to preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for more details on the "
    "differences between the two variants."
)
NO_INPUTS = (
    "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` parameter to "
    ".backward(). To resolve this error, you can either set use_reentrant=False, or call .backward() without passing "
    "the `inputs` argument."
)
OTHERS = (
    "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during the "
    "forward pass.\n"
)
MORE = (
    "torch.utils.checkpoint: trying to save more tensors during recomputation than during the original forward pass.\n"
)
TWICE = (
    "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. If you are calling "
    "ctx.saved_tensors in backward, make sure to do so only once. Otherwise please open an issue with details on your "
    "use case."
)
OTHER = "tensor at position {}:\nsaved metadata: {}\nrecomputed metadata: {}\n"
NO_NODE: Any = SimpleNamespace(_seq=float("inf"))
"""What an input belongs to that no operation has saved."""


class CheckpointError(RuntimeError):
    """The function did something else when it ran again."""


class Enough(Exception):
    """All that was saved is there again."""


def again(function: Callable[..., Any], state: Array | None, *args: object, **kwargs: object) -> Any:
    """Run a function once more, recorded, with the random numbers from a state on."""
    before, mode.formula, now = mode.formula, False, default_generator.state
    try:
        if state is not None:
            default_generator.state = state
        with enable_grad():
            return function(*args, **kwargs)
    finally:
        mode.formula = before
        if state is not None:
            default_generator.state = now


class Stopping:
    """Whether a function that runs again ends as soon as all is there."""

    early = True


@contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Say, for the checkpoints that a block makes, whether a function that runs again ends as soon as all is there."""
    before, Stopping.early = Stopping.early, enable
    try:
        yield
    finally:
        Stopping.early = before


class Frame:
    """One call of a checkpointed function: how to run it again, and what its operations have saved."""

    checks = True

    def __init__(
        self, function: Callable[..., Any], state: Array | None, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> None:
        self.function, self.state, self.kwargs, self.stops_early = function, state, kwargs, Stopping.early
        self.around: Any = nullcontext()
        self.args = [save(arg) if isinstance(arg, Tensor) else arg for arg in args]
        self.facts, self.recomputed = list[Any](), WeakKeyDictionary[Any, dict[int, Any]]()

    def pack(self, tensor: Tensor) -> int:
        """Save nothing of a tensor but its shape and type; return its number."""
        self.facts.append(facts(tensor))
        return len(self.facts) - 1

    def unpack(self, number: int) -> Any:
        """Return the tensor of a number. CheckpointError: this backward pass has had it already."""
        tensors = self.recomputed.get(mode.running) if mode.running is not None else None
        if tensors is None:
            tensors = self.recompute()
            if mode.running is not None:
                self.recomputed[mode.running] = tensors
        refuse(number not in tensors, TWICE, CheckpointError)
        return tensors.pop(number)

    def recompute(self) -> dict[int, Any]:
        """Run the function until all is there again; return it by number. CheckpointError: it did something else."""
        tensors = list[Any]()

        def take(tensor: Tensor) -> Any:
            refuse(len(tensors) == len(self.facts), MORE, CheckpointError)
            tensors.append(tensor.detach() if tensor.requires_grad else tensor)
            if self.stops_early and len(tensors) == len(self.facts):
                raise Enough
            return tensor

        args = [unpack(NO_NODE, arg) if isinstance(arg, Tensor | Saved) else arg for arg in self.args]
        with suppress(Enough), self.around, saved_tensors_hooks(take, lambda tensor: tensor):
            again(self.function, self.state, *args, **self.kwargs)
        refuse(
            len(tensors) != len(self.facts),
            "torch.utils.checkpoint: A different number of tensors was saved during the original "
            f"forward and recomputation.\nNumber of tensors saved during forward: {len(self.facts)}\n"
            f"Number of tensors saved during recomputation: {len(tensors)}.\n",
            CheckpointError,
        )
        pairs = enumerate(zip(self.facts, map(facts, tensors), strict=True))
        others = "".join(OTHER.format(i, was, now) for i, (was, now) in pairs if now != was)
        refuse(others and self.checks, f"{OTHERS}{others}.\n", CheckpointError)
        return dict(enumerate(tensors))


def facts(tensor: Tensor) -> dict[str, Any]:
    """Return what has to be the same of a tensor that is computed again."""
    return {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}


class CheckpointFunction(Function):
    """The function as one node, whose backward runs it again and then its backward."""

    @staticmethod
    def forward(ctx: Any, function: Callable[..., Any], state: Array | None, *args: object) -> Any:
        """Run it; as of every Function, nothing in it is recorded."""
        tensors = [arg for arg in args if isinstance(arg, Tensor)]
        if not any(tensor.requires_grad for tensor in tensors):
            warn("None of the inputs have requires_grad=True. Gradients will be None")
        ctx.call = function, state
        ctx.inputs = [None if isinstance(arg, Tensor) else (arg,) for arg in args]
        ctx.save_for_backward(*tensors)
        return function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> Any:
        """Run it again, recorded, and let the gradients flow through that."""
        refuse(mode.running is None or mode.running.needed is not None, NO_INPUTS)
        tensors = iter(ctx.saved_tensors)
        inputs = [constant[0] if constant else next(tensors) for constant in ctx.inputs]
        leaves = [arg.detach().requires_grad_(arg.requires_grad) if isinstance(arg, Tensor) else arg for arg in inputs]
        outputs = again(*ctx.call, *leaves)
        outputs = (outputs,) if isinstance(outputs, Tensor) else outputs
        both = [(o, grads[i]) for i, o in enumerate(outputs) if isinstance(o, Tensor) and o.requires_grad]
        refuse(not both, "none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([output for output, _ in both], [grad for _, grad in both])
        return (None, None, *(leaf.grad if isinstance(leaf, Tensor) else None for leaf in leaves))


def checkpoint(
    function: Callable[..., Any],
    *args: object,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
    context_fn: Callable[[], tuple[Any, Any]] | None = None,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: object,
) -> Any:
    """Call a function whose operations keep nothing for backward: it is run again there.

    ``context_fn`` gives what it is called within, at first and again.
    """
    if use_reentrant is None:
        warn(
            "torch.utils.checkpoint: "
            + NOT_SAID.format(
                "Starting in PyTorch 2.9, calling checkpoint without use_reentrant will raise an exception."
            )
        )
    state = default_generator.state if preserve_rng_state else None
    if use_reentrant is not False:
        refuse_any(
            {
                "Passing `context_fn` or `debug` is only supported when use_reentrant=False.": context_fn is not None
                or debug,
                "Unexpected keyword arguments: " + ",".join(kwargs): kwargs,
            },
            ValueError,
        )
        return CheckpointFunction.apply(function, state, *args)
    if not mode.recording:
        return function(*args, **kwargs)
    refuse(
        determinism_check not in ("default", "none"),
        f"determinism_check should be one of ['default', 'none'], but got {determinism_check}",
        ValueError,
    )
    frame, around = Frame(function, state, args, kwargs), nullcontext()
    frame.checks, frame.stops_early = determinism_check == "default", frame.stops_early and early_stop
    if context_fn is not None:
        around, frame.around = context_fn()
    with saved_tensors_hooks(frame.pack, frame.unpack), around:
        return function(*args, **kwargs)


def checkpoint_sequential(
    functions: Sequential | Sequence[Callable[..., Any]],
    segments: int,
    input: object,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
) -> Any:
    """Call functions one after the other, as so many checkpoints, the last ones as they are."""
    if use_reentrant is None:
        warn(
            "torch.utils.checkpoint.checkpoint_sequential: "
            + NOT_SAID.format("In version 2.9 we will raise an exception if use_reentrant is not passed.")
        )
    functions = list(functions.children()) if isinstance(functions, Sequential) else functions
    size = len(functions) // segments
    for start in range(0, size * (segments - 1), size):
        input = checkpoint(
            Sequential(*functions[start : start + size]).forward,
            input,
            use_reentrant=use_reentrant is not False,
            preserve_rng_state=preserve_rng_state,
        )
    for function in functions[size * (segments - 1) :]:
        input = function(input)
    return input


__getattr__ = absent("torch.utils.checkpoint")
