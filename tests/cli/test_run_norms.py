"""``gviz run --norms`` as a program: the training of a script, measured while it runs."""

from __future__ import annotations

import json

from program import Program

TRAIN = """\
import torch
from torch import nn

torch.manual_seed(0)

class Trainer:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))

    def train(self):
        optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        for step in range(12):
            optimizer.zero_grad()
            (self.model(torch.randn(8, 4)) ** 2).mean().backward()
            optimizer.step()
        print("done")

Trainer().train()
"""


def test_the_norms_of_a_training_are_printed_wherever_the_script_has_its_model(gviz: Program) -> None:
    (gviz.folder / "train.py").write_text(TRAIN)
    done = gviz("run", "train.py", "--norms", "-o", "norms.json")
    assert (done.out, done.status) == ("done\n", 0)
    lines = done.err.splitlines()
    assert lines[0] == "12 steps of the optimizer, counted from 0; every 10th is measured"
    assert [line.split()[0] for line in lines[2:6]] == ["0.weight", "0.bias", "2.weight", "2.bias"]
    assert lines[-1] == "norms.json"
    assert json.loads((gviz.folder / "norms.json").read_text())["measured"] == [0, 10]


def test_some_layers_are_chosen_by_a_pattern_and_drawn(gviz: Program) -> None:
    (gviz.folder / "train.py").write_text(TRAIN)
    done = gviz("run", "train.py", "--watch", "2", "-o", "norms.svg")
    svg = (gviz.folder / "norms.svg").read_text()
    assert "2.weight" in svg
    assert "0.weight" not in svg + done.err


def test_a_training_that_ctrl_c_or_an_error_has_ended_has_its_norms(gviz: Program) -> None:
    for end, status in (("KeyboardInterrupt", 130), ("ValueError('no')", 1)):
        (gviz.folder / "train.py").write_text(TRAIN.replace('print("done")', f"raise {end}"))
        done = gviz("run", "train.py", "--norms")
        assert done.status == status
        assert "12 steps of the optimizer" in done.err


def test_a_format_that_is_none_is_refused_before_the_training(gviz: Program) -> None:
    (gviz.folder / "train.py").write_text(TRAIN)
    done = gviz("run", "train.py", "-o", "norms.docx")
    done.assert_refused("there is no heat map in the format 'docx'", files=("train.py",))
    assert not done.out


def test_a_script_without_a_model_is_told_so(gviz: Program) -> None:
    (gviz.folder / "train.py").write_text("import torch\nw = torch.ones(2, requires_grad=True)\nw.sum().backward()\n")
    assert "there is no model with parameters of such names" in gviz("run", "train.py", "--norms").err
