"""``gviz why`` as a program: what its table lists, and what it says of scripts that fail."""

from __future__ import annotations

import json
import re

import pytest
from program import Program

from gviz.causes.diagnosis import Cause

LOOP = """\
import torch
from torch import nn
net = nn.Sequential(nn.Linear(2, 1))
loss = net(torch.ones(3, 2)).pow(2).mean()
loss.backward()
for p in net.parameters():
    p.data -= 0.1 * p.grad
"""


def test_a_loop_variable_is_no_further_tensor(gviz: Program) -> None:
    (gviz.folder / "net.py").write_text(LOOP)
    names = ["net.0.weight", "net.0.bias"]
    assert [line.split()[0] for line in gviz("why", "net.py").out.splitlines()[1:]] == names
    assert [row["name"] for row in json.loads(gviz("why", "net.py", "--json").out)] == names
    assert gviz("why", "net.py", "p").out.startswith("p: ok\n")


def test_on_a_terminal_a_place_is_a_link_to_its_line(gviz: Program) -> None:
    (gviz.folder / "net.py").write_text(LOOP)
    address = (gviz.folder / "net.py").as_uri()
    for words in (["why", "net.py"], ["why", "net.py", "net.0.bias"]):
        links = re.findall(r"\x1b\]8;[^;]*;([^\x1b]+)\x1b\\line (\d+)", gviz.on_terminal(*words).out)
        assert links
        assert all(link == f"{address}#L{line}" for link, line in links)
        assert "\x1b" not in gviz(*words).out


def test_a_script_without_a_tensor_has_nothing_to_show(gviz: Program) -> None:
    (gviz.folder / "net.py").write_text("import torch\nw = torch.tensor(2.0, require_grad=True)\n")
    for command in ("why", "inspect"):
        done = gviz(command, "net.py")
        done.assert_refused("the script fails before it has a tensor: there is nothing to show", files=("net.py",))
        assert "did you mean requires_grad?" in done.err


@pytest.mark.parametrize(
    ("root", "said"),
    [
        ("nope", "--root nope: the script has no tensor of that name"),
        ("nope.weight", "--root nope.weight: the script has no tensor of that name"),
        ("loss", "--root loss: the script fails before it has that graph"),
        ("parts['a']", "--root parts['a']: the script fails before it has that graph"),
    ],
)
def test_a_root_that_a_failing_script_does_not_name_at_all_is_said_to_be_unknown(
    gviz: Program, root: str, said: str
) -> None:
    (gviz.folder / "net.py").write_text(
        "import torch\nw = torch.ones(2, requires_grad=True)\nparts = {}\nx = w.boom\nloss = parts['a'] = x.sum()\n"
    )
    done = gviz("why", "net.py", "--root", root)
    assert done.status == 1
    assert f"warning: {said}" in done.err
    assert "boom" in done.err


def test_an_error_of_pytorchs_before_there_is_a_tensor_names_the_command_that_explains_it(gviz: Program) -> None:
    (gviz.folder / "net.py").write_text("import torch\nx = torch.tensor([1, 2, 3], requires_grad=True)\n")
    error = "Only Tensors of floating point and complex dtype can require gradients"
    for command in ("why", "render"):
        assert gviz(command, "net.py").err.endswith(f'gviz explain "{error}" says what it means\n')
    assert "torch.tensor(2.0, requires_grad=True)" in gviz("explain", error).out


def test_only_an_error_that_explain_knows_is_sent_there(gviz: Program) -> None:
    program = "import torch\nw = torch.ones(2, requires_grad=True)\nw.sum().backward()\n"
    for last, is_known in (
        ("torch.ones(1).expand(3).add_(1)", True),
        ("raise ValueError('no such row in the file')", False),
    ):
        (gviz.folder / "net.py").write_text(program + last)
        assert ("gviz explain TEXT says what it means" in gviz("why", "net.py", "w").err) == is_known


def test_a_message_that_ends_in_a_point_gets_no_second_one() -> None:
    for what in ("it failed", "it failed."):
        assert Cause("w", "failed", what).text().split("\n")[1] == "it failed."


def test_a_warning_of_the_program_is_shown_once_as_python_does(gviz: Program) -> None:
    (gviz.folder / "warns.py").write_text(
        "import torch, warnings\nnet = torch.nn.Linear(300, 1)\nfor i in range(3):\n"
        "    warnings.warn('too wide')\n    net(torch.ones(2, 300)).mean().backward()\n"
    )
    assert gviz("why", "warns.py", "net.weight").err.count("UserWarning: too wide") == 1


def test_of_very_many_items_that_need_no_gradient_the_one_asked_for_is_answered(gviz: Program) -> None:
    program = "import torch\nw = torch.ones(2, requires_grad=True)\ndata = [torch.zeros(2)] + [torch.ones(1) for _ in range(10_500)]\n"
    (gviz.folder / "many.py").write_text(f"{program}(w * data[1]).sum().backward()\n")
    assert "data has 501 more tensors that require no gradient" in gviz("why", "many.py", "w").err
    assert gviz("why", "many.py", "data[0]").out.startswith("data[0]: frozen")


def test_a_function_that_calls_no_backward_is_told_of_it(gviz: Program) -> None:
    (gviz.folder / "net.py").write_text(
        "import torch\ndef main():\n    net = torch.nn.Linear(2, 1)\n    opt = torch.optim.SGD(net.parameters(), 0.1)\n"
        "    loss = net(torch.ones(3, 2)).mean()\n    opt.step()\nmain()\n"
    )
    done = gviz("why", "net.py")
    done.assert_refused("there are no leaves", files=("net.py",))
    assert "call loss.backward() there" in done.err


def test_a_loss_whose_name_is_gone_is_nothing_to_ask_for(gviz: Program) -> None:
    """Here the script fails when the function that had the name has returned."""
    program = (
        "import torch\nw = torch.zeros(2, requires_grad=True)\nmean = torch.zeros(())\ndef update():\n"
        "    loss = w.sum().log() * 0\n    loss.backward()\ndef act():\n    raise ValueError\nupdate()\nact()\n"
    )
    (gviz.folder / "gone.py").write_text(program)
    assert "tells where its nan began" not in gviz("why", "gone.py", "mean").err
    (gviz.folder / "there.py").write_text(program.replace("def update():\n", "def update():\n    global loss\n"))
    assert "gviz why SOURCE loss tells where its nan began" in gviz("why", "there.py", "mean").err
    assert gviz("why", "there.py", "loss").out.startswith("loss: nan")
