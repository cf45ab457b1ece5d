"""Every row of the operation table: its derivatives against differences."""

from __future__ import annotations

import builtins
import dis
import functools
from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from types import CodeType
from typing import Any

import numpy as np
import pytest
from program import python
from table_samples import NO_SLOPE, ONCE, SAMPLES, sample

from gviz import engine, ops
from gviz.autograd.row import ARRAYS, COMPOSITES, ROWS, TENSORS, Row
from gviz.autograd.tensor import Tensor
from gviz.engine import fast
from gviz.engine.utils.checkpoint import checkpoint

for module in iter_modules(ops.__path__):  # some store their rows only when nn is named
    import_module(f"{ops.__name__}.{module.name}")

STEP = 1e-6
DIFFERENTIABLE = [key for key, row in ROWS.items() if row.node not in (None, "NotImplemented") and key not in NO_SLOPE]
CASES = [
    pytest.param(key, i, id=f"{key}-{i}") for key in DIFFERENTIABLE for i in range(len(SAMPLES.get(key, ["default"])))
]
SEEDS = range(3)


def tensors_of(row: Row, args: tuple[Any, ...]) -> Iterator[Any]:
    """The differentiable tensors among a row's arguments, lists taken apart."""
    for i in row.edges:
        if isinstance(args[i], list):
            yield from args[i]
        elif isinstance(args[i], Tensor):
            yield args[i]


def moved(row: Row, args: tuple[Any, ...], directions: list[Any], step: float) -> tuple[Any, ...]:
    """Return the arguments, the differentiable ones moved along their directions; fresh leaves that require gradients."""
    waiting = iter(directions)

    def move(value: Any) -> Any:
        return engine.from_numpy(np.asarray(value.detach().numpy() + step * next(waiting))).requires_grad_()

    return tuple(
        arg
        if i not in row.edges
        else [move(v) for v in arg]
        if isinstance(arg, list)
        else move(arg)
        if isinstance(arg, Tensor)
        else arg
        for i, arg in enumerate(args)
    )


def outputs(row: Any, args: tuple[Any, ...]) -> list[Any]:
    """The results that have a gradient."""
    out = row(*args)
    results = list(out) if isinstance(out, tuple) else [out]
    return [o for o in results if o is not None and o.dtype.is_floating_point and o.requires_grad]


def along(gradients: Any, directions: list[Any]) -> float:
    """The derivative along directions, from gradients; None stands for zero."""
    return sum(
        float((g.detach().numpy() * d).sum()) for g, d in zip(gradients, directions, strict=True) if g is not None
    )


class Case:
    """A row, arguments for it, random directions to move them in and random weights of the results."""

    def __init__(self, key: str, number: int, seed: int) -> None:
        self.row = ROWS[key]
        random = np.random.default_rng(seed)
        raw = sample(self.row, number, random)
        self.args = moved(self.row, raw, [np.zeros(()) for _ in range(99)], 0.0)
        shapes = [leaf.shape for leaf in tensors_of(self.row, self.args)]
        self.directions = [np.asarray(random.standard_normal(shape)) for shape in shapes]
        self.second = [np.asarray(random.standard_normal(shape)) for shape in shapes]
        self.weights = [random.standard_normal(out.shape) for out in outputs(self.row, self.args)]

    def at(self, step: float) -> tuple[Any, list[Any]]:
        """A number made of all results, with the arguments moved; and the leaves that it was made of."""
        args = moved(self.row, self.args, self.directions, step)
        pairs = zip(outputs(self.row, args), self.weights, strict=True)
        total = sum(((out * engine.from_numpy(np.asarray(weight))).sum() for out, weight in pairs), start=0.0)
        return total, list(tensors_of(self.row, args))

    def gradients(self, step: float, *, create_graph: bool = False) -> tuple[Any, list[Any]]:
        """The gradients of that number, and its leaves."""
        total, leaves = self.at(step)
        return engine.autograd.grad(total, leaves, create_graph=create_graph, allow_unused=True), leaves


@pytest.mark.parametrize(("key", "number"), CASES)
def test_a_derivative_agrees_with_differences(key: str, number: int) -> None:
    for seed in SEEDS:
        case = Case(key, number, seed)
        gradients, leaves = case.gradients(0.0)
        for leaf, gradient in zip(leaves, gradients, strict=True):
            assert gradient is None or (gradient.shape, gradient.dtype) == (leaf.shape, leaf.dtype)
        by_difference = (case.at(STEP)[0].item() - case.at(-STEP)[0].item()) / (2 * STEP)
        assert along(gradients, case.directions) == pytest.approx(by_difference, rel=2e-5, abs=1e-6)


@pytest.mark.parametrize(("key", "number"), [case for case in CASES if case.values[0] not in ONCE])
def test_a_second_derivative_agrees_with_differences(key: str, number: int) -> None:
    for seed in SEEDS:
        case = Case(key, number, seed)
        before, at, after = (along(case.gradients(step)[0], case.second) for step in (-STEP, 0.0, STEP))
        recorded, leaves = case.gradients(0.0, create_graph=True)
        assert along(recorded, case.second) == pytest.approx(at, rel=1e-9)
        pairs = zip(recorded, case.second, strict=True)
        slope: Any = sum(
            ((g * engine.from_numpy(d)).sum() for g, d in pairs if g is not None), start=engine.tensor(0.0)
        )
        second = (
            engine.autograd.grad(slope, leaves, allow_unused=True) if slope.requires_grad else [None for _ in leaves]
        )
        assert along(second, case.directions) == pytest.approx((after - before) / (2 * STEP), rel=5e-5, abs=5e-6)


