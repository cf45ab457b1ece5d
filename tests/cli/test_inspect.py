"""``gviz inspect``: the table of a script before and after backward, its choice and order, its totals, and its JSON."""

from __future__ import annotations

import re

import pytest
from program import Finished, Program

import gviz as package
from gviz import engine

SCRIPT = """\
import torch
x = torch.tensor([1.0, 2.0])
w = torch.ones(2, requires_grad=True) * 0.5
b = torch.tensor(3.0, requires_grad=True)
for i in range(2):
    h = w * x
    loss = h.sum() + b
    loss.backward(retain_graph=True)
d = h.detach()
n = torch.tensor([1, 2])
with torch.no_grad():
    k = loss + 1
"""

Y = ("y=(x+w)*(w+1)", "x=2", "w=1")


def table(done: Finished) -> dict[str, dict[str, str]]:
    """The rows of the table in a pipe, by name."""
    assert done.status == 0, done.err
    head, *lines = done.out.partition("\n\n")[0].splitlines()
    starts = [match.start() for match in re.finditer(r"\S+", head)]
    ends = [*starts[1:], None]
    cells = [[line[start:end].strip() for start, end in zip(starts, ends, strict=True)] for line in lines]
    return {row[0]: dict(zip(head.split(), row, strict=True)) for row in cells}


def without_escapes(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m|\x1b\]8;[^\x1b]*\x1b\\", "", text.replace("\r", ""))


@pytest.fixture
def script(gviz: Program) -> Program:
    (gviz.folder / "net.py").write_text(SCRIPT)
    return gviz


def test_a_script_has_the_gradients_before_and_after_its_last_backward(script: Program) -> None:
    rows = table(script("inspect", "net.py"))
    grads = {name: (row["grad_before"], row["grad_after"]) for name, row in rows.items()}
    assert grads["b"] == ("1", "2")
    assert grads["leaf of w"] == ("[0.5, 1]", "[1, 2]")
    assert grads["loss"] == ("None", "None")


def test_a_script_without_backward_has_one_column_of_gradients(gviz: Program) -> None:
    (gviz.folder / "net.py").write_text("import torch\nw = torch.ones(2, requires_grad=True)\ny = (w * w).sum()\n")
    rows = table(gviz("inspect", "net.py"))
    assert {row["grad"] for row in rows.values()} == {"None"}
    assert "grad_before" not in rows["w"]


def test_a_leaf_without_a_name_has_a_row_with_its_line(script: Program) -> None:
    row = table(script("inspect", "net.py"))["leaf of w"]
    assert (row["line"], row["is_leaf"], row["requires_grad"]) == ("3", "True", "True")


def test_two_leaves_without_a_name_have_rows_of_their_own(gviz: Program) -> None:
    program = "import torch\ny = torch.tensor(2.0, requires_grad=True) * torch.tensor(3.0, requires_grad=True)\ny.backward()\n"
    (gviz.folder / "net.py").write_text(program)
    rows = table(gviz("inspect", "net.py"))
    assert {row["value"] for name, row in rows.items() if "leaf" in name} == {"2", "3"}
    assert set(rows) == {"y", "leaf of y", "leaf 2 of y"}


def test_a_leaf_whose_name_has_gone_to_a_result_is_the_first_of_that_name(gviz: Program) -> None:
    (gviz.folder / "net.py").write_text(
        "import torch\na = torch.tensor(1.0).requires_grad_()\nb = torch.tensor(2.0, requires_grad=True)\n"
        "V = {'p': torch.tensor(3.0, requires_grad=True)}\nfor _ in range(2):\n    a, b = b, a * b + V['p']\n"
        "    V = {'p': a * b}\n    c = torch.tensor(4.0, requires_grad=True)\n    V['p'] = V['p'] * c\n"
        "(V['p'] + b).backward()\n"
    )
    leaves = {name: row["value"] for name, row in table(gviz("inspect", "net.py", "--only", "leaf")).items()}
    assert leaves.pop("c") == "4"
    (other,) = leaves.keys() - {"a (1st)", "b (1st)", "V['p'] (1st)"}  # the c of the first round, one of several
    assert leaves == {"a (1st)": "1", "b (1st)": "2", "V['p'] (1st)": "3", other: "4"}
    assert other.startswith("leaf")
    told = gviz("explain", "net.py").out
    assert "a (1st)·b (1st)" in told


def test_a_note_tells_what_is_outside_of_the_graph_and_why(script: Program) -> None:
    notes = {name: row["note"] for name, row in table(script("inspect", "net.py")).items()}
    assert notes == {
        "x": "frozen", "w": "", "b": "", "h": "", "loss": "", "d": "later: detached", "n": "later: integers",
        "k": "later: no_grad", "leaf of w": "",
    }  # fmt: skip


