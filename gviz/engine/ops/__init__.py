"""The operation table, one file per family; importing it only stores the rows."""

from gviz.engine.ops import activation, indexing, matrix, pointwise, reduction, shape

__all__ = ["activation", "indexing", "matrix", "pointwise", "reduction", "shape"]
