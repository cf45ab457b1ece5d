"""Networks that remember: cells, which are one step, and layers that run one over a sequence.

Made of rows as in PyTorch.
"""

from __future__ import annotations

from typing import Any, ClassVar

from gviz.autograd.row import TENSORS as call
from gviz.autograd.tensor import Tensor
from gviz.engine.creation import empty
from gviz.engine.nn import functional as F, init
from gviz.engine.nn.options import MADE, Layer
from gviz.engine.nn.utils.rnn import PackedSequence
from gviz.numbers.dtypes import float32
from gviz.numbers.words import refuse, warn
from gviz.ops.recurrent import spans_of, steps_through

USUAL = {"num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0, "bidirectional": False}
"""Options that are shown where they are something else."""
LAYERED = "bias=True, batch_first=False, dropout=0.0, bidirectional=False"

UNKNOWN = {
    "Unknown nonlinearity {nonlinearity!r}. Select from 'tanh' or 'relu'.": lambda nonlinearity="tanh", **_: (
        nonlinearity not in ("tanh", "relu")
    )
}


class Remembering(
    Layer,
    takes=f"input_size, hidden_size, bias=True, {MADE}",
    refused=UNKNOWN,
    shown="{input_size}, {hidden_size}",
    usual=USUAL,
    begin=lambda self: init.within(self.parameters(), self.hidden_size),
):
    """Base of all: weights for ``_gates_`` linear maps of the input and of the state, in each layer and direction."""

    _gates_: ClassVar[int]
    _step_: ClassVar[Any]
    """The next state, of the maps of the input and of the state, and of the states."""
    _suffixes_: Any = (("",),)
    """What the names of the weights end with: of each layer, those of its directions."""

    def _take_(self, values: dict[str, Any]) -> None:
        self.bias = values["bias"]  # here it is one of the options
        super()._take_(values)

    def _shaped_(self, bias: bool) -> dict[str, Any]:
        rows, own = self._gates_ * self.hidden_size, self.hidden_size
        shapes: dict[str, Any] = {}
        for number, suffixes in enumerate(self._suffixes_):
            columns = own * len(suffixes) if number else self.input_size
            for end in suffixes:
                shapes |= {f"weight_ih{end}": (rows, columns), f"weight_hh{end}": (rows, own)}
                shapes |= dict.fromkeys((f"bias_ih{end}", f"bias_hh{end}"), (rows,) if bias else None)
        return shapes

    def _mapped_(self, value: Tensor, name: str) -> Any:
        """Return the input, or the state, after the linear map of that name."""
        return F.linear(value, getattr(self, f"weight_{name}"), getattr(self, f"bias_{name}"))


class Cell(Remembering):
    """Base of the cells."""

    _states_ = 1

    def forward(self, input: Tensor, hx: Any = None) -> Any:
        """Return the next state, for a batch or for one example."""
        several, alone = self._states_ > 1, input.dim() == 1
        refuse(
            input.dim() not in (1, 2),
            f"{type(self).__name__}: Expected input to be 1D or 2D, got {input.dim()}D instead",
            ValueError,
        )
        states = hx if several or hx is None else (hx,)
        if alone:
            input, states = input.unsqueeze(0), None if states is None else [state.unsqueeze(0) for state in states]
        count, size = input.shape
        refuse(size != self.input_size, f"input has inconsistent input_size: got {size} expected {self.input_size}")
        if states is None:
            states = [
                empty((count, self.hidden_size), input.dtype, input.device)
            ] * self._states_  # empty() gives zeros here
        for i, (batch, hidden) in enumerate(state.shape for state in states):
            refuse(batch != count, f"Input batch size {count} doesn't match hidden{i} batch size {batch}")
            refuse(
                hidden != self.hidden_size,
                f"hidden{i} has inconsistent hidden_size: got {hidden}, expected {self.hidden_size}",
            )
        state_now = self._step_(self._mapped_(input, "ih"), self._mapped_(states[0], "hh"), *states)
        if alone:
            return tuple(state.squeeze(0) for state in state_now) if several else state_now.squeeze(0)
        return state_now


class RNNCell(Cell, home="rnn", takes=f"input_size, hidden_size, bias=True, nonlinearity='tanh', {MADE}"):
    """``tanh(W x + b + U h + c)``, or relu."""

    _gates_, _usual_ = 1, {**USUAL, "nonlinearity": "tanh"}

    def _step_(self, of_input: Tensor, of_state: Tensor, hidden: Tensor) -> Any:
        """Return the function of the sum."""
        return getattr(of_state + of_input, self.nonlinearity)()


class LSTMCell(Cell, home="rnn"):
    """A cell with gates for what to take in, forget and put out."""

    _gates_, _states_ = 4, 2

    def _step_(self, of_input: Tensor, of_state: Tensor, hidden: Tensor, memory: Tensor) -> Any:
        """Return the next state and memory."""
        take, forget, new, out = parts(of_state + of_input, 4)
        take, forget, new, out = take.sigmoid(), forget.sigmoid(), new.tanh(), out.sigmoid()
        memory = (forget * memory).add_(take * new)
        return out * memory.tanh(), memory


class GRUCell(Cell, home="rnn"):
    """A cell with gates for what to reset and what to renew."""

    _gates_ = 3

    def _step_(self, of_input: Tensor, of_state: Tensor, hidden: Tensor) -> Any:
        """Return the next state, between the old one and what is new."""
        one, two = parts(of_input, 3), parts(of_state, 3)
        reset, renew = (two[0] + one[0]).sigmoid(), (two[1] + one[1]).sigmoid()
        new = (one[2] + two[2].mul_(reset)).tanh()  # in place as in PyTorch, whose graph has a clone of what is saved
        return (hidden - new).mul_(renew).add_(new)


def parts(value: Tensor, count: int) -> Any:
    """Return equal parts of the last dimension, as PyTorch's ``unsafe_chunk``."""
    return call["unsafe_split"](value, value.shape[-1] // count, value.dim() - 1)


IN_VAIN = {
    "dropout should be a number in range [0, 1] representing the probability of an element being zeroed": (
        lambda dropout, **_: not 0 <= dropout <= 1
    )
} | {
    f"{name} must be greater than zero": lambda name=name, **values: values[name] <= 0
    for name in ("input_size", "hidden_size", "num_layers")
}


class Recurrent(Remembering, refused=UNKNOWN | IN_VAIN):
    """Base of the layers that run a cell over a sequence: weights for each layer and direction, and the loop."""

    _states_ = 1
    _flat_weights = property(lambda self: [getattr(self, name) for name in self._flat_weights_names])
    all_weights = property(lambda self: [[getattr(self, name) for name in names] for names in self._all_weights])

    def _take_(self, values: dict[str, Any]) -> None:
        ends = ("", "_reverse")[: 1 + values["bidirectional"]]
        self._suffixes_ = [[f"_l{n}{end}" for end in ends] for n in range(values["num_layers"])]
        super()._take_(values | {"dropout": float(values["dropout"])})
        if values["dropout"] > 0 and values["num_layers"] == 1:
            warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
                f"num_layers greater than 1, but got dropout={values['dropout']} and num_layers=1"
            )
        self.mode = "_".join([type(self).__name__, *([self.nonlinearity.upper()] if self._gates_ == 1 else [])])
        names = [name for name, weight in self._parameters.items() if weight is not None]
        self._all_weights = [[name for name in names if name.endswith(end)] for ends in self._suffixes_ for end in ends]
        self._flat_weights_names = names

    def forward(self, input: Any, hx: Any = None) -> Any:
        """Return the states of the last layer at every step, and the last state of every layer.

        Packed as the input is.
        """
        several, order, back, sizes, batch_sizes = self._states_ > 1, None, None, None, None
        if packed := isinstance(input, PackedSequence):
            input, batch_sizes, order, back = input
            sizes = batch_sizes._array.tolist()
        elif (rank := input.dim()) not in (2, 3):
            raise ValueError(
                f"{type(self).__name__}: Expected input to be 2D or 3D, got {rank}D"
                f"{' tensor' * (type(self).__name__ == 'RNN')} instead"
            )
        alone, axis = not packed and rank == 2, 0 if self.batch_first else 1
        states: Any = hx if hx is None else (hx[0], hx[1]) if several else (hx,)
        if states is not None and not packed and any(state.dim() != rank for state in states):
            ranks, kind = [f"{state.dim()}-D" for state in states], f"{'un' * alone}batched"
            raise RuntimeError(
                f"For {kind} {rank}-D input, hx {'and cx ' * several}should also be {rank}-D but got "
                + (f"({', '.join(ranks)}) tensors" if several else f"{ranks[0]} tensor")
            )
        if alone:
            input, states = input.unsqueeze(axis), states and tuple(state.unsqueeze(1) for state in states)
        shape = Recurrent.get_expected_hidden_size(self, input, batch_sizes)  # a program's own is asked when it checks
        states = states or (empty(shape, input.dtype, input.device),) * self._states_
        self.check_forward_args(input, states if several else states[0], batch_sizes)
        states = states if order is None or hx is None else [state.index_select(1, order) for state in states]
        steps, last = self._run_(input, states, sizes)
        if packed:
            steps = PackedSequence(steps, batch_sizes, order, back)
        last = last if back is None else [state.index_select(1, back) for state in last]
        if alone:
            steps, last = steps.squeeze(axis), [state.squeeze(1) for state in last]
        return steps, tuple(last) if several else last[0]

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Refuse an input, and states to begin with, that do not fit; programs may override it, and what it calls."""
        self.check_input(input, batch_sizes)
        expected_shape, several = self.get_expected_hidden_size(input, batch_sizes), self._states_ > 1
        for i, state in enumerate(hidden if several else (hidden,)):
            self.check_hidden_size(state, expected_shape, f"Expected hidden{f'[{i}]' * several} size {{}}, got {{}}")

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Refuse an input of another type, or of another size, than the weights are for."""
        kind = self.weight_ih_l0.dtype
        refuse(
            input.dtype is not kind,
            f"RNN input dtype ({input.dtype}) does not match weight dtype ({kind}). Convert input: "
            f"input.to({kind}), or convert model: model.to({input.dtype})",
            ValueError,
        )
        refuse(
            input.shape[-1] != self.input_size,
            f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.shape[-1]}",
        )

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """Return the shape of a state: (layers and directions, examples, hidden_size)."""
        count = input.shape[0 if self.batch_first else 1] if batch_sizes is None else int(batch_sizes[0])
        return sum(map(len, self._suffixes_)), count, self.hidden_size

    def check_hidden_size(
        self, hx: Tensor, expected_hidden_size: tuple[int, int, int], msg: str = "Expected hidden size {}, got {}"
    ) -> None:
        """Refuse a state of another shape, in those words."""
        refuse(hx.shape != expected_hidden_size, msg.format(expected_hidden_size, list(hx.shape)))

    def _run_(self, input: Tensor, states: list[Tensor], sizes: list[int] | None) -> tuple[Any, Any]:
        """Run all layers over a batch of sequences, or over packed ones, of which ``sizes`` reach each step."""
        turned, at_once = self.batch_first and sizes is None, self._at_once_(input, sizes)
        input = input.transpose(0, 1) if turned else input
        refuse(not len(input), "Expected sequence length to be larger than 0 in RNN")
        input = input.contiguous() if at_once else input
        begin: Any = [state.contiguous() if at_once else state.unbind(0) for state in states]
        last: list[Any] = []
        for number, suffixes in enumerate(self._suffixes_):
            input = F.dropout(input, self.dropout, self.training) if number else input
            layers = []
            for suffix in suffixes:
                through = self._through_at_once_ if at_once else self._through_
                steps, *state = through(input, suffix, [one[len(last)] for one in begin], sizes)
                last.append(state)
                layers.append(steps)
            input = layers[0] if len(layers) == 1 else call["cat"](layers, -1 if at_once else input.dim() - 1)
        if turned:
            input = input.transpose(0, 1) if self._states_ > 1 else input.transpose_(0, 1)
        return input, [call["stack"](list(state), 0) for state in zip(*last, strict=True)]

    def _at_once_(self, input: Tensor, sizes: list[int] | None) -> bool:
        """Return whether a layer is one operation."""
        return False

    def _through_(self, input: Tensor, suffix: str, states: list[Tensor], sizes: list[int] | None) -> list[Any]:
        """Return the states at each step of a layer in a direction, and the last ones, cell by cell."""
        mapped, back, begin, ends, steps = (
            self._mapped_(input, f"ih{suffix}"),
            suffix.endswith("_reverse"),
            states,
            [],
            [],
        )
        parts = mapped.unbind(0) if sizes is None else [call["narrow"](mapped, 0, a, b - a) for a, b in spans_of(sizes)]
        count = sizes[-1 if back else 0] if sizes else 0
        states = among(states, 0, count) if sizes and back else states
        for place in steps_through(len(parts), back):
            now = sizes[place] if sizes else count
            if now != count and back:  # sequences that end here begin
                states = [call["cat"](pair, 0) for pair in zip(states, among(begin, count, now), strict=True)]
            elif now != count:
                ends.append(among(states, now, count))
                states = among(states, 0, now)
            count, new = now, self._step_(parts[place], self._mapped_(states[0], f"hh{suffix}"), *states)
            states = list(new) if self._states_ > 1 else [new]
            steps.append(states[0])
        if sizes and not back:
            states = [call["cat"](parts, 0) for parts in zip(states, *ends[::-1], strict=True)]
        ways = -1 if back else 1
        return [call["stack"](steps[::ways], 0) if sizes is None else call["cat"](steps[::ways], 0), *states]

    def flatten_parameters(self) -> None:
        """Do nothing: it is for the memory of GPUs."""


