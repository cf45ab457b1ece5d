"""What a lower room calls and an upper room provides: the entrance of the package joins the two.

The engine's tensors show their graph in a notebook; who draws it, the engine does not know.
"""

from __future__ import annotations

from collections.abc import Callable


class Wires:
    """The functions that are provided.

    ``picture`` returns that of a tensor as SVG, or None; ``stage`` hears what a command is at: ``layout``, ``drawing``,
    or "" at the end.
    """

    picture = staticmethod(lambda tensor: None)  # noqa: ARG005 - nobody provides one until gviz is imported
    stage: Callable[[str], object] = staticmethod(str)
    """Nobody listens but a command on a terminal: the name is made a text, which it is."""
