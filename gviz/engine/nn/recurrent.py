"""Networks that remember: cells, which are one step, and layers that run one over a sequence; made of rows as in PyTorch.

There is no LSTM layer: in single precision PyTorch has it as one operation of oneDNN, which is not in the table.
"""

from __future__ import annotations

from typing import Any, ClassVar

from gviz.autograd.row import TENSORS as call
from gviz.engine.creation import empty
from gviz.engine.nn import functional as F
from gviz.engine.nn import init
from gviz.engine.nn.options import MADE, Layer
from gviz.numbers.words import warn

USUAL = {"num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0, "bidirectional": False}
"""Options that are shown where they are something else."""
LAYERED = "bias=True, batch_first=False, dropout=0.0, bidirectional=False"

class Remembering(Layer, takes=f"input_size, hidden_size, bias=True, {MADE}"):
    """Base of all: weights for ``gates`` linear maps of the input and of the state."""

    gates: ClassVar[int]
    _usual: ClassVar[dict[str, Any]] = USUAL

    def _take(self, values: dict[str, Any]) -> None:
        self.bias = values["bias"]  # here it is one of the options
        super()._take(values)

    def maps_of(self, taken: int, suffix: str = "") -> dict[str, Any]:
        """Return the shapes of the weights that take so many inputs."""
        own, rows = self.hidden_size, self.gates * self.hidden_size
        shapes = {"weight_ih": (rows, taken), "weight_hh": (rows, own), "bias_ih": (rows,), "bias_hh": (rows,)}
        return {name + suffix: shape for name, shape in shapes.items()}

    def step(self, of_input: Any, of_state: Any, *states: Any) -> Any:
        """Return the next state, of the maps of the input and of the state, and of the states."""
        raise NotImplementedError

    def reset_parameters(self) -> None:
        """Write values uniform within one over the root of the size of the state."""
        init.within(self.parameters(), self.hidden_size)

    def extra_repr(self) -> str:
        """Return the sizes, and what is not as usual."""
        usual = {name: value for name, value in self._usual.items() if name in self._options}
        return f"{self.input_size}, {self.hidden_size}{self.unusual(usual)}"

class Cell(Remembering):
    """Base of the cells."""

    states = 1

    def _shaped(self, bias: bool) -> dict[str, Any]:
        return {**self.maps_of(self.input_size), **({} if bias else {"bias_ih": None, "bias_hh": None})}

    def forward(self, input: Any, hx: Any = None) -> Any:
        """Return the next state, for a batch or for one example."""
        several = self.states > 1
        if (rank := input.dim()) not in (1, 2):
            raise ValueError(f"{type(self).__name__}: Expected input to be 1D or 2D, got {rank}D instead")
        input = input if rank == 2 else input.unsqueeze(0)
        given = (empty((len(input), self.hidden_size), input.dtype),) * self.states if hx is None else hx if several else (hx,)
        states = given if rank == 2 or hx is None else tuple(state.unsqueeze(0) for state in given)
        if input.shape[1] != self.input_size:
            raise RuntimeError(f"input has inconsistent input_size: got {input.shape[1]} expected {self.input_size}")
        for i, state in enumerate(states):
            if state.shape[0] != input.shape[0]:
                raise RuntimeError(f"Input batch size {input.shape[0]} doesn't match hidden{i} batch size {state.shape[0]}")
            if state.shape[1] != self.hidden_size:
                raise RuntimeError(f"hidden{i} has inconsistent hidden_size: got {state.shape[1]}, expected {self.hidden_size}")
        maps = F.linear(input, self.weight_ih, self.bias_ih), F.linear(states[0], self.weight_hh, self.bias_hh)
        found = self.step(*maps, *states)
        return found if rank == 2 else tuple(state.squeeze(0) for state in found) if several else found.squeeze(0)

class RNNCell(Cell, home="rnn", takes=f"input_size, hidden_size, bias=True, nonlinearity='tanh', {MADE}"):
    """``tanh(W x + b + U h + c)``, or relu."""

    gates, _usual = 1, {**USUAL, "nonlinearity": "tanh"}

    def step(self, of_input: Any, of_state: Any, hidden: Any) -> Any:
        """Return the function of the sum."""
        return getattr(of_state + of_input, self.nonlinearity)()

class LSTMCell(Cell, home="rnn"):
    """A cell with gates for what to take in, forget and put out."""

    gates, states = 4, 2

    def step(self, of_input: Any, of_state: Any, hidden: Any, memory: Any) -> Any:
        """Return the next state and memory."""
        take, forget, new, out = parts(of_state + of_input, 4)
        take, forget, new, out = take.sigmoid(), forget.sigmoid(), new.tanh(), out.sigmoid()
        memory = (forget * memory).add_(take * new)
        return out * memory.tanh(), memory

class GRUCell(Cell, home="rnn"):
    """A cell with gates for what to reset and what to renew."""

    gates = 3

    def step(self, of_input: Any, of_state: Any, hidden: Any) -> Any:
        """Return the next state, between the old one and what is new."""
        one, two = parts(of_input, 3), parts(of_state, 3)
        reset, renew = (two[0] + one[0]).sigmoid(), (two[1] + one[1]).sigmoid()
        new = (one[2] + two[2].mul_(reset)).tanh()  # in place as in PyTorch, whose graph has a clone of what is saved
        return (hidden - new).mul_(renew).add_(new)

def parts(value: Any, count: int) -> Any:
    """Return equal parts of the last dimension, as PyTorch's ``unsafe_chunk``."""
    return call["unsafe_split"](value, value.shape[-1] // count, value.dim() - 1)

class Recurrent(Remembering):
    """Base of the layers that run a cell over a sequence: weights for each layer and direction, and the loop."""

    def _take(self, values: dict[str, Any]) -> None:
        if values.get("nonlinearity", "tanh") not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{values['nonlinearity']}'. Select from 'tanh' or 'relu'.")
        if values["dropout"] > 0 and values["num_layers"] == 1:
            warn("dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers "
                 f"greater than 1, but got dropout={values['dropout']} and num_layers=1")
        super()._take(values)

    def _shaped(self, bias: bool) -> dict[str, Any]:
        ways = ("", "_reverse")[: 1 + self.bidirectional]
        self.suffixes = [[f"_l{n}{way}" for way in ways] for n in range(self.num_layers)]
        sizes = [self.input_size] + [self.hidden_size * len(ways)] * (self.num_layers - 1)
        shapes = [self.maps_of(size, suffix) for size, some in zip(sizes, self.suffixes, strict=True) for suffix in some]
        return {name: shape for some in shapes for name, shape in some.items() if bias or not name.startswith("bias")}

    def forward(self, input: Any, hx: Any = None) -> Any:
        """Return the states of the last layer at every step, and the last state of every layer."""
        if (rank := input.dim()) not in (2, 3):
            tensor = "tensor " * isinstance(self, RNN)
            raise ValueError(f"{type(self).__name__}: Expected input to be 2D or 3D, got {rank}D {tensor}instead")
        if hx is not None and hx.dim() != rank:
            what = "batched 3-D" if rank == 3 else "unbatched 2-D"
            raise RuntimeError(f"For {what} input, hx should also be {rank}-D but got {hx.dim()}-D tensor")
        if input.shape[-1] != self.input_size:
            raise RuntimeError(f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.shape[-1]}")
        if rank == 2:
            steps, last = self.run(input.unsqueeze(1), None if hx is None else hx.unsqueeze(1))
            return steps.squeeze(1), last.squeeze(1)
        steps, last = self.run(input.transpose(0, 1) if self.batch_first else input, hx)
        return steps.transpose_(0, 1) if self.batch_first else steps, last

    def run(self, input: Any, hx: Any) -> tuple[Any, Any]:
        """Run all layers over a batch of sequences, whose first dimension are the steps."""
        wanted = (sum(map(len, self.suffixes)), input.shape[1], self.hidden_size)
        hx = empty(wanted, input.dtype) if hx is None else hx
        if hx.shape != wanted:
            raise RuntimeError(f"Expected hidden size {wanted}, got {list(hx.shape)}")
        states, last = iter(hx.unbind(0)), []
        for number, suffixes in enumerate(self.suffixes):
            if number and self.dropout and self.training:
                input = F.dropout(input, self.dropout)
            layers = [self.sequence(input, next(states), suffix) for suffix in suffixes]
            last += [steps[-1 if "reverse" not in suffix else 0] for suffix, steps in zip(suffixes, layers, strict=True)]
            stacked = [call["stack"](steps, 0) for steps in layers]
            input = stacked[0] if len(stacked) == 1 else call["cat"](stacked, 2)
        return input, call["stack"](last, 0)

    def sequence(self, input: Any, hidden: Any, suffix: str) -> list[Any]:
        """Run one layer in one direction: return its state at every step."""
        weight, bias = getattr(self, f"weight_ih{suffix}"), getattr(self, f"bias_ih{suffix}", None)
        other, second = getattr(self, f"weight_hh{suffix}"), getattr(self, f"bias_hh{suffix}", None)
        back, states = -1 if suffix.endswith("_reverse") else 1, []
        for of_input in F.linear(input, weight, bias).unbind(0)[::back]:
            hidden = self.step(of_input, F.linear(hidden, other, second), hidden)
            states.append(hidden)
        return states[::back]

    def flatten_parameters(self) -> None:
        """Do nothing: it is for the memory of GPUs."""

class RNN(Recurrent, home="rnn", takes=f"input_size, hidden_size, num_layers=1, nonlinearity='tanh', {LAYERED}, {MADE}"):
    """:class:`RNNCell` over a sequence."""

    gates, step = 1, RNNCell.step

class GRU(Recurrent, home="rnn", takes=f"input_size, hidden_size, num_layers=1, {LAYERED}, {MADE}"):
    """:class:`GRUCell` over a sequence."""

    gates, step = 3, GRUCell.step
