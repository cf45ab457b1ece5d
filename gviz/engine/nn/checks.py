"""What functions of ``nn.functional`` refuse, in PyTorch's words: each check raises what PyTorch raises for that function."""

from __future__ import annotations

import sys
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from gviz.numbers.classes import MIXED, is_pytorchs, type_text
from gviz.numbers.dtypes import of
from gviz.numbers.words import type_name, warn
from gviz.autograd.row import NUMBERS
from gviz.autograd.modes import mode
from gviz.autograd.tensor import Tensor


def check_dim(name: str, dim: Any) -> None:
    """Whether a dim that was given is an integer."""
    if dim is not None and (isinstance(dim, bool) or not isinstance(dim, int | np.integer)):
        raise TypeError(f"{name}(): argument 'dim' (position 1) must be int, not {type_text(dim)}")


def check_numbers(function: str, **numbers: Any) -> None:
    """Refuse options that are no numbers: a tensor is one if it has no dimensions and no gradient."""
    for i, (name, value) in enumerate(numbers.items()):
        tensor = isinstance(value, Tensor)
        if (value._array.ndim or value.requires_grad) if tensor else not isinstance(value, NUMBERS):
            given = type_text(value)
            raise TypeError(f"{function}(): argument '{name}' (position {i + 2}) must be Number, not {given}")


def check_floats(function: str, **numbers: Any) -> None:
    """Whether what a method is given are real numbers, or tensors of one."""
    for i, (name, value) in enumerate(numbers.items()):
        if not isinstance(value, float | int | np.number) and not (isinstance(value, Tensor) and not value._array.ndim):
            given = type(value).__name__
            raise TypeError(f"{function}(): argument '{name}' (position {i + 1}) must be float, not {given}")


def check_sizes(function: str, parameter: str, sizes: Any) -> None:
    """Whether sizes are integers, the second argument of a built-in function."""
    start = f"{function}(): argument '{parameter}' (position 2) must be tuple of ints, "
    if isinstance(sizes, list | tuple):
        for i, size in enumerate(sizes):
            if size is not None and not hasattr(size, "__index__"):
                raise TypeError(f"{start}but found element of type {type_text(size)} at pos {i}")
    elif not hasattr(sizes, "__index__"):
        raise TypeError(f"{start}not {type_text(sizes)}")


def check_shape(name: str, shape: Any) -> None:
    """Whether a ``normalized_shape`` consists of integers."""
    start = f"{name}(): argument 'normalized_shape' (position 2) must be tuple of ints, "
    if not isinstance(shape, tuple | list):
        raise TypeError(f"{start}not {type_text(shape)}")
    for i, size in enumerate(shape):
        if not isinstance(size, int | np.integer):
            raise TypeError(f"{start}but found element of type {type_text(size)} at pos {i}")


def check_steps(dims: int, **sizes: Any) -> None:
    """The stride, padding and dilation of a convolution, each a number or one per dimension."""
    for name, size in sizes.items():
        if isinstance(size, tuple | list) and len(size) not in (1, dims):
            raise RuntimeError(
                f"expected {name} to be a single integer value or a list of {dims} values to match the convolution dimensions, "
                f"but got {name}={list(size)}"
            )
    padding, stride = sizes["padding"], sizes["stride"]
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise RuntimeError(f"Invalid padding string: '{padding}'")
        if padding == "same" and np.any(np.asarray(stride) != 1):
            raise RuntimeError("padding='same' is not supported for strided convolutions")
    elif np.any(np.asarray(padding) < 0):
        raise RuntimeError("negative padding is not supported")
    if np.any(np.asarray(stride) <= 0):
        raise RuntimeError("non-positive stride is not supported")
    if np.any(np.asarray(sizes["dilation"]) <= 0):
        full = list(sizes["dilation"] if isinstance(sizes["dilation"], tuple | list) else (sizes["dilation"],) * dims)
        told = "" if min(full) < 0 else f", but got {[1] * (2 - dims) + full}"  # one dimension is made two before that is seen
        raise RuntimeError(f"dilation should be greater than zero{told}")


