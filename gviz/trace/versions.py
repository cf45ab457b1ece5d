"""What tensors were before a program wrote them: a graph that was recorded by then is of those numbers.

Operations are numbered in the order of recording, by gviz's engine and by PyTorch. So it is enough to note, at each
write, the numbers that it overwrites and which operation is the next one: without writes nothing is done.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple
from weakref import ref

from gviz.graphs import MIXED, NOW, Moment
from gviz.graphs.numbers import FEW_ELEMENTS, Numbers
from gviz.trace.facts import ByTensor, flat, recall, remember
from gviz.trace.listening import ENGINE, Observer
from gviz.trace.records import KEY
from gviz.walk import NodeLike, TensorLike, grad_fn, gradient, graph_nodes, numbers, saved_value

WRITE, LATE = 0.5, 0.001
"""Times are numbers of operations: how far before the next one the first write is put, and what has been last."""

MOST_LENT = 100
"""Small tensors, the last ones, of which it is looked whether numpy has written their memory."""

ROOM = 100_000
"""Numbers that are kept before it is looked which of them a graph that lives may still need."""


class Overwritten(NamedTuple):
    """What a tensor was until a write.

    Args:
        until: when the write was, as a number among those of operations: these have seen the numbers if theirs are
            smaller. Passes and writes between two operations lie between their numbers, in order.
        numbers: None where they are not known any more.
        is_counted: whether the write counts as one, so that backward refuses a tensor that was saved; not by ``.data``.
        after: what the last write then has left of a leaf; None where it is not known.
    """

    until: float
    numbers: Numbers | None
    is_counted: bool = True
    after: Numbers | None = None


class Versions(Observer):
    """The numbers that a program's writes have overwritten.

    Args:
        engine: the module that the program knows as torch: gviz's engine, or PyTorch.
        living: gives the tensors that a picture may still be of; it is asked when much is kept.
    """

    def __init__(self, engine: ModuleType, living: Callable[[], Iterable[Any]]) -> None:
        self.engine, self.living = engine, living
        self.before: ByTensor[list[Overwritten]] = {}
        self.shared: ByTensor[
            tuple[Any, bool]
        ] = {}  # of one that tells of no base: weakly what it shares, and whether writes count
        self.lent: ByTensor[
            tuple[float, Numbers | None]
        ] = {}  # of those with arrays on their memory: what they were, and when
        self.large: ByTensor[tuple[int, Numbers]] = {}  # the numbers of large tensors that nobody has written since
        self.size, self.room = 0, ROOM
        self.start = self.last = self.current = next_number(engine)
        self.following, self.passes = (
            0,
            0,
        )  # the number of the next operation, and the passes that were called before it

    # ---------------------------------------------------------------- being told
    def has_shared(self, tensor: Any, result: Any, *, is_counted: bool) -> None:
        """Note a tensor on the memory of another one that PyTorch does not name as its base."""
        owner, counts = self.owner(tensor)
        remember(self.shared, result, (ref(owner), is_counted and counts))

    def has_lent(self, tensor: Any) -> None:
        """Note the numbers of a tensor whose memory numpy may write from now on."""
        owner, _ = self.owner(tensor)
        if owner.numel() <= FEW_ELEMENTS and recall(self.lent, owner) is None:
            remember(self.lent, owner, (self.time(), numbers(owner)))
        if len(self.lent) > MOST_LENT:
            del self.lent[next(iter(self.lent))]

    def look_at_lent(self, until: float, since: float, ids: Collection[int] | None = None) -> None:
        """Note which tensors numpy has written since they were looked at last, when nobody knows.

        Args:
            until: when a write has been at the latest.
            since: from when on another one may come.
            ids: the identities of those to look at; None for all.
        """
        with self.listener.quiet():
            lent = [one for key, one in self.lent.items() if ids is None or key in ids]
            for owner, (last, before) in [(own, state) for one, state in lent if (own := one()) is not None]:
                after = numbers(owner)
                if before is not None and after != before:
                    versions = recall(self.before, owner) or []
                    if not versions or versions[-1].until < last:
                        versions += [Overwritten(last, before, is_counted=False)]
                    remember(self.before, owner, [*versions, Overwritten(until, None, is_counted=False)])
                remember(self.lent, owner, (since, after))

    def was_used(self, tensors: Iterable[Any], node: Any) -> None:
        """Note the numbers of tensors that numpy may write, now that an operation has used them."""
        number = node._sequence_nr()  # noqa: SLF001 - PyTorch's own name
        self.look_at_lent(number - LATE, number + WRITE, {*map(id, tensors)})

    def owner(self, tensor: Any) -> tuple[Any, bool]:
        """Return the tensor that the memory of another is known by, and whether writes count there, too."""
        is_counted = True
        while True:
            base = tensor._base  # noqa: SLF001 - PyTorch's own name, as are those below
            if base is None and (share := recall(self.shared, tensor)) is not None:
                base, is_counted = share[0](), share[1] and is_counted
            if base is None:
                return tensor, is_counted
            tensor = base

    def now(self) -> int:
        """Return the number of the next operation: the same one as long as none is recorded."""
        number = next_number(self.engine)
        if number != self.last + self.listener.is_own:  # gviz's engine counts the question, too
            self.current = number
        self.last = number
        return self.current

    def time(self, *, of_pass: bool = False) -> float:
        """Return the time of a write that comes now, or of a pass: one comes after all writes before it."""
        now = self.now()
        if now != self.following:
            self.following, self.passes = now, 0
        time = now - 1 / (2 + 2 * self.passes + of_pass)
        self.passes += of_pass
        return time

    def at_pass(self) -> float:
        """Return when a pass is called: after the writes and operations before, and before all that follow."""
        before, at = self.time(), self.time(of_pass=True)
        self.look_at_lent(before, self.time())
        return at

    def will_write(self, tensor: Any, *, is_counted: bool = True) -> None:
        """Note what a tensor is before it is written, if something was recorded since it was written last."""
        owner, counts = self.owner(tensor)
        until, is_counted = self.time(), is_counted and counts
        versions = recall(self.before, owner)
        if versions and versions[-1].until == until:
            versions[-1] = versions[-1]._replace(is_counted=versions[-1].is_counted and is_counted)
        elif self.following != self.start:
            if versions is None:
                versions = list[Overwritten]()
                remember(self.before, owner, versions)
            versions.append(Overwritten(until, self.overwritten(owner), is_counted))
            self.size += room_taken(versions[-1])
            if self.size > self.room:
                self.forget()
        self.large.pop(id(owner), None)
        if recall(self.lent, owner) is not None:  # what it is after this write is seen when it is looked at next
            remember(self.lent, owner, (until, None))

    def before_write(self, tensor: TensorLike) -> Numbers | None:
        """Return what a tensor without a gradient was before its last write; None where that is not known."""
        following = tensor.grad_fn.next_functions if tensor.grad_fn is not None else ()
        versions = recall(self.before, self.owner(tensor)[0]) if following and following[0][0] is None else None
        return versions[-1].numbers if versions else None

    def is_as_before(self, leaf: TensorLike) -> bool:
        """Return whether the last write has left a leaf as it was, as a step along a gradient of zeros does.

        False where that is not sure: of a large one only what is the same number everywhere is known.
        """
        versions = recall(self.before, self.owner(leaf)[0]) if leaf.requires_grad and leaf.grad_fn is None else None
        before = (versions[-1].after or versions[-1].numbers) if versions else None
        if not versions or before is None or not (before.elements or before.summary.smallest == before.summary.largest):
            return False
        versions[-1] = versions[-1]._replace(after=self.overwritten(leaf))
        return versions[-1].after == before

    def overwritten(self, tensor: Any) -> Numbers | None:
        """Return the numbers of a tensor; None for a large one that takes no gradient, which may be written often."""
        try:
            with self.listener.quiet():
                return self.numbers_of(tensor) if tensor.requires_grad or tensor.numel() <= FEW_ELEMENTS else None
        except (RuntimeError, ValueError):  # PyTorch's for a parameter that has no size yet
            return None

    def numbers_of(self, tensor: Any, most: int = FEW_ELEMENTS) -> Numbers:
        """Return the numbers of a tensor; those of a large one are computed anew only after a write."""
        if tensor.numel() <= FEW_ELEMENTS or tensor.is_inference():
            return numbers(tensor, most)
        version, entry = tensor._version, recall(self.large, tensor)  # noqa: SLF001
        if entry is None or entry[0] != version:
            entry = version, numbers(tensor, most)
            remember(self.large, tensor, entry)
        return entry[1]

    def forget(self) -> None:
        """Keep only the numbers that a living graph has used: a loop may overwrite very many."""
        with self.listener.quiet():
            nodes = [one for one, leaf in graph_nodes(self.living()).items() if leaf is None]
            alive = sorted({one._sequence_nr() for one in nodes})  # noqa: SLF001 - PyTorch's own name
        for _, versions in [*self.before.values()]:
            needed, since = list[Overwritten](), 0.0
            for one in versions:
                is_needed = bisect_left(alive, since) < bisect_left(alive, one.until)
                version = one if is_needed else one._replace(numbers=None)
                if needed and needed[-1].numbers is version.numbers is None:
                    needed.pop()
                needed.append(version)
                since = one.until
            versions[:] = needed
        self.size = sum(room_taken(one) for _, versions in self.before.values() for one in versions)
        self.room = max(ROOM, 2 * self.size)

    # ---------------------------------------------------------------- telling
    def moments(
        self, roots: Iterable[Any], tensors: Iterable[Any], at: float, at_backward: Mapping[int, Moment]
    ) -> dict[int, Moment]:
        """Return what tensors were when the operations of a graph used them, as far as they were written since.

        Args:
            roots: the tensors that the graph is below.
            tensors: the tensors that have a name.
            at: when backward was called, as :meth:`at_pass` has told; 0 where it was not.
            at_backward: what tensors were then.
        """
        now = self.time()
        self.look_at_lent(now, now)
        nodes = graph_nodes(roots) if self.before else {}
        if not nodes:
            return {}
        leaves: dict[int, list[Any]] = {}  # a leaf that was given another dtype has several nodes
        for node, leaf in nodes.items():
            leaves.setdefault(id(leaf), []).append(node)
        ends = [leaf for leaf in nodes.values() if leaf is not None]
        overwritten = [
            (one, versions)
            for one in {id(one): one for one in (*ends, *tensors)}.values()
            if (versions := recall(self.before, self.owner(one)[0]))
        ]
        makers = {id(one): leaves.get(id(one), [grad_fn(one)]) for one, _ in overwritten}
        users = uses_of(nodes, set(makers), {maker for own in makers.values() for maker in own if maker is not None})
        moments, grads = {}, {id(gradient(leaf)) for leaf in ends}
        for one, versions in overwritten:
            uses: set[float] = {
                use for key in (id(one), *makers[id(one)]) if key is not None for use in users.get(key, ())
            }
            then = at_backward.get(id(one), Moment())
            if not uses and (one.requires_grad or id(one) in grads or "" in users):  # it is not in the graph
                uses = {at or max(users[None])}
            # without a trace nobody tells by which operations one without a gradient was used that is not saved
            moments[id(one)] = self.moment(one, versions, uses or users[None], then, at, is_sure=bool(uses))
        return {key: one for key, one in moments.items() if one is not None}

    def moment(
        self,
        tensor: Any,
        versions: list[Overwritten],
        uses: Iterable[float],
        moment: Moment,
        at: float,
        *,
        is_sure: bool,
    ) -> Moment | None:
        """Return what a tensor was when it was used; None if it is the same now.

        Args:
            tensor: which.
            versions: what was written over.
            uses: the numbers of the operations that have used it, or may have.
            moment: what it was when backward was called.
            at: when that was.
            is_sure: whether these operations have used it.
        """

        def place_of(number: float) -> int:
            return bisect_right(versions, number, key=lambda version: version.until)

        def numbers_at(place: int) -> Numbers | None:
            if moment.numbers is not None and place == at_backward:
                return moment.numbers
            return self.seen_by(tensor, versions[place].numbers) if place < len(versions) else numbers(tensor)

        places, at_backward = {*map(place_of, uses)}, place_of(at) if at else -1
        first = min(places)
        if first == len(versions):
            return None
        own, *others = map(numbers_at, sorted(places))
        if own is None or (others and not is_sure):
            return moment._replace(numbers=None, remark=NOW)
        is_hidden = any(not one.is_counted for one in versions[first : at_backward if at else first])
        if is_hidden or any(one != own for one in others):
            return moment._replace(numbers=Numbers(own.shape, own.dtype), remark=MIXED)
        return moment._replace(numbers=own)

    def seen_by(self, tensor: Any, memory: Numbers | None) -> Numbers | None:
        """Return the numbers of a tensor on a memory that had these; None where that cannot be told."""
        owner, _ = self.owner(tensor)
        if owner is tensor or memory is None:
            return memory
        if memory.elements is None or not owner.is_contiguous() or str in map(type, memory.elements):
            return None
        array = self.engine.tensor(memory.elements, dtype=owner.dtype)
        return numbers(array.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset()))

    def outdated(self, roots: Iterable[Any]) -> set[NodeLike]:
        """Return the operations that saved a tensor which was overwritten since: backward would use new numbers."""
        outdated = set[NodeLike]()
        for node, leaf in graph_nodes(roots).items() if self.before else ():
            for one in saved_tensors(node) if leaf is None else ():
                versions = recall(self.before, self.owner(one)[0]) or [Overwritten(0, None)]
                if versions[-1].until > node._sequence_nr():  # noqa: SLF001
                    outdated.add(node)
        return outdated


def uses_of(nodes: Iterable[Any], tensors: Collection[int], makers: Collection[Any]) -> dict[Any, list[int]]:
    """Return the numbers of the operations that use some tensors.

    Args:
        nodes: the operations.
        tensors: the identities of tensors that operations have saved.
        makers: the operations that made others, or lead to leaves.

    Returns:
        By the identity of a tensor, and by its maker, which is a use, too; by None those of all, by "" those of
        which a trace tells what they were called with: others are parts of these.
    """
    uses: dict[Any, list[int]] = {None: []}
    for node in nodes:
        if type(node).__name__ == "AccumulateGrad":
            continue
        number = node._sequence_nr()  # noqa: SLF001 - PyTorch's own name
        users = [one for one in (node, *(following for following, _ in node.next_functions)) if one in makers]
        record = node.metadata.get(KEY)  # of a trace, if there is one
        constants = record.tensors() if record is not None else []
        for key in {
            None,
            *[""] * (record is not None),
            *users,
            *(id(one) for one in (*constants, *saved_tensors(node)) if id(one) in tensors),
        }:
            uses.setdefault(key, []).append(number)
    return uses


def saved_tensors(node: Any) -> list[Any]:
    """Return the tensors that an operation has saved and not freed, also those that were written since."""
    values = flat([saved_value(node, name) for name in raw_names(node.__class__)])
    return [one for one in (getattr(value, "data", None) for value in values) if hasattr(one, "grad_fn")]


@cache
def raw_names(kind: type[object]) -> list[str]:
    """Return the names of the ``_raw_saved_`` attributes of a class of nodes."""
    return [name for name in sorted(dir(kind)) if name.startswith("_raw_saved_")]


def room_taken(version: Overwritten) -> int:
    """Return how many numbers a version holds, and some more for itself."""
    return 8 + len((version.numbers and version.numbers.elements) or ())


def next_number(engine: ModuleType) -> int:
    """Return the number that the next operation has, or, since gviz's engine counts the question, a smaller one."""
    if engine.__name__ == ENGINE:
        return int(import_module("gviz.autograd.node").next_seq())
    return int(engine.autograd._get_sequence_nr())  # noqa: SLF001 - PyTorch's own name
