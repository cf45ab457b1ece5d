"""Files of torch.save: PyTorch's are read here, ours there; nothing in them is called that is not in the table."""

from __future__ import annotations

import io
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gviz import engine

RECORDED = Path(__file__).parent.parent / "recorded" / "checkpoint-torch-2.13.pt"
"""Written by PyTorch 2.13: tensors that share memory, a model's state and an optimizer's."""


def archive(text: bytes, **memory: bytes) -> io.BytesIO:
    """A file of torch.save with this pickle, and this memory of tensors."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as made:
        for name, data in {"data.pkl": text, **{f"data/{key}": one for key, one in memory.items()}}.items():
            made.writestr(f"archive/{name}", data)
    whole.seek(0)
    return whole


def tensor_pickle(shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> bytes:
    """The pickle of one tensor, of memory that is called 0."""

    def tuple_of(numbers: tuple[int, ...]) -> bytes:
        return b"(" + b"".join(b"I%d\n" % n for n in numbers) + b"t"

    storage = b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x02\x00\x00\x00k0X\x03\x00\x00\x00cpuK\x04tQ"
    rest = b"I%d\n" % offset + tuple_of(shape) + tuple_of(strides) + b"\x89N"
    return b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(" + storage + rest + b"tR."


def build(torch: Any) -> dict[str, Any]:
    """What is saved: views on one memory, types, a model and an optimizer after a step."""
    torch.manual_seed(0)
    x = torch.arange(6.0).reshape(2, 3)
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    optimizer = torch.optim.Adam(net.parameters())
    net(torch.tensor([[1.0, 2.0], [0.0, 4.0]])).sum().backward()
    optimizer.step()
    return {
        "x": x, "rows": x[1:], "turned": x.t(), "shape": x.shape, "kind": torch.float32, "device": torch.device("cpu"),
        "half": torch.ones(1).half(), "flags": torch.tensor([True]), "epoch": 3, "model": net.state_dict(),
        "optimizer": optimizer.state_dict(), "parameter": torch.nn.Parameter(torch.ones(2)),
    }  # fmt: skip


def check(torch: Any, file: Path) -> None:
    """Load a file of the other engine's, and compare it with what this one makes itself."""
    found, made = torch.load(file), build(torch)
    assert found.keys() == made.keys()
    apart = ("model", "optimizer")  # bits of their numbers depend on the processor
    assert {k: str(v) for k, v in found.items() if k not in apart} == {
        k: str(v) for k, v in made.items() if k not in apart
    }
    for name, value in made["model"].items():
        assert torch.allclose(found["model"][name], value, atol=2e-3)
    found["x"][1, 2] = 100
    assert found["rows"][0, 2] == found["turned"][2, 1] == 100
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    net.load_state_dict(found["model"])
    optimizer = torch.optim.Adam(net.parameters(), lr=9.0)
    optimizer.load_state_dict(found["optimizer"])
    assert optimizer.param_groups[0]["lr"] == 0.001
    assert optimizer.state_dict()["state"][0]["step"] == 1


def test_a_checkpoint_of_pytorch_is_read() -> None:
    check(engine, RECORDED)


@pytest.mark.torch
def test_pytorch_reads_ours_and_we_its(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    engine.save(build(engine), tmp_path / "ours.pt")
    check(torch, tmp_path / "ours.pt")
    torch.save(build(torch), tmp_path / "its.pt")
    check(engine, tmp_path / "its.pt")
    engine.save(engine.nn.Sequential(engine.nn.Linear(2, 2), engine.nn.ReLU()), tmp_path / "whole.pt")
    whole = torch.load(tmp_path / "whole.pt", weights_only=False)
    assert whole(torch.ones(1, 2)).shape == (1, 2)
    torch.save(whole, tmp_path / "whole.pt")
    assert engine.load(tmp_path / "whole.pt", weights_only=False)(engine.ones(1, 2)).shape == (1, 2)


def test_the_same_object_makes_the_same_bytes(tmp_path: Path) -> None:
    first, second = io.BytesIO(), io.BytesIO()
    engine.save(build(engine), first)
    engine.save(build(engine), second)
    assert first.getvalue() == second.getvalue()


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "model.pt"
    engine.save([1], target)
    before = target.read_bytes()
    with pytest.raises((AttributeError, pickle.PicklingError)):
        engine.save([2, lambda: None], target)
    target.chmod(0o444)
    if not os.access(target, os.W_OK):  # root may write anywhere
        with pytest.raises(RuntimeError, match="read-only"):
            engine.save([3], target)
    assert target.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["model.pt"]


@pytest.mark.parametrize(
    "text",
    [
        b"cos\nsystem\n(S'exit 3'\ntR.",
        b"c__builtin__\neval\n(S'exit(3)'\ntR.",
        b"\x80\x04\x8c\x08builtins\x8c\x07getattr\x93.",
        b"ctorch.nn.modules.linear\nLinear\n)R.",
        b"cgviz.engine.copying\nrenewed\n(S'os'\nS'system'\ntR.",
        b"(S'exit 3'\nios\nsystem\n.",
    ],
)
def test_a_file_calls_nothing_that_is_not_in_the_table(text: bytes) -> None:
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        engine.load(archive(text))


@pytest.mark.parametrize(
    ("shape", "strides", "offset"),
    [((5,), (1,), 0), ((2,), (4,), 0), ((1,), (1,), 4), ((1,), (1,), -1), ((2,), (-1,), 1)],
)
def test_a_tensor_cannot_lie_outside_of_its_memory(
    shape: tuple[int, ...], strides: tuple[int, ...], offset: int
) -> None:
    inside = engine.load(archive(tensor_pickle((2, 2), (2, 1)), k0=np.arange(4, dtype="<f4").tobytes()))
    assert inside.tolist() == [[0, 1], [2, 3]]
    with pytest.raises(RuntimeError, match=r"setStorage.*out of bounds"):
        engine.load(archive(tensor_pickle(shape, strides, offset), k0=bytes(16)))


def test_what_is_no_such_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.pt").write_text("hello world")
    with pytest.raises(pickle.UnpicklingError, match=r"reads the zip archives that torch\.save writes"):
        engine.load(str(tmp_path / "a.pt"))
    with pytest.raises(
        pickle.UnpicklingError, match=r"no torch\.nn\.modules\.nothing\.Nothing to make what this file has"
    ):
        engine.load(archive(b"ctorch.nn.modules.nothing\nNothing\n."), weights_only=False)
