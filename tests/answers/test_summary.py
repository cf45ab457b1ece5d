"""A graph on one screen: its numbers are those of the graph, its command draws it, large and odd graphs are said too."""

from __future__ import annotations

import json
import math
import shlex
from pathlib import Path
from typing import Any

import pytest
from graphs import node
from program import Program

import gviz
from gviz.answers.summary import module_rows, summary, summary_lines
from gviz.graphs import Edge, Graph

NET = """
import torch
from torch import nn
torch.manual_seed(0)
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
    def forward(self, x):
        return x + self.b(torch.relu(self.a(x)))
net = nn.Sequential(*(Block() for _ in range(5)))
loss = net(torch.randn(2, 4)).pow(2).mean()
loss.backward()
"""


def test_the_numbers_of_a_network_are_those_of_its_graph(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(NET)
    reading = gviz.read(tmp_path / "net.py", gviz.SourceOptions(kept=True))
    short = gviz.summary(reading)
    graph = reading.graph
    assert short.boxes == len(graph.nodes)
    assert short.operations == sum(one.kind == "operation" for one in graph.nodes)
    assert sum(count for _, count in short.kinds) == short.operations
    assert (short.leaves, short.parameters) == (20, 5 * 2 * 20)
    assert short.kept == sum(one.recorded.kept or 0 for one in graph.nodes)
    rows = {row.path: row for row in short.modules}
    assert next(iter(rows)) == "net"
    assert rows["net"].parameters == 200
    assert (rows["net.1"].kind, rows["net.1"].calls, rows["net.1.a"].parameters) == ("Block", 1, 20)
    norms = [one.grad.value.norm for one in graph.nodes if one.kind == "leaf" and one.grad.value]
    assert rows["net"].grad == pytest.approx(math.hypot(*norms))
    assert short.repeats == (("net.{0…4}", 5, 6),)  # the first block has a constant, as its picture says
    inner = [rows[f"net.{number}"].operations for number in range(5)]
    assert sum(filter(None, inner)) == rows["net"].operations


@pytest.mark.parametrize(("blocks", "left"), [(5, 0), (6, 3), (7, 6)])
def test_modules_behind_the_first_sixteen_are_counted(tmp_path: Path, blocks: int, left: int) -> None:
    (tmp_path / "net.py").write_text(NET.replace("range(5)", f"range({blocks})"))
    said = [line for line in summary_lines(gviz.summary(gviz.read(tmp_path / "net.py"))) if "more modules" in line]
    assert said == [f"… {left} more modules (--json lists all)"] * (left > 0)


def test_the_longest_path_is_one_of_the_graph() -> None:
    short = gviz.summary(gviz.read("y=(x+w)*(w+1)", x=2, w=1))
    assert (short.depth, short.width, short.path) == (2, 2, ("x", "a = AddBackward0", "y = MulBackward0"))


def test_the_command_says_values_and_draws_what_is_large(gviz: Program) -> None:
    done = gviz("summary", "y=(x+w)*(w+1)", "x=2", "w=1")
    assert done.out.endswith("draw it: gviz render 'y=(x+w)*(w+1)' x=2 w=1\n")
    data = json.loads(gviz("summary", "y=x*w", "x=2", "w=1", "--json").out)
    assert (data["operations"], data["leaves"], data["kinds"]) == (1, 2, [["MulBackward0", 1]])


def test_the_command_draws_the_graph_that_the_summary_is_of(gviz: Program) -> None:
    (gviz.folder / "many.py").write_text(
        "import sys\nimport torch\nw = torch.ones(3, requires_grad=True)\n"
        "a = w * 2\nb = w.sum() * float(sys.argv[1])\nb.backward()\n"
    )
    done = gviz("summary", "many.py", "--root", "a", "--root", "b", "--until", "6", "--", "-3")
    assert done.out.startswith("a, b: 3 operations")
    last = done.out.splitlines()[-1]
    assert last == "draw it: gviz render many.py --root a --root b --until 6 -- -3"
    assert gviz(*shlex.split(last.removeprefix("draw it: gviz ")), "-o", "y.svg").status == 0
    typed = gviz("summary", "y=x*w", "x=2", "--no-backward", "--dtype", "float64").out
    assert typed.endswith("draw it: gviz render 'y=x*w' x=2 --dtype float64 --no-backward\n")


def test_a_leaf_that_is_the_root_is_counted(gviz: Program) -> None:
    (gviz.folder / "leaf.py").write_text("import torch\nw = torch.ones(2, requires_grad=True)\n")
    said = gviz("summary", "leaf.py", "--root", "w").out
    assert "2 numbers in 1 leaf" in said
    assert "operations:" not in said


def test_graphs_without_operations_and_with_circles_have_a_summary() -> None:
    assert "0 operations in 0 boxes" in summary_lines(summary(Graph()))[0]
    circle = Graph(
        (node("a", "operation", "Neg"), node("b", "operation", "Neg")), (Edge("a", "b"), Edge("b", "a")), ("a",)
    )
    assert summary(circle).operations == 2


def test_a_deep_graph_has_a_summary() -> None:
    nodes = tuple(node(f"n{number}", "operation", "NegBackward0") for number in range(50_000))
    edges = tuple(Edge(f"n{number + 1}", f"n{number}") for number in range(49_999))
    short = summary(Graph(nodes, edges, ("n0",)))
    assert (short.depth, short.width, short.command) == (50_000, 1, "--fold on")


def test_a_module_has_a_row_with_its_parameters_though_it_is_not_used_or_shares_them(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(
        "import torch\nfrom torch import nn\nclass Net(nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        self.a, self.aux, self.b = (nn.Linear(n, m) for n, m in ((4, 3), (2, 2), (4, 3)))\n"
        "        self.b.weight = self.a.weight\n"
        "    def forward(self, x):\n        return self.a(x) + self.b(x)\nnet = Net()\nnet(torch.ones(2, 4)).sum().backward()\n"
    )
    graph = gviz.read(tmp_path / "net.py").graph
    rows = {row.path: row for row in module_rows(graph)}
    assert {path: row.parameters for path, row in rows.items()} == {"net": 24, "net.a": 15, "net.aux": 6, "net.b": 15}
    assert rows["net.b"].grad == rows["net.a"].grad
    assert rows["net.aux"].grad is None


@pytest.mark.parametrize("engine", ["gviz.engine", pytest.param("torch", marks=pytest.mark.torch)])
def test_a_table_by_module_counts_frozen_parameters_and_says_no_calls_that_nobody_has_seen(
    tmp_path: Path, engine: str
) -> None:
    torch = pytest.importorskip(engine)
    nn = torch.nn
    net = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)), nn.Linear(4, 2))
    net[2].weight.requires_grad_(False)
    net[0].requires_grad_(False)
    net.scale = torch.ones(7)
    loss = net[2](net[1](net[0](torch.ones(3, 4)))).sum()
    table = gviz.inspect(loss, model=net, by="module", columns="params,calls,operations")
    rows = {path: rest for path, *rest in zip(*table.columns().values(), strict=True)}
    assert [*table.columns()] == ["module", "params", "calls", "operations"]
    assert {path: row[0] for path, row in rows.items()} == {"0": "20", "1": "28", "1.0": "20", "1.1": "8", "2": "10"}
    assert {row[1] for row in rows.values()} == {""}
    assert rows["0"] == ["20", "", ""]
    gviz.save(loss, tmp_path / "run.json", model=net)
    saved = gviz.inspect(tmp_path / "run.json", by="module", columns=["params", "calls", "operations"])
    assert saved.columns() == table.columns()
    assert {row.calls for row in gviz.summary(loss, net).modules} == {None}
    with pytest.raises(gviz.GvizError, match=r"are class, calls, .*, not 'parms'"):
        gviz.inspect(loss, model=net, by="module", columns=["parms"])


