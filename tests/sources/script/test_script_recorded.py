"""The recorded PyTorch programs as scripts: the table that a reading has is the state that PyTorch left."""

from __future__ import annotations

import ast
import importlib.util
import json
import math
from pathlib import Path
from typing import Any

import pytest
from program import ROOT
from scripts import Folder

from gviz.graphs import TensorRow
from gviz.graphs.numbers import Numbers
from gviz.sources.script.names import loop_names

RECORDED = ROOT / "tests" / "recorded" / "oracle" / "shared.jsonl"
NO_TORCH = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
FIELDS = ("dtype", "requires_grad", "is_leaf", "retains_grad", "grad_fn")


def recorded() -> list[Any]:
    """The programs of the articles and of the rules for leaves."""
    with RECORDED.open(encoding="utf-8") as lines:
        cases = [json.loads(line) for line in lines]
    chosen = [case for case in cases if case["topic"] in {"seeds", "leaf"} and case["expect"]["names"]]
    return [pytest.param(case, id=case["id"]) for case in chosen]


def is_close(value: Any, other: Any) -> bool:
    if isinstance(value, list):
        return isinstance(other, list) and len(value) == len(other) and all(map(is_close, value, other))
    if isinstance(value, float) and isinstance(other, float):
        return math.isclose(value, other, rel_tol=1e-4, abs_tol=1e-5)
    return bool(value == other)


def jsonable(numbers: Numbers | None) -> Any:
    return None if numbers is None else numbers.jsonable()


def differences(row: TensorRow, want: dict[str, Any]) -> list[str]:
    wrong = [field for field in FIELDS if getattr(row, field) != want[field]]
    known = {"value": row.value, "grad": row.grad.value}
    wrong += [field for field, numbers in known.items() if not is_close(want[field], jsonable(numbers))]
    return wrong if list(row.shape) == want["shape"] else [*wrong, "shape"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("engine", ["gviz", pytest.param("torch", marks=[pytest.mark.torch, NO_TORCH])])
@pytest.mark.parametrize("case", recorded())
def test_a_recorded_program_has_its_recorded_table(case: dict[str, Any], engine: str, tmp_path: Path) -> None:
    expect = case["expect"]
    imports = {"nn.": "from torch import nn\n", "F.": "import torch.nn.functional as F\n"}
    needed = [line for name, line in imports.items() if name in case["source"]]
    reading = Folder(tmp_path).run("".join(["import torch\n", *needed, case["source"]]), rootless=True, engine=engine)
    loops = loop_names(ast.parse(case["source"]))  # what has a better name is listed by that alone
    names = [row.name for row in reading.graph.tensors]
    assert [name for name in names if name not in loops] == [name for name in expect["names"] if name not in loops]
    wrong = {row.name: differences(row, expect["names"][row.name]) for row in reading.graph.tensors}
    assert not any(wrong.values()), wrong
    assert reading.failed is ("error" in expect)
    if reading.failed:
        (error,) = [note.text for note in reading.notes if note.level == "error"]
        assert f": {expect['error']['type']}: {expect['error']['message']}\n" in error
