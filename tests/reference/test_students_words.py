"""The words of autograd: each is found as students type it, and what its example prints is what stands behind it."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import sys

import pytest
from program import Program

from gviz import engine
from gviz.reference.words import WORDS, Word, word_for

PRINTED = re.compile(r"^ *print\(.*\)  # (.*)$", re.MULTILINE)


def name_of(word: Word) -> str:
    return word.names[0]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        *((name, word.names[0]) for word in WORDS for name in word.names),
        ("Leaf?", "leaf"),
        ("non_leaf", "non-leaf"),
        ("requires_grad=True", "requires_grad"),
        ("loss.backward()", "backward"),
        ("loss.backward(retain_graph=True)", "backward"),
        ("with torch.no_grad():", "no_grad"),
        ("optimizer.zero_grad()", "accumulate"),
        (".grad", "grad"),
        ("w.grad", "grad"),
        ("x.detach()", "detach"),
        ("<AccumulateGrad object at 0x7f3c>", "AccumulateGrad"),
    ],
)
def test_a_word_is_found_by_its_names_and_as_it_stands_in_code(text: str, name: str) -> None:
    word = word_for(text)
    assert word is not None
    assert word.names[0] == name


@pytest.mark.parametrize("text", ["y=leaf*w", "leaf*w", "relu", "MulBackward0", "", "f(x)", "grad=<MulBackward0>"])
def test_an_expression_and_an_operation_are_no_such_words(text: str) -> None:
    assert word_for(text) is None


@pytest.mark.parametrize("word", WORDS, ids=name_of)
def test_the_example_of_a_word_prints_what_it_says(word: Word, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", engine)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(word.example, {"__name__": "__main__"})  # noqa: S102 - gviz's own text
    said = PRINTED.findall(word.example)
    assert out.getvalue().splitlines() == said != []


@pytest.mark.torch
@pytest.mark.parametrize("word", WORDS, ids=name_of)
def test_the_example_of_a_word_prints_the_same_on_pytorch(word: Word) -> None:
    pytest.importorskip("torch")
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(word.example, {"__name__": "__main__"})  # noqa: S102 - gviz's own text
    assert out.getvalue().splitlines() == PRINTED.findall(word.example)


@pytest.mark.parametrize("word", [word for word in WORDS if word.command], ids=name_of)
def test_the_command_of_a_word_works(gviz: Program, word: Word) -> None:
    (gviz.folder / "train.py").write_text(
        "import torch\nw = torch.tensor(3.0, requires_grad=True)\n(w * 2).backward()\n(w * 2).backward()\n"
    )
    program, *words = shlex.split(word.command)
    done = gviz(*words)
    assert program == "gviz"
    assert done.status in ((0, 1) if words[0] == "why" else (0,)), done.err
    assert "error" not in done.err
    assert done.out or len(done.files()) > 1


def test_a_word_is_a_paragraph_and_an_example(gviz: Program) -> None:
    done = gviz("explain", "is_leaf")
    assert (done.status, done.err) == (0, "")
    assert "tensor.is_leaf says whether" in done.out
    assert "      print(x.is_leaf, w.is_leaf, scaled.is_leaf)  # True True False\n" in done.out
    assert gviz("explain", "saved", "tensors").out.startswith("saved tensors\n")
    assert gviz("explain", "leaf", "--json").json()["word"] == "leaf"
    assert "verbatim" in gviz("explain", "leaf", "--format", "latex").out
