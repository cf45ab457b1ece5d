"""What a source is, and what is wrong with a file: expression, script, saved graph, standard input."""

from __future__ import annotations

import io
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from fuzzing import relaxed
from graphs import node
from hypothesis import given, strategies as st
from scripts import HEAD, Folder, grad_of, nested, roots, texts, value_of

import gviz
from gviz.errors import FileError, GvizError, GvizWarning, SourceError
from gviz.graphs import Edge, Graph, TensorRow
from gviz.graphs.numbers import Numbers
from gviz.numbers.words import WARNED
from gviz.sources import SourceOptions, read
from gviz.sources.saved import load_graph
from gviz.sources.source import kind_of_text, looks_like_a_file

GRAPH = Graph(
    nodes=(
        node("n0", "output", name="y", shape=(), dtype="float32", value=4.0),
        node("n1", "operation", "MulBackward0", name="y", slots=2, attrs=(("alpha", "1"),)),
        node("n2", "accumulate", "AccumulateGrad", slots=1),
        node("n3", "leaf", name="x", shape=(2,), dtype="float32", value=(2.0, "nan"), grad=("inf", 1)),
    ),
    edges=(Edge("n1", "n0"), Edge("n2", "n1", slot=0), Edge("n3", "n2")),
    roots=("n0",),
    tensors=(TensorRow("x", Numbers.of((2.0, "nan"), "float32"), True, True, False, None),),
    title="y",
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    monkeypatch.chdir(tmp_path)
    return Folder(Path())


def report(source: str, stdin: Any = None, **options: Any) -> str:
    with pytest.raises(GvizError) as caught:
        read(source, SourceOptions(**options), stdin=stdin)
    return str(caught.value)


@pytest.mark.parametrize(
    ("source", "is_file"),
    [
        ("net.py", True),
        ("no/such/net.py", True),
        ("my net.py", True),
        ("graph.json", True),
        ("NET.PY", True),
        ("net.ipynb", True),
        ("y=(x+w)*(w+1)", False),
        ("a/b", False),
        ("x", False),
        ("x.T", False),
        ("y=x.py", False),
        ("y = x\nz.py", False),
        ("x" * 100_000 + ".py", False),
        ("", False),
        ("\0.py", False),
    ],
)
def test_a_file_is_told_from_an_expression(folder: Folder, source: str, *, is_file: bool) -> None:
    assert folder.path.exists()
    assert looks_like_a_file(source) is is_file


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("y = (x + w) * (w + 1)", "expression"),
        ("y = x + w; z = y * 2", "expression"),
        ("# import nothing\ny = x + w", "expression"),
        ("F.T", "expression"),
        ("import_ = 2 * x", "expression"),
        ("import torch\nx = 1", "script"),
        ("from torch import nn", "script"),
        ("x = 1\nprint(x)", "script"),
        ("def f(): pass", "script"),
        ("for i in range(3): x = i", "script"),
        ("x = torch.ones(2)", "script"),
        ("y.backward()", "script"),
        (">>> import math", "script"),
        ("In [1]: import math", "script"),
        ("```\ny = x * 2\n```", "expression"),
        ("```\nimport torch\n```", "script"),
        (">>> y = x * 2", "expression"),
        ("`y = x * 2`", "expression"),
        ('{"format": "gviz-graph"}', "graph"),
        ("\n  {broken", "graph"),
        ('[{"a": 1}, {"a": 2}]', "graph"),
        ("So we write\n```\ny = x * 2\n```", "expression"),
        ("So we write\n```python\nimport torch\n```", "script"),
        ('"""As in\n```\ny = x\n```\n"""\nimport torch', "script"),
    ],
)
def test_standard_input_is_told_apart_by_its_text(text: str, kind: str) -> None:
    assert kind_of_text(text, "<stdin>") == kind


def test_a_suffix_decides_before_the_text() -> None:
    assert kind_of_text("y = x", "net.py") == "script"
    assert kind_of_text("import torch", "graph.json") == "graph"
    assert kind_of_text("y = x", "formula.txt") == "expression"


def test_an_expression_is_read() -> None:
    reading = read("y=(x+w)*(w+1)", SourceOptions(values={"x": "2", "w": "1"}))
    assert roots(reading) == ["y"]
    assert grad_of(reading, "w") == 5


