"""A script's own errors: file, line, caret and message, without gviz's frames."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripts import HEAD, Folder, roots, texts

from gviz.errors import SourceError
from gviz.sources.script import torch_names
from gviz.sources.script.failure import RUNS
from gviz.sources.script.missing import of_module, of_script


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    monkeypatch.chdir(tmp_path)
    return Folder(Path())


def refusal(folder: Folder, text: str, **options: object) -> str:
    """The report of a script that is refused."""
    with pytest.raises(SourceError) as caught:
        folder.run(text, **options)  # type: ignore[arg-type]
    return str(caught.value)


def test_an_error_has_its_file_line_and_caret(folder: Folder) -> None:
    reading = folder.run(HEAD + "y = x * 2\nif True:\n    z = y + [][3] + 1\n")
    assert reading.failed
    assert texts(reading, "error") == [
        "net.py:5: IndexError: list index out of range\n  z = y + [][3] + 1\n          ^^^^^"
    ]
    assert roots(reading) == ["y"]


def test_the_error_comes_before_the_root(folder: Folder) -> None:
    reading = folder.run(HEAD + "y = x * 2\n1 / 0\n")
    assert [note.level for note in reading.notes if note.level != "dim"] == ["error", "note"]


def test_carets_are_right_beside_wide_characters(folder: Folder) -> None:
    reading = folder.run(HEAD + "y = x * 2\nd = {'数': 1}; z = d['数字']\n")
    (error,) = texts(reading, "error")
    assert error.split("\n")[1:] == ["  d = {'数': 1}; z = d['数字']", "                     ^^^^^^^^^"]


def test_an_error_in_another_file_names_it_and_the_line_that_called(folder: Folder) -> None:
    folder.write("layers.py", "def f(x):\n    return x.no_such\n")
    reading = folder.run(HEAD + "from layers import f\ny = x * 2\nf(3)\n")
    assert texts(reading, "error") == [
        (
            "layers.py:2: AttributeError: 'int' object has no attribute 'no_such'\n"
            "  return x.no_such\n         ^^^^^^^^^\ncalled from net.py:5"
        )
    ]


def test_an_error_in_a_library_is_shown_at_the_line_that_called_it(folder: Folder) -> None:
    reading = folder.run(HEAD + "import json\ny = x * 2\njson.loads('{')\n")
    (error,) = texts(reading, "error")
    assert error.startswith("net.py:5: json.decoder.JSONDecodeError: Expecting property name")
    assert "\n  json.loads('{')\n" in error


def test_an_error_of_the_engine_has_pytorchs_text_and_the_scripts_line(folder: Folder) -> None:
    report = refusal(folder, "import torch\nx = torch.ones(2)\nx.backward()\n")
    assert report.split("\n")[:2] == [
        "net.py:3: RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn",
        "  x.backward()",
    ]


def test_the_scripts_own_exception_classes_are_named_as_it_names_them(folder: Folder) -> None:
    reading = folder.run(HEAD + "y = x * 2\nclass Stop(Exception): pass\nraise Stop\n")
    (error,) = texts(reading, "error")
    assert error.startswith("net.py:5: Stop\n  raise Stop\n")


def test_notes_added_to_an_exception_are_shown(folder: Folder) -> None:
    reading = folder.run(HEAD + "y = x * 2\nerror = ValueError('bad')\nerror.add_note('because of it')\nraise error\n")
    (error,) = texts(reading, "error")
    assert error.startswith("net.py:6: ValueError: bad\nbecause of it\n")


def test_an_exception_that_cannot_be_shown_is_still_shown(folder: Folder) -> None:
    text = HEAD + "y = x * 2\nclass Odd(Exception):\n    def __str__(self): raise KeyError\nraise Odd\n"
    (error,) = texts(folder.run(text), "error")
    assert error.startswith("net.py:6: Odd: <its text cannot be shown: KeyError>")


def test_on_error_stop_draws_nothing(folder: Folder) -> None:
    report = refusal(folder, HEAD + "y = x * 2\n1 / 0\n", on_error="stop")
    assert report == "net.py:4: ZeroDivisionError: division by zero\n  1 / 0\n  ^^^^^"


def test_without_a_graph_the_scripts_error_is_the_answer(folder: Folder) -> None:
    assert refusal(folder, "1 / 0\n") == "net.py:1: ZeroDivisionError: division by zero\n  1 / 0\n  ^^^^^"


def test_a_root_that_the_script_did_not_come_to_is_answered_with_its_error(folder: Folder) -> None:
    assert "ZeroDivisionError" in refusal(folder, HEAD + "y = x * 2\n1 / 0\nz = y * 2\n", roots=("z",))


def test_a_table_is_shown_as_far_as_the_script_came(folder: Folder) -> None:
    reading = folder.run("import torch\nx = torch.tensor(2.0)\n1 / 0\n", rootless=True)
    assert reading.failed
    assert [row.name for row in reading.graph.tensors] == ["x"]


@pytest.mark.parametrize(
    ("code", "what"),
    [
        ("3", "exit status 3"),
        ("'no data'", "no data"),
        ("True", "exit status 1"),
        ("0.0", "0.0"),
        ("torch.ones(2)", "tensor([1., 1.])"),
        ("torch.zeros(1)", "tensor([0.])"),
        ("type('T', (), {'__eq__': lambda *a: 1 / 0})()", "<__main__.T object at"),
    ],
)
def test_leaving_with_an_error_status_is_a_failure(folder: Folder, code: str, what: str) -> None:
    reading = folder.run("import sys\n" + HEAD + f"y = x * 2\nsys.exit({code})\n")
    assert reading.failed
    assert texts(reading, "error")[0].startswith(f"net.py:5: the script ended itself with {what}")


def test_endless_recursion_in_a_script_is_its_own_error(folder: Folder) -> None:
    reading = folder.run(HEAD + "y = x * 2\ndef f(): return f()\nf()\n")
    (error,) = texts(reading, "error")
    assert error.startswith("net.py:4: RecursionError: maximum recursion depth exceeded")


@pytest.mark.parametrize(
    ("text", "report"),
    [
        ("y = (x *\nz = 3\n", "net.py:3: SyntaxError: '(' was never closed\n  y = (x *\n      ^"),
        ("return x\n", "net.py:3: SyntaxError: 'return' outside function\n  return x\n  ^^^^^^^^"),
    ],
)
def test_what_the_parser_or_only_the_compiler_refuses_gets_its_caret(folder: Folder, text: str, report: str) -> None:
    assert refusal(folder, HEAD + text) == report


def test_a_neighbour_that_is_no_python_is_shown_where_it_is_wrong(folder: Folder) -> None:
    folder.write("layers.py", "def f(:\n")
    report = refusal(folder, "import torch\nimport layers\n")
    assert report == "layers.py:1: SyntaxError: invalid syntax\n  def f(:\n        ^\ncalled from net.py:2"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("import torch.no_such_part", "ModuleNotFoundError: No module named 'torch.no_such_part'"),
        ("from torch import no_such_thing", "ImportError: cannot import name 'no_such_thing' from 'torch'"),
        ("torch.no_such_thing(1)", "AttributeError: module 'torch' has no attribute 'no_such_thing'"),
    ],
)
def test_what_the_engine_lacks_is_said_in_pytorchs_words(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, line: str, message: str
) -> None:
    monkeypatch.setattr(torch_names, "has_torch", lambda: False)
    report = refusal(folder, f"import torch\n{line}\n", engine="gviz")
    name = line.removeprefix("import ") if line.startswith("import") else "torch.no_such_thing"
    assert report.partition("\n")[0] == f"net.py:2: {message}"
    mend = f"{RUNS} {torch_names.install_command('torch')}"
    assert report.rpartition("\n")[2] == f"{name} is not in gviz's engine; if PyTorch has it, {mend}"
    assert "gviz.engine" not in report


@pytest.mark.parametrize(
    ("line", "lacking"),
    [
        ("torch.optim.SGD([x]).no_such_thing", "torch.optim.SGD.no_such_thing"),
        ("torch.utils.data.DataLoader([1]).no_such_thing", "torch.utils.data.DataLoader.no_such_thing"),
        (
            "torch.distributions.Categorical(x.exp()[None]).no_such_thing",
            "torch.distributions.Categorical.no_such_thing",
        ),
        ("torch.autograd.graph.save_on_cpu().no_such_thing", "torch.autograd.graph.save_on_cpu().no_such_thing"),
    ],
)
def test_what_an_object_lacks_is_named_as_pytorch_names_it(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, line: str, lacking: str
) -> None:
    monkeypatch.setattr(torch_names, "has_torch", lambda: True)
    report = refusal(folder, f"{HEAD}{line}\n", engine="gviz")
    assert (
        report.rpartition("\n")[2] == f"{lacking} is not in gviz's engine; if PyTorch has it, run with --engine torch"
    )
    assert of_script(str(folder.path / "net.py")) == []  # which is not promised, then


@pytest.mark.parametrize("name", ["i0", "_cdata", "volatile"])
def test_what_the_engine_s_tensors_lack_and_dir_shows_is_said_to_be_pytorch_s(folder: Folder, name: str) -> None:
    report = refusal(folder, f"import torch\ntorch.ones(2).{name}\n", engine="gviz")
    assert f"\ntorch.Tensor.{name} is not in gviz's engine; {RUNS}" in report


@pytest.mark.parametrize("text", ["trace(lambda x: 2 * x, torch.ones(2)).graph", "script(torch.nn.Linear(2, 2)).code"])
def test_what_torch_jit_would_have_compiled_is_said_with_the_way_to_it(folder: Folder, text: str) -> None:
    report = refusal(folder, f"import torch\ntorch.jit.{text}\n", engine="gviz")
    name = text.rpartition(".")[2]
    assert f"\n.{name} is what torch.jit has compiled, and gviz compiles nothing; run with --engine torch" in report


@pytest.mark.parametrize("name", ["torch.linalg.no_such_thing", "torch.optim.NoSuchThing"])
def test_of_a_name_that_pytorch_may_lack_it_is_not_said_that_pytorch_runs_it(folder: Folder, name: str) -> None:
    report = refusal(folder, f"import torch\n{name}\n", engine="gviz")
    assert f"{name} is not in gviz's engine; if PyTorch has it, " in report


def test_tensorboard_and_what_stands_in_the_engine_itself_say_how_to_go_on(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch_names, "has_torch", lambda: False)
    report = refusal(folder, "from torch.utils.tensorboard import SummaryWriter\n", engine="gviz")
    assert report.rpartition("\n")[2] == (
        "torch.utils.tensorboard is not in gviz's engine: it writes logs, of which no graph comes, so take it out; "
        f"{RUNS} {torch_names.install_command('torch tensorboard')}"
    )
    report = refusal(folder, "import torch\ntorch.tensor([1 + 2j], requires_grad=True).abs()\n", engine="gviz")
    assert report.rpartition("\n")[2] == f"for PyTorch beside gviz: {torch_names.install_command('torch')}"


def test_a_missing_method_is_said_in_pytorchs_words(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_names, "has_torch", lambda: True)
    (lacking, other, *_) = of_module("torch.Tensor")
    method = lacking.rpartition(".")[2]
    reading = folder.run(HEAD + f"y = x * 2\ny.{method}()\ny.{other.rpartition('.')[2]}()\n", engine="gviz")
    (error,) = texts(reading, "error")
    assert error == (
        f"net.py:4: AttributeError: 'Tensor' object has no attribute '{method}'\n"
        f"  y.{method}()\n  {'^' * len('y.' + method)}\n"
        f"{lacking} is not in gviz's engine; run with --engine torch\n"
        "all that it lacks: gviz ops --missing net.py"
    )


@pytest.mark.parametrize(
    ("call", "hint"),
    [
        ("y.backwrd()", "did you mean backward?"),
        ("torch.sigmoyd(y)", "did you mean sigmoid?"),
        ("torch.nn.Parameter(y).backwrd()", "did you mean backward?"),
        ("torch.nn.Liner(1, 1)", "did you mean Linear?"),
        ("torch.nn.Linear(1, 1).paramters()", "did you mean parameters?"),
        ("y.no_such_method()", "PyTorch 2.13 has no torch.Tensor.no_such_method either"),
    ],
)
def test_a_name_that_pytorch_lacks_too_is_a_typo(folder: Folder, call: str, hint: str) -> None:
    reading = folder.run(HEAD + f"y = x * 2\n{call}\n", engine="gviz")
    assert texts(reading, "error")[0].rpartition("\n")[2] == hint


def test_a_missing_attribute_of_the_scripts_own_objects_is_not_the_engines(folder: Folder) -> None:
    reading = folder.run(HEAD + "y = x * 2\nclass Tensor: pass\nTensor().foo\n", engine="gviz")
    assert "gviz" not in texts(reading, "error")[0]


@pytest.mark.parametrize("mistake", ["y.sum.backward()", "y.size[0]", "y.mean * 2", "float(y.sum)", "torch.exp(y.sum)"])
def test_forgotten_brackets_are_recognised(folder: Folder, mistake: str) -> None:
    reading = folder.run(HEAD + f"y = x * 2\n{mistake}\n")
    assert "are its brackets missing? x.sum is the function, x.sum() what it gives" in texts(reading, "error")[0]


def test_superfluous_brackets_lack_none(folder: Folder) -> None:
    reading = folder.run(HEAD + "y = x * 2\ny.shape()\n")
    assert texts(reading, "error")[0].partition("\n")[0].endswith("TypeError: 'Size' object is not callable")
    assert "brackets" not in texts(reading, "error")[0]


def test_a_misspelt_name_of_the_script_is_recognised(folder: Folder) -> None:
    reading = folder.run(HEAD + "total = x * 2\nprint(totl)\n")
    assert texts(reading, "error")[0].endswith("\ndid you mean total?")


def test_a_forgotten_import_of_torch_is_recognised(folder: Folder) -> None:
    report = refusal(folder, "x = torch.tensor(1.0)\n")
    assert (
        report
        == "net.py:1: NameError: name 'torch' is not defined\n  x = torch.tensor(1.0)\n      ^^^^^\nwrite `import torch` first"
    )


def test_what_static_graphs_lack_is_said_without_a_folder_of_gviz_s(folder: Folder) -> None:
    report = refusal(folder, "from tensorflow import keras\n")
    assert report.partition("\n")[0] == "net.py:1: ImportError: cannot import name 'keras' from 'tensorflow'"


def test_an_error_of_gviz_itself_in_a_script_keeps_its_words(folder: Folder) -> None:
    text = HEAD + "import gviz\ny = x * 2\ngviz.save(gviz.graph(y), '')\n"
    error = texts(folder.run(text), "error")[0].splitlines()
    assert error[:2] == [
        "net.py:5: the file's name has no suffix that tells the format",
        "  gviz.save(gviz.graph(y), '')",
    ]
    assert error[-1].startswith("end it in one of ")


ODD_ERRORS = {
    "a text that exits": "class E(Exception):\n    def __str__(self): raise SystemExit(0)\nraise E",
    "a text that interrupts": "class E(Exception):\n    def __str__(self): raise KeyboardInterrupt\nraise E",
    "a short place": "raise SyntaxError('a', (1, 2, 3, 4))",
    "no text as file": "e = SyntaxError('a'); e.filename = 5; e.text = 7; raise e",
    "gviz's own": "from gviz.errors import GvizError\nraise GvizError(5, place=7)",
}


@pytest.mark.parametrize("script", ODD_ERRORS.values(), ids=ODD_ERRORS)
def test_an_odd_exception_is_the_scripts_and_the_graph_is_drawn(folder: Folder, script: str) -> None:
    reading = folder.run(HEAD + "y = x * 2\n" + script + "\n")
    assert reading.failed
    assert roots(reading) == ["y"]
    (error,) = texts(reading, "error")
    assert error.startswith(f"net.py:{3 + len(script.splitlines())}: ")


@pytest.mark.parametrize(
    "script", ["raise BrokenPipeError('mine')", "import os\nr, w = os.pipe(); os.close(r); os.write(w, b'x')"]
)
def test_a_broken_pipe_of_the_scripts_own_is_its_error(folder: Folder, script: str) -> None:
    reading = folder.run(HEAD + "y = x * 2\n" + script + "\n")
    assert reading.failed
    assert "BrokenPipeError" in texts(reading, "error")[0]


def test_an_error_is_said_before_threads_are_waited_for(folder: Folder) -> None:
    script = "import threading, time\nthreading.Thread(target=time.sleep, args=(0.05,)).start()\n1 / 0\n"
    reading = folder.run(HEAD + "y = x * 2\n" + script)
    expected = "net.py:6: ZeroDivisionError: division by zero; waiting for the threads that it started"
    assert texts(reading, "warning") == [expected]


def test_a_long_error_is_cut(folder: Folder) -> None:
    with pytest.raises(SourceError) as caught:
        folder.run("raise ValueError('z' * 5000)")
    assert "... (5,000 characters in all)" in caught.value.what
    assert len(caught.value.what) < 2100


EAGER = "that is TensorFlow 2's eager mode; gviz has TensorFlow 1's graph mode (placeholder, Session). In PyTorch: "


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("z = torch.tensor(2.0, require_grad=True)\n", "did you mean requires_grad?"),
        ("z = torch.nn.Linear(2, 3, bais=False)\n", "did you mean bias?"),
        ("y.backwrd()\n", "did you mean backward?"),
        ("with torch.no_grad:\n    pass\n", "write its brackets: with torch.no_grad():"),
        ("net = torch.nn.Linear(2, 3)\nnet.wieght\n", "did you mean weight?"),
        ("class Net(torch.nn.Module):\n    hidden = 1\nNet().hiden\n", "did you mean hidden?"),
        (
            "import tensorflow as tf\ntf.GradientTape()\n",
            f"{EAGER}y.backward(), then x.grad",
        ),
        ("from tensorflow import keras\n", "that is TensorFlow 2's eager mode"),
        ("import tensorflow.keras\n", f"{EAGER}torch.nn.Sequential("),
        (
            "import tensorflow as tf\ntf.constant(1.0).numpy()\n",
            "a tensor of a graph has no value until a session runs it: sess.run(x); in PyTorch: x.detach().numpy()",
        ),
        (
            "import tensorflow as tf\ntf.enable_eager_execution()\n",
            f"{EAGER}import torch, which is eager from the start",
        ),
        (
            "import tensorflow as tf\ntf.train.FtrlOptimizer(0.1)\n",
            "gviz's part of TensorFlow 1 has no tf.train.FtrlOptimizer: docs/static.md says what it has",
        ),
        ("import tensorflow as tf\ntf.contrib.rnn\n", "gviz's part of TensorFlow 1 has no tf.contrib.rnn"),
        ("import tensorflow as tf\ntf.placehoder()\n", "did you mean placeholder?"),
        ("import nunpy\n", "did you mean numpy?"),
        (
            "import cv2\n",
            f"install it where gviz is, or take the import out:\n{torch_names.install_command('opencv-python')}",
        ),
        (
            "import torchmetrics\n",
            "it is built on PyTorch, which comes with it and runs the script; install it where gviz is",
        ),
    ],
)
def test_what_is_mistyped_gets_the_name_that_was_meant(folder: Folder, text: str, hint: str) -> None:
    (error,) = texts(folder.run(HEAD + "y = x * 2\n" + text, engine="gviz"), "error")
    assert f"\n{hint}" in error
    assert "--engine torch" not in error


@pytest.mark.parametrize(
    "use",
    [
        "torch.nn.AdaptiveMaxPool3d(2)",
        "import torch.distributed.rpc",
        "torch.quantization.prepare",
        "torch.distributed.init_process_group('gloo')",
        "import torch.nn.quantized",
        "import torch.nested",
        "from torch.func import linearize",
        "from functorch import make_fx",
        "import functorch.experimental",
    ],
)
def test_a_part_that_only_pytorch_has_is_said_with_the_way_to_it(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, use: str
) -> None:
    monkeypatch.setattr(torch_names, "has_torch", lambda: False)
    (error,) = texts(folder.run(f"{HEAD}y = x * 2\n{use}\n", engine="gviz"), "error")
    assert error.endswith(f" is not in gviz's engine; {RUNS} {torch_names.install_command('torch')}")


@pytest.mark.parametrize(
    ("prefix", "command"),
    [
        ("/home/a/.local/pipx/venvs/gviz", "pipx inject gviz torch"),
        ("/home/a/.local/share/uv/tools/gviz", "uv tool install --with torch gviz"),
        ("/usr", "'/my env/bin/python' -m pip install torch"),
    ],
)
def test_a_package_goes_into_gvizs_own_environment(monkeypatch: pytest.MonkeyPatch, prefix: str, command: str) -> None:
    monkeypatch.setattr("sys.prefix", prefix)
    monkeypatch.setattr("sys.executable", "/my env/bin/python")
    assert torch_names.install_command("torch") == command
