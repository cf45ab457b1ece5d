"""Which tensor of a script is the root, what it is called, and what the boxes are called."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from scripts import HEAD, Folder, grad_of, leaves, nested, roots, rows, texts, value_of

from gviz.errors import SourceError
from gviz.graphs import Graph
from gviz.sources import SourceOptions, read


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def last(line: int) -> str:
    return f"the last tensor assigned at line {line} that no other was made from"


def last_graph(line: int) -> str:
    return f"the last tensor assigned at line {line} that has a graph, and is in no other"


@pytest.mark.parametrize(
    ("script", "root", "why"),
    [
        ("y = x * 2\nz = x * 3\nz.backward()\ny.backward()\nt = x * 5", "y", "backward called at line 6"),
        ("y = x * 2\ntorch.autograd.backward(y)\nz = x * 3", "y", "backward called at line 4"),
        ("y = x * 2\nz = x * 3\ntorch.autograd.backward([z, y])", "z, y", "backward called at line 5"),
        ("y = torch.ones(2) * x\nz = y * 3\ny.backward()", "y", "backward called at line 5"),  # which raises
        ("(x * 2).backward()", "y", "a tensor without a name; backward called at line 3"),
        (
            "def f(y, z=2): u = y * z; return u\n(f(x) * 2).backward()",  # names of other things
            "v",
            "a tensor without a name; backward called at line 4",
        ),
        (
            "y = x * 2\nz = torch.tensor(1.0)\nz.backward()",
            "y",
            f"{last_graph(3)}; what backward was called on at line 5 has none",
        ),
        ("a = x * 2\nb = a + 1\nc = x * 3\nb = c * b\nd = torch.tensor(1.0)", "b", last_graph(6)),
        ("y = x * 2\nz = x * 3", "z", last(4)),
        ("y = z = None\nz = x * 3\ny = x * 2", "y", last(5)),
        ("y = x * 1\nz = x * 3; y = x * 2", "y", last(4)),
        ("y = x * 2\nz = x * 3\nraise ValueError\ny = 1", "z", last(4)),
        ("parts = [x * 2]\nparts.append(parts[0] * 3)", "parts[1]", last(3)),
        ("parts = [x * 2, x * 3]", "parts[1]", last(3)),
        ("d = {}\nd['k'] = x * 2", "d['k']", last(4)),
        ("class K:\n    def __repr__(self): raise SystemExit(0)\nd = {K(): x * 2}", "d[<K>]", last(5)),
    ],
)
def test_the_root_is_the_last_backwards_or_the_last_tensor_that_no_other_was_made_from(
    folder: Folder, script: str, root: str, why: str
) -> None:
    reading = folder.run(f"{HEAD}{script}\n")
    assert roots(reading) == root.split(", ")
    assert texts(reading) == [f"root{'s' * (',' in root)}: {root} ({why})"]


def test_a_root_without_a_name_is_not_in_the_table(folder: Folder) -> None:
    assert list(rows(folder.run(HEAD + "(x * 2).backward()\n"))) == ["x"]


def test_the_line_is_the_scripts_own_however_deep_the_call(folder: Folder) -> None:
    folder.write("train.py", "def step(loss):\n    loss.backward()\n")
    reading = folder.run(HEAD + "import train\nloss = x * 2\n\ntrain.step(loss)\n")
    assert texts(reading) == ["root: loss (backward called at line 6)"]


@pytest.mark.parametrize("argument", ["y.mean()", "var=y.mean()", "(y.mean(),)"])
def test_without_backward_it_is_what_make_dot_drew_last(folder: Folder, argument: str) -> None:
    text = "from torchviz import make_dot\ny = x * 2\nmake_dot(y)\nmake_dot({}, params={{'x': x}})\nz = y * 3\n{}"
    reading = folder.run(HEAD + text.format(argument, ""))
    assert texts(reading) == ["root: u (a tensor without a name; make_dot called at line 6)"]
    assert "MeanBackward0" in [node.label for node in reading.graph.nodes]
    assert roots(folder.run(HEAD + text.format(argument, "z.backward()"))) == ["z"]


def test_a_root_is_called_as_in_the_function_that_called_backward(folder: Folder) -> None:
    reading = folder.run(
        "import torch\ndef main():\n    w = torch.ones(1, requires_grad=True)\n    loss = w * 2\n    loss.backward()\nmain()\n"
    )
    assert roots(reading) == ["loss"]
    assert leaves(reading) == {"w"}
    assert texts(reading) == ["root: loss (backward called at line 5)"]
    assert list(rows(reading)) == ["w", "loss"]  # there is no global tensor to list instead


def test_the_table_lists_the_global_names_only(folder: Folder) -> None:
    reading = folder.run(HEAD + "def main():\n    loss = x * 2\n    loss.backward()\nmain()\n")
    assert roots(reading) == ["loss"]
    assert list(rows(reading)) == ["x"]


def test_a_name_given_to_another_tensor_after_backward_stays_in_the_picture(folder: Folder) -> None:
    reading = folder.run(HEAD + "L = x * 2\nL.backward()\nx = x - 0.5 * x.grad\nL = 7\n")
    assert roots(reading) == ["L"]
    assert leaves(reading) == {"x"}
    assert (rows(reading)["x"].grad_fn, rows(reading)["x"].as_it_was.grad_fn) == ("SubBackward0", None)
    assert rows(reading)["L"].grad_fn == "MulBackward0"


def test_a_name_given_to_another_tensor_after_autograd_grad_stays_in_the_picture(folder: Folder) -> None:
    step = "L = (x * 2) ** 2\ng, = torch.autograd.grad(L, x)\nx = (x - 0.5 * g).detach().requires_grad_()\n"
    reading = folder.run(HEAD + step * 2)
    assert leaves(reading) == {"x"}
    moment = rows(reading)["x"].moment
    assert moment is not None
    assert moment.remark == "its gradient was returned by autograd.grad, line 7; another tensor now"


def test_items_given_to_other_tensors_after_backward_stay_in_the_picture(folder: Folder) -> None:
    text = """
        import torch
        params = [torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)]
        y = params[0] * params[1]
        y.backward()
        params[0] = params[0] - params[0].grad
    """
    assert leaves(folder.run(text)) == {"params[0]", "params[1]"}


def test_a_deleted_name_stays_in_the_picture(folder: Folder) -> None:
    reading = folder.run(HEAD + "y = x * 2\ny.backward()\ndel x\n")
    assert leaves(reading) == {"x"}
    assert list(rows(reading)) == ["x", "y"]


def test_for_a_root_made_after_backward_the_names_are_those_of_the_end(folder: Folder) -> None:
    reading = folder.run(
        HEAD + "y = x * 2\ny.backward()\nx = torch.tensor(5.0, requires_grad=True)\nz = x * 3\n", roots=("z",)
    )
    assert roots(reading) == ["z"]
    assert {node.name: nested(node.value) for node in reading.graph.nodes if node.kind == "leaf"} == {"x": 5}


def test_a_leaf_of_a_root_made_after_backward_keeps_its_name_if_another_tensor_takes_it(folder: Folder) -> None:
    later = "z = x * 3\nx = torch.tensor(5.0, requires_grad=True)\n"
    reading = folder.run(HEAD + "y = x * 2\ny.backward()\n" + later, roots=("z",))
    assert {node.name: nested(node.value) for node in reading.graph.nodes if node.kind == "leaf"} == {"x": 2}


def test_parameters_of_a_module_have_their_paths_as_names(folder: Folder) -> None:
    text = """
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(2, 1)
            def forward(self, x):
                return self.fc(x)
        net = Net()
        y = net(torch.ones(1, 2)).sum()
        y.backward()
    """
    reading = folder.run(text)
    assert leaves(reading) == {"net.fc.weight", "net.fc.bias"}
    assert list(rows(reading)) == ["net.fc.weight", "net.fc.bias", "y"]


def test_what_a_module_keeps_of_its_call_has_a_name_unless_it_is_private(folder: Folder) -> None:
    text = """
        import torch
        class Net(torch.nn.Module):
            def forward(self, x):
                self._hidden = x * 2
                self.h_out = self._hidden + 1
                return self.h_out * 3
        net, x = Net(), torch.tensor(1.0, requires_grad=True)
        y = net(x)
        y.backward()
    """
    reading = folder.run(text)
    assert {node.name for node in reading.graph.nodes if node.kind == "operation"} == {None, "net.h_out", "y"}


def test_what_objects_of_the_script_hold_has_their_names(folder: Folder) -> None:
    text = """
        import torch
        from torch import nn
        class Layer:
            def __init__(self):
                self.w = torch.ones(2, requires_grad=True)
                self.me = self
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.own, self.layers = Layer(), [nn.Linear(2, 1), nn.Linear(2, 1)]
        class Trainer:
            def __init__(self, model, extra):
                self.model, self.extra = model, extra
        extra = torch.ones(1, requires_grad=True)
        model = Model()
        trainer = Trainer(model, extra)
        loss = (model.layers[1](model.own.w) * extra).sum()
        loss.backward()
    """
    reading = folder.run(text)
    assert leaves(reading) == {"model.layers[1].weight", "model.layers[1].bias", "model.own.w", "extra"}
    assert not [name for name in rows(reading) if name.startswith("trainer")]


def test_the_weights_of_objects_in_lists_of_objects_and_in_slots_have_names(folder: Folder) -> None:
    text = """
        import torch
        class Neuron:
            __slots__ = ("w", "bias")
            def __init__(self):
                self.w = [torch.tensor(0.5, requires_grad=True) for _ in range(2)]
        class Layer:
            def __init__(self):
                self.neurons = [Neuron(), Neuron()]
        class Net:
            def __init__(self):
                self.layers = [Layer()]
        class Trainer:
            def __init__(self, net):
                self.net = net
        trainer = Trainer(Net())
        net, loss = trainer.net, 0
        for neuron in net.layers[0].neurons:
            loss = loss + neuron.w[0] * neuron.w[1]
        loss.backward()
    """
    reading = folder.run(text)
    assert leaves(reading) == {f"net.layers[0].neurons[{at}].w[{which}]" for at in (0, 1) for which in (0, 1)}


def test_root_decides(folder: Folder) -> None:
    text = HEAD + "a = x * 2\nparts = [a * 3, x * 5]\ny = a * 7\ny.backward()\n"
    for name in ("a", "parts[0]", "y"):
        reading = folder.run(text, roots=(name,))
        assert roots(reading) == [name]
        assert texts(reading) == []


def test_a_root_of_a_function_is_what_backward_was_called_on_last_under_the_name(folder: Folder) -> None:
    script = (
        "def critic(k):\n    real = x * k\n    critic_loss = real * 3\n    critic_loss.backward()\n"
        "def actor(critic_loss):\n    actor_loss = x * 7\n    actor_loss.backward()\n"
        "for k in range(1, 3): critic(k); actor(torch.tensor(0.0))"
    )
    reading = folder.run(HEAD + script, roots=("critic_loss",))
    assert roots(reading) == ["critic_loss"]
    values = {node.name: nested(node.numbers) for node in reading.graph.nodes if node.numbers is not None}
    assert values["critic_loss"] == 12  # of the second pass
    assert roots(folder.run(HEAD + script, roots=("actor_loss",))) == ["actor_loss"]


def test_several_roots_are_drawn_in_the_order_asked_for(folder: Folder) -> None:
    reading = folder.run(HEAD + "a = x * 2\nb = x * 3\n", roots=("b", "a"))
    assert roots(reading) == ["b", "a"]
    assert reading.graph.title == "b, a"


def test_a_leaf_that_is_asked_for_is_drawn_alone(folder: Folder) -> None:
    reading = folder.run(HEAD + "y = x * 2\n", roots=("x",))
    assert [(node.kind, node.name) for node in reading.graph.nodes] == [("output", "x")]


def test_an_unknown_root_is_refused_with_what_was_meant(folder: Folder) -> None:
    with pytest.raises(SourceError) as caught:
        folder.run(HEAD + "loss = x * 2\n", roots=("los",))
    assert str(caught.value) == "--root los: the script has no tensor of that name\ndid you mean loss?"
    with pytest.raises(SourceError) as caught:
        folder.run(HEAD + "loss = x * 2\n", roots=("qqq",))
    assert caught.value.hint == "its tensors: x, loss"
    step = "class Step:\n    def loss(self):\n        kd = x * 2\n        return kd + 1\nStep().loss().backward()\n"
    with pytest.raises(SourceError) as caught:
        folder.run(HEAD + step, roots=("kd",))
    assert caught.value.hint == "kd is a variable of loss(), gone when that has returned"


@pytest.mark.parametrize(
    ("line", "cut"),
    [
        ("z = y.detach()", "z is outside the graph: detached, at detach in line 4; "),
        ("z = (y > 0).float()", "z is outside the graph: no derivative, at gt in line 4; "),
        ("with torch.no_grad(): z = y * 2", "z is outside the graph: no_grad, at torch.no_grad() in line 4; "),
        ("c = torch.tensor(2.0)\nz = c * 2", ""),
    ],
)
def test_a_root_that_requires_no_gradient_is_refused_with_what_has_cut_it_off(
    folder: Folder, line: str, cut: str
) -> None:
    with pytest.raises(SourceError) as caught:
        folder.run(f"{HEAD}y = x * 2\n{line}\n", roots=("z",), lines=True)
    assert str(caught.value) == (
        "--root z: z requires no gradient, so there is no graph behind it\n"
        f"{cut}gviz why SOURCE z tells more; tensors with a graph: y"
    )


def test_of_a_root_without_a_graph_a_script_that_fails_does_not_say_that_it_fails_before_the_graph(
    folder: Folder,
) -> None:
    file, said = folder.write("net.py", f"{HEAD}bad = (x > 0).float()\nbad.backward()\n"), list[str]()
    with pytest.raises(SourceError, match="does not require grad"):
        read(str(file), SourceOptions(roots=("bad",), lines=True), say=lambda note: said.append(note.text))
    assert said[1].startswith(
        "--root bad: bad requires no gradient, so there is no graph behind it\n"
        "bad is outside the graph: no derivative, at gt in line 3; "
    )


def test_tensors_are_named_where_there_is_no_graph(folder: Folder) -> None:
    with pytest.raises(SourceError) as caught:
        folder.run("import torch\nx = torch.tensor(2.0)\ny = x * 2\n")
    assert caught.value.what == "there is no graph: nothing requires a gradient (requires_grad is False for x, y)"
    assert caught.value.hint == "make a leaf with requires_grad=True, as in x = torch.tensor(2.0, requires_grad=True)"


@pytest.mark.parametrize(
    ("is_frozen", "words"),
    [
        (False, "net.weight, net.bias require gradients, but nothing"),
        (True, "(requires_grad is False for net.weight, net.bias, x)"),
    ],
)
def test_a_tensor_of_several_names_is_told_once_where_there_is_no_graph(
    folder: Folder, words: str, *, is_frozen: bool
) -> None:
    script = "net = torch.nn.Linear(2, 1)\nweights = list(net.parameters())\nx = torch.ones(2)\ny = x\n"
    with pytest.raises(SourceError) as caught:
        folder.run(f"import torch\n{script}{'net.requires_grad_(False)' * is_frozen}\n")
    assert words in caught.value.what


def test_a_script_without_tensors_is_refused(folder: Folder) -> None:
    with pytest.raises(SourceError, match="there is no graph: the script leaves no tensor among its global names"):
        folder.run("print('hello')\n")


def test_a_script_without_tensors_has_an_empty_table(folder: Folder) -> None:
    reading = folder.run("print('hello')\n", rootless=True)
    assert reading.graph == Graph()
    assert texts(reading, "warning") == ["there is no graph: the script leaves no tensor among its global names"]


def test_a_backward_in_a_loop_leaves_the_last_graph(folder: Folder) -> None:
    reading = folder.run(HEAD + "for step in range(3):\n    loss = x * (step + 1)\n    loss.backward()\n")
    assert roots(reading) == ["loss"]
    assert value_of(reading, "loss") == 6
    assert grad_of(reading, "x") == 6


def test_a_root_that_is_a_leaf_of_its_own_is_drawn_alone(folder: Folder) -> None:
    reading = folder.run(HEAD + "x.backward()\n")
    assert [(node.kind, node.name) for node in reading.graph.nodes] == [("output", "x")]
    assert grad_of(reading, "x") == 1


def test_a_leaf_of_a_function_that_has_asked_for_gradients_keeps_its_name(folder: Folder) -> None:
    function = """
    def penalty(r):
        between = (r * x).detach().requires_grad_(True)
        other = torch.ones(2, requires_grad=True)
        g = torch.autograd.grad((between * x).pow(2).sum(), between, create_graph=True)[0]
        return (g.norm() - 1) ** 2
    gp = penalty(torch.tensor([1.0, 2.0]))
    gp.backward()
    """
    graph = folder.run(f"{HEAD}{textwrap.dedent(function)}").graph
    assert {node.name for node in graph.nodes if node.kind == "leaf"} == {"between", "x"}
    assert [row.name for row in graph.tensors] == ["between", "x", "gp"]  # what is not in the picture is gone


LOOPS = """\
import torch
net = torch.nn.Linear(2, 1)
w = torch.tensor(2.0, requires_grad=True)
y = (w * net(torch.ones(2))).sum()
y.backward()
with torch.no_grad():
    for p in net.parameters():
        p -= 0.1 * p.grad
    for name, q in [("w", w)]:
        pass
for only in (torch.ones(2, requires_grad=True),):
    z = only * 2
"""


def test_the_name_of_a_loop_is_used_only_for_what_has_no_better_one(folder: Folder) -> None:
    reading = folder.run(LOOPS)
    assert [row.name for row in reading.graph.tensors] == ["net.weight", "net.bias", "w", "y", "only", "z", "p", "q"]
    assert reading.graph.aliases == {"p": "net.bias", "q": "w"}
    assert {node.name for node in reading.graph.nodes if node.kind == "leaf"} == {"net.weight", "net.bias", "w"}
    assert "p" in {row.name for row in folder.run(LOOPS, roots=("p",)).graph.tensors}


def test_a_loss_that_a_list_keeps_too_has_the_name_that_the_line_writes(tmp_path: Path) -> None:
    program = "losses = []\nfor _ in range(2):\n    loss = w * 2\n    losses.append(loss)\n    loss.backward()\n"
    (tmp_path / "net.py").write_text(f"import torch\nw = torch.tensor(1.0, requires_grad=True)\n{program}")
    graph = read(tmp_path / "net.py", say=lambda _: None).graph
    assert [graph.by_id[root].name for root in graph.roots] == ["loss"]
