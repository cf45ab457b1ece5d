"""Short programs print the same as in PyTorch, from a record of it, and the record is what PyTorch prints."""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest
from snippets import programs, recorded, transcript

from gviz import engine
from gviz.numbers.words import WARNED

WRONG_CALL = re.compile(r"(TypeError'?>?).*(?:\n(?: \* \(|      didn't match ).*)*")


def comparable(printed: str) -> str:
    """Return a transcript with the type of the error of each wrong call alone: its letters are gviz's own."""
    return WRONG_CALL.sub(r"\1", printed)


NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def is_near(printed: str, other: str) -> bool:
    """Return whether transcripts of two machines differ in rounding alone: PyTorch's sums have the order of a processor."""
    one, two = ([float(number) for number in NUMBER.findall(text)] for text in (printed, other))
    return NUMBER.sub("0", printed) == NUMBER.sub("0", other) and np.allclose(one, two, rtol=1e-5, atol=1e-6)


PAIRS = list(zip(programs(), recorded(), strict=True))


@pytest.mark.parametrize(("program", "printed"), PAIRS, ids=range(len(PAIRS)))
def test_a_program_prints_what_it_prints_in_pytorch(program: str, printed: str) -> None:
    if sys.version_info >= (3, 12) and "OrderedDict([" in printed:
        pytest.skip("Python prints an OrderedDict in another way from 3.12 on, and the record was made with 3.11")
    WARNED.clear()
    assert comparable(transcript(engine, program)) == comparable(printed)


@pytest.mark.torch
def test_the_record_is_what_pytorch_prints() -> None:
    torch = pytest.importorskip("torch")
    asked = [
        pair for pair in PAIRS if not re.search(r"cuda|device=\d", pair[0])
    ]  # what is said of GPUs depends on how PyTorch was built
    torch.set_warn_always(True)
    torch.distributions.Distribution.set_default_validate_args(True)  # torch.compile, in another test, takes it away
    try:
        texts = [(program, transcript(torch, program), printed) for program, printed in asked]
    finally:
        torch.set_warn_always(False)
    assert [(program, text) for program, text, printed in texts if text != printed and not is_near(text, printed)] == []
