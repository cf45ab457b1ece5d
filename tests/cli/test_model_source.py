"""A model as SOURCE, by its file and its name: made, run forward and backward, and drawn by module."""

from __future__ import annotations

import numpy as np
import pytest
from program import Program

MODEL = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.blocks = nn.Sequential(nn.Linear(4, width), nn.ReLU())
        self.out = nn.Linear(width, 2)

    def forward(self, x):
        h = self.blocks(x)
        return {"logits": self.out(h), "hidden": (h, None)}


class Wide(Net):
    def __init__(self, width):
        super().__init__(width)


class Square(nn.Module):
    def forward(this, x):
        return x @ x


def make():
    return Wide(6)


net = Net(16)
"""
ENGINES = ["gviz", pytest.param("torch", marks=pytest.mark.torch)]


@pytest.fixture
def here(gviz: Program) -> Program:
    """gviz, in a folder with a file of models, in a package as well."""
    (gviz.folder / "pkg").mkdir()
    for name in ("model.py", "pkg/models.py"):
        (gviz.folder / name).write_text(MODEL, "utf-8")
    return gviz


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("word", "path"), [("model.py:Net", "model"), ("model.py:net", "net"), ("pkg.models:make", "model")]
)
def test_a_model_is_made_and_run(here: Program, word: str, path: str, engine: str) -> None:
    done = here("summary", word, "--input", "3,4", "--engine", engine, "--json")
    assert done.status == 0, done.err
    modules = {row["path"]: row["kind"] for row in done.json()["modules"]}
    assert modules[f"{path}.blocks.0"] == modules[f"{path}.out"] == "Linear"


def test_a_model_is_drawn_by_module_and_the_same_in_each_run(here: Program) -> None:
    texts = []
    for _ in range(2):
        assert here("render", "model.py:net", "--input", "3,4", "-o", "net.svg").status == 0
        texts.append((here.folder / "net.svg").read_text("utf-8"))
    assert texts[0] == texts[1]
    assert "net.blocks.0" in texts[0]
    assert "AccumulateGrad" not in texts[0]


def test_an_input_may_be_a_file_or_integers(here: Program) -> None:
    np.save(here.folder / "x.npy", np.ones((3, 4)))
    assert here("summary", "model.py:Net", "--input-file", "x.npy").status == 0
    (here.folder / "model.py").write_text("from torch import nn\nnet = nn.Embedding(5, 3)\n", "utf-8")
    done = here("summary", "model.py:net", "--input", "2,6:int64", "--loss", "mean")
    assert (done.status, done.err) == (0, "root: loss (backward called)\n")
    assert "for integers: --input 2,16:int64" in here("summary", "model.py:net", "--input", "2,6").err


@pytest.mark.parametrize("engine", ENGINES)
def test_a_wrong_size_is_told_with_the_module_that_got_it(here: Program, engine: str) -> None:
    done = here("render", "model.py:Net", "--input", "3,5", "--engine", engine)
    assert done.status == 1
    assert "model.py:13: RuntimeError: mat1 and mat2 shapes cannot be multiplied (3x5 and 4x8)" in done.err
    assert "in model.blocks.0 (Linear), which got (3, 5)" in done.err


@pytest.mark.parametrize(
    ("words", "phrases"),
    [
        (["model.py:Nett", "--input", "3,4"], ["model.py has no Nett", "did you mean"]),
        (["model.py:Wide", "--input", "3,4"], ["'width'", "net = Wide(...), and name that: model.py:net"]),
        (["model.py:Square", "--input", "3,4"], ["in model (Square), which got (3, 4)"]),
        (["model.py:Net"], ["say its sizes, --input 1,3,224,224"]),
        (["model.py:Net", "--input", "3x4"], ["--input 3x4 is no size"]),
        (["none.py:Net", "--input", "3"], ["there is no file none.py"]),
        (["model.py", "--input", "3"], ["--input is for a model"]),
    ],
)
def test_what_is_wrong_with_a_model_is_told(here: Program, words: list[str], phrases: list[str]) -> None:
    done = here("render", *words)
    assert (done.status, [phrase for phrase in phrases if phrase not in done.err]) == (1, [])


def test_each_model_of_a_file_has_a_golden_graph(here: Program) -> None:
    assert here("check", "model.py:Net", "--input", "3,4", "--update").out == "model.Net.graph.json\n"
    assert here("check", "model.py:Net", "--input", "3,4", "--all-grads").status == 0
    assert here("diff", "model.py:Net", "model.py:net", "--input", "3,4").status == 1


@pytest.mark.parametrize("engine", ENGINES)
def test_a_table_by_module_has_the_columns_that_are_asked_for(here: Program, engine: str) -> None:
    words = "inspect", "model.py:Net", "--input", "3,4", "--by", "module", "--engine", engine
    text = here(*words, "--columns", "params,grad_norm,saved").out.splitlines()
    assert text[0].split() == ["module", "params", "grad_norm", "saved"]
    rows = {row["module"]: row for row in here(*words, "--columns", "params,class", "--json").json()}
    assert rows["model.blocks.0"] == {"module": "model.blocks.0", "params": 40, "class": "Linear"}
    assert rows["model"]["params"] == sum(rows[f"model.{name}"]["params"] for name in ("blocks", "out")) == 58


def test_columns_are_checked(here: Program) -> None:
    done = here("inspect", "model.py:Net", "--input", "3,4", "--by", "module", "--columns", "parms")
    assert (done.status, "did you mean params?" in done.err) == (2, True)
    assert here("inspect", "y=x", "--columns", "params").status == 2


FAULTS = """
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.used, self.other = nn.Linear(4, 2), nn.Linear(4, 2)

    def forward(self, x):
        return self.last(self.used(x) * 0)

    def last(self, h):
        return h


class Cut(Net):
    def last(self, h):
        return h.detach()


net = Net()
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_of_the_program_that_runs_a_model_nothing_is_told(here: Program, engine: str) -> None:
    (here.folder / "net.py").write_text(FAULTS, "utf-8")
    words = ("--input", "3,4", "--engine", engine)
    done = here("why", "net.py:net", *words)
    lines = [line.split(maxsplit=4) for line in done.out.splitlines()]
    assert [row[:3] for row in lines[1:3]] == [[f"net.used.{name}", "zero", "net.py:11"] for name in ("weight", "bias")]
    assert lines[3][:4] == ["net.other.weight", "no", "path", "use"]
    assert lines[5] == ["x1", "frozen"]
    names = [line.split()[0] for line in here("inspect", "net.py:net", *words).out.splitlines() if line.strip()][1:-1]
    assert names == ["net.used.weight", "net.used.bias", "net.other.weight", "net.other.bias", "x1", "output", "loss"]
    assert "line " not in here("why", "net.py:net", "x1", *words).out
    assert "net.py:19" in here("why", "net.py:Cut", *words).out  # which cuts all off: nothing to call backward on
    (here.folder / "net.py").write_text(FAULTS.replace("* 0", "- 100).log("), "utf-8")
    done = here("summary", "net.py:net", *words)
    assert "warning: output is NaN: the first named tensor that is not finite\n" in done.err