def test_a_leaf_that_has_a_gradient_has_no_note_of_why_what_has_its_name_now_has_none(gviz: Program) -> None:
    (gviz.folder / "net.py").write_text(
        "import torch\nw = torch.ones(2, requires_grad=True)\nfor _ in range(2):\n    y = w.sum()\n    y.backward()\n"
        "    w, before = (w - w.grad).detach().requires_grad_(), w\n"
    )
    notes = {name: row["note"] for name, row in table(gviz("inspect", "net.py")).items()}
    assert notes == {"w": "another tensor now", "before": "another tensor now", "y": ""}


def test_what_is_made_of_a_detached_tensor_is_told_where_that_was(gviz: Program) -> None:
    (gviz.folder / "net.py").write_text(
        "import torch\nw = torch.ones(2, requires_grad=True)\nd = w.detach()\ne = d * 2\ny = (w * e).sum()\n"
    )
    assert table(gviz("inspect", "net.py"))["e"]["note"] == "detached, line 3"


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["--only", "leaf"], ["b", "leaf of w"]),
        (["--only", "nonleaf"], ["w", "h", "loss"]),
        (["--only", "frozen"], ["x", "d", "n", "k"]),
        (["--only", "none"], ["x", "w", "h", "loss", "d", "n", "k"]),
        (["--sort", "name"], ["b", "d", "h", "k", "leaf of w", "loss", "n", "w", "x"]),
        (["--sort", "line"], ["x", "w", "leaf of w", "b", "h", "loss", "d", "n", "k"]),
        (["--sort", "grad", "--only", "leaf"], ["b", "leaf of w"]),
        (["--sort", "size", "--only", "nonleaf"], ["w", "h", "loss"]),
    ],
)
def test_rows_are_chosen_and_sorted(script: Program, words: list[str], names: list[str]) -> None:
    assert list(table(script("inspect", "net.py", *words))) == names
    assert list(script.inspect("net.py", *words)) == names


def test_on_a_terminal_a_line_is_a_link_to_its_file(script: Program) -> None:
    address = (script.folder / "net.py").as_uri()
    links = re.findall(r"\x1b\]8;[^;]*;([^\x1b]+)\x1b\\([^\x1b]*)", script.on_terminal("inspect", "net.py").out)
    assert links
    assert all(link == f"{address}#L{line}" for link, line in links)
    assert "\x1b]8" not in script("inspect", "net.py").out + script.on_terminal("inspect", *Y).out


def test_a_choice_that_leaves_nothing_is_an_error(gviz: Program) -> None:
    gviz("inspect", *Y, "--only", "frozen").assert_refused("none of the tensors is of that kind")


def test_below_the_table_are_totals(script: Program) -> None:
    assert script("inspect", *Y).out.endswith("\n\n3 operations, 2 leaves, 8 bytes saved for backward\n")
    assert script("inspect", "net.py").out.endswith("\n\n4 operations, 2 leaves, 16 bytes saved for backward\n")
    assert script("inspect", "y=x*x", "x=1", "--order", 1).out.endswith("; grad is that of ∂y/∂x\n")
    assert "3 operations, 2 leaves" in script.on_terminal("inspect", *Y).out


def test_the_bytes_saved_are_left_out_where_a_long_loop_has_no_time_for_them(gviz: Program) -> None:
    loop = "import torch\nw = torch.ones(2, requires_grad=True)\nfor i in range(101):\n    y = (w * w).sum()\n    y.backward()\n"
    (gviz.folder / "net.py").write_text(loop)
    assert gviz("inspect", "net.py").out.endswith("\n\n2 operations, 1 leaf\n")
    assert gviz("inspect", "net.py", "--stop-at", "backward").out.endswith(
        "\n\n2 operations, 1 leaf, 8 bytes saved for backward\n"
    )


@pytest.mark.parametrize("columns", [120, 80, 60])
def test_on_a_terminal_the_table_fits_and_its_headings_are_those_of_a_pipe(script: Program, columns: int) -> None:
    text = without_escapes(script.on_terminal("inspect", "net.py", columns=columns).out)
    assert max(map(len, text.splitlines())) <= columns
    piped = script("inspect", "net.py").out.splitlines()[0].split()
    first, second = next(
        pair for pair in zip(text.splitlines(), text.splitlines()[1:], strict=False) if "name" in pair[1]
    )
    starts = [match.start() for match in re.finditer(r"\S+", second)]
    for start, end in zip(starts, [*starts[1:], None], strict=True):
        assert first[start:end].strip() + second[start:end].strip() in piped
    if columns >= 80:
        assert "_before" in second
        assert "note" in second