WRITTEN = [case for case in CASES if fast.is_plain(ROWS[str(case.values[0])])]


def test_most_rows_have_calls_of_their_own() -> None:
    assert len({case.values[0] for case in WRITTEN}) > 250


def facts_of(result: Any) -> list[str]:
    """What shows how a result was recorded: its node, what that saves and where its edges lead, and the elements."""
    node = result.grad_fn
    saved = [(name, getattr(node, name)) for name in sorted(dir(node)) if name.startswith("_saved_")]
    edges = [(type(one).__name__, number) for one, number in node.next_functions]
    facts = result.tolist(), result.shape, result.stride(), result._is_view(), type(node).__name__, saved, edges
    return [str(fact) for fact in (*facts, node._outputs)]


@pytest.mark.parametrize(("key", "number"), WRITTEN)
def test_a_call_of_its_own_gives_what_the_usual_way_gives(key: str, number: int) -> None:
    case, row = Case(key, number, seed=0), ROWS[key]
    results = []
    quick = (
        fast.compile_call(row, "operator", row)
        if row.defaults and row.ufunc and len(case.args) == 2
        else fast.compile_call(row, "row", row)
    )
    for call in (functools.partial(fast.usual_call, row), quick):
        args = moved(row, case.args, case.directions, 0.0)
        engine.manual_seed(0)
        result = call(*args)
        facts = facts_of(result)
        result.sum().backward()
        results.append(
            (facts, [str(None if leaf.grad is None else leaf.grad.tolist()) for leaf in tensors_of(row, args)])
        )
    assert results[0] == results[1]


@pytest.mark.parametrize("key", ["mul", "addmm", "exp", "sum_all"])
def test_parameters_and_numbers_take_the_quick_way_too(key: str) -> None:
    def usual(*_: Any) -> Any:
        raise AssertionError("the usual way was taken")

    row = ROWS[key]
    leaves = [engine.nn.Parameter(engine.rand(2, 2)) for i in row.inputs]
    assert fast.compile_call(row, "row", usual)(*leaves).grad_fn.name() == row.node
    assert key != "mul" or fast.compile_call(row, "operator", usual)(leaves[0], 2.5).grad_fn._saved_other == 2.5


BY_ELEMENT = [
    key
    for key, row in ROWS.items()
    if row.ufunc and "not_implemented" not in str(row.texts) and fast.keeps_dtype(row, row.ufunc)
]


@pytest.mark.parametrize("key", BY_ELEMENT)
def test_the_derivative_of_a_function_of_each_element_has_the_dtype_of_the_result(key: str) -> None:
    row = ROWS[key]
    fast.compile_row(row)
    result = fast.COMPILED[key](*[engine.tensor([0.5, 0.25], requires_grad=True) for _ in row.inputs])
    gradients: dict[Any, Any] = {}
    fast.step_of(row)(result.grad_fn, np.ones(2, np.float32), gradients, set())
    assert {(gradient.shape, str(gradient.dtype)) for gradient in gradients.values()} == {((2,), "float32")}


def test_numpys_function_of_a_row_computes_what_the_forward_computes() -> None:
    rows = {key: row for key, row in ROWS.items() if row.ufunc and f"{'f' * row.ufunc.nin}->" in str(row.ufunc.types)}
    assert {"add", "sub", "mul", "div", "sqrt"} <= rows.keys()
    for key, row in rows.items():
        operands = [np.array([3.0, -0.5], np.float32), np.array([[7.0], [0.0]], np.float32)][: row.ufunc.nin]
        with np.errstate(all="ignore"):
            forward, computed = row.forward(*operands), row.ufunc(*operands)
        assert forward.tobytes() == computed.tobytes(), key


def test_every_sample_has_a_row() -> None:
    assert not {*SAMPLES, *NO_SLOPE, *ONCE} - ROWS.keys()


def test_no_two_things_of_the_table_have_one_name() -> None:
    assert not ROWS.keys() & COMPOSITES.keys(), "the later one would hide the other in the formulas"


def global_names(code: CodeType) -> set[str]:
    """The global names that a code object looks up, those of the functions inside it too."""
    names = {i.argval for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return names.union(*(global_names(constant) for constant in code.co_consts if isinstance(constant, CodeType)))


def test_formulas_and_composites_use_names_of_the_table_only() -> None:
    functions = {f"{row.key} by {name}": formula for row in ROWS.values() for name, formula in row.formulas.items()}
    for key, function in {**functions, **COMPOSITES}.items():
        names = {name for name in global_names(function.__code__) if not hasattr(builtins, name)}
        assert names <= ARRAYS.keys() & TENSORS.keys(), key


def test_importing_the_table_only_stores_rows() -> None:
    code = (
        "import gviz.engine, sys; from gviz.autograd.row import ROWS;"
        "sys.exit(any('cls' in vars(row) for row in ROWS.values())"
        " or any(name in sys.modules for name in ('gviz.engine.nn', 'gviz.engine.optim', 'gviz.engine.linalg')))"
    )
    assert python(code).returncode == 0


def test_the_code_of_an_operation_may_be_written_while_a_backward_pass_runs() -> None:
    def again(x: Tensor) -> Any:
        fast.compile_row(ROWS["sin"])
        return x.sin()

    x = engine.tensor(0.5, requires_grad=True, dtype=engine.float64)
    checkpoint(again, x.sin(), use_reentrant=False).backward()
    assert x.grad is not None
    assert x.grad.item() == pytest.approx(np.cos(np.sin(0.5)) * np.cos(0.5))
