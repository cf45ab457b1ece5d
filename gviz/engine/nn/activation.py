"""Activations as modules: each is a function of ``functional.py`` with its options kept."""

from __future__ import annotations

from typing import Any, ClassVar

from gviz.engine.nn import functional as F
from gviz.engine.nn import init
from gviz.engine.nn.module import Module
from gviz.engine.nn.parameter import Parameter
from gviz.engine.tensor import Tensor, from_array


class Activation(Module):
    """One function; ``options`` are its keyword arguments in order, with their defaults."""

    function: ClassVar[str]
    options: ClassVar[dict[str, Any]] = {}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        unknown = set(kwargs) - set(self.options)
        if unknown or len(args) > len(self.options):
            raise TypeError(
                f"{type(self).__name__}.__init__() got an unexpected keyword argument '{unknown.pop() if unknown else ''}'"
            )
        for name, value in {**self.options, **dict(zip(self.options, args, strict=False)), **kwargs}.items():
            setattr(self, name, value)

    def forward(self, input: Tensor) -> Any:
        """The function of the input."""
        return getattr(F, self.function)(input, **{name: getattr(self, name) for name in self.options})

    def extra_repr(self) -> str:
        """The options; ``inplace`` only where it is set."""
        return ", ".join(f"{n}={getattr(self, n)!r}" for n in self.options if n != "inplace" or self.inplace)


def declare(name: str, function: str, **options: Any) -> Any:
    """The module class of a function."""
    body = {
        "function": function,
        "options": options,
        "__module__": "torch.nn.modules.activation",
        "__doc__": f"``{function}``.",
    }
    return type(name, (Activation,), body)


ReLU = declare("ReLU", "relu", inplace=False)
ReLU6 = declare("ReLU6", "relu6", inplace=False)
SiLU = declare("SiLU", "silu", inplace=False)
SELU = declare("SELU", "selu", inplace=False)
Mish = declare("Mish", "mish", inplace=False)
Hardswish = declare("Hardswish", "hardswish", inplace=False)
Hardsigmoid = declare("Hardsigmoid", "hardsigmoid", inplace=False)
LeakyReLU = declare("LeakyReLU", "leaky_relu", negative_slope=0.01, inplace=False)
ELU = declare("ELU", "elu", alpha=1.0, inplace=False)
CELU = declare("CELU", "celu", alpha=1.0, inplace=False)
Hardtanh = declare("Hardtanh", "hardtanh", min_val=-1.0, max_val=1.0, inplace=False)
Threshold = declare("Threshold", "threshold", threshold=0.0, value=0.0, inplace=False)
GELU = declare("GELU", "gelu", approximate="none")
Softplus = declare("Softplus", "softplus", beta=1.0, threshold=20.0)
Sigmoid = declare("Sigmoid", "sigmoid")
Tanh = declare("Tanh", "tanh")
LogSigmoid = declare("LogSigmoid", "logsigmoid")
Softsign = declare("Softsign", "softsign")
Tanhshrink = declare("Tanhshrink", "tanhshrink")
Softmax = declare("Softmax", "softmax", dim=None)
LogSoftmax = declare("LogSoftmax", "log_softmax", dim=None)
Softmin = declare("Softmin", "softmin", dim=None)


class Shrink(Activation):
    """Base of the two that show their bound without its name."""

    options: ClassVar[dict[str, Any]] = {"lambd": 0.5}

    def extra_repr(self) -> str:
        """The bound."""
        return str(self.lambd)


class Hardshrink(Shrink):
    """Zero between the bounds."""

    function = "hardshrink"


class Softshrink(Shrink):
    """Towards zero by the bound."""

    function = "softshrink"


class PReLU(Module):
    """A leaky relu whose slope is learned."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(filled((num_parameters,), init))

    def forward(self, input: Tensor) -> Tensor:
        """``x`` where it is positive, else its product with the slope."""
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """The number of slopes."""
        return f"num_parameters={self.num_parameters}"


def filled(shape: tuple[int, ...], value: float = 0.0, dtype: Any = None) -> Tensor:
    """A tensor of one value."""
    import numpy as np

    from gviz.engine.dtypes import as_dtype, get_default_dtype

    return init.constant_(from_array(np.empty(shape, (as_dtype(dtype) if dtype else get_default_dtype()).np), None), value)
