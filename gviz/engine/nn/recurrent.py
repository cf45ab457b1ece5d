"""Networks that remember: cells, which are one step, and layers that run one over a sequence; made of rows as in PyTorch.

There is no LSTM layer: in single precision PyTorch has it as one operation of oneDNN, which is not in the table.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from gviz.engine.nn import functional as F
from gviz.engine.nn import init
from gviz.engine.nn.checks import check_sequence
from gviz.engine.nn.options import MADE, Layer
from gviz.autograd.row import TENSORS as call
from gviz.autograd.tensor import Tensor, from_array

USUAL: dict[str, Any] = {"num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0, "bidirectional": False}
"""Options of layers that are shown where they are something else."""
SIZES = {"input_size": ..., "hidden_size": ...}


class Remembering(Layer, options={**SIZES, "bias": True, **MADE}):
    """Base of all: weights for ``gates`` linear maps of the input and of the state."""

    gates: ClassVar[int]

    def _take(self, values: dict[str, Any]) -> None:
        self.bias = values["bias"]  # here it is one of the options
        super()._take(values)

    def maps_of(self, taken: int, suffix: str = "") -> dict[str, Any]:
        """The weights that take so many inputs."""
        rows = self.gates * self.hidden_size
        shapes = {"weight_ih": (rows, taken), "weight_hh": (rows, self.hidden_size), "bias_ih": (rows,), "bias_hh": (rows,)}
        return {name + suffix: shape for name, shape in shapes.items()}

    def step(self, *maps: Any) -> Any:
        """The next state, of the maps of the input and of the state, and of the states."""
        raise NotImplementedError

    def reset_parameters(self) -> None:
        """Uniform within one over the root of the size of the state."""
        init.within(self.parameters(), self.hidden_size)

    def extra_repr(self) -> str:
        """The sizes, and what is not as usual."""
        return f"{self.input_size}, {self.hidden_size}{self.unusual({k: v for k, v in USUAL.items() if k in self._options})}"


class Cell(Remembering):
    """Base of the cells."""

    states = 1

    def _shaped(self, bias: bool) -> dict[str, Any]:
        found = self.maps_of(self.input_size)
        return found if bias else {**found, "bias_ih": None, "bias_hh": None}

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The next state, for a batch or for one example."""
        name, rank, lone = type(self).__name__, input._array.ndim, self.states == 1
        states = () if hx is None else (hx,) if lone else tuple(hx)
        if rank not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {rank}D instead")
        for i, state in enumerate(states):
            if state._array.ndim not in (1, 2):
                told = "hidden" if lone else f"hx[{i}]"
                raise ValueError(f"{name}: Expected {told} to be 1D or 2D, got {state._array.ndim}D instead")
        if rank == 2 and not lone and isinstance(hx, Tensor):
            raise TypeError("lstm_cell(): argument 'hx' (position 2) must be tuple of Tensors, not Tensor")
        if rank == 1:
            input, states = call["unsqueeze"](input, 0), tuple(call["unsqueeze"](state, 0) for state in states)
        if hx is None:
            states = (from_array(np.zeros((input._array.shape[0], self.hidden_size), input._array.dtype), None),) * self.states
        self.check(input._array.shape, [state._array.shape for state in states])
        maps = F.linear(input, self.weight_ih, self.bias_ih), F.linear(states[0], self.weight_hh, self.bias_hh)
        found = self.step(*maps, *states)
        if rank == 2:
            return found
        return call["squeeze_dim"](found, 0) if lone else tuple(call["squeeze_dim"](one, 0) for one in found)

    def check(self, taken: Any, states: list[Any]) -> None:
        """Refuse sizes of input and states that do not belong together."""
        if taken[1] != self.input_size:
            raise RuntimeError(f"input has inconsistent input_size: got {taken[1]} expected {self.input_size}")
        for i, sizes in enumerate(states):
            if sizes[0] != taken[0]:
                raise RuntimeError(f"Input batch size {taken[0]} doesn't match hidden{i} batch size {sizes[0]}")
            if sizes[1] != self.hidden_size:
                raise RuntimeError(f"hidden{i} has inconsistent hidden_size: got {sizes[1]}, expected {self.hidden_size}")


