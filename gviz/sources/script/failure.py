"""A script's own error as a person wants it: the file and line, the line itself, the message, and no frames of gviz's."""

from __future__ import annotations

import linecache
import os
import re
import sys
from traceback import FrameSummary, extract_tb, walk_tb
from types import ModuleType

from gviz.errors import Excerpt, GvizError, SourceError
from gviz.signatures.pytorch import has_name, pytorch_names
from gviz.sources.layers import failed_call
from gviz.sources.pasted import syntax_error
from gviz.sources.script import torch_names
from gviz.sources.script.process import PUBLIC, PYTORCH, engine_module
from gviz.sources.script.program import Script
from gviz.sources.script.uncalled import construction, is_layer
from gviz.sources.source import Source
from gviz.text import closest, did_you_mean, shorten

MAX_TEXT = 2000
"""Characters of an error's own text that are shown: some programs put a whole file into their errors."""

NO_IMPORT = re.compile(
    r"cannot import name '(?P<name>\w+)' from '(?P<home>(?:torch|functorch|tensorflow)(?:\.\w+)*)'(?: \([^)]*\))?"
)

ENGINE = ("gviz.engine.", "gviz.autograd.", "gviz.numbers.", "torch.")
"""Where the classes of tensors and layers are."""

UNCALLED = re.compile(r"'(builtin_function_or_)?method'|^'function' object|not (builtin_function_or_)?method$")
"""What messages of Python and PyTorch call a function that is not a number, a tensor or a list."""

WITHOUT = "'type' object does not support the context manager protocol"
"""Python's words for ``with torch.no_grad:``."""

USUAL = {
    "torch": "import torch", "nn": "from torch import nn", "F": "import torch.nn.functional as F",
    "optim": "from torch import optim", "np": "import numpy as np", "Variable": "from torch.autograd import Variable",
    "make_dot": "from torchviz import make_dot",
    "get_ipython": "get_ipython() is IPython's, and gviz runs cells as Python runs a script: leave it out",
}  # fmt: skip
"""Names that articles leave out the import of."""


KEYWORDS = (
    "requires_grad", "dtype", "device", "dim", "keepdim", "bias", "reduction", "retain_graph", "create_graph", "allow_unused",
    "gradient", "grad_outputs", "inputs", "lr", "momentum", "weight_decay", "betas", "kernel_size", "stride", "padding",
    "in_features", "out_features", "input", "size", "generator",
)  # fmt: skip
"""Names of arguments that people mistype."""

UNEXPECTED = re.compile(
    r"unexpected keyword argument '(?P<name>\w+)'|new\(\) received .*?\b(?P<old>requires_grad|dtype)="
)

PACKAGES = {
    "IPython": "ipython", "PIL": "pillow", "cv2": "opencv-python", "matplotlib": "matplotlib", "networkx": "networkx",
    "pandas": "pandas", "scipy": "scipy", "seaborn": "seaborn", "sklearn": "scikit-learn", "sympy": "sympy", "tqdm": "tqdm",
} | {name: name.replace("_", "-") for name in torch_names.BUILT_ON_TORCH}  # fmt: skip
"""What scripts import, and what it is installed by; only these are named, since any package can have a mistyped
name."""

RUNS = "--engine torch runs it, with PyTorch beside gviz:"

TENSORFLOW_2 = {
    "GradientTape": "y.backward(), then x.grad", "keras": "torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())",
    "Module": "class Net(torch.nn.Module)", "optimizers": "torch.optim.SGD(net.parameters(), lr=0.1)",
    **dict.fromkeys(("enable_eager_execution", "enable_v2_behavior"), "import torch, which is eager from the start"),
}  # fmt: skip
"""Names of TensorFlow's eager mode, with what PyTorch has in their place."""

COMPILED = "graph", "inlined_graph", "code", "graph_for"
"""Attributes of what torch.jit.trace and script give."""

CLOSE = 2
"""By how many letters a name may be longer or shorter than that of TensorFlow which was probably meant."""