@pytest.mark.parametrize("engine", ["gviz.engine", pytest.param("torch", marks=pytest.mark.torch)])
def test_of_tensors_no_operations_are_counted_that_names_of_parameters_alone_give_to_a_module(
    tmp_path: Path, engine: str
) -> None:
    """The sum of two embeddings is no operation of one of them, and a list that calls nothing has its class, too."""
    torch = pytest.importorskip(engine)
    nn = torch.nn
    net = nn.ModuleDict({"words": nn.Embedding(4, 3), "places": nn.Embedding(4, 3), "heads": nn.ModuleList()})
    net["heads"].append(nn.Linear(3, 2))
    tied = net["words"].weight * net["places"].weight
    ids = torch.tensor([1, 2])
    both = net["words"](ids) + net["places"](ids)
    loss = net["heads"][0](both).sum() + tied.sum()
    loss.backward()
    short = gviz.summary(loss, net)
    rows = {row.path: row for row in short.modules}
    assert {path: row.kind for path, row in rows.items()} == {
        "words": "Embedding",
        "places": "Embedding",
        "heads": "ModuleList",
        "heads.0": "Linear",
    }
    assert {(row.calls, row.operations, row.kept) for row in rows.values()} == {(None, None, None)}
    assert [rows[path].parameters for path in ("words", "places", "heads")] == [12, 12, 8]
    assert rows["words"].grad == pytest.approx(float(net["words"].weight.grad.norm()))
    lines = summary_lines(short)
    assert "module   class       numbers  ‖grad‖" in lines
    assert "gviz summary SCRIPT" in " ".join(lines)
    assert gviz.inspect(loss, model=net, by="module").columns()["operations"] == [""] * 4
    gviz.save(loss, tmp_path / "run.json", model=net)
    assert gviz.summary(gviz.read(tmp_path / "run.json")).modules == short.modules


