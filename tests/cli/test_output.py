"""Where the product goes: a named file, ROOT.pdf, standard output; and what a terminal and a pipe each get."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
from program import Program, clean_environment

from gviz.cli.output import default_stem
from gviz.graphs import Graph, Node

Y = ("y=(x+w)*(w+1)", "x=2", "w=1")


def without_escapes(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*[A-Za-z]|\x1b\]8;[^\x1b]*\x1b\\", "", text)  # colours, and links


def test_without_an_output_the_picture_has_the_name_of_its_root(gviz: Program) -> None:
    done = gviz("render", *Y)
    assert (done.status, done.out, done.err) == (0, "y.pdf\n", "")
    assert (gviz.folder / "y.pdf").read_bytes().startswith(b"%PDF")


def test_the_default_picture_may_be_made_again(gviz: Program) -> None:
    gviz("render", *Y)
    first = (gviz.folder / "y.pdf").read_bytes()
    assert gviz("render", *Y).status == 0
    assert (gviz.folder / "y.pdf").read_bytes() == first


def test_the_default_never_replaces_a_file_that_gviz_did_not_make(gviz: Program) -> None:
    thesis = gviz.folder / "y.pdf"
    thesis.write_bytes(b"%PDF-1.4 three years of work")
    gviz("render", *Y).assert_refused("y.pdf is here already", "-o y.pdf", files=("y.pdf",))
    assert thesis.read_bytes() == b"%PDF-1.4 three years of work"


def test_an_explicit_output_replaces_any_file_and_says_nothing(gviz: Program) -> None:
    (gviz.folder / "y.pdf").write_bytes(b"old")
    done = gviz("render", *Y, "-o", "y.pdf")
    assert (done.status, done.out, done.err) == (0, "", "")
    assert (gviz.folder / "y.pdf").read_bytes().startswith(b"%PDF")


def test_a_format_without_an_output_is_the_suffix_of_the_file(gviz: Program) -> None:
    done = gviz("render", *Y, "--format", "svg")
    assert done.out == "y.svg\n"
    assert "<svg" in (gviz.folder / "y.svg").read_text(encoding="utf-8")


def test_a_format_with_an_output_wins_over_its_suffix(gviz: Program) -> None:
    assert gviz("render", *Y, "-o", "picture", "--format", "dot").status == 0
    assert (gviz.folder / "picture").read_text(encoding="utf-8").startswith("digraph")


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("y", "y"),
        ("d['k']", "d_k"),
        ("parts[0]", "parts_0"),
        ("net.fc.weight", "net.fc.weight"),
        ("../../etc/passwd", "etc_passwd"),
        ("损失", "graph"),
        ("été", "t"),
        ("-o", "o"),
        ("con", "con_"),
        ("x" * 300, "x" * 100),
        ("", "graph"),
    ],
)
def test_a_root_s_name_becomes_a_safe_file_name(name: str, stem: str) -> None:
    graph = Graph(nodes=(Node("n0", "output", name=name),), roots=("n0",))
    assert default_stem(graph) == stem


def test_several_roots_are_in_the_name(gviz: Program) -> None:
    assert gviz("render", "p=x*2; q=x*3", "x=1", "--root", "p,q", "--format", "dot").out == "p-q.dot\n"


def test_a_pipe_gets_dot(gviz: Program) -> None:
    done = gviz("render", *Y, "-o", "-")
    assert done.status == 0
    assert done.out.startswith("digraph")
    assert done.files() == []


def test_a_pipe_gets_the_format_that_is_asked_for(gviz: Program) -> None:
    assert gviz("render", *Y, "-o", "-", "--format", "pdf").raw.startswith(b"%PDF")
    assert json.loads(gviz("render", *Y, "-o", "-", "--format", "json").raw)["format"] == "gviz-graph"


def test_a_terminal_gets_the_tree(gviz: Program) -> None:
    done = gviz.on_terminal("render", *Y, "-o", "-")
    assert done.status == 0
    text = without_escapes(done.out)
    assert "MulBackward0" in text
    assert "digraph" not in text
    assert max(len(line) for line in text.splitlines()) <= 80


def test_a_terminal_gets_a_text_in_the_format_that_is_asked_for(gviz: Program) -> None:
    assert "digraph" in gviz.on_terminal("render", *Y, "-o", "-", "--format", "DOT").out


def test_a_terminal_gets_no_binary(gviz: Program) -> None:
    done = gviz.on_terminal("render", *Y, "-o", "-", "--format", "png")
    assert done.status == 2
    assert "-o y.png" in done.out or "-o FILE.png" in done.out
    assert "|" in done.out
    assert "\x89PNG" not in done.raw.decode(errors="replace")


def test_a_terminal_sees_the_tree_beside_the_picture(gviz: Program) -> None:
    done = gviz.on_terminal("render", *Y)
    assert done.files() == ["y.pdf"]
    text = without_escapes(done.out)
    assert "MulBackward0" in text
    assert text.endswith("y.pdf\n")


def test_the_tree_beside_a_picture_has_at_most_20_lines(gviz: Program) -> None:
    done = gviz.on_terminal("render", "y=" + "*".join(f"x{i}" for i in range(60)), "--format", "dot")
    lines = [line for line in without_escapes(done.out).splitlines() if "1.0" not in line]
    assert lines[-1] == "y.dot"
    assert "more lines" in lines[-2]
    assert len(lines) == 21


def test_colours_are_for_terminals_that_want_them(gviz: Program) -> None:
    assert "\x1b[" in gviz.on_terminal("inspect", *Y).out
    assert not re.search(r"\x1b\[[\d;]*m", gviz.on_terminal("inspect", *Y, env={"NO_COLOR": "1"}).out)
    assert "\x1b[3" not in gviz.on_terminal("render", *Y, "-o", "-", env={"NO_COLOR": "1"}).out
    assert "\x1b[" not in gviz("inspect", *Y).out


def test_plain_torchviz_boxes_on_demand(gviz: Program) -> None:
    plain = gviz("render", *Y, "-o", "-", "--show", "none").out
    assert "MulBackward0" in plain
    assert "grad" not in plain.replace("AccumulateGrad", "").lower().replace("backward", "")


def test_an_expression_that_begins_with_a_minus_sign_comes_after_dashes(gviz: Program) -> None:
    done = gviz("inspect", "--json", "--", "-x+w", "x=2", "w=1")
    assert done.status == 0, done.err
    rows = {row["name"]: row for row in done.json()["tensors"]}
    assert rows["y"]["value"] == -1


def test_an_expression_comes_from_standard_input(gviz: Program) -> None:
    assert gviz("inspect", "-", "x=2", "w=1", stdin="y=(x+w)*(w+1)\n").out == gviz("inspect", *Y).out


def test_a_saved_graph_is_drawn_as_it_was(gviz: Program) -> None:
    gviz("render", *Y, "-o", "g.json")
    direct = gviz("render", *Y, "-o", "-").out
    assert gviz("render", "g.json", "-o", "-").out == direct
    saved, read = (gviz("inspect", *words, "--json").json()["tensors"] for words in (["g.json"], Y))
    places = {"line", "column", "leaves"}  # a graph is saved without them
    assert saved == [{key: cell for key, cell in row.items() if key not in places} for row in read]


def test_rankdir_turns_the_picture(gviz: Program) -> None:
    assert re.search(r"rankdir\s*=\s*\"?LR", gviz("render", *Y, "-o", "-", "--rankdir", "lr").out)


def test_two_runs_write_the_same_bytes(gviz: Program) -> None:
    suffixes = ("dot", "svg", "pdf", "json")
    for seed in ("1", "2"):
        code = f"from gviz.cli import run; [run(['render', *{Y}, '-o', f'{seed}.{{suffix}}']) for suffix in {suffixes}]"
        environment = clean_environment(gviz.home, PYTHONHASHSEED=seed)
        subprocess.run([sys.executable, "-c", code], cwd=gviz.folder, env=environment, check=True)
    for suffix in suffixes:
        assert (gviz.folder / f"1.{suffix}").read_bytes() == (gviz.folder / f"2.{suffix}").read_bytes(), suffix


# Scripts


SCRIPT = """
import torch, sys, os
print("hello from", sys.argv[1:], flush=True)
os.system("echo from a child")
x = torch.tensor(2.0, requires_grad=True)
y = x * x
y.backward()
"""


def test_what_a_script_prints_goes_to_standard_output_beside_a_picture(gviz: Program) -> None:
    (gviz.folder / "net.py").write_text(SCRIPT)
    done = gviz("render", "net.py", "-o", "y.dot", "--", "--epochs", "3")
    assert done.status == 0, done.err
    assert done.out == "hello from ['--epochs', '3']\nfrom a child\n"
    assert "root: y" in done.err


@pytest.mark.parametrize(
    "words", [["inspect", "net.py", "--json"], ["render", "net.py", "-o", "-", "--format", "json"]]
)
def test_nothing_that_a_script_prints_is_in_the_product(gviz: Program, words: list[str]) -> None:
    (gviz.folder / "net.py").write_text(SCRIPT)
    done = gviz(*words)
    assert done.status == 0, done.err
    done.json()
    assert "hello from" in done.err
    assert "from a child" in done.err


def test_a_script_that_raises_before_there_is_a_graph_leaves_no_picture(gviz: Program) -> None:
    (gviz.folder / "net.py").write_text("import torch\nA = torch.ones(2, 3, requires_grad=True)\ny = A @ A\n")
    done = gviz("render", "net.py", "-o", "y.svg")
    done.assert_refused(
        "warning: the script fails before it has a graph: there is nothing to show", "net.py:3", files=("net.py",)
    )


def test_a_script_that_fails_in_a_later_turn_says_how_to_see_the_first_one(gviz: Program) -> None:
    text = "import torch\nw = torch.ones(2, requires_grad=True)\nfor i in range(2):\n    loss = w.sum()\n    loss.backward()\n"
    (gviz.folder / "turns.py").write_text(f"{text}    w = w.detach()\n")
    told = "there is nothing to show; --stop-at backward shows the graph of the first backward"
    gviz("render", "turns.py").assert_refused(told, "turns.py:5", files=("turns.py",))
    assert "root: loss" in gviz("render", "turns.py", "--stop-at", "backward", "-o", "y.dot").err


def test_a_script_that_raises_is_drawn_as_far_as_it_came_or_stopped(gviz: Program) -> None:
    (gviz.folder / "net.py").write_text(
        "import torch\nx = torch.ones(3, 3, requires_grad=True)\nL = 10 - x\nL.backward()\n"
    )
    gviz("render", "net.py", "-o", "L.dot", "--on-error", "stop").assert_refused("net.py:4", files=("net.py",))
    done = gviz("render", "net.py", "-o", "L.dot")
    assert done.status == 1
    assert "net.py:4" in done.err
    assert "grad can be implicitly created only for scalar outputs" in done.err
    assert "RsubBackward1" in (gviz.folder / "L.dot").read_text(encoding="utf-8")


# The table


def test_the_table_in_a_pipe_is_plain_and_whole(gviz: Program) -> None:
    done = gviz("inspect", *Y)
    assert done.out.splitlines()[0].split() == [
        *("name", "is_leaf", "requires_grad", "grad_fn", "retains_grad"),
        *("shape", "dtype", "value", "grad_before", "grad_after", "column"),
    ]
    rows = [re.split(r"\s{2,}", line) for line in done.out.splitlines()[1:-2]]
    assert rows == [
        ["x", "True", "True", "None", "False", "()", "float32", "2", "None", "2"],
        ["w", "True", "True", "None", "False", "()", "float32", "1", "None", "5"],
        ["a = x + w", "False", "True", "AddBackward0", "False", "()", "float32", "3", "None", "None", "4"],
        ["b = w + 1", "False", "True", "AddBackward0", "False", "()", "float32", "2", "None", "None", "10"],
        ["y", "False", "True", "MulBackward0", "False", "()", "float32", "6", "None", "None", "3"],
    ]


@pytest.mark.parametrize("columns", [200, 80, 60, 40, 25])
def test_the_table_fits_the_terminal(gviz: Program, columns: int) -> None:
    done = gviz.on_terminal("inspect", "e=a*b+log(d)*c", "a=2", "b=3", "c=5", "d=10", columns=columns)
    lines = without_escapes(done.out).splitlines()
    assert max(map(len, lines)) <= columns
    table = "\n".join(lines)
    assert "name" in table
    assert "2.302585" in table or columns < 40


NETWORK = """
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden_layer = torch.nn.Linear(2, 3)
        self.output_layer = torch.nn.Linear(3, 1)
    def forward(self, x):
        return self.output_layer(torch.relu(self.hidden_layer(x)))