def among(states: list[Tensor], start: int, end: int) -> list[Any]:
    """Return the states of some of the sequences."""
    return [call["narrow"](state, 0, start, end - start) for state in states]


class RNN(
    Recurrent, home="rnn", takes=f"input_size, hidden_size, num_layers=1, nonlinearity='tanh', {LAYERED}, {MADE}"
):
    """:class:`RNNCell` over a sequence."""

    _gates_, _step_ = 1, RNNCell._step_


class GRU(Recurrent, home="rnn", takes=f"input_size, hidden_size, num_layers=1, {LAYERED}, {MADE}"):
    """:class:`GRUCell` over a sequence."""

    _gates_, _step_ = 3, GRUCell._step_


class LSTM(Recurrent, home="rnn", takes=f"input_size, hidden_size, num_layers=1, {LAYERED}, {MADE}"):
    """:class:`LSTMCell` over a sequence; in single precision each layer is one operation, as oneDNN has it."""

    _gates_, _states_, _step_ = 4, 2, LSTMCell._step_

    def _at_once_(self, input: Tensor, sizes: list[int] | None) -> bool:
        """Return whether oneDNN has it: not packed, of float32, and with numbers."""
        return sizes is None and not input.is_meta and input.dtype is float32 and input.numel() > 0

    def _through_at_once_(self, input: Tensor, suffix: str, states: list[Tensor], sizes: list[int] | None) -> Any:
        """Return what ``_through_`` does, made by one operation."""
        weights = [getattr(self, f"{name}{suffix}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
        weights = [call["zeros_like"](weights[i % 2].detach()) if one is None else one for i, one in enumerate(weights)]
        return call["mkldnn_rnn_layer"](
            input,
            *weights,
            *states,
            suffix.endswith("_reverse"),
            (),
            2,
            self.hidden_size,
            self.num_layers,
            self.bias is True,
            self.bidirectional,
            self.batch_first,
            self.training,
        )
