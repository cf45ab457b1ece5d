"""What was measured in a step, and what is not right: the rows of a log."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

LEAST_INPUTS = 256
"""Inputs for each of which a unit has to be 0 before it is told of."""


class Norms(NamedTuple):
    """What was measured of a parameter in a step.

    Args:
        grad: the norm of its gradient when the optimizer began, the largest of several; None for no gradient.
        zeros: how much of the gradient is exactly 0, from 0 to 1; None for no gradient.
        weight: the norm of the parameter before the step.
        update: the norm of what the step has added to it, of all optimizers; None where none has made a step.
    """

    grad: float | None
    zeros: float | None
    weight: float
    update: float | None = None

    @property
    def ratio(self) -> float | None:
        """The update by the parameter; None without an update, and for a parameter of zeros."""
        return self.update / self.weight if self.update is not None and self.weight else None


class Idle(NamedTuple):
    """The units of a ReLU in a step.

    Args:
        units: how many there are.
        idle: how many of them gave 0 for all inputs of the step.
        silent: how many of them have given 0 for all inputs of the last measured steps, enough of them to tell.
        inputs: how many inputs those were, at the least.
    """

    units: int
    idle: int
    silent: int
    inputs: int


class Finding(NamedTuple):
    """Something that is not right.

    Args:
        kind: ``not finite``, ``not cleared``, ``large update``, ``zero gradient``, ``no gradient``, ``no update``,
            ``not trained``, ``not clipped``, ``dead units`` or ``stepped twice``.
        step: in which step it was seen, counted from 0.
        what: a sentence.
        name: of the parameter or module; "" where it is not known.
        place: the line, as ``file:line``; "" where it is not known.
        operation: which made nan or inf; "" for anything else.
        operand: what brought it there.
    """

    kind: str
    step: int
    what: str
    name: str = ""
    place: str = ""
    operation: str = ""
    operand: str = ""

    def __str__(self) -> str:
        """Return it as a line of text."""
        return f"step {self.step}: {self.what}"


@dataclass
class StepRow:
    """A measured step: its number, the value that backward() was called on last, and what was measured by name.

    ``cleared`` has the names of the parameters to which backward brought a gradient that was 0 or none when the
    optimizer began, ``missed`` of those to which it brought none, so that the zeros of zero_grad() were there still;
    ``brought`` what backward had brought before it: ``none``, gradients to ``others``, ``zeros`` or
    what may have been ``cleared``, "" if it did not run. ``rates`` has the optimizers that stepped with their learning
    rates, in words, which a schedule changes after it; ``own`` what was measured in the step of each. Of a parameter
    that two have, ``norms`` has the largest of the gradients that they used, its norm before the first, and what all of
    them have changed.
    """

    step: int
    root: float | None = None
    norms: dict[str, Norms] = field(default_factory=dict)
    units: dict[str, Idle] = field(default_factory=dict)
    cleared: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    brought: str = ""
    rates: dict[int, str] = field(default_factory=dict)
    own: dict[int, dict[str, Norms]] = field(default_factory=dict)


def three_digits(number: float | None) -> str:
    """Return a number with three digits, and - for none.

    >>> three_digits(0.0123456), three_digits(None), three_digits(float("inf"))
    ('0.0123', '-', 'inf')
    """
    return "-" if number is None else f"{number:.3g}"