torch.manual_seed(0)
net = Net()
loss = net(torch.ones(4, 2)).sum()
loss.backward()
with torch.no_grad():
    for p in net.parameters():
        p -= 0.1 * p.grad
last = loss
"""


@pytest.mark.parametrize("columns", [120, 80, 60])
def test_names_are_the_last_to_be_cut(gviz: Program, columns: int) -> None:
    (gviz.folder / "net.py").write_text(NETWORK)
    lines = without_escapes(gviz.on_terminal("inspect", "net.py", columns=columns).out).splitlines()
    assert max(map(len, lines)) <= columns
    layers = [f"net.{layer}.{part}" for layer in ("hidden_layer", "output_layer") for part in ("weight", "bias")]
    assert [line.split()[0] for line in lines if line.startswith("net.")] == layers


def test_on_a_terminal_a_tensor_has_one_row_and_its_second_names_a_line(gviz: Program) -> None:
    (gviz.folder / "net.py").write_text(NETWORK)
    lines = without_escapes(gviz.on_terminal("inspect", "net.py", columns=120).out).splitlines()
    assert not [line for line in lines if line.startswith(("p ", "last "))]
    assert "second names: last is loss, p is net.output_layer.bias" in lines
    assert {"p", "last", "loss", "net.output_layer.bias"} <= set(gviz.inspect("net.py"))


def test_a_long_name_lacks_its_middle_before_a_column_of_the_table_is_left_out(gviz: Program) -> None:
    name = "a_parameter_with_a_name_of_fifty_characters_or_more"
    text = f"import torch\n{name} = torch.ones(3, requires_grad=True)\nloss = ({name} ** 2).sum()\nloss.backward()\n"
    (gviz.folder / "net.py").write_text(text)
    lines = without_escapes(gviz.on_terminal("inspect", "net.py", columns=80).out).splitlines()
    assert max(map(len, lines)) <= 80
    assert any(line.startswith("a_parameter_") and "…" in line and "_or_more" in line for line in lines)
    assert {"is_leaf", "grad_fn", "shape", "value"} <= set(" ".join(lines).split())


def test_a_name_that_is_wider_than_the_terminal_is_cut_at_last(gviz: Program) -> None:
    lines = without_escapes(gviz.on_terminal("inspect", f"{'y' * 70}=x*2", columns=40).out).splitlines()
    assert max(map(len, lines)) <= 40
    assert any(line.startswith("yyyyyyyyyy") and "…" in line for line in lines)


def test_a_table_that_has_to_leave_something_out_says_so(gviz: Program) -> None:
    text = without_escapes(gviz.on_terminal("inspect", "e=a*b+log(d)*c", "a=2", "b=3", "c=5", "d=10", columns=40).out)
    assert "all: dtype float32, retains_grad False" in text
    assert re.search("left out: .*grad_fn", text)


def test_the_json_of_inspect_has_nine_keys_and_the_graph(gviz: Program) -> None:
    done = gviz("inspect", *Y, "--json")
    data = done.json()
    assert list(data) == ["tensors", "graph", "warnings", "notes", "error"]
    assert [(row["name"], row.get("column")) for row in data["tensors"]] == [
        ("x", None), ("w", None), ("a", 4), ("b", 10), ("y", 3),
    ]  # fmt: skip
    assert list(data["tensors"][0]) == [
        *("name", "shape", "dtype", "requires_grad", "is_leaf", "retains_grad", "grad_fn", "value", "grad"),
    ]
    assert data["tensors"][2]["expression"] == "x + w"
    assert len(data["graph"]["nodes"]) == 8


# Formats


def test_every_format_is_listed_with_what_makes_it(gviz: Program) -> None:
    done = gviz("formats")
    assert done.status == 0
    for suffix in ("pdf", "svg", "png", "dot", "json", "txt"):
        assert re.search(rf"\b{suffix}\b", done.out), suffix


def test_a_poor_terminal_gets_what_it_can_show(gviz: Program) -> None:
    done = gviz.on_terminal("render", "β=α*2", "α=3", "-o", "-", env={"PYTHONIOENCODING": "ascii"})
    assert done.status == 0
    assert done.raw.isascii()
    assert "MulBackward0" in done.out
    assert gviz.on_terminal("inspect", "β=α*2", "α=3", env={"PYTHONIOENCODING": "ascii"}).raw.isascii()


# What numpy says


ZERO = """{head}
x = torch.tensor([0.0, -1.0], requires_grad=True)
y = (torch.sqrt(x) + x / (x * 0) + torch.log(x) + x**-1 + torch.exp(x * 1e4 + 1e4)).sum()
y.backward()
torch.tensor(1e300, dtype=torch.float64).float(), torch.tensor([float("nan")]).int()
"""


def test_numpy_s_warnings_reach_nobody(gviz: Program) -> None:
    (gviz.folder / "net.py").write_text(ZERO.format(head="import torch"))
    (gviz.folder / "plain.py").write_text(ZERO.format(head="from gviz import engine as torch"))
    assert "Warning" not in gviz("render", "y=sqrt(x)+1/(x*0)+log(x)", "x=0").err
    assert "Warning" not in gviz("render", "net.py", "-o", "y.dot").err
    command = [sys.executable, "-W", "always", "plain.py"]
    done = subprocess.run(command, cwd=gviz.folder, env=clean_environment(gviz.home), capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")


def test_a_warning_is_said_once_for_several_files_of_one_picture(gviz: Program) -> None:
    done = gviz("render", *Y, "--theme", "dark", "--show", "none", "-o", "a.svg", "-o", "b.dot")
    assert done.files() == ["a.svg", "b.dot"]
    assert done.err.count("TorchViz's own picture has no use for --theme") == 1


def test_a_page_of_a_derivative_says_in_its_title_which(gviz: Program) -> None:
    assert gviz("render", "y=x**3", "x=2", "--order", "2", "--fit", "slide", "-o", "y.svg").status == 0
    text = re.sub(r"<[^>]*>", "", (gviz.folder / "y.svg").read_text(encoding="utf-8")).replace("&#160;", " ")
    assert "y = x³:  ∂²y/∂x²" in text
