"""``gviz diff`` and ``gviz check``: what they print and draw, and the statuses that a machine reads."""

from __future__ import annotations

from html import unescape

import pytest
from program import Program

OLD = """
import torch; torch.manual_seed(0)
from torch import nn
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
loss = net(torch.ones(3, 4)).pow(2).mean()
loss.backward()
"""
NEW = OLD.replace("nn.ReLU()", "nn.Tanh()").replace("pow(2)", "pow(4)")
ENGINES = ["gviz", pytest.param("torch", marks=pytest.mark.torch)]


def save(gviz: Program, **texts: str) -> None:
    """Write programs into the folder in which gviz runs."""
    for name, text in texts.items():
        (gviz.folder / f"{name}.py").write_text(text, "utf-8")


@pytest.mark.parametrize("engine", ENGINES)
def test_two_scripts_are_compared_by_module(gviz: Program, engine: str) -> None:
    save(gviz, old=OLD, new=NEW)
    done = gviz("diff", "old.py", "new.py", "--engine", engine, "-o", "d.svg")
    assert done.status == 1
    lines = [line.split("  line ")[0].rstrip() for line in done.out.splitlines()]
    assert lines == [
        "different: 0 added, 0 removed, 2 changed; 10 boxes as before, not counting AccumulateGrad",
        "",
        "~ net.1 Tanh",
        "  ~ TanhBackward0",
        "      operation: ReluBackward0 → TanhBackward0",
        "~ outside of modules",
        "  ~ PowBackward0",
        "      exponent: 2 → 4",
    ]
    assert "exponent: 2 → 4" in unescape((gviz.folder / "d.svg").read_text("utf-8")).replace("\u00a0", " ")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_golden_graph_is_kept_until_the_graph_changes(gviz: Program, engine: str) -> None:
    def check(*words: str) -> tuple[int, str]:
        done = gviz("check", "net.py", "--engine", engine, *words)
        return done.status, done.out

    save(gviz, net=OLD)
    gviz("check", "net.py").assert_refused("gviz check net.py --update writes it", status=2, files=("net.py",))
    assert check("--update") == (0, "net.graph.json\n")
    assert check("--all-grads") == (0, "the same: 12 boxes in both, not counting AccumulateGrad\n")
    save(gviz, net="\n\n" + OLD.replace("loss", "cost"))  # other lines and other names of results: the root has a name
    status, out = check()
    assert (status, out.splitlines()[2:]) == (1, ["~ outside of modules", "  ~ cost", "      name: loss → cost"])
    save(gviz, net=NEW)
    status, out = check("--format", "github")
    assert status == 1
    assert out.splitlines()[-1].startswith(
        "::error file=net.py,line=5,title=gviz check::~ TanhBackward0  line 5: loss = net(torch.ones(3, 4))"
    )


def test_a_gradient_that_is_missing_fails_the_check(gviz: Program) -> None:
    save(gviz, net=OLD.replace("loss.backward()", "w = torch.ones(2, requires_grad=True)\nloss.backward()"))
    assert gviz("check", "net.py", "--update").status == 0
    assert gviz("check", "net.py").status == 0
    done = gviz("check", "net.py", "--all-grads", "--format", "github")
    assert done.status == 1
    assert done.out.startswith("::error file=net.py,line=6,title=gviz check::w: no path%0A")


def test_the_differences_are_data(gviz: Program) -> None:
    done = gviz("diff", "y=x*w", "y=exp(x*w)", "x=2", "w=3", "--json")
    data = done.json()
    assert (done.status, data["same"], data["added"]) == (1, False, 1)
    assert [(one["sign"], one["label"]) for one in data["changes"]] == [("+", "ExpBackward0")]
    assert sorted(edge["sign"] for edge in data["edges"]) == ["+", "+", "-"]


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["y=x*w", "y=x*w", "x=2"], 0),
        (["y=x*w", "y=x*w", "x=2", "--values"], 0),
        (["y=x*w"], 2),
        (["y=x*w", "none.py"], 2),
        (["y=x*w", "y=2x*"], 2),
    ],
)
def test_the_status_tells_a_difference_from_an_error(gviz: Program, words: list[str], status: int) -> None:
    assert gviz("diff", *words).status == status


def test_a_script_that_fails_is_not_compared(gviz: Program) -> None:
    save(gviz, old=OLD, new=f"{OLD}raise ValueError('no')\n")
    done = gviz("diff", "old.py", "new.py")
    assert (done.status, done.out) == (2, "")
    assert "new.py did not come to its end" in done.err
