"""The steps of a training: when one begins and ends, and what is measured of the parameters in it.

A step is one of an optimizer that has parameters of the model. Several optimizers share a step, which ends when one of
them begins its next. Where no optimizer has made a step, each backward is one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import wraps
from operator import itemgetter
from typing import Any, NamedTuple
from weakref import ref

from gviz.graphs import Place
from gviz.text import amount, joined
from gviz.trace.facts import tensors_in
from gviz.trace.listening import Listener, Observer, ParameterGroups, is_used_up
from gviz.training.hunt import Event, Hunt, bad_number
from gviz.training.log import Log
from gviz.training.parameters import (
    ModelParameters,
    are_finite,
    has_any,
    measured_norms,
    optimizer_text,
    plain_gradient,
    tensor_norm,
)
from gviz.training.rows import Finding, Norms, three_digits
from gviz.training.running import RunningModules, path_and_line
from gviz.training.units import Units
from gviz.walk import graph_nodes

GROWN = 100.0
"""How many times as large a parameter is that has grown much."""


class Pending(NamedTuple):
    """A step that an optimizer is making.

    Args:
        optimizer: which.
        number: of the step.
        parameters: those of the model that the optimizer has.
        norms: what was measured before it; nothing if this step is not measured.
        before: the parameters as they were.
        has_closure: whether their gradients are computed within it.
    """

    optimizer: ParameterGroups
    number: int
    parameters: dict[str, Any]
    norms: dict[str, Norms]
    before: dict[str, Any]
    has_closure: bool


class Suspect(NamedTuple):
    """A root of backward() that is not finite.

    Args:
        kind: nan or inf.
        place: the line of the call.
        origin: what has made it so, if that is known.
        parameter: one that was not finite before.
        is_own: whether it is made from a parameter that is measured, as far as its graph tells.
    """

    kind: str
    place: Place | None
    origin: Event | None
    parameter: str
    is_own: bool


class Steps(Observer):
    """Measures the steps of a training.

    Args:
        log: takes what is measured.
        patterns: of the names of the parameters, or of modules, that are measured.
        hunt: what looks for the operation that makes nan or inf, if it is on.
    """

    def __init__(self, log: Log, patterns: Sequence[str], hunt: Hunt) -> None:
        self.log, self.hunt = log, hunt
        self.hint = "" if hunt.is_on else "; hunt=True names the operation and its line"
        self.parameters = ModelParameters(patterns)
        self.constant = set[str]()  # parameters that were not finite at the beginning, as a mask of -inf is
        self.units = Units()
        self.number = 0
        # optimizers that have made a step, by their identities, and the line of the last one
        self.known: dict[int, tuple[ParameterGroups, Place | None]] = {}
        self.made = set[int]()  # optimizers that were made when another one had made a step
        self.trained = set[str]()  # parameters that an optimizer has which has made a step
        self.stepped = set[int]()  # those of this step
        self.moved: dict[str, Any] = {}  # by what they have changed the parameters, while another one is to come
        self.pending: Pending | None = None
        self.root: float | None = None
        self.is_root_finite = True
        self.suspect: Suspect | None = None
        # a gradient that a step has used, weakly, its parameter's name, and its number of writes before a backward
        self.used: tuple[Any, str, int] | None = None
        self.not_cleared: Place | None = None  # the line of a backward() that has found it there
        self.reached: dict[str, bool] | None = None  # after the last backward: who has a gradient, whether it is not 0
        self.brought = set[str]()  # who had one that was not 0 after a measured backward
        self.waiting = set[str]()  # of these, those that no optimizer was to use since
        # those since the last backward: the kind of each, the gradients that it has used last, and, of a measured step,
        # a parameter that it has changed, with what it has left there
        self.stepped_since: dict[int, tuple[str, dict[str, tuple[Any, int]], list[tuple[Any, Any]]]] = {}

    # ---------------------------------------------------------------- the models
    def attach(self, listener: Listener) -> None:
        """Begin to be told of steps and calls of backward."""
        super().attach(listener)
        self.engine = engine = listener.engine
        self.modules = self.units.modules = RunningModules(engine, self.units.note)
        self.modules.attach(listener)
        self.hunt.modules = self.modules
        self.units.attach(listener)
        for owner in (engine.Tensor, engine.autograd):
            listener.replace(owner, "backward", self.around(owner.backward))
        for owner in (engine.nn.Module, engine.optim.Optimizer) if listener.on_call else ():
            listener.replace(owner, "zero_grad", self.unheard(owner.zero_grad))
        listener.replace(engine.nn.utils, "clip_grad_norm_", self.clipping(engine.nn.utils.clip_grad_norm_))

    def unheard(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function within which no call is told of."""

        @wraps(function)
        def call(*args: object, **kwargs: object) -> Any:
            owner = object()
            self.listener.pause(owner)
            try:
                return function(*args, **kwargs)
            finally:
                self.listener.resume(owner)

        return call

    def clipping(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that clips gradients, with a look at whether it has any to clip that a step is to use."""

        @wraps(function)
        def clip(parameters: Iterable[Any], max_norm: float, *args: object, **kwargs: object) -> Any:
            is_empty, names = is_used_up(parameters), self.hunt.names
            given = [parameters] if isinstance(parameters, self.engine.Tensor) else [*parameters]
            used = {
                name: one
                for _, gradients, _ in (self.stepped_since.values() if self.units.is_on else ())
                for name, one in gradients.items()
            }
            own = {names.get(id(one), str(id(one))): one for one in given} if used else {}
            held = held_gradients(own)  # of these tensors: others are clipped by a call of their own
            is_spent = own.keys() & used.keys() and all(
                name in used and used[name][0] is held[name][0] for name in held
            )
            norm = function(given or parameters, max_norm, *args, **kwargs)
            if (is_empty and self.units.is_on and not norm) or (
                is_spent and (not norm or (norm > max_norm and len(same_gradients(held, used)) == len(held)))
            ):  # to read the norm is to wait for the device
                line = path_and_line(self.modules.place("clip"))
                what = f"clip_grad_norm_() ({line}) had no gradients to clip" + (
                    ": the iterator that it is given is used up; give it a list of the parameters"
                    if is_empty
                    else ", this time, that a step() was to use: it is to come between the last backward() and step()"
                )
                self.log.find(Finding("not clipped", self.log.steps, what, place=line))
            return norm

        return clip

    def take(self, models: Mapping[str, Any]) -> None:
        """Begin to measure models, by their names; "" for one that needs none."""
        self.parameters.models = dict(models)
        self.modules.take(models)
        self.find_parameters()
        self.constant = {name for name, one in self.parameters.all() if bad_number(one)}
        self.begin_step(0)

    def find_parameters(self) -> None:
        """Find the parameters that are measured: a model may have got others."""
        self.parameters.find()
        measured = self.parameters.measured
        self.hunt.names.update({id(one): name for name, one in measured.items()})
        self.log.shapes |= {name: tuple(one.shape) for name, one in measured.items()}

    def begin_step(self, number: int) -> None:
        """Listen to modules and ReLUs if the step is measured."""
        self.units.is_on = number % self.log.every == 0
        self.modules.is_on = self.units.is_on or self.hunt.is_on

    def end(self) -> None:
        """End what is left when the training has ended."""
        self.modules.is_on = self.units.is_on = False
        self.find_parameter_not_finite("")
        idle = [name for name in self.parameters.measured if name in self.brought - self.trained]
        if idle and self.trained:
            self.log.remarks.append(
                f"{amount(len(idle), 'parameter')} got a gradient that no optimizer has used: {joined(idle)}"
            )
        self.log.judge_end()

    # ---------------------------------------------------------------- backward
    def around(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return a backward that is told of."""
        original = self.unheard(original) if self.listener.on_call else original

        @wraps(original)
        def backward(*args: object, **kwargs: object) -> Any:
            if self.units.is_paused:
                return original(*args, **kwargs)
            self.units.is_paused = True  # what a checkpoint computes again is no further input
            try:
                roots = [*tensors_in(args[0] if args else kwargs.get("tensors"), self.engine.Tensor)]
                with self.listener.quiet():
                    before = self.will_run(roots)
                with self.hunt.heard(roots) if self.hunt.is_on else nullcontext():
                    result = original(*args, **kwargs)
            finally:
                self.units.is_paused = False
            self.reached = {}
            if self.units.is_on or self.log.by == "backward":
                with self.listener.quiet():
                    self.has_run(before)
            return result

        return backward

    def will_run(self, roots: Sequence[Any]) -> dict[str, tuple[Any, int]]:
        """Look at the roots of a backward that begins, and at a gradient that a step has used.

        Returns:
            The gradients that are there, if the step is measured.
        """
        if self.pending is not None:
            self.listener.resume(self.pending.optimizer)  # whose step has raised an error, or has a closure
            self.pending = self.pending._replace(has_closure=True)
        self.stepped_since = {}
        if (self.suspect is not None or self.hunt.of_leaves) and are_finite(
            self.engine, [one.grad for one in self.parameters.measured.values() if one.grad is not None]
        ):  # what an earlier backward has brought was used, or cleared
            self.suspect = None
            self.hunt.of_leaves.clear()
        single = [one for one in roots if one.numel() == 1 and not one.is_complex()]
        self.root = single[-1].item() if single else None
        is_finite_number = self.root is not None and len(roots) == 1 and math.isfinite(self.root)  # as nearly always
        kinds = [] if is_finite_number else [bad_number(one) for one in roots]
        self.is_root_finite = not any(kinds)
        for one, kind in zip(roots, kinds, strict=False):
            if kind and self.suspect is None and not self.log.has("not finite"):
                facts = self.modules.place("backward"), self.hunt.origin_of(one), self.parameter_to_blame()
                is_own = any(id(leaf) in self.hunt.names for leaf in graph_nodes([one]).values())
                self.suspect = Suspect(kind, *facts, is_own)
        if self.used is not None:
            grad = getattr(self.parameters.measured.get(self.used[1]), "grad", None)
            is_there = grad is not None and grad is self.used[0]() and bool(grad.count_nonzero())
            self.not_cleared = self.modules.place("backward") if is_there else None
            self.used = (*self.used[:2], getattr(grad, "_version", 0)) if is_there else None
        return held_gradients(self.parameters.measured) if self.units.is_on else {}

    def parameter_to_blame(self) -> str:
        """Return a parameter that may have made a root nan or inf; "" for none.

        One that was not finite at the beginning is none once a step has been made with it; and inf in one that is not
        trained, as in a mask, is none at all.
        """
        is_first = not self.log.steps
        return next(
            (
                name
                for name, one in self.parameters.all()
                if (kind := bad_number(one))
                and (name not in self.constant or (is_first and (kind == "nan" or one.requires_grad)))
            ),
            "",
        )

    def has_run(self, before: Mapping[str, tuple[Any, int]]) -> None:
        """Look at what a backward has brought, and measure it where there is no optimizer: it is a step then.

        Args:
            before: the gradients that were there before it.
        """
        if self.units.is_on:
            self.reached = {  # with whether what they have is not 0
                name: has_any(plain_gradient(self.parameters.measured[name].grad))
                for name, (grad, version) in held_gradients(self.parameters.measured).items()
                if (one := before.get(name)) is None or one[0] is not grad or one[1] != version
            }
            self.waiting |= {name for name, is_any in self.reached.items() if is_any}
            self.brought |= self.waiting
        if self.log.by == "optimizer" or self.pending is not None:  # or it was called within a step
            return
        number = self.log.steps
        if self.check(self.parameters.measured, number) or number % self.log.every == 0:
            self.find_parameters()
            row = self.log.row(number)
            row.root, row.units = self.root, self.units.end_step(number)
            row.norms |= {
                name: measured_norms(self.engine, one)
                for name, one in self.parameters.measured.items()
                if one.grad is not None
            }
            self.log.judge(0, "no optimizer")
        self.log.steps += 1
        self.hunt.forget()
        self.begin_step(number + 1)

    # ---------------------------------------------------------------- steps
    def has_parameters(self, optimizer: ParameterGroups) -> None:
        """Find the parameters anew when an optimizer has got some."""
        self.find_parameters()
        if self.known:
            self.made.add(id(optimizer))

    def will_step(self, optimizer: ParameterGroups, *, has_closure: bool) -> None:
        """Measure what an optimizer is going to use."""
        own, outer = self.parameters.of(optimizer), self.pending
        self.log.steps_of_others += not own
        if (
            not own
            or getattr(optimizer, "found_inf", None)  # so that a GradScaler has a fused one leave out the step
            or (
                outer
                and outer.optimizer is not optimizer
                and not outer.has_closure
                and own.keys() & outer.parameters.keys()
            )
        ):
            return  # or it is within a step of an optimizer around it, which will be measured
        if self.log.by == "backward":  # whose calls were no steps
            for site in self.units.sites.values():  # what the last of them has seen is of step 0
                site.step = 0
            self.log.restart("optimizer")
        is_next = (self.number or id(optimizer) in self.made) and (has_closure or not self.stepped_since)
        if is_next and id(optimizer) not in self.known:  # it takes the place of those that had its parameters before
            self.known = {
                key: one for key, one in self.known.items() if not own.keys() & self.parameters.of(one[0]).keys()
            }
        number = self.number + (id(optimizer) in self.stepped or not self.stepped <= self.known.keys())
        if self.stepped_since and not has_closure and self.is_taken_back(optimizer, own, number):
            self.log.rows.pop()
            number = self.number  # this step is in the place of the earlier one
        is_bad = not has_closure and self.check(own, number)
        measured = own if is_bad or number % self.log.every == 0 else {}
        # by this a fused one divides the gradients itself
        scale = 0.0 if has_closure else float(getattr(optimizer, "grad_scale", None) or 1.0)
        norms = {name: measured_norms(self.engine, one, scale) for name, one in measured.items()}
        before = {name: one.detach().clone() for name, one in measured.items()}
        if not has_closure:  # what it makes of its parameters is looked at when it has ended
            self.listener.pause(optimizer)
        self.pending = Pending(optimizer, number, own, norms, before, has_closure)
        if self.used is not None and self.not_cleared and self.used[1] in own:
            grad = own[self.used[1]].grad
            if grad is not None and grad is self.used[0]() and grad._version > self.used[2]:  # noqa: SLF001 - PyTorch's own name
                line = path_and_line(self.not_cleared)
                what = (
                    f"the gradients that an earlier step had used, as of {self.used[1]}, were there when backward() ran"
                    f" ({line}): this step uses their sum;"
                    " zero_grad() is to come between a step() and the next backward()"
                )
                self.log.find(Finding("not cleared", number, what, place=line))
            self.used = None

    def has_stepped(self, optimizer: ParameterGroups) -> None:
        """Measure what an optimizer has done."""
        pending = self.pending
        self.listener.resume(optimizer)
        if pending is None or pending.optimizer is not optimizer:
            return
        self.pending, number = None, pending.number
        if number != self.number:
            self.number, self.stepped, self.moved = number, set(), {}
        self.log.steps = number + 1
        self.stepped.add(id(optimizer))
        self.trained |= pending.parameters.keys()
        self.known[id(optimizer)] = optimizer, self.modules.place("step")
        if pending.has_closure:
            self.check(pending.parameters, number)
        left = self.measure(pending) if pending.norms else []
        self.stepped_since[id(optimizer)] = type(optimizer).__name__, held_gradients(pending.parameters), left
        if self.waiting:
            self.waiting -= {name for name, one in pending.parameters.items() if pending.norms or one.grad is not None}
        if self.hunt.is_on:
            self.find_parameter_not_finite("step")
        is_last = len(self.stepped) == len(self.known)
        if is_last and number:  # of step 0 it is not known who else is to come
            self.moved = {}
        self.hunt.forget()
        self.begin_step(number + is_last)

    def is_taken_back(self, optimizer: ParameterGroups, own: Mapping[str, Any], number: int) -> bool:
        """Return whether what the last step of an optimizer has changed was put back, as a line search does.

        Say so if an earlier step, be it of another optimizer, has used the same gradients, and was not taken back.
        """
        held, mine = held_gradients(own), type(optimizer).__name__
        for other, (kind, used, left) in self.stepped_since.items():
            both = same_gradients(held, used)
            is_left = all(self.engine.equal(one.detach(), value) for one, value in left)
            if both and left and not is_left and other == id(optimizer):
                return True
            if both and left and is_left:
                of, place = joined(both, 3), path_and_line(self.modules.place("step"))
                what = (
                    f"{mine} has made a second step with the same gradients: of {of};"
                    " step() is to come once after each backward()"
                    if other == id(optimizer)
                    else f"two optimizers, {kind} and {mine}, have each made a step with the gradients of one"
                    f" backward(): of {of}; give each parameter to one of them"
                )
                self.log.find(Finding("stepped twice", number, what, both[0], place))
        return False

    def measure(self, pending: Pending) -> list[tuple[Any, Any]]:
        """Write the row of a step that an optimizer has made, perhaps not the first since the last backward.

        Returns:
            The smallest parameter that it has changed, with what it has left there.
        """
        row, norms = self.log.row(pending.number), pending.norms
        row.root = self.root
        own = row.own[id(pending.optimizer)] = dict[str, Norms]()
        for name, one in pending.parameters.items():
            moved = pending.before[name].sub_(one.detach())
            grad = measured_norms(self.engine, one) if pending.has_closure else norms[name]
            own[name] = Norms(grad.grad, grad.zeros, norms[name].weight, tensor_norm(self.engine, moved))
            if (other := row.norms.get(name)) is None:
                row.norms[name] = own[name]
            else:  # another optimizer of this step has it too
                largest = max(
                    (other, own[name]),
                    key=lambda one: (one.grad is not None, math.isnan(one.grad or 0), one.grad or 0),
                )
                # there is none of an optimizer that was not expected to come
                update = tensor_norm(self.engine, moved.add_(self.moved[name])) if name in self.moved else None
                row.norms[name] = Norms(largest.grad, largest.zeros, other.weight, update)
            self.moved[name] = moved
            if self.used is None and grad.grad and name in (self.reached or ()) and not self.log.has("not cleared"):
                self.used = ref(one.grad), name, 0
        if not pending.has_closure:
            row.cleared += [
                name
                for name, one in norms.items()
                if not one.grad and ((self.reached or {}).get(name) or (one.grad is None and name in self.waiting))
            ]
        row.missed += [name for name, one in norms.items() if one.grad == 0 and name not in (self.reached or norms)]
        row.brought = (
            ""
            if self.reached is None or id(pending.optimizer) in self.stepped_since
            else "cleared"
            if any(self.reached.get(name) for name in norms) or not self.waiting.isdisjoint(norms)
            else "zeros"
            if self.reached.keys() & norms.keys()
            else "others" * bool(self.reached) or "none"
        )
        row.units |= self.units.end_step(pending.number)
        self.log.judge(id(pending.optimizer), optimizer_text(pending.optimizer))
        self.find_parameters()
        changed = [one for name, one in pending.parameters.items() if 0 < (own[name].update or 0) < math.inf]
        return [(one, one.detach().clone()) for one in sorted(changed, key=lambda one: int(one.numel()))[:1]]

    # ---------------------------------------------------------------- nan and inf
    def check(self, parameters: Mapping[str, Any], number: int) -> bool:
        """Return whether the gradients of a step are the first that are not finite, or the root was not, and say so."""
        if self.log.has("not finite"):
            return False
        grads = {name: one.grad for name, one in parameters.items() if one.grad is not None}
        is_told = self.suspect is not None and self.suspect.is_own and not self.is_root_finite
        if not is_told and are_finite(self.engine, grads.values()):
            return False
        names = sorted(grads, key=lambda name: id(parameters[name]) not in self.hunt.of_leaves)
        kind, bad = next(
            filter(itemgetter(0), ((bad_number(plain_gradient(grads[one])), one) for one in names)), ("", "")
        )
        if self.suspect is not None:
            what, origin, hint = self.words_of_root(self.suspect, is_first=not (self.known or number))
        else:
            value = f" ({three_digits(self.root)})" if self.root is not None else ""
            what = f"the loss was finite{value}, but the gradient of {bad} has {kind}"
            origin = self.hunt.of_leaves.get(id(parameters[bad]))
            hint = f": it came on the way back, or was written after it{self.hint}"
        if origin is None:
            self.found(Finding("not finite", number, what + hint + self.growth(parameters), bad))
        else:
            what = f"{what}: {origin.name}{origin.where} gives {origin.kind}; {origin.operand}{self.growth(parameters)}"
            facts = path_and_line(origin.place), origin.name, origin.operand
            self.found(Finding("not finite", number, what, origin.module or bad, *facts))
        return True

    def words_of_root(self, suspect: Suspect, *, is_first: bool) -> tuple[str, Event | None, str]:
        """Return what is known of a root that is not finite: a clause, its origin, and what is said without one."""
        what = f"the loss was {suspect.kind} when backward() ran" + (
            f" ({path_and_line(suspect.place)})" if suspect.place is not None else ""
        )
        if suspect.parameter:
            when = "from the beginning" if is_first else "before this step, though no gradient was"
            return f"{what}: {suspect.parameter} itself was not finite {when}", None, ""
        return (
            what + ", with finite parameters" * (not self.constant and suspect.origin is None),
            suspect.origin,
            f": it came on the way forward, or with its inputs{self.hint}",
        )

    def growth(self, parameters: Mapping[str, Any]) -> str:
        """Return how the parameter has grown that has grown most since the first measured step, if that is much."""
        first = self.log.rows[0].norms if self.log.rows else {}
        grown = max(
            (
                (first[name].weight, tensor_norm(self.engine, one.detach()), name)
                for name, one in parameters.items()
                if name in first and name not in self.constant
            ),
            key=lambda pair: pair[1] / pair[0] if pair[0] else 0.0,
            default=(0.0, 0.0, ""),
        )
        if not grown[0] or not GROWN < grown[1] / grown[0] < math.inf:
            return ""
        return (
            f"; the norm of {grown[2]} has grown from {three_digits(grown[0])} at step {self.log.rows[0].step}"
            f" to {three_digits(grown[1])}"
        )

    def found(self, finding: Finding) -> None:
        """Keep the first finding of nan or inf, and stop to hunt, unless an optimizer may come that does not use it."""
        self.log.find(finding)
        self.hunt.is_on = self.hunt.is_on and self.log.by == "backward"

    def find_parameter_not_finite(self, operation: str) -> None:
        """Say which parameter is not finite though gradients were; the operation is what ran before, "" if unknown."""
        measured = {name: one for name, one in self.parameters.measured.items() if name not in self.constant}
        is_good = are_finite(self.engine, [one.detach() for one in measured.values()])
        bad = "" if is_good else next((name for name, one in measured.items() if bad_number(one)), "")
        if bad and self.log.steps and not self.log.has("not finite"):
            places = [place for one, place in self.known.values() if bad in self.parameters.of(one)]
            is_written = self.hunt.is_on and not operation and places  # for the steps have left it finite
            line = "" if is_written or not places else path_and_line(places[0])
            after = (
                f" after the step at {line}," * bool(line) if not is_written else " and had none after the last step(),"
            )
            what = f"{bad} has {bad_number(measured[bad])}{' at the end,' * (not operation)}{after}"
            self.found(
                Finding(
                    "not finite", self.log.steps - 1, f"{what} though the gradients were finite", bad, line, operation
                )
            )


def held_gradients(parameters: Mapping[str, Any]) -> dict[str, tuple[Any, int]]:
    """Return the gradients that parameters have, weakly, each with the number of writes into it."""
    return {
        name: (ref(one.grad), one.grad._version)  # noqa: SLF001 - PyTorch's own name
        for name, one in parameters.items()
        if one.grad is not None
    }


def same_gradients(own: Mapping[str, tuple[Any, int]], others: Mapping[str, tuple[Any, int]]) -> list[str]:
    """Return the names of the gradients that two answers of :func:`held_gradients` have, and as often written."""
    return [
        name
        for name, (grad, version) in own.items()
        if (one := others.get(name)) and one[0] is grad and one[1] == version
    ]
