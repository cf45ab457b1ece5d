"""Anomaly mode: backward looks for NaN, and tells the lines of the forward call that made the node."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from typing import Any

import numpy as np

from gviz.autograd.modes import mode as STATE
from gviz.autograd.node import Node
from gviz.autograd.tensor import Tensor
from gviz.numbers.words import refuse, warn

GVIZ = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")


def note_forward(node: Node, *_: object) -> None:
    """Keep the lines that led to this node: those of the program, from its first file on, without the engine's."""
    frames: list[Any] = []
    for frame, line in traceback.walk_stack(sys._getframe()):
        if not frame.f_code.co_filename.startswith(GVIZ):
            frames.append((frame, line))
            if frame.f_code.co_name == "<module>" and frame.f_globals.get("__name__") == "__main__":
                break  # below is what runs the program
    node.metadata["traceback_"] = traceback.StackSummary.extract(reversed(frames)).format()
    if STATE.running is not None:
        node.metadata["parent_"] = STATE.running.node


def refuse_nan(node: Node, outs: tuple[Any, ...]) -> None:
    """RuntimeError: a gradient has a NaN."""
    for i, grad in enumerate(outs):
        refuse(
            isinstance(grad, Tensor) and np.isnan(grad._array).any(),
            f"Function '{type(node).name(node)}' returned nan values in its {i}th output.",
        )


def warn_of(node: Node) -> None:
    """The warning of an error in a node, with the lines of its forward call; so for the node whose backward made it."""
    template = "Error detected in {}. Traceback of forward call that caused the error:\n{}"
    again = (
        "\n\nPrevious calculation was induced by {}. Traceback of forward call that induced the previous calculation:\n"
        "{}"
    )
    nothing = "No forward pass information available. Enable detect anomaly during forward pass for more information."
    maker: Any = node
    while maker is not None:
        name, lines = type(maker).name(maker), maker.metadata.get("traceback_")
        text = f"Error detected in {name}. {nothing}" if lines is None else template.format(name, "".join(lines))
        try:
            warn(text)
        except Warning:  # the program makes errors of warnings: there is one already
            sys.stderr.write(f"{text}\n")
        maker, template = maker.metadata.get("parent_"), again


class set_detect_anomaly:
    """Look for NaN in backward from now on, or in a ``with`` block; without ``check_nan`` only keep forward lines."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.before = STATE.node_callbacks, STATE.anomaly
        others = tuple(note for note in STATE.node_callbacks if note is not note_forward)
        STATE.node_callbacks = (*others, note_forward) if mode else others
        STATE.anomaly = "" if not mode else "nan" if check_nan else "lines"

    def __enter__(self) -> None:
        """The mode was set when this was made."""

    def __exit__(self, *_: object) -> None:
        STATE.node_callbacks, STATE.anomaly = self.before


class detect_anomaly(set_detect_anomaly):
    """Look for NaN in the backward passes of a ``with`` block, and name the forward line of the node that made one."""

    def __init__(self, check_nan: bool = True) -> None:
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
            "debugging.",
            stacklevel=2,
        )
        self.check_nan = check_nan

    def __enter__(self) -> None:
        super().__init__(True, self.check_nan)
