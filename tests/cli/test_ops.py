"""``gviz ops``: what the engine has is read from its table, what it lacks from PyTorch's own names."""

from __future__ import annotations

import re
from typing import Any

import pytest
from names_of_torch import FILE, MODULES, text as names_of_this_torch
from program import SAMPLES, Program

from gviz import engine
from gviz.autograd.row import ROWS
from gviz.reference.catalogue import MOST_NAMED, matching, operations
from gviz.signatures.pytorch import pytorch_names
from gviz.sources.script.missing import of_module

SCRIPT = """import numpy as np
import torch
from torch import nn
import torch.nn.functional as F
from torch.no_such_part import thing

x = torch.ones(3, requires_grad=True)
for value in {}.values():
    pass
y = F.no_such_function(x)
z = torch.linalg.no_such_norm(x).sum()
x.to_mkldnn(
    abs
)
np.array(1.0).to_mkldnn(abs)
torch.ones(2).no_such_method()
nn.Linear(2, 2).no_such_attribute.weight

class Own:
    def map_(self): return torch.exp(x)

Own().map_(1)
"""


# ------------------------------------------------------------------ the command
def test_one_operation_is_printed_in_full(gviz: Program) -> None:
    done = gviz("ops", "MulBackward0")
    assert (done.status, done.err) == (0, "")
    lines = [line.split(maxsplit=3) for line in done.out.splitlines()]
    assert lines[0] == ["MulBackward0", "(mul)"]
    assert ["grad", "of", "self", "grad * other"] in lines
    assert ["grad", "of", "other", "grad * self"] in lines
    assert "saves" in done.out
    assert "_saved_other, _saved_self" in done.out


def test_a_node_without_a_row_has_a_sentence(gviz: Program) -> None:
    lines = gviz("ops", "AccumulateGrad").out.splitlines()
    assert lines[0] == "AccumulateGrad"
    assert "adds the gradient that arrives" in lines[1]


def test_many_names_are_shortened_to_the_first(gviz: Program) -> None:
    part = next(line for line in gviz("ops", "convolution").out.splitlines() if "part of" in line)
    assert part.count(",") == MOST_NAMED - 1
    assert part.endswith(f" and {len(matching('convolution')[0].part_of) - MOST_NAMED} more")


def test_overloads_are_rows_of_their_own(gviz: Program) -> None:
    titles = [line for line in gviz("ops", "torch.sum").out.splitlines() if line[:1].isalpha()]
    assert {"SumBackward0 (sum_all)", "SumBackward1 (sum_dim)"} <= set(titles)
    assert {title[:3] for title in titles} == {"Sum"}


def test_many_operations_are_a_table_with_a_line_each(gviz: Program) -> None:
    done = gviz("ops")
    lines = done.out.splitlines()
    assert lines[0].split("  ")[0] == "grad_fn"
    assert len(lines) == len(operations()) + 1
    assert {line.split()[0] for line in gviz("ops", "mul*").out.splitlines() if line.startswith("Mul")} == {
        "MulBackward0",
        "MulBackward1",
        "MultiMarginLossBackward0",
    }


def test_json_has_everything(gviz: Program) -> None:
    (record,) = gviz("ops", "torch.mm", "--json").json()["operations"]
    assert record["grad_fn"] == "MmBackward0"
    assert record["derivatives"][1]["inputs"] == ["mat2"]
    assert "torch.matmul" in record["part_of"]
    for nothing in ((), ("",)):
        assert len(gviz("ops", *nothing, "--json").json()["operations"]) == len(ROWS)


@pytest.mark.parametrize("columns", [30, 60, 100, 160])
@pytest.mark.parametrize("words", [("mul",), ("so*",), ()])
def test_a_terminal_gets_lines_that_fit(gviz: Program, columns: int, words: tuple[str, ...]) -> None:
    done = gviz.on_terminal("ops", *words, columns=columns, env={"NO_COLOR": "1"})
    assert done.status == 0
    assert "\x1b[3" not in done.out
    plain = done.out.replace("\x1b[1m", "").replace("\x1b[2m", "").replace("\x1b[0m", "")
    assert max(map(len, plain.splitlines())) <= columns


def test_a_table_on_a_terminal_ends_with_how_many_there_are_and_what_shows_one(gviz: Program) -> None:
    done = gviz.on_terminal("ops", "so*", columns=100, env={"NO_COLOR": "1"})
    assert f"{len(matching('so*'))} operations; gviz ops NAME shows all about one" in done.out.splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "phrases"),
    [
        (["softmx"], ("no operation 'softmx'", "did you mean softmax")),
        (["qqq"], ("no operation 'qqq'", "gviz ops lists all")),
        (["arange"], ("torch.arange is in the engine, but has no row of its own", "gviz render draws the nodes")),
        (["nn.Module"], ("torch.nn.Module is in the engine",)),
        (
            ["--missing", "torch.no_such_part"],
            ("gviz has no list of the names in torch.no_such_part", "as in torch.Tensor"),
        ),
        (["--missing", "torch.nn.functionl"], ("did you mean torch.nn.functional?",)),
        (["--missing", "nope.py"], ("there is no file nope.py",)),
        (["--missing", "."], (". is a folder",)),
        (["--missing", "y=x*w"], ("there is no file y=x*w",)),
    ],
)
def test_a_wrong_name_is_answered(gviz: Program, words: list[str], phrases: tuple[str, ...]) -> None:
    gviz("ops", *words).assert_refused(*phrases)