def test_json_has_lines_warnings_and_the_error_of_the_script(gviz: Program) -> None:
    (gviz.folder / "net.py").write_text(
        "import torch\nw = torch.ones(2, requires_grad=True)\ny = w * 2\ny.backward()\n"
    )
    done = gviz("inspect", "net.py", "--json")
    data = done.json()
    assert done.status == 1
    assert list(data) == ["tensors", "graph", "warnings", "notes", "error"]
    assert {row["name"]: row["line"] for row in data["tensors"]} == {"w": 2, "y": 3}
    assert data["error"].startswith("net.py:4: RuntimeError: grad can be implicitly created only for scalar outputs")
    assert (data["warnings"], data["notes"]) == ([], ["root: y (backward called at line 4)"])
    data = gviz("inspect", "y=x*w", "x=2", "--json").json()
    assert (data["warnings"], data["notes"], data["error"]) == ([], ["w not given: 1.0 used"], None)
    data = gviz("inspect", "y=log(x)", "x=-1", "--json").json()
    assert data["warnings"][0] == "y is NaN: the first tensor that is not finite"


def test_totals_have_the_bytes_of_an_expression_or_say_why_a_script_has_none(gviz: Program) -> None:
    assert gviz("inspect", "y=x*w", "--watch", "x").out.endswith("1 operation, 2 leaves, 8 bytes saved for backward\n")
    (gviz.folder / "net.py").write_text(LOOP.format(times=101))
    done = gviz("inspect", "net.py")
    assert "bytes" not in done.out
    assert "what operations save for backward is measured in the first 100 calls of backward alone" in done.err


# --watch


LOOP = """\
import torch
w = torch.tensor(1.0, requires_grad=True)
for i in range({times}):
    y = (w * 2 - 1) ** 2
    y.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
    w.grad = None
"""


@pytest.mark.parametrize("engine", ["gviz", pytest.param("torch", marks=pytest.mark.torch)])
def test_watch_lists_each_line_that_changed_a_tensor(gviz: Program, engine: str) -> None:
    if engine == "torch":
        pytest.importorskip("torch")
    (gviz.folder / "net.py").write_text(LOOP.format(times=2))
    data = gviz("inspect", "net.py", "--watch", "w", "--json", "--engine", engine).json()
    assert data["left_out"] == 0
    changes = [(one["line"], round(one["value"], 4), one["grad"] and round(one["grad"], 4)) for one in data["changes"]]
    assert changes == [
        (2, 1.0, None), (5, 1.0, 4.0), (7, 0.6, 4.0), (8, 0.6, None), (5, 0.6, 0.8), (7, 0.52, 0.8), (8, 0.52, None),
    ]  # fmt: skip


def test_watch_shows_the_statements_and_cuts_a_long_loop_in_the_middle(gviz: Program) -> None:
    (gviz.folder / "net.py").write_text(LOOP.format(times=100))
    lines = gviz("inspect", "net.py", "--watch", "w").out.splitlines()
    assert lines[0].split() == ["line", "value", "grad", "requires_grad", "grad_fn", "statement"]
    assert re.split(r"\s{2,}", lines[2]) == ["5", "1", "4", "True", "None", "y.backward()"]
    assert re.split(r"\s{2,}", lines[16]) == ["…", "271 more"]
    assert len(lines) == 32


def test_on_a_narrow_terminal_watch_cuts_the_statements_and_not_the_values(gviz: Program) -> None:
    text = "import torch\nw = torch.tensor([0.8123, 0.5], requires_grad=True)\n(w * w).sum().backward()\n"
    (gviz.folder / "net.py").write_text(
        f"{text}w.data.copy_(w.detach() * 0.5 + 0.0 * w.detach() - 0.1 * w.grad + 0.0 * w.grad)\n"
    )
    lines = without_escapes(gviz.on_terminal("inspect", "net.py", "--watch", "w", columns=80).out).splitlines()
    assert max(map(len, lines)) <= 80
    assert any("[0.8123, 0.5]" in line and "[1.6246, 1]" in line and "(w * w)" in line for line in lines)
    assert any("w.data.copy_" in line and line.rstrip().endswith("…") for line in lines)


