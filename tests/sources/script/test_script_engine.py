"""Which engine runs a script: gviz's own where it has every name that the script uses, else PyTorch where it is installed."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from scripts import HEAD, Folder, roots, texts

from gviz.errors import MissingError, SourceError
from gviz.sources import Note
from gviz.sources.script import torch_names
from gviz.sources.script.process import engine_module
from gviz.sources.script.torch_names import choose, install_command, lacking_part, used_names

NO_TORCH = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def names(text: str) -> list[str]:
    return list(dict.fromkeys(name for name, _ in used_names(ast.parse(text))))


def chosen(text: str, wanted: str = "auto", folder: str = "") -> tuple[str, Note | None]:
    return choose(ast.parse(text), folder, wanted)


@pytest.fixture
def torch_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_names, "has_torch", lambda: True)


@pytest.fixture
def torch_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_names, "has_torch", lambda: False)


@pytest.mark.parametrize("is_there", [True, False])
def test_pytorch_is_installed_though_a_script_runs_on_gvizs_engine(
    monkeypatch: pytest.MonkeyPatch, is_there: bool
) -> None:
    monkeypatch.setitem(sys.modules, "torch", engine_module("torch"))
    monkeypatch.setattr("importlib.machinery.PathFinder.find_spec", lambda _: object() if is_there else None)
    assert torch_names.has_torch() == is_there


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import torch\ntorch.fft.rfft(x)", ["torch.fft", "torch.fft.rfft"]),
        ("import torch as t\nt.ones(2)", ["torch.ones"]),
        ("import torch.nn as nn\nnn.Linear(1, 2)", ["torch.nn", "torch.nn.Linear"]),
        (
            "import torch.nn.functional\ntorch.nn.functional.relu(x)",
            ["torch.nn.functional", "torch.nn", "torch.nn.functional.relu"],
        ),
        ("from torch import nn, tensor as T\nnn.ReLU()", ["torch.nn", "torch.tensor", "torch.nn.ReLU"]),
        (
            "from torch.nn import functional as F\nF.relu(x)",
            ["torch.nn", "torch.nn.functional", "torch.nn.functional.relu"],
        ),
        ("import torch\nnn = torch.nn\nnn.Linear", ["torch.nn", "torch.nn.Linear"]),
        ("import torch\ntorch.ones(2).foo()", ["torch.Tensor.foo", "torch.ones"]),
        ("import torchvision.models", ["torchvision.models", "torchvision"]),
        ("from torch import *", []),
        ("import numpy as np\nnp.fft.fft(x)", []),
        ("x.foo.bar()", []),
        ("from . import torch\nfrom .torch import fft", []),
    ],
)
def test_names_of_torch_are_found_in_the_text(text: str, found: list[str]) -> None:
    assert sorted(names(text)) == sorted(found)


def test_names_inside_functions_and_classes_count() -> None:
    assert names("def f():\n    import torch\n    return torch.fft.rfft\n")[-1] == "torch.fft.rfft"


def test_gvizs_engine_runs_what_it_has_every_name_of() -> None:
    assert chosen("import torch\ntorch.tensor(1.0).backward()\n") == ("gviz", chosen("")[1])
    note = chosen("")[1]
    assert note is not None
    assert (note.text, note.level) == ("engine: gviz's own", "dim")


@pytest.mark.usefixtures("torch_is_installed")
def test_pytorch_runs_what_gvizs_engine_lacks() -> None:
    engine, note = chosen("import torch\ntorch.no_such_thing.at_all(x)\n")
    assert engine == "torch"
    assert note is not None
    assert note.text == "engine: PyTorch (gviz's own has no torch.no_such_thing)"


@pytest.mark.usefixtures("torch_is_not_installed")
def test_without_pytorch_gvizs_engine_runs_it_as_far_as_it_goes(folder: Folder) -> None:
    reading = folder.run(HEAD + "y = x * 2\ntorch.no_such_thing(y)\n")
    assert texts(reading, "dim") == ["engine: gviz's own (it has no torch.no_such_thing, and PyTorch is not installed)"]
    mend = f"if PyTorch has it, --engine torch runs it, with PyTorch beside gviz: {install_command('torch')}"
    assert texts(reading, "error")[0].endswith(f"\ntorch.no_such_thing is not in gviz's engine; {mend}")
    assert roots(reading) == ["y"]


@pytest.mark.usefixtures("torch_is_installed")
def test_many_missing_names_are_counted() -> None:
    note = chosen("import torch\n" + "".join(f"torch.no_{i}()\n" for i in range(5)))[1]
    assert note is not None
    assert note.text == "engine: PyTorch (gviz's own has no torch.no_0, torch.no_1, torch.no_2 and 2 more)"


@pytest.mark.usefixtures("torch_is_installed")
def test_a_package_built_on_torch_needs_pytorch() -> None:
    assert chosen("import torchvision\n")[0] == "torch"


@pytest.mark.usefixtures("torch_is_installed")
def test_neighbours_are_looked_into(folder: Folder) -> None:
    folder.write("layers.py", "import other\n")
    folder.write("other.py", "import torch\ntorch.no_such_thing\n")
    assert chosen("import layers\n", folder=str(folder.path))[0] == "torch"
    assert chosen("x = 1\n", folder=str(folder.path))[0] == "gviz"


@pytest.mark.usefixtures("torch_is_installed")
def test_an_engine_that_is_asked_for_is_taken() -> None:
    assert chosen("import torch\ntorch.no_such_thing\n", "gviz") == ("gviz", None)
    assert chosen("x = 1", "torch") == ("torch", None)


@pytest.mark.usefixtures("torch_is_not_installed")
def test_pytorch_that_is_not_installed_is_said_to_be_missing(folder: Folder) -> None:
    with pytest.raises(MissingError) as caught:
        folder.run(HEAD, engine="torch")
    assert str(caught.value) == f"PyTorch is not installed here\n{install_command('torch')}, or run with --engine gviz"
    with pytest.raises(MissingError) as caught:
        folder.run("import torch\ntorch.no_such_thing(1)\n", engine="torch")
    assert caught.value.hint == install_command("torch")


def test_an_unknown_engine_is_refused(folder: Folder) -> None:
    with pytest.raises(SourceError, match="there is no engine 'jax'"):
        folder.run(HEAD, engine="jax")


def test_what_the_engine_lacks_is_named_down_to_the_part_that_is_missing() -> None:
    assert lacking_part("torch.tensor") is lacking_part("torch.autograd.function.Function") is None
    for name in ("torch.autograd.no_such", "torch.Tensor.no_such"):
        assert lacking_part(f"{name}.more") == name


def test_an_internal_module_of_the_engine_cannot_be_imported_as_torchs(folder: Folder) -> None:
    with pytest.raises(SourceError, match=r"No module named 'torch\.op'"):
        folder.run("import torch.op\n", engine="gviz")


@NO_TORCH
@pytest.mark.torch
def test_the_real_torch_runs_a_script_and_gviz_draws_it(folder: Folder) -> None:
    text = (
        "import torch, sys\nassert not torch.__name__.startswith('gviz')\n"
        + HEAD
        + "y = torch.fft.rfft(x * torch.ones(4)).abs().sum()\ny.backward()\n"
    )
    reading = folder.run(text, engine="torch")
    assert not reading.failed, reading.notes
    assert roots(reading) == ["y"]
    assert {node.label for node in reading.graph.nodes} >= {"FftR2CBackward0", "AccumulateGrad"}


@NO_TORCH
@pytest.mark.torch
def test_a_transform_of_the_real_torch_runs_while_gviz_reads(folder: Folder) -> None:
    text = HEAD + "print(torch.func.jacfwd(torch.sin)(torch.ones(2)))\ny = x * 2\ny.backward()\n"
    reading = folder.run(text, engine="torch")
    assert not reading.failed, reading.notes
    assert roots(reading) == ["y"]


@pytest.mark.torch
def test_a_script_on_gvizs_engine_after_one_on_torch_gets_gvizs(folder: Folder) -> None:
    folder.run(HEAD + "y = x * 2\n", engine="torch")
    folder.run("import torch\nassert torch.__name__ == 'gviz.engine'\n" + HEAD + "y = x * 2\n", engine="gviz")
    assert sys.modules["torch"].__name__ == "torch"


@pytest.mark.parametrize("engine", ["gviz", pytest.param("torch", marks=pytest.mark.torch)])
def test_static_graphs_are_loaded_for_a_script_that_uses_them_alone(tmp_path: Path, engine: str) -> None:
    if engine == "torch":
        pytest.importorskip("torch")
    (tmp_path / "net.py").write_text(
        "import torch\nw = torch.ones(2, requires_grad=True)\n"
        "torch.optim.SGD([w], lr=0.1)\ny = (w * w).sum()\ny.backward()\n"
    )
    read = f"import sys, gviz; gviz.read('net.py', gviz.SourceOptions(engine={engine!r}, diagnose=True))"
    loaded = "print([name for name in sys.modules if name.startswith('gviz.static')])"
    command = [sys.executable, "-c", f"{read}; {loaded}"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
