"""The fixtures that pytest has where gviz is installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from program import ROOT

TESTS = """
import os
from gviz import engine as torch

net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))

def test_gradients(assert_gradients):
    h = net[0](torch.ones(2, 2))
    loss = net[2](h.detach() if "CUT" in os.environ else h).sum()
    assert_gradients(loss, net)

def test_graph(graph_snapshot):
    y = net(torch.ones(2, 2))
    graph_snapshot((y.tanh() if "CUT" in os.environ else y).sum(), model=net)
"""


def run_pytest(folder: Path, *words: str, **variables: str) -> tuple[int, str]:
    """Return the exit status of pytest, with the plugin, and what it prints."""
    own = {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COLUMNS": "80"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "gviz.pytest_plugin", "-p", "no:cacheprovider", *words]
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **own, **variables}, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout


def test_a_snapshot_is_written_compared_and_drawn(tmp_path: Path) -> None:
    (tmp_path / "test_net.py").write_text(TESTS)
    status, text = run_pytest(tmp_path)
    assert (status, "there is no __graphs__/test_net.test_graph.json yet: pytest --graph-update writes it" in text) == (
        1,
        True,
    )
    assert run_pytest(tmp_path, "--graph-update")[0] == 0
    assert run_pytest(tmp_path)[0] == 0
    status, text = run_pytest(tmp_path, CUT="1")
    assert status == 1
    assert "AssertionError: 2 of 4 parameters have no gradient as it should be" in text
    assert "the graph is not that of __graphs__/test_net.test_graph.json" in text
    assert "+ TanhBackward0" in text
    assert sorted(os.listdir(tmp_path / "__graphs__")) == ["test_net.test_graph.diff.svg", "test_net.test_graph.json"]
