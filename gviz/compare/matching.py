"""Which node of one graph is which node of another one.

Names of leaves and roots come first, then operations with named leaves of their own, then equal subgraphs below or
above, then what stands at the same input of what is known, then what is left, in its order. A name that gviz has given,
such as ``a`` for an intermediate, says nothing: it is another one as soon as something is inserted before it.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Iterable, Sequence
from difflib import SequenceMatcher
from typing import TypeAlias

from gviz.graphs import Edge, Graph
from gviz.passes.forms import form_of

Wire: TypeAlias = tuple[str, int, int]
"""What an edge is to its target: its kind, its slot, and which output of its source it is."""

TENSORS = ("leaf", "output", "frozen", "constant", "placeholder", "variable")
"""Kinds of nodes that the program's own names tell."""

ROUNDS = 3
"""How often matches are followed along lines: one that is ambiguous at first may be the last one of its kind later."""

MOST_ALIGNED = 4_000_000
"""Pairs of nodes up to which the rest of two graphs is aligned, which takes time for each pair."""


class Side:
    """One of the graphs, its nodes by their places.

    Args:
        graph: the graph.
        numbers: a number for each key, shared by both sides, so that keys of deep subgraphs are short.
    """

    def __init__(self, graph: Graph, numbers: dict[Hashable, int]) -> None:
        self.nodes = graph.nodes
        places = {node.id: place for place, node in enumerate(self.nodes)}
        listed = [places[node.id] for node in graph.order]
        self.order = [*listed, *sorted({*range(len(self.nodes))} - {*listed})]  # the last are on circles
        self.inputs: list[dict[Wire, int]] = [{} for _ in self.nodes]
        self.uses: list[list[tuple[Wire, int]]] = [[] for _ in self.nodes]
        for target, node in enumerate(self.nodes):
            for wire, edge in wires_to(graph, node.id).items():
                source = self.inputs[target][wire] = places[edge.source]
                self.uses[source].append((wire, target))
        self.names = [node.name if node.kind in TENSORS and not node.is_letter else None for node in self.nodes]
        for place, node in enumerate(self.nodes):
            if node.kind == "accumulate" and self.inputs[place]:  # it goes with its leaf
                self.names[place] = self.names[next(iter(self.inputs[place].values()))]
        self.known_names = {*self.names} - {None}
        self.paths = [node.module.path if node.module is not None else None for node in self.nodes]
        self.known_paths = {*self.paths}
        self.roots = [places[root] for root in graph.roots]
        self.numbers = numbers

    def number(self, *key: Hashable) -> int:
        """Return the number of a key."""
        return self.numbers.setdefault(key, len(self.numbers))

    def words(self, *, is_exact: bool) -> list[int]:
        """Return for each node what it is by itself: its kind and label, or all that is known of its form."""
        return [
            self.number(node.kind, name, form_of(node) if is_exact else node.label)
            for node, name in zip(self.nodes, self.names, strict=True)
        ]

    def subgraphs(self, words: Sequence[int], *, is_above: bool) -> list[int]:
        """Return for each node the number of the subgraph that it is made from, or that is made from it."""
        numbers = [-1] * len(self.nodes)
        for place in reversed(self.order) if is_above else self.order:
            lines = self.uses[place] if is_above else self.inputs[place].items()
            wires = sorted((*wire, numbers[end]) for wire, end in lines)
            numbers[place] = self.number(is_above, words[place], *wires)
        return numbers

    def own_leaves(self) -> list[int]:
        """Return for each node a number for the named leaves that only it uses, through nothing but steps of one input.

        -1 for a node without any. What else an operation is made from does not count: it may be anything.
        """
        chains, keys = [-1] * len(self.nodes), [-1] * len(self.nodes)
        for place in self.order:
            node, inputs = self.nodes[place], self.inputs[place]
            wires = sorted((*wire, chains[source]) for wire, source in inputs.items() if chains[source] >= 0)
            if wires:
                keys[place] = self.number("own", node.kind, node.label, *wires)
            if not inputs and self.names[place] is not None:
                chains[place] = self.number("leaf", self.names[place])
            elif len(inputs) == 1:
                chains[place] = keys[place]
        return keys

    def modules(self) -> list[int]:
        """Return for each operation a number for the module that recorded it, and its label; -1 for none."""
        return [
            self.number("module", node.module.path, node.label)
            if node.kind == "operation" and node.module is not None
            else -1
            for node in self.nodes
        ]


