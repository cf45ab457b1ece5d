"""``gviz quiz``: its questions have the engine's numbers, its hints help, and its picture tells nothing."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from forks import TIMEOUT
from program import Program, clean_environment

import gviz as package
from gviz.derivations.quiz import Question, blanked, questions_of

Y = ("y=(x+w)*(w+1)", "x=2", "w=1")

KEY = [("∂y/∂a", 2), ("∂y/∂b", 3), ("∂b/∂w", 1), ("∂a/∂x", 1), ("∂a/∂w", 1), ("∂y/∂w", 5), ("∂y/∂x", 2)]


def key(expression: str, **values: Any) -> dict[str, float]:
    """The answers by what is asked for, of a graph whose numbers are known."""
    questions = questions_of(package.read(expression, **values).with_facts(flow=True))
    return {one.asked: one.answer for one in questions}


def test_the_answers_are_local_derivatives_and_gradients_in_the_order_of_backward(gviz: Program) -> None:
    done = gviz("quiz", *Y, "--answers")
    assert [(asked, float(number)) for asked, number in re.findall(r"(∂\w/∂\w) = (\S+)\n", done.out)] == KEY
    answers = key("y=tanh(w*x+b)**2", w=0.5, x=2, b=0.1)
    gradients = package.read("y=tanh(w*x+b)**2", w=0.5, x=2, b=0.1).graph.by_id.values()
    told = {
        node.name: node.grad.value.elements[0] for node in gradients if node.grad.value and node.grad.value.elements
    }
    assert {name: answers[f"∂y/∂{name}"] for name in "wxb"} == pytest.approx({name: told[name] for name in "wxb"})


def test_right_answers_count_and_wrong_ones_bring_hints_way_by_way(gviz: Program) -> None:
    words = "2 3 1 1 1 4 ? 5.0 x 2.2 1 9"
    done = gviz("quiz", *Y, stdin="\n".join(words.split()))
    assert done.status == 0
    lines = [line.strip() for line in done.out.splitlines()]
    wrong = lines.index("not 4: w is used 2 times: a product for each, and their sum")
    assert lines[wrong + 1 : wrong + 5] == [
        "∂y/∂w = ?", "by way of a: ∂y/∂a = 2 arrives, times ∂a/∂w", "∂y/∂w = 5.0", "right",
    ]  # fmt: skip
    assert "a number is asked for, such as 2, -0.5 or 1/3; ? is for a hint" in lines
    assert "not 2.2: by way of a: ∂y/∂a = 2 arrives, times ∂a/∂x" in lines
    assert "not 9: the answer is 2" in lines
    assert lines[-1] == "5 of 7 right at once, 1 with hints; 7 answered"
    assert "grad = ?" in done.out
    assert "grad = 5" not in done.out


@pytest.mark.parametrize(("text", "is_right"), [
    ("0.1966", True), ("0.2", True), ("0.197", True), ("0.196", False), ("0.1", False), ("1.97e-1", True), ("0", False),
])  # fmt: skip
def test_an_answer_may_be_rounded(text: str, is_right: bool) -> None:
    assert Question("", "", 0.19661, ()).is_right(text) == is_right


def test_whole_numbers_and_fractions_are_exact_and_what_is_no_number_is_told() -> None:
    assert [Question("", "", 50.0, ()).is_right(text) for text in ("50", "51", "100/2", "101/2")] == [
        True,
        False,
        True,
        False,
    ]
    assert Question("", "", float("nan"), ()).is_right("nan")
    for text in ("", "1/0", "two", "1/x"):
        with pytest.raises(ValueError, match=r"could not|fraction"):
            Question("", "", 1.0, ()).is_right(text)


def test_the_picture_has_blanks_and_with_answers_the_numbers(gviz: Program) -> None:
    gviz("quiz", *Y, "-o", "quiz.svg")
    gviz("quiz", *Y, "-o", "key.svg", "--answers")
    blank, whole = ((gviz.folder / name).read_text() for name in ("quiz.svg", "key.svg"))
    assert len(re.findall(r"\?(?:</text>)", blank)) == len(KEY) + 2  # of a and b the gradient is that on their line
    assert not re.search(r"grad = \d|∂a/∂w = \d|= b\b", blank)
    assert "grad = 5" in whole
    gviz("quiz", *Y, "-o", "quiz.json").assert_refused(
        "would tell the answers", status=2, files=("key.svg", "quiz.svg")
    )
    assert not blanked(package.read(*Y[:1], x=2, w=1).with_facts(flow=True)).tensors


def test_the_picture_with_blanks_has_the_lines_of_that_with_answers(gviz: Program) -> None:
    quiz = ("quiz", "L=(tanh(w*x)-t)**2+2*w+1", "x=1", "w=0.5", "t=1", "--frozen", "x,t", "-o")
    gviz(*quiz, "blank.dot")
    gviz(*quiz, "whole.dot", "--answers")
    blank, whole = (
        re.findall(r"c\d+:e -> n\d+:w .*", (gviz.folder / f"{name}.dot").read_text()) for name in ("blank", "whole")
    )
    assert blank == whole
    assert len(blank) == len(set(blank)) == 5  # of 2, 2, 1, x and t


def test_what_cannot_be_asked_is_said(gviz: Program) -> None:
    gviz("quiz", "y=(W@x).sum()", "W=[[1,2],[3,4]]", "x=[1,2]").assert_refused("there is nothing to ask")
    gviz("quiz", "-", stdin="y=x*w").assert_refused("reads the answers from standard input", status=2)
    assert gviz("quiz", *Y).out.endswith("0 of 7 right at once, 0 with hints; 0 answered\n")


def test_ctrl_c_ends_it_with_the_score(gviz: Program) -> None:
    controller, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "gviz", "quiz", *Y],
        cwd=gviz.folder, env=clean_environment(gviz.folder), stdin=terminal, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    os.write(controller, b"2\n")
    assert process.stdout is not None
    said = b""
    while b"2/7" not in said:
        said += os.read(process.stdout.fileno(), 4096)
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=TIMEOUT)
    os.close(controller)
    os.close(terminal)
    assert (process.returncode, err) == (0, b"")
    assert out.decode().endswith("1 of 7 right at once, 0 with hints; 1 answered\n")


def test_of_a_script_each_question_has_the_numbers_of_results_without_a_name(gviz: Program, tmp_path: Path) -> None:
    code = "import torch\nw = torch.tensor(2.0, requires_grad=True)\ny = (w * 3 + 1) * torch.exp(w - 2)\ny.backward()\n"
    (tmp_path / "q.py").write_text(code, encoding="utf-8")
    done = gviz("quiz", str(tmp_path / "q.py"), "--answers")
    assert "c = a + 1 at a = 6, c = 7:  ∂c/∂a = 1\n" in done.out
    assert "y = c * f at c = 7, f = 1, y = 7:  ∂y/∂f = 7\n" in done.out
    read = package.read(tmp_path / "q.py", package.SourceOptions(flow=True))
    assert [one.about for one in questions_of(read.graph) if " = a + 1" in one.about] == ["c = a + 1"]


def test_what_backward_does_not_begin_with_1_is_no_derivative_of_the_roots(gviz: Program) -> None:
    (gviz.folder / "net.py").write_text(
        "import torch\nw = torch.tensor(3.0, requires_grad=True)\nl1, l2 = w * 2, w**2\n"
        "torch.autograd.backward([l1, l2], [torch.tensor(5.0), None])\n"
    )
    done = gviz("quiz", "net.py", "--answers")
    assert "w: the gradient that arrives, which w.grad gets:  grad = 16" in done.out