def test_watch_sees_parameters_local_names_and_writes_through_data(gviz: Program) -> None:
    (gviz.folder / "net.py").write_text(
        "import torch\nnet = torch.nn.Linear(1, 1)\nw = torch.zeros(2)\n"
        "def f(a):\n    c = a * 2\n    return c\nw.data[0] = 5\ny = net(f(torch.ones(1)))\ny.backward()\n"
    )

    def lines(name: str) -> list[int]:
        return [one["line"] for one in gviz("inspect", "net.py", "--watch", name, "--json").json()["changes"]]

    assert lines("net.weight") == [2, 9]
    assert lines("w") == [3, 7]
    assert lines("c") == [5]


def test_watch_of_a_name_that_is_not_there_says_what_was_meant(gviz: Program) -> None:
    (gviz.folder / "net.py").write_text("import torch\nloss = torch.ones(2, requires_grad=True).sum()\n")
    done = gviz("inspect", "net.py", "--watch", "losss")
    done.assert_refused("--watch losss: the script has no tensor of that name", "did you mean loss?", files=("net.py",))
    done = gviz("inspect", "net.py", "--watch", "q")
    done.assert_refused("its tensors: loss", files=("net.py",))
    gviz("inspect", "net.py", "--watch", "loss", "--sort", "name").assert_refused(
        "--sort is for the table", status=2, files=("net.py",)
    )


def test_json_lists_all_elements_of_large_tensors_and_says_what_those_of_a_huge_one_come_to(gviz: Program) -> None:
    text = "import torch\nw = torch.ones(300, 2, requires_grad=True)\n(w * 2).sum().backward()\nhuge = torch.zeros(1001, 1000)\n"
    (gviz.folder / "net.py").write_text(f"{text}with torch.no_grad():\n    w -= 1\n")
    rows = gviz.inspect("net.py")
    assert (rows["w"]["value"], rows["w"]["grad"]) == ([[0.0, 0.0]] * 300, [[2.0, 2.0]] * 300)
    assert rows["w"]["at_backward"] == {"value": [[1.0, 1.0]] * 300, "grad": [[2.0, 2.0]] * 300}
    assert rows["huge"]["grad"] is None
    assert rows["huge"]["value"] == {
        "shape": [1001, 1000], "norm": 0.0, "smallest": 0.0, "largest": 0.0, "mean": 0.0, "zeros": 1_001_000, "nans": 0,
        "infs": 0,
    }  # fmt: skip
    changes = gviz("inspect", "net.py", "--watch", "w", "--json").json()["changes"]
    assert [change["value"] for change in changes] == [[[1.0, 1.0]] * 300] * 2 + [[[0.0, 0.0]] * 300]


def test_the_table_has_the_norm_of_a_large_tensor(gviz: Program) -> None:
    text = "import torch\nw = torch.ones(2500, requires_grad=True)\n(w * 2).sum().backward()\n"
    (gviz.folder / "net.py").write_text(text)
    (row,) = [line for line in gviz("inspect", "net.py").out.splitlines() if line.startswith("w ")]
    assert "  norm 50  " in row
    assert "  norm 100  " in row
    lines = gviz("inspect", "net.py", "--watch", "w").out.splitlines()
    assert [" ".join(line.split()[:4]) for line in lines[1:]] == ["2 norm 50 None", "3 norm 50 norm"]


def test_the_table_is_of_one_moment_where_a_test_follows_the_training(gviz: Program) -> None:
    (gviz.folder / "net.py").write_text(
        "import torch\nw = torch.tensor(2.0, requires_grad=True)\nx = torch.tensor([1.0, 3.0])\ny = (w * x).sum()\n"
        "y.backward()\nx = torch.tensor([[5.0]])\ny = (w * x).sum()\n"
    )
    rows = table(gviz("inspect", "net.py"))
    cells = {name: (row["shape"], row["value"], row["later"], row["line"]) for name, row in rows.items()}
    assert cells == {
        "w": ("()", "2", "", "2"),
        "x": ("(2)", "[1, 3]", "now [[5]]", "3"),
        "y": ("()", "8", "now 10", "4"),
    }


def test_what_is_frozen_later_is_of_later(gviz: Program) -> None:
    (gviz.folder / "late.py").write_text(
        "import torch\nw = torch.tensor(3.0, requires_grad=True)\ny = w * 2\ny.backward()\nw.requires_grad_(False)\n"
    )
    row = next(line for line in gviz("inspect", "late.py").out.splitlines() if line.startswith("w "))
    assert row.split()[1:3] == ["True", "True"]
    assert "now frozen, line 5" in row
    assert row.split()[-1] == "2"
    record = gviz("inspect", "late.py", "--json").json()["tensors"][0]
    assert (record["requires_grad"], record["at_backward"]["requires_grad"]) == (False, True)


