"""Groups of operations: no circle, nothing lost, sums that hold; the options that say what is open."""

from __future__ import annotations

import random
import re
import warnings

import pytest
from program import Program

from gviz.errors import RenderError
from gviz.graphs import Edge, Graph, Module, Node, Place
from gviz.graphs.numbers import Numbers
from gviz.passes.acyclic import without_cycles
from gviz.passes.groups import Groups, grouped

NET = """
import torch
from torch import nn
torch.manual_seed(0)
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.mlp = nn.LayerNorm(4), nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))
    def forward(self, x):
        return x + self.mlp(self.norm(x))
class Net(nn.Module):
    def __init__(self, count):
        super().__init__()
        self.blocks, self.head = nn.ModuleList([Block() for _ in range(count)]), nn.Linear(4, 4)
    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(self.head(x))
net = Net(COUNT)
loss = net(torch.ones(2, 4)).sum()
loss.backward()
"""


def write_net(gviz: Program, count: int = 2) -> str:
    (gviz.folder / "net.py").write_text(NET.replace("COUNT", str(count)))
    return "net.py"


def boxes(gviz: Program, *options: object) -> list[str]:
    """The names of the groups, then the titles of the frames in brackets."""
    done = gviz("render", write_net(gviz), *options, "-o", "y.json")
    assert done.status == 0, done.err
    graph = Graph.from_json((gviz.folder / "y.json").read_text())
    return [
        *(node.name or "" for node in graph.nodes if node.kind == "group"),
        *(f"[{one.title}]" for one in graph.regions),
    ]


def test_depths_open_one_level_of_modules_after_another(gviz: Program) -> None:
    heads = ["net.head", "net.head, call 2"]
    assert boxes(gviz, "--by", "module", "--depth", 1) == ["net"]
    assert sorted(boxes(gviz, "--depth", 2)) == ["[net]", "net.blocks.0", "net.blocks.1", *heads]
    parts = [f"net.blocks.{number}.{part}" for number in (0, 1) for part in ("mlp", "norm")]
    assert sorted(boxes(gviz, "--depth", 3)) == ["[net.blocks.0]", "[net.blocks.1]", "[net]", *parts, *heads]
    assert not [box for box in boxes(gviz, "--depth", 99) if box[0] != "["]


def test_patterns_close_and_open_besides(gviz: Program) -> None:
    inside = ["[net.blocks.1]", "[net]", "net.blocks.0", "net.blocks.1.mlp", "net.blocks.1.norm"]
    heads = ["net.head", "net.head, call 2"]
    assert sorted(boxes(gviz, "--depth", 1, "--expand", "blocks.1")) == [*inside, *heads]
    assert sorted(boxes(gviz, "--depth", 3, "--collapse", "blocks.*", "--expand", "net.blocks.1")) == [*inside, *heads]
    assert "[net.head, call 2]" in (opened := boxes(gviz, "--depth", 2, "--expand", "net.head, call 2"))
    assert "net.head" in opened
    assert boxes(gviz, "--collapse", "net") == ["net"]
    assert boxes(gviz, "--expand", "net.blocks") == boxes(gviz, "--expand", "net.blocks.*")


def test_a_depth_below_the_deepest_module_says_how_deep_that_is(gviz: Program) -> None:
    run = gviz("render", write_net(gviz), "--by", "module", "--depth", 99, "-o", "y.dot")
    assert "depth 99 draws what depth 5 does, where all modules are open" in run.err


def test_what_is_around_a_module_is_drawn(gviz: Program) -> None:
    gviz("render", write_net(gviz), "--around", "net.blocks.1", "--hops", 0, "-o", "y.txt")
    text = (gviz.folder / "y.txt").read_text()
    assert "net.blocks.1.mlp" in text
    assert "net.head" not in text


def test_a_flag_with_a_number_behind_it_is_told(gviz: Program) -> None:
    run = gviz("render", write_net(gviz), "--pages", 3, "-o", "y.pdf")
    run.assert_refused('"3" is not NAME=VALUE. --pages takes no value', status=2, files=("net.py",))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--collapse", "blok"], ("no module 'blok'", "did you mean blocks?")),
        (["--collapse", "net.blok.*"], ("no module 'net.blok.*'", "did you mean net.blocks.*?")),
        (["--around", "net.blocsk.1"], ("no tensor or module net.blocsk.1", "did you mean net.blocks.1?")),
        (["--expand", "net.hed"], ("no module 'net.hed'", "did you mean net.head?")),
        (["--expand", "decoder"], ("no module 'decoder'", "there are net, net.blocks.0")),
        (["--depth", 0], ("0 is not in the range",)),
    ],
)
def test_a_wrong_name_is_refused(gviz: Program, options: list[object], said: tuple[str, ...]) -> None:
    status = 2 if "--depth" in options else 1
    gviz("render", write_net(gviz), *options, "-o", "y.svg").assert_refused(*said, status=status, files=("net.py",))


