"""Recurrent networks: the cells of ``tf.nn.rnn_cell``, and the functions that call a cell for each part of a sequence."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from gviz.numbers.words import refuse
from gviz.static.arrays import TensorArray
from gviz.static.build import cast, check_others, constant, convert
from gviz.static.control import while_loop
from gviz.static.functions import (
    FUNCTIONS,
    concat,
    range_,
    rank,
    shape,
    split_along,
    stack,
    transpose,
    where,
    zeros,
)
from gviz.static.graph import Tensor, TensorLike, get_default_graph
from gviz.static.layers import known_length
from gviz.static.neural import NN
from gviz.static.types import DTypeLike, TensorShape, fill_structure, int32, leaves
from gviz.static.variables import (
    INITIALIZERS,
    Initializer,
    VariableScope,
    get_variable,
    get_variable_scope,
    variable_scope,
)

State: TypeAlias = "Any"
"""A cell's state: a tensor, or a tuple of states."""

add, multiply, sigmoid, matmul = (FUNCTIONS[name] for name in ("add", "multiply", "sigmoid", "matmul"))


class LSTMStateTuple(NamedTuple):
    """The state of an LSTM cell: what it keeps, and its last output."""

    c: Any
    h: Any


def sizes_with(first: TensorLike, size: int, *, known: bool = False) -> Any:
    """Return sizes with one more behind them, as a tensor; for what is ``known`` TensorFlow has the parts alone."""
    numbers: Any = None if isinstance(first, Tensor) else np.ravel(np.asarray(first, object)).tolist()
    begin: Any = None
    if numbers is None:
        begin = FUNCTIONS["expand_dims"](first, 0)
    elif None not in numbers:
        begin = constant(numbers, int32)
    end = constant([size], int32)
    return None if known else concat([begin, end], 0)


