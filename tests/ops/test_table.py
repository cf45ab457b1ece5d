"""Every row of the operation table: its derivatives against differences, its formulas against their rules."""

from __future__ import annotations

import builtins
import dis
from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from table_samples import NO_SLOPE, ONCE, SAMPLES, sample

from gviz import engine, ops
from gviz.autograd.formulas import bind
from gviz.autograd.row import ARRAYS, COMPOSITES, ROWS, TENSORS, Row
from gviz.autograd.tensor import Tensor

for module in iter_modules(ops.__path__):  # some store their rows only when nn is named
    import_module(f"{ops.__name__}.{module.name}")

STEP = 1e-6
DIFFERENTIABLE = [key for key, row in ROWS.items() if row.node not in (None, "NotImplemented") and key not in NO_SLOPE]
CASES = [pytest.param(key, i, id=f"{key}-{i}") for key in DIFFERENTIABLE for i in range(len(SAMPLES.get(key, ["default"])))]
SEEDS = st.integers(0, 2**32 - 1)
few = settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))


def tensors_of(row: Row, args: tuple[Any, ...]) -> Iterator[Any]:
    """The differentiable tensors among a row's arguments, lists taken apart."""
    for i in row.edges:
        if isinstance(args[i], list):
            yield from args[i]
        elif isinstance(args[i], Tensor):
            yield args[i]


def moved(row: Row, args: tuple[Any, ...], directions: list[Any], step: float) -> tuple[Any, ...]:
    """The same arguments, the differentiable ones moved along their directions; fresh leaves that require gradients."""
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
    found = list(out) if isinstance(out, tuple) else [out]
    return [o for o in found if o is not None and o.dtype.is_floating_point and o.requires_grad]


def value(row: Row, args: tuple[Any, ...], weights: list[Any]) -> Any:
    """A number made of all results."""
    total = 0.0
    for out, weight in zip(outputs(row, args), weights, strict=True):
        total = (out * engine.from_numpy(weight)).sum() + total
    return total


class Case:
    """A row, arguments for it, random directions to move them in and random weights of the results."""

    def __init__(self, key: str, number: int, seed: int) -> None:
        self.row = ROWS[key]
        random = np.random.default_rng(seed)
        raw = sample(self.row, number, random)
        zero = [np.zeros(()) for _ in range(99)]
        self.args = moved(self.row, raw, zero, 0.0)
        self.leaves = list(tensors_of(self.row, self.args))
        self.directions = [np.asarray(random.standard_normal(leaf.shape)) for leaf in self.leaves]
        self.second = [np.asarray(random.standard_normal(leaf.shape)) for leaf in self.leaves]
        self.weights = [np.asarray(random.standard_normal(out.shape)) for out in outputs(self.row, self.args)]

    def at(self, step: float) -> tuple[Any, list[Any]]:
        """The value with the arguments moved, and the leaves it was made of."""
        args = moved(self.row, self.args, self.directions, step)
        return value(self.row, args, self.weights), list(tensors_of(self.row, args))

    def slope_at(self, step: float, *, create: bool) -> tuple[Any, list[Any]]:
        """The derivative along the second directions, recorded if asked for."""
        total, leaves = self.at(step)
        if not create:
            found = engine.autograd.grad(total, leaves, allow_unused=True)
            return sum(float((g.numpy() * d).sum()) for g, d in zip(found, self.second, strict=True) if g is not None), leaves
        found = engine.autograd.grad(total, leaves, create_graph=True, allow_unused=True)
        slope = sum(
            ((g * engine.from_numpy(d)).sum() for g, d in zip(found, self.second, strict=True) if g is not None), start=0.0
        )
        return slope, leaves


@pytest.mark.parametrize(("key", "number"), CASES)
@few
@given(seed=SEEDS)
def test_a_derivative_agrees_with_differences(key: str, number: int, seed: int) -> None:
    case = Case(key, number, seed)
    total, leaves = case.at(0.0)
    found = engine.autograd.grad(total, leaves, allow_unused=True)
    along = sum(float((g.numpy() * d).sum()) for g, d in zip(found, case.directions, strict=True) if g is not None)
    by_difference = (case.at(STEP)[0].item() - case.at(-STEP)[0].item()) / (2 * STEP)
    assert along == pytest.approx(by_difference, rel=2e-5, abs=1e-6)


@pytest.mark.parametrize(("key", "number"), [case for case in CASES if case.values[0] not in ONCE])
@few
@given(seed=SEEDS)
def test_a_second_derivative_agrees_with_differences(key: str, number: int, seed: int) -> None:
    case = Case(key, number, seed)
    slope, leaves = case.slope_at(0.0, create=True)
    assert (slope if isinstance(slope, float) else slope.item()) == pytest.approx(case.slope_at(0.0, create=False)[0], rel=1e-9)
    by_difference = (case.slope_at(STEP, create=False)[0] - case.slope_at(-STEP, create=False)[0]) / (2 * STEP)
    along = 0.0
    if not isinstance(slope, float) and slope.requires_grad:
        found = engine.autograd.grad(slope, leaves, allow_unused=True)
        along = sum(float((g.numpy() * d).sum()) for g, d in zip(found, case.directions, strict=True) if g is not None)
    assert along == pytest.approx(by_difference, rel=5e-5, abs=5e-6)


