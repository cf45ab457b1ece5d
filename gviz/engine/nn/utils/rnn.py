"""``torch.nn.utils.rnn``: sequences of several lengths, padded to one or packed one behind the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gviz.autograd.row import TENSORS as call
from gviz.autograd.tensor import Tensor
from gviz.engine.creation import empty
from gviz.engine.searching import constant
from gviz.numbers.words import absent, refuse
from gviz.ops.recurrent import spans_of

__all__ = [
    "PackedSequence",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


class PackedSequence(NamedTuple):
    """Sequences one behind the other, step by step.

    How many of them reach each step, how they were sorted (if at all).
    """

    data: Any
    batch_sizes: Any
    sorted_indices: Any = None
    unsorted_indices: Any = None

    def to(self, *args: object, **kwargs: object) -> Any:
        """Return it with the data of another type."""
        return self._replace(data=self.data.to(*args, **kwargs))

    def cpu(self) -> Any:
        """Return it itself: it is on the CPU."""
        return self

    @property
    def is_cuda(self) -> bool:
        """Whether it is on a GPU: it is not."""
        return False


def pack_padded_sequence(
    input: Tensor, lengths: Sequence[int] | Tensor, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack padded sequences of these lengths, the longest first; ``enforce_sorted=False`` sorts them."""
    counts: Any = lengths.long() if isinstance(lengths, Tensor) else constant(lengths, np.dtype(np.int64))
    order = None
    if not enforce_sorted:
        counts, order = counts.sort(descending=True)
        input = input.index_select(0 if batch_first else 1, order)
    data, sizes = call["pack_padded_sequence"](input, counts, batch_first)
    return PackedSequence(data, sizes, order, None if order is None else constant(np.argsort(order._array)))


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Any, Any]:
    """Return the sequences padded to the longest one, or to a length, and their lengths."""
    data, sizes, order, cut = sequence.data, sequence.batch_sizes._array, sequence.unsorted_indices, call["slice_row"]
    refuse(
        total_length is not None and total_length < len(sizes),
        "Expected total_length to be at least the length of the longest sequence in input, but got "
        f"total_length={total_length} and max sequence length being {len(sizes)}",
        ValueError,
    )
    out = empty((total_length or len(sizes), int(sizes[0]), *data.shape[1:]), data.dtype).fill_(padding_value)
    ends = [
        *(np.flatnonzero(np.diff(sizes)) + 1).tolist(),
        len(sizes),
    ]  # steps that as many sequences reach are copied at once
    spans, first = spans_of(sizes), 0
    for end in ends:
        part = cut(data, 0, spans[first][0], spans[end - 1][1], 1).view(end - first, int(sizes[first]), *data.shape[1:])
        cut(cut(out, 0, first, end, 1), 1, 0, int(sizes[first]), 1).copy_(part)
        first = end
    out, lengths = out.transpose(0, 1) if batch_first else out, constant((sizes[:, None] > np.arange(sizes[0])).sum(0))
    return (out, lengths) if order is None else (out.index_select(0 if batch_first else 1, order), lengths[order])


def pad_sequence(
    sequences: Sequence[Tensor], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Any:
    """Return sequences of several lengths as one tensor, with a value after (or before) one that is shorter."""
    sequences = list(sequences)
    refuse(
        padding_side not in ("left", "right"),
        f"Expected padding_side to be one of left or right, but got {padding_side}.",
    )
    first, longest, cut = sequences[0], max(map(len, sequences)), call["slice_row"]
    shape = (len(sequences), longest) if batch_first else (longest, len(sequences))
    out = empty((*shape, *first.shape[1:]), first.dtype).fill_(padding_value)
    for number, one in enumerate(sequences):
        start = longest - len(one) if padding_side == "left" else 0
        if batch_first:
            cut(out.select(0, number), 0, start, start + len(one), 1).copy_(one)
        else:
            cut(out, 0, start, start + len(one), 1).select(1, number).copy_(one)
    return out


def unpad_sequence(padded_sequences: Tensor, lengths: Iterable[Any], batch_first: bool = False) -> list[Any]:
    """Return the sequences that were padded, of these lengths."""
    if not batch_first:
        padded_sequences.transpose_(0, 1)
    places = constant(np.arange(padded_sequences.shape[1]))
    return [one[places < length] for one, length in zip(padded_sequences, lengths, strict=True)]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences of several lengths, the longest first."""
    return pack_padded_sequence(pad_sequence(sequences), [len(one) for one in sequences], enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Any]:
    """Return the sequences that were packed."""
    return unpad_sequence(*pad_packed_sequence(packed_sequences, batch_first=True), batch_first=True)


__getattr__ = absent("torch.nn.utils.rnn")
