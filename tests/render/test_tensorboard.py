"""Event files: byte for byte, read back, and shown by the real TensorBoard where that is installed."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np
import pytest
from graphs import article, every_kind
from program import ROOT, Program

from gviz.errors import FileError
from gviz.events import Op, crc32c, dtype_attr, event_file, graph_def, plain_attr, write_events
from gviz.graphs import Edge, Graph, Node
from gviz.graphs.numbers import Numbers
from gviz.render import RenderOptions, render
from gviz.static.out import as_graph_def as static_graph_def

tf = pytest.importorskip("gviz.static")

SAMPLES = ROOT / "tests" / "recorded" / "oracle_static" / "tb_sample"
TWO_NODES = bytes.fromhex((SAMPLES / "two_nodes.hex").read_text())
"""An event file of two nodes that TensorBoard is known to show; its graph ends with a ``versions``, which nobody needs."""
WRITTEN_BY_TENSORFLOW = SAMPLES / "events.out.tfevents.1700000000.seed_uvte"


# A reader of our own: just enough protobuf


def varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[at]
        number, at, shift = number | (byte & 127) << shift, at + 1, shift + 7
        if byte < 128:
            return number, at


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
            yield key >> 3, value
            continue
        size = {1: 8, 5: 4}.get(key & 7)
        if size is None:
            assert key & 7 == 2
            size, at = varint(data, at)
        assert at + size <= len(data)
        yield key >> 3, data[at : at + size]
        at += size


def messages(data: bytes, number: int) -> list[bytes]:
    return [value for key, value in fields(data) if key == number and isinstance(value, bytes)]


def records(data: bytes) -> Iterator[bytes]:
    def masked(part: bytes) -> int:
        crc = crc32c(part)
        return ((crc >> 15 | crc << 17 & 0xFFFFFFFF) + 0xA282EAD8) % 2**32

    while data:
        (size,) = struct.unpack("<Q", data[:8])
        body = data[12 : 12 + size]
        assert struct.unpack("<I", data[8:12])[0] == masked(data[:8])
        assert struct.unpack("<I", data[12 + size : 16 + size])[0] == masked(body)
        yield body
        data = data[16 + size :]


Sizes = tuple[int, ...] | None


@dataclass
class Read:
    """A NodeDef that was read back."""

    name: str
    type: str
    inputs: list[str]
    device: str
    attrs: dict[str, bytes] = field(default_factory=dict)

    @property
    def shapes(self) -> list[Sizes]:
        (listed,) = messages(self.attrs["_output_shapes"], 1)
        return [shape(one) for one in messages(listed, 7)]

    def text(self, key: str) -> str:
        return messages(self.attrs[key], 2)[0].decode()


def shape(data: bytes) -> Sizes:
    if dict(fields(data)).get(3):
        return None
    sizes = [dict(fields(dim))[1] for dim in messages(data, 2)]
    return tuple(-1 if size == 2**64 - 1 else int(size) for size in sizes)


def read(data: bytes) -> dict[str, Read]:
    """The nodes of an event file by name, in order."""
    version, graph, *_ = records(data)  # TensorFlow adds the graph once more, with its collections
    assert messages(version, 3) == [b"brain.Event:2"]
    nodes = {}
    for node in messages(messages(graph, 4)[0], 1):
        texts = {number: [text.decode() for text in messages(node, number)] for number in (1, 2, 3, 4)}
        attrs = {messages(entry, 1)[0].decode(): messages(entry, 2)[0] for entry in messages(node, 5)}
        one = Read(texts[1][0], texts[2][0], texts[3], "".join(texts[4]), attrs)
        assert one.name not in nodes
        nodes[one.name] = one
    return nodes


def only_file(folder: Path) -> Path:
    (file,) = folder.iterdir()
    assert re.fullmatch(r"events\.out\.tfevents\.\d{10}\.gviz", file.name)
    return file


def of(graph: Graph, **options: object) -> dict[str, Read]:
    data = render(graph, "tensorboard", RenderOptions(**options))  # type: ignore[arg-type]
    assert isinstance(data, bytes)
    return read(data)


# The format


@pytest.mark.parametrize(("data", "crc"), [(b"", 0), (b"123456789", 0xE3069283), (bytes(32), 0x8A9136AA)])
def test_the_checksum_is_castagnolis(data: bytes, crc: int) -> None:
    assert crc32c(data) == crc


def test_a_graph_of_two_nodes_is_written_byte_for_byte() -> None:
    ops = [
        Op("x", "Placeholder", (), {"dtype": dtype_attr("float32")}, ((None, 3),)),
        Op("s/y", "Log", ("x",), {"T": dtype_attr("float32")}, ((None, 3),), "/device:CPU:0"),
    ]
    assert event_file(graph_def(ops) + bytes.fromhex("22020816"), 1_700_000_000.0) == TWO_NODES


@pytest.mark.parametrize(
    ("value", "wire"),
    [
        (True, b"\x28\x01"),
        (3, b"\x18\x03"),
        (-1, b"\x18" + b"\xff" * 9 + b"\x01"),
        (0.5, b"\x25\x00\x00\x00\x3f"),
        (1e300, b"\x25\x00\x00\x80\x7f"),
        ("é", b"\x12\x02\xc3\xa9"),
        ([1, 2], b"\x0a\x04\x18\x01\x18\x02"),
        ([], b"\x0a\x00"),
        (len, None),
        ([len], None),
    ],
)
def test_an_attribute_is_written_by_its_type(value: object, wire: bytes | None) -> None:
    assert plain_attr(value) == wire


# Static graphs


def seed() -> Any:
    graph = tf.Graph()
    with graph.as_default():
        a, b, c, d = (tf.placeholder(tf.float32, name=name) for name in "abcd")
        tf.add(a * b, tf.log(d) * c, name="add")
    return graph


def test_a_static_graph_is_what_tensorflow_itself_wrote() -> None:
    theirs, ours = (
        {name: (one.type, one.inputs, one.device, sorted(one.attrs.items())) for name, one in read(data).items()}
        for data in (WRITTEN_BY_TENSORFLOW.read_bytes(), event_file(static_graph_def(seed())))
    )
    assert ours == theirs
    assert list(ours) == list(theirs)


def test_every_operation_of_a_static_graph_tells_its_shapes_and_inputs() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        with tf.name_scope("layer"):
            w = tf.Variable(np.ones((3, 2), np.float32), name="w")
            h = tf.matmul(x, w, name="h")
        first, _ = tf.unstack(tf.transpose(h), 2)
        with tf.control_dependencies([tf.no_op(name="before")]):
            late = tf.identity(first, name="late")
        s = tf.reduce_sum(late, name="s")
        tf.gradients(s, [w])
        p = tf.placeholder(tf.bool, [], name="p")
        tf.cond(p, lambda: s * 2, lambda: tf.identity(s))
        tf.while_loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(0)])
    nodes = read(event_file(static_graph_def(graph)))
    assert list(nodes) == [op.name for op in graph.get_operations()]
    for op in graph.get_operations():
        one = nodes[op.name]
        assert one.type == op.type
        assert one.inputs == [t.name.removesuffix(":0") for t in op.inputs] + [f"^{c.name}" for c in op.control_inputs]
        sizes = [
            None if t.shape.rank is None else tuple(-1 if n is None else n for n in t.shape.as_list())
            for t in op.outputs
        ]
        assert one.shapes == sizes
    assert nodes["x"].shapes == [(-1, 3)]
    assert nodes["late"].inputs == ["unstack", "^before"]
    assert nodes["layer/w"].attrs["dtype"] == dtype_attr("float32")
    assert nodes["while/Switch"].shapes == [(), ()]
    assert any(":1" in source for source in nodes["while/Identity"].inputs)


@pytest.mark.parametrize(
    ("value", "dtype", "wire"),
    [
        (2.5, "float32", "42 0a 08 01 12 00 2a 04 00 00 20 40"),
        ([1, -1], "int32", "42 15 08 03 12 04 12 02 08 02 3a 0b 01 ff ff ff ff ff ff ff ff ff 01"),
        (True, "bool", "42 07 08 0a 12 00 5a 01 01"),
        (["a", "b"], "string", "42 0e 08 07 12 04 12 02 08 02 42 01 61 42 01 62"),
        (np.zeros((600, 600)), "float32", ""),  # a large one is written without its value
    ],
)
def test_a_constant_tells_its_value(value: object, dtype: str, wire: str) -> None:
    graph = tf.Graph()
    with graph.as_default():
        tf.constant(value, dtype=getattr(tf, dtype), name="c")
    one = read(event_file(static_graph_def(graph)))["c"]
    assert one.attrs.get("value", b"").hex(" ") == wire
    assert one.shapes == [np.asarray(value).shape]


def test_a_file_writer_writes_the_graph_at_once(tmp_path: Path) -> None:
    logs = tmp_path / "deep" / "graphs"
    with tf.Session(graph=seed()) as session, tf.summary.FileWriter(str(logs), session.graph) as writer:
        assert list(read(only_file(logs).read_bytes())) == ["a", "b", "c", "d", "mul", "Log", "mul_1", "add"]
        with session.graph.as_default():
            tf.no_op(name="late")
        writer.add_graph(session.graph)
        writer.flush()
    first, data = (event_file(static_graph_def(one)) for one in (seed(), session.graph))
    assert only_file(logs).read_bytes() == first + data[len(event_file(None)) :]


# Dynamic graphs


def test_a_dynamic_graph_has_the_nodes_of_the_picture() -> None:
    nodes = of(article())
    assert {name: (one.type, one.inputs) for name, one in nodes.items()} == {
        "x": ("Placeholder", []),
        "w": ("Placeholder", []),
        "x/AccumulateGrad": ("AccumulateGrad", ["x"]),
        "w/AccumulateGrad": ("AccumulateGrad", ["w"]),
        "Add": ("AddBackward0", ["x/AccumulateGrad", "w/AccumulateGrad"]),
        "Add_1": ("AddBackward0", ["w/AccumulateGrad"]),
        "Mul": ("MulBackward0", ["Add", "Add_1"]),
        "y": ("Identity", ["Mul"]),
    }
    assert all(one.shapes == [()] for one in nodes.values())
    assert (nodes["w"].text("value"), nodes["w"].text("grad"), nodes["Add"].text("name")) == ("1", "5", "a")
    assert "value" not in of(article(), show=())["w"].attrs


def test_edges_that_carry_no_gradient_are_control_edges() -> None:
    graph = every_kind()
    nodes = of(graph)
    assert len(nodes) == len(graph.nodes)
    control = [[source.startswith("^") for source in one.inputs] for one in nodes.values()]
    assert sum(map(sum, control)) == sum(edge.kind in ("view", "saved") for edge in graph.edges) > 0
    assert all(inputs == sorted(inputs) for inputs in control)


def test_names_are_unique_and_mean_nothing_else() -> None:
    nodes = [
        Node(f"n{i}", "leaf", name=name) for i, name in enumerate(["d['a/b']", "d['a_b']", "x:0", "x:0", "^x", ""])
    ]
    assert list(of(Graph(tuple(nodes)))) == ["d['a_b']", "d['a_b']_1", "x_0", "x_0_1", "_x", "leaf"]


def test_an_output_that_is_not_the_first_is_named_by_its_number() -> None:
    three = Numbers((3,))
    nodes = (Node("n0", "output", "", "q", three), Node("n1", "operation", "UnbindBackward0", "q", three))
    written = of(Graph(nodes, (Edge("n1", "n0", output=2),)))
    assert (written["q"].inputs, written["Unbind"].shapes) == (["Unbind:2"], [None, None, (3,)])


def test_a_cycle_is_written_too() -> None:
    nodes = (
        Node("n0", "operation", "AddBackward0"),
        Node("n1", "operation", "MulBackward0"),
        Node("n2", "leaf", name="x"),
    )
    written = of(Graph(nodes, (Edge("n0", "n1"), Edge("n1", "n0"), Edge("n2", "n0", 1))))
    assert {name: one.inputs for name, one in written.items()} == {"x": [], "Add": ["Mul", "x"], "Mul": ["Add"]}


def test_a_module_is_a_box_with_what_works_on_its_parameters_or_between_its_parts(gviz: Program) -> None:
    (gviz.folder / "net.py").write_text(
        "import torch\n"
        "from torch import nn\n"
        "net = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 1, bias=False))\n"
        "x = torch.ones(5, 4, requires_grad=True)\n"
        "loss = (net(x.exp()).abs().sum() + net[0].weight.pow(2).sum()) * 2\n"
        "loss.backward()\n"
    )
    assert gviz("render", "net.py", "-o", "logs/").status == 0
    nodes = read(only_file(gviz.folder / "logs").read_bytes())
    leaves = ["x", "net/0/bias", "net/0/weight", "net/2/weight"]
    inside = ["net/0/T", "net/0/Addmm", "net/1/Tanh", "net/2/T", "net/2/Mm"]
    outside = ["Exp", "Abs", "Sum", "Pow", "Sum_1", "Add", "Mul", "loss"]
    assert sorted(nodes) == sorted([*leaves, *(f"{leaf}/AccumulateGrad" for leaf in leaves), *inside, *outside])
    assert nodes["net/2/Mm"].inputs == ["net/1/Tanh", "net/2/T"]
    assert (nodes["net/0/T"].shapes, nodes["net/1/Tanh"].shapes) == ([(4, 3)], [(5, 3)])


# What is written, and where to


def test_the_same_graph_gives_the_same_bytes(gviz: Program) -> None:
    first = gviz(
        "render", "y=(x+w)*(w+1)", "x=2", "w=1", "--format", "tensorboard", "-o", "one", env={"PYTHONHASHSEED": "2"}
    )
    second = gviz("render", "y=(x+w)*(w+1)", "x=2", "w=1", "-o", "two/", env={"PYTHONHASHSEED": "1"})
    assert (first.status, second.status, first.out, second.out, second.err) == (0, 0, "", "", "")
    one, two = (only_file(gviz.folder / name) for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()
    assert gviz("render", "y=(x+w)*(w+1)", "x=2", "w=1", "--format", "tensorboard", "-o", "-").raw == one.read_bytes()


def test_an_earlier_file_of_gviz_is_replaced_and_no_other(gviz: Program) -> None:
    logs = gviz.folder / "logs"
    assert gviz("render", "y=x+w", "x=1", "w=1", "-o", "logs/").status == 0
    old = only_file(logs)
    others = [
        "events.out.tfevents.1700000000.gviz",
        "events.out.tfevents.1700000000.host",
        "notes.txt",
        f"{old.name}.bak",
    ]
    for name in others:
        (logs / name).write_bytes(TWO_NODES)
    assert gviz("render", "y=x*w", "x=1", "w=1", "--format", "tensorboard", "-o", "logs").status == 0
    assert not old.exists()
    (new,) = (file for file in logs.iterdir() if file.name not in others)
    assert "Mul" in read(new.read_bytes())
    assert all((logs / name).read_bytes() == TWO_NODES for name in others)


def test_each_file_gets_a_later_name(tmp_path: Path) -> None:
    """A TensorBoard that is running reads no name twice."""
    names = []
    for graph in ("one", "two", "two"):
        data = event_file(graph_def([Op(graph, "NoOp")]))
        write_events(tmp_path, data)
        assert only_file(tmp_path).read_bytes() == data
        names.append(only_file(tmp_path).name)
    assert names == sorted(set(names))
    assert abs(int(names[0].split(".")[3]) - time.time()) < 60


def test_without_a_name_the_folder_is_the_roots(gviz: Program) -> None:
    for _ in range(2):
        done = gviz("render", "y=x*w", "x=1", "w=1", "--format", "tensorboard")
        assert (done.status, done.out) == (0, "y.tensorboard\n")
        only_file(gviz.folder / "y.tensorboard")


def test_a_folder_that_cannot_be_is_refused(gviz: Program) -> None:
    (gviz.folder / "file").write_text("mine")
    for output in ("file", "file/", "file/logs/"):
        done = gviz("render", "y=x", "x=1", "--format", "tensorboard", "-o", output)
        done.assert_refused(f"cannot write into {output}", "not a folder", files=("file",))
    gviz("render", "y=x", "x=1", "-o", "/proc/logs/").assert_refused("cannot write /proc/logs/", files=("file",))
    gviz("render", "y=x", "x=1", "-o", "logs/", "--format", "pdf").assert_refused("logs/ is a folder", files=("file",))
    assert (gviz.folder / "file").read_text() == "mine"


@pytest.mark.skipif(os.name == "nt", reason="permissions as POSIX has them")
def test_a_folder_that_may_not_be_written_is_refused(own_folder: Path) -> None:
    (own_folder / "logs").mkdir(mode=0o500)
    with pytest.raises(FileError, match=r"cannot write .*logs.events.*: Permission denied"):
        write_events(own_folder / "logs", event_file(b""))
    assert not list((own_folder / "logs").iterdir())


def test_a_disk_that_is_full_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_events(tmp_path, event_file(b""))
    old = only_file(tmp_path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(FileError, match="No space left"):
        write_events(tmp_path, event_file(graph_def([Op("x", "Placeholder")])))
    assert only_file(tmp_path) == old


# The real TensorBoard


@pytest.fixture
def address(gviz: Program) -> Iterator[str]:
    """A TensorBoard that shows the folders below ``logs``."""
    if importlib.util.find_spec("tensorboard") is None:
        pytest.skip("TensorBoard is not installed: make test-tensorboard installs it")
    assert gviz("render", "y=(x+w)*(w+1)", "x=2", "w=1", "-o", "logs/dynamic/").status == 0
    tf.summary.FileWriter(gviz.folder / "logs" / "static", seed())
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", "logs", "--host", "127.0.0.1", "--port", "0"]
    with subprocess.Popen(command, cwd=gviz.folder, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        try:
            yield next(url[0] for line in server.stderr if (url := re.search(r"http://127\.0\.0\.1:\d+", line)))
        finally:
            server.terminate()


def get(address: str, page: str) -> str:
    with urlopen(f"{address}/data/plugin/graphs/{page}", timeout=30) as answer:  # noqa: S310 - our own server
        text: str = answer.read().decode()
    return text


def listed_by(text: str) -> dict[str, tuple[str, list[str], list[Sizes]]]:
    """Type, inputs and shapes of each node, from a GraphDef as text."""
    nodes = {}
    for block in re.split(r"^node \{$", text, flags=re.MULTILINE)[1:]:
        name, type_ = (re.findall(rf'^  {key}: "(.*)"$', block, re.MULTILINE)[0] for key in ("name", "op"))
        inputs = re.findall(r'^  input: "(.*)"$', block, re.MULTILINE)
        listed = block[block.index('key: "_output_shapes"') :].split("\n  attr {")[0]
        sizes = [
            None if "unknown_rank: true" in one else tuple(int(size) for size in re.findall(r"size: (-?\d+)", one))
            for one in re.findall(r"^ {8}shape \{(.*?)^ {8}\}", listed, re.MULTILINE | re.DOTALL)
        ]
        nodes[name] = (type_, inputs, sizes)
    return nodes


@pytest.mark.tensorboard
def test_tensorboard_shows_what_was_written(address: str, gviz: Program) -> None:
    for _ in range(100):
        runs = json.loads(get(address, "info"))
        if len(runs) == 2:
            break
        time.sleep(0.2)
    assert {name: run["run_graph"] for name, run in runs.items()} == {"dynamic": True, "static": True}
    for run in runs:
        written = read(only_file(gviz.folder / "logs" / run).read_bytes())
        there = listed_by(get(address, f"graph?run={run}&conceptual=false"))
        assert there == {name: (one.type, one.inputs, one.shapes) for name, one in written.items()}