def test_a_pattern_beside_missing_is_a_usage_error(gviz: Program) -> None:
    gviz("ops", "mul", "--missing", "net.py").assert_refused("without a PATTERN", status=2)


# ------------------------------------------------------------------ what is missing
def test_a_scripts_missing_names_come_with_their_lines(gviz: Program) -> None:
    (gviz.folder / "net.py").write_text(SCRIPT)
    done = gviz("ops", "--missing", "net.py")
    assert (done.status, done.err) == (1, "")
    doubt = "if PyTorch has it"
    assert [re.split("  +", line) for line in done.out.splitlines()] == [
        ["net.py:5", "torch.no_such_part", doubt],
        ["net.py:10", "torch.nn.functional.no_such_function", doubt],
        ["net.py:11", "torch.linalg.no_such_norm", doubt],
        ["net.py:12", "torch.Tensor.to_mkldnn", "if that is a tensor"],
        ["net.py:16", "torch.Tensor.no_such_method", doubt],
    ]
    uses = gviz("ops", "--missing", "net.py", "--json").json()["missing"]
    assert [(use["line"], use["sure"]) for use in uses] == [(5, True), (10, True), (11, True), (12, False), (16, True)]


def test_a_script_is_not_run(gviz: Program) -> None:
    (gviz.folder / "net.py").write_text("import torch\nopen('made', 'w').close()\n")
    assert gviz("ops", "--missing", "net.py").status == 0
    assert [path.name for path in gviz.folder.iterdir()] == ["net.py"]


def test_it_says_what_it_can_know_where_nothing_is_missing(gviz: Program) -> None:
    (gviz.folder / "net.py").write_text("import torch\n")
    known = "no name of PyTorch that its text tells of is missing; what objects lack shows when it runs"
    assert gviz("ops", "--missing", "net.py").err == f"net.py: {known}\n"
    assert (
        gviz("ops", "--missing", "torch.autograd.functional").err
        == "torch.autograd.functional: nothing of PyTorch is missing\n"
    )


def test_spaces_in_a_sign_may_be_left_out(gviz: Program) -> None:
    assert gviz("ops", "x+y").out == gviz("ops", "x + y").out != ""


def test_neighbours_are_looked_into(gviz: Program) -> None:
    (gviz.folder / "net.py").write_text("import part\n")
    (gviz.folder / "part.py").write_text("import torch\n\ntorch.no_such_thing()\n")
    assert gviz("ops", "--missing", "net.py").out == "part.py:3  torch.no_such_thing  if PyTorch has it\n"


@pytest.mark.parametrize("sample", sorted(SAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_nothing_is_missing_for_the_samples(gviz: Program, sample: Any) -> None:
    done = gviz("ops", "--missing", sample)
    assert (done.status, done.out) == (0, "")


@pytest.mark.parametrize(
    ("content", "phrase"),
    [
        (b"a b c(", "net.py:1: SyntaxError"),
        (b"\x7fELF\0\0", "is a picture or a binary file"),
        (b"x = '\xff'", "is not UTF-8 text"),
    ],
)
def test_a_file_that_is_not_python_is_refused(gviz: Program, content: bytes, phrase: str) -> None:
    (gviz.folder / "net.py").write_bytes(content)
    gviz("ops", "--missing", "net.py").assert_refused(phrase, files=("net.py",))


def test_a_saved_graph_is_not_a_script(gviz: Program) -> None:
    (gviz.folder / "graph.json").write_text("{}")
    gviz("ops", "--missing", "graph.json").assert_refused(
        "graph.json is a saved graph, not a script", files=("graph.json",)
    )


def test_standard_input_is_a_script_too(gviz: Program) -> None:
    done = gviz("ops", "--missing", "-", stdin="import torch\ntorch.no_such_thing\n")
    assert (done.status, done.out) == (1, "<stdin>:2  torch.no_such_thing  if PyTorch has it\n")


def test_a_modules_missing_names_are_those_of_pytorch_that_the_engine_has_not(gviz: Program) -> None:
    done = gviz("ops", "--missing", "torch.Tensor")
    names = done.out.split()
    assert done.status == 1
    assert names == of_module("torch.Tensor")
    assert all(name.startswith("torch.Tensor.") for name in names)
    tensor = engine.zeros(())
    lost = {
        name
        for name in pytorch_names()["torch.Tensor"]
        if not hasattr(type(tensor), name) and not hasattr(tensor, name)
    }
    assert lost == {name.rpartition(".")[2] for name in names}


def test_the_names_are_those_of_some_modules_and_none_is_repeated() -> None:
    names = pytorch_names()
    assert tuple(names) == MODULES
    assert all(len(set(those)) == len(those) > 5 for those in names.values())


@pytest.mark.torch
def test_the_names_are_those_of_the_real_torch() -> None:
    pytest.importorskip("torch")
    assert FILE.read_text(encoding="utf-8") == names_of_this_torch()