def check_one_type(input: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    """Whether the tensors of a convolution have one dtype."""
    taken, held = of(input._array.dtype), of(weight._array.dtype)
    if bias is not None and of(bias._array.dtype) is not taken:
        other = of(bias._array.dtype)
        raise RuntimeError(f"Input type ({taken.c_name}) and bias type ({other.c_name}) should be the same")
    if taken is not held:
        raise RuntimeError(f"expected scalar type {taken.scalar_name} but found {held.scalar_name}")


def check_output_padding(padding: tuple[int, ...], stride: tuple[int, ...], dilation: tuple[int, ...]) -> None:
    """Whether what a transposed convolution adds at the end is less than a step."""
    if any(p >= s and p >= d for p, s, d in zip(padding, stride, dilation, strict=True)):
        names = ("depth", "height", "width")[-len(padding) :]
        told = " ".join(
            f"{what}_{name}: {size}"
            for what, sizes in (("output_padding", padding), ("stride", stride), ("dilation", dilation))
            for name, size in zip(names, sizes, strict=True)
        )
        raise RuntimeError(f"output padding must be smaller than either stride or dilation, but got {told}")


def check_constant(function: str, **tensors: Tensor | None) -> None:
    """Whether what has no derivative requires none."""
    for name, tensor in tensors.items():
        if tensor is not None and mode.on and tensor.requires_grad:
            raise RuntimeError(
                f"The function '{function}' is not differentiable with respect to argument '{name}'. This input cannot have "
                "requires_grad True."
            )


def check_classes(input: Tensor, target: Tensor, weight: Tensor | None) -> None:
    """The classes, and what each weighs, of the negative log likelihood."""
    sizes, rank, kind = input._array.shape, target._array.ndim, target._array.dtype
    flat = len(sizes) <= 2
    if len(sizes) == 1 == rank and target._array.size != 1:
        raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {target._array.size}")
    if flat and rank > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if len(sizes) == 4 and rank != 3:
        raise RuntimeError(f"only batches of spatial targets supported (3D tensors) but got targets of dimension: {rank}")
    if weight is not None:
        classes, shape = sizes[-1 if flat else 1], weight._array.shape
        if flat and shape != (classes,):
            raise RuntimeError(
                f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of "
                f"shape: {list(shape)}"
            )
        if weight._array.size != classes:
            raise RuntimeError("weight tensor should be defined either for all or no classes")
    if kind not in (np.int64, np.uint8):
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {of(kind).scalar_name}")
    if weight is not None and weight._array.dtype != input._array.dtype:
        wanted, found = of(input._array.dtype).scalar_name, of(weight._array.dtype).scalar_name
        raise RuntimeError(f"expected scalar type {wanted} but found {found}")


def check_slopes(input: Tensor, weight: Tensor) -> None:
    """The slopes of ``prelu``: one, or one per channel."""
    if input.dtype is not weight.dtype:
        raise RuntimeError(f"prelu: Type promoting not supported. Got {input.dtype.scalar_name} and {weight.dtype.scalar_name}")
    channels = input._array.shape[1] if input._array.ndim > 1 else 1
    if weight._array.size != 1 and not input._array.ndim:
        raise RuntimeError("Not allow zero-dim input tensor.")
    if weight._array.size not in (1, channels):
        raise RuntimeError(
            f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {weight._array.size} and channel "
            f"size = {channels}."
        )
    if weight._array.ndim > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight._array.ndim}")


def check_bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    """The sizes of two inputs and their matrices."""
    one, two, held = input1._array.shape, input2._array.shape, weight._array.shape
    if len(one) != len(two):
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {len(one)} and {len(two)}")
    for i, (a, b) in enumerate(zip(one[:-1], two[:-1], strict=True)):
        if a != b:
            raise RuntimeError(f"bilinear(): input batch dimensions do not match at dim {i}: got {a} and {b}")
    pairs = [("input1", one[-1], held[1]), ("input2", two[-1], held[2])]
    for name, got, wanted in [*pairs, *([] if bias is None else [("bias", bias._array.shape[0], held[0])])]:
        if got != wanted:
            raise RuntimeError(f"bilinear(): {name} size does not match weight size: got {got} but expected {wanted}")


