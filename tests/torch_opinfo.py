"""PyTorch's own operator tests, run on gviz's engine and on real PyTorch, and compared.

``python tests/torch_opinfo.py [NAME ...] [--samples N] [--dtype NAME] [--show N] [--missing] [--turned]``
prints what differs. PyTorch tells of
each of its operations how it is called, with which inputs, and which inputs it refuses; each of these calls is made here on
both: as a function, as a method and in place. Compared are results, graph, saved values, gradients, the graph of the gradients,
the gradients of these, and errors.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import itertools
import re
import sys
import types
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from typing import Any, NamedTuple

import numpy as np
from torch_parity import close, graph

TOLERANCE = {"float32": (5e-4, 1e-4), "float64": (1e-7, 1e-8)}
FACTS = ("shape", "dtype", "requires_grad", "is_leaf", "_version", "output_nr")
MISSING = re.compile(
    r"AttributeError: (module '(torch|gviz\.engine)[\w.]*'|'Tensor' object|type object 'Tensor') has no attribute"
)
"""The error that says that the engine does not have something."""
UNCERTAIN = (
    "empty",
    "empty_like",
    "new_empty",
    "empty_strided",
    "new_empty_strided",
    "empty_permuted",
    "resize_",
    "resize_as_",
)
"""Operations whose results are whatever is in memory."""

SIGNS = ("linalg.eigh", "linalg.svd", "_saved_eigenvectors", "_saved_U", "_saved_Vh")
"""Operations whose results, and saved values which, are vectors either of whose directions is right."""

MOST = 200
"""Samples that are drawn of each operation; some have more than a thousand."""

Observation = tuple[str, Any]
Found = tuple[str, str, str]
"""A difference: in what, PyTorch's, gviz's."""


class Case(NamedTuple):
    """One call of an operation: what is called, how, with which sample."""

    name: str
    form: str
    call: Any
    sample: Any

    def __str__(self) -> str:
        given = map(brief, (self.sample.input, *self.sample.args))
        named = (f"{k}={brief(v)}" for k, v in self.sample.kwargs.items())
        return f"{self.name} [{self.form}] ({', '.join([*given, *named])})"


# ------------------------------------------------------------------ PyTorch's things as the engine's
class Translation:
    """What takes calls and inputs that are written for PyTorch to an engine (or, copied, to PyTorch itself).

    Args:
        torch: real PyTorch.
        engine: where to.
        turned: whether the last two dims of all tensors change places in memory.
    """

    def __init__(self, torch: Any, engine: Any, *, turned: bool = False) -> None:
        self.torch = torch
        self.engine = engine
        self.turned = turned
        self.memo: dict[int, Any] = {}
        self.functions: dict[int, Any] = {}
        self.kept: list[Any] = []

    def value(self, value: Any) -> Any:
        """An input: tensors copied, with their strides; what holds them likewise."""
        torch = self.torch
        made = value
        if isinstance(value, torch.Tensor):
            made = self.memo.get(id(value))
            made = self.remember(value) if made is None else made
        elif isinstance(value, torch.Size):
            made = self.engine.Size(value)
        elif isinstance(value, list | tuple):
            made = type(value)(*map(self.value, value)) if hasattr(value, "_fields") else type(value)(map(self.value, value))
        elif isinstance(value, dict):
            made = {k: self.value(v) for k, v in value.items()}
        elif isinstance(value, slice):
            made = slice(*map(self.value, (value.start, value.stop, value.step)))
        elif isinstance(value, torch.dtype | torch.memory_format | torch.layout):
            made = self.named(str(value).removeprefix("torch."))
        elif isinstance(value, torch.device):
            made = self.engine.device(str(value))
        elif isinstance(value, torch.nn.Module):
            made = self.named(f"nn.{type(value).__name__}")(*(getattr(value, name) for name in value.__constants__))
        elif isinstance(value, types.FunctionType | functools.partial | types.BuiltinFunctionType):
            made = self.function(value)
        return made

    def remember(self, tensor: Any) -> Any:
        """A copy of a tensor; the same for the same."""
        array = tensor.detach().numpy()
        if self.turned and array.ndim > 1:
            array = array.swapaxes(-1, -2).copy().swapaxes(-1, -2)
        elif array.size and not tensor.is_contiguous():
            last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
            memory = np.lib.stride_tricks.as_strided(array, (last + 1,), (array.itemsize,)).copy()
            array = np.lib.stride_tricks.as_strided(memory, array.shape, array.strides)
        else:
            array = array.copy()
        made = self.engine.from_numpy(array)
        if not array.size:  # numpy's have other strides
            made = self.engine.zeros(array.shape, dtype=made.dtype)
        if tensor.requires_grad:
            made.requires_grad_()
        self.memo[id(tensor)] = made
        self.kept.append(tensor)
        return made

    def named(self, path: str) -> Any:
        """What stands in the engine under a name."""
        found = self.engine
        for name in path.split("."):
            found = getattr(found, name)
        return found

    def function(self, function: Any) -> Any:
        """A function of PyTorch's by its name; one of its tests with ``torch`` meaning the engine."""
        if self.engine is self.torch or not callable(function):
            return function
        if isinstance(function, functools.partial):
            return functools.partial(self.function(function.func), *self.value(function.args), **self.value(function.keywords))
        if not isinstance(function, types.FunctionType) or not in_tests(function):
            return self.named(self.path_of(function))
        if function.__name__ == "freeze_rng_state":  # each engine has a stream of its own
            return contextlib.nullcontext
        if id(function) not in self.functions:
            space = dict(function.__globals__)
            cells = tuple(types.CellType(self.thing(c.cell_contents)) for c in function.__closure__ or ())
            made = types.FunctionType(function.__code__, space, function.__name__, self.value(function.__defaults__), cells)
            made.__kwdefaults__ = self.value(function.__kwdefaults__)
            made.__wrapped__ = function  # type: ignore[attr-defined] # kept, so that no other gets its id
            self.functions[id(function)] = made
            for name in names_in(function.__code__):
                if name in space:
                    space[name] = self.thing(space[name])
        return self.functions[id(function)]

    def thing(self, thing: Any) -> Any:
        """What a function of PyTorch's tests names: a module, a function, a class, a value."""
        if isinstance(thing, types.ModuleType):
            inside = thing.__name__ == "torch" or thing.__name__.startswith("torch.")
            return self.named(thing.__name__[6:]) if inside and thing is not self.torch else self.engine if inside else thing
        if thing is self.torch.Tensor:
            return self.engine.Tensor
        if isinstance(thing, types.FunctionType) and not (thing.__module__ or "").startswith("torch"):
            return thing
        if isinstance(thing, types.BuiltinFunctionType) and getattr(__builtins__, thing.__name__, None) is thing:
            return thing
        return thing if isinstance(thing, type) else self.value(thing)

    def path_of(self, function: Any) -> str:
        """The public name of a function of PyTorch's.

        Raises:
            AttributeError: it has none.
        """
        name = getattr(function, "__name__", "?")
        name = {"log_sigmoid": "logsigmoid", "_threshold": "threshold"}.get(name, name)
        for path in ("", "nn.functional", "Tensor", "linalg", "special", "fft", "_C._nn", "masked", "signal.windows"):
            home = self.torch
            for part in path.split(".") if path else ():
                home = getattr(home, part)
            short = name.removeprefix(f"{path}_")  # linalg_det is linalg.det
            found = getattr(home, short, None)
            if found is function or (isinstance(found, types.MethodDescriptorType) and found == function):
                return f"{path}.{short}".lstrip(".")
        raise AttributeError(f"module 'torch' has no attribute '{name}'")


