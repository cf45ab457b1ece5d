"""A static graph on its way out: as a picture, which is data, and as TensorBoard's event file."""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any, SupportsInt

import numpy as np

from gviz import events
from gviz.graphs import Edge, Graph as Picture, Module, Node, Recorded
from gviz.graphs.numbers import Numbers, elements_of
from gviz.numbers.words import refuse
from gviz.static.build import common_graph, constant, convert, in_scope, make, operation_scope
from gviz.static.graph import Graph, Operation, Tensor, TensorLike, get_default_graph
from gviz.static.types import DType, Value, int32

MOST_VALUES = 1_000
KINDS = {
    "Placeholder": "placeholder",
    "PlaceholderWithDefault": "placeholder",
    "VariableV2": "variable",
    "Const": "constant",
}


def static_picture(
    graph: Graph,
    *,
    values: Mapping[Tensor, Value] | None = None,
    title: str = "",
    names: Mapping[str, Any] | None = None,
) -> Picture:
    """Return the whole graph as data to draw, in the order of making.

    A node for each operation, with its scope and the value that a run gave it; an edge for each input, with the
    tensor's shape; a control edge for each operation that has to run before. Roots are what was differentiated; in a
    graph without derivatives the operations that nothing else uses, but for those that initialise variables.

    Args:
        graph: what is drawn.
        values: what a run gave the tensors.
        title: what the picture is called.
        names: the program's names of tensors and variables, by which derivatives are called.
    """
    operations = graph.get_operations()
    ids = {op: f"n{i}" for i, op in enumerate(operations)}
    edges = []
    for op in operations:
        for slot, tensor in enumerate(op.inputs):
            dims = tensor._dims  # as TensorBoard writes them: ?×3, nothing for a scalar, or if they are unknown
            size = "" if dims is None else "×".join("?" if n is None else str(n) for n in dims)
            edges.append(Edge(ids[tensor.op], ids[op], slot, size, output=tensor.value_index))
        edges += [Edge(ids[before], ids[op], slot, kind="control") for slot, before in enumerate(op.control_inputs)]
    meanings = meanings_of(graph, names or {})
    nodes = (static_node(op, ids[op], values or {}) for op in operations)
    return Picture(
        tuple(node._replace(expression=meanings.get(node.name, "")) for node in nodes),
        tuple(edges),
        differentiated(graph, ids) or final_operations(operations, ids),
        title=title,
        kind="static",
    )


def differentiated(graph: Graph, ids: Mapping[Operation, str]) -> tuple[str, ...]:
    """Return what ``gradients`` was called on, by its ids, without what is a derivative itself."""
    pairs = (pair for pairs in graph.derivatives.values() for pair in pairs)
    return tuple(dict.fromkeys(ids[y.op] for ys, _ in pairs for y in ys if y not in graph.derivatives))


def final_operations(operations: Sequence[Operation], ids: Mapping[Operation, str]) -> tuple[str, ...]:
    """Return what nothing else uses, by its ids; what initialises variables only if there is nothing else."""
    used = {tensor.op for op in operations for tensor in op.inputs}
    used.update(before for op in operations for before in op.control_inputs)
    ends = [op for op in operations if op not in used]
    first = {op for op in operations if op.type == "Assign" and op.name == f"{op.inputs[0].op.name}/Assign"}
    first |= {op for op in ends if op.type == "NoOp" and first.issuperset(op.control_inputs)}
    return tuple(ids[op] for op in ends if op not in first) or tuple(ids[op] for op in ends)


def meanings_of(graph: Graph, names: Mapping[str, Any]) -> dict[str | None, str]:
    """Return by the names of operations what the program calls their results, and which derivatives they are: ``∂y/∂w``.

    Args:
        graph: what the operations are in.
        names: the program's names of tensors and variables.
    """
    names_of = {getattr(part, "_ref", part): name for name, part in reversed([*names.items()])}
    tensors = {part: name for part, name in names_of.items() if isinstance(part, Tensor) and part.value_index == 0}
    meanings: dict[str | None, list[str]] = {}

    def last(tensor: Tensor) -> str:
        return tensor.op.name.rpartition("/")[2]

    def word(tensor: Tensor) -> str:
        derivative = f"({meanings[tensor.op.name][0]})" if tensor in graph.derivatives else ""
        return names_of.get(tensor) or derivative or last(tensor)

    for slope, pairs in graph.derivatives.items():
        of = [f"∂{' + '.join(map(word, ys))}/∂{word(x)}" for ys, x in pairs]
        meanings.setdefault(slope.op.name, []).extend(of)
    for tensor, name in tensors.items():
        if name != last(tensor) and not name.startswith("_"):
            meanings.setdefault(tensor.op.name, [name])
    return {name: ", ".join(dict.fromkeys(of)) for name, of in meanings.items()}


