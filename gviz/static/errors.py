"""TensorFlow's error types, under TensorFlow's names; they belong to ``tf.errors``."""

from __future__ import annotations

from typing import Any


class OpError(Exception):
    """Something that went wrong while operations ran.

    Args:
        message: what went wrong.
        op: the operation (:class:`gviz.static.graph.Operation`), if it is known.
    """

    def __init__(self, message: str, op: Any = None) -> None:
        where = f", made at {op.place}" if op is not None and op.place else ""
        super().__init__(message if op is None else f"{message}\n\t [[node {op.name} ({op.type}){where}]]")
        self.message, self.op = message, op


class InvalidArgumentError(OpError):
    """A value that an operation cannot take: a placeholder without a feed, shapes that clash."""


class FailedPreconditionError(OpError):
    """The system is not in the state that an operation needs: a variable that was not initialised."""


class DeadlineExceededError(OpError):
    """A loop took more steps than the session allows."""


class OperatorNotAllowedInGraphError(TypeError):
    """Python wants a value of a tensor that has none yet."""


class NotFoundError(OpError):
    """A file, or a value in it, that is not there."""