def test_pytorch_does_not_compute_an_expression() -> None:
    reading = read("y=x*2", SourceOptions(engine="torch"), say=lambda _: None)
    assert texts(reading, "warning") == [
        "--engine torch not used: gviz's engine computes expressions; PyTorch runs scripts"
    ]
    assert texts(read("y=x*2", SourceOptions(engine="gviz")), "warning") == []


def test_an_expression_on_standard_input_is_read() -> None:
    reading = read("-", SourceOptions(values={"x": "2", "w": "1"}), stdin=io.StringIO("y = (x + w) * (w + 1)\n"))
    assert grad_of(reading, "x") == 2


def test_an_expression_in_a_file_is_read(folder: Folder) -> None:
    folder.write("formula.txt", "y = x * w\n")
    assert roots(read("formula.txt")) == ["y"]
    folder.write("wrong.txt", "a = x * w\ny = 2 4\n")
    with pytest.raises(SourceError, match="there is no operator") as caught:
        read("wrong.txt")
    assert str(caught.value.place) == "wrong.txt:2"


def test_a_script_in_a_file_of_another_suffix_is_run(folder: Folder) -> None:
    folder.write("net", HEAD + "y = x * 2\n")
    assert roots(read("net")) == ["y"]


def test_a_script_on_standard_input_has_a_name_in_messages() -> None:
    assert (
        report("-", io.StringIO("import torch\n1 / 0\n"))
        == "<stdin>:2: ZeroDivisionError: division by zero\n  1 / 0\n  ^^^^^"
    )


def test_standard_input_is_decoded_as_a_file_is() -> None:
    raw = io.TextIOWrapper(
        io.BytesIO(b"# coding: latin-1\nimport torch\nname = '\xe9'\nprint(name)\n"), encoding="ascii"
    )
    assert report("-", raw).startswith("there is no graph")


def test_empty_standard_input_is_refused() -> None:
    assert (
        report("-", io.StringIO(" \n"))
        == "standard input is empty\npipe an expression, a script or a saved graph into it"
    )


def test_closed_standard_input_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = io.StringIO()
    closed.close()
    assert report("-", closed).startswith("standard input cannot be read")
    monkeypatch.setattr("sys.stdin", None)
    assert report("-").startswith("standard input cannot be read")


def test_a_missing_file_is_named_with_what_was_meant(folder: Folder) -> None:
    folder.write("net.py", "")
    folder.write("sub/other.py", "")
    assert report("nett.py") == "there is no file nett.py\ndid you mean net.py?"
    assert report("sub/othr.py") == "there is no file sub/othr.py\ndid you mean sub/other.py?"
    assert report("sbu/other.py") == "there is no file sbu/other.py\nthere is no folder sbu"
    assert report("zzz.json") == "there is no file zzz.json"
    assert report("./net") == "there is no file ./net\ndid you mean ./net.py?"
    assert report("../nowhere/net") == "there is no file ../nowhere/net\nthere is no folder ../nowhere"
    assert report("net.py/x.py") == "there is no file net.py/x.py\nnet.py is a file, not a folder"


def test_a_link_to_nowhere_is_named(folder: Folder) -> None:
    (folder.path / "net.py").symlink_to("gone.py")
    assert report("net.py") == "there is no file net.py\nit is a link to gone.py, which is not there"


def test_a_folder_is_refused(folder: Folder) -> None:
    folder.write("nets/one.py", "")
    assert report("nets") == "nets is a folder, not a file\nname a file in it, such as nets/one.py"


def test_a_file_without_permission_is_refused(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.write("net.py", "")

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    assert report("net.py") == "net.py cannot be read: Permission denied\ncheck the file's permissions"


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"\x7fELF\0\0", "net.py is a picture or a binary file, not a script"),
        (b"%PDF-1.7\n", "net.py is a picture or a binary file, not a script"),
        (b"<svg></svg>\n", "net.py is a picture or a binary file, not a script"),
        ("x = 1".encode("utf-16"), "net.py is UTF-16, not a script"),
        (b"x = 1\ny = '\xe9'\n", "net.py is not UTF-8 text: byte 0xe9 in line 2"),
        (b"# coding: nosuch\nx = 1\n", "net.py: unknown encoding: nosuch"),
        (b"# coding: ascii\nx = '\xe9'\n", "net.py is not ASCII text: byte 0xe9 in line 2"),
        (b"\xef\xbb\xbf# coding: latin-1\nx = 1\n", "net.py: encoding problem: utf-8"),
        (
            b"# coding: hex\nx = 1\n",
            "net.py cannot be read as hex: 'hex' is not a text encoding; use codecs.decode() to handle arbitrary codecs",
        ),
    ],
)
def test_what_is_no_text_is_refused(folder: Folder, data: bytes, what: str) -> None:
    (folder.path / "net.py").write_bytes(data)
    with pytest.raises(FileError) as caught:
        read("net.py")
    assert caught.value.what == what