def static_node(op: Operation, name: str, values: Mapping[Tensor, Value]) -> Node:
    """Return an operation's box; large values are left out."""
    kind, scope, numbers = KINDS.get(op.type, "operation"), op.name.rpartition("/")[0], None
    if op.outputs:
        first = op.outputs[0]
        value = op.attrs["value"] if op.type == "Const" else values.get(first)
        array = None if value is None or np.size(value) > MOST_VALUES else np.asarray(value)
        shape = first._dims if array is None else array.shape
        items = [] if array is None else array.ravel().tolist()
        words = (item.decode(errors="replace") if isinstance(item, bytes) else item for item in items)
        elements = None if array is None else elements_of(words)
        numbers = Numbers(None if shape is None else tuple(shape), first.dtype.base_dtype.name, elements)
    module = Module(scope) if scope else None
    return Node(name, kind, op.type, op.name, numbers, module=module, recorded=Recorded(len(op.inputs)))


# ------------------------------------------------------------------ for TensorBoard
LARGEST = 2**20
"""Bytes of a constant's value that are written; ``tf.import_graph_def`` refuses a graph with a larger one."""


def as_graph_def(graph: Graph) -> bytes:
    """Return all operations of a graph, in the order of making, as a GraphDef in wire form."""
    return events.graph_def(
        events.Op(
            op.name,
            op.type,
            (*(t.name.removesuffix(":0") for t in op.inputs), *(f"^{c.name}" for c in op.control_inputs)),
            attrs(op),
            tuple(t._dims for t in op.outputs),
            op.device,
        )
        for op in graph.get_operations()
    )


DTYPES_OF = {
    **dict.fromkeys(["LogicalAnd", "LogicalOr", "LogicalNot", "LoopCond", "MergeSummary", "StringJoin"], ""),
    **dict.fromkeys(["ConcatOffset", "NoOp", "PyFunc", "Assert", "ControlTrigger", "StackV2", "StackPopV2"], ""),
    **dict.fromkeys([f"TensorArray{name}V3" for name in ("", "Grad", "Read", "Gather", "Size")], ""),
    "TensorArrayWriteV3": "T:2", "TensorArrayScatterV3": "T:2",
    "StackPushV2": "T:1",
    "GatherV2": "Tparams:0 Tindices:1 Taxis:2", "GatherNd": "Tparams:0 Tindices:1", "ScatterNd": "T:1 Tindices:0",
    "LogUniformCandidateSampler": "", "Unique": "T:0", "UniqueWithCounts": "T:0",
    "TopKV2": "T:0 Tk:1 index_type:1", "LinSpace": "T:0 Tidx:2",
    "Cast": "SrcT:0", "InTopKV2": "T:1", "OneHot": "T:2 TI:0",
    "Fill": "T:1",
    "SparseSoftmaxCrossEntropyWithLogits": "T:0 Tlabels:1", "StridedSlice": "T:0 Index:1",
    "StridedSliceGrad": "T:4 Index:0",
    "Range": "Tidx:0", "Slice": "T:0 Index:1", "Split": "T:1", "SplitV": "T:0 Tlen:1", "ScalarSummary": "T:1",
    "HistogramSummary": "T:1", "IsVariableInitialized": "dtype:0", "PlaceholderWithDefault": "dtype:0",
    "DynamicStitch": "T:2",
    "Conv2DBackpropInput": "T:1", "Conv2DBackpropFilter": "T:0", "AvgPoolGrad": "T:1", "ConcatV2": "T:0",
    "UnsortedSegmentSum": "T:0 Tindices:1 Tnumsegments:2",
}  # fmt: skip
"""The dtypes of inputs that are written of an operation, each with the input's number, where that is not ``T``."""
COUNTED = dict.fromkeys(["Pack", "AddN", "ShapeN", "Merge", "MergeSummary", "StringJoin"], 0) | {
    "ConcatV2": 1,
    "ConcatOffset": 1,
}
"""Types that take a list of inputs, whose length is written, and how many inputs come besides."""
DROPPED = {
    "Merge": "shape",
    "Split": "axis",
    "SplitV": "axis",
    "NoOp": "gate",
    "BatchMatMulV2": "transpose_a transpose_b",
}
"""Fixed parameters that TensorFlow has in another way."""


