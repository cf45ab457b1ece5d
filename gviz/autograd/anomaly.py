"""Anomaly mode: backward looks for NaN, and tells the lines of the forward call that made the node."""

from __future__ import annotations

import os
import traceback
import warnings
from typing import Any

import numpy as np

from gviz.autograd.modes import mode
from gviz.autograd.node import AccumulateGrad, Node
from gviz.autograd.tensor import Tensor
from gviz.numbers.words import warn

GVIZ = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")

__all__ = ["check", "detect_anomaly", "set_detect_anomaly", "warn_of"]


def note_forward(node: Node) -> None:
    """Keep the lines that led to this node: those of the program, without the engine's, or what runs a script."""
    stack: list[traceback.FrameSummary] = traceback.extract_stack()
    start = max(
        (i for i, frame in enumerate(stack, 1) if frame.filename == os.path.join(GVIZ, "sources", "script.py")), default=0
    )
    stack = [frame for frame in stack[start:] if not frame.filename.startswith(GVIZ)]
    node.metadata["traceback_"] = traceback.format_list(stack)


def check(node: Node, outs: tuple[Any, ...]) -> None:
    """RuntimeError: a gradient has a NaN; a warning before it shows the line of the forward call."""
    if isinstance(node, AccumulateGrad) or mode.anomaly != "nan":
        return
    for i, grad in enumerate(outs):
        if isinstance(grad, Tensor) and np.isnan(grad._array).any():
            warn_of(node)
            raise RuntimeError(f"Function '{type(node).name(node)}' returned nan values in its {i}th output.")


def warn_of(node: Node) -> None:
    """The warning of an error in a node, with the lines of its forward call."""
    lines = node.metadata.get("traceback_")
    none = "No forward pass information available. Enable detect anomaly during forward pass for more information."
    told = none if lines is None else f"Traceback of forward call that caused the error:\n{''.join(lines)}"
    warn(f"Error detected in {type(node).name(node)}. {told}")


class set_detect_anomaly:
    """Look for NaN in backward from now on, or in a ``with`` block; without ``check_nan`` only the forward lines are kept."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.before = switch(mode, check_nan)

    def __enter__(self) -> None:
        """The mode was set when this was made."""

    def __exit__(self, *_: object) -> None:
        mode.notes, mode.anomaly = self.before


class detect_anomaly(set_detect_anomaly):
    """Look for NaN in the backward passes of a ``with`` block, and name the forward line of the node that made one."""

    def __init__(self, check_nan: bool = True) -> None:
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging.",
            stacklevel=2,
        )
        self.check_nan = check_nan

    def __enter__(self) -> None:
        self.before = switch(True, self.check_nan)


def switch(on: bool, check_nan: bool) -> tuple[Any, str]:
    """Set anomaly mode; returns what was."""
    before = mode.notes, mode.anomaly
    rest = tuple(note for note in mode.notes if note is not note_forward)
    mode.notes = (*rest, note_forward) if on else rest
    mode.anomaly = "" if not on else "nan" if check_nan else "lines"
    return before