def test_a_binary_file_is_no_saved_graph(folder: Folder) -> None:
    (folder.path / "g.json").write_bytes(b"\0\1")
    assert report("g.json") == "g.json is a picture or a binary file, not a saved graph"


@pytest.mark.parametrize(
    ("data", "value"),
    [
        ("name = 'é数'\n".encode(), 2),
        ("# -*- coding: latin-1 -*-\nname = 'é'\n".encode("latin-1"), 1),
        (b"\xef\xbb\xbfname = 'abc'\n", 3),
        (b"name = 'abcd'\r\n", 4),
        (b"name = 'abcde'\r", 5),
    ],
)
def test_a_scripts_encoding_and_line_ends_are_honoured(folder: Folder, data: bytes, value: int) -> None:
    (folder.path / "net.py").write_bytes(data + b"import torch\ny = torch.ones(1, requires_grad=True) * len(name)\n")
    assert value_of(read("net.py"), "y") == [value]


def test_a_file_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gviz.files.MAX_BYTES", 2**20)
    assert report("/dev/zero") == "/dev/zero is larger than 1 MiB: that is neither a script nor a graph"


def test_a_saved_graph_comes_back_as_it_was(folder: Folder) -> None:
    folder.write("graph.json", GRAPH.to_json())
    assert read("graph.json").graph == GRAPH
    assert read("-", stdin=io.StringIO(GRAPH.to_json())).graph == GRAPH


def test_the_json_of_inspect_is_a_graph_as_well(folder: Folder) -> None:
    folder.write("graph.json", json.dumps({"tensors": [], "graph": GRAPH.as_dict()}))
    assert read("graph.json").graph == GRAPH


def test_options_that_change_nothing_in_a_saved_graph_are_named(folder: Folder) -> None:
    folder.write("graph.json", GRAPH.to_json())
    options = SourceOptions(values={"x": "2"}, roots=("y",), backward=False, engine="torch")
    reading = read("graph.json", options, say=lambda _: None)
    typed, _, advice = texts(reading, "warning")[0].partition(" not used: ")
    assert typed == "x=2, --root y, --no-backward, --engine torch"
    assert advice == "a saved graph is shown as it was saved; give them to its expression"


def test_broken_json_gets_its_caret(folder: Folder) -> None:
    folder.write("graph.json", '{"format": "gviz-graph",\n "nodes": [,]}\n')
    assert report("graph.json") == 'graph.json:2: this is not JSON: Expecting value\n   "nodes": [,]}\n             ^'


def test_json_that_was_cut_short_is_recognised(folder: Folder) -> None:
    folder.write("graph.json", GRAPH.to_json()[:100].rstrip())
    assert "this is not JSON" in report("graph.json")
    folder.write("graph.json", '{"format": "gviz-graph", "nodes": [')
    assert report("graph.json").endswith("\nthe file ends in the middle: was it written whole?")


@pytest.mark.parametrize("text", ["{", "{\n", "{\n\n\n", "{\r\n", "\ufeff{\n"])
def test_json_that_lacks_its_end_gets_its_caret_there(folder: Folder, text: str) -> None:
    folder.write("graph.json", text)
    first, line, mark, _ = report("graph.json").split("\n")
    assert first.startswith("graph.json:1: this is not JSON: Expecting property name")
    assert (line, mark) == ("  {", "   ^")


MANGLING = st.tuples(
    st.integers(0, len(GRAPH.to_json())),
    st.integers(0, 40),
    st.sampled_from(
        ["", *'{}[]",:\\\n\r\x0c\u2028\x85', "NaN", "null", "1e999", "-1", "9" * 5_000, "\\ud800", "{}", "[[]]", '"n0"']
    ),
)