def wires_to(graph: Graph, node_id: str) -> dict[Wire, Edge]:
    """Return the edges that lead to a node, by what they are to it."""
    wires: dict[Wire, Edge] = {}
    for edge in graph.inputs[node_id]:
        wire = edge.kind, edge.slot, edge.output
        wires[wire if wire not in wires else (edge.kind, -len(wires), edge.output)] = (
            edge  # what runs first has no slot
        )
    return wires


class Matching:
    """The pairs of nodes of two graphs: ``second[place]`` is the partner of the first graph's node of that place.

    Args:
        first: a graph.
        second: another one.
    """

    def __init__(self, first: Graph, second: Graph) -> None:
        numbers: dict[Hashable, int] = {}
        self.sides = Side(first, numbers), Side(second, numbers)
        self.second: dict[int, int] = {}
        self.first: dict[int, int] = {}
        self.join_named()
        for is_exact, others in ((True, Side.own_leaves), (False, Side.modules)):
            self.join_unique([*map(others, self.sides)])
            words = [side.words(is_exact=is_exact) for side in self.sides]
            for is_above in (False, True):
                pairs = zip(self.sides, words, strict=True)
                keys = [side.subgraphs(own, is_above=is_above) for side, own in pairs]
                self.join_unique(keys, has_twins=is_exact and not is_above)
                self.follow_lines(keys)
        for place, partner in zip(*(side.roots for side in self.sides), strict=False):
            self.join(place, partner)
        labels = [[node.label or node.kind for node in side.nodes] for side in self.sides]
        for _ in range(ROUNDS):
            self.follow_lines(labels)
        self.align_rest(labels)
        self.follow_lines(labels)
        self.join_replaced()

    def join(self, place: int, partner: int) -> bool:
        """Make two nodes a pair if both are free.

        A name that both graphs have belongs to one tensor, and what a module has recorded that both have to that.
        """
        one, other = self.sides
        name, new = one.names[place], other.names[partner]
        path, other_path = one.paths[place], other.paths[partner]
        is_free = place not in self.second and partner not in self.first
        is_renamed = name not in other.known_names and new not in one.known_names
        is_moved = path not in other.known_paths and other_path not in one.known_paths
        if is_free and (name == new or is_renamed) and (path == other_path or is_moved):
            self.second[place], self.first[partner] = partner, place
            return True
        return False

    def join_named(self) -> None:
        """Join leaves and roots of one name, and what fills their gradients."""
        own, partners = (
            {
                (name, node.kind if node.kind in ("output", "accumulate") else "leaf"): place
                for place, (node, name) in enumerate(zip(side.nodes, side.names, strict=True))
                if name is not None
            }
            for side in self.sides
        )
        for key, place in own.items():
            if key in partners:
                self.join(place, partners[key])

    def join_unique(self, keys: Sequence[Sequence[Hashable]], *, has_twins: bool = False) -> None:
        """Join nodes with equal keys that one free node of each graph has; -1 is no key.

        With ``has_twins`` also those that as many of each graph have, in their order: what two calls record alike.
        """
        found: list[dict[Hashable, list[int]]] = []
        for side_keys, known in zip(keys, (self.second, self.first), strict=True):
            free = defaultdict[Hashable, list[int]](list)
            for place, key in enumerate(side_keys):
                free[key] += [place] * (key != -1 and place not in known)
            found.append(free)
        for key, places in found[0].items():
            if len(places) == len(partners := found[1].get(key, [])) and (has_twins or len(places) == 1):
                for pair in zip(places, partners, strict=True):
                    self.join(*pair)

    def follow_lines(self, labels: Sequence[Sequence[Hashable]]) -> None:
        """Join what stands at the same input of a pair, or uses it alike, if the labels are equal."""
        one, other = self.sides
        is_done = len(self.second) == min(len(side.nodes) for side in self.sides)
        todo = deque(self.second.items() if not is_done else ())
        while todo:
            place, partner = todo.popleft()
            near = [
                (source, other.inputs[partner][wire])
                for wire, source in one.inputs[place].items()
                if wire in other.inputs[partner]
            ]
            users = self.free_users(one, place, labels[0], self.second)
            users_there = self.free_users(other, partner, labels[1], self.first)
            near += [(user, users_there[key]) for key, user in users.items() if key in users_there]
            for pair in near:
                if labels[0][pair[0]] == labels[1][pair[1]] and self.join(*pair):
                    todo.append(pair)

    @staticmethod
    def free_users(side: Side, place: int, labels: Sequence[Hashable], known: Iterable[int]) -> dict[Hashable, int]:
        """Return what uses a node and has no partner, by the wire and the label, where that is one node."""
        users = defaultdict[Hashable, list[int]](list)
        for wire, user in side.uses[place]:
            if user not in known:
                users[wire, labels[user]].append(user)
        return {key: several[0] for key, several in users.items() if len(several) == 1}

    def align_rest(self, labels: Sequence[Sequence[str]]) -> None:
        """Join what is left by its order, if it then has a line in common with another pair."""
        left, right = (
            [place for place in side.order if place not in known]
            for side, known in zip(self.sides, (self.second, self.first), strict=True)
        )
        texts = [
            [(names[place], side.names[place]) for place in places]  # a name is changed only where lines say so
            for side, places, names in zip(self.sides, (left, right), labels, strict=True)
        ]
        start = 0
        while start < min(len(left), len(right)) and texts[0][start] == texts[1][start]:
            start += 1
        pairs = [*zip(left[:start], right[:start], strict=True)]
        if (len(left) - start) * (len(right) - start) <= MOST_ALIGNED:
            blocks = SequenceMatcher(None, texts[0][start:], texts[1][start:], autojunk=False).get_matching_blocks()
            pairs += [(left[start + i + at], right[start + j + at]) for i, j, size in blocks for at in range(size)]
        joined = [pair for pair in pairs if self.join(*pair)]
        for place, partner in joined:
            if not self.has_common_line(place, partner):
                del self.second[place], self.first[partner]

    def has_common_line(self, place: int, partner: int) -> bool:
        """Return whether a line of one leads to, or from, the partner of what the same line of the other does."""
        one, other = self.sides
        mine = {(wire, self.second.get(source, -1)) for wire, source in one.inputs[place].items()}
        uses = {(wire, self.second.get(user, -1)) for wire, user in one.uses[place]}
        return not mine.isdisjoint(other.inputs[partner].items()) or not uses.isdisjoint(other.uses[partner])

    def join_replaced(self) -> None:
        """Join operations with other labels that are made from the same, and used in the same places."""
        one, other = self.sides
        for place, node in enumerate(one.nodes):
            if place in self.second or node.kind != "operation" or not one.inputs[place]:
                continue
            sources = {wire: self.second.get(source) for wire, source in one.inputs[place].items()}
            wire, source = next(iter(sources.items()))
            users = [(use, self.second.get(user, -1)) for use, user in one.uses[place]]
            for use, partner in other.uses[source] if source is not None else ():
                is_alike = use == wire and other.nodes[partner].kind == "operation" and other.inputs[partner] == sources
                if is_alike and {*users} & {*other.uses[partner]} and self.join(place, partner):
                    break


def matched_ids(first: Graph, second: Graph) -> dict[str, str]:
    """Return the ids of the nodes that both graphs have, of the first one with that of its partner in the second."""
    pairs = Matching(first, second).second
    return {node.id: second.nodes[pairs[place]].id for place, node in enumerate(first.nodes) if place in pairs}