@pytest.mark.parametrize("key", DIFFERENTIABLE)
def test_a_gradient_has_the_shape_and_dtype_of_its_input(key: str) -> None:
    case = Case(key, 0, 1)
    total, leaves = case.at(0.0)
    for leaf, found in zip(leaves, engine.autograd.grad(total, leaves, allow_unused=True), strict=True):
        assert found is None or (found.shape, found.dtype) == (leaf.shape, leaf.dtype)


# The formulas -------------------------------------------------------------------------------------------------------


def names_of(code: Any) -> set[str]:
    """The global names that a code object looks up, those of the functions inside it too."""
    found = {i.argval for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    for constant in code.co_consts:
        if hasattr(constant, "co_code"):
            found |= names_of(constant)
    return found


FORMULAS = [
    pytest.param(row, name, formula, id=f"{row.key}-{name}") for row in ROWS.values() for name, formula in row.formulas.items()
]


@pytest.mark.parametrize(("row", "name", "formula"), FORMULAS)
def test_a_formula_only_uses_names_of_the_table(row: Row, name: str, formula: Any) -> None:
    unknown = {n for n in names_of(formula.__code__) if n not in ARRAYS and not hasattr(builtins, n)}
    assert not unknown
    assert all(n in TENSORS or hasattr(builtins, n) for n in names_of(formula.__code__))


@pytest.mark.parametrize("name", COMPOSITES)
def test_a_composite_only_uses_names_of_the_table(name: str) -> None:
    known = {**ARRAYS, **vars(builtins)}
    assert not {n for n in names_of(COMPOSITES[name].__code__) if n not in known or (n not in TENSORS and n in ROWS)}


@pytest.mark.parametrize(("row", "name", "formula"), FORMULAS)
def test_a_formula_has_no_closure_and_no_defaults(row: Row, name: str, formula: Any) -> None:
    assert (formula.__closure__, formula.__defaults__) == (None, None)
    assert formula.__code__.co_varnames[0] == "grad" or row.outputs


class Symbol:
    """Something that only knows how it was written."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text

    def __bool__(self) -> bool:
        raise AssertionError(f"the formula branches on {self.text}")

    def __getattr__(self, name: str) -> Symbol:
        if name.startswith("__"):
            raise AttributeError(name)
        return Symbol(f"{self.text}.{name}")

    def __getitem__(self, key: Any) -> Symbol:
        return Symbol(f"{self.text}[{key}]")

    def __len__(self) -> int:
        return 2

    def __iter__(self) -> Iterator[Symbol]:
        return iter([self[0], self[1]])

    def __neg__(self) -> Symbol:
        return Symbol(f"-{self.text}")


def binary(sign: str) -> tuple[Any, Any]:
    return (
        lambda self, other: Symbol(f"({self} {sign} {other})"),
        lambda self, other: Symbol(f"({other} {sign} {self})"),
    )


for name, sign in {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "pow": "**", "lt": "<", "gt": ">", "eq": "=="}.items():
    forward, backward = binary(sign)
    setattr(Symbol, f"__{name}__", forward)
    if name in ("add", "sub", "mul", "truediv", "pow"):
        setattr(Symbol, f"__r{name}__", backward)


class Symbols(dict[str, Any]):
    """A namespace in which every name is a function that writes down its call."""

    def __missing__(self, name: str) -> Any:
        if name.startswith("__"):
            raise KeyError(name)
        return lambda *args: Symbol(f"{name}({', '.join(map(str, args))})")


@pytest.mark.parametrize(("row", "name", "formula"), FORMULAS)
def test_a_formula_can_be_evaluated_on_symbols(row: Row, name: str, formula: Any) -> None:
    code = formula.__code__
    arguments = [Symbol(n) for n in code.co_varnames[: code.co_argcount]]
    written = bind(formula, Symbols())(*arguments)
    assert str(written)


def test_the_formula_of_a_product_reads_as_one_writes_it() -> None:
    row = ROWS["mul"]
    assert str(bind(row.formulas["self"], Symbols())(Symbol("grad"), Symbol("other"))) == "(grad * other)"


@pytest.mark.parametrize("key", DIFFERENTIABLE)
def test_every_row_has_a_sample(key: str) -> None:
    row = ROWS[key]
    assert sample(row, 0, np.random.default_rng(0)), f"declare a sample for {key} in tests/table_samples.py"


def test_every_sample_has_a_row() -> None:
    assert not {*SAMPLES, *NO_SLOPE, *ONCE} - ROWS.keys()


def test_no_two_things_of_the_table_have_one_name() -> None:
    assert not ROWS.keys() & COMPOSITES.keys(), "the later one would hide the other in the formulas"


def test_the_samples_cover_the_rows_of_every_module() -> None:
    stored = {row.forward.__globals__.get("__name__") for row in ROWS.values()}
    assert {f"{ops.__name__}.{name}" for name in ("convolution", "losses", "normalization", "pooling")} <= stored
    assert set(DIFFERENTIABLE) == {k for k, row in ROWS.items() if row.node not in (None, "NotImplemented")} - set(NO_SLOPE)


def test_importing_the_table_only_stores_rows_but_for_the_hot_ones() -> None:
    import subprocess
    import sys

    code = (
        "import gviz.engine, sys; from gviz.autograd.row import ROWS; from gviz.engine.fast import HOT;"
        "sys.exit(any('cls' in vars(row) for key, row in ROWS.items() if key not in HOT)"
        " or any(name in sys.modules for name in ('gviz.engine.nn', 'gviz.engine.optim', 'gviz.engine.linalg')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