@pytest.mark.fuzz
@relaxed(200)
@given(st.lists(MANGLING, min_size=1, max_size=3))
def test_json_cut_and_mangled_anywhere_is_a_graph_or_a_mistake_of_the_users(
    mangling: list[tuple[int, int, str]],
) -> None:
    text = GRAPH.to_json()
    for start, length, other in mangling:
        text = text[:start] + other + text[start + length :]
    with suppress(GvizError):
        graph = load_graph(text, "graph.json")
        assert Graph.from_json(graph.to_json()) == graph


def test_an_empty_graph_is_refused(folder: Folder) -> None:
    folder.write("graph.json", " \n")
    assert report("graph.json") == "graph.json is empty: it holds no graph"
    folder.write("graph.json", Graph().to_json())
    assert report("graph.json").startswith("graph.json has no nodes: there is nothing to draw")


def test_a_notebook_is_recognised(folder: Folder) -> None:
    folder.write("net.json", '{"nbformat": 4, "cells": []}')
    assert (
        report("net.json")
        == "net.json is a Jupyter notebook, not a graph of gviz\ngive it the suffix .ipynb, and gviz runs its code"
    )


def spoilt(**changes: Any) -> str:
    """The graph's JSON with one field of its third node, its first edge or its table changed."""
    record = GRAPH.as_dict()
    place = {"node": record["nodes"][3], "edge": record["edges"][0], "tensor": record["tensors"][0], "graph": record}
    for key, value in changes.items():
        where, _, field = key.partition("_")
        place[where][field] = value
    return json.dumps(record)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[1, 2]", 'this JSON is not a graph of gviz (it has no "format": "gviz-graph")'),
        ("{}", 'this JSON is not a graph of gviz (it has no "format": "gviz-graph")'),
        (spoilt(graph_version=3), "this graph has the version 3; this gviz reads version 2"),
        (spoilt(node_kind="tree"), "node 'n3' has the unknown kind 'tree'; one of"),
        (spoilt(node_label=5), "nodes[3].label is 5, not a text"),
        (spoilt(node_numbers={"shape": "ab"}), "nodes[3].numbers.shape is 'ab', not a list"),
        (spoilt(node_numbers={"shape": [-1]}), "nodes[3].numbers has the sizes [-1]"),
        (spoilt(node_numbers={"elements": {"a": 1}}), "nodes[3].numbers.elements is {'a': 1}, not a list"),
        (spoilt(node_numbers={"elements": [1, 2]}), "nodes[3].numbers has 2 elements for the sizes []"),
        (spoilt(node_recorded={"attrs": 5}), "nodes[3].recorded.attrs is 5, not a list"),
        (spoilt(node_recorded={"attrs": [["a"]]}), "nodes[3].recorded.attrs[0] is ['a'], not a list of 2"),
        (spoilt(node_recorded={"slots": "2"}), "nodes[3].recorded.slots is '2', not a whole number"),
        (spoilt(node_colour="red"), "nodes[3] has the unknown field 'colour'"),
        (spoilt(edge_source="n9"), "edge n9 -> n0: there is no node 'n9'"),
        (spoilt(edge_label=None), "edges[0].label is None, not a text"),
        (spoilt(tensor_is="x"), "tensors[0] has the unknown field 'is'"),
        (spoilt(tensor_name=None), "tensors[0].name is None, not a text"),
        (spoilt(graph_roots=["n7"]), "there is no node 'n7' to be a root"),
        (spoilt(graph_roots=5), '"roots" is 5, not a list'),
        (spoilt(graph_nodes=None), '"nodes" is None, not a list'),
        (spoilt(graph_nodes={}), '"nodes" is {}, not a list'),
        (spoilt(graph_nodes="abc"), "\"nodes\" is 'abc', not a list"),
        (spoilt(graph_nodes=[5]), "nodes[0] is 5, not a record of fields"),
        (spoilt(graph_nodes=[{"id": "n0"}]), "nodes[0] has no kind"),
        (spoilt(edge_slot="0"), "edges[0].slot is '0', not a whole number"),
    ],
)
def test_json_that_is_no_graph_is_refused(folder: Folder, text: str, what: str) -> None:
    folder.write("graph.json", text)
    assert report("graph.json").startswith(f"graph.json: {what}")


