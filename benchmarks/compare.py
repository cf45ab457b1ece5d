"""The table of docs/static.md: three programs as a static graph and as dynamic ones, written there as it was measured."""

from __future__ import annotations

import gc
import re
from pathlib import Path

from gviz.compare.measuring import Comparison, measure
from gviz.compare.picture import seconds
from gviz.compare.programs import articles

PAGE = Path(__file__).parent.parent / "docs" / "static.md"
RUNS = 50
HEADS = (
    "program",
    "operations built, static",
    "dynamic",
    "to build",
    "a static run",
    "a dynamic run",
    "ratio",
    "paid after",
)
NAMES = ("power(x, 100), 10×10 int32", "e = a*b + log(d)*c with 4 gradients", "the same without gradients")
TABLE = re.compile(r"\| program \|.*?(?=\n\n)", re.DOTALL)


def row(name: str, result: Comparison) -> list[str]:
    """Return a row of the table."""
    times = [seconds(time) for time in (result.build, result.static_run, result.dynamic_run)]
    paid = "never" if result.paid_after is None else f"{result.paid_after} runs"
    built = [len(result.static.graph.operations), RUNS * result.pair.recorded]
    return [name, *map(str, built), *times, f"{result.ratio:.2f}", paid]


def main() -> None:
    """Measure, and write the table into the page."""
    gc.enable()
    results = [measure(pair) for pair in articles(RUNS)]
    rows = [HEADS, ["---"] * len(HEADS), *map(row, NAMES, results)]
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in rows)
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(TABLE.sub(lambda _: table, text, count=1), encoding="utf-8")
    print(table)


if __name__ == "__main__":
    main()