def test_json_has_what_the_tensor_of_a_name_was_at_backward(gviz: Program) -> None:
    (gviz.folder / "net.py").write_text(
        "import torch\nw = torch.tensor(2.0, requires_grad=True)\ny = torch.tensor(3.0)\nh = w * y\nh.backward()\ny = w + 1\n"
        "h = torch.tensor(1.0)\n"
    )
    rows = gviz.inspect("net.py")
    now = {"requires_grad": True, "is_leaf": False, "grad_fn": "AddBackward0", "value": 3.0}
    assert rows["y"].items() >= now.items()
    then = {"requires_grad": False, "is_leaf": True, "grad_fn": None, "value": 3.0, "grad": None}
    assert rows["y"]["at_backward"] == then
    assert (rows["h"]["is_leaf"], rows["h"]["grad_fn"]) == (True, None)
    assert rows["h"]["at_backward"].items() >= {"is_leaf": False, "grad_fn": "MulBackward0", "value": 6.0}.items()
    assert "at_backward" not in rows["w"]


def test_json_has_the_value_of_a_tensor_that_was_written_between_its_uses(gviz: Program) -> None:
    (gviz.folder / "net.py").write_text(
        "import torch\nw = torch.tensor([1.0, 2.0], requires_grad=True)\nh = torch.zeros(2)\n"
        "for step in range(2):\n    h = h + w * 3\n    with torch.no_grad():\n        w += step == 0\n"
        "h.sum().backward()\n"
    )
    row = gviz.inspect("net.py")["w"]
    assert (row["remark"], row["at_backward"]["value"]) == ("written between its uses", [2.0, 3.0])


def test_a_graph_saved_after_an_update_says_that_its_numbers_are_those_of_now(gviz: Program) -> None:
    w = engine.tensor([1.0, 2.0], requires_grad=True)
    loss = (w * w).sum()
    loss.backward()
    with engine.no_grad():
        w += 1
    package.save(loss, gviz.folder / "run.json")
    row = table(gviz("inspect", "run.json"))["w"]
    assert (row["value"], row["note"]) == ("[2, 3]", "its numbers are those of now")
    record = gviz.inspect("run.json")["w"]
    assert (record["remark"], record["at_backward"]["value"]) == ("its numbers are those of now", None)


def test_the_table_has_0_where_only_rounding_is_left_and_json_is_exact(gviz: Program) -> None:
    source = "y=softmax(x,0).sum()", "x=[0.3,0.2,3.5]"
    assert "[0, 0, 0]" in gviz("inspect", *source).out
    assert any(gviz("inspect", *source, "--json").json()["tensors"][0]["grad"])
    assert gviz("inspect", "y=1.000001*x-x", "x=1").out.count("9.536743e-07") == 2  # of x.grad, as PyTorch prints it


def test_there_is_no_minus_before_a_0(gviz: Program) -> None:
    assert "-0" not in gviz("inspect", "y=-x*w", "x=0", "w=0").out.split()


def test_a_name_of_many_letters_is_cut_in_the_table_and_whole_as_data(gviz: Program) -> None:
    (gviz.folder / "long.py").write_text(
        'import torch\nw = torch.ones(2, requires_grad=True)\nglobals()["n" * 10_000] = w * 2\n'
        'loss = globals()["n" * 10_000].sum()\nloss.backward()\n'
    )
    done = gviz("inspect", "long.py")
    assert max(map(len, done.out.splitlines())) < 400
    assert "n…n" in done.out
    assert "n" * 10_000 in gviz("inspect", "long.py", "--json").out


def test_json_has_a_gradient_of_0_before_backward(gviz: Program) -> None:
    code = "import torch\nw = torch.tensor(3.0, requires_grad=True)\n"
    (gviz.folder / "zero.py").write_text(f"{code}(w * 2).backward()\nw.grad.zero_()\nloss = w * 5\nloss.backward()\n")
    rows = {row["name"]: row for row in gviz("inspect", "zero.py", "--json").json()["tensors"]}
    assert (rows["w"]["before"], rows["w"]["grad"], "before" in rows["loss"]) == (0.0, 5.0, False)


def test_json_has_the_gradient_before_backward_of_a_tensor_whose_name_another_has_now(gviz: Program) -> None:
    code = (
        "import torch\nw = torch.tensor(3.0, requires_grad=True)\n(w * 2).backward()\nloss = w * 5\nloss.backward()\n"
    )
    (gviz.folder / "again.py").write_text(f"{code}w = torch.tensor(1.0)\n")
    row = gviz("inspect", "again.py", "--json").json()["tensors"][0]
    assert (row["name"], row["before"], row["at_backward"]["grad"]) == ("w", 2.0, 7.0)