def test_a_graph_without_modules_says_what_to_do(gviz: Program) -> None:
    gviz("render", "y=x*w", "--by", "module").assert_refused("the graph has no modules", "by line")


def test_a_card_says_what_is_in_the_module(gviz: Program) -> None:
    gviz("render", write_net(gviz), "--depth", 1, "-o", "y.json")
    gviz("render", "net.py", "-o", "all.json")
    (net,) = [node for node in Graph.from_json((gviz.folder / "y.json").read_text()).nodes if node.card]
    whole = Graph.from_json((gviz.folder / "all.json").read_text())
    card = net.card
    assert card is not None
    assert card.operations == sum(node.kind == "operation" and node.module is not None for node in whole.nodes)
    assert (card.parameters, card.elements) == (14, 2 * (8 + 40 + 36) + 20)
    assert (card.kind, card.inputs, card.outputs) == ("Net", (), ((2, 4),))
    assert card.kept


def test_lines_are_groups_each_run_for_itself(gviz: Program) -> None:
    code = "import torch\nw = torch.ones(2, requires_grad=True)\nh = w\nfor _ in range(3):\n    h = h * w + 1\ny = h.sum()\n"
    (gviz.folder / "loop.py").write_text(code)
    gviz("render", "loop.py", "--root", "y", "--by", "line", "-o", "y.json")
    graph = Graph.from_json((gviz.folder / "y.json").read_text())
    names = [(node.name, node.label) for node in graph.nodes if node.kind == "group"]
    code = "h = h * w + 1"
    assert names == [("line 6", "y = h.sum()"), ("line 5, run 3", code), ("line 5, run 2", code), ("line 5", code)]
    assert [node.name for node in graph.nodes if node.kind == "leaf"] == ["w"]


def test_names_of_parameters_tell_modules_and_the_picture_says_so() -> None:
    import gviz
    from gviz import engine as torch

    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU()))
    drawing = gviz.graph(net(torch.ones(1, 2)).sum(), model=net)
    from gviz.render import RenderOptions, render

    assert "as names of parameters tell" in str(render(drawing, "dot", RenderOptions(by="module", depth=1)))


def test_a_module_that_names_of_parameters_tell_is_one_group_with_its_class() -> None:
    """What stands between layers of a module, and the layers in it: so it was there twice, once without its class."""
    from gviz import engine as torch, graph
    from gviz.pictures.options import RenderOptions
    from gviz.render import render

    nn = torch.nn
    part = nn.ModuleDict({"one": nn.Linear(2, 2), "two": nn.Linear(2, 2)})
    net = nn.ModuleDict({"part": part, "head": nn.Linear(2, 1)})
    drawing = graph(net["head"](part["two"](part["one"](torch.ones(1, 2)).tanh())).sum(), model=net)
    groups = Groups(drawing, "module")
    titles = [(group.path, group.kind) for group in groups.tree]
    assert sorted(titles) == [
        ("head", "Linear"),
        ("part", "ModuleDict"),
        ("part.one", "Linear"),
        ("part.two", "Linear"),
    ]
    page = str(render(drawing, "html", RenderOptions()))
    assert "part.one Linear, as names of parameters tell" in page


def test_a_large_picture_is_of_modules_by_itself(gviz: Program) -> None:
    net = write_net(gviz, 8)
    said = gviz("render", net, "-o", "y.svg").err
    assert "drawn by module; --by operation draws all" in said
    assert re.search(r"net\.blocks\.{.…7}", (gviz.folder / "y.svg").read_text())
    for more in (["--fold", "off"], ["--unfold", "net.blocks.{0…7}"]):  # all blocks of that picture
        said = gviz("render", net, "-o", "y.svg", *more).err
        assert "drawn by module" in said
        assert "drawn once" not in said
        assert "blocks.5" in (gviz.folder / "y.svg").read_text()
    for more in (["--by", "operation", "--fold", "off"], ["--show", "none"]):
        said = gviz("render", net, "-o", "z.svg", *more).err
        assert "drawn by module" not in said
        assert "--by module, or --root NAME, draws fewer" in said
    assert "boxes" not in gviz("render", net, "-o", "y.json", "-o", "y.txt").err
    assert '"group"' not in (gviz.folder / "y.json").read_text()


