"""What is asked of Graphviz: one longest path that stays straight."""

from __future__ import annotations

import pytest
from graphs import every_kind, leaf, operation

from gviz.graphs import Edge, Graph
from gviz.layout.graphviz import draw
from gviz.layout.plan import main_line
from gviz.pictures.options import VIEWS, RenderOptions
from gviz.render import dot, render


def network(layers: int) -> Graph:
    """Layers with a parameter each: the parameters stand beside the line from the input to the root."""
    nodes, edges = [leaf("x", "x", 1.0)], []
    for number in range(layers):
        nodes += [leaf(f"w{number}", f"w{number}", 1.0), operation(f"o{number}", "MulBackward0")]
        edges += [Edge(f"o{number - 1}" if number else "x", f"o{number}"), Edge(f"w{number}", f"o{number}", 1)]
    return Graph(nodes=tuple(nodes), edges=tuple(edges), roots=(nodes[-1].id,))


@pytest.mark.parametrize("layers", [5, 12, 40, 200])
def test_the_line_through_all_layers_is_straight(layers: int) -> None:
    rows = draw(dot.render(network(layers), RenderOptions()), "plain").decode().splitlines()
    middles = {row.split()[2] for row in rows if row.startswith("node o")}
    assert len(middles) == 1


def test_a_picture_with_two_equal_halves_stays_symmetric() -> None:
    diamond = [("x", "a"), ("x", "b"), ("a", "c"), ("b", "c"), ("c", "y")]
    assert main_line("xabcy", diamond) == {4}


def test_a_deep_graph_takes_one_side_of_a_fork() -> None:
    chain = [(f"n{i}", f"n{i + 1}") for i in range(30)]
    edges = [*chain, ("n3", "m"), ("m", "n5")]
    assert main_line([*dict.fromkeys(end for edge in edges for end in edge)], edges) == set(range(30))


def test_a_cycle_and_a_graph_without_lines_have_a_main_line_too() -> None:
    assert main_line("", []) == main_line("ab", []) == main_line("ab", [("a", "b"), ("b", "a")]) == frozenset()
    assert main_line("abc", [("a", "a"), ("a", "b"), ("b", "c")]) == {1, 2}


@pytest.mark.filterwarnings("ignore:there are no numbers of gradients")
@pytest.mark.parametrize("view", VIEWS)
def test_no_view_but_torchviz_s_own_picture_is_without(view: str) -> None:
    assert "weight=20" in str(render(network(3), "dot", RenderOptions(view=view)))
    assert "weight" not in str(render(every_kind(), "dot", RenderOptions(show=())))
