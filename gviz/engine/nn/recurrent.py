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

UNKNOWN = {"Unknown nonlinearity {nonlinearity!r}. Select from 'tanh' or 'relu'.":
           lambda nonlinearity="tanh", **_: nonlinearity not in ("tanh", "relu")}

class Remembering(Layer, takes=f"input_size, hidden_size, bias=True, {MADE}", refused=UNKNOWN,
                  begin=lambda self: init.within(self.parameters(), self.hidden_size)):
    """Base of all: weights for ``gates`` linear maps of the input and of the state, in each layer and direction."""

    gates: ClassVar[int]
    step: ClassVar[Any]
    """The next state, of the maps of the input and of the state, and of the states."""
    suffixes: Any = (("",),)
    """What the names of the weights end with: of each layer, those of its directions."""
    _usual: ClassVar[dict[str, Any]] = USUAL

    def _take(self, values: dict[str, Any]) -> None:
        self.bias = values["bias"]  # here it is one of the options
        super()._take(values)

    def _shaped(self, bias: bool) -> dict[str, Any]:
        rows, own = self.gates * self.hidden_size, self.hidden_size
        shapes: dict[str, Any] = {}
        for number, suffixes in enumerate(self.suffixes):
            taken = own * len(suffixes) if number else self.input_size
            for end in suffixes:
                shapes |= {f"weight_ih{end}": (rows, taken), f"weight_hh{end}": (rows, own)}
                shapes |= dict.fromkeys((f"bias_ih{end}", f"bias_hh{end}"), (rows,) if bias else None)
        return shapes

    def mapped(self, value: Any, name: str) -> Any:
        """Return the input, or the state, after the linear map of that name."""
        return F.linear(value, getattr(self, f"weight_{name}"), getattr(self, f"bias_{name}"))

    def extra_repr(self) -> str:
        """Return the sizes, and what is not as usual."""
        usual = {name: value for name, value in self._usual.items() if name in self._options}
        return f"{self.input_size}, {self.hidden_size}{self.unusual(usual)}"

class Cell(Remembering):
    """Base of the cells."""

    states = 1

    def forward(self, input: Any, hx: Any = None) -> Any:
        """Return the next state, for a batch or for one example."""
        several, alone = self.states > 1, input.dim() == 1
        if input.dim() not in (1, 2):
            raise ValueError(f"{type(self).__name__}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        states = hx if several or hx is None else (hx,)
        if alone:
            input, states = input.unsqueeze(0), None if states is None else [state.unsqueeze(0) for state in states]
        wanted = len(input), self.hidden_size
        states = [empty(wanted, input.dtype)] * self.states if states is None else states
        if any(state.shape != wanted for state in states):
            raise RuntimeError(f"Expected hidden size {wanted}, got {[list(state.shape) for state in states]}")
        found = self.step(self.mapped(input, "ih"), self.mapped(states[0], "hh"), *states)
        if alone:
            return tuple(state.squeeze(0) for state in found) if several else found.squeeze(0)
        return found

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
        if values["dropout"] > 0 and values["num_layers"] == 1:
            warn("dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers "
                 f"greater than 1, but got dropout={values['dropout']} and num_layers=1")
        ways = ("", "_reverse")[: 1 + values["bidirectional"]]
        self.suffixes = [[f"_l{n}{way}" for way in ways] for n in range(values["num_layers"])]
        super()._take(values)

    def forward(self, input: Any, hx: Any = None) -> Any:
        """Return the states of the last layer at every step, and the last state of every layer."""
        if (rank := input.dim()) not in (2, 3):
            raise ValueError(f"{type(self).__name__}: Expected input to be 2D or 3D, got {rank}D instead")
        if rank == 2:
            return tuple(one.squeeze(1) for one in self.run(input.unsqueeze(1), None if hx is None else hx.unsqueeze(1)))
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
            layers = []
            for suffix in suffixes:
                back, steps, hidden = -1 if suffix.endswith("_reverse") else 1, [], next(states)
                for of_input in self.mapped(input, f"ih{suffix}").unbind(0)[::back]:
                    hidden = self.step(of_input, self.mapped(hidden, f"hh{suffix}"), hidden)
                    steps.append(hidden)
                last.append(hidden)
                layers.append(call["stack"](steps[::back], 0))
            input = layers[0] if len(layers) == 1 else call["cat"](layers, 2)
        return input, call["stack"](last, 0)

    def flatten_parameters(self) -> None:
        """Do nothing: it is for the memory of GPUs."""

class RNN(Recurrent, home="rnn", takes=f"input_size, hidden_size, num_layers=1, nonlinearity='tanh', {LAYERED}, {MADE}"):
    """:class:`RNNCell` over a sequence."""

    gates, step = 1, RNNCell.step

class GRU(Recurrent, home="rnn", takes=f"input_size, hidden_size, num_layers=1, {LAYERED}, {MADE}"):
    """:class:`GRUCell` over a sequence."""

    gates, step = 3, GRUCell.step
