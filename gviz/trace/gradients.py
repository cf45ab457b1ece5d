"""What happens to the ``.grad`` of leaves over time: backward brings it, a step uses it, the program takes it away."""

from __future__ import annotations

import dis
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from functools import lru_cache, partial, wraps
from itertools import dropwhile, islice, takewhile
from traceback import walk_stack
from types import CodeType
from typing import Any
from weakref import ref

from gviz.graphs import Place
from gviz.graphs.numbers import Numbers
from gviz.trace.facts import ByTensor, recall, remember
from gviz.trace.frames import Chain, RunningProgram
from gviz.trace.listening import Listener, Observer, ParameterGroups, is_used_up
from gviz.trace.modules import EngineModule
from gviz.trace.records import CallRecord
from gviz.walk import TensorLike, all_finite, memory_of, numbers

EMPTIES = {"zero_", "fill_", "detach_", "requires_grad_"}
"""Methods by which a program empties a gradient that it has read, or prepares that."""

CONSTANTS = ("LOAD_CONST", "LOAD_SMALL_INT", "BUILD_SLICE")
"""How Python, 3.11 to 3.14, comes to a constant index."""

BACKWARD, LOADS = (
    (".autograd.backward", ".autograd.requests.backward"),
    (".nn.init.", ".load_state_dict", ".reset_parameters"),
)
"""Functions that call hooks; and those that load the numbers of a module, or give it those that it begins with."""

REPLACES = {"copy_", "data", "__setitem__", "fill_", "zero_", "normal_", "uniform_"}
"""Writes that do not depend on what was there before."""


class GradientRecord:
    """What has happened to the ``.grad`` of a leaf over time.

    By the call of backward that has brought them, it counts the gradients that came, those that a step used before
    another came or they were taken away, and those that each line has taken away unused; and how often each call had
    run when an optimizer of the leaf stepped last. By the line of a step it counts those that it was the second one to
    use, or a later one, though there had been a backward, which has brought none; by a line that clips gradients, how
    often it found none, or clipped one that a step had used, and how often one was divided by the scale of the loss
    after it was clipped there. A gradient with nan or inf has begun where the leaf was finite when that came; whether a
    step has made the leaf so with one is noted, too.

    Args:
        leaf: weakly.
    """

    __slots__ = (
        "arrivals", "before_clip", "by_optimizer", "chain", "cleared_at", "cleared_in", "clipped_at", "clips", "first_norm",
        "first_version", "given_at", "has_begun", "idle_steps", "is_early", "is_finite", "is_stale", "is_zero", "leaf",
        "leaf_version",
        "scaled", "set_at", "spoiled_at",
        "spread_at", "stepped_after", "stepped_at", "stepped_in", "steps", "still_steps", "took_bad", "twice", "used",
        "used_sum", "uses", "was_read", "was_used", "wasted",
    )  # fmt: skip

    def __init__(self, leaf: Any) -> None:
        self.leaf, self.cleared_in = ref(leaf), 0
        self.steps = self.still_steps = self.idle_steps = self.uses = 0
        self.first_version = self.leaf_version = self.version
        self.was_read = self.was_used = self.is_stale = self.used_sum = self.has_begun = self.took_bad = False
        self.is_finite = True  # whether the gradient is, since a backward brought it
        # Whether a step, in a hook, has used what a backward brings that has not ended; and whether backward has left
        # nothing but zeros, and nobody has written anything else.
        self.is_early = self.is_zero = False
        self.arrivals, self.used, self.stepped_in = (Counter[Chain]() for _ in range(3))
        self.wasted = defaultdict[Chain, Counter[Place]](Counter)
        self.twice, self.clips, self.scaled = (Counter[Place | None]() for _ in range(3))
        # How many steps of each optimizer of the leaf, by its id, have found no gradient; below 0 if one has found one.
        self.by_optimizer = Counter[int]()
        self.first_norm: float | None = None  # of the leaf, when its first gradient came
        self.before_clip: tuple[Place | None, Numbers] | None = None  # a gradient that a step has used, and is clipped
        self.clipped_at: Place | None = None  # where one was clipped that a step was still to use
        # Where the backward was called that has come to it last; and the last of all before its optimizer's last step.
        self.chain, self.stepped_after = Chain(), Chain()
        self.cleared_at: Place | None = None  # where it was set to None, or to zeros
        # Where the program has given a gradient of its own; and where it had, when the last backward added to that.
        self.set_at: Place | None = None
        self.given_at: Place | None = None
        self.spoiled_at: Place | None = None  # where it has written nan or inf into one that was finite, as all were
        self.spread_at: Place | None = None  # where it has done so when others were not finite
        self.stepped_at: Place | None = None  # where an optimizer of the leaf stepped last

    @property
    def version(self) -> int:
        """The version of the leaf now: another one, if it was written; -1 if it is gone, or of inference mode."""
        leaf = self.leaf()
        return -1 if leaf is None or leaf.is_inference() else leaf._version  # noqa: SLF001 - PyTorch's own name

    @property
    def has_had_gradient(self) -> bool:
        """Whether a gradient has come to the leaf, or the program has given it one."""
        return bool(self.chain) or self.set_at is not None

    @property
    def has_updated(self) -> bool:
        """Whether the leaf was written since a backward brought the gradient, as by a step."""
        return self.was_used or self.version != self.leaf_version

    def note_arrival(self, leaf: Any, chain: Chain, *, has_optimizer: bool) -> None:
        """Note that a backward has brought a gradient, be it that it was added to one that was there.

        Args:
            leaf: what has the gradient.
            chain: where backward was called.
            has_optimizer: whether an optimizer has the leaf, and its step() does not run: that alone updates the leaf
                then, and what the program writes may be taken back, as what is added to it for one loss.
        """
        self.first_norm = numbers(leaf).norm if self.first_norm is None else self.first_norm
        self.arrivals[chain] += 1
        is_left = bool(self.chain) and self.cleared_at is None and not self.is_zero  # to zeros nothing is added
        self.is_stale = (is_left and not self.set_at) and (
            self.is_stale or (self.was_used if has_optimizer else self.has_updated)
        )
        self.given_at = None if self.cleared_at else self.set_at
        self.chain, self.leaf_version, self.was_read = chain, self.version, False
        self.was_used, self.is_early, self.uses = self.is_early, False, int(self.is_early)
        self.cleared_at = self.set_at = self.before_clip = self.clipped_at = None


