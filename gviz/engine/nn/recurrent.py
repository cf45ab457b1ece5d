"""Recurrent cells: one step of a network that remembers, made of linear layers as PyTorch makes it."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from gviz.engine.nn import functional as F
from gviz.engine.nn import init
from gviz.engine.nn.activation import filled
from gviz.engine.nn.module import Module
from gviz.engine.nn.parameter import Parameter
from gviz.engine.op import TENSORS as call
from gviz.engine.tensor import Tensor, from_array


class Cell(Module):
    """Base of the cells: weights for ``gates`` linear maps of the input and of the state."""

    gates: ClassVar[int]

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = self.gates * hidden_size
        self.weight_ih = Parameter(filled((rows, input_size), 0, dtype))
        self.weight_hh = Parameter(filled((rows, hidden_size), 0, dtype))
        self.register_parameter("bias_ih", Parameter(filled((rows,), 0, dtype)) if bias else None)
        self.register_parameter("bias_hh", Parameter(filled((rows,), 0, dtype)) if bias else None)
        bound = 1.0 / math.sqrt(hidden_size) if hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def maps(self, input: Tensor, hidden: Tensor) -> tuple[Any, Any]:
        """The linear maps of the input and of the state."""
        return F.linear(input, self.weight_ih, self.bias_ih), F.linear(hidden, self.weight_hh, self.bias_hh)

    def zeros(self, input: Tensor) -> Tensor:
        """The state to begin with."""
        return from_array(np.zeros((*input._array.shape[:-1], self.hidden_size), input._array.dtype), None)

    def extra_repr(self) -> str:
        """The sizes."""
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else f", bias={self.bias}")


class RNNCell(Cell):
    """``tanh(W x + b + U h + c)``, or relu."""

    gates = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Any:
        """The next state."""
        of_input, of_state = self.maps(input, self.zeros(input) if hx is None else hx)
        return call["tanh" if self.nonlinearity == "tanh" else "relu"](of_input + of_state)

    def extra_repr(self) -> str:
        """The sizes, and the function where it is not tanh."""
        return super().extra_repr() + ("" if self.nonlinearity == "tanh" else f", nonlinearity={self.nonlinearity}")


class LSTMCell(Cell):
    """A cell with gates for what to take in, forget and put out."""

    gates = 4

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> Any:
        """The next state and memory."""
        hidden, memory = (self.zeros(input),) * 2 if hx is None else hx
        of_input, of_state = self.maps(input, hidden)
        take, forget, new, out = parts(of_state + of_input, 4)
        take, forget, new, out = call["sigmoid"](take), call["sigmoid"](forget), call["tanh"](new), call["sigmoid"](out)
        memory = call["add"](call["mul"](forget, memory), call["mul"](take, new))
        return call["mul"](out, call["tanh"](memory)), memory


class GRUCell(Cell):
    """A cell with gates for what to reset and what to renew."""

    gates = 3

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Any:
        """The next state."""
        hidden: Any = self.zeros(input) if hx is None else hx
        of_input, of_state = self.maps(input, hidden)
        one, two = parts(of_input, 3), parts(of_state, 3)
        reset = call["sigmoid"](two[0] + one[0])
        renew = call["sigmoid"](two[1] + one[1])
        new = call["tanh"](one[2] + two[2] * reset)
        return (hidden - new) * renew + new


def parts(value: Tensor, count: int) -> Any:
    """Equal parts of the last dimension, as PyTorch's ``unsafe_chunk``."""
    return call["unsafe_split"](value, value._array.shape[-1] // count, value._array.ndim - 1)
