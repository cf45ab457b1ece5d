"""The graph as data: checked when made, and the same after a way through JSON; its numbers, and graphs of older versions."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from graphs import node

import gviz
from gviz.graphs import (
    Blocks,
    Card,
    Edge,
    Flow,
    Gradient,
    Graph,
    GraphCut,
    History,
    Hooked,
    Later,
    Module,
    Moment,
    Node,
    Place,
    Recorded,
    Region,
    Share,
    Stop,
    TensorRow,
    Unlisted,
    Varying,
)
from gviz.graphs.codec import of_types
from gviz.graphs.numbers import Numbers, Summary

LEAF = node("n1", "leaf", name="w", shape=(), value=1.0, grad=5.0)
ROOT = node("n0", "output", name="y", shape=(2,), value=(1.0, "nan"), state="not retained")
ROW = TensorRow("w", Numbers.of(1.0, "float32"), requires_grad=True, is_leaf=True, retains_grad=False, grad_fn=None)
GRAPH = Graph(
    nodes=(ROOT, LEAF, node("n2", "operation", "MulBackward0", slots=2, attrs=(("alpha", "1"),))),
    edges=(Edge("n1", "n2", 0), Edge("n1", "n2", 1), Edge("n2", "n0", output=1)),
    roots=("n0",),
    tensors=(ROW,),
    title="y",
)
SIZES = Graph(
    nodes=(
        Node("n0", "placeholder", numbers=Numbers((None, 3), "float32")),
        Node("n1", "placeholder", numbers=Numbers(None, "float32")),
        Node("n2", "leaf", numbers=Numbers((3, "j1"), "float32")),
        Node("n3", "leaf", numbers=Numbers((0, 3), "float32", ())),
    ),
    kind="static",
)
HEAD = '{"format": "gviz-graph", "version": 2, '

LARGE = Numbers((20, 30), "float32", None, Summary(math.inf, -math.inf, 3.0, math.nan, 1, 0, 2))
SPOT = Place(3, "model.py", 4, 0, 7, 0)
FULL = Graph(
    nodes=(
        Node(
            "n0",
            "operation",
            "AddBackward0",
            "y",
            Numbers((2, 2), "float64", (1.0, math.nan, math.inf, -math.inf)),
            Gradient(Numbers.of(2.0), Numbers.of([0.5]), LARGE, (Hooked(LARGE, Numbers.of(1.0), Place(4), "handed"),)),
            "freed",
            "x + w",
            is_letter=True,
            place=SPOT,
            module=Module("net.fc", "Linear", 2, 0),
            recorded=Recorded(
                2,
                (("alpha", "1"),),
                (("self", "x"),),
                ("a", ""),
                0.25,
                16,
                is_written=True,
                tensors=("other",),
                given=("x",),
                given_numbers=(Numbers.of(2.0),),
                results=(Numbers.of(3.0), None),
                began=GraphCut(Place(3), "exp", "not finite", span=(3, 4, 3, 11)),
            ),
            later=Later(
                Numbers.of(2.8),
                Numbers.of(0.0),
                is_cleared=True,
                cleared_at=Place(9),
                requires_grad=False,
                set_at=Place(9),
                is_of_other=True,
                grad_of="loss",
                grad_at=Place(7),
            ),
            card=Card("Linear", 2, 1, 6, ((2, None),), ((),), 24, 0.5, "1f"),
            region=1,
            blocks=Blocks(
                (Varying("alpha", ("1", "2")),), (0.5, 2.0), (0.0, math.nan), (Share("2.1", Numbers.of(1.5)),)
            ),
        ),
        Node("n1", "leaf", name="z", numbers=Numbers((2,), "complex64", ("(1+2j)", "1j"))),
        Node("n2", "leaf", name="mask", numbers=Numbers((2,), "bool", (True, False))),
        Node("n3", "leaf", name="count", numbers=Numbers((), "int64", (7,))),
    ),
    edges=(
        Edge(
            "n1",
            "n0",
            1,
            "(2)",
            "saved",
            2,
            Flow("b", Numbers.of(1.0), LARGE, Numbers.of([[1.0, 2.0]]), is_underflow=True),
            ((1, "w"),),
            3,
        ),
        Edge("n2", "n0"),
    ),
    roots=("n0",),
    tensors=(
        TensorRow(
            "y",
            LARGE,
            requires_grad=True,
            is_leaf=False,
            retains_grad=True,
            grad_fn="AddBackward0",
            grad=Gradient(Numbers.of("nan")),
            expression="x + w",
            place=Place(2, cell=3),
            is_written=True,
            broken=GraphCut(
                None,
                "detach",
                "detached",
                "h",
                ("w",),
                is_used=True,
                is_number=True,
                is_list=True,
                is_of_leaves=True,
                switch="torch.no_grad()",
                block=Place(2),
                is_summand=True,
                span=(3, 8, 3, 18),
                is_freed=True,
                is_idle=True,
                is_input=True,
                added_to=("y",),
                behind=0,
                others=("d_loss",),
            ),
            leaves=("w", "x"),
            history=History(
                Place(4),
                was_used=True,
                was_early=True,
                put_in=Place(17),
                requires_grad_set=Place(5),
                autograd_grad=Place(6),
                grad_of_others=Place(6),
                is_optimized=True,
                written=Place(7),
                optimizer=Place(8),
                copied=Place(20),
                first_norm=1.5,
                steps=2,
                idle_steps=1,
                still_steps=1,
                stepped=Place(9),
                stepped_twice=Place(14),
                unclipped=Place(15),
                clipped_scaled=Place(18),
                clips_nothing=Place(19),
                is_stale=True,
                used_sum=True,
                is_updated=True,
                brought=Place(13),
                stepped_after=Place(16),
                is_stepped_later=True,
                is_own_turn=True,
                is_same_call=True,
                arrivals=8,
                wasted=6,
                wasted_at=Place(17),
                grad_set=Place(10),
                spoiled=Place(11),
                spread=Place(12),
                took_bad=True,
                is_grown=True,
            ),
            moment=Moment(
                Numbers.of(1.0),
                Gradient(Numbers.of(2.0)),
                True,
                "left out by x",
                is_of_other=True,
                grad_of="loss",
                made_by="AddBackward0",
                is_of_whole=True,
                grad_at=Place(7),
            ),
            unlisted=Unlisted("net", "w", "Parameter", Place(6), is_buffer=True),
            same_as="head.w",
        ),
    ),
    title="y",
    kind="static",
    stop=Stop("RuntimeError: no", Place(8), "y.backward()"),
    failure=Stop("RuntimeError: no", Place(9), "y.backward()"),
    code="y = x + w\n",
    backward=Place(8),
    codes=((Place(3, "model.py"), "y = x + w"),),
    writes=((Place(7), "add_"),),
    breaks=(GraphCut(Place(5), "item", "no_grad", is_number=True, switch="torch.no_grad()"),),
    functions=(Module("Net.forward", "", 2),),
    earlier_runs=(4, 6),
    is_followed=True,
    is_first_bad=True,
    is_detailed=True,
    modules=(Module("net", "Net", 1),),
    regions=(Region("net", "Net"), Region("net.fc", "Linear", 0, 12)),
    remarks=("3 of 9 boxes: up to 1 line from w",),
)


# ---------------------------------------------------------------- JSON
@pytest.mark.parametrize("graph", [GRAPH, SIZES, FULL, Graph()], ids=["small", "sizes", "full", "empty"])
def test_json_and_back_is_the_same_graph_and_the_same_bytes(graph: Graph) -> None:
    back = Graph.from_json(graph.to_json())
    assert back == graph
    assert back.to_json() == graph.to_json()


def test_the_full_graph_has_no_field_that_holds_its_default() -> None:
    box, arrow, row = FULL.nodes[0], FULL.edges[0], FULL.tensors[0]
    facets = box.grad, box.module, box.recorded, box.later, arrow.flow, row.history, row.broken, row.moment
    for record in (FULL, box, arrow, row, *facets):
        defaults = getattr(type(record), "_field_defaults", None) or vars(Graph())
        assert [name for name, default in defaults.items() if getattr(record, name) == default] == [], record


def test_json_holds_no_infinity_that_other_programs_refuse() -> None:
    text = Graph((Node("n0", "leaf", numbers=Numbers.of([math.inf, -math.inf, math.nan])),)).to_json()

    assert json.loads(text)["version"] == 2
    assert json.loads(text)["nodes"][0]["numbers"]["elements"] == ["inf", "-inf", "nan"]


def test_a_drawing_is_saved_with_all_that_a_graph_has() -> None:
    drawing = gviz.read("y=x*w", x=2, w=3).graph
    back = Graph.from_json(drawing.to_json())
    assert back.to_json() == drawing.to_json()
    assert (back.nodes, back.edges, back.tensors, back.title) == (drawing.nodes, drawing.edges, drawing.tensors, "y")
    assert gviz.Graph.from_json(drawing.to_json()) == drawing


@pytest.mark.parametrize("record", [LEAF, GRAPH.edges[0], ROW, GRAPH, LEAF.numbers, SPOT])
def test_a_record_cannot_be_changed(record: Any) -> None:
    with pytest.raises(AttributeError):
        setattr(record, next(iter(record.__match_args__)), "z")


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"nodes": (LEAF, LEAF)}, "two nodes have the id 'n1'"),
        ({"nodes": (LEAF,), "edges": (Edge("n1", "n9"),)}, "there is no node 'n9'"),
        ({"nodes": (LEAF,), "edges": (Edge("n8", "n1"),)}, "there is no node 'n8'"),
        ({"nodes": (LEAF,), "roots": ("n7",)}, "there is no node 'n7' to be a root"),
        ({"regions": (Region("a", times=-3),)}, r"regions\[0\].times is -3"),
        ({"regions": (Region("a", within=1), Region("b"))}, r"regions\[0\].within is 1"),
        ({"modules": (Module("a", within=0),)}, r"modules\[0\].within is 0"),
        ({"nodes": (LEAF._replace(region=0),)}, "there is no region 0"),
        ({"nodes": (LEAF._replace(module=Module("a", within=3)),)}, "there is no module 3 to be within"),
        ({"nodes": (Node("n0", "box"),)}, "unknown kind 'box'"),
        ({"nodes": (Node("n0", "operation"),)}, "is an operation without a label"),
        ({"nodes": (node("n0", "operation", slots=-1),)}, "-1 slots"),
        ({"nodes": (LEAF,), "edges": (Edge("n1", "n1", kind="line"),)}, "unknown kind 'line'"),
        ({"nodes": (LEAF,), "edges": (Edge("n1", "n1", slot=-1),)}, "negative slot or output"),
        (
            {"nodes": (LEAF,), "edges": (Edge("n1", "n" * 999),)},
            r"^edge n1 -> n{37}\.\.\.: there is no node 'n{36}\.\.\.$",
        ),
        ({"nodes": (LEAF,), "roots": ("n" * 999,)}, r"^there is no node 'n{36}\.\.\. to be a root$"),
        ({"nodes": (LEAF,), "edges": (Edge("n1", "n1", output=-1),)}, "negative slot or output"),
    ],
)
def test_a_graph_that_does_not_hold_together_is_refused(parts: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Graph(**parts)


def with_numbers(fields: str) -> str:
    """Return the JSON of a graph of one leaf with these fields of its numbers."""
    return HEAD + '"nodes": [{"id": "n0", "kind": "leaf", "numbers": {' + fields + '}}], "edges": []}'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]", "not a graph of gviz"),
        ("{}", "not a graph of gviz"),
        ('{"format": "gviz-graph", "version": 99}', "version 99; this gviz reads version 2"),
        (
            '{"format": "gviz-graph", "version": 3, "nodes": [], "edges": []}',
            "version 3; this gviz reads version 2",
        ),
        ('{"format": "gviz-graph", "version": true, "nodes": [], "edges": []}', "version True; this gviz reads"),
        ('{"format": "gviz-graph", "nodes": [], "edges": []}', "version None; this gviz reads"),
        ('{"format": "gviz-graph", "version": 2}', 'there is no "nodes" in this graph'),
        ('{"format": "gviz-graph", "version": 2, "nodes": []}', 'there is no "edges" in this graph'),
        (HEAD + '"nodes": [{"id": "n0", "kind": "leaf", "wings": 2}], "edges": []}', "wings"),
        (HEAD + '"nodes": [{"id": "n0"}], "edges": []}', r"nodes\[0\] has no kind"),
        (HEAD + '"nodes": [3], "edges": []}', r"nodes\[0\] is 3, not a record"),
        (HEAD + '"nodes": 3, "edges": []}', '"nodes" is 3, not a list'),
        (
            HEAD + '"nodes": [{"id": "n0", "kind": "leaf", "state": 3}], "edges": []}',
            r"nodes\[0\]\.state is 3, not a text",
        ),
        ("[" * 100_000, "nested too deeply"),
        ("{", "."),
    ],
)
def test_json_that_is_no_graph_is_refused_with_its_reason(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Graph.from_json(text)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ('"shape": [2], "elements": [1.0]', r"^nodes\[0\]\.numbers has 1 elements for the sizes \[2\]$"),
        ('"elements": [1.0, 2.0]', r"^nodes\[0\]\.numbers has 2 elements for the sizes \[\]$"),
        ('"shape": [null, 2], "elements": [1.0, 2.0]', r"has 2 elements for the sizes \[None, 2\]"),
        ('"shape": [-1]', r"^nodes\[0\]\.numbers has the sizes \[-1\]$"),
        ('"shape": [1.5]', r"^nodes\[0\]\.numbers\.shape\[0\] is 1\.5, not a whole number"),
        ('"elements": [[1.0]]', r"^nodes\[0\]\.numbers\.elements\[0\] is \[1\.0\], not a number"),
        ('"elements": 3', r"^nodes\[0\]\.numbers\.elements is 3, not a list$"),
        ('"about": {"norm": "large"}', r"^nodes\[0\]\.numbers\.about\.norm is 'large', not a number"),
    ],
)
def test_numbers_that_no_tensor_has_are_refused_with_their_place(fields: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Graph.from_json(with_numbers(fields))


# ---------------------------------------------------------------- numbers
def test_numbers_of_nested_lists_have_their_sizes_and_come_back_as_they_were() -> None:
    nested = [[[1.0], [2.0]], [[3.0], [4.0]], [[5.0], [6.0]]]
    of_nested = Numbers.of(nested, "float64")
    assert of_nested == Numbers((3, 2, 1), "float64", (1.0, 2.0, 3.0, 4.0, 5.0, 6.0))
    assert (of_nested.nested(), of_nested.numel) == (nested, 6)
    assert of_nested.nested("abcdef") == [[["a"], ["b"]], [["c"], ["d"]], [["e"], ["f"]]]


@pytest.mark.parametrize(
    ("nested", "shape", "elements"),
    [
        (2.5, (), (2.5,)),
        (True, (), (True,)),
        (7, (), (7,)),
        ("-inf", (), (-math.inf,)),
        ([], (0,), ()),
        ([[], []], (2, 0), ()),
        (((1, 2),), (1, 2), (1, 2)),
        ([1 + 2j], (1,), ("(1+2j)",)),
    ],
)
def test_numbers_of_one_number_of_none_and_of_others_than_floats(nested: Any, shape: Any, elements: Any) -> None:
    assert Numbers.of(nested) == Numbers(shape, "", elements)


@pytest.mark.parametrize("nested", [[[1.0], [2.0, 3.0]], [1.0, [2.0]], [[1.0], 2.0], [[[]], [1.0]]])
def test_lists_of_several_lengths_or_depths_are_no_numbers(nested: Any) -> None:
    with pytest.raises(ValueError, match="nested lists of numbers have one"):
        Numbers.of(nested)


def test_equal_numbers_are_equal_though_they_are_nan() -> None:
    assert Numbers.of([float("nan"), 1.0]) == Numbers.of(["nan", 1.0])
    assert Numbers.of([float("nan")]) != Numbers.of([float("inf")])


def test_numbers_are_nested_as_tolist_does_where_they_are_listed() -> None:
    assert Numbers((2, 0), "", ()).nested() == [[], []]
    assert Numbers((0, 2), "", ()).nested() == []
    assert Numbers((2, 2)).nested() is LARGE.nested() is None


def test_numbers_as_json_can_hold_them() -> None:
    assert Numbers.of([[1.0, "nan"], ["inf", "-inf"]]).jsonable() == [[1.0, "nan"], ["inf", "-inf"]]
    assert Numbers.of(3).jsonable() == 3
    assert Numbers((2,), "float32").jsonable() is None
    facts = {"norm": "inf", "smallest": "-inf", "largest": 3.0, "mean": "nan", "zeros": 1, "nans": 0, "infs": 2}
    assert LARGE.jsonable() == {"shape": [20, 30], **facts}
    json.dumps([LARGE.jsonable(), Numbers.of("nan").jsonable()], allow_nan=False)


def test_the_summary_is_read_off_the_elements_unless_there_is_one() -> None:
    assert Numbers.of([[3.0, 0.0], [-4.0, 0.0]]).summary == Summary(5.0, -4.0, 3.0, -0.25, 2, 0, 0)
    assert Numbers.of([1, True]).summary == Summary(math.sqrt(2), 1.0, 1.0, 1.0, 0, 0, 0)
    assert LARGE.summary is LARGE.about
    infinite = Numbers.of([1.0, "inf", 0.0]).summary
    assert infinite == Summary(math.inf, 0.0, math.inf, math.inf, 1, 0, 1)
    with_nan = Numbers.of([1.0, "nan", "-inf", 0.0]).summary
    assert (with_nan.zeros, with_nan.nans, with_nan.infs) == (1, 1, 1)
    assert all(map(math.isnan, with_nan[:4]))
    for empty in (Numbers((0,), "", ()), Numbers((3,))):
        assert (empty.summary.norm, empty.summary.zeros, empty.summary.nans) == (0.0, 0, 0)
        assert all(map(math.isnan, empty.summary[1:4]))


def test_the_norm_of_huge_and_of_tiny_numbers_is_their_norm() -> None:
    assert Numbers.of([3e300, 4e300]).norm == pytest.approx(5e300)
    assert Numbers.of([3e-300, 4e-300]).norm == pytest.approx(5e-300)


@pytest.mark.parametrize(
    ("tensor", "number", "is_so"),
    [
        (Numbers.of(0.0), 0, True),
        (Numbers.of([1.0, 1.0]), 1.0, True),
        (Numbers.of([1.0, 0.0]), 1.0, False),
        (Numbers.of([0.0, "nan"]), 0, False),
        (Numbers((0,), "", ()), 0, False),
        (Numbers((2,)), 0, False),
        (Numbers((300,), about=Summary(0.0, 0.0, 0.0, 0.0, 300)), 0, True),
        (Numbers((300,), about=Summary(2.0, 0.0, 2.0, 0.1, 299)), 0, False),
        (Numbers((300,), about=Summary(math.nan, zeros=299, nans=1)), 0, False),
    ],
)
def test_numbers_have_only_one_number_if_each_is_that(tensor: Numbers, number: float, *, is_so: bool) -> None:
    assert tensor.has_only(number) is is_so


@pytest.mark.parametrize(
    ("tensor", "word", "is_finite", "has_nan"),
    [
        (Numbers.of([1.0, 2.0]), "", True, False),
        (Numbers.of([1.0, "inf", "nan"]), "inf", False, True),
        (Numbers.of("-inf"), "-inf", False, False),
        (Numbers.of([1 + 2j]), "", True, False),
        (Numbers((2,)), "", True, False),
        (Numbers((300,), about=Summary(math.nan, nans=1, infs=1)), "nan", False, True),
        (Numbers((300,), about=Summary(math.inf, infs=1)), "inf", False, False),
        (Numbers((300,), about=Summary(math.inf, -1.0, math.inf, math.inf, infs=1)), "inf", False, False),
        (Numbers((300,), about=Summary(math.inf, -math.inf, -1.0, -math.inf, infs=2)), "-inf", False, False),
        (Numbers((300,), about=Summary(math.inf, -math.inf, -math.inf, -math.inf, infs=300)), "-inf", False, False),
        (Numbers((300,), about=Summary(3.0, 0.0, 1.0, 0.5)), "", True, False),
    ],
)
def test_what_is_not_finite_is_known_with_and_without_elements(
    tensor: Numbers, word: str, *, is_finite: bool, has_nan: bool
) -> None:
    assert (tensor.not_finite, tensor.is_finite, tensor.has_nan) == (word, is_finite, has_nan)


def test_numbers_are_known_if_there_are_elements_or_a_summary() -> None:
    assert [one.is_known for one in (Numbers.of(1.0), LARGE, Numbers((0,), "", ()), Numbers((2,)))] == [
        True,
        True,
        True,
        False,
    ]
    assert (Node("n0", "leaf", numbers=Numbers((2,), "int64")).value, Node("n0", "leaf", numbers=LARGE).value) == (
        None,
        LARGE,
    )


@pytest.mark.parametrize(
    ("tensor", "words"),
    [
        (Numbers.of([[1.0, 2.0]]), ""),
        (Numbers((2, None)), ""),
        (Numbers(None, "float32"), ""),
        (Numbers((2, 3), "", (1.0,) * 5), "has 5 elements for the sizes [2, 3]"),
        (Numbers((), "", ()), "has 0 elements for the sizes []"),
        (Numbers((None,), "", (1.0,)), "has 1 elements for the sizes [None]"),
        (Numbers((3, -1)), "has the sizes [3, -1]"),
    ],
)
def test_numbers_say_what_makes_them_impossible(tensor: Numbers, words: str) -> None:
    assert tensor.fault == words


def test_complex_numbers_have_a_norm_and_no_order() -> None:
    numbers = Numbers((2,), "complex64", ("(3+4j)", "0j"))
    assert (numbers.norm, numbers.is_finite, numbers.summary.zeros) == (5.0, True, 1)
    assert not Numbers((1,), "complex64", ("(nan+0j)",)).is_finite


@pytest.mark.parametrize(
    ("wrong", "fault"),
    [
        ({"functions": (Module("f", "", 1, 0),)}, r"functions\[0\].within is 0"),
        ({"nodes": (Node("n0", "operation", "Add", place=Place(1, call=3)),)}, "no call 3 of a function"),
    ],
)
def test_contradictory_calls_of_functions_are_refused(wrong: dict[str, Any], fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        Graph(**wrong)


def test_a_field_of_several_kinds_takes_whole_numbers_of_64_bits_at_most() -> None:
    both, whole = of_types((int, float)), of_types((int,))
    assert [both(2**64 - 1, "x"), whole(2**64, "x")] == [2**64 - 1, 2**64]
    with pytest.raises(ValueError, match=r"x is 18446744073709551616, not a whole number or a number"):
        both(2**64, "x")
