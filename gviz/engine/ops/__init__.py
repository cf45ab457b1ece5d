"""The operation table, one file per family; importing it only stores the rows."""

from gviz.engine.ops import (
    activation,
    arithmetic,
    choice,
    comparison,
    copies,
    functions,
    indexing,
    joining,
    matrix,
    reduction,
    shape,
)

__all__ = [
    "activation",
    "arithmetic",
    "choice",
    "comparison",
    "copies",
    "functions",
    "indexing",
    "joining",
    "matrix",
    "reduction",
    "shape",
]