MODES = "nearest | linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact"
EDGES = ("D", "H", "W")


def check_spaces(sizes: tuple[int, ...], size: Any, scale_factor: Any) -> None:
    """Whether ``interpolate`` is told as many sizes, or factors, as there are dimensions."""
    given = size if scale_factor is None else scale_factor
    what, told, last, k = (
        ("output", "output size of", "output size", "o")
        if scale_factor is None
        else ("scale_factor", "scale_factor of shape", "scale_factor", "s")
    )
    if isinstance(given, tuple | list) and len(given) != len(sizes):
        raise ValueError(
            f"Input and {what} must have the same number of spatial dimensions, but got input with spatial dimensions of "
            f"{list(sizes)} and {told} {given}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and {last} in "
            f"({k}1, {k}2, ...,{k}K) format."
        )


def check_resized(rank: int, mode: str, sizes: tuple[int, ...], out: tuple[int, ...], *, antialias: bool) -> None:
    """Whether ``interpolate`` has that mode for so many dimensions, and what is made is not empty."""
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and rank == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input"
        )
    wanted = {"linear": 3, "bilinear": 4, "trilinear": 5}.get(mode, rank)
    if rank != wanted and rank in (3, 4, 5):
        raise NotImplementedError(f"Got {rank}D input, but {mode} mode needs {wanted}D input")
    if rank not in (3, 4, 5) or mode not in MODES.split(" | ") or (mode in ("bicubic", "lanczos") and rank != 4):
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {rank}D) for the modes: {MODES} (got {mode})"
        )
    if mode != "area" and (min(out) <= 0 or min(sizes) <= 0):
        names = EDGES[-len(sizes) :]
        ours, theirs = (", ".join(f"{n}: {size}" for n, size in zip(names, all_, strict=True)) for all_ in (sizes, out))
        told = f"({ours}) and output ({theirs})" if len(sizes) == 1 else f"({ours}) output ({theirs})"
        raise RuntimeError(f"Input and output sizes should be greater than 0, but got input {told}")


def check_space(name: str, dims: int, input: Tensor, **sizes: Any) -> None:
    """What a pooling over so many dimensions is given."""
    for label, size in sizes.items():
        if isinstance(size, tuple | list) and len(size) not in (1, dims) and (size or label != "stride"):
            must = "be" if name == "avg_pool3d" else "be either" if label == "dilation" else "either be"
            omitted, ints = "omitted, " * (label == "stride"), {2: "two", 3: "three"}[dims]
            raise RuntimeError(f"{name}: {label} must {must} {omitted}a single int, or a tuple of {ints} ints")
    rank = input._array.ndim
    if name == "avg_pool2d" and rank < 3:
        raise IndexError(f"Dimension out of range (expected to be in range of [-{rank}, {rank - 1}], but got -3)")
    if name == "avg_pool2d" and rank > 4:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:"
            f"{list(input._array.shape)}"
        )
    if rank not in (dims + 1, dims + 2):
        raise RuntimeError(f"non-empty {dims + 1}D or {dims + 2}D (batch mode) tensor expected for input")


def check_sequence(name: str, input: Any, hx: Any, input_size: int) -> None:
    """The dimensions of what a recurrent layer is given."""
    rank = input._array.ndim
    if rank not in (2, 3):
        raise ValueError(f"{name}: Expected input to be 2D or 3D, got {rank}D {'tensor ' if name == 'RNN' else ''}instead")
    if hx is not None and hx._array.ndim != rank:
        told = "batched 3-D" if rank == 3 else "unbatched 2-D"
        raise RuntimeError(f"For {told} input, hx should also be {rank}-D but got {hx._array.ndim}-D tensor")
    if input._array.shape[-1] != input_size:
        raise RuntimeError(f"input.size(-1) must be equal to input_size. Expected {input_size}, got {input._array.shape[-1]}")


# ------------------------------------------------------------------ what layers are made with
def check_bounds(min_val: float, max_val: float, **_: Any) -> None:
    """Those of a ``Hardtanh``."""
    if max_val <= min_val:
        raise AssertionError(f"max_val ({max_val}) must be greater than min_val ({min_val})")