class RNNCell(Cell, home="rnn", options={**SIZES, "bias": True, "nonlinearity": "tanh", **MADE}):
    """``tanh(W x + b + U h + c)``, or relu."""

    gates = 1

    def step(self, of_input: Any, of_state: Any, hidden: Any) -> Any:
        """The function of the sum."""
        return call[self.nonlinearity](call["add"](of_state, of_input))

    def extra_repr(self) -> str:
        """The sizes, and the function where it is not tanh."""
        return super().extra_repr() + self.unusual({"nonlinearity": "tanh"})


class LSTMCell(Cell, home="rnn"):
    """A cell with gates for what to take in, forget and put out."""

    gates, states = 4, 2

    def step(self, of_input: Any, of_state: Any, hidden: Any, memory: Any) -> Any:
        """The next state and memory."""
        take, forget, new, out = parts(of_state + of_input, 4)
        take, forget, new, out = call["sigmoid"](take), call["sigmoid"](forget), call["tanh"](new), call["sigmoid"](out)
        memory = call["mul"](forget, memory).add_(call["mul"](take, new))
        return call["mul"](out, call["tanh"](memory)), memory


class GRUCell(Cell, home="rnn"):
    """A cell with gates for what to reset and what to renew."""

    gates = 3

    def step(self, of_input: Any, of_state: Any, hidden: Any) -> Any:
        """The next state, between the old one and what is new."""
        one, two = parts(of_input, 3), parts(of_state, 3)
        reset = call["sigmoid"](two[0] + one[0])
        renew = call["sigmoid"](two[1] + one[1])
        new = call["tanh"](one[2] + two[2].mul_(reset))  # in place as in PyTorch, whose graph has a clone of what is saved
        return (hidden - new).mul_(renew).add_(new)


def parts(value: Tensor, count: int) -> Any:
    """Equal parts of the last dimension, as PyTorch's ``unsafe_chunk``."""
    return call["unsafe_split"](value, value._array.shape[-1] // count, value._array.ndim - 1)


class Recurrent(Remembering, options={**SIZES, **USUAL, **MADE}):
    """Base of the layers that run a cell over a sequence: weights for each layer and direction, and the loop."""

    def _shaped(self, bias: bool) -> dict[str, Any]:
        ways = ("", "_reverse")[: 1 + self.bidirectional]
        self.suffixes = [f"l{n}{way}" for n in range(self.num_layers) for way in ways]
        found: dict[str, Any] = {}
        for suffix in self.suffixes:
            taken = self.input_size if suffix.startswith("l0") else self.hidden_size * len(ways)
            found |= self.maps_of(taken, f"_{suffix}")
        return {name: shape for name, shape in found.items() if bias or not name.startswith("bias")}

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The states of the last layer at every step, and the last state of every layer."""
        if (given := input.dtype) is not (own := self.weight_ih_l0.dtype):
            raise ValueError(
                f"RNN input dtype ({given}) does not match weight dtype ({own}). Convert input: input.to({own}), or convert "
                f"model: model.to({given})"
            )
        check_sequence(type(self).__name__, input, hx, self.input_size)
        batched = input._array.ndim == 3
        if not batched:
            input, hx = call["unsqueeze"](input, 1), None if hx is None else call["unsqueeze"](hx, 1)
        elif self.batch_first:
            input = call["transpose"](input, 0, 1)
        if hx is None:
            shape = (len(self.suffixes), input._array.shape[1], self.hidden_size)
            hx = from_array(np.zeros(shape, input._array.dtype), None)
        wanted, got = (len(self.suffixes), input._array.shape[1], self.hidden_size), hx._array.shape
        if wanted != got:
            raise RuntimeError(f"Expected hidden size {wanted}, got {list(got)}")
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
        return input.transpose_(0, 1) if self.batch_first else input, state

    def flatten_parameters(self) -> None:
        """Nothing: it is for the memory of GPUs."""

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


FUNCTION = {"num_layers": 1, "nonlinearity": "tanh"}


class RNN(Recurrent, home="rnn", refuser="RNNBase", options={**SIZES, **FUNCTION, **USUAL, **MADE}):
    """:class:`RNNCell` over a sequence."""

    gates = 1

    def _take(self, values: dict[str, Any]) -> None:
        super()._take(values)
        if self.nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{self.nonlinearity}'. Select from 'tanh' or 'relu'.")

    step = RNNCell.step


class GRU(Recurrent, home="rnn", refuser="RNNBase"):
    """:class:`GRUCell` over a sequence."""

    gates = 3

    step = GRUCell.step
