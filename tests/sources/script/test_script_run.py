"""A script runs as under ``python file.py``, and leaves the process as it was."""

from __future__ import annotations

import ast
import io
import os
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from types import CodeType
from unittest.mock import Mock

import pytest
from program import ROOT, Program
from scripts import HEAD, Folder, grad_of, roots, rows, texts, value_of

from gviz.errors import SourceError
from gviz.sources import SourceOptions, lines, read
from gviz.sources.arguments import CallSites, Texts
from gviz.sources.script.syntax import pieces
from gviz.walk import graph_nodes


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_the_arguments_are_the_scripts_own(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    before = sys.argv
    folder.run(HEAD + "import sys\nprint(sys.argv[1:])\ny = x * 2\n", argv=("--epochs", "3"))
    assert capsys.readouterr().out == "['--epochs', '3']\n"
    assert sys.argv is before


@pytest.mark.parametrize(("own", "seen"), [(None, "Agg"), ("module://mine", "module://mine")])
def test_matplotlib_opens_no_window_unless_the_user_wants_one(
    folder: Folder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, own: str | None, seen: str
) -> None:
    monkeypatch.delenv("MPLBACKEND", raising=False)
    if own:
        monkeypatch.setenv("MPLBACKEND", own)
    folder.run(HEAD + "import os\nprint(os.environ['MPLBACKEND'])\ny = x * 2\n")
    assert capsys.readouterr().out == f"{seen}\n"
    assert os.environ.get("MPLBACKEND") == own


def test_the_parts_of_torch_are_imported_from_where_pytorch_has_them(folder: Folder) -> None:
    text = """
        import torch, torch.utils.data, torch.distributions as D
        import torch.utils.data.dataset
        from torch.utils.data.sampler import SubsetRandomSampler
        from torch.utils.data.dataloader import DataLoader, default_collate
        from torch.utils.checkpoint import checkpoint
        from torch.distributions.normal import Normal
        from torch.distributions import Categorical, kl_divergence
        from torch.nn.utils import parametrize
        import torch.nn.utils.parametrize as P
        from torch.func import functional_call, grad
        from torch.serialization import load, save
        from torch.accelerator import is_available
        from torch.optim.optimizer import Optimizer
        import torch.optim.sgd
        from importlib.metadata import version
        assert version("torch") == torch.__version__
        class Squares(torch.utils.data.Dataset):
            def __len__(self): return 4
            def __getitem__(self, i): return torch.tensor([float(i)]), i * i
        (x, target), = DataLoader(Squares(), batch_size=4)
        net = torch.nn.Sequential(torch.nn.LazyLinear(3), torch.nn.ReLU(), torch.nn.LazyLinear(1))
        loss = torch.nn.functional.mse_loss(checkpoint(net, x, use_reentrant=False)[:, 0], target.float())
        loss.backward()
    """
    reading = folder.run(text, engine="gviz")
    assert texts(reading, "error") == []
    assert roots(reading) == ["loss"]
    assert [node.label for node in reading.graph.nodes if node.label.startswith("Addmm")] == ["AddmmBackward0"] * 2


def test_the_name_is_main_and_the_file_is_absolute(
    folder: Folder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = folder.write("net.py", HEAD + "if __name__ == '__main__':\n    y = x * 2\n    print(__file__)\n")
    monkeypatch.chdir(folder.path)
    reading = read("net.py")
    assert capsys.readouterr().out == f"{file}\n"
    assert roots(reading) == ["y"]


def test_main_is_the_script_while_it_runs(folder: Folder) -> None:
    before = sys.modules["__main__"]
    reading = folder.run(HEAD + "import __main__\ny = __main__.x * 3\n")
    assert roots(reading) == ["y"]
    assert sys.modules["__main__"] is before


def test_neighbours_are_imported_and_get_the_engine_too(folder: Folder) -> None:
    folder.write("layers.py", "import torch\ndef double(x):\n    return torch.relu(torch.mul(x, 2))\n")
    reading = folder.run(HEAD + "from layers import double\ny = double(x)\n")
    assert roots(reading) == ["y"]
    assert rows(reading)["y"].grad_fn == "ReluBackward0"
    assert "layers" not in sys.modules


def test_two_scripts_each_get_their_own_neighbour(folder: Folder) -> None:
    for number in (2, 3):
        folder.write(f"{number}/factor.py", f"FACTOR = {number}\n")
    text = HEAD + "import factor\ny = x * factor.FACTOR\n"
    values = [value_of(folder.run(text, name=f"{number}/net.py"), "y") for number in (2, 3)]
    assert values == [4, 6]


def test_a_neighbour_comes_before_a_module_that_is_loaded(folder: Folder) -> None:
    loaded = sys.modules["scripts"]
    folder.write("scripts.py", "FACTOR = 5\n")
    reading = folder.run(HEAD + "import scripts\ny = x * scripts.FACTOR\n")
    assert value_of(reading, "y") == 10
    assert sys.modules["scripts"] is loaded


def test_a_neighbouring_package_works(folder: Folder) -> None:
    folder.write("parts/__init__.py", "")
    folder.write("parts/one.py", "from torch import tensor\nONE = tensor(1)\n")
    reading = folder.run(HEAD + "from parts.one import ONE\ny = x + ONE\n")
    assert roots(reading) == ["y"]
    assert not [name for name in sys.modules if name.partition(".")[0] == "parts"]


def test_what_a_script_changes_is_put_back(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    before = (list(sys.path), sys.stdout, sys.stderr, os.getcwd(), sys.getrecursionlimit(), list(sys.meta_path))
    text = """
        import os, sys, torch, warnings
        x = torch.tensor(2.0, requires_grad=True)
        y = x * 2
        os.chdir('/')
        sys.path.insert(0, '/nowhere')
        sys.setrecursionlimit(5000)
        sys.stdout = sys.stderr = None
        sys.meta_path.clear()
        warnings.simplefilter('error')
        torch.set_grad_enabled(False)
        torch.set_printoptions(precision=2)
    """
    filters = list(warnings.filters)
    reading = folder.run(text)
    after = (list(sys.path), sys.stdout, sys.stderr, os.getcwd(), sys.getrecursionlimit(), list(sys.meta_path))
    assert roots(reading) == ["y"]
    assert after == before
    assert warnings.filters == filters
    assert roots(folder.run(HEAD + "y = x * 2\nprint(y / 8)\n")) == ["y"]  # gradients are on again
    assert capsys.readouterr().out.startswith("tensor(0.5000, ")


def test_a_script_may_delete_the_folder_it_is_run_from(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = folder.path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    assert roots(folder.run(HEAD + "import os\nos.chdir('..')\nos.rmdir('gone')\ny = x * 2\n")) == ["y"]


def test_torch_is_the_engine_only_while_a_script_runs(folder: Folder) -> None:
    before = {name: module for name, module in sys.modules.items() if name.partition(".")[0] in {"torch", "torchviz"}}
    folder.run("import torch.autograd\nfrom torch.autograd import Variable\n" + HEAD + "y = x * 2\n")
    after = {name: module for name, module in sys.modules.items() if name.partition(".")[0] in {"torch", "torchviz"}}
    assert after == before


@pytest.mark.parametrize(
    "line",
    [
        "import torch.autograd as autograd; y = x * 2; autograd.backward(y)",
        "from torch.autograd import Variable, grad; y = Variable(x, requires_grad=True) * 2",
        "from torch.autograd.function import Function; y = x * 2",
        "import torch.autograd.function; y = x * 2; assert torch.autograd.function.Function",
        "from torch import *; y = tensor(1.0) * x",
        "import torch.nn as nn; y = nn.ReLU()(x)",
        "import torch.nn.functional as F; y = F.relu(x)",
        "from torch.nn import functional as F; y = F.relu(x)",
        "from torch import nn; y = nn.functional.relu(x)",
        "import torch.nn.init; y = x * 2; torch.nn.init.ones_(torch.zeros(2))",
        "from torch import optim; y = x * 2; optim.SGD([x], lr=0.1)",
    ],
)
def test_the_usual_imports_work(folder: Folder, line: str) -> None:
    reading = folder.run(HEAD + line + "\n")
    assert not reading.failed, reading.notes
    assert roots(reading) == ["y"]


def test_a_script_may_delete_or_rename_torch(folder: Folder) -> None:
    assert roots(folder.run(HEAD + "y = x * 2\ndel torch\n")) == ["y"]
    assert roots(folder.run(HEAD + "y = x * 2\ntorch = None\nprint = len\n")) == ["y"]


def test_a_scripts_threads_are_waited_for(folder: Folder) -> None:
    text = """
        import threading, time, torch
        x = torch.tensor(2.0, requires_grad=True)
        def work():
            time.sleep(0.1)
            global y
            y = x * 2
        threading.Thread(target=work).start()
    """
    assert roots(folder.run(text)) == ["y"]


def test_a_script_may_be_the_first_to_import_threading(folder: Folder) -> None:
    file = folder.write("net.py", HEAD + "import threading\ny = x * 2\n")
    program = f"from gviz.sources import read; print(read({str(file)!r}).failed)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}  # pytest has imported it
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, env=environment)
    assert (done.stdout, done.stderr) == ("False\n", "")


def test_threads_of_the_program_that_uses_gviz_are_not_waited_for(folder: Folder) -> None:
    stop = threading.Event()
    mine = threading.Thread(target=stop.wait)
    mine.start()
    try:
        assert roots(folder.run(HEAD + "y = x * 2\n")) == ["y"]
    finally:
        stop.set()
        mine.join()


def test_make_dot_is_gvizs_when_a_script_asks_for_it(folder: Folder) -> None:
    imports = "import gviz, inspect, torchviz\nfrom torchviz import make_dot\n"
    same = "assert torchviz.make_dot is make_dot\nassert inspect.unwrap(make_dot) is gviz.make_dot\n"
    assert roots(folder.run(HEAD + imports + same + "y = x * 2\nmake_dot(y)\n")) == ["y"]
    assert "torchviz" not in sys.modules


def test_pickling_a_scripts_own_class_works(folder: Folder) -> None:
    text = """
        import pickle, torch
        from dataclasses import dataclass
        @dataclass
        class Point:
            at: int
        x = torch.tensor(2.0, requires_grad=True)
        y = x * pickle.loads(pickle.dumps(Point(3))).at
    """
    assert value_of(folder.run(text), "y") == 6


def test_inspect_finds_the_scripts_source(folder: Folder) -> None:
    text = (
        "import inspect\n" + HEAD + "def f(x):\n    return x * 2\ny = f(x) * len(inspect.getsource(f).splitlines())\n"
    )
    assert value_of(folder.run(text), "y") == 8


def test_a_warning_shows_the_line_of_the_script(folder: Folder) -> None:
    with warnings.catch_warnings(record=True) as caught:
        folder.run(HEAD + "y = x * 2\nimport warnings\nwarnings.warn('careful')\n")
    mine = [warning for warning in caught if str(warning.message) == "careful"]
    assert [(Path(warning.filename).name, warning.lineno) for warning in mine] == [("net.py", 5)]


def test_an_interrupt_passes_through_and_everything_is_put_back(folder: Folder) -> None:
    before = (list(sys.path), sys.modules["__main__"], "torch" in sys.modules)
    with pytest.raises(KeyboardInterrupt):
        folder.run(HEAD + "y = x * 2\nraise KeyboardInterrupt\n")
    assert (list(sys.path), sys.modules["__main__"], "torch" in sys.modules) == before


@pytest.mark.parametrize(
    "call", ["sys.exit()", "sys.exit(0)", "sys.exit(None)", "sys.exit(False)", "exit()", "quit(0)", "raise SystemExit"]
)
def test_leaving_early_without_an_error_is_a_normal_end(folder: Folder, call: str) -> None:
    reading = folder.run("import sys\n" + HEAD + f"y = x * 2\n{call}\nz = y * 3\n")
    assert not reading.failed
    assert roots(reading) == ["y"]


def test_options_of_expressions_are_named_as_unused(folder: Folder) -> None:
    reading = folder.run(
        HEAD + "y = x * 2\n",
        values={"x": "5", "n": 3},
        frozen=("x",),
        retain=("a", "b"),
        dtype="float64",
        backward=False,
        grad_output="ones",
    )
    assert value_of(reading, "x") == 2
    assert texts(reading, "warning") == [
        "x=5, n=3 not used: a script makes its own tensors; what follows -- is in its sys.argv",
        "--frozen x not used: write requires_grad=False where the script makes the tensor",
        "--dtype float64 not used: write dtype=torch.float64 or the like where the script makes its tensors",
        "--grad-output ones not used: write it in the brackets of the script's own backward(...)",
        "--no-backward not used: gviz runs no backward in a script; the script calls it, or does not",
        (
            "--retain a, b not used: where backward() is called, no tensor that requires a gradient has that name; call its "
            "retain_grad() where it is made"
        ),
    ]


def test_nothing_runs_backward_behind_a_scripts_back(folder: Folder) -> None:
    assert grad_of(folder.run(HEAD + "y = x * 2\n"), "x") is None


def test_notes_are_passed_on_as_they_come(folder: Folder) -> None:
    heard: list[str] = []
    file = folder.write("net.py", ">>> import torch\n>>> x = torch.ones(1, requires_grad=True)\n>>> y = x * 2\n")
    reading = read(str(file), say=lambda note: heard.append(note.text))
    assert heard == [note.text for note in reading.notes]


def test_an_empty_script_is_refused(folder: Folder) -> None:
    with pytest.raises(SourceError, match=r"net.py is empty: there is nothing to run"):
        folder.run("\n  \n")


def test_globals_may_be_anything(folder: Folder) -> None:
    text = """
        import numpy, torch
        class Hostile:
            def __getattr__(self, name): raise RuntimeError(name)
            def __eq__(self, other): raise RuntimeError
            def __iter__(self): raise RuntimeError
            def __len__(self): raise RuntimeError
            __hash__ = None
            @property
            def __class__(self): raise RuntimeError
            @property
            def shape(self): raise RuntimeError
        class Meta(type):
            def __instancecheck__(cls, other): raise RuntimeError
            def __getattribute__(cls, name): raise RuntimeError(name)
        class Odd(metaclass=Meta): pass
        class Key:
            def __repr__(self): raise RuntimeError
        x = torch.tensor(2.0, requires_grad=True)
        hostile, odd, array = Hostile(), Odd(), numpy.zeros(3)
        numbers = [0] * 1_000_000
        cycle = [x]
        cycle.append(cycle)
        globals()[1] = x
        table = {Key(): x, 'again': x}
        table['self'] = table
        y = x * 2
    """
    reading = folder.run(text)
    assert not reading.failed, reading.notes
    assert list(rows(reading)) == ["x", "cycle[0]", "table[<Key>]", "table['again']", "y"]


def test_a_long_list_costs_a_training_loop_nothing(folder: Folder) -> None:
    text = HEAD + "data = [0] * 1_000_000\nfor step in range(1000):\n    y = x * 2\n    y.backward()\n"
    reading = folder.run(text)  # copying the list at every backward would take a minute
    assert grad_of(reading, "x") == 2000


def test_a_script_on_standard_input_runs(capsys: pytest.CaptureFixture[str]) -> None:
    reading = read("-", SourceOptions(), stdin=io.StringIO(HEAD + "y = x * 2\nprint(y.item())\n"))
    assert roots(reading) == ["y"]
    assert capsys.readouterr().out == "4.0\n"


def test_the_syntax_of_a_script_is_walked_once(folder: Folder) -> None:
    pieces.cache_clear()
    folder.run(HEAD + "y = x * 2\n")
    assert pieces.cache_info().misses == 1
    assert pieces.cache_info().hits > 2


SPAWNS = """\
import multiprocessing, sys
import torch
def double(number):
    import __main__
    tensor = torch.tensor(number, requires_grad=True) * 2
    return tensor.item(), tensor.grad_fn.name(), __name__, sys.argv, type(sys.argv).__name__, __main__.__file__ == __file__
if __name__ == "__main__":
    with multiprocessing.get_context(METHOD).Pool(1) as pool:
        print(pool.map(double, [1.5]))
    x = torch.tensor(2.0, requires_grad=True)
    y = x * 2
"""


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_a_process_that_a_script_starts_runs_it_as_python_would_with_torch(gviz: Program, method: str) -> None:
    (gviz.folder / "net.py").write_text(SPAWNS.replace("METHOD", repr(method)), encoding="utf-8")
    done = gviz("run", "net.py", "--", "a")
    assert (done.status, done.err) == (0, "")
    assert done.out == "[(3.0, 'MulBackward0', '__mp_main__', ['net.py', 'a'], 'list', True)]\n"


@pytest.mark.parametrize(
    "harm",
    [
        "import builtins; builtins.len = builtins.isinstance = None",
        "import sys; sys.modules.clear()",
        "import sys; sys.modules['os'] = sys.modules['threading'] = None",
        "import sys; sys._getframe = sys.exit = None",
        "import os; os.getcwd = os.replace = os.environ = None",
        "import threading, time; threading.enumerate = time.time = None",
        "import threading, time; vars(threading).clear(); vars(time).clear()",
        "import sys; sys.modules = {}",
        "torch.Tensor = None",
        "vars(torch).clear()",
        "torch.Tensor.grad_fn = 5",
        "import numpy; vars(numpy).clear()",
    ],
)
def test_what_a_script_breaks_of_python_s_modules_is_named_and_put_back(gviz: Program, harm: str) -> None:
    (gviz.folder / "net.py").write_text(f"{HEAD}y = x * 2\n{harm}\n", encoding="utf-8")
    done = gviz("render", "net.py", "-o", "y.svg")
    assert (done.status, done.files()) == (0, ["net.py", "y.svg"])
    warning, _ = done.err.splitlines()
    names = ("len", "sys.modules", "sys._getframe", "os.getcwd", "time.", "torch.", "numpy.")
    assert warning.startswith("warning: the script has replaced what gviz and Python need: ")
    assert sum(name in warning for name in names) == 1


def test_the_error_of_a_script_that_has_broken_python_is_its_own(gviz: Program) -> None:
    harm = "import builtins\nbuiltins.isinstance = builtins.getattr = builtins.list = None\n1 / 0\n"
    (gviz.folder / "net.py").write_text(f"{HEAD}y = x * 2\n{harm}", encoding="utf-8")
    done = gviz("render", "net.py", "-o", "y.svg")
    assert (done.status, done.files()) == (1, ["net.py", "y.svg"])
    assert done.err.splitlines()[1].endswith("ZeroDivisionError: division by zero")
    assert "Traceback" not in done.err


def test_what_a_script_puts_in_the_place_of_a_function_that_works_is_put_back_in_silence(folder: Folder) -> None:
    before = os.getcwd, print
    reading = folder.run(HEAD + "import builtins, os\nos.getcwd = lambda: 1 / 0\nbuiltins.print = len\ny = x * 2\n")
    assert (os.getcwd, print) == before
    assert texts(reading, "warning") == []


def test_a_low_limit_of_recursion_ends_with_the_script(folder: Folder) -> None:
    limit = sys.getrecursionlimit()
    with pytest.raises(SourceError, match="ZeroDivisionError: division by zero"):
        folder.run("import sys\ndepth = len(__import__('inspect').stack())\nsys.setrecursionlimit(depth + 15)\n1 / 0\n")
    assert sys.getrecursionlimit() == limit


FILLS = """\
import resource
import torch
with open("/proc/self/statm") as file:
    used = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 100 * 2**20,) * 2)
x = torch.tensor(2.0, requires_grad=True)
y = x * 2
held = []
try:
    while True:
        held.append([0] * 10)
except MemoryError:
    while True:
        held = [held]
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="where a process cannot read its size")
@pytest.mark.parametrize("command", ["inspect", "run"])
def test_a_script_that_fills_the_memory_is_answered_in_words(gviz: Program, command: str) -> None:
    (gviz.folder / "net.py").write_text(FILLS, encoding="utf-8")
    gviz(command, "net.py").assert_refused("emory", files=("net.py",))


def test_a_view_whose_base_was_changed_in_place_does_not_cost_the_picture(folder: Folder) -> None:
    reading = folder.run(
        "import torch\nx = torch.ones(2, 2, requires_grad=True)\ny = x * 1\na, b = y.unbind(0)\ny.mul_(2)\nz = y.sum()\n"
    )
    assert roots(reading) == ["z"]
    assert list(rows(reading)) == ["x", "y", "z"]


@pytest.mark.parametrize(("hook", "error"), [("lambda v: 5", "TypeError"), ("lambda v: 1 / 0", "ZeroDivisionError")])
def test_a_hook_that_cannot_unpack_does_not_cost_the_picture(folder: Folder, hook: str, error: str) -> None:
    code = f"with torch.autograd.graph.saved_tensors_hooks(lambda t: t, {hook}):\n    y = x * x\n"
    graph = folder.run(HEAD + code).graph
    assert f"its unpack hook raised {error}" in [text for node in graph.nodes for _, text in node.recorded.attrs]


def test_a_long_script_is_parsed_once_and_searched_once(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    parse, walk = Mock(wraps=ast.parse), Mock(wraps=ast.iter_child_nodes)
    monkeypatch.setattr(ast, "parse", parse)
    monkeypatch.setattr(ast, "iter_child_nodes", walk)
    folder.run(f"{HEAD}y = x * 2\n")
    assert parse.call_count == 1
    assert sum(isinstance(call.args[0], ast.Module) for call in walk.call_args_list) == 1


def test_a_sum_that_overflows_is_no_infinite_number(folder: Folder) -> None:
    reading = folder.run(f"{HEAD}y = x * torch.full((9,), 1e38)\nz = y.detach()\n")
    assert not texts(reading, "warning")


LATE = {
    "class T(torch.Tensor):\n    shape = property(lambda self: 1 / 0)\nt = T([1.0])": (
        "net.py:5: ZeroDivisionError: division by zero (after the script's end, as gviz looked at what it left)\n"
        "  shape = property(lambda self: 1 / 0)"
    ),
    "class M(type):\n    def __getattribute__(cls, name):\n        raise RuntimeError(name)\n"
    "class E(Exception, metaclass=M): pass\nraise E": "net.py:6: RuntimeError: __module__ (after the script's end",
}


@pytest.mark.parametrize("end", LATE)
def test_an_error_out_of_the_script_s_code_is_the_script_s_also_after_its_end(gviz: Program, end: str) -> None:
    (gviz.folder / "net.py").write_text(f"{HEAD}y = x * 2\n{end}\n", encoding="utf-8")
    done = gviz("render", "net.py", "-o", "y.svg")
    done.assert_refused(LATE[end], files=("net.py",))


MANY = """
import torch
x = torch.tensor(2.0, requires_grad=True)
items = [torch.tensor(float(i)) for i in range(30)] + [torch.tensor(1.0, requires_grad=True)]
y = x * items[25] + items[30]
y.backward()
"""


def test_of_very_many_tensors_without_a_gradient_the_first_and_those_in_the_graph_are_listed(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gviz.sources.script.names.MOST_NAMED", 20)
    reading = folder.run(MANY, lines=True)
    items = [f"items[{i}]" for i in range(20)]
    assert [row.name for row in reading.graph.tensors] == ["x", *items, "items[30]", "y", "items[25]"]
    assert "items has 9 more tensors that require no gradient: they are not listed" in texts(reading)
    for options in (
        {"is_whole": True},
        {"diagnose": True, "is_whole": True},
        {"roots": ("y",)},
    ):  # who asks for one may have it
        assert len(folder.run(MANY, **options).graph.tensors) == 33


def test_what_was_not_searched_is_not_said_to_be_finite(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gviz.sources.script.names.MOST_NAMED", 20)
    text = MANY.replace("y.backward()", "z = y / 0\nz.backward()")
    assert any(
        "z is inf: the first listed tensor that is not finite" in one for one in texts(folder.run(text), "warning")
    )
    monkeypatch.undo()
    assert any(
        "z is inf: the first named tensor that is not finite" in one for one in texts(folder.run(text), "warning")
    )


def test_a_call_in_a_loop_is_read_once_and_each_tensor_is_followed_once(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = HEAD + "h = x\nc = torch.tensor(0.5)\nfor _ in range(40):\n    h = h * c + c\nh.backward()\n"
    walked, original, reads = Mock(wraps=graph_nodes), CallSites.argument_texts, list[str]()

    def argument_texts(sites: CallSites, code: CodeType | None, instruction: int, name: str, count: int) -> Texts:
        reads.append(name)
        return original(sites, code, instruction, name, count)

    monkeypatch.setattr(CallSites, "argument_texts", argument_texts)
    monkeypatch.setattr(lines, "graph_nodes", walked)
    reading = folder.run(text, lines=True, flow=True)
    given = [node.recorded.given for node in reading.graph.nodes if node.kind == "operation"]
    assert given == [("c",)] * 80
    assert reads == ["add", "mul"]
    assert walked.call_count == 1


@pytest.mark.parametrize("engine", ["gviz", pytest.param("torch", marks=pytest.mark.torch)])
def test_a_script_that_is_only_run_is_not_listened_to(folder: Folder, engine: str, gviz: Program) -> None:
    if engine == "torch":
        pytest.importorskip("torch")
    text = """\
        import torch
        w = torch.tensor([1.0], requires_grad=True)
        if hasattr(torch, "overrides"):
            print("in a mode:", torch.overrides._len_torch_function_stack() > 0)
        print("wrapped:", hasattr(torch.Tensor.detach, "__wrapped__"))
        (w * 2).sum().backward()
        w.data -= 0.5
        print(w)
        """
    file = str(folder.write("net.py", text))
    said = gviz("run", file, "--engine", engine).out.splitlines()
    assert set(said) <= {"in a mode: False", "wrapped: False", "tensor([0.5000], requires_grad=True)"}
    assert len(said) == (3 if engine == "torch" else 2)
