"""``gviz static`` and static scripts in the other commands: the articles' numbers, pictures, tables, plans, and mistakes."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from program import SAMPLES, Finished, Program

from gviz.sources import SourceOptions, read

E = ("e=a*b+log(d)*c", "a=2", "b=3", "c=5", "d=10")
TENSORFLOW = SAMPLES / "uvte_tensorflow.py"
OF_E = [("a", "mul"), ("b", "mul"), ("d", "Log"), ("Log", "mul_1"), ("c", "mul_1"), ("mul", "e"), ("mul_1", "e")]

TWO = """\
import torch
import tensorflow as tf

p = tf.placeholder(tf.float32, [None, 3], name="p")
q = tf.identity(p, name="q")
x = torch.tensor(3.0, requires_grad=True)
y = x * x
y.backward()
"""

SCOPES = """\
import tensorflow as tf

g = tf.Graph()
with g.as_default(), tf.name_scope("outer"), tf.name_scope("inner"):
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    W = tf.Variable(tf.ones([3, 2]), name="W")
    with tf.control_dependencies([W.initializer]):
        y = tf.matmul(x, W, name="y")
other = tf.placeholder(tf.float32, [], name="other")
"""


def write(gviz: Program, text: str, name: str = "net.py") -> str:
    (gviz.folder / name).write_text(text, encoding="utf-8")
    return name


def ok(done: Finished) -> Finished:
    assert done.status == 0, done.err
    return done


def rows(done: Finished) -> dict[str, dict[str, Any]]:
    """The operations of ``inspect --json`` by name."""
    return {row["name"]: row for row in ok(done).json()["operations"]}


def static_json(gviz: Program, *words: object) -> Any:
    return ok(gviz("static", *words, "-o", "-", "--format", "json")).json()


def arrows(graph: Any, kind: str = "data") -> list[tuple[str, str]]:
    names = {node["id"]: node["name"] for node in graph["nodes"]}
    return [
        (names[edge["source"]], names[edge["target"]]) for edge in graph["edges"] if edge.get("kind", "data") == kind
    ]


def values(graph: Any) -> dict[str, Any]:
    return {node["name"]: value_of(node.get("numbers", {})) for node in graph["nodes"]}


def value_of(numbers: dict[str, Any]) -> Any:
    """A number, or a list of them; None for none."""
    elements = numbers.get("elements")
    return elements[0] if elements and not numbers.get("shape") else elements


# The articles


def test_d_a_session_runs_e_and_its_gradients(gviz: Program) -> None:
    done = ok(gviz("static", TENSORFLOW, "-o", "e.json"))
    assert done.out.splitlines() == [
        'Tensor("e:0", dtype=float32)',
        "e = 17.512926",
        "de/da = 3.0",
        "de/db = 2.0",
        "de/dc = 2.3025851",
        "de/dd = 0.5",
    ]
    assert done.files() == ["e.json", "graphs"]
    (events,) = (gviz.folder / "graphs").iterdir()
    assert events.name.startswith("events.out.tfevents.")


def test_d_the_picture_of_the_script_holds_the_whole_graph(gviz: Program) -> None:
    graph = static_json(gviz, TENSORFLOW)
    assert graph["title"] == "uvte_tensorflow"
    forward = [(start, end) for start, end in arrows(graph) if not end.startswith("gradients/")]
    assert forward == [("a", "u"), ("b", "u"), ("d", "t"), ("t", "v"), ("c", "v"), ("u", "e"), ("v", "e")]
    types = {node["name"]: node["label"] for node in graph["nodes"]}
    assert [types[name] for name in "abcdutve"] == ["Placeholder"] * 4 + ["Mul", "Log", "Mul", "AddV2"]
    assert {node["module"]["path"].partition("/")[0] for node in graph["nodes"] if "module" in node} == {"gradients"}


@pytest.mark.parametrize("command", ["static", "render"])
def test_d_an_image_of_the_script(gviz: Program, command: str) -> None:
    ok(gviz(command, TENSORFLOW, "-o", "e.svg"))
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", (gviz.folder / "e.svg").read_text(encoding="utf-8"))
    assert {"gradients", "Placeholder", "AddV2", "u", "t", "v", "e"} <= {unescape(text).strip() for text in texts}


def test_d_the_expression_has_the_values_of_a_run(gviz: Program) -> None:
    graph = static_json(gviz, *E, "--gradients")
    cells = values(graph)
    assert (cells["e"], cells["Log"]) == (pytest.approx(17.512926), pytest.approx(2.302585))
    made = sorted(v for name, v in cells.items() if name.startswith("gradients/") and "_grad/" in name)
    assert made == [
        pytest.approx(0.1),
        0.5,
        2,
        pytest.approx(2.302585),
        3,
        5,
    ]  # 5 is t's, on the way to d's; 0.1 is 1 / d
    assert arrows(graph)[: len(OF_E)] == OF_E


def test_e_one_graph_is_fed_50_times_or_50_are_built(gviz: Program) -> None:
    static = ok(gviz("static", SAMPLES / "feeds_static.py", "-o", "s.json")).out.splitlines()
    dynamic = ok(gviz("render", SAMPLES / "feeds_dynamic.py", "-o", "d.json")).out.splitlines()
    assert static[:2] == ["operations before the runs: 8", "operations after 50 runs: 8"]
    assert dynamic[0] == "graphs built: 50"
    assert static[-1] == dynamic[-1] == "mean of e: 85.0129"


def test_e_a_loop_is_part_of_the_static_graph_and_unrolled_in_the_dynamic_ones(gviz: Program) -> None:
    static = ok(gviz("static", SAMPLES / "while_static.py", "-o", "s.json")).out.splitlines()
    dynamic = ok(gviz("render", SAMPLES / "while_dynamic.py", "-o", "d.json")).out.splitlines()
    assert static[:3] == dynamic == ["12.0 -> 4 192.0 16.0", "40.0 -> 2 160.0 4.0", "200.0 -> 0 200.0 1.0"]
    assert "Python's while: Using a symbolic `tf.Tensor` as a Python `bool` is not allowed." in static[-1]
    kinds = [row["type"] for row in rows(gviz("inspect", SAMPLES / "while_static.py", "--json")).values()]
    assert {"Enter", "Merge", "LoopCond", "Switch", "NextIteration", "Exit"} <= set(kinds)


# Pictures


def test_dot_has_boxes_and_arrows_with_shapes(gviz: Program) -> None:
    done = ok(gviz("static", "y=relu(x@W+b)", "x=ones(2,3)", "W=ones(3,4)", "b=0.5", "-o", "-"))
    lines = [line.strip() for line in done.out.splitlines()]
    boxes = {line.split(" ")[0]: re.sub(r"<[^>]*>", "|", line) for line in lines if re.match(r"n\d+ \[", line)}
    assert re.search(r"\|Placeholder\|+x\|+ 2×3\|", boxes["n0"])
    assert 'style="rounded,filled" penwidth=2' in boxes["n0"]
    assert re.search(r"\|Relu\|+y\|+ 2×4\|", boxes["n5"])
    assert [line for line in lines if "->" in line] == [
        'n0 -> n3 [label="2×3"]',
        'n1 -> n3 [label="3×4"]',
        'n3 -> n4 [label="2×4" weight=20]',
        "n2 -> n4",
        'n4 -> n5 [label="2×4" weight=20]',
    ]


def test_scopes_are_nested_clusters_and_control_edges_are_dashed(gviz: Program) -> None:
    done = ok(gviz("static", write(gviz, SCOPES), "--graph", "g", "-o", "-"))
    clusters = re.findall(r"^( *)subgraph cluster_(\S+)|^( *)subgraph \"cluster_([^\"]+)\"", done.out, re.MULTILINE)
    assert [(len(a or c), b or d) for a, b, c, d in clusters] == [
        (4, "outer"),
        (8, "outer/inner"),
        (12, "outer/inner/W"),
    ]
    variable = next(line for line in done.out.splitlines() if "VariableV2" in line)
    assert variable.startswith(" " * 16 + "n")  # inside, with its helpers
    assert '[style=dashed color="#474747"]' in done.out


def test_a_frame_s_title_is_where_no_arrow_comes_in(gviz: Program) -> None:
    done = ok(gviz("static", *E, "--gradients", "-o", "-"))
    places = re.findall(r'graph \[label="?(\w+)( *)"? .* labelloc=(\w)\]', done.out)
    assert {title: (len(room), place) for title, room, place in places} == {
        **dict.fromkeys(("gradients", "mul_grad", "Log_grad"), (0, "b")),
        "mul_1_grad": (0, "t"),  # an arrow leaves it, too, and beside the title none comes in
    }
    alone = ok(gviz("compare", "y=x*w", "--runs", "2", "-o", "-"))
    titles = re.findall(r'graph \[label="((?:static|dynamic)[^"]*)" .* labelloc=t\]', alone.out)
    assert len(titles) == 2


def test_derivatives_stand_beside_what_they_are_of(gviz: Program) -> None:
    below = ok(gviz("static", "y=a*b", "--gradients", "a=2", "b=3", "-o", "-")).out
    beside = ok(gviz("static", "y=a*b", "a=2", "b=3", "--gradients", "beside", "-o", "-")).out
    assert ("dir=back" in below, beside.count("dir=back"), "↑ derivatives" in beside) == (False, 4, True)
    lines = re.findall(r"(n\d+) -> (n\d+)(?! \[style=invis)", below)
    mirrored = re.findall(r"(n\d+) -> (n\d+) \[dir=back", beside)
    assert {(end, start) for start, end in mirrored} < {*lines}


def test_a_script_s_derivatives_are_left_out_or_beside(gviz: Program) -> None:
    program = "import tensorflow as tf\nx = tf.constant(2.0)\ny = x * x + x\ng = tf.gradients(y, [x])\n"
    (gviz.folder / "g.py").write_text(program, encoding="utf-8")
    off, beside = (ok(gviz("static", "g.py", "--gradients", word, "-o", "-")).out for word in ("off", "beside"))
    assert ("gradients" in off.replace("--gradients", ""), "dir=back" in beside) == (False, True)


def test_another_graph_than_the_default_one(gviz: Program) -> None:
    net = write(gviz, SCOPES)
    assert [node["name"] for node in static_json(gviz, net)["nodes"]] == ["other"]
    graph = static_json(gviz, net, "--graph", "g")
    assert arrows(graph, "control") == [("outer/inner/W/Assign", "outer/inner/y")]
    gviz("static", net, "--graph", "h").assert_refused(
        "--graph h: there is no graph of that name", "are g", files=(net,)
    )


def test_a_collapsed_scope_is_one_box(gviz: Program) -> None:
    graph = static_json(gviz, *E, "--gradients", "--collapse", "gradients")
    (box,) = [node for node in graph["nodes"] if node["kind"] == "group"]
    assert (box["name"], box["card"]["operations"]) == ("gradients", 9)
    assert len(graph["nodes"]) == 9
    gviz("static", *E, "--collapse", "nope").assert_refused("there is no name scope 'nope'", "there are none")


def test_the_default_file_goes_by_the_root_or_the_script(gviz: Program) -> None:
    assert ok(gviz("static", *E)).out == "e.pdf\n"
    net = write(gviz, SCOPES)
    assert ok(gviz("static", net)).out == "net.pdf\n"
    assert (gviz.folder / "net.pdf").read_bytes().startswith(b"%PDF")


def test_operations_are_named_as_their_signs_are(gviz: Program) -> None:
    graph = static_json(gviz, "y=1+x*(1+2)-x**2+0.5/x; z=1-x", "x=2")
    assert [node["name"] for node in graph["nodes"]] == [
        *("x", "mul/y", "mul", "add/x", "add", "pow/y", "pow", "sub", "truediv/x", "truediv", "y", "z/x", "z"),
    ]
    assert (values(graph)["mul/y"], values(graph)["y"], values(graph)["z"]) == (3, 3.25, -1)


def test_a_saved_static_graph_is_read_back(gviz: Program) -> None:
    ok(gviz("static", *E, "-o", "e.json"))
    drawn = ok(gviz("static", *E, "-o", "-")).out
    assert ok(gviz("static", "e.json", "-o", "-")).out == drawn
    assert ok(gviz("render", "e.json", "-o", "-")).out == drawn
    assert ok(gviz("inspect", "e.json")).out == ok(gviz("static", *E, "--table")).out
    gviz("static", "e.json", "--plan").assert_refused("--plan needs the graph itself", files=("e.json",))
    gviz("static", "e.json", "--gradients").assert_refused("not a saved picture of a graph", files=("e.json",))


def test_an_expression_from_a_pipe(gviz: Program) -> None:
    done = ok(gviz("static", "-", "-o", "-", "--format", "txt", stdin="e=a*b"))
    assert done.out.splitlines()[0] == "Mul  e = 1"
    assert "a, b not given: 1.0 used" in done.err
    script = "import tensorflow as tf\nx = tf.placeholder(tf.float32, [], name='x')\n"
    assert ok(gviz("static", "-", "--table", stdin=script)).out.splitlines()[1].split() == [
        "x",
        "Placeholder",
        "()",
        "float32",
    ]


@pytest.mark.parametrize("where", [("--format", "tensorboard", "-o", "logs"), ("-o", "logs/")])
def test_tensorboard_gets_every_operation_with_its_shapes(gviz: Program, where: tuple[str, ...]) -> None:
    ok(gviz("static", *E, "--gradients", *where))
    ok(gviz("static", *E, "--gradients", *where))
    (events,) = (gviz.folder / "logs").iterdir()  # the second replaces the first
    written = events.read_bytes()
    assert written.count(b"_output_shapes") == len(static_json(gviz, *E, "--gradients")["nodes"])
    for name in (b"mul_1", b"gradients/mul_1_grad", b"Log", b"AddV2"):
        assert name in written


def test_tensorboard_from_a_saved_graph_keeps_the_names(gviz: Program) -> None:
    ok(gviz("static", *E, "--gradients", "-o", "e.json"))
    ok(gviz("static", "e.json", "-o", "logs/"))
    (events,) = (gviz.folder / "logs").iterdir()
    assert b"gradients/mul_1_grad/Mul" in events.read_bytes()


# Tables and plans


def test_the_table_of_operations(gviz: Program) -> None:
    assert ok(gviz("static", "y=x+1", "x=ones(2,3)", "--table")).out.splitlines() == [
        "operation  type         shape   dtype    inputs",
        "x          Placeholder  (2, 3)  float32",
        "y/y        Const        ()      float32",
        "y          AddV2        (2, 3)  float32  x, y/y",
    ]


def test_inspect_lists_a_static_script(gviz: Program) -> None:
    done = ok(gviz("inspect", TENSORFLOW))
    assert (
        "e                                       AddV2                  ?      float32  u, v" in done.out.splitlines()
    )
    assert "e = 17.512926" in done.err  # the script's prints are no part of the table
    cells = rows(gviz("inspect", TENSORFLOW, "--json"))
    assert cells["v"] == {
        "name": "v",
        "type": "Mul",
        "shape": None,
        "dtype": "float32",
        "value": None,
        "inputs": ["t", "c"],
    }
    cells = rows(gviz("inspect", write(gviz, SCOPES.replace("other =", "#")), "--json"))
    assert cells["outer/inner/x"]["shape"] == [None, 3]
    assert cells["outer/inner/y"]["inputs"] == ["outer/inner/x", "outer/inner/W/read", "^outer/inner/W/Assign"]


def test_the_plan_is_a_function(gviz: Program) -> None:
    text = ok(gviz("static", "y=a*b+a*b+(2+3)*1", "--plan")).out
    assert text.startswith(
        "# 7 operations in the graph: 3 are computed, 0 folded into constants, 1 shared\nk_0 = 5.0  # float32\ndef run("
    )
    compile(text, "plan", "exec")
    assert "graph: 1 is computed, 0 folded" in ok(gviz("static", "y=max(a,b)", "--plan")).out


def test_a_vector_behind_a_matrix_is_refused_with_the_column_to_write(gviz: Program) -> None:
    refused = gviz("static", "y=W@x", "W=[[1,2],[3,4]]", "x=[1,2]", "--table")
    assert "Shape must be rank 2 but is rank 1" in refused.err
    assert "write a vector as a column, as in x=[[1],[2]]" in refused.err
    ok(gviz("static", "y=W@x", "W=[[1,2],[3,4]]", "x=[[1],[2]]", "--table"))


def test_the_plan_with_gradients_returns_them_too(gviz: Program) -> None:
    text = ok(gviz("static", "y=a*b", "a=2", "b=3", "--gradients", "--plan")).out
    space: dict[str, Any] = {"k_0": 1.0}
    exec(text, space)  # noqa: S102 - the plan is a function
    assert space["run"]({}, None, 2.0, 3.0) == (6.0, 3.0, 2.0)


@pytest.mark.parametrize(
    ("text", "value"),
    [("max(a,b)", 3), ("min(a,b)", -2), ("a.clamp(min=0)", 0), ("clamp(b,max=1)", 1), ("a.clamp(0)", 0)],
)
def test_functions_that_pytorch_calls_in_several_ways(gviz: Program, text: str, value: float) -> None:
    assert values(static_json(gviz, f"y={text}", "a=-2", "b=3"))["y"] == value


def test_a_named_number_takes_the_dtype_of_the_tensor_beside_it(gviz: Program) -> None:
    cells = values(static_json(gviz, "n=2*3; y=x*n/2", "x=5"))
    assert cells["y"] == 15
    assert values(static_json(gviz, "n=2*3", "--root", "n")) == {"n": 6}


def test_derivatives_that_use_shapes_are_drawn(gviz: Program) -> None:
    graph = static_json(gviz, "y=softmax(relu(x@W+b)).sum()", "x=ones(2,3)", "W=ones(3,4)", "b=0.5", "--gradients")
    assert {node["label"] for node in graph["nodes"]} == {
        "Placeholder", "MatMul", "AddV2", "Relu", "Softmax", "Const", "Sum", "Reshape", "Tile", "Mul", "Sub", "ReluGrad",
        "Fill",
    }  # fmt: skip
    assert values(graph)["y"] == 2


def test_a_sum_of_1000_terms_and_a_constant_of_torch(gviz: Program) -> None:
    graph = static_json(gviz, f"y={'+'.join(['x'] * 1000)}", "x=2")
    assert (len(graph["nodes"]), values(graph)["y"]) == (1000, 2000)
    assert values(static_json(gviz, "y=torch.pi*x; z=w=y", "x=2"))["z"] == pytest.approx(6.2831855)


def test_names_that_tensorflow_does_not_take_are_written_in_ascii(gviz: Program) -> None:
    cells = values(static_json(gviz, "σ=sigmoid(λ);σ*_x", "λ=0", "_x=4"))
    assert (cells["lamda"], cells["sigma"], cells["x"], cells["mul"]) == (0, 0.5, 4, 2)


def test_a_value_that_is_not_used_is_named(gviz: Program) -> None:
    assert "y=3 is not used: the expression has no y" in ok(gviz("static", "x*2", "y=3", "--table")).err


def test_the_plan_of_a_loop_and_of_branches(gviz: Program) -> None:
    assert "while True:" in ok(gviz("static", SAMPLES / "while_static.py", "--plan")).out
    branches = "import tensorflow as tf\nx = tf.placeholder(tf.float32, [], name='x')\ny = tf.cond(x > 0, lambda: x * 2, lambda: -x)\n"
    assert "else:" in ok(gviz("static", write(gviz, branches), "--plan")).out


def test_the_plan_of_what_a_script_calls_by_a_name(gviz: Program) -> None:
    lines = [
        "import tensorflow as tf",
        "x = tf.placeholder(tf.float32, [], name='x')",
        "W = tf.Variable(2.0)",
        "y = W * x",
    ]
    lines += ["z = tf.exp(y)", "step = tf.train.GradientDescentOptimizer(0.1).minimize(y)"]
    net = write(gviz, "\n".join(lines))
    assert "exp" not in ok(gviz("static", net, "--plan", "--root", "y")).out
    assert re.search(r"state\[\w+\] = ", ok(gviz("static", net, "--plan", "--root", "step")).out)
    gviz("static", net, "--plan", "--root", "w").assert_refused(
        "--root w: there is no such name", "did you mean W?", files=(net,)
    )


@pytest.mark.parametrize(
    "words",
    [("--plan", "-o", "x"), ("--table", "--format", "pdf"), ("--plan", "--table"), ("--plan", "--collapse", "g")],
)
def test_text_and_a_picture_exclude_each_other(gviz: Program, words: tuple[str, ...]) -> None:
    gviz("static", "y=x", *words).assert_refused("prints text: it cannot be combined with", status=2)


# Terminals


@pytest.mark.parametrize("columns", [40, 80])
def test_a_table_on_a_terminal_fits(gviz: Program, columns: int) -> None:
    done = gviz.on_terminal("static", *E, "--gradients", "--table", columns=columns, env={"NO_COLOR": "1"})
    assert done.status == 0
    assert "\x1b[3" not in done.out
    assert all(len(re.sub(r"\x1b\[[0-9;]*m", "", line)) <= columns for line in done.out.splitlines())


def test_binary_does_not_go_to_a_terminal(gviz: Program) -> None:
    done = gviz.on_terminal("static", *E, "--format", "pdf", "-o", "-")
    assert done.status == 2
    assert "pdf is binary, which a terminal cannot show" in done.out.replace("\n", " ")


# Scripts with both, and mistakes


def test_a_script_with_torch_and_tensorflow_has_a_graph_of_each(gviz: Program) -> None:
    net = write(gviz, TWO)
    assert [node["name"] for node in static_json(gviz, net)["nodes"]] == ["p", "q"]
    assert [node["kind"] for node in gviz.graph(net)["nodes"]] == ["output", "operation", "accumulate", "leaf"]
    assert gviz.inspect(net)["x"]["grad"] == 6


def test_a_failing_script_is_drawn_as_far_as_it_came(gviz: Program) -> None:
    net = write(gviz, SCOPES + "with g.as_default():\n    z = y + tf.ones([4, 4])\n")
    done = gviz("static", net, "--graph", "g", "-o", "g.json")
    assert (done.status, done.files()) == (1, ["g.json", net])
    assert "net.py:11: ValueError: Dimensions must be equal, but are 2 and 4 for '{{node add}} = AddV2" in done.err
    stopped = gviz("static", net, "--graph", "g", "--on-error", "stop", "-o", "h.json")
    stopped.assert_refused("net.py:11: ValueError", files=("g.json", net))


@pytest.mark.parametrize(
    ("words", "phrases"),
    [
        (("y=foo(x)",), ("there is no function foo", "y=foo(x)\n    ^^^")),
        (("y=std(x)",), ("std is not there in gviz's static graphs", "gviz render draws it")),
        (
            ("y=2*(x@W)", "x=ones(2,3)", "W=ones(2,3)"),
            ("Dimensions must be equal, but are 3 and 2", "y=2*(x@W)\n       ^^^"),
        ),
        (("y=1/0*x",), ("division by zero", "y=1/0*x\n    ^^^")),
        (("x+", "x=1"), ("x+",)),
        (("y=x", "--root", "z"), ("--root z: there is no such name",)),
        ((f"y={'(' * 300}x{')' * 300}",), ("the expression is too long", "split it into several statements")),
        (("y=[a,b]",), ("a list is not a tensor", "stack([a, b])")),
        (
            ("y=x.transpose(0,5)", "x=[[1]]"),
            ("Dimension out of range (expected to be in range of [-2, 1], but got 5)",),
        ),
        (("nofile.py",), ("there is no file nofile.py",)),
        (("y=x", "-o", "y.xyz"), ("there is no format 'xyz'",)),
    ],
)
def test_mistakes_are_explained(gviz: Program, words: tuple[str, ...], phrases: tuple[str, ...]) -> None:
    gviz("static", *words).assert_refused(*phrases)


def test_there_has_to_be_a_source(gviz: Program) -> None:
    gviz("static").assert_refused("Missing argument 'SOURCE'", status=2)


def test_options_of_recorded_graphs_are_not_used(gviz: Program) -> None:
    assert "--graph g not used" in ok(gviz("static", "y=a*b", "--graph", "g", "--table")).err
    options = SourceOptions(static=True, frozen=("a",), backward=False)
    assert "--frozen a, --no-backward not used" in read("y=a*b", options, say=lambda _: None).notes[0].text
    gviz("static", "y=a*b", "--retain", "a").assert_refused("No such option", status=2)


def test_a_recorded_graph_is_drawn_with_a_warning(gviz: Program) -> None:
    ok(gviz("render", "y=a*b", "-o", "y.json"))
    done = ok(gviz("static", "y.json", "-o", "-"))
    assert "warning: y.json is not a static graph" in done.err
    assert "MulBackward0" in done.out


def test_derivatives_that_were_not_asked_for_have_no_scope(gviz: Program) -> None:
    gviz("static", *E, "--collapse", "gradients").assert_refused("no name scope 'gradients'", "--gradients adds it")


def test_a_script_without_a_static_graph(gviz: Program) -> None:
    done = gviz("static", SAMPLES / "uvte.py", "-o", "e.pdf")
    done.assert_refused("the script builds no static graph", "gviz render draws what autograd recorded")
    net = write(gviz, "import tensorflow as tf\n")
    gviz("static", net).assert_refused("the script builds no static graph", files=(net,))


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("import tensorflow.keras", "ModuleNotFoundError: No module named 'tensorflow.keras' (gviz has TensorFlow 1's"),
        ("import tensorflow as tf\ntf.keras", "AttributeError: module 'tensorflow' has no attribute 'keras'"),
        ("from tensorflow.python.ops import math_ops", "No module named 'tensorflow.python'"),
    ],
)
def test_what_of_tensorflow_is_not_there_is_named(gviz: Program, text: str, phrase: str) -> None:
    net = write(gviz, text)
    gviz("static", net).assert_refused(phrase, f"{net}:", files=(net,))


@pytest.mark.parametrize(
    "head",
    [
        "import tensorflow as tf",
        "import tensorflow.compat.v1 as tf\ntf.disable_v2_behavior()",
        "from tensorflow.compat import v1 as tf\ntf.disable_eager_execution()",
        "import tensorflow\ntf = tensorflow.compat.v1",
        "import tensorflow.compat.v1\ntf = tensorflow.compat.v1",
        "from tensorflow.compat.v1 import *\nimport tensorflow as tf",
    ],
)
def test_the_ways_to_import_tensorflow(gviz: Program, head: str) -> None:
    net = write(gviz, f"{head}\nx = tf.placeholder(tf.float32, [], name='x')\ny = tf.square(x)\n")
    assert [node["name"] for node in static_json(gviz, net)["nodes"]] == ["x", "Square"]


def test_each_script_of_a_process_has_a_default_graph_of_its_own(gviz: Program) -> None:
    from gviz.sources import SourceOptions, read

    net = write(gviz, "import tensorflow as tf\nx = tf.placeholder(tf.float32, [], name='x')\n")
    for _ in range(2):
        reading = read(str(gviz.folder / net), SourceOptions(static=True))
        assert [node.name for node in reading.graph.nodes] == ["x"]


def test_the_plan_is_that_of_an_operation_of_the_table_too(gviz: Program) -> None:
    assert "\nmul " in gviz("static", "y=x*w+b", "--table").out
    done = gviz("static", "y=x*w+b", "--plan", "--root", "mul")
    assert (done.status, done.out.count(" + "), done.out.count(" * ")) == (0, 0, 1)
    gviz("static", "y=x*w+b", "--plan", "--root", "add").assert_refused("there are x, w, b, y, mul")


def test_a_page_has_the_formula_as_its_title(gviz: Program) -> None:
    svg = ok(gviz("static", "e=a*b+log(d)*c", "--gradients", "--fit", "slide", "--format", "svg", "-o", "-")).out
    assert ">e = a·b + log(d)·c<" in svg


def test_operations_that_a_script_builds_and_never_runs_are_told(gviz: Program) -> None:
    program = "import tensorflow as tf\nx = tf.ones([2, 2])\nfor _ in range(1000):\n    tf.matmul(x, x)\n"
    (gviz.folder / "timed.py").write_text(program, encoding="utf-8")
    words = "line 4 has built 1,000 operations, and no session has run the graph: nothing was computed"
    assert words in gviz("static", "timed.py", "--table").err
    (gviz.folder / "timed.py").write_text(f"{program}tf.Session().run(x)\n", encoding="utf-8")
    assert "has built" not in gviz("static", "timed.py", "--table").err


def test_where_a_page_cuts_the_picture_each_mark_has_its_line(gviz: Program) -> None:
    words = ("L=mean((X@W-Y)^2)", "X=[[1,2],[3,4]]", "W=[[1],[2]]", "Y=[[0],[1]]")
    svg = ok(gviz("static", *words, "--gradients", "--fit", "slide", "--format", "svg", "-o", "-")).out
    assert svg.count("<ellipse") == 2 * 5  # with what keeps the gradients below it would be seven lines