@pytest.mark.parametrize("engine", ["gviz.engine", pytest.param("torch", marks=pytest.mark.torch)])
def test_of_tensors_a_layer_whose_only_weight_is_another_s_has_a_row_with_it(tmp_path: Path, engine: str) -> None:
    torch = pytest.importorskip(engine)
    nn = torch.nn
    net = nn.Sequential(nn.Embedding(5, 3), nn.Linear(3, 3), nn.Linear(3, 5, bias=False))
    net[2].weight = net[0].weight
    loss = net(torch.tensor([1, 2])).pow(2).mean()
    loss.backward()
    rows = {row.path: row for row in gviz.summary(loss, net).modules}
    assert {path: (row.kind, row.parameters) for path, row in rows.items()} == {
        "0": ("Embedding", 15),
        "1": ("Linear", 12),
        "2": ("Linear", 15),
    }
    assert rows["2"].grad == rows["0"].grad == pytest.approx(float(net[0].weight.grad.norm()))
    gviz.save(loss, tmp_path / "run.json", model=net)
    assert gviz.summary(gviz.read(tmp_path / "run.json")).modules == gviz.summary(loss, net).modules
    assert [cause.name for cause in gviz.why(tmp_path / "run.json")] == [name for name, _ in net.named_parameters()]


def test_frozen_modules_of_a_program_have_a_row(gviz: Program) -> None:
    (gviz.folder / "net.py").write_text(
        "import torch\nfrom torch import nn\nnet = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 2))\n"
        "other = nn.Linear(9, 9)\nnet.scale = torch.ones(7)\nnet[0].requires_grad_(False)\n"
        "net(torch.ones(3, 4)).sum().backward()\nprint(sum(p.numel() for p in net.parameters()))\n"
    )
    rows = gviz("inspect", "net.py", "--by", "module", "--columns", "params,calls,operations,class", "--json").json()
    params = {row["module"]: row["params"] for row in rows}
    assert params == {"net": 74, "net.0": 40, "net.1": 16, "net.2": 18}
    first = next(row for row in rows if row["module"] == "net.0")
    assert (first["operations"], first["class"]) == (0, "Linear")


def test_a_module_that_is_not_called_counts_those_of_its_parameters_that_are_frozen_and_those_that_are_not(
    gviz: Program,
) -> None:
    (gviz.folder / "net.py").write_text(
        "import torch\nfrom torch import nn\nclass Net(nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])\n"
        "    def forward(self, x):\n        return self.layers[1](self.layers[0](x))\n"
        "net = Net()\nnet.layers[0].requires_grad_(False)\nnet(torch.ones(3, 4)).sum().backward()\n"
    )
    rows = gviz("inspect", "net.py", "--by", "module", "--columns", "params,calls,grad_norm", "--json").json()
    table = {row["module"]: (row["params"], row["calls"]) for row in rows}
    assert table == {"net": (40, 1), "net.layers": (40, None), "net.layers.0": (20, None), "net.layers.1": (20, 1)}
    norms = {row["module"]: row["grad_norm"] for row in rows}
    assert norms["net.layers"] == norms["net"] == norms["net.layers.1"] != norms["net.layers.0"]


@pytest.mark.parametrize("engine", ["gviz", pytest.param("torch", marks=pytest.mark.torch)])
def test_the_bytes_saved_are_those_of_distinct_memory(tmp_path: Path, engine: str) -> None:
    program = (
        "import torch\nfrom torch import nn\ntorch.manual_seed(0)\nnet = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(),"
        " nn.MaxPool2d(2), nn.Flatten(), nn.Linear(196, 3))\nx = torch.randn(2, 1, 16, 16)\n"
        "def loss_of():\n    return nn.functional.cross_entropy(net(x), torch.tensor([0, 2]))\n"
    )
    (tmp_path / "net.py").write_text(f"{program}loss_of().backward()\n")
    options = gviz.SourceOptions(kept=True, engine=engine)
    rows = [*module_rows(gviz.read(tmp_path / "net.py", options).graph)]
    saved = {row.path: row.kept for row in rows if row.path.startswith("net.")}
    convolution, pooled = 4 * (2 * 256 + 36), 4 * 2 * 196
    of_layers = (convolution, 4 * 8 * 196, 2 * 4 * 2 * 196, 0, pooled + 4 * 3 * 196)
    assert saved == {f"net.{number}": size for number, size in enumerate(of_layers)}
    if engine == "torch":
        torch = pytest.importorskip("torch")
        exec(program, space := dict[str, Any]())  # noqa: S102 - of this test
        storages: dict[int, int] = {}

        def pack(tensor: Any) -> Any:
            memory = tensor.untyped_storage()
            storages[memory.data_ptr()] = memory.nbytes()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            loss = space["loss_of"]()
        assert loss.grad_fn is not None
        assert sum(storages.values()) == summary(gviz.read(tmp_path / "net.py", options)).kept