def test_a_large_picture_is_of_modules_by_itself_from_python_too() -> None:
    import gviz
    from gviz import engine as torch
    from gviz.render import RenderOptions, render

    net = torch.nn.Sequential(*(torch.nn.Linear(2, 2) for _ in range(40)))
    drawing = gviz.graph(net(torch.ones(1, 2)).sum(), model=net)
    with pytest.warns(gviz.GvizWarning, match="drawn by module; --by operation draws all"):
        assert "{1…39}" in str(render(drawing, "svg"))
    for options in (RenderOptions(by="operation"), RenderOptions(show=()), RenderOptions(view="dataflow")):
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            render(drawing, "svg", options)
        assert not any("drawn by module" in str(one.message) for one in heard)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "group" not in str(render(drawing, "json"))


# ---------------------------------------------------------------- any graph
def random_graph(seed: int) -> Graph:
    """Operations with random inputs and random groups, which no program would have recorded so, and leaves of their own."""
    chance = random.Random(seed)  # noqa: S311 - graphs, no secrets
    count = chance.randint(1, 30)
    names = ["a", "b", "a.x", "a.y", "b.x", "b.x.0", ""]
    nodes, edges = [], []
    for number in range(count):
        path = chance.choice(names)
        module, place = Module(path, "Net") if path else None, Place(chance.randint(1, 5), run=chance.randint(1, 3))
        nodes.append(Node(f"n{number}", "operation", "AddBackward0", module=module, place=place))
        inputs = range(number + 1, count)
        edges += [Edge(f"n{one}", f"n{number}", slot) for slot, one in enumerate(inputs) if chance.random() < 0.2]
        if path and chance.random() < 0.5:
            nodes.append(Node(f"w{number}", "leaf", name=f"{path}.w", numbers=Numbers((number,)), module=module))
            users = [number, *(chance.choices(range(number), k=1) if number and chance.random() < 0.3 else ())]
            edges += [Edge(f"w{number}", f"n{user}", 40) for user in dict.fromkeys(users)]
    return Graph(tuple(nodes), tuple(edges), ())


@pytest.mark.parametrize("by", ["module", "line"])
def test_no_circle_comes_and_nothing_is_lost(by: str) -> None:
    is_cut = 0
    for seed in range(300):
        graph = random_graph(seed)
        groups = Groups(graph, by)
        if not groups.tree:
            continue
        for depth in (1, 2, 3):
            drawn = grouped(graph, by, depth)
            assert len(drawn.order) == len(drawn.nodes), seed  # each after those before it: no circle
            is_cut += any(re.search("part 2", node.name or "") for node in drawn.nodes)
            cards = [node.card for node in drawn.nodes if node.card is not None]
            plain = [node for node in drawn.nodes if node.card is None]
            leaves = [node for node in graph.nodes if node.kind == "leaf"]
            kinds = [node.kind for node in plain]
            operations = sum(card.operations for card in cards) + kinds.count("operation")
            assert operations == len(graph.nodes) - len(leaves)
            assert sum(card.parameters for card in cards) + kinds.count("leaf") == len(leaves)
            shown = sum(node.numbers.numel for node in plain if node.numbers is not None)
            assert sum(card.elements for card in cards) + shown == sum(
                one.numbers.numel for one in leaves if one.numbers
            )
            assert wires(graph, groups, depth) == {(edge.source, edge.target) for edge in drawn.edges}
    assert is_cut  # the graphs have what is tested


def wires(graph: Graph, groups: Groups, depth: int) -> set[tuple[str, str]]:
    """The pairs of boxes that edges of a graph join, from which box each node is in."""
    shut = groups.closed(depth, {}, {})
    boxes = {name: shut[place] if place >= 0 else -1 for name, place in groups.own.items()}
    first: dict[object, str] = {}
    keys = {name: str(place) if place >= 0 else name for name, place in boxes.items()}
    parts = without_cycles(graph, keys)
    for node in graph.nodes:
        first.setdefault(parts[node.id], node.id)
    pairs = {(first[parts[edge.source]], first[parts[edge.target]]) for edge in graph.edges}
    return {(start, end) for start, end in pairs if start != end}


