"""``torch.distributions.constraints``: what values have to satisfy, each a name and a check."""

from __future__ import annotations

from typing import Any, NamedTuple

from gviz import engine
from gviz.autograd.tensor import Tensor
from gviz.numbers.words import absent

torch: Any = engine


class Constraint(NamedTuple("Constraint", [("name", str), ("check", Any), ("event_dim", int)])):
    """A constraint, which prints as its name; the last dims of a value are checked together."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self.name)


def interval(lower_bound: Tensor | float, upper_bound: Tensor | float, whole: bool = False) -> Any:
    """Return the constraint to lie between two values, both included, and to be a whole number."""
    return Constraint(
        f"{'Integer' * whole}Interval(lower_bound={lower_bound}, upper_bound={upper_bound})",
        lambda x: (lower_bound <= x) & (x <= upper_bound) & (not whole or x % 1 == 0),
        0,
    )


def integer_interval(lower_bound: Tensor | float, upper_bound: Tensor | float) -> Any:
    """Return the constraint to be a whole number between two, both included."""
    return interval(lower_bound, upper_bound, True)


def greater_than(lower_bound: Tensor | float) -> Any:
    """Return the constraint to be above a value."""
    return Constraint(f"GreaterThan(lower_bound={lower_bound})", lambda x: lower_bound < x, 0)


def greater_than_eq(lower_bound: Tensor | float) -> Any:
    """Return the constraint to be at least a value."""
    return Constraint(f"GreaterThanEq(lower_bound={lower_bound})", lambda x: lower_bound <= x, 0)


def half_open_interval(lower_bound: Tensor | float, upper_bound: Tensor | float) -> Any:
    """Return the constraint to lie between two values, the upper one not included."""
    return Constraint(
        f"HalfOpenInterval(lower_bound={lower_bound}, upper_bound={upper_bound})",
        lambda x: (lower_bound <= x) & (x < upper_bound),
        0,
    )


def less_than(upper_bound: Tensor | float) -> Any:
    """Return the constraint to be below a value."""
    return Constraint(f"LessThan(upper_bound={upper_bound})", lambda x: x < upper_bound, 0)


def independent(base_constraint: Constraint, reinterpreted_batch_ndims: int) -> Any:
    """Return the constraint that all values along the last dims satisfy another."""
    count = reinterpreted_batch_ndims
    return Constraint(
        f"IndependentConstraint({base_constraint}, {count})",
        lambda x: (result := base_constraint.check(x)).reshape((*result.shape[: result.dim() - count], -1)).all(-1),
        base_constraint.event_dim + count,
    )


def is_positive_definite(x: Tensor) -> Any:
    """Say whether matrices are symmetric, and have positive eigenvalues."""
    symmetric = torch.isclose(x, x.mT, atol=1e-6).all(-2).all(-1)
    return symmetric & (torch.linalg.eigvalsh(x.detach()) > 0).all(-1) if symmetric.all() else symmetric


real = Constraint("Real()", lambda x: ~x.isnan(), 0)
positive, nonnegative, unit_interval = greater_than(0.0), greater_than_eq(0.0), interval(0.0, 1.0)
boolean = Constraint("Boolean()", lambda x: (x == 0) | (x == 1), 0)
nonnegative_integer = Constraint("IntegerGreaterThan(lower_bound=0)", lambda x: (x % 1 == 0) & (x >= 0), 0)
simplex = Constraint("Simplex()", lambda x: (x >= 0).all(-1) & ((x.sum(-1) - 1).abs() < 1e-6), 1)
one_hot = Constraint("OneHot()", lambda x: boolean.check(x).all(-1) & x.sum(-1).eq(1), 1)
real_vector = independent(real, 1)
lower_cholesky = Constraint(
    "LowerCholesky()", lambda x: (x.tril() == x).all(-1).all(-1) & (x.diagonal(0, -2, -1) > 0).all(-1), 2
)
positive_definite = Constraint("PositiveDefinite()", is_positive_definite, 2)

__getattr__ = absent("torch.distributions.constraints")
