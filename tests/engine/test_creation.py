"""The old constructors, and what they are told that they do not take."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gviz import engine
from gviz.cli import main

torch: Any = engine
FORMS = """ * (*, torch.device device = None)
 * (torch.Storage storage)
 * (Tensor other)
 * (tuple of ints size, *, torch.device device = None)
 * (object data, *, torch.device device = None)
"""


@pytest.mark.parametrize("kind", ["Tensor", "FloatTensor", "LongTensor"])
def test_an_old_constructor_refuses_what_it_does_not_take_in_pytorchs_words(kind: str) -> None:
    make: Callable[..., Any] = getattr(torch, kind)
    calls: tuple[tuple[Callable[[], Any], str], ...] = (
        (lambda: make([1.0], requires_grad=True), "list, requires_grad=bool"),
        (lambda: make(2, 3, dtype=torch.float64), "int, int, dtype=torch.dtype"),
        (lambda: make(requires_grad=True), "requires_grad=bool, "),
        (lambda: make([1], [2]), "list, list"),
        (lambda: torch.ones(2).new([1.0], requires_grad=True), "list, requires_grad=bool"),
    )
    for call, got in calls:
        with pytest.raises(TypeError) as raised:
            call()
        start = f"new() received an invalid combination of arguments - got ({got}), but expected one of:\n"
        assert str(raised.value) == start + FORMS


def test_an_old_constructor_takes_its_keywords() -> None:
    assert torch.Tensor(data=[1.0], device="cpu").tolist() == torch.FloatTensor(data=[1.0]).tolist() == [1.0]
    with pytest.raises(RuntimeError, match="expects device type: cpu but device type: cuda was passed"):
        torch.Tensor(2, device="cuda:0")


def test_the_hint_beside_an_old_constructor_names_the_new_one(tmp_path: Path) -> None:
    script = tmp_path / "old.py"
    for line, hint in (
        (
            "import torch\nx = torch.Tensor([1.0], requires_grad=True)",
            "torch.tensor, with a small t, takes requires_grad=",
        ),
        ("def f(): pass\nf(requires_grad=True)", ""),
    ):
        script.write_text(line, encoding="utf-8")
        result = CliRunner().invoke(main, ["run", str(script)])
        assert hint in result.output
        assert "did you mean requires_grad" not in result.output