def in_tests(function: Any) -> bool:
    """Whether a function belongs to PyTorch's tests."""
    return bool((function.__module__ or "").startswith("torch.testing"))


def names_in(code: types.CodeType) -> set[str]:
    """The global names that a code and the codes in it use."""
    inner = (names_in(c) for c in code.co_consts if isinstance(c, types.CodeType))
    return set(code.co_names).union(*inner)


# ------------------------------------------------------------------ calls
def name_of(op: Any) -> str:
    """An operation's name with that of its variant."""
    return f"{op.name}.{op.variant_test_name}".rstrip(".")


def cases(torch: Any, op: Any, dtype: Any, samples: int) -> Iterator[Case]:
    """The calls that PyTorch's tests make of an operation; ``samples`` of them, taken from all of them.

    The stream is seeded once: seeding before each sample, as PyTorch's tests do it, formats the stack three times for each.
    """
    torch.default_generator.manual_seed(0)
    grad = op.supports_autograd and dtype.is_floating_point
    given = itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=grad, set_seed=False), MOST)
    drawn = [s for s in given if is_plain(torch, s)]
    name = name_of(op)
    for sample in drawn[:: max(1, -(-len(drawn) // samples))]:
        yield Case(name, "function", op.op, sample)
        if op.method_variant is not None and isinstance(sample.input, torch.Tensor):
            yield Case(name, "method", op.method_variant, sample)
        if op.inplace_variant is not None and not sample.broadcasts_input and isinstance(sample.input, torch.Tensor):
            yield Case(name, "in place", op.inplace_variant, sample)


def refusals(torch: Any, op: Any) -> Iterator[Case]:
    """The calls that PyTorch's tests expect an operation to refuse."""
    torch.default_generator.manual_seed(0)
    for refused in op.error_inputs("cpu", set_seed=False) if op.error_inputs_func is not None else ():
        if is_plain(torch, refused.sample_input):
            yield Case(name_of(op), "refused", op.op, refused.sample_input)


def is_plain(torch: Any, sample: Any) -> bool:
    """Whether all tensors are dense real ones."""

    def plain(value: Any) -> bool:
        if isinstance(value, torch.Tensor):
            known = value.dtype not in (torch.float16, torch.bfloat16) and not value.dtype.is_complex
            return bool(value.layout == torch.strided and known and not value.is_quantized and value.device.type == "cpu")
        if isinstance(value, list | tuple | dict):
            return all(map(plain, value.values() if isinstance(value, dict) else value))
        return not isinstance(value, complex)

    return plain((sample.input, sample.args, sample.kwargs))


def observe(case: Case, space: Translation, twice: bool) -> Iterator[Observation]:
    """What comes of a call, thing after thing; an error ends it."""
    engine = space.engine
    step = "call"
    try:
        call = space.function(case.call)
        arguments = space.value([case.sample.input, *case.sample.args])
        options = space.value(case.sample.kwargs)
        leaves = [t for t in space.memo.values() if t.requires_grad]
        engine.default_generator.manual_seed(0)
        if case.form == "in place":
            arguments[0] = arguments[0].clone()
        result = call(*arguments, **options)
        quiet = case.name in UNCERTAIN
        yield from about("written" if case.form == "in place" else "result", result, engine, quiet or case.name in SIGNS)
        if getattr(case.sample, "output_process_fn_grad", None) is not None:
            step = "processing"
            result = space.function(case.sample.output_process_fn_grad)(result)
        outputs = [t for t in flatten(result, engine) if t.requires_grad and t.grad_fn is not None]
        for i, output in enumerate(outputs):
            yield from graph_of(f"graph of output {i}", output, engine)
        if not outputs or not leaves or quiet:
            return
        step = "gradients"
        found = gradients(engine, outputs, leaves, twice)
        yield from about("gradients", found, engine)
        outputs = [t for t in found if t is not None and t.grad_fn is not None]
        if outputs and twice:
            for i, output in enumerate(outputs):
                yield from graph_of(f"graph of gradient {i}", output, engine)
            step = "second gradients"
            yield from about("second gradients", gradients(engine, outputs, leaves, False), engine)
    except Exception as error:  # noqa: BLE001 - whatever it is, the other engine has to raise the same
        yield f"{step} raises", f"{type(error).__name__}: {error}"


def gradients(engine: Any, outputs: list[Any], leaves: list[Any], create_graph: bool) -> Any:
    """The gradients of the outputs, each weighed with random numbers that depend on its shape alone."""
    weights = [
        engine.from_numpy(np.asarray(np.random.default_rng(i).uniform(-1, 1, tuple(t.shape)), t.detach().numpy().dtype))
        for i, t in enumerate(outputs)
    ]
    return engine.autograd.grad(outputs, leaves, weights, create_graph=create_graph, retain_graph=True, allow_unused=True)


def flatten(result: Any, engine: Any) -> list[Any]:
    """The tensors in a result."""
    if isinstance(result, engine.Tensor):
        return [result]
    if isinstance(result, list | tuple):
        return [t for part in result for t in flatten(part, engine)]
    return []


def about(what: str, value: Any, engine: Any, quiet: bool = False) -> Iterator[Observation]:
    """A result's or a saved value's facts and numbers."""
    if isinstance(value, engine.Tensor):
        facts = {fact: getattr(value, fact) for fact in FACTS if fact != "_version" or what == "written"}
        facts["shape"] = tuple(facts["shape"])
        yield what, ", ".join(f"{k} {v}" for k, v in facts.items()) + f", {type(value.grad_fn).__name__}"
        if not quiet:
            yield f"values of {what}", value.detach().numpy(force=True)
    elif isinstance(value, list | tuple):
        yield what, f"{type(value).__name__} of {len(value)}"
        for i, part in enumerate(value):
            yield from about(f"{what}[{i}]", part, engine, quiet)
    elif isinstance(value, float):
        yield what, np.asarray(value)
    else:
        yield what, str(value) if isinstance(value, int | str | None) else type(value).__name__


def graph_of(what: str, output: Any, engine: Any) -> Iterator[Observation]:
    """The nodes, their slots and what they have saved."""
    yield what, " ".join(f"{name}{slots}" for name, slots in itertools.islice(graph(output), 300))
    nodes, seen = [output.grad_fn], {id(output.grad_fn)}
    for node in nodes:
        names = sorted(n for n in dir(node) if n.startswith("_saved_"))
        yield f"{what}, saved of {type(node).__name__}", " ".join(names)
        for name in names:
            yield from about(f"{what}, {type(node).__name__}.{name}", getattr(node, name), engine, name in SIGNS)
        following = [n for n, _ in node.next_functions if n is not None and id(n) not in seen]
        seen.update(map(id, following))
        nodes += dict.fromkeys(following) if len(nodes) < 300 else ()


def difference(pytorch: Iterator[Observation], gviz: Iterator[Observation]) -> Found | None:
    """The first thing that differs: what it is, PyTorch's, gviz's."""
    for theirs, ours in itertools.zip_longest(pytorch, gviz, fillvalue=("end", "end")):
        if isinstance(theirs[1], np.ndarray) and isinstance(ours[1], np.ndarray):
            tolerance = TOLERANCE.get(theirs[1].dtype.name, (0, 0))
            scale = float(np.abs(theirs[1], dtype=float)[np.isfinite(theirs[1])].max(initial=1)) if theirs[1].size else 1
            same = theirs[0] == ours[0] and close(theirs[1], ours[1], tolerance[0], tolerance[1] * scale)
        else:
            same = theirs[0] == ours[0] and str(theirs[1]) == str(ours[1])
        if not same:
            what = theirs[0] if theirs[0] != "end" else ours[0]
            one, other = (brief(s[1]) if s[0] == what else f"{s[0]}: {brief(s[1])}" for s in (theirs, ours))
            return what, one, other
    return None


def brief(value: Any) -> str:
    """A value for a message."""
    if hasattr(value, "requires_grad"):
        return f"{str(value.dtype)[6:]}{list(value.shape)}{'*' if value.requires_grad else ''}"
    if isinstance(value, list | tuple):
        return f"({', '.join(map(brief, value))})"
    text = f"{value.tolist() if isinstance(value, np.ndarray) else value}"
    return text if len(text) < 1000 else f"{text[:1000]}..."


class Report:
    """The operations that were compared, and what differs."""

    def __init__(self) -> None:
        self.compared: Counter[str] = Counter()
        self.equal: Counter[str] = Counter()
        self.missing: Counter[str] = Counter()
        self.differences: list[tuple[Case, Found]] = []

    def add(self, case: Case, found: Found | None) -> bool:
        """Note one case's outcome; whether it is a difference (what the engine does not have is none)."""
        if found and MISSING.search(found[2]):
            self.missing[f"{case.name} [{case.form}]"] += 1
            return False
        self.compared[case.name] += 1
        self.equal[case.name] += found is None
        self.differences += [(case, found)] if found else []
        return found is not None

    @property
    def differing(self) -> float:
        """The share of cases that differ."""
        return len(self.differences) / max(1, self.compared.total())


def compare(
    names: list[str],
    dtypes: list[str],
    samples: int,
    *,
    refused: bool = True,
    turned: bool = False,
    found: Callable[[Case, Found], Any] = lambda *_: None,
) -> Report:
    """Compare the operations of these names (patterns; all where there are none).

    Args:
        names: of operations, or patterns; none for all.
        dtypes: their names.
        samples: how many of each operation and dtype.
        refused: whether to make the calls that are to be refused, too.
        turned: whether the last two dims of all tensors change places in memory.
        found: is told of each difference.
    """
    import torch
    from torch.testing._internal.common_methods_invocations import op_db

    from gviz import engine

    report = Report()
    functions: dict[int, Any] = {}
    for op in op_db:
        if names and not any(fnmatch(name_of(op), n) or op.name == n for n in names):
            continue
        drawn = (cases(torch, op, getattr(torch, d), samples) for d in dtypes if getattr(torch, d) in op.dtypes)
        for case in itertools.chain(*drawn, refusals(torch, op) if refused else ()):
            theirs, ours = (Translation(torch, e, turned=turned) for e in (torch, engine))
            ours.functions = functions
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                outcome = difference(observe(case, theirs, op.supports_gradgrad), observe(case, ours, op.supports_gradgrad))
            if report.add(case, outcome) and outcome:
                found(case, outcome)
    return report


def main() -> None:
    """Print what differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="operations, or patterns such as 'linalg.*'; all where none is given")
    parser.add_argument("--samples", type=int, default=10, help="of each operation and dtype")
    parser.add_argument("--dtype", action="append", help="float64, float32, int64, ...")
    parser.add_argument("--show", type=int, default=3, help="how many differences of each operation are printed")
    parser.add_argument("--missing", action="store_true", help="list the operations that the engine does not have")
    parser.add_argument("--turned", action="store_true", help="with the last two dims of all tensors the other way in memory")
    given = parser.parse_args()
    shown: Counter[str] = Counter()

    def show(case: Case, found: Found) -> None:
        what, theirs, ours = found
        shown[case.name] += 1
        if shown[case.name] <= given.show:
            sys.stdout.write(f"{case}\n  {what}\n    PyTorch: {theirs}\n    gviz:    {ours}\n")

    warnings.simplefilter("ignore")
    dtypes = given.dtype or ["float64", "float32", "int64"]
    report = compare(given.names, dtypes, given.samples, turned=given.turned, found=show)
    if given.missing:
        sys.stdout.write("".join(f"missing: {name}\n" for name in report.missing))
    for name, count in report.compared.items():
        if report.equal[name] < count:
            sys.stdout.write(f"{name}: {count - report.equal[name]} of {count} differ\n")
    sys.stdout.write(
        f"{len(report.compared)} operations, {sum(report.equal[n] == c for n, c in report.compared.items())} of them equal; "
        f"{report.compared.total()} calls, {report.equal.total()} equal; {len(report.missing)} forms missing\n"
    )
    sys.exit(report.differing > 0)


if __name__ == "__main__":
    main()
