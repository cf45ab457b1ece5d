"""Each operation knows the ``nn.Module`` whose call recorded it: the names that lead there, the class, and which call it was."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

import gviz
from gviz import engine
from gviz.graphs import Graph, Module

NESTED = """\
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)

    def forward(self, x):
        return torch.relu(self.fc(x))

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = Block(), nn.Linear(2, 1)

    def forward(self, x):
        return self.last(self.first(x)).sum()

net = Net()
loss = net(torch.ones(3, 2))
"""

TWICE = """\
import torch
fc = torch.nn.Linear(2, 2)
y = fc(fc(torch.ones(3, 2)).tanh()).sum()
"""

LISTED = """\
import torch
layers = [torch.nn.Linear(2, 2), torch.nn.Sigmoid()]
x = torch.ones(3, 2)
for layer in layers:
    x = layer(x)
y = x.sum()
"""

HELD = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])

    def forward(self, x):
        for block in self.blocks:
            x = block(x).sin()
        return x

net = Net()
y = net(torch.ones(3, 2)).sum()
"""

INSIDE_A_FUNCTION = """\
import torch

def compute(x):
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Tanh())
    return net(x)

head = torch.nn.Linear(2, 1)
y = head(compute(torch.ones(3, 2))).sum()
"""

FUNCTIONAL = """\
import torch
fc = torch.nn.Linear(2, 2)
h = torch.nn.functional.relu(fc(torch.ones(3, 2)))
y = (h * 2).sum()
"""

ENGINES = [pytest.param("gviz"), pytest.param("torch", marks=pytest.mark.torch)]


def graph(tmp_path: Path, code: str, name: str, root: str) -> Graph:
    if name == "torch":
        pytest.importorskip("torch")
    (tmp_path / "net.py").write_text(code)
    return gviz.read(tmp_path / "net.py", gviz.SourceOptions(engine=name, roots=(root,))).graph


def operations(drawn: Graph) -> list[tuple[str, Module | None]]:
    """The class of each operation, inputs first, with its module; without transposed weights, which engines place as they like."""
    found = [node for node in drawn.inputs_first() if node.kind == "operation" and node.label != "TBackward0"]
    modules = [node.module and node.module._replace(within=-1) for node in found]
    return [(node.label.rstrip("0123456789"), module) for node, module in zip(found, modules, strict=True)]


def leaves(drawn: Graph) -> dict[str | None, Module | None]:
    return {node.name: node.module for node in drawn.nodes if node.kind == "leaf"}


@pytest.mark.parametrize("name", ENGINES)
def test_of_modules_within_modules_the_innermost_one_counts(tmp_path: Path, name: str) -> None:
    drawn = graph(tmp_path, NESTED, name, "loss")
    assert operations(drawn) == [
        ("AddmmBackward", Module("net.first.fc", "Linear", 1)),
        ("ReluBackward", Module("net.first", "Block", 1)),
        ("AddmmBackward", Module("net.last", "Linear", 1)),
        ("SumBackward", Module("net", "Net", 1)),
    ]
    around = [drawn.calls_around(node.module) for node in drawn.nodes if node.label[:5] == "Addmm"]
    assert [[(one.path, one.call) for one in calls] for calls in around if len(calls) == 3] == [
        [("net", 1), ("net.first", 1), ("net.first.fc", 1)]
    ]


@pytest.mark.parametrize("name", ENGINES)
def test_a_parameter_and_its_accumulate_grad_are_in_the_module_that_holds_it(tmp_path: Path, name: str) -> None:
    drawn = graph(tmp_path, NESTED, name, "loss")
    assert leaves(drawn) == {
        f"{path}.{parameter}": Module(path, "Linear")
        for path in ("net.first.fc", "net.last")
        for parameter in ("weight", "bias")
    }
    ends = [(drawn.by_id[edge.source], drawn.by_id[edge.target]) for edge in drawn.edges]
    pairs = [(leaf.module, node.module) for leaf, node in ends if node.kind == "accumulate"]
    assert len(pairs) == 4
    assert all(held == accumulated for held, accumulated in pairs)