class RNNCell(ABC):
    """A cell of a recurrent network: called with a part of a sequence and a state, it returns an output and the state.

    Args:
        num_units: how many numbers the output has.
        activation: of the output; tanh if none is given.
        reuse: as in ``variable_scope``.
        name: the scope of its variables; the name of its type if none is given.
        dtype: accepted; the variables have that of the inputs.
    """

    label = ""
    state_size: Any
    weights: dict[str, Tensor]
    first_kernel: Initializer | None = None
    first_bias: Initializer | None = None

    def __init__(
        self,
        num_units: int,
        activation: Callable[[Tensor], Tensor] | None = None,
        reuse: object = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        self.output_size = self.state_size = num_units
        self._activation, self._reuse = activation or FUNCTIONS["tanh"], reuse
        self._scope: str | VariableScope | None = name

    def __call__(
        self, inputs: TensorLike, state: State, scope: str | VariableScope | None = None
    ) -> tuple[Tensor, Any]:
        """Return the output and the next state; the variables are made the first time."""
        graph, x = get_default_graph(), convert(inputs)
        with (
            variable_scope(self._scope or scope, self.label, reuse=self._reuse, auxiliary_name_scope=False) as opened,
            graph.name_scope(f"{graph.scope}{opened.name.rpartition('/')[2]}/"),
        ):
            if not isinstance(self._scope, VariableScope):
                self.weights = self.variables(known_length(x, "recurrent") + self.output_size, x)
            self._scope = opened
            return self.step(x, state)

    def variables(self, length: int, x: Tensor) -> dict[str, Tensor]:
        """Return the cell's variables by name, for so many numbers of input and state."""
        return self.pair(length, self.output_size, x)

    @abstractmethod
    def step(self, x: Tensor, state: State) -> tuple[Tensor, Any]:
        """Return the output and the next state."""

    def gate(self, parts: Sequence[Tensor], part: str = "") -> Tensor:
        """Return the product of input and state with a kernel, with its bias."""
        whole = matmul(concat(parts, 1), self.weights[f"{part}kernel"])
        return NN["bias_add"](whole, self.weights[f"{part}bias"])

    def pair(
        self, length: int, units: int, x: Tensor, part: str = "", first: Initializer | None = None
    ) -> dict[str, Tensor]:
        """Return a kernel and a bias."""
        dtype, start = x.dtype.base_dtype, self.first_bias or first or INITIALIZERS["zeros_initializer"]()
        kernel = get_variable(f"{part}kernel", [length, units], dtype, self.first_kernel)
        bias = get_variable(f"{part}bias", [units], dtype, start)
        return {f"{part}kernel": kernel._read, f"{part}bias": bias._read}

    def zero_state(self, batch_size: TensorLike, dtype: DTypeLike) -> Any:
        """Return the state at the start: zeros for each example."""
        with get_default_graph().name_scope(f"{type(self).__name__}ZeroState"):
            return fill_structure(self.state_size, (zero_part(batch_size, n, dtype) for n in leaves(self.state_size)))


def zero_part(batch_size: TensorLike, size: int, dtype: DTypeLike) -> Tensor:
    """Return zeros for each example."""
    part = zeros(sizes_with(batch_size, size), dtype)
    sizes_with(batch_size, size, known=True)
    part.set_shape([None if isinstance(batch_size, Tensor) else batch_size, size])  # type: ignore[list-item]
    return part


class BasicRNNCell(RNNCell):
    """The simplest cell: its output, which is its state, is the activation of one product."""

    label = "basic_rnn_cell"

    def step(self, x: Tensor, state: State) -> tuple[Tensor, Any]:
        """Return the output twice."""
        output = self._activation(self.gate([x, state]))
        return output, output


class GRUCell(RNNCell):
    """A cell with two gates: one that resets the state and one that keeps it."""

    label = "gru_cell"

    def __init__(
        self,
        num_units: int,
        activation: Callable[[Tensor], Tensor] | None = None,
        reuse: object = None,
        kernel_initializer: Initializer | None = None,
        bias_initializer: Initializer | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(num_units, activation, reuse, name)
        self.first_kernel, self.first_bias = kernel_initializer, bias_initializer

    def variables(self, length: int, x: Tensor) -> dict[str, Tensor]:
        """Return kernel and bias of the gates and of what the next state may be."""
        ones = INITIALIZERS["constant_initializer"](1.0)
        units = self.output_size
        return self.pair(length, 2 * units, x, "gates/", ones) | self.pair(length, units, x, "candidate/")

    def step(self, x: Tensor, state: State) -> tuple[Tensor, Any]:
        """Return the next state twice."""
        reset, keep = split_along(sigmoid(self.gate([x, state], "gates/")), 2, 1)
        candidate = self._activation(self.gate([x, reset * state], "candidate/"))
        output = keep * state + (1 - keep) * candidate  # type: ignore[operator]
        return output, output


class LSTMCell(RNNCell):
    """A cell with three gates, which keeps a state beside its output."""

    label = "lstm_cell"

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: Initializer | None = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        num_unit_shards: int | None = None,
        num_proj_shards: int | None = None,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Callable[[Tensor], Tensor] | None = None,
        reuse: object = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        absent = {"use_peepholes": use_peepholes, "cell_clip": cell_clip, "num_proj": num_proj, "proj_clip": proj_clip}
        function, usual = f"tf.nn.rnn_cell.{type(self).__name__}", dict.fromkeys(absent) | {"use_peepholes": False}
        check_others(function, absent | {"state_is_tuple": state_is_tuple}, state_is_tuple=True, **usual)
        super().__init__(num_units, activation, reuse, name)
        self.first_kernel = initializer
        self.forget_bias, self.state_size = forget_bias, LSTMStateTuple(num_units, num_units)

    def variables(self, length: int, x: Tensor) -> dict[str, Tensor]:
        """Return a kernel and a bias for all gates."""
        return self.pair(length, 4 * self.output_size, x)

    def step(self, x: Tensor, state: State) -> tuple[Tensor, Any]:
        """Return the output and the next state."""
        before, last = state
        input_gate, new, forget_gate, output_gate = split_along(self.gate([x, last]), 4, 1)
        own = sigmoid(forget_gate + self.forget_bias) * before + sigmoid(input_gate) * self._activation(new)
        output = sigmoid(output_gate) * self._activation(own)
        return output, LSTMStateTuple(own, output)


class BasicLSTMCell(LSTMCell):
    """An LSTM cell as it was first in TensorFlow: the same numbers by other operations."""

    label = "basic_lstm_cell"

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Callable[[Tensor], Tensor] | None = None,
        reuse: object = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(
            num_units,
            forget_bias=forget_bias,
            state_is_tuple=state_is_tuple,
            activation=activation,
            reuse=reuse,
            name=name,
        )

    def step(self, x: Tensor, state: State) -> tuple[Tensor, Any]:
        """Return the output and the next state."""
        axis, (before, last) = constant(1, int32), state
        input_gate, new, forget_gate, output_gate = split_along(self.gate([x, last]), 4, axis)
        bias = constant(self.forget_bias, forget_gate.dtype)
        own = add(
            multiply(before, sigmoid(add(forget_gate, bias))), multiply(sigmoid(input_gate), self._activation(new))
        )
        output = multiply(self._activation(own), sigmoid(output_gate))
        return output, LSTMStateTuple(own, output)


class MultiRNNCell(RNNCell):
    """Several cells, each of which gets the output of the one before.

    Args:
        cells: in order.
        state_is_tuple: must be True.
    """

    def __init__(self, cells: Sequence[RNNCell], state_is_tuple: bool = True) -> None:
        check_others("tf.nn.rnn_cell.MultiRNNCell", {"state_is_tuple": state_is_tuple}, state_is_tuple=True)
        refuse(not cells, "Must specify at least one cell for MultiRNNCell.", ValueError)
        super().__init__(cells[-1].output_size)
        self._cells, self.state_size = list(cells), tuple(cell.state_size for cell in cells)

    def __call__(
        self, inputs: TensorLike, state: State, scope: str | VariableScope | None = None
    ) -> tuple[Tensor, Any]:
        """Return the last cell's output and all states."""
        outer = get_variable_scope().name.rpartition("/")[2]  # TensorFlow opens its name scope once more
        with within(scope or "multi_rnn_cell", f"{outer}/" if outer else ""):
            return self.step(convert(inputs), state)

    def step(self, x: Tensor, state: State) -> tuple[Tensor, Any]:
        """Return the last cell's output and all states."""
        states = []
        for i, (cell, own) in enumerate(zip(self._cells, state, strict=True)):
            with within(f"cell_{i}"):
                x, after = cell(x, own)
                states.append(after)
        return x, tuple(states)

    def zero_state(self, batch_size: TensorLike, dtype: DTypeLike) -> Any:
        """Return the states at the start."""
        with get_default_graph().name_scope("MultiRNNCellZeroState"):
            return tuple(cell.zero_state(batch_size, dtype) for cell in self._cells)


@contextmanager
def within(scope: str | VariableScope, path: str = "") -> Iterator[None]:
    """Open a scope for variables, and one of the same name for operations, however often it was open."""
    graph = get_default_graph()
    before = graph.scope + path
    with (
        variable_scope(scope, auxiliary_name_scope=False) as opened,
        graph.name_scope(f"{before}{opened.name.rpartition('/')[2]}/"),
    ):
        yield


# ------------------------------------------------------------------ sequences
def with_time_first(x: Tensor) -> Tensor:
    """Return a tensor with its first two axes exchanged."""
    turned = transpose(x, concat(([1, 0], range_(2, rank(x))), axis=0))
    dims = x.shape.as_list()
    turned.set_shape([dims[1], dims[0], *dims[2:]])
    return turned


def first_state(cell: RNNCell, batch_size: TensorLike, state: State, dtype: DTypeLike | None) -> Any:
    """Return the state at the start; ValueError if neither it nor a dtype for zeros is given."""
    refuse(
        state is None and dtype is None,
        "If no initial_state is provided, argument `dtype` must be specified",
        ValueError,
    )
    return cell.zero_state(batch_size, dtype) if state is None and dtype is not None else state


def dynamic_rnn(
    cell: RNNCell,
    inputs: TensorLike,
    sequence_length: TensorLike = None,
    initial_state: State = None,
    dtype: DTypeLike | None = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: str | VariableScope | None = None,
) -> tuple[Tensor, Any]:
    """Return the outputs of a cell for all parts of a sequence, and its state after the last one.

    Args:
        cell: it is called in a loop.
        inputs: examples x time x numbers, or time x examples x numbers with ``time_major``.
        sequence_length: how long each example is; behind that the outputs are 0 and the state stays.
        initial_state: the state at the start; zeros if it is None, of the ``dtype``.
        dtype: of the state.
        parallel_iterations: written down.
        swap_memory: accepted.
        time_major: which axis is the first one.
        scope: of the variables; ``rnn`` if none is given.
    """
    with variable_scope(scope or "rnn"):
        x = convert(inputs)
        x = x if time_major else with_time_first(x)
        steps, examples = x.shape.as_list()[:2]
        lengths: Any = None
        if sequence_length is not None:
            lengths = FUNCTIONS["identity"](cast(sequence_length, int32), "sequence_length")
        batch: Any = shape(x)[1] if examples is None else examples
        state = first_state(cell, batch, initial_state, dtype)
        if lengths is not None:
            sizes, expected_sizes = shape(lengths), stack([batch])
            fits = FUNCTIONS["Assert"](
                FUNCTIONS["reduce_all"](FUNCTIONS["equal"](sizes, expected_sizes)),
                [f"Expected shape for Tensor {lengths.name} is ", expected_sizes, " but saw shape: ", sizes],
            )
            with get_default_graph().control_dependencies([fits]):
                lengths = FUNCTIONS["identity"](lengths, "CheckSeqLen")
        time_steps = shape(x)[0]
        batch = shape(x)[1] if examples is None else examples
        own = next(leaves(state)).dtype.base_dtype
        nothing = zeros(sizes_with(batch, cell.output_size), own)
        longest: Any = time_steps
        if lengths is not None:
            FUNCTIONS["reduce_min"](lengths)
            longest = FUNCTIONS["reduce_max"](lengths)
        time = constant(0, int32, name="time")
        with get_default_graph().name_scope("dynamic_rnn") as base:
            pass
        outputs = TensorArray(
            own,
            time_steps,
            tensor_array_name=f"{base}output_0",
            element_shape=TensorShape([examples, cell.output_size]),
        )
        parts = TensorArray(
            x.dtype.base_dtype, time_steps, tensor_array_name=f"{base}input_0", element_shape=x.shape[1:]
        ).unstack(x)

        def body(time: TensorLike, outputs: TensorArray, state: State) -> Any:
            part = parts.read(time)
            output, after = cell(part, state)
            if lengths is not None:
                is_over = FUNCTIONS["greater_equal"](time, lengths)
                output = where(is_over, nothing, output)
                pairs = zip(leaves(state), leaves(after), strict=True)
                after = fill_structure(state, (where(is_over, old, new) for old, new in pairs))
            return add(time, 1, "add"), outputs.write(time, output), after

        bound = FUNCTIONS["minimum"](time_steps, FUNCTIONS["maximum"](1, longest))
        _, outputs, state = while_loop(
            lambda time, *_: time < bound, body, (time, outputs, state),
            parallel_iterations=parallel_iterations or 32, maximum_iterations=time_steps,
        )  # fmt: skip
        whole = outputs.stack()
        sizes_with([steps, examples], cell.output_size, known=True)
        whole.set_shape([steps, examples, cell.output_size])
        return whole if time_major else with_time_first(whole), state


def static_rnn(
    cell: RNNCell,
    inputs: Sequence[TensorLike],
    initial_state: State = None,
    dtype: DTypeLike | None = None,
    sequence_length: None = None,
    scope: str | VariableScope | None = None,
) -> tuple[list[Tensor], Any]:
    """Return the outputs of a cell for each of some tensors, and its state after the last one: no loop in the graph."""
    refuse(sequence_length is not None, "gviz has no sequence_length for tf.nn.static_rnn()", ValueError)
    refuse(not inputs, "inputs must not be empty", ValueError)
    with variable_scope(scope or "rnn"):
        first = convert(inputs[0])
        batch = first.shape[0].value
        state = first_state(cell, shape(first)[0] if batch is None else batch, initial_state, dtype)
        outputs = []
        for one in inputs:
            output, state = cell(one, state)
            outputs.append(output)
        return outputs, state


CELLS: tuple[Any, ...] = (BasicRNNCell, BasicLSTMCell, LSTMCell, GRUCell, MultiRNNCell, LSTMStateTuple, RNNCell)
RECURRENT: dict[str, Any] = {
    "dynamic_rnn": dynamic_rnn, "static_rnn": static_rnn,
    "rnn_cell": SimpleNamespace(**{cell.__name__: cell for cell in CELLS}),
}  # fmt: skip
"""What ``tf.nn`` has of them."""
