"""What a trace has learnt of a program, in the words of a graph: a line for each operation, and for each tensor outside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gviz.graph import to_value
from gviz.text import line_text
from gviz.walk import Line, bytes_kept

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from gviz.graph import TensorRow
    from gviz.trace import Trace, Where

__all__ = ["Lines"]


class Lines:
    """The lines of a program's operations and tensors.

    Args:
        trace: what its calls told.
        file: gives the name of a file in messages, "" for the source itself.
        column: gives the column that people see, of a place in an expression.
    """

    def __init__(
        self, trace: Trace, file: Callable[[str], str] = lambda _: "", column: Callable[[Where], int] = lambda _: 0
    ) -> None:
        self.trace, self.file, self.column = trace, file, column
        self.kept: Mapping[Any, int] = {}

    def of(self, node: Any) -> Line | None:
        """Return the line that an operation was recorded at; what it costs, if that was measured."""
        noted, costs = self.trace.of_node(node), self.trace.timed
        kept = (self.kept[node] if node in self.kept else bytes_kept(node)) if costs else None
        if noted is None:
            return Line(0, kept=kept) if costs else None
        where, writes = noted.made.where, noted.made.writes
        place = where.line, self.column(where), self.file(where.file)
        return Line(*place, noted.turn, writes, noted.seconds if costs else None, kept, to_value(noted.value))

    def rows(self, rows: Iterable[TensorRow], named: Mapping[str, Any], assigned: Mapping[str, int]) -> Iterator[TensorRow]:
        """Yield the rows of tensors with their lines; and what has cut off those that are outside the graph.

        Args:
            rows: as the walk has them.
            named: the tensor of each row.
            assigned: name -> the line that gives it its value.
        """
        names: dict[int, str] = {}
        for name, tensor in named.items():
            names.setdefault(id(tensor), name)
        return (self.row(row, named[row.name], names, assigned) for row in rows)

    def row(self, row: TensorRow, tensor: Any, names: Mapping[int, str], assigned: Mapping[str, int]) -> TensorRow:
        """Return the row of one tensor."""
        node = tensor.grad_fn if row.grad_fn else None
        noted = self.trace.of_node(node) if node is not None else None
        made = noted.made if noted else self.trace.made_by(tensor)
        if made is None or (row.is_leaf and row.requires_grad and "." in row.name):  # a layer makes its parameters itself
            return row._replace(line=assigned.get(row.name.partition("[")[0].partition(".")[0], 0))
        cut_at = line_text(made.at.line, self.file(made.at.file)) if made.at is not None else ""
        line, file = made.where.line, self.file(made.where.file)
        source = names.get(id(made.source()), "") if made.source is not None else ""
        return row._replace(line=line, file=file, cut=made.lost, cut_by=made.by, cut_at=cut_at, cut_from=source)
