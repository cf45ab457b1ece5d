"""The operation that makes the first nan or inf, forward or backward, and the operand that brings it there.

Each result of a function, and each gradient, is summed up: a sum is finite where all elements are. A result that is not
is kept with its operands, so that from the loss one can go back to where nan began: an attention mask of -inf, which
softmax makes zeros of, is then none.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, NamedTuple

from gviz.graphs import Place
from gviz.trace.facts import ByTensor, recall, remember, tensors_in
from gviz.trace.listening import Observer
from gviz.trace.modules import order_of
from gviz.trace.versions import next_number
from gviz.training.running import EngineTensor, RunningModules, path_and_line
from gviz.walk import NodeLike, all_finite, graph_nodes, saved_names, saved_value

FEW_ARGUMENTS = 3
"""Of how many arguments at most those are told that are plain numbers: of more most are options."""

LAYER = "__call__"
"""The name under which gviz's engine tells of the call of a layer: its functions may be computed without being told of."""


class Operand(NamedTuple):
    """What an operation was called with: a sentence about it, nan or inf in it if there is, and what made those."""

    what: str
    kind: str = ""
    made_by: Event | None = None


class Event(NamedTuple):
    """A call whose result is not finite: the function, its line and module, nan or inf in the result, its operands."""

    name: str
    place: Place | None
    module: str
    kind: str
    operands: Sequence[Operand] = ()

    def origin(self) -> Event:
        """Return the first call that has made the like; or inf that became nan, if the program has not put it in."""
        event = self.start(self.kind)
        first = event.start()
        return event if any(one.kind for one in first.operands) else first  # that was put in, as by a mask

    def start(self, kind: str = "") -> Event:
        """Return the first call on one way to this one whose result was nan, or inf; "" for either of them."""
        kinds, event = (kind or "nan", kind or "inf"), self
        while before := next((one.made_by for one in event.operands if one.made_by and one.kind in kinds), None):
            event = before
        return event

    @property
    def where(self) -> str:
        """The line and the module, in words."""
        return f"{f' at {path_and_line(self.place)}' * bool(self.place)}{f', module {self.module}' * bool(self.module)}"

    @property
    def operand(self) -> str:
        """The operands that may have brought it: those that are not finite, else all."""
        texts = []
        for one in self.worst:
            text = one.what
            if one.made_by is not None:
                text += f", from {one.made_by.name}{one.made_by.where}"
            if one.made_by is not None and (first := one.made_by.start()) is not one.made_by:
                text += f"; before that {first.name}{first.where} gives {first.kind}: " + "; ".join(
                    operand.what for operand in first.worst
                )
            texts.append(text)
        return "; ".join(texts)

    @property
    def worst(self) -> Sequence[Operand]:
        """The operands that are not finite, else all."""
        return [one for one in self.operands if one.kind] or self.operands