def test_boxes_that_lie_well_are_never_cut() -> None:
    graph = random_graph(7)
    order = {node.id: number for number, node in enumerate(graph.order)}
    for size in (1, 3, 10):  # stretches of an order have no circle
        boxes = {name: f"box {number // size}" for name, number in order.items()}
        assert {part for _, part in without_cycles(graph, boxes).values()} == {0}


def test_modules_that_call_themselves_are_closed_at_any_depth() -> None:
    calls = [Module("net", "Net", number + 1, number - 1) for number in range(500)]
    nodes = tuple(Node(f"n{at}", "operation", "AddBackward0", module=one) for at, one in enumerate(calls))
    edges = tuple(Edge(f"n{at + 1}", f"n{at}") for at in range(499))
    graph = Graph(nodes, edges, ("n0",), modules=tuple(calls))
    drawn = grouped(graph)
    assert len(drawn.nodes) <= 41
    assert sum(node.card.operations if node.card else 1 for node in drawn.nodes) == 500


def test_a_depth_below_one_is_refused() -> None:
    from gviz.pictures.options import RenderOptions

    with pytest.raises(RenderError, match="depth is 1"):
        RenderOptions(depth=0)


FUNCTIONS = """
import torch
def act(x):
    return torch.relu(x) * 2
def layer(x, w):
    return act(act(x @ w)) + sum([x.mean() for _ in range(2)])
ws = [torch.ones(3, 3, requires_grad=True) for _ in range(2)]
x = torch.ones(2, 3)
for w in ws:
    x = layer(x, w)
loss = (x + 1).mean()
loss.backward()
"""


def test_calls_of_functions_are_groups(gviz: Program) -> None:
    (gviz.folder / "fn.py").write_text(FUNCTIONS)
    found = []
    for depth in (1, 2):
        gviz("render", "fn.py", "--by", "function", "--depth", depth, "-o", "y.json")
        graph = Graph.from_json((gviz.folder / "y.json").read_text())
        cards = {node.name: node.card.operations for node in graph.nodes if node.card}
        found.append((cards, [one.title for one in graph.regions]))
    assert found[0] == ({"layer, call 2": 10, "layer": 6}, [])  # the first is given an x without a gradient
    assert found[1][1] == ["layer, call 2", "layer"]
    assert found[1][0] == dict.fromkeys(("act, call 4", "act, call 3", "act, call 2", "act"), 2)
    assert "no functions" in gviz("render", "y=x*w", "--by", "function").err
    assert "act, call 2 +" not in gviz("render", "fn.py", "--by", "function", "-o", "-").out  # no name in a formula


def test_a_program_that_calls_nothing_by_name_pays_for_no_functions(gviz: Program) -> None:
    (gviz.folder / "fn.py").write_text(FUNCTIONS)
    gviz("render", "fn.py", "-o", "y.json")
    assert '"functions"' not in (gviz.folder / "y.json").read_text()


def test_wrappers_hooks_and_calls_within_calls_of_one_module(gviz: Program) -> None:
    code = """
import torch
from torch import nn
class Wrap(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module
    def forward(self, *given):
        return self.module(*given)
class Again(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
    def forward(self, x, count=2):
        return self.fc(self(torch.tanh(x), count - 1) if count else x)
net = Wrap(Again())
net.module.register_forward_hook(lambda module, given, result: result * 2)
loss = net(torch.ones(2, 3)).sum()
loss.backward()
"""
    (gviz.folder / "again.py").write_text(code)
    assert gviz("render", "again.py", "--depth", 99, "-o", "y.json").status == 0
    frames = [one.title for one in Graph.from_json((gviz.folder / "y.json").read_text()).regions]
    fcs = [f"net.module.fc{more}" for more in ("", ", call 2", ", call 3")]
    assert sorted(frames) == ["net", "net.module", "net.module, call 2", "net.module, call 3", *fcs]


