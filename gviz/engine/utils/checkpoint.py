"""``torch.utils.checkpoint``: what a function's operations save is not kept, but computed again when backward asks for it.

Without reentrance hooks stand for the saved tensors, and run the function anew, with the random numbers that it had, up to the
last tensor that is needed. With it the function is one node, which runs it and its backward in its own backward.
Source: https://docs.pytorch.org/docs/2.13/checkpoint.html
"""

from __future__ import annotations

from contextlib import contextmanager, nullcontext, suppress
from math import inf
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, ref

from gviz.autograd.modes import enable_grad, mode, no_grad
from gviz.autograd.requests import backward
from gviz.autograd.saved import Packed, keep, unpack
from gviz.autograd.tensor import Tensor, edge_of
from gviz.engine.autograd.function import Function
from gviz.engine.autograd.packing import packs, saved_tensors_hooks
from gviz.engine.nn.containers import Sequential
from gviz.engine.random import default_generator, fork_rng
from gviz.numbers.words import absent, warn

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["CheckpointError", "CheckpointFunction", "checkpoint", "checkpoint_sequential", "set_checkpoint_early_stop"]

NOT_SAID = (
    "the use_reentrant parameter should be passed explicitly. {} use_reentrant=False is recommended, but if you need to "
    "preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for more details on the "
    "differences between the two variants."
)
RAISES = "Starting in PyTorch 2.9, calling checkpoint without use_reentrant will raise an exception."
WILL_RAISE = "In version 2.9 we will raise an exception if use_reentrant is not passed."
NO_INPUTS = (
    "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` parameter to "
    ".backward(). To resolve this error, you can either set use_reentrant=False, or call .backward() without passing the "
    "`inputs` argument."
)
TWICE = (
    "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. If you are calling "
    "ctx.saved_tensors in backward, make sure to do so only once. Otherwise please open an issue with details on your use case."
)
FEWER = (
    "torch.utils.checkpoint: A different number of tensors was saved during the original forward and recomputation.\nNumber of "
    "tensors saved during forward: {}\nNumber of tensors saved during recomputation: {}.\n"
)
MORE = "torch.utils.checkpoint: trying to save more tensors during recomputation than during the original forward pass.\n"
OTHERS = (
    "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during the forward "
    "pass.\n"
)

NO_NODE: Any = SimpleNamespace(_seq=inf)
"""What an input belongs to that no operation has saved."""

class CheckpointError(RuntimeError):
    """The function did something else when it ran again."""

class Enough(Exception):
    """All that was saved is there again."""

class Early:
    """Whether to stop as soon as all is there again, whatever the call says."""

    wanted: bool | None = None

@contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Within the block, functions are to be run again to their end, or not."""
    before, Early.wanted = Early.wanted, enable
    try:
        yield
    finally:
        Early.wanted = before

def again(function: Any, preserve: bool, state: Any, context: Any, *args: Any, **kwargs: Any) -> Any:
    """Run a function once more, recorded, with the random numbers that it had."""
    before, mode.formula = mode.formula, False
    try:
        with fork_rng(enabled=preserve), enable_grad(), context:
            if preserve:
                default_generator.state = state
            return function(*args, **kwargs)
    finally:
        mode.formula = before

# ------------------------------------------------------------------ with hooks
class Holder:
    """What an operation has saved in place of a tensor: the tensor computed again, for each backward pass that has done so."""

    def __init__(self) -> None:
        self.found = WeakKeyDictionary[Any, Any]()

class Frame:
    """One call of a checkpointed function: how to run it again, and what its operations have saved."""

    def __init__(self, run: Any, args: Any, early_stop: bool, checked: bool) -> None:
        self.run, self.early_stop, self.checked, self.is_done, self.loose = run, early_stop, checked, False, False
        self.holders, self.facts, self.ran = list[Any](), list[Any](), WeakKeyDictionary[Any, int]()
        self.args = [Input(arg) if isinstance(arg, Tensor) else arg for arg in args]

    def pack(self, tensor: Any) -> Holder:
        """Save nothing of a tensor but its shape and type."""
        holder = Holder()
        self.holders.append(ref(holder))
        self.facts.append({"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device})
        return holder

    def unpack(self, holder: Holder) -> Any:
        """Return the tensor; the first one in a backward pass has all of them computed."""
        task = mode.running or Early()  # a key of its own outside of a pass
        if task not in self.ran:
            self.ran[task] = 0
            args = [unpack(NO_NODE, arg.kept) if isinstance(arg, Input) else arg for arg in self.args]
            with saved_tensors_hooks(lambda tensor: self.take(tensor, task), lambda tensor: tensor), suppress(Enough):
                self.run(*args)
            self.compare(task)
        if task not in holder.found:
            raise CheckpointError(TWICE)
        return holder.found.pop(task)

    def take(self, tensor: Any, task: Any) -> Any:
        """Keep a tensor that was computed again where it is waited for. CheckpointError: one too many."""
        tensor, place = tensor.detach() if tensor.requires_grad else tensor, self.ran[task]
        self.ran[task] = place + 1
        if place >= len(self.holders):
            if self.is_done:
                raise CheckpointError(MORE)
            self.loose = True  # backward within the function itself
            return tensor
        if (holder := self.holders[place]()) is not None:
            holder.found[task] = tensor
        if self.early_stop and place + 1 == len(self.holders):
            raise Enough
        return tensor

    def compare(self, task: Any) -> None:
        """Refuse what is not as it was saved."""
        if self.loose:
            return
        if self.ran[task] != len(self.holders):
            raise CheckpointError(FEWER.format(len(self.holders), self.ran[task]))
        other = ""
        for place, (holder, was) in enumerate(zip(self.holders, self.facts, strict=True)):
            tensor = (holder() or Holder()).found.get(task)
            found = tensor if tensor is None else {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}
            if self.checked and found not in (None, was):
                other += f"tensor at position {place}:\nsaved metadata: {was}\nrecomputed metadata: {found}\n"
        if other:
            raise CheckpointError(f"{OTHERS}{other}.\n")

class Input:
    """A tensor that the function was given, saved as an operation saves it, in a checkpoint around this one too."""

    def __init__(self, tensor: Any) -> None:
        outer: Any = next(filter(packs, mode.notes), None)
        self.kept = keep(tensor)
        if outer is not None:
            with no_grad():
                self.kept = Packed(outer.__self__.pack_hook(tensor), outer.__self__.unpack_hook, edge_of(tensor), None)

# ------------------------------------------------------------------ as one node
class CheckpointFunction(Function):
    """The function as one node, whose backward runs it again and then its backward."""

    @staticmethod
    def forward(ctx: Any, function: Any, preserve: bool, *args: Any) -> Any:
        """Run it, unrecorded."""
        tensors = [arg for arg in args if isinstance(arg, Tensor)]
        if not any(tensor.requires_grad for tensor in tensors):
            warn("None of the inputs have requires_grad=True. Gradients will be None")
        ctx.call = function, preserve, preserve and default_generator.state
        ctx.inputs = [None if isinstance(arg, Tensor) else (arg,) for arg in args]
        ctx.save_for_backward(*tensors)
        with no_grad():
            return function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """Run it again, recorded, and let the gradients flow through that."""
        if mode.running is None or mode.running.needed is not None:
            raise RuntimeError(NO_INPUTS)
        tensors = iter(ctx.saved_tensors)
        inputs = [given[0] if given else next(tensors) for given in ctx.inputs]
        leaves = [arg.detach().requires_grad_(arg.requires_grad) if isinstance(arg, Tensor) else arg for arg in inputs]
        outputs = again(*ctx.call, nullcontext(), *leaves)
        outputs = (outputs,) if isinstance(outputs, Tensor) else outputs
        both = [(o, grads[i]) for i, o in enumerate(outputs) if isinstance(o, Tensor) and o.requires_grad]
        if not both:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([output for output, _ in both], [grad for _, grad in both])
        return (None, None, *(leaf.grad if isinstance(leaf, Tensor) else None for leaf in leaves))

# ------------------------------------------------------------------ both
def no_contexts() -> Any:
    """Return what does nothing around the function, and nothing around its second run."""
    return nullcontext(), nullcontext()

noop_context_fn = no_contexts

def checkpoint(function: Any, *args: Any, use_reentrant: bool | None = None, context_fn: Any = no_contexts,
               determinism_check: str = "default", debug: bool = False, early_stop: bool = True, **kwargs: Any) -> Any:
    """Call a function whose operations keep nothing for backward: it is run again there."""
    if use_reentrant is None:
        warn("torch.utils.checkpoint: " + NOT_SAID.format(RAISES))
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant is not False:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not no_contexts or debug is not False:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return CheckpointFunction.apply(function, preserve, *args)
    if determinism_check not in ("default", "none"):
        raise ValueError(f"determinism_check should be one of ['default', 'none'], but got {determinism_check}")
    around, around_again = context_fn()
    state = preserve and default_generator.state
    if not mode.on:
        return function(*args, **kwargs)
    stops = early_stop if Early.wanted is None else Early.wanted
    run = lambda *args: again(function, preserve, state, around_again, *args, **kwargs)  # noqa: E731 - one line
    frame = Frame(run, args, stops, determinism_check == "default")
    with saved_tensors_hooks(frame.pack, frame.unpack), around:
        result = function(*args, **kwargs)
    frame.is_done = True
    return result

def checkpoint_sequential(functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any) -> Any:
    """Call functions one after the other, as so many checkpoints, the last ones as they are."""
    if use_reentrant is None:
        warn("torch.utils.checkpoint.checkpoint_sequential: " + NOT_SAID.format(WILL_RAISE))
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    functions = list(functions.children()) if isinstance(functions, Sequential) else functions
    size = len(functions) // segments
    for start in range(0, size * (segments - 1), size):
        part = Sequential(*functions[start : start + size]).forward
        input = checkpoint(part, input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    for function in functions[size * (segments - 1) :]:
        input = function(input)
    return input

__getattr__ = absent("torch.utils.checkpoint")