@pytest.mark.parametrize("name", ENGINES)
def test_a_module_that_is_called_twice_counts_its_calls(tmp_path: Path, name: str) -> None:
    drawn = graph(tmp_path, TWICE, name, "y")
    assert operations(drawn) == [
        ("AddmmBackward", Module("fc", "Linear", 1)),
        ("TanhBackward", None),
        ("AddmmBackward", Module("fc", "Linear", 2)),
        ("SumBackward", None),
    ]


@pytest.mark.parametrize("name", ENGINES)
def test_a_module_in_a_list_has_its_place_there_unless_a_name_of_its_own_is_shorter(tmp_path: Path, name: str) -> None:
    drawn = graph(tmp_path, LISTED, name, "y")
    assert operations(drawn) == [
        ("AddmmBackward", Module("layers[0]", "Linear", 1)),
        ("SigmoidBackward", Module("layer", "Sigmoid", 1)),  # the last one of the loop
        ("SumBackward", None),
    ]


@pytest.mark.parametrize("name", ENGINES)
def test_modules_in_a_module_list_have_its_numbers_and_functions_are_in_the_module_that_calls_them(
    tmp_path: Path, name: str
) -> None:
    drawn = graph(tmp_path, HELD, name, "y")
    assert operations(drawn) == [
        ("AddmmBackward", Module("net.blocks.0", "Linear", 1)),
        ("SinBackward", Module("net", "Net", 1)),
        ("AddmmBackward", Module("net.blocks.1", "Linear", 1)),
        ("SinBackward", Module("net", "Net", 1)),
        ("SumBackward", None),
    ]


@pytest.mark.parametrize("name", ENGINES)
def test_a_module_that_lived_in_a_function_is_called_by_its_class(tmp_path: Path, name: str) -> None:
    drawn = graph(tmp_path, INSIDE_A_FUNCTION, name, "y")
    assert operations(drawn) == [
        ("AddmmBackward", Module("Sequential.0", "Linear", 1)),
        ("TanhBackward", Module("Sequential.1", "Tanh", 1)),
        ("AddmmBackward", Module("head", "Linear", 1)),
        ("SumBackward", None),
    ]


@pytest.mark.parametrize("name", ENGINES)
def test_what_functions_compute_outside_of_any_module_is_in_none(tmp_path: Path, name: str) -> None:
    drawn = graph(tmp_path, FUNCTIONAL, name, "y")
    assert operations(drawn) == [
        ("AddmmBackward", Module("fc", "Linear", 1)),
        ("ReluBackward", None),
        ("MulBackward", None),
        ("SumBackward", None),
    ]


@pytest.mark.parametrize("name", ENGINES)
def test_after_the_run_the_modules_are_called_as_before(tmp_path: Path, name: str) -> None:
    torch = pytest.importorskip("torch") if name == "torch" else engine
    before = torch.nn.Module.__call__
    graph(tmp_path, NESTED, name, "loss")
    assert torch.nn.Module.__call__ is before
    with pytest.raises(gviz.GvizError, match="no_such"):
        graph(tmp_path, NESTED + "net.no_such\n", name, "nothing")
    assert torch.nn.Module.__call__ is before


@pytest.mark.parametrize("name", ENGINES)
def test_a_graph_of_tensors_takes_modules_from_the_names_of_a_model_s_parameters(name: str) -> None:
    torch: ModuleType = pytest.importorskip("torch") if name == "torch" else engine
    nn = torch.nn
    net = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.ReLU(), nn.Linear(2, 1)))
    drawn = gviz.graph(net(torch.ones(3, 2)).sum(), model=net)
    assert operations(drawn) == [
        ("AddmmBackward", Module("0", "Linear")),
        ("ReluBackward", None),  # holds no parameter, and nobody saw the call
        ("AddmmBackward", Module("1.1", "Linear")),
        ("SumBackward", None),
    ]
    assert leaves(drawn) == {
        f"{path}.{parameter}": Module(path, "Linear") for path in ("0", "1.1") for parameter in ("weight", "bias")
    }
