"""Networks that remember: cells, which are one step, and layers that run one over a sequence; made of rows as in PyTorch.

There is no LSTM layer: in single precision PyTorch has it as one operation of oneDNN, which is not in the table.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from gviz.engine.nn import functional as F
from gviz.engine.nn import init
from gviz.engine.nn.module import Module
from gviz.engine.nn.parameter import Parameter, filled
from gviz.engine.op import TENSORS as call
from gviz.engine.tensor import Tensor, from_array

__all__ = ["GRU", "RNN", "GRUCell", "LSTMCell", "RNNCell"]


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
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(input_size, hidden_size, bias, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Any:
        """The next state."""
        of_input, of_state = self.maps(input, self.zeros(input) if hx is None else hx)
        return call[self.nonlinearity](call["add"](of_input, of_state))

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
        return gated(*self.maps(input, hidden), hidden)


def gated(of_input: Any, of_state: Any, hidden: Any) -> Any:
    """A step of a gated unit: what to reset, what to renew, and the new state between the old one and what is new."""
    one, two = parts(of_input, 3), parts(of_state, 3)
    reset = call["sigmoid"](two[0] + one[0])
    renew = call["sigmoid"](two[1] + one[1])
    new = call["tanh"](one[2] + two[2].mul_(reset))  # in place as in PyTorch, whose graph has a clone of what is saved
    return (hidden - new).mul_(renew) + new


def parts(value: Tensor, count: int) -> Any:
    """Equal parts of the last dimension, as PyTorch's ``unsafe_chunk``."""
    return call["unsafe_split"](value, value._array.shape[-1] // count, value._array.ndim - 1)


class Recurrent(Module):
    """Base of the layers that run a cell over a sequence: weights for each layer and direction, and the loop."""

    gates: ClassVar[int]

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False,
        dropout: float = 0.0, bidirectional: bool = False, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.input_size, self.hidden_size, self.num_layers, self.bias = input_size, hidden_size, num_layers, bias
        self.batch_first, self.dropout, self.bidirectional = batch_first, dropout, bidirectional
        self.suffixes = [f"l{n}{way}" for n in range(num_layers) for way in ("", "_reverse")[: 1 + bidirectional]]
        rows, wide = self.gates * hidden_size, hidden_size * (1 + bidirectional)
        for suffix in self.suffixes:
            taken = input_size if suffix.startswith("l0") else wide
            shapes = {"weight_ih": (rows, taken), "weight_hh": (rows, hidden_size), "bias_ih": (rows,), "bias_hh": (rows,)}
            for name, shape in list(shapes.items())[: 4 if bias else 2]:
                self.register_parameter(f"{name}_{suffix}", Parameter(filled(shape, 0, dtype)))
        bound = 1.0 / math.sqrt(hidden_size) if hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def step(self, of_input: Any, of_state: Any, hidden: Any) -> Any:
        """The next state."""
        raise NotImplementedError

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The states of the last layer at every step, and the last state of every layer."""
        batched = input._array.ndim == 3
        if not batched:
            input, hx = call["unsqueeze"](input, 1), None if hx is None else call["unsqueeze"](hx, 1)
        elif self.batch_first:
            input = call["transpose"](input, 0, 1)
        if hx is None:
            shape = (len(self.suffixes), input._array.shape[1], self.hidden_size)
            hx = from_array(np.zeros(shape, input._array.dtype), None)
        states, last = call["unbind"](hx, 0), []
        for number in range(self.num_layers):
            ways = [i for i, suffix in enumerate(self.suffixes) if suffix.removesuffix("_reverse") == f"l{number}"]
            found = [self.run(input, states[i], self.suffixes[i]) for i in ways]
            last += [state for _, state in found]
            input = found[0][0] if len(found) == 1 else call["cat"]([steps for steps, _ in found], 2)
            if self.dropout and self.training and number < self.num_layers - 1:
                input = F.dropout(input, self.dropout)
        state = call["stack"](last, 0)
        if not batched:
            return call["squeeze_dim"](input, 1), call["squeeze_dim"](state, 1)
        return call["transpose_"](input, 0, 1) if self.batch_first else input, state

    def run(self, input: Any, hidden: Any, suffix: str) -> tuple[Any, Any]:
        """One layer in one direction: its state at every step, and the last."""
        weight, other = (getattr(self, f"weight_{kind}_{suffix}") for kind in ("ih", "hh"))
        bias, second = (getattr(self, f"bias_{kind}_{suffix}", None) for kind in ("ih", "hh"))
        back = -1 if suffix.endswith("_reverse") else 1
        found = []
        for of_input in call["unbind"](F.linear(input, weight, bias), 0)[::back]:
            hidden = self.step(of_input, F.linear(hidden, other, second), hidden)
            found.append(hidden)
        return call["stack"](found[::back], 0), hidden

    def extra_repr(self) -> str:
        """The sizes, and what is not as usual."""
        usual = {"num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0, "bidirectional": False}
        more = [f", {name}={getattr(self, name)}" for name, value in usual.items() if getattr(self, name) != value]
        return f"{self.input_size}, {self.hidden_size}{''.join(more)}"


class RNN(Recurrent):
    """:class:`RNNCell` over a sequence."""

    gates = 1

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh", *args: Any, **kwargs: Any
    ) -> None:
        super().__init__(input_size, hidden_size, num_layers, *args, **kwargs)
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        self.nonlinearity = nonlinearity

    def step(self, of_input: Any, of_state: Any, hidden: Any) -> Any:
        """The next state."""
        return call[self.nonlinearity](call["add"](of_state, of_input))


class GRU(Recurrent):
    """:class:`GRUCell` over a sequence."""

    gates = 3

    def step(self, of_input: Any, of_state: Any, hidden: Any) -> Any:
        """The next state."""
        return gated(of_input, of_state, hidden)