def attrs(op: Operation) -> dict[str, bytes]:
    """Return the fixed parameters that TensorFlow's operation of that type has."""
    values: dict[str, Any] = {name: op.attrs[name] for name in op.attrs.keys() - set(DROPPED.get(op.type, "").split())}
    input_dtypes = [t.dtype.base_dtype for t in op.inputs]
    first = next(
        (t.dtype for t in op.outputs if t.dtype.base_dtype in input_dtypes), input_dtypes[0] if input_dtypes else None
    )
    words = DTYPES_OF.get(op.type, "T" if input_dtypes else "").split()
    values |= {
        name: input_dtypes[int(number)] if number else first
        for name, _, number in (word.partition(":") for word in words)
    }
    if op.type in COUNTED:
        values["N"] = len(op.inputs) - COUNTED[op.type]
    values |= OTHERS[op.type](op) if op.type in OTHERS else {}
    messages = {name: attr(name, value) for name, value in values.items()}
    return {name: value for name, value in messages.items() if value is not None}


def masks(op: Operation) -> dict[str, Any]:
    """Return what TensorFlow says of an index in bits, one for each entry."""
    kinds = op.attrs["kinds"]
    flags = {
        "begin_mask": [isinstance(kind, tuple) and not kind[0] for kind in kinds],
        "end_mask": [isinstance(kind, tuple) and not kind[1] for kind in kinds],
        "ellipsis_mask": [kind is Ellipsis for kind in kinds],
        "new_axis_mask": [kind is None for kind in kinds],
        "shrink_axis_mask": [isinstance(kind, int) for kind in kinds],
    }
    return {name: sum(bit << i for i, bit in enumerate(bits)) for name, bits in flags.items()} | {"kinds": None}