@pytest.mark.parametrize("depth", [500, 5_000, 200_000])
def test_json_of_any_depth_is_an_answer_and_no_crash(folder: Folder, depth: int) -> None:
    nested = "[" * depth + "]" * depth
    folder.write("graph.json", spoilt(node_numbers={"elements": "HERE"}).replace('"HERE"', nested))
    try:
        read("graph.json")
    except GvizError as error:
        is_of_elements = error.what.startswith("graph.json: nodes[3].numbers.elements[0] is [[[[")
        assert is_of_elements or "nested too deeply" in error.what  # noqa: PT017 - either answer is right


def test_constants_that_json_lacks_are_read_as_texts(folder: Folder) -> None:
    folder.write("graph.json", spoilt(node_numbers={"shape": [2], "elements": [float("nan"), float("-inf")]}))
    assert str(nested(read("graph.json").graph.nodes[3].value)) == "[nan, -inf]"


@pytest.mark.parametrize(
    "pasted", [">>> y = x * 2", "In [3]: y=x*2", "`y=x*2`", "```\ny=x*2\n```", "Write\n```python\ny=x*2\n```"]
)
@pytest.mark.parametrize("stdin", [True, False])
def test_a_pasted_expression_loses_its_prompt_or_backticks(pasted: str, stdin: bool) -> None:
    reading = read("-" if stdin else pasted, SourceOptions(values={"x": "2"}), stdin=io.StringIO(pasted))

    assert [row.name for row in reading.graph.tensors] == ["x", "y"]
    assert reading.notes[0].text.startswith("took the ")


@pytest.mark.parametrize(
    "pasted", ["```python\nimport torch\n```", "Write\n~~~\nimport torch\n~~~", ">>> import torch"]
)
def test_a_pasted_script_is_not_executed_as_a_word(pasted: str) -> None:
    assert report(pasted) == (
        "this is a pasted script: as a word, SOURCE is an expression\n"
        "save it in a file and name that, or pipe it into gviz with - as SOURCE"
    )


@pytest.mark.filterwarnings("ignore:net.py")
def test_a_caller_in_python_is_warned_of_what_is_not_used_and_of_a_scripts_error(folder: Folder) -> None:
    folder.write("net.py", HEAD + "y = x * 2\n1 / 0\n")
    with pytest.warns(GvizWarning, match="foo=3 is not used: the expression has no foo") as caught:
        read("y=x*w", x=2, w=1, foo=3)
    assert caught[0].filename == __file__
    with pytest.warns(GvizWarning, match="foo=3 not used: a script makes its own tensors") as caught:
        read("net.py", foo=3)
    assert str(caught[1].message).startswith("net.py:4: ZeroDivisionError")


def test_a_coding_line_that_is_wrong_is_refused(folder: Folder) -> None:
    with pytest.raises(FileError) as caught:
        folder.run("# a\n# -*- coding: no-such -*-\nx = 1\n")
    assert str(caught.value).startswith("net.py: unknown encoding: no-such\nsave it as UTF-8, or name its encoding")


@pytest.mark.parametrize(
    "text", ['digraph "y" {\n n0 -> n1\n}', "// made\n# so\nstrict  digraph{a->b}", "graph { a [label=torch.relu] }"]
)
@pytest.mark.parametrize("name", ["y.dot", "y.gv", "y", "-"])
def test_dot_is_written_and_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("y.dot" if name == "-" else name).write_text(text, encoding="utf-8")
    with pytest.raises(SourceError, match=f"{'<stdin>' if name == '-' else name} is a picture in DOT") as caught:
        read(name, stdin=io.StringIO(text))
    assert caught.value.hint == "gviz writes DOT and reads JSON: save the graph with -o y.json as well"


def test_a_warning_is_of_the_line_that_called_gviz(tmp_path: Path) -> None:
    WARNED.clear()  # what PyTorch warns of once may have been said in another test
    with pytest.warns(UserWarning) as seen:  # noqa: PT030, PT031 - of each line one
        read("y=x*2", x=[1, 2])
        reading = gviz.read("y=w.T @ x", w=[1, 2], x=[3, 4])
        reading.save(tmp_path / "y.svg", view="micrograd", by="statement")
    assert {one.filename for one in seen} == {__file__}
    assert len({one.lineno for one in seen}) == 3
