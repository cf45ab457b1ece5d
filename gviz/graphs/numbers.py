"""The numbers of a tensor as data: all elements of a small one, and of each one its norm and extremes."""

from __future__ import annotations

import cmath
import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Self, TypeAlias

Element: TypeAlias = float | int | bool | str
"""A number; a complex one is its text."""

Sizes: TypeAlias = tuple[int | str | None, ...]
"""The lengths of a shape. One that a static graph does not know is None, one that PyTorch only has a name for is that name."""

NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
"""The texts that JSON has for what is no finite number. All nan are one object, so that equal numbers are equal."""


INFINITE = (math.inf, -math.inf)


FEW_ELEMENTS = 256
"""Elements of a tensor that are listed; of a larger one there is a summary alone, unless more are asked for."""

ALL_ELEMENTS = 1_000_000
"""The same where all are asked for: nobody reads more."""


class Summary(NamedTuple):
    """A summary of a tensor's elements, as PyTorch's functions of these names give it: nan if one of them is nan.

    Args:
        norm: the square root of the sum of the squares.
        smallest: the smallest number.
        largest: the largest number.
        mean: their mean.
        zeros: how many are 0.
        nans: how many are nan.
        infs: how many are inf or -inf.
    """

    norm: float = 0.0
    smallest: float = math.nan
    largest: float = math.nan
    mean: float = math.nan
    zeros: int = 0
    nans: int = 0
    infs: int = 0


class Numbers(NamedTuple):
    """The numbers of a tensor. What has no numbers, such as a tensor on the device meta, has a shape and a dtype alone.

    Args:
        shape: sizes; None where a static graph does not know even how many there are.
        dtype: as in ``float32``; "" where it is not known.
        elements: all of them, the last index running fastest; None if they are many, or none is known.
        about: what they come to, of those that are not listed; None where elements tell it, or nothing is known.
    """

    shape: Sizes | None = ()
    dtype: str = ""
    elements: tuple[Element, ...] | None = None
    about: Summary | None = None

    @classmethod
    def of(cls, nested: object, dtype: str = "") -> Self:
        """Return the numbers of a number, or of nested lists of numbers, in which nan and infinities may be texts.

        >>> Numbers.of([[1.0, 2.0], [3.0, "nan"]])
        Numbers(shape=(2, 2), dtype='', elements=(1.0, 2.0, 3.0, nan), about=None)
        """
        shape, rows = [], [nested]
        while rows and all(isinstance(row, list | tuple) for row in rows):
            lengths = {len(row) for row in rows}  # type: ignore[arg-type]
            if len(lengths) > 1:
                raise ValueError("nested lists of numbers have one length on each level")
            shape.append(lengths.pop())
            rows = [item for row in rows for item in row]  # type: ignore[attr-defined]
        if any(isinstance(row, list | tuple) for row in rows):
            raise ValueError("nested lists of numbers have one depth everywhere")
        return cls(tuple(shape), dtype, elements_of(rows))

    @property
    def is_known(self) -> bool:
        """Whether there are numbers, and not only a shape."""
        return self.elements is not None or self.about is not None

    @property
    def numel(self) -> int:
        """How many elements there are; lengths that are not known count as none."""
        return math.prod(size if isinstance(size, int) else 0 for size in self.shape or ())

    @property
    def summary(self) -> Summary:
        """What the numbers come to."""
        if self.about is not None:
            return self.about
        return summary_of(self.elements or ())

    @property
    def fault(self) -> str:
        """What makes it impossible, in words; "" if nothing does."""
        sizes = self.shape or ()
        if any(isinstance(size, int) and size < 0 for size in sizes):
            return f"has the sizes {list(sizes)}"
        if self.elements is not None and len(self.elements) != self.numel:
            return f"has {len(self.elements)} elements for the sizes {list(sizes)}"
        return ""

    @property
    def norm(self) -> float:
        """The square root of the sum of the squares."""
        return self.summary.norm

    @property
    def is_finite(self) -> bool:
        """Whether none of them is nan or inf."""
        if self.about is not None:
            return not (self.about.nans or self.about.infs)
        return all(cmath.isfinite(number) for number in _amounts(self.elements or ()))

    @property
    def has_nan(self) -> bool:
        """Whether one of them is nan."""
        return self.summary.nans > 0

    @property
    def not_finite(self) -> str:
        """The first number that is not finite, as a text; ``nan``, then ``inf``, then ``-inf`` if they are not listed.

        "" for none.
        """
        if self.about is not None:
            return "nan" * bool(self.about.nans) or next(
                (str(one) for one in (self.about.largest, self.about.smallest) if math.isinf(one)),
                "inf" * bool(self.about.infs),  # of complex ones, which have neither
            )
        return next(
            (str(item) for item in self.elements or () if isinstance(item, float) and not math.isfinite(item)), ""
        )

    def has_only(self, number: float) -> bool:
        """Return whether there are numbers, and each of them is this one.

        >>> Numbers.of([0.0, 0.0]).has_only(0), Numbers.of([]).has_only(0), Numbers((2,)).has_only(0)
        (True, False, False)
        """
        if self.elements is not None:
            return bool(self.elements) and all(item == number for item in self.elements)
        return self.about is not None and self.about.smallest == number == self.about.largest

    def nested(self, elements: Iterable[Any] | None = None) -> Any:
        """Return a number, or nested lists of numbers, as ``tolist()`` does; None if the elements are not listed.

        Args:
            elements: what stands in the places of the numbers; None for the numbers themselves.
        """
        if self.elements is None:
            return None
        items, sizes = (
            list[Any](self.elements if elements is None else elements),
            [size for size in self.shape or () if isinstance(size, int)],
        )
        for at in range(len(sizes) - 1, 0, -1):
            items = [items[row * sizes[at] : (row + 1) * sizes[at]] for row in range(math.prod(sizes[:at]))]
        return items if sizes else items[0]

    def jsonable(self) -> Any:
        """Return a number, or nested lists of numbers, nan and infinities as texts.

        Of numbers that are not listed it is the shape and the summary.
        """
        if self.elements is not None:
            return self.nested(str(item) if item != item or item in INFINITE else item for item in self.elements)  # noqa: PLR0124 - true for nan alone
        if self.about is None:
            return None
        facts = ((name, str(fact) if not math.isfinite(fact) else fact) for name, fact in self.about._asdict().items())
        return {"shape": list(self.shape or ()), **dict(facts)}


