"""``torch.testing``: tensors, numbers and collections of them compared, with an error that says where they differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gviz.autograd.tensor import Tensor
from gviz.numbers import dtypes, printing
from gviz.numbers.words import absent, refuse

__all__ = ["assert_close"]

TOLERANCES = {
    np.dtype(np.float16): (1e-3, 1e-5), np.dtype(np.float32): (1.3e-6, 1e-5), np.dtype(np.float64): (1e-7, 1e-7),
}  # fmt: skip
"""How far two numbers may be apart, as a share of the second and as a number; whole numbers may not."""


def assert_close(
    actual: object,
    expected: object,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_dtype: bool = True,
    msg: str | Callable[[str], str] | None = None,
    **_: object,
) -> None:
    """Compare; collections item by item. AssertionError: they are not close, with the places where."""
    options: dict[str, Any] = {"rtol": rtol, "atol": atol, "equal_nan": equal_nan, "check_dtype": check_dtype}
    pairs = [(actual, expected, "")]
    while pairs:
        one, other, place = pairs.pop()
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            pairs += [(one[key], other[key], f"{place}[{key!r}]") for key in sorted(other, key=str, reverse=True)]
        elif isinstance(one, Sequence) and isinstance(other, Sequence) and not isinstance(one, str):
            refuse(
                len(one) != len(other),
                f"The length of the sequences mismatch: {len(one)} != {len(other)}",
                AssertionError,
            )
            pairs += [(one[i], other[i], f"{place}[{i}]") for i in reversed(range(len(other)))]
        elif text := difference(one, other, **options):
            text += f"\n\nThe failure occurred for item {place}" * bool(place)
            raise AssertionError(msg(text) if callable(msg) else msg or text)


def difference(
    one: object, other: object, rtol: float | None, atol: float | None, equal_nan: bool, check_dtype: bool
) -> str:
    """Return in words how two tensors, or two numbers, differ; "" if they are close."""
    if one is None or other is None:
        return "" if one is other else f"None mismatch: {one} is not {other}"
    kinds = {"tensor" if isinstance(value, Tensor) else "number" for value in (one, other)}
    refuse(
        len(kinds) > 1 or not isinstance(one, Tensor | bool | int | float),
        f"No comparison pair was able to handle inputs of type {type(one)} and {type(other)}.",
        TypeError,
    )
    a, b = (value._array if isinstance(value, Tensor) else np.asarray(value) for value in (one, other))
    if a.shape != b.shape:
        return f"The values for attribute 'shape' do not match: {printing.Size(a.shape)} != {printing.Size(b.shape)}."
    if check_dtype and kinds == {"tensor"} and a.dtype != b.dtype:
        return f"The values for attribute 'dtype' do not match: {dtypes.of(a.dtype)} != {dtypes.of(b.dtype)}."
    usual = [TOLERANCES.get(array.dtype, (0, 0)) for array in (a, b)]
    rtol, atol = (max(pair[i] for pair in usual) if value is None else value for i, value in enumerate((rtol, atol)))
    wide = np.result_type(a, b, np.int64) if a.dtype.kind == "b" else np.result_type(a, b)
    a, b = a.astype(wide), b.astype(wide)
    wrong = ~np.isclose(a, b, rtol, atol, equal_nan)
    if not wrong.any():
        return ""
    apart = np.where(wrong, np.abs(a - b), 0)
    with np.errstate(all="ignore"):
        whole = wide.kind not in "fc" and kinds == {"tensor"}
        share = (apart / np.abs(b)).astype(np.float32 if whole else apart.dtype if wide.kind in "fc" else np.float64)
    is_exact, lines = rtol == atol == 0, []
    for name, values, allowed in (("absolute", apart, atol), ("relative", np.where(wrong, share, 0), rtol)):
        place = tuple(int(n) for n in np.unravel_index(values.argmax(), values.shape))
        where = f" at index {place}" if a.ndim else ""
        lines.append(
            f"{name} difference: {values[place].item()}{where}{'' if is_exact else f' (up to {allowed} allowed)'}"
        )
    verdict = f"are not {'equal' if is_exact else 'close'}!"
    if not a.ndim:
        numbers = f"Expected {b.item()} but got {a.item()}."
        return "\n".join([f"Scalars {verdict}\n", numbers, *(line.capitalize() for line in lines)])
    count = f"Mismatched elements: {wrong.sum()} / {wrong.size} ({wrong.mean():.1%})"
    return "\n".join([f"Tensor-likes {verdict}\n", count, *(f"Greatest {line}" for line in lines)])


__getattr__ = absent("torch.testing")