def test_a_picture_of_groups_that_was_saved_can_be_grouped_again(gviz: Program) -> None:
    gviz("render", write_net(gviz), "--depth", 3, "-o", "y.json")
    gviz("render", "y.json", "--by", "module", "--depth", 1, "-o", "again.json")
    gviz("render", "net.py", "--depth", 1, "-o", "once.json")
    cards = []
    for name in ("again.json", "once.json"):
        graph = Graph.from_json((gviz.folder / name).read_text())
        cards.append([(node.card.operations, node.card.elements) for node in graph.nodes if node.card])
    assert cards[0] == cards[1]


def test_a_module_that_stands_in_a_list_and_in_a_variable_of_a_loop_has_the_name_of_its_parameters(
    gviz: Program,
) -> None:
    (gviz.folder / "net.py").write_text(
        """
import torch
from torch import nn
parts = [nn.Linear(2, 2), nn.ReLU()]
net = nn.Sequential(*parts, nn.Linear(2, 1))
for layer in net:
    pass
bias = net[0].bias
net(torch.ones(1, 2)).sum().backward()
"""
    )
    assert gviz("render", "net.py", "--depth", 2, "-o", "y.json").status == 0
    nodes = Graph.from_json((gviz.folder / "y.json").read_text()).nodes
    assert {node.name: node.card.elements for node in nodes if node.card} == {"net.0": 6, "net.1": 0, "net.2": 3}


def test_a_card_is_silent_about_what_an_earlier_backward_has_freed(gviz: Program) -> None:
    (gviz.folder / "two.py").write_text(
        """
import torch
from torch import nn
net = nn.Linear(2, 1)
one, two = net(torch.ones(1, 2)).sum(), net(torch.ones(1, 2)).sum()
one.backward()
two.backward()
"""
    )
    assert gviz("render", "two.py", "--depth", 1, "--root", "one", "--root", "two", "-o", "y.json").status == 0
    nodes = Graph.from_json((gviz.folder / "y.json").read_text()).nodes
    assert {node.name: node.card.kept for node in nodes if node.card} == {"net": None, "net, call 2": 8}


SEVERAL = """\
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 4)
    def forward(self, x):
        mean, spread = self.fc(x).chunk(2, 1)
        return mean.tanh(), spread * 2, x @ self.fc.weight.T
net = Net()
mean, spread, other = net(torch.ones(3, 2))
loss = (mean ** 2 + torch.exp(spread) + torch.relu(other)[:, :2]).sum()
loss.backward()
"""


def test_a_formula_says_which_of_several_outputs_of_a_module_it_takes(gviz: Program) -> None:
    (gviz.folder / "net.py").write_text(SEVERAL)
    drawn = gviz("render", "net.py", "--by", "module", "--depth", 1, "-o", "-", "--format", "dot").out
    assert all(text in drawn for text in ("mean ** 2", "exp(spread)", "relu(other)"))
    assert not re.search(r"exp\(net\)|net \*\* 2", drawn)


def test_between_two_groups_is_one_arrow_for_all_tensors_with_the_labels_of_the_first() -> None:
    ops = [Node(f"n{at}", "operation", "Mul", name=f"one/m{at}", module=Module("one")) for at in range(4)]
    add = [Node(f"a{at}", "operation", "Add", name=f"two/a{at}", module=Module("two")) for at in range(4)]
    edges = [
        Edge(one.id, other.id, label=f"2×{at % 3 + 2}") for at, (one, other) in enumerate(zip(ops, add, strict=True))
    ]
    (arrow,) = grouped(Graph((*ops, *add), (*edges,), kind="static"), depth=1).edges
    assert arrow.label == "2×2, 2×3 and 1 more"


def test_titles_and_classes_of_many_letters_are_shortened(gviz: Program) -> None:
    name = "Long" * 2_500
    body = f"self.{name.lower()} = nn.Linear(2, 2)\n    def forward(self, x):\n        return self.{name.lower()}(x)"
    (gviz.folder / "net.py").write_text(
        f"import torch\nfrom torch import nn\nclass {name}(nn.Module):\n    def __init__(self):\n"
        f"        super().__init__()\n        {body}\nnet = {name}()\nnet(torch.ones(1, 2)).sum().backward()\n"
    )
    for depth in (1, 2, 3):
        done = gviz("render", "net.py", "--by", "module", "--depth", depth, "-o", "y.svg")
        assert done.status == 0, done.err
        width = re.search(r'width="(\d+)pt"', (gviz.folder / "y.svg").read_text())
        assert width is not None
        assert int(width[1]) < 2_000
