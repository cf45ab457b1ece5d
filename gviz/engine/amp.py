"""``torch.amp``: mixed precision on the CPU, in bfloat16; on a GPU it is off, as where there is none.

Within a block of ``autocast`` operations of some names get tensors of another dtype, cast by recorded operations.
Source: PyTorch's autocast_mode.cpp.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ContextDecorator
from functools import partial
from importlib import import_module
from typing import Any, ClassVar, Self

from gviz.autograd.row import TENSORS
from gviz.autograd.tensor import Tensor
from gviz.engine.device import Device, cuda, module
from gviz.numbers.dtypes import bfloat16, dtype, float16, float32, float64
from gviz.numbers.words import absent, refuse, warn
from gviz.signatures.names import Name

OFF = "{} is not in gviz's engine: say enabled=False for device 'cpu', or run with --engine torch"


LOWER = frozenset({
    "addbmm", "addmm", "baddbmm", "bmm", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d",
    "conv_transpose3d", "linear", "matmul", "mkldnn_rnn_layer", "mm", "prelu", "rmatmul",
    "scaled_dot_product_attention",
})  # fmt: skip
"""Names of operations that compute in the narrower dtype."""
SINGLE = frozenset({
    "adaptive_avg_pool3d", "avg_pool3d", "binary_cross_entropy", "binary_cross_entropy_with_logits", "cdist",
    "cholesky", "cholesky_ex", "cond", "cosine_embedding_loss", "cross_entropy", "ctc_loss", "eigh",
    "eigvalsh", "grid_sample", "hinge_embedding_loss", "huber_loss", "inv", "inverse", "kl_div", "l1_loss", "lstsq",
    "margin_ranking_loss", "matrix_rank", "max_pool3d", "mse_loss", "multi_margin_loss", "multilabel_margin_loss",
    "nanquantile", "nll_loss",
    "pinverse", "poisson_nll_loss", "prod", "qr", "quantile", "smooth_l1_loss", "soft_margin_loss", "solve", "svd",
    "svdvals", "trace", "triplet_margin_loss",
})  # fmt: skip
"""Names of operations that compute in float32."""
WIDEST = frozenset({"cat", "stack", "index_copy"})
"""Names of operations that compute in float32 if a tensor is of it."""
COMPOSED = "linear", "matmul", "mkldnn_rnn_layer"
"""Operations that others are composed of."""


class Casts:
    """What the block that is running casts to, None outside of one; and its casts of leaves, which it makes once.

    ``usual`` has the operations that others are composed of, as they are outside.
    """

    dtype: Any = None
    usual: ClassVar[dict[str, Any]] = {}
    kept: ClassVar[dict[int, tuple[Tensor, Tensor]]] = {}


def cast(value: object, kind: dtype) -> Any:
    """Return an argument with its tensors of real numbers, but of float64, in a dtype."""
    if isinstance(value, list | tuple) and any(isinstance(one, Tensor) for one in value):
        return [cast(one, kind) for one in value]
    if not isinstance(value, Tensor) or value.dtype in (float64, kind) or not value.dtype.is_floating_point:
        return value
    if kind is float32 or value.dtype is not float32 or not (value.requires_grad and value.is_leaf) or value._is_view():
        return TENSORS["to_dtype"](value, kind.np)
    if id(value) not in Casts.kept:
        Casts.kept[id(value)] = value, TENSORS["to_dtype"](value, kind.np)
    return Casts.kept[id(value)][1]


def with_casts(name: str, operation: Callable[..., Any], *values: object) -> Any:
    """Return what an operation gives of arguments that are cast as its name wants it; within it nothing is cast."""
    before, kind = Casts.dtype, Casts.dtype if name in LOWER else float32
    flat = [one for value in values for one in (value if isinstance(value, list | tuple) else [value])]
    if name in WIDEST and not any(getattr(one, "dtype", None) is float32 for one in flat):
        kind = before
    arguments = [cast(value, kind) for value in values]
    switch(None)
    try:
        return operation(*arguments)
    finally:
        switch(before)


def chosen(self: Name, args: tuple[Any, ...], kwargs: dict[str, Any], own: int = 0) -> tuple[Any, list[Any]]:
    """Return what a call of a public name calls within a block, and its arguments."""
    operation, values = USUAL(self, args, kwargs, own)
    is_cast = self.base in LOWER | SINGLE | WIDEST or (self.base == "pad" and values[2] in ("reflect", "replicate"))
    return partial(with_casts, self.base, operation) if is_cast else operation, values


USUAL = Name.chosen


def switch(kind: dtype | None) -> None:
    """Cast to a dtype from now on, or not at all: outside of a block no call does more than usual."""
    if (kind is None) != (Casts.dtype is None):
        Name.chosen = USUAL if kind is None else chosen  # type: ignore[method-assign]
        import_module("gviz.ops.recurrent")  # where one of the composed is
        for name in COMPOSED:
            own = Casts.usual.setdefault(name, TENSORS[name])
            TENSORS[name] = own if kind is None else partial(with_casts, name, own)
    Casts.dtype = kind


class autocast(ContextDecorator):
    """``torch.autocast``: a block, or a function, that computes in a narrower type where that is safe."""

    def __init__(
        self, device_type: str, dtype: object = None, enabled: bool = True, cache_enabled: object = None
    ) -> None:
        refuse(
            not isinstance(device_type, str),
            f"Expected `device_type` of type `str`, got: `{type(device_type)}`",
            ValueError,
        )
        self.device, self.fast_dtype, self._enabled = Device(device_type).type, dtype or bfloat16, False
        self.before: list[Any] = []
        if enabled and device_type == "cuda":
            warn("CUDA is not available or torch_xla is imported. Disabling autocast.")
        elif enabled and self.fast_dtype not in (bfloat16, float16):
            warn(
                f"In {device_type.upper()} autocast, but the target dtype is not supported. Disabling autocast.\n"
                f"{device_type.upper()} Autocast only supports dtypes of torch.bfloat16, torch.float16 currently."
            )
        else:
            self._enabled = enabled

    def __enter__(self) -> Self:
        refuse(
            self._enabled and self.fast_dtype is float16,
            OFF.format("autocast to torch.float16 on the CPU"),
            NotImplementedError,
        )
        self.before.append(Casts.dtype)
        if self.device == "cpu":
            switch(bfloat16 if self._enabled else None)
        return self

    def __exit__(self, *_: object) -> None:
        switch(self.before.pop())
        if Casts.dtype is None:
            Casts.kept.clear()


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Return whether a block of autocast is running for a device."""
    return device_type == "cpu" and Casts.dtype is not None


