"""Where boxes go: the one home of Graphviz, in this process or as the system's ``dot``, and of the fonts it draws with."""

from __future__ import annotations

__all__ = ["RenderWarning"]


class RenderWarning(UserWarning):
    """Something worth knowing about a picture that could be made all the same."""