def described_error(error: BaseException, script: Script) -> tuple[SourceError, int | None]:
    """Return the message for a script's error, or its exit, and the number of the script's line that was running."""
    frames = [frame for frame in extract_tb(error.__traceback__) if script.is_ours(frame.filename)]
    own = next((frame for frame in reversed(frames) if frame.filename == script.code_file), None)
    place, what = _place(frames[-1], script) if frames else None, _message(error)
    call = failed_call(error) if isinstance(error, RuntimeError | ValueError | IndexError) else ""
    if (
        isinstance(error, SyntaxError)
        and isinstance(error.filename, str)
        and script.is_ours(os.path.abspath(error.filename))
    ):
        message: GvizError = syntax_error(
            error, script.name(os.path.abspath(error.filename))
        )  # a neighbour that is not Python
        place = message.place
    elif isinstance(error, GvizError):  # gviz's own word, as from make_dot
        message = error
    elif frames and (made := construction(error, what, frames[-1])) is not None:
        raised, place, call = place, _place(made[0], script), ""
        at = f", in {raised}, where the module is" if raised and raised.line != place.line else ""
        hint = f"write {made[1]}, which calls the module; this only makes it"
        message = SourceError(f"{what}{at}", hint=hint)
    else:
        message = SourceError(
            what, hint=_not_compiled(error) or _lacks_call(error, what, place) or _other_name(error, what, script)
        )
    is_elsewhere = place is not None and place.file != script.file
    about = [call, f"called from {_place(own, script)}" if is_elsewhere and own is not None else ""]
    result = SourceError(message.what, place=place, hint=message.hint, about=tuple(filter(None, about)))
    return result, own.lineno if own is not None else None


def raised_late(error: Exception, source: Source) -> Exception:
    """Return the message for an error out of a script's code that gviz has called after its end.

    Another error as it is.

    Args:
        error: what was raised: by a property of a class of the script's, say.
        source: the script.
    """
    script, text = Script.of(source), source.text
    if isinstance(error, MemoryError | BrokenPipeError) or not any(
        script.is_ours(frame.f_code.co_filename) for frame, _ in walk_tb(error.__traceback__)
    ):
        return error
    linecache.cache[script.code_file] = (len(text), None, text.splitlines(keepends=True), script.code_file)
    message, _ = described_error(error, script)
    return SourceError(f"{message.what} (after the script's end, as gviz looked at what it left)", place=message.place)


def _place(frame: FrameSummary, script: Script) -> Excerpt:
    """Return the place that a frame was at, down to the columns of its expression."""
    number = frame.lineno or 0
    text = linecache.getline(frame.filename, number).rstrip()
    indent, raw = len(text) - len(text.lstrip()), text.encode()  # the compiler counts bytes
    end = frame.end_colno if frame.end_lineno == number else None
    column, stop = (len(raw[:count].decode(errors="replace")) for count in (frame.colno or indent, end))
    place = script.place(number, frame.filename)
    return Excerpt(
        text.strip(),
        column=column - indent,
        length=max(stop - column, 1),
        file=script.name(frame.filename),
        line=place.line,
        cell=place.cell,
    )


def _message(error: BaseException) -> str:
    """Return the error's type and text, with the names that the script knows: torch, not gviz's engine."""
    kind = type(error)
    name = (
        kind.__qualname__ if kind.__module__ in {"builtins", "__main__"} else f"{kind.__module__}.{kind.__qualname__}"
    )
    try:
        text = str(error)
    except BaseException as other:  # noqa: BLE001 - the error's own __str__ is the program's code, and may raise anything
        text = f"<its text cannot be shown: {type(other).__name__}>"
    if isinstance(error, SystemExit):
        return f"the script ended itself with {f'exit status {error.code:d}' if isinstance(error.code, int) else text}"
    text = _in_torchs_names("\n".join([text, *getattr(error, "__notes__", ())]))
    text = NO_IMPORT.sub(r"cannot import name '\g<name>' from '\g<home>'", text).strip()
    text = shorten(text, MAX_TEXT, mark=f"... ({len(text):,} characters in all)")
    return _in_torchs_names(name) + (f": {text}" if text else "")