OTHERS: dict[str, Callable[[Operation], dict[str, Any]]] = {
    **dict.fromkeys(("StridedSlice", "StridedSliceGrad"), masks),
    **dict.fromkeys(
        ("RandomUniform", "RandomStandardNormal", "TruncatedNormal", "RandomUniformInt", "LogUniformCandidateSampler"),
        lambda op: dict(zip(("seed", "seed2"), op.attrs["seeds"] or (0, 0), strict=True)) | {"seeds": None, "T": int32}
        | ({"dtype": None, "Tout": op.attrs["dtype"]} if op.type == "RandomUniformInt" else {}),
    ),
    **dict.fromkeys(("Split", "SplitV"), lambda op: {"num_split": len(op.outputs), "sizes": None}),
    "Squeeze": lambda op: {"squeeze_dims": list(op.attrs["axis"]), "axis": None},
    "DynamicStitch": lambda op: {"N": len(op.inputs) // 2},
    "BatchMatMulV2": lambda op: {"adj_x": op.attrs["transpose_a"], "adj_y": op.attrs["transpose_b"]},
    "Print": lambda op: {"U": [t.dtype for t in op.inputs[1:]]},
    "Assert": lambda op: {"T": [t.dtype for t in op.inputs[1:]]},
    "PyFunc": lambda op: {"Tin": [t.dtype for t in op.inputs], "token": op.name},
}  # fmt: skip
"""What is written of some types besides, by name; None for what is not."""


def attr(name: str, value: Any) -> bytes | None:
    """Return one parameter in wire form; None for what only gviz has a use for, or nobody could read."""
    if isinstance(value, DType):
        return events.dtype_attr(value.base_dtype.name)
    if name in ("shape", "element_shape"):
        return events.shape_attr(value)
    if isinstance(value, np.ndarray):
        dtype = "string" if value.dtype == object else value.dtype.name
        return None if value.nbytes > LARGEST else events.tensor_attr(dtype, value.shape, value.ravel().tolist())
    if isinstance(value, (list, tuple)) and value and all(isinstance(item, DType) for item in value):
        return events.list_attr([events.dtype_attr(item.base_dtype.name) for item in value])
    return events.plain_attr(value.item() if isinstance(value, np.generic) else value)


@dataclass
class SummaryValue:
    """A number that a program has computed itself, with its tag: ``tf.Summary.Value``."""

    tag: str = ""
    simple_value: float = 0.0


class SummaryValues(list[SummaryValue]):
    """The numbers of a ``tf.Summary``."""

    def add(self, tag: str = "", simple_value: float = 0.0) -> SummaryValue:
        """Add a number, and return it."""
        self.append(SummaryValue(tag, simple_value))
        return self[-1]


class SummaryProto:
    """Numbers that a program has computed itself, for a :class:`FileWriter`."""

    Value = SummaryValue

    def __init__(self, value: Iterable[SummaryValue] = ()) -> None:
        self.value = SummaryValues(value)

    def ParseFromString(self, serialized: bytes) -> int:  # noqa: N802 - TensorFlow's name
        """Take what is in wire form; of a histogram the tag alone. Return how many bytes it has."""
        values = [dict(events.fields_of(part)) for _, part in events.fields_of(serialized)]
        self.value = SummaryValues(
            SummaryValue(one[1].decode(), struct.unpack("<f", one.get(2, bytes(4)))[0]) for one in values
        )
        return len(serialized)

    @classmethod
    def FromString(cls, serialized: bytes) -> SummaryProto:  # noqa: N802 - TensorFlow's name
        """Return what is in wire form."""
        summary = cls()
        summary.ParseFromString(serialized)
        return summary

    def SerializeToString(self) -> bytes:  # noqa: N802 - TensorFlow's name
        """Return it in wire form."""
        return b"".join(events.scalar_summary(one.tag, one.simple_value) for one in self.value)


class FileWriter(AbstractContextManager["FileWriter"]):
    """Writes what TensorBoard shows: ``tensorboard --logdir LOGDIR``.

    A graph is written as it is when it is given. The file that gviz wrote there before is replaced; the folder is made.
    FileError if that cannot be done.
    """

    def __init__(
        self,
        logdir: str | os.PathLike[str],
        graph: Graph | None = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        graph_def: None = None,
        filename_suffix: str | None = None,
        session: object = None,
    ) -> None:
        self._folder = logdir
        graph_written = graph if graph is not None else getattr(session, "graph", None)
        events.write_events(logdir, events.event_file(None if graph_written is None else as_graph_def(graph_written)))

    def add_graph(self, graph: Graph, global_step: object = None, graph_def: None = None) -> None:
        """Write a graph."""
        events.append_events(self._folder, events.graph_event(as_graph_def(graph)))

    def add_summary(self, summary: bytes | SummaryProto, global_step: SupportsInt | None = None) -> None:
        """Write what a summary has come to, at a step."""
        data = summary.SerializeToString() if isinstance(summary, SummaryProto) else summary
        events.append_events(self._folder, events.summary_event(data, int(global_step or 0)))

    def get_logdir(self) -> str:
        """Return the folder."""
        return os.fspath(self._folder)

    def flush(self) -> None:
        """Nothing is left to be written."""

    close = reopen = flush

    def __exit__(self, *raised: object) -> None:
        self.close()


# ------------------------------------------------------------------ summaries
SUMMARIES = "summaries"


def summary_tensor(
    type: str, label: str, name: str, tensor: TensorLike, collections: Sequence[str] | None = None, family: None = None
) -> Tensor:
    """Return ``tf.summary.scalar`` or ``histogram``: a tensor that holds a curve's point in wire form."""
    refuse(family is not None, "gviz has no family for tf.summary", ValueError)
    with operation_scope(common_graph(tensor), re.sub(r"[^-/\w.]", "_", name).lstrip("/"), type) as scope:
        tag = constant(scope[:-1], name=label)
        summary = make(type, [tag, convert(tensor, name="values")], scope)
    for key in [SUMMARIES] if collections is None else collections:
        summary.graph.add_to_collection(key, summary)
    return summary


@in_scope("Merge")
def merge(inputs: Sequence[Tensor], collections: Sequence[str] | None = None, name: str | None = None) -> Tensor:
    """Return several summaries as one."""
    summary = make("MergeSummary", [convert(one) for one in inputs])
    for key in collections or ():
        summary.graph.add_to_collection(key, summary)
    return summary


def merge_all(key: str = SUMMARIES, scope: str | None = None, name: str | None = None) -> Tensor | None:
    """Return all summaries of the graph as one, None if there are none."""
    summaries = get_default_graph().get_collection(key, scope)
    return merge(summaries, name=name) if summaries else None


SUMMARY: dict[str, Any] = {
    "FileWriter": FileWriter, "Summary": SummaryProto, "merge": merge, "merge_all": merge_all,
    "scalar": partial(summary_tensor, "ScalarSummary", "tags"),
    "histogram": lambda name, values, collections=None, family=None: (
        summary_tensor("HistogramSummary", "tag", name, values, collections, family)
    ),
}  # fmt: skip