class Hunt(Observer):
    """Looks at each result and each gradient until one is found that is not finite.

    Args:
        is_on: whether to look; not after the first was found.
    """

    def __init__(self, *, is_on: bool) -> None:
        self.is_on = is_on
        self.modules: RunningModules
        self.names: dict[int, str] = {}  # of parameters, by identity
        self.events: ByTensor[Event] = {}
        self.calls: list[tuple[int, Event]] = []  # the number of operations after each call
        self.of_leaves: dict[int, Event] = {}  # what has made the gradient of a leaf not finite

    def forget(self) -> None:
        """Forget the calls of a step that has ended, but not what has made the gradients that may be there still."""
        self.events.clear()
        self.calls.clear()

    def origin_of(self, tensor: EngineTensor) -> Event | None:
        """Return the call that nan or inf in a tensor comes from; None if it was not seen."""
        return event.origin() if (event := recall(self.events, tensor)) is not None else None

    def has_called(self, name: str, args: tuple[Any, ...], result: object, _: float) -> None:
        """Take note of a call: where it was, and with what if its result is not finite."""
        if not self.is_on:
            return
        tensor = self.listener.engine.Tensor
        results = [result] if isinstance(result, tensor) else [*tensors_in(result, tensor)]
        results += [args[0]] if name == "__setitem__" else []  # which returns None
        kinds, is_recorded = [*map(bad_number, results)], any(one.grad_fn is not None for one in results)
        is_known = name == LAYER and all(
            not kind or recall(self.events, one) is not None for one, kind in zip(results, kinds, strict=True)
        )
        if is_known or not (is_recorded or any(kinds)):  # a function within the layer has told of it
            return
        own = "a layer" if name == LAYER else name.strip("_")
        event = Event(own, self.modules.place(own), self.modules.path, "")
        for one, kind in zip(results, kinds, strict=True):
            if kind:
                event = event._replace(kind=kind, operands=self.operands(args, one))
                remember(self.events, one, event)
        if is_recorded:
            if self.events and not event.kind:  # the result is finite, and perhaps not what it was made from
                brought = (recall(self.events, one) for arg in args for one in tensors_in(arg, tensor))
                event = event._replace(operands=[Operand("", one.kind, one) for one in brought if one is not None])
            self.calls.append((next_number(self.listener.engine), event))

    def operands(self, args: Sequence[Any], result: EngineTensor) -> list[Operand]:
        """Return what a call was made with; of what it has written over only what had made that."""
        numbers = [arg for arg in args if isinstance(arg, float) and not math.isfinite(arg)]
        if numbers:  # as of a mask, which is often made
            return [Operand(f"it is called with {numbers[0]:g}", f"{abs(numbers[0]):g}")]
        names, operands = {**self.modules.names_here(), **self.names}, list[Operand]()
        for number, arg in enumerate(args, 1):
            if isinstance(arg, int | float) and len(args) <= FEW_ARGUMENTS:
                operands.append(Operand(f"argument {number} is {arg:g}"))
            for one in tensors_in(arg, self.listener.engine.Tensor):
                before = recall(self.events, one)
                if one is not result:
                    operands.append(
                        Operand(
                            f"{names.get(id(one), f'argument {number}')} {elements_text(one)}", bad_number(one), before
                        )
                    )
                elif before is not None:
                    operands.append(Operand("what was there before", before.kind, before))
        return [*operands, *self.range_of(result, operands)]

    def range_of(self, result: EngineTensor, operands: Sequence[Operand]) -> list[Operand]:
        """Return that float16 ends early, if a result of that dtype is not finite though the operands are."""
        return (
            [Operand("the result is float16, which ends at 65504")]
            if result.dtype == self.listener.engine.float16 and not any(one.kind for one in operands)
            else []
        )

    @contextmanager
    def heard(self, roots: Sequence[Any]) -> Iterator[None]:
        """Look at the gradients that a backward in the block hands on."""
        carried: dict[Any, Event] = {}  # what has made the gradient that comes to a node not finite
        with ExitStack() as stack:
            for node in (node for node, leaf in graph_nodes(roots).items() if leaf is None):
                stack.callback(node.register_hook(partial(self.passed, node, carried)).remove)
            yield

    def passed(self, node: NodeLike, carried: dict[Any, Event], inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        """Take note of the gradients that a node hands on, and of those that have come to it."""
        if all(one is None or all_finite(one) for one in inputs):
            return
        kinds = ["" if one is None else bad_number(one) for one in inputs]
        event = carried.get(node)
        if event is None:
            event = self.event_of(node, next(one for one in zip(inputs, kinds, strict=True) if one[1]), outputs)
        for (following, _), kind in zip(node.next_functions, kinds, strict=False):
            if kind and following is not None:
                carried.setdefault(following, event)
                if (leaf := getattr(following, "variable", None)) is not None:
                    self.of_leaves[id(leaf)] = event

    def event_of(self, node: NodeLike, made: tuple[Any, str], outputs: Sequence[Any]) -> Event:
        """Return what has made a gradient, which is nan or inf: a node, with what it saved and what has come to it."""
        name = type(node).__name__
        at = bisect_right(self.calls, order_of(node), key=lambda pair: pair[0])
        call = self.calls[at][1] if at < len(self.calls) else Event("", None, "", "")
        of = f" (of {call.name})" if call.name not in ("", "apply") else ""  # of a Function the name is its own
        saved = [
            (key, one)
            for key, attribute in saved_names(type(node))
            if isinstance(one := saved_value(node, attribute), self.listener.engine.Tensor)
        ]
        is_made_before = call.kind == "nan" or any(one.kind == "nan" for one in call.operands)
        brought = next((key for key, one in saved if is_made_before and bad_number(one) == "nan"), "")
        if brought:
            first = call._replace(kind="nan").origin()
            way = f"nan came into the gradients by {name}{of}{call.where}, which has saved {brought} with nan"
            return first._replace(operands=[Operand(f"{first.operand}; {way}")])
        operands = [Operand(f"saved {key} {elements_text(one)}", bad_number(one)) for key, one in saved]
        operands += [  # where a node has handed on such a gradient, its event is known
            Operand(
                f"the gradient that came {elements_text(one)}"
                + ", from a hook, a sum of gradients, or what backward() was given" * bool(kind := bad_number(one)),
                kind,
            )
            for one in outputs
            if one is not None
        ]
        return Event(f"{name}{of}", call.place, call.module, made[1], [*operands, *self.range_of(made[0], operands)])


def bad_number(tensor: EngineTensor) -> str:
    """Return nan or inf if a tensor has such an element, else ""."""
    numbers = tensor.detach()
    return "" if all_finite(numbers) else "nan" if bool(numbers.isnan().any()) else "inf"


def elements_text(tensor: EngineTensor) -> str:
    """Return the numbers of a tensor in words: its one element, or extremes, and how many are 0, nan or inf."""
    numbers, count = tensor.detach(), tensor.numel()
    if count == 1:
        return f"is {digits_text(numbers.item())}"
    if not count or not numbers.is_floating_point():
        return f"is of shape {tuple(numbers.shape)} and {str(numbers.dtype).removeprefix('torch.')}"
    finite = numbers[numbers.isfinite()].float()
    low, high = (finite.min().item(), finite.max().item()) if finite.numel() else (0.0, 0.0)
    if finite.numel() == count and low == high:
        return f"is {digits_text(low + 0.0)} in all {count} elements"  # -0 is 0
    parts = [f"{digits_text(low)} to {digits_text(high)}"] if finite.numel() else []
    kinds = {"0": numbers == 0, "nan": numbers.isnan(), "inf": numbers == math.inf, "-inf": numbers == -math.inf}
    for word, those in kinds.items():
        number = int(those.sum())
        parts += [f"{word} in {number} of {count} elements"] if number else []
    return f"is {', '.join(parts)}"


def digits_text(number: complex) -> str:
    """Return a number with as many digits as tell it from a whole one.

    >>> digits_text(1.0000001192092896), digits_text(1.0), digits_text(0.1234567)
    ('1.00000012', '1', '0.123457')
    """
    return f"{number:.9g}" if f"{number:g}".lstrip("-").isdecimal() and number != round(number.real) else f"{number:g}"