def _in_torchs_names(text: str) -> str:
    text = re.sub(r"\bgviz\.engine\.functorch\b", "functorch", text)
    return re.sub(r"\bgviz\.engine\b", "torch", re.sub(r"\bgviz\.static\b", "tensorflow", text))


def _not_compiled(error: BaseException) -> str | None:
    """Return what to do about an attribute that only compiled code has."""
    if isinstance(error, AttributeError) and error.name in COMPILED and "gviz.engine.jit" in sys.modules:
        return f".{error.name} is what torch.jit has compiled, and gviz compiles nothing; run with --engine torch"
    return None


def _other_name(error: BaseException, message: str, script: Script) -> str | None:
    """Return what to write instead of a name that does not exist: an import, another name, or another engine for it."""
    if isinstance(error, NameError) and error.name:
        if error.name in USUAL:
            return USUAL[error.name] if error.name == "get_ipython" else f"write `{USUAL[error.name]}` first"
        *_, (frame, _) = walk_tb(error.__traceback__)
        return did_you_mean(error.name, {*frame.f_locals, *map(str, frame.f_globals)}) or None
    home, name = _name_of_torch(error, message)
    if not name:
        if isinstance(error, NotImplementedError) and "--engine torch" in message and not torch_names.has_torch():
            return f"for PyTorch beside gviz: {torch_names.install_command('torch')}"
        return _not_of_torch(error, message)
    pytorchs = pytorch_names().get(home, _attributes(error))
    if not has_name(f"{home}.{name}") and name not in pytorchs and not (home == "torch" and PUBLIC.match(name)):
        suggestion = did_you_mean(
            name, pytorchs, f"PyTorch 2.13 has no {home}.{name} either" if home == "torch.Tensor" else ""
        )
        if suggestion:
            return suggestion
    return _another_engine(f"{home}.{name}", script) if script.engine == "gviz" else None


def _another_engine(name: str, script: Script) -> str:
    """Return how a script goes on that uses what gviz's engine lacks; and where the rest is told, if it lacks more."""
    from shlex import quote

    from gviz.sources.script.missing import of_script

    doubt = "" if has_name(name) else "if PyTorch has it, "
    what, packages = f"{name} is not in gviz's engine", "torch"
    if name.startswith("torch.utils.tensorboard"):
        what, packages = f"{what}: it writes logs, of which no graph comes, so take it out", "torch tensorboard"
    mend = "run with --engine torch" if torch_names.has_torch() else f"{RUNS} {torch_names.install_command(packages)}"
    uses = of_script(script.code_file) if os.path.isfile(script.code_file) else []  # it may be gone
    others = [use for use in uses if not name.startswith(use.name)]
    return f"{what}; {doubt}{mend}" + (
        f"\nall that it lacks: gviz ops --missing {quote(script.file)}" if others else ""
    )


def _not_of_torch(error: BaseException, message: str) -> str | None:
    """Return advice about a missing package, an unknown keyword argument, or an attribute of another library."""
    keyword = UNEXPECTED.search(message) if isinstance(error, TypeError) else None
    if keyword:
        return (
            f"torch.tensor, with a small t, takes {keyword['old']}="
            if keyword["old"]
            else did_you_mean(keyword["name"], {*KEYWORDS} - {keyword["name"]}) or None
        )
    if isinstance(error, ImportError) and f"{error.name}.".startswith(("gviz.static.", "tensorflow.")):
        match = NO_IMPORT.search(message)
        return _not_of_tensorflow(error, match["name"] if match else str(error.name).rpartition(".")[2])
    if isinstance(error, ModuleNotFoundError) and error.name:
        package = error.name.partition(".")[0]
        if package in PACKAGES:
            is_built = package in torch_names.BUILT_ON_TORCH
            why = "it is built on PyTorch, which comes with it and runs the script; " if is_built else ""
            command = torch_names.install_command(PACKAGES[package])
            return f"{why}install it where gviz is, or take the import out:\n{command}"
        return did_you_mean(package, PACKAGES.keys() | {"torch", "numpy", "torchviz", "math", "random"}) or None
    if isinstance(error, AttributeError) and error.name:
        return _not_of_tensorflow(error, error.name) or did_you_mean(error.name, _attributes(error)) or None
    return None


