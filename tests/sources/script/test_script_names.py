"""What a tensor of several names is called: the name that lasts, and each of them where somebody asks for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from program import Program
from scripts import Folder

from gviz import SourceOptions, inspect as list_tensors, read, why

NEURON = """
    import torch
    class Neuron:
        def __init__(self):
            self.w = [torch.tensor([w], requires_grad=True) for w in (2.0, 3.0)]
            self.b = torch.zeros(1, requires_grad=True)
        def parameters(self):
            return self.w + [self.b]
    def other(z):
        p = z * 2
        return p
    n = Neuron()
    loss = sum(w * 2 for w in n.w) + n.b + sum([p * 1 for p in n.w])
    for p in n.parameters():
        p.grad = None
    loss.sum().backward()
    for p in n.parameters():
        p.data += -0.1 * p.grad
    """

FOLDS = """
    import torch
    models = []
    for fold in range(3):
        model = torch.nn.Linear(2, 1)
        model(torch.ones(1, 2)).sum().backward()
        models.append(model)
    """

BEST = """
    import torch
    models = {"a": torch.nn.Linear(2, 1), "b": torch.nn.Linear(2, 1)}
    for k, m in models.items():
        loss = m(torch.ones(1, 2)).sum()
        loss.backward()
    model = models["b"]
    """

BLOCKS = """
    import torch
    class Block:
        def __init__(self):
            self.w = torch.ones(2, requires_grad=True)
            self.inner = torch.nn.Sequential(torch.nn.Linear(2, 1))
    class Net:
        def __init__(self, blocks):
            self.blocks = blocks
    first = Block()
    net = Net([first, Block()])
    h = first.w * 3 + net.blocks[1].w
    loss = sum(block.inner(h) for block in net.blocks)
    loss.backward()
    """


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


@pytest.mark.parametrize(
    ("script", "leaves"),
    [
        (NEURON, {"n.w[0]": "", "n.w[1]": "", "n.b": "", "p": "n.b"}),
        (
            FOLDS,
            {f"models[{at}].{name}": "" for at in range(3) for name in ("weight", "bias")}
            | {"model.weight": "models[2].weight", "model.bias": "models[2].bias"},
        ),
        (
            BEST,
            {f"models['{key}'].{name}": "" for key in "ab" for name in ("weight", "bias")}
            | {f"{holder}.{name}": f"models['b'].{name}" for holder in ("model", "m") for name in ("weight", "bias")},
        ),
    ],
)
def test_a_name_that_lasts_comes_before_that_of_a_loop(folder: Folder, script: str, leaves: dict[str, str]) -> None:
    reading = folder.run(script, lines=True)
    rows = {row.name: row.same_as for row in reading.graph.tensors if row.is_leaf and row.requires_grad}
    assert [*rows.items()] == [*leaves.items()]
    boxes = {node.name for node in reading.graph.nodes if node.kind == "leaf"}
    assert boxes <= {name for name, first in leaves.items() if not first}


def test_a_result_has_the_name_that_its_loop_gives(folder: Folder) -> None:
    code = "import torch\nclass Net: pass\nnet = Net()\nw = torch.ones(2, requires_grad=True)\n"
    code += "for t in range(2):\n    h = net.h = w * t\n"
    graph = folder.run(f"{code}loss = h.sum()\nloss.backward()\n", lines=True).graph
    assert {node.name for node in graph.nodes if node.name} == {"w", "h", "loss"}


@pytest.mark.parametrize(
    ("script", "name", "line"),
    [
        (NEURON, "n.b", 16),
        (NEURON, "p", 16),
        (FOLDS, "models[2].weight", 6),
        (FOLDS, "model.weight", 6),
        (BEST, "models['b'].weight", 6),
        (BEST, "m.bias", 6),
        (BLOCKS, "first.w", 14),
        (BLOCKS, "net.blocks[0].w", 14),
        (BLOCKS, "net.blocks[0].inner.0.weight", 14),
        (BLOCKS, "net.blocks[0].inner[0].weight", 14),
    ],
)
def test_why_answers_for_each_name_of_a_tensor(folder: Folder, script: str, name: str, line: int) -> None:
    path = str(folder.write("net.py", script))
    cause = why(path, name)
    assert (cause.verdict, [place.line for place, _ in cause.lines]) == ("ok", [line])


def test_options_take_each_name_of_a_tensor(folder: Folder, gviz: Program) -> None:
    path = str(folder.write("net.py", BLOCKS))
    (gviz.folder / "net.py").write_text(Path(path).read_text())
    name = "net.blocks[0].w"
    assert gviz("explain", "net.py", "--wrt", name).out.splitlines()[-1].endswith("= first.w.grad")
    kept = BLOCKS.replace("loss.backward()", "loss.backward(retain_graph=True)")
    graph = read(str(folder.write("kept.py", kept)), SourceOptions(order=1, wrt=(name,))).graph
    assert graph.title == f"∂loss/∂{name}"
    held = BLOCKS.replace("ones(2, requires_grad=True)", "ones(2, requires_grad=True) * 1")
    path = str(folder.write("held.py", f"{held}first.w.retain_grad()\n"))
    rows = {row.name: row for row in read(path, SourceOptions(retain=(name,))).graph.tensors}
    assert rows["net.blocks[0].w"].grad.value is not None
    changes = read(str(folder.write("net.py", BLOCKS)), SourceOptions(watch=name)).changes
    assert [place.line for place, *_ in changes] == [11, 14]


def test_objects_that_hold_one_another_end_the_way_to_a_name(folder: Folder) -> None:
    code = (
        "import torch\nclass Node: pass\na = Node()\na._, a.w = a, torch.ones(2, requires_grad=True)\n"
        "(a.w * 2).sum().backward()\n"
    )
    rows = folder.run(code, names=("a._._.w", "a._._")).graph.tensors
    assert {row.name for row in rows if row.is_leaf} == {"a.w", "a._._.w"}


def test_the_table_says_whose_name_a_loop_has_taken_also_of_what_is_frozen(folder: Folder) -> None:
    code = "import torch\nnet = torch.nn.Linear(2, 1)\nfor p in net.parameters():\n    p.requires_grad = False\n"
    code += "w = torch.ones(1, requires_grad=True)\n(net(torch.ones(2)) * w).sum().backward()\n"
    columns = list_tensors(str(folder.write("net.py", code))).columns()
    notes = dict(zip(columns["name"], columns["note"], strict=True))
    assert notes == {"net.weight": "frozen", "net.bias": "frozen", "w": "", "p": "frozen; is net.bias"}
