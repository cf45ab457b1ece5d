"""What looks at every node that is made: anomaly mode (and, in ``packing.py``, hooks on saved tensors).

While one of them is on, every operation takes the general path (``general.py``), which calls ``mode.notes`` with each new node.
"""

from __future__ import annotations

import traceback
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from gviz.engine import makers
from gviz.engine.data.classes import type_text
from gviz.engine.data.words import warn
from gviz.engine.modes import mode
from gviz.engine.node import AccumulateGrad, Parts
from gviz.engine.saved import Packed
from gviz.engine.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["check", "detect_anomaly", "set_detect_anomaly", "set_notes"]


def set_notes(notes: tuple[Callable[[Any], None], ...]) -> None:
    """Call these with each new node; the hot paths, which know no notes, see no plain tensor meanwhile."""
    mode.notes = notes
    vars(makers)["Tensor"] = Packed if notes else Tensor


def note_forward(node: Any) -> None:
    """Keep the lines that led to this node."""
    stack = [frame for frame in traceback.extract_stack() if "gviz/engine/" not in frame.filename.replace("\\", "/")]
    ours = [i for i, frame in enumerate(stack) if "gviz/sources/" in frame.filename.replace("\\", "/")]
    stack = stack[ours[-1] + 1 :] if ours else stack  # of a script that the command line runs: its own lines
    node.metadata["traceback_"] = traceback.format_list(stack)


def check(node: Any, out: Any) -> None:
    """Whether a node's gradients have a NaN.

    Raises:
        RuntimeError: one has, in PyTorch's words; a warning before it shows the line of the forward call.
    """
    if isinstance(node, AccumulateGrad) or mode.anomaly != "nan":
        return
    for i, grad in enumerate(out if isinstance(out, tuple) else (out,)):
        array = grad._array if isinstance(grad, Tensor) else grad
        if grad is None or isinstance(grad, Parts) or not np.isnan(array).any():
            continue
        warn_of(node)
        raise RuntimeError(f"Function '{node.name()}' returned nan values in its {i}th output.")


def warn_of(node: Any) -> None:
    """The warning of an error in a node, with the lines of its forward call."""
    lines = node.metadata.get("traceback_")
    warn(
        f"Error detected in {node.name()}. "
        + (
            "No forward pass information available. Enable detect anomaly during forward pass for more information."
            if lines is None
            else f"Traceback of forward call that caused the error:\n{''.join(lines)}"
        )
    )


class set_detect_anomaly:
    """Look for NaN in backward from now on, or in a ``with`` block.

    Args:
        mode: whether to.
        check_nan: without it only the forward lines are kept.
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.before = switch(on=mode, check_nan=check_nan)

    def __enter__(self) -> None:
        """The mode was set when this was made."""

    def __exit__(self, *_: object) -> None:
        """Put back what was."""
        set_notes(self.before[0])
        mode.anomaly = self.before[1]


class detect_anomaly(set_detect_anomaly):
    """Look for NaN in the backward passes of a ``with`` block, and name the forward line of the node that made one.

    Source: https://docs.pytorch.org/docs/2.13/autograd.html#anomaly-detection
    """

    def __init__(self, check_nan: bool = True) -> None:
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging.",
            stacklevel=2,
        )
        self.check_nan = check_nan

    def __enter__(self) -> None:
        """Begin."""
        self.before = switch(on=True, check_nan=self.check_nan)


def switch(*, on: bool, check_nan: bool) -> tuple[Any, str]:
    """Set anomaly mode; returns what was. TypeError: a flag that is none."""
    for i, (name, flag) in enumerate((("enabled", on), ("check_nan", check_nan)), 1):
        if not isinstance(flag, bool):
            raise TypeError(f"set_anomaly_enabled(): argument '{name}' (position {i}) must be bool, not {type_text(flag)}")
    before = mode.notes, mode.anomaly
    rest = tuple(note for note in mode.notes if note is not note_forward)
    set_notes((*rest, note_forward) if on else rest)
    mode.anomaly = "" if not on else "nan" if check_nan else "lines"
    return before