def elements_of(items: Iterable[object]) -> tuple[Any, ...]:
    """Return elements as numbers keep them: each nan is the same object, a complex number is its text."""
    listed: tuple[Any, ...] = tuple(items)
    if {*map(type, listed)} == {float} and not math.isnan(sum(listed)):  # most; the rest takes five times as long
        return listed
    return tuple(
        [
            NOT_FINITE[item]
            if isinstance(item, str) and item in NOT_FINITE
            else str(item)
            if isinstance(item, complex)
            else math.nan
            if item != item  # noqa: PLR0124 - true for nan alone
            else item
            for item in listed
        ]
    )


def summary_of(items: Sequence[Element]) -> Summary:
    """Return the summary of listed elements; complex ones have a norm and no order, words count as none.

    >>> summary_of([3.0, 0.0, -4.0])
    Summary(norm=5.0, smallest=-4.0, largest=3.0, mean=-0.3333333333333333, zeros=1, nans=0, infs=0)
    >>> summary_of(["(3+4j)", "0j"]).norm
    5.0
    """
    if not items:
        return Summary()
    real = [item for item in items if not isinstance(item, str)]
    amounts = real if len(real) == len(items) else [abs(number) for number in _amounts(items)]
    nans, infs = sum(map(math.isnan, amounts)), sum(map(math.isinf, amounts))
    norm = math.nan if nans else math.hypot(*amounts)
    low = high = mean = math.nan
    if len(real) == len(items) and not nans:
        low, high, mean = float(min(real)), float(max(real)), sum(real) / len(real)
    return Summary(norm, low, high, mean, sum(not amount for amount in amounts), nans, infs)


def _amounts(items: Iterable[Element]) -> list[complex]:
    """Return the numbers among elements; the words of a static graph's string tensor are none."""
    amounts = []
    for item in items:
        try:
            amounts.append(complex(item))
        except ValueError:  # such a word
            continue
    return amounts


def size_of(numbers: Numbers | None) -> tuple[int, ...]:
    """Return the sizes of a tensor as far as they are known; those of a number for None."""
    return tuple([size for size in (numbers.shape or ()) if isinstance(size, int)]) if numbers is not None else ()
