"""``--retain`` of a script: what has the name when backward runs keeps its gradient."""

from __future__ import annotations

import pytest
from program import Program

NET = """import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(2, 1)
    def forward(self, x):
        self.hidden = self.fc(x)
        return self.hidden

def loss_of(z):
    q = z * 5
    q.backward()

x = torch.tensor(2.0, requires_grad=True)
z = x * 3
parts = [z * 2]
y = parts[0] * z
y.backward()
net = Net()
for step in range(2):
    out = net(torch.ones(2)).sum()
    out.backward()
loss_of(x * 7)
"""


@pytest.mark.parametrize(("name", "grad"), [("z", 24), ("parts[0]", 6), ("net.hidden", [1]), ("out", 1), ("x", 107)])
def test_a_name_of_a_script_keeps_its_gradient(gviz: Program, name: str, grad: object) -> None:
    (gviz.folder / "net.py").write_text(NET)
    done = gviz("inspect", "net.py", "--retain", name, "--json")
    assert "not used" not in done.err
    row = next(row for row in done.json()["tensors"] if row["name"] == name)
    assert row["grad"] == grad
    assert row["is_leaf"] or row["retains_grad"]


def test_it_is_the_gradient_that_pytorch_keeps_and_changes_no_other(gviz: Program) -> None:
    (gviz.folder / "net.py").write_text(NET)
    plain, kept = gviz.inspect("net.py"), gviz.inspect("net.py", "--retain", "z,out")
    assert plain["z"]["grad"] is None
    assert [one["z"].pop("at_backward") for one in (plain, kept)] == [  # that of the function, which called last
        {"value": 14, "grad": None},
        {"value": 14, "grad": 5},
    ]
    assert {**plain["z"], "grad": 24, "retains_grad": True} == {**kept["z"], "grad": 24}
    assert {name: row["grad"] for name, row in plain.items() if name not in ("z", "out")} == {
        name: row["grad"] for name, row in kept.items() if name not in ("z", "out")
    }


def test_a_picture_has_the_gradient(gviz: Program) -> None:
    (gviz.folder / "net.py").write_text(NET)
    assert (
        "z = x * 3 = 6  grad = 24"
        in gviz("render", "net.py", "--root", "y", "--retain", "z", "--at", 20, "-o", "-", "--format", "txt").out
    )


@pytest.mark.parametrize("name", ["nothing", "step", "parts"])
def test_a_name_that_no_tensor_has_then_is_said(gviz: Program, name: str) -> None:
    (gviz.folder / "net.py").write_text(NET)
    done = gviz("inspect", "net.py", "--retain", name)
    assert done.status == 0
    assert f"warning: --retain {name} not used: where backward() is called, no tensor" in done.err
