"""``torch.amp``: what scripts say of mixed precision where it is off, as without a GPU.

The engine has none that is on.
"""

from __future__ import annotations

from contextlib import ContextDecorator
from typing import Any, Self

from gviz.engine.device import Device, cuda, module
from gviz.numbers.dtypes import bfloat16, float16
from gviz.numbers.words import absent, refuse, warn

OFF = "{} is not in gviz's engine: say enabled=False for device 'cpu', or run with --engine torch"


class autocast(ContextDecorator):
    """``torch.autocast``: a block, or a function, that would compute in a narrower type."""

    def __init__(
        self, device_type: str, dtype: object = None, enabled: bool = True, cache_enabled: object = None
    ) -> None:
        refuse(
            not isinstance(device_type, str),
            f"Expected `device_type` of type `str`, got: `{type(device_type)}`",
            ValueError,
        )
        self.device, self.fast_dtype, self._enabled = Device(device_type).type, dtype or bfloat16, False
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
        refuse(self._enabled, OFF.format(f"autocast, which computes in {self.fast_dtype},"), NotImplementedError)
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing was changed."""


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