def _not_of_tensorflow(error: AttributeError | ImportError, name: str) -> str:
    """Return what to do about a name that ``gviz.static`` or a tensor of it lacks, "" if it is not about these."""
    owner = error.obj if isinstance(error, AttributeError) else sys.modules["gviz.static"]
    home = str(vars(owner).get("__name__")) if isinstance(owner, ModuleType) else type(owner).__module__
    if not home.startswith(("gviz.static", "tensorflow")):
        return ""
    if name == "numpy":
        return "a tensor of a graph has no value until a session runs it: sess.run(x); in PyTorch: x.detach().numpy()"
    if name in TENSORFLOW_2:
        mode = "gviz has TensorFlow 1's graph mode (placeholder, Session)"
        return f"that is TensorFlow 2's eager mode; {mode}. In PyTorch: {TENSORFLOW_2[name]}"
    suggestion = closest(name, dir(owner))
    if suggestion and abs(len(suggestion) - len(name)) <= CLOSE:
        return f"did you mean {suggestion}?"
    part = re.sub("gviz.static|tensorflow", "tf", home)
    lacks = f"gviz's part of TensorFlow 1 has no {part}.{name}: docs/static.md says what it has"
    return lacks if isinstance(owner, ModuleType) else ""


def _attributes(error: BaseException) -> list[str]:
    """Return the attributes that there are, where another was asked for."""
    try:
        return dir(error.obj) if isinstance(error, AttributeError) else []
    except Exception:  # noqa: BLE001 - a class's own __dir__ is the program's code, and may raise anything
        return []


def _name_of_torch(error: BaseException, message: str) -> tuple[str, str]:
    """Return the module or class of torch that lacks a name, and the name.

    Two empty texts if that is not what is wrong.
    """
    home, name = "", ""
    if isinstance(error, AttributeError) and error.name:
        owner, name = type(error.obj), error.name
        if issubclass(owner, ModuleType):
            home = _in_torchs_names(vars(error.obj)["__name__"])
        elif f"{owner.__module__}.".startswith(ENGINE):
            home = "torch.Tensor" if hasattr(owner, "retain_grad") else _public_name(owner)
    elif isinstance(error, ModuleNotFoundError):
        home, _, name = (error.name or "").rpartition(".")
    elif isinstance(error, ImportError) and (import_ := NO_IMPORT.search(message)):
        home, name = import_["home"], import_["name"]
    return (home, name) if home.partition(".")[0] in PYTORCH else ("", "")


def _public_name(owner: type) -> str:
    """Return where PyTorch has a class of the engine, dotted; "" if the program has no name for it."""
    for module, names in pytorch_names().items():
        if owner.__name__ in names and getattr(engine_module(module), owner.__name__, None) is owner:
            return (
                f"{module}.{owner.__name__}{'()' * owner.__name__.islower()}"  # a function in PyTorch has no attributes
            )
    return ""


def _lacks_call(error: BaseException, message: str, place: Excerpt | None) -> str | None:
    """Return a hint if a function, or a module, was used where its result was meant: ``with no_grad:``."""
    if place is not None and WITHOUT in message and place.text.startswith("with ") and place.text.endswith(":"):
        return f"write its brackets: {place.text[:-1]}():"
    if isinstance(error, AttributeError) and is_layer(type(error.obj)):
        method = f"torch.Tensor.{error.name}"  # what the engine's tensors lack, as xpu(), its modules may lack
        words = f"a {type(error.obj).__name__} is a module, and no tensor: what its call gives is one"
        return words if has_name(method) and not torch_names.lacking_part(method) else None
    if not isinstance(error, AttributeError | TypeError) or not UNCALLED.search(str(error)):
        return None
    return "a function was used without a call: are its brackets missing? x.sum is the function, x.sum() what it gives"