class Gradients(Observer):
    """The gradients of leaves; without a backward that is told of, nothing is looked at.

    Args:
        frames: what is running of the program.
    """

    def __init__(self, frames: RunningProgram) -> None:
        self.frames, self.chain, self.is_finite = frames, Chain(), True
        self.calls = Counter[Chain]()  # how often backward has come to its end, by where it was called
        self.is_complete = True  # whether the program has come to its end, be it by an error
        # The run of a line when the first backward, or autograd.grad, had ended; how many steps had no gradient at all.
        self.first_run = self.last_run = self.idle_steps = 0
        self.records: ByTensor[GradientRecord] = {}  # of leaves
        self.by_memory: ByTensor[GradientRecord] = {}  # of gradients, and of tensors on their memory
        self.optimized: ByTensor[int] = {}  # of the tensors of optimizers: before which backward one got it, from 1 on
        self.made_at: dict[int, Place | None] = {}  # where each optimizer was made, by its id
        self.put_in: ByTensor[CallRecord | None] = {}  # the call that gave it to a module with parameters in optimizers
        self.asked_at: Place | None = None  # where autograd.grad was called last, be it by a function of torch.func
        # Of a backward: where those were made that stepped after it, and whether one of there has found a gradient.
        self.made_of = dict[Chain, dict[Place | None, bool]]()
        self.used = set[Chain]()  # the calls of backward of whose gradients steps, or the program, have used some
        self.stepping: ParameterGroups | None = None
        # The lines that have clipped gradients which a step was still to use; and those that clip what a generator
        # gives which has come to its end.
        self.clipping, self.clips_nothing = set[Place | None](), set[Place | None]()

    def attach(self, listener: Listener) -> None:
        """Begin to be told; also of what modules get."""
        super().attach(listener)
        nn = listener.engine.nn
        listener.replace(
            nn.utils, "clip_grad_norm_", wraps(nn.utils.clip_grad_norm_)(partial(self.clip, nn.utils.clip_grad_norm_))
        )
        if listener.is_own:
            admit = nn.Module._admit_

            def give(module: EngineModule, home: str, name: str, part: object, *, registered: bool = False) -> None:
                self.will_have(module, name, part)
                admit(module, home, name, part, registered=registered)

            listener.replace(nn.Module, "_admit_", give)
        else:
            hooks = nn.modules.module
            for register in (
                hooks.register_module_module_registration_hook,
                hooks.register_module_parameter_registration_hook,
            ):
                listener.undoing.callback(register(self.will_have).remove)

    def will_have(self, module: EngineModule, _: str, part: object) -> None:
        """Note the parameters of a part that a module gets, if optimizers have others of the module's, and not these.

        So are those noted that take the places of such.
        """
        own = module.parameters() if self.optimized and "_modules" in vars(module) else ()
        if any(recall(self.optimized, one) is not None or recall(self.put_in, one) is not None for one in own):
            for one in part.parameters() if isinstance(part, self.listener.engine.nn.Module) else [part]:
                if isinstance(one, self.listener.engine.nn.Parameter) and recall(self.optimized, one) is None:
                    remember(self.put_in, one, self.frames.note_call("parameter", is_new=False))

    def record_of(self, leaf: Any) -> GradientRecord:
        """Return the record of a leaf: a new one, if it has none."""
        record = recall(self.records, leaf)
        if record is None:
            remember(self.records, leaf, record := GradientRecord(leaf))
        return record

    def note_backward(
        self, leaves: Iterable[Any], chain: Chain, numbers_of: Callable[[Any], Numbers], *, is_finite: bool
    ) -> None:
        """Note a backward that has come to leaves.

        Args:
            leaves: the leaves.
            chain: where it was called.
            numbers_of: gives the numbers of a gradient, which are known already.
            is_finite: whether all it left is finite.
        """
        self.calls[chain] += 1
        self.chain, self.is_finite = chain, is_finite
        self.first_run, self.last_run = self.first_run or self.frames.runs, self.frames.runs
        for leaf in leaves:
            if leaf.grad is not None:
                record = self.record_of(leaf)
                record.note_arrival(
                    leaf,
                    self.chain,
                    has_optimizer=self.stepping is None and recall(self.optimized, leaf) is not None,
                )
                record.is_finite = is_finite or numbers(leaf.grad).is_finite
                record.has_begun = not record.is_finite and all_finite(leaf)
                about = numbers_of(leaf.grad).about  # of a large one, which takes long to look at
                record.is_zero = not (leaf.grad.is_sparse or (leaf.grad.any() if about is None else about.norm))
                remember(self.by_memory, leaf.grad, record)

    def has_parameters(self, optimizer: ParameterGroups) -> None:
        """Note the tensors of an optimizer that has got a group of them."""
        self.made_at[id(optimizer)] = (call := self.frames.note_call("add_param_group", is_new=False)) and call.place
        for one in optimizer.param_groups[-1]["params"]:
            remember(self.optimized, one, recall(self.optimized, one) or self.calls.total() + 1)

    def will_step(self, optimizer: ParameterGroups, *, has_closure: bool) -> None:  # noqa: ARG002 - the event's own
        """Note whose step has begun last: one that calls the step of another, or of its base class, has ended later."""
        self.stepping = optimizer

    def has_stepped(self, optimizer: ParameterGroups) -> None:
        """Note which gradients a step of an optimizer has used."""
        call, before = self.frames.note_call("step", is_new=False), self.idle_steps
        is_whole, self.stepping, calls, is_early = (
            self.stepping is optimizer,
            None,
            self.calls.copy(),
            is_running(BACKWARD),
        )
        self.idle_steps += 1
        (made := self.made_of.setdefault(self.chain, {})).setdefault(at := self.made_at.get(id(optimizer)), False)
        for one, rate in ((one, group.get("lr")) for group in optimizer.param_groups for one in group["params"]):
            remember(self.optimized, one, recall(self.optimized, one) or self.calls.total() + 1)
            record = self.record_of(one)
            has_gradient, is_still = one.grad is not None and (is_early or record.cleared_at is None), rate == 0
            if has_gradient:
                self.used.add(record.chain)
                record.by_optimizer[id(optimizer)] = -1
                self.clipping |= record.clips.keys() if record.was_used and not record.uses else set()
                record.used[record.chain] += not record.was_used
                record.twice[call and call.place] += (
                    (is_whole and not (is_early or is_still or record.is_zero))
                    and (record.uses == 1 or (record.uses > 1 and record.stepped_in != calls))  # a backward ran since
                )
                record.steps, record.still_steps = record.steps + 1, record.still_steps + is_still
                record.uses, record.used_sum = record.uses + is_whole, record.is_stale and not record.set_at
                record.was_used, record.is_early, self.idle_steps, made[at] = True, is_early, before, True
                record.took_bad |= record.has_begun and not (numbers(one.grad).is_finite or all_finite(one))
            else:
                record.idle_steps += 1
                record.by_optimizer[id(optimizer)] += record.by_optimizer[id(optimizer)] >= 0
            record.stepped_at, record.stepped_in, record.stepped_after = call and call.place, calls, self.chain
            if is_still or not has_gradient:
                record.first_version = record.version  # what this step has written is no update with a gradient

    def clip(self, function: Callable[..., Any], parameters: object, *args: object, **kwargs: object) -> Any:
        """Clip gradients, and note the line if there are none for it."""
        if is_used_up(parameters):
            self.clips_nothing.add((call := self.frames.note_call("clip_grad", is_new=False)) and call.place)
        return function(parameters, *args, **kwargs)

    def got_gradient(self, leaf: Any) -> None:
        """Note that somebody reads the gradient of a leaf: the caller's caller.

        It counts if the program does, to use it.
        """
        record = recall(self.records, leaf)
        if record is None:
            return
        frame: Any = sys._getframe(2)  # noqa: SLF001 - inspect.currentframe costs a large import and does just this
        frame = frame.f_back if frame.f_globals.get("__name__") == Observer.__module__ else frame  # PyTorch's mode
        if any(  # without a bound it asks for the norm alone
            "clip_grad" in one.f_code.co_name and one.f_locals.get("max_norm") != float("inf")
            for one, _ in islice(walk_stack(frame), 3)
        ):
            place = (call := self.frames.note_call("clip_grad", is_new=False)) and call.place
            if record.cleared_at is not None or not record.chain:
                record.clips.update([place] * (record.cleared_in == self.calls.total()))  # no backward has run since
            elif record.was_used:
                with self.listener.quiet():
                    record.before_clip = place, numbers(leaf.grad)
            else:
                record.clipped_at = place
                self.clipping.add(place)
        elif record.cleared_at is None and not record.was_read:
            record.was_read = self.frames.is_ours(frame.f_code.co_filename) and is_use(frame.f_code, frame.f_lasti)
            self.used |= {record.chain} if record.was_read else set()

    def gave_gradient(self, leaf: Any, value: Any) -> None:
        """Note that a leaf has been given a gradient: None, or a tensor."""
        record = recall(self.records, leaf) if value is None else self.record_of(leaf)
        if record is not None:
            is_new = value is not None and recall(self.by_memory, value) is not record  # not so after p.grad += noise
            if value is not None:
                remember(self.by_memory, value, record)
            self.note_write(record, value, is_new=is_new)

    def wrote(self, tensor: Any, name: str = "", *, is_unscaled: bool = False) -> None:
        """Note a write into a tensor that may be a gradient.

        Args:
            tensor: what was written.
            name: of the call.
            is_unscaled: whether a GradScaler has divided it by its scale.
        """
        if (record := recall(self.by_memory, tensor)) is not None:
            record.scaled[record.clipped_at] += is_unscaled
            self.note_write(
                record, tensor, is_new=name in REPLACES and (record.was_used or not record.has_had_gradient)
            )

    def wrote_leaf(self, leaf: Any, name: str, *, is_counted: bool) -> None:
        """Note a write into a leaf: whether it may be an update with its gradient.

        It is none if the leaf gets other numbers, as those of another tensor, and nobody has read the gradient. After a
        write of the program's, such as to take a step back, the next step is no second one with the same gradient.

        Args:
            leaf: what has the memory that was written.
            name: of the call.
            is_counted: whether the version of the leaf tells of it, which a write through ``.data`` does not change.
        """
        record = recall(self.records, leaf)
        if record is not None and self.stepping is None:
            record.uses = 0
        if record is not None and ((name in REPLACES and not record.was_read) or is_running(LOADS)):
            record.first_version, record.leaf_version = (
                one + (is_counted and one + 1 == record.version) for one in (record.first_version, record.leaf_version)
            )
        elif record is not None and not is_counted and record.has_had_gradient:
            self.used.add(record.chain)
            # of one that an optimizer has, its step() is the use
            record.was_used, record.first_version = record.was_used or recall(self.optimized, leaf) is None, -1

    def shared(self, tensor: Any, result: Any) -> None:
        """Note a tensor on the memory of another, which may be a gradient."""
        if (record := recall(self.by_memory, tensor)) is not None:
            remember(self.by_memory, result, record)

    def note_write(self, record: GradientRecord, value: Any, *, is_new: bool) -> None:
        """Note whether a gradient is gone now: None, or nothing but zeros; or not finite any more.

        Args:
            record: of its leaf.
            value: what is there now.
            is_new: whether that does not depend on what backward has brought: as where zeros are written, too.
        """
        is_sparse = getattr(value, "is_sparse", False)
        if value is not None and bool(value._nnz() if is_sparse else value.any()):  # noqa: SLF001 - PyTorch's own name
            if is_new or record.cleared_at is not None:
                record.set_at = (call := self.frames.note_call("grad", is_new=False)) and call.place
            if record.before_clip is not None and numbers(value) != record.before_clip[1]:
                record.clips[record.before_clip[0]] += 1
            record.cleared_at, record.before_clip, record.uses, record.is_zero = None, None, 0, False
            if record.is_finite and not (is_sparse or all_finite(value)):
                call, record.is_finite, leaf = self.frames.note_call("grad"), False, record.leaf()
                record.has_begun = leaf is not None and all_finite(leaf)
                if call is not None and self.is_finite:
                    record.spoiled_at = record.spoiled_at or call.place
                elif call is not None:
                    record.spread_at = record.spread_at or call.place
        elif (
            (record.has_had_gradient and record.cleared_at is None)
            and (value is None or not record.is_zero)  # to clip zeros takes nothing away
            and (call := self.frames.note_call("grad")) is not None
        ):
            record.cleared_at, record.cleared_in = call.place, self.calls.total()
            record.was_used = record.was_read or record.has_updated
            record.wasted[record.chain][call.place] += not record.was_used

    def lost(self, record: GradientRecord) -> Counter[Place]:
        """Return how many gradients that the last backward of a leaf has brought were taken away unused, by the lines.

        There are none if steps have used each gradient that another backward brought the leaf, and the last one's for
        other tensors, or would have, as it was another optimizer's turn, be it one that has made no step: in a GAN, the
        discriminator's gradients of the generator's loss are not meant to be used, nor are a model's where the program
        reads those of its data, as to attack it.
        """
        is_trained = any(record.used[one] == count for one, count in record.arrivals.items() if one != record.chain)
        is_of_others = not record.idle_steps and (
            record.chain in self.made_of
            or any(
                one.arrivals[record.chain] and not one.stepped_at and recall(self.optimized, leaf()) is not None
                for leaf, one in self.records.values()
            )
        )
        return Counter() if is_trained and (is_of_others or record.chain in self.used) else +record.wasted[record.chain]

    def optimizes(self, leaf: TensorLike) -> bool | None:
        """Return whether an optimizer has a leaf.

        None where there is no optimizer, or a step has used the gradient of a tensor with the leaf's memory, as of a
        flat one of all parameters.
        """
        place, _ = memory_of(leaf)
        larger = (
            memory_of(one)
            for at, record in self.records.values()
            if record.steps and (one := at()) is not None and one.numel() > leaf.numel()
        )
        return recall(self.optimized, leaf) is not None or (
            None
            if not self.made_at or any(start and start <= place < start + size for start, size in larger)
            else False
        )

    def copied(self, leaf: Any) -> Place | None:
        """Return where an optimizer stepped that has a tensor with the numbers of a leaf, without a gradient each time.

        None if there is none; one number in all places tells nothing, and a frozen parameter is to have no gradient.
        """
        own, parameter = numbers(leaf), self.listener.engine.nn.Parameter
        return next(
            (
                record.stepped_at
                for one, _ in [*self.optimized.values()]
                if (other := one()) is not None
                and (record := recall(self.records, other)) is not None
                and (record.idle_steps and not record.steps)
                and (other.requires_grad or not isinstance(other, parameter))
                and own.summary.smallest != own.summary.largest
                and other.shape == leaf.shape
                and numbers(other) == own
            ),
            None,
        )


@lru_cache
def is_use(code: CodeType, at: int) -> bool:
    """Return whether code uses the gradient that it reads there: not if it asks for None, or empties it."""
    following = [one for one in dis.get_instructions(code) if one.offset > at and one.argval != "data"]
    names = [str(one.argval) for one in takewhile(lambda one: one.opname in ("LOAD_ATTR", "LOAD_METHOD"), following)]
    after = [one.opname for one in dropwhile(lambda one: one.opname in CONSTANTS, following)]
    is_test = following[0].opname.endswith("NONE") or after[0] == "IS_OP"
    is_filled = after[0] == "STORE_SLICE" or (
        after[0] == "STORE_SUBSCR" and len(after) < len(following)
    )  # at a constant
    return not (is_test or is_filled or EMPTIES.intersection(names[-1:]))


def is_running(functions: Iterable[str]) -> bool:
    """Return whether one of some functions runs, by the ends of their names.

    >>> is_running(LOADS), is_running(["doctest.run"])
    (False, True)
    """
    return any(
        function in f"{one.f_globals.get('__name__')}.{one.f_code.co_name}"
        for one, _ in walk_stack(None)
        for function in functions
    )