def get_autocast_dtype(device_type: str) -> Any:
    """Return what a block casts to on a device."""
    return bfloat16 if Device(device_type).type == "cpu" else float16


class GradScaler:
    """A scaler of losses that leaves them, and the steps of optimizers, as they are."""

    def __init__(self, device: str = "cuda", *_: float, enabled: bool = True, **__: float) -> None:
        refuse(enabled and device != "cuda", OFF.format("a GradScaler"), NotImplementedError)
        if enabled:
            warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.")

    step = staticmethod(lambda optimizer, *args, **kwargs: optimizer.step(*args, **kwargs))
    scale, update = staticmethod(lambda outputs: outputs), staticmethod(lambda new_scale=None: None)
    unscale_ = load_state_dict = staticmethod(lambda _: None)
    state_dict, get_scale, is_enabled = (
        staticmethod(dict[str, Any]),
        staticmethod(lambda: 1.0),
        staticmethod(lambda: False),
    )


def of_cuda(kind: Any, file: str, order: str) -> Any:
    """Return the class as ``torch.cuda.amp`` has it, with a warning and its own order.

    Give it and that PyTorch's places.
    """
    old, new = f"torch.cuda.amp.{kind.__name__}", f"torch.amp.{kind.__name__}"

    def begin(self: object, *args: object, **more: object) -> None:
        warn(f"`{old}(args...)` is deprecated. Please use `{new}('cuda', args...)` instead.", FutureWarning)
        kind.__init__(self, "cuda", **dict(zip(order.split(), args, strict=False)), **more)

    kind.__module__ = f"torch.amp.{file}"
    return type(kind.__name__, (kind,), {"__init__": begin, "__module__": f"torch.cuda.amp.{file}"})


vars(cuda)["amp"] = module(
    "cuda.amp",
    autocast=of_cuda(autocast, "autocast_mode", "enabled dtype cache_enabled"),
    GradScaler=of_cuda(GradScaler, "grad_scaler", "init_scale growth_factor backoff_factor growth_interval enabled"),
)
__getattr__ = absent("torch.amp")