def check_margin(p: int, weight: Tensor | None = None, **_: Any) -> None:
    """The power of a loss of margins."""
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight._array.ndim != 1:
        raise ValueError(f"MultiMarginLoss: expected weight to be None or 1D tensor, got {weight._array.ndim}D instead")


def check_inputs(in1_features: int, **_: Any) -> None:
    """The size of the first input of a ``Bilinear``."""
    if in1_features <= 0:
        raise ValueError(f"in1_features must be > 0, but got (in1_features={in1_features})")


def check_unflattened(unflattened_size: Any, **_: Any) -> None:
    """The sizes that an ``Unflatten`` makes of one."""
    if not isinstance(unflattened_size, tuple | list):
        raise TypeError(f"unflattened_size must be a tuple of ints, but found type {type(unflattened_size).__name__}")
    for i, size in enumerate(unflattened_size):
        if not isinstance(size, int):
            raise TypeError(
                f"unflattened_size must be tuple of ints, but found element of type {type(size).__name__} at pos {i}"
            )


def check_remembering(
    input_size: Any, hidden_size: Any, num_layers: int, bias: Any, batch_first: Any, dropout: Any, **_: Any
) -> None:
    """The options of a recurrent layer."""
    if not isinstance(dropout, int | float) or not 0 <= dropout <= 1 or isinstance(dropout, bool):
        raise ValueError("dropout should be a number in range [0, 1] representing the probability of an element being zeroed")
    if dropout > 0 and num_layers == 1:
        warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers "
            f"greater than 1, but got dropout={dropout} and num_layers=1"
        )
    for name, flag in (("bias", bias), ("batch_first", batch_first)):
        if not isinstance(flag, bool):
            raise TypeError(f"{name} should be of type bool, got: {type(flag).__name__}")
    for name, size in (("input_size", input_size), ("hidden_size", hidden_size), ("num_layers", num_layers)):
        if not isinstance(size, int) and name != "num_layers":
            raise TypeError(f"{name} should be of type int, got: {type(size).__name__}")
        if size <= 0:
            raise ValueError(f"{name} must be greater than zero")


def check_delta(delta: Any, **_: Any) -> None:
    """Where a ``HuberLoss`` becomes linear."""
    if not isinstance(delta, float | int):
        raise TypeError(f"delta must be a float or int, got: {type(delta)}")


def positive_margin(name: str) -> Any:
    """A check of the margin of a loss of three."""

    def check(margin: Any, **_: Any) -> None:
        if margin <= 0:
            raise ValueError(f"{name}: expected margin to be greater than 0, got {margin} instead")

    return check


LAYER_CHECKS: dict[str, Any] = {
    "Hardtanh": check_bounds, "MultiMarginLoss": check_margin, "Bilinear": check_inputs, "Unflatten": check_unflattened,
    "RNNBase": check_remembering, "HuberLoss": check_delta,
    **{name: positive_margin(name) for name in ("TripletMarginLoss", "TripletMarginWithDistanceLoss")},
}  # fmt: skip
"""What some layers refuse of their options, by the class that does so in PyTorch."""


def kind_name(value: Any) -> str:
    """What PyTorch calls the type of a value."""
    if isinstance(value, Tensor):
        return type_name(value._array.dtype)
    if isinstance(value, MethodType) and isinstance(value.__self__, Tensor):
        return f"Tensor.{value.__name__}"
    if isinstance(value, FunctionType) and value.__module__.startswith("gviz.engine"):
        engine, name = vars(sys.modules["gviz.engine"]), value.__name__
        if (family := name.partition("_")[0]) in {"linalg", "special"}:
            return f"torch._C._{family}.{name}"
        own = engine.get(name) is value or name in engine["FUNCTIONAL"]
        return f"torch.{'_VariableFunctionsClass' if own else 'nn.functional'}.{name}"
    named = value if hasattr(value, "__qualname__") or hasattr(value, "__name__") else type(value)
    home = getattr(named, "__module__", "") or ""
    mixed = f" of PyTorch ({MIXED})" if is_pytorchs(type(value)) else ""
    return (getattr(named, "__qualname__", "") if home in {"", "builtins"} else f"{home}.{named.__qualname__}") + mixed
