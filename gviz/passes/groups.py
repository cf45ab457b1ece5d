"""Operations in groups: modules, functions, lines of a program as one box each, or as a frame around their parts."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import TypeAlias

from gviz.errors import RenderError, warn_user
from gviz.graphs import Graph, Module, Node, Place, Recorded, Region
from gviz.layout import RenderWarning
from gviz.passes.acyclic import knotted
from gviz.passes.boxes import COUNTED, Boxes
from gviz.passes.forms import DIGITS
from gviz.passes.modules import parts_of, with_modules
from gviz.passes.scopes import scope_of, scopes_of, with_constants_beside
from gviz.text import amount, did_you_mean, joined

ENOUGH = 40
"""Boxes that people read at a glance: as many levels are opened as give no more."""

FEW_SCOPES = 20
"""The same for the name scopes of a static graph, of which most operations hand on to their gradients, too."""

MOST_TRIED = 3_000
"""Boxes up to which it is tried whether they become few where what repeats is drawn once."""

Weight: TypeAlias = tuple[float, int]
"""How much a pattern says: of two that match a group, the one with fewer stars counts, then the longer one."""

Chain: TypeAlias = tuple[int, Sequence[Module]]
"""Where the graph lists a group, -1 for none, and the groups from there to that of an operation."""

NEVER, ALWAYS = (-math.inf, 0), (-math.inf, 1)

NONE = {
    "module": (
        "none of its operations was recorded in a call of an nn.Module, nor do names of parameters tell one",
        "by line makes a box of each line of the program; gviz.graph(loss, model=net) knows names of parameters",
    ),
    "function": (
        "none of its operations was recorded in one, as far as is known",
        "gviz notes it of a script that it runs itself",
    ),
    "line": ("nothing is known of where its operations were recorded", "gviz notes it of a script that it runs itself"),
    "code": ("nothing is known of where its operations were recorded", "gviz notes it of a script that it runs itself"),
    "name scope": ("all of it was built outside of any", "tf.name_scope makes one in a script"),
}
"""Why a graph may have no groups of a kind, and what to do."""


def grouped(
    graph: Graph,
    by: str = "module",
    depth: int | None = None,
    collapse: Collection[str] = (),
    expand: Collection[str] = (),
    *,
    boxes_of: Callable[[Graph], int] | None = None,
) -> Graph:
    """Return the graph with its groups as boxes, the closed ones, and as frames around what is inside, the open ones.

    Where a closed group would make arrows go round in a circle, it is several boxes.

    >>> from gviz.graphs import Edge
    >>> inside = Node("n1", "operation", "AddmmBackward0", module=Module("net.fc", "Linear", 1))
    >>> one = grouped(Graph((Node("n0", "operation", "SumBackward0"), inside), (Edge("n1", "n0"),)))
    >>> [(node.kind, node.label, node.name) for node in one.nodes]
    [('operation', 'SumBackward0', None), ('group', 'Linear', 'net.fc')]

    Args:
        graph: any graph.
        by: ``module``, which is the name scopes of a static graph, ``function``, ``line``, or ``code``: modules, else
            functions, and each line outside of them, all of its runs together.
        depth: with 1 the outermost groups are boxes, with 2 they are open, and what is in them are boxes; a group with
            no other inside is opened by more levels than there are. None is the most that gives :data:`ENOUGH` boxes,
            of a static graph :data:`FEW_SCOPES`; of one with scopes to collapse it is all.
        collapse: groups that are closed besides, by their paths; ``*`` stands for anything within a part, and
            ``blocks.*`` is ``net.blocks.3``, too.
        expand: groups that are opened besides, with all that they are in.
        boxes_of: returns how many boxes are drawn of a graph with groups, if what repeats in it is drawn once.

    Raises:
        RenderError: there are no such groups, or none of that name.
    """
    groups = Groups(graph, by)
    if not groups.tree and not collapse:
        why, instead = NONE[groups.word]
        raise RenderError(f"by {by}: the graph has no {groups.word}s: {why}", hint=instead)
    shut, opened = groups.matching("collapse", collapse), groups.matching("expand", expand)
    if depth is None:
        levels, enough = range(1, max(groups.levels) + 1), FEW_SCOPES if groups.is_static else ENOUGH
        depth = max(1, bisect_right(levels, enough, key=lambda level: groups.count(groups.closed(level, shut, opened))))
        depth = levels.stop if groups.is_static and collapse else depth
        result = groups.graph_of(groups.closed(depth, shut, opened))
        for level in levels[depth:]:
            closed = groups.closed(level, shut, opened)
            if boxes_of is None or groups.count(closed) > MOST_TRIED:
                break
            deeper = groups.graph_of(closed)
            if boxes_of(deeper) > enough:
                break
            result = deeper
        return result
    if depth > (deepest := max(groups.levels)) + 1:
        remark = f"depth {depth} draws what depth {deepest + 1} does, where all {groups.word}s are open"
        warn_user(remark, RenderWarning)
    return groups.graph_of(groups.closed(depth, shut, opened))


class Groups:
    """The groups of a graph's operations.

    Args:
        graph: any graph.
        by: what they are, as for :func:`grouped`.
    """

    def __init__(self, graph: Graph, by: str) -> None:
        self.word, self.has_lines = by, by == "code"
        if self.has_lines:
            by = "module" if graph.has_modules else "function"
        self.is_static = graph.kind == "static" and by == "module"
        self.graph = (with_constants_beside if self.is_static else with_modules)(graph) if by == "module" else graph
        self.scopes = scopes_of(self.graph) if self.is_static else set()
        self.word = "name scope" if self.is_static else self.word
        self.tree: list[Module] = []
        """The groups, each after the one that it is in."""
        self.modules: list[Module] = []
        """The same, each with the place that the graph has for what it is in."""
        self.places: dict[Module, int] = {}
        self.own: dict[str, int] = {}
        """The innermost group of each node, by its number; -1 for none."""
        self.by = by
        modules = (*self.graph.modules, *(node.module for node in self.graph.nodes))
        self.kinds = {one.path: one.kind for one in modules if one is not None}
        """The classes of modules, by their paths."""
        called = (one for one in self.graph.modules if one.call)
        parts = {"module": called, "function": graph.functions, "line": ()}[by]
        at: list[int] = []  # where the groups are that the graph lists, each after the one around it
        for one in parts:
            at.append(self.place_of([one], at[one.within] if one.within >= 0 else -1))
        reader = {"module": self.modules_of, "function": self.functions_of, "line": self.line_of}[by]
        places: dict[object, int] = {None: -1}
        for node in self.graph.nodes:
            key = node.place if by != "module" else (node.module, node.name) if self.is_static else node.module
            is_in = self.is_static or (node.kind in COUNTED and node.id not in graph.roots)
            if is_in and key not in places:
                around, chain = reader(node)
                places[key] = self.place_of(chain, at[around] if around >= 0 else -1)
            self.own[node.id] = places[key] if is_in else -1
        self.lines = range(len(self.tree), len(self.tree))
        """The groups that are lines outside of modules and functions."""
        if self.has_lines:
            self.add_lines()
            self.lines = range(self.lines.start, len(self.tree))
        self.levels: list[int] = []
        """How deep each group is: 1 for those that are in none. The last is that of no group, 0."""
        for group in [*self.tree, Module("", within=-2)]:
            self.levels.append(self.levels[group.within] + 1 if group.within >= 0 else group.within + 2)
        self.place_held()

    def place_of(self, chain: Iterable[Module], place: int) -> int:
        """Return the number of a group, the last of a chain below another's; new ones are added."""
        for group in chain:
            key = group._replace(within=place)
            place = self.places.setdefault(key, len(self.tree))
            if place == len(self.tree):
                self.tree.append(key)
                self.modules.append(group)
        return place

    def modules_of(self, node: Node) -> Chain:
        """Return the call of a module that an operation was recorded in; where it is not known, what names tell."""
        module = node.module
        if self.is_static:
            parts = list(filter(None, scope_of(node, self.scopes).split("/")))
            return -1, [Module("/".join(parts[:end])) for end in range(1, len(parts) + 1)]
        if module is None or module.call:
            return (-1, ()) if module is None else (module.within, (module,))
        parts = list(parts_of(module.path))
        ends = [
            end for end, part in enumerate([*parts[1:], ""], 1) if not part.isdigit()
        ]  # a list and a number are one
        paths = (".".join(parts[:end]) for end in ends)
        return -1, [Module(path, self.kinds.get(path, "")) for path in paths]

    def functions_of(self, node: Node) -> Chain:
        """Return the call of a function of the program that an operation was recorded in."""
        return (node.place.call if node.place is not None else -1), ()

    def line_of(self, node: Node) -> Chain:
        """Return the line of the program that recorded an operation, each run of it for itself."""
        place = node.place
        return -1, () if place is None else (Module(str(place), self.graph.code_at(place), place.run),)

    def add_lines(self) -> None:
        """Put what no innermost group holds into a group for its line, if that has several operations there.

        The runs of a line are one group, unless arrows would go round in a circle so.
        """
        around = {group.within for group in self.tree} | {-1}
        own, boxes = (
            self.own,
            dict[str, object]((name, place if place >= 0 else name) for name, place in self.own.items()),
        )
        listed = [node for node in self.graph.nodes if node.kind in COUNTED and node.place and own[node.id] in around]
        listed = [node for node in listed if node.id not in self.graph.roots]
        boxes |= {node.id: (own[node.id], node.place.without_run) for node in listed if node.place}
        knot = knotted((boxes[edge.source], boxes[edge.target]) for edge in self.graph.edges)
        lines = defaultdict[tuple[int, Place], list[str]](list)
        for node in listed:
            if node.place:
                run = node.place.run if boxes[node.id] in knot else 0
                lines[own[node.id], node.place.without_run._replace(run=run)].append(node.id)
        for (within, place), inside in lines.items():
            if len(inside) > 1:
                line = self.place_of([Module(str(place), self.graph.code_at(place), place.run)], within)
                self.own |= dict.fromkeys(inside, line)

    def place_held(self) -> None:
        """Put tensors, and the nodes that fill their gradients, into the innermost group with all their users.

        Not leaves that no module holds, nor data: these are what the program itself brings. What a line outside of modules does
        with a parameter takes it out of no module.
        """
        kinds = () if self.is_static else ("leaf", "accumulate", "saved", "constant", "frozen", "intermediate")
        for node in reversed(self.graph.order):
            uses = self.graph.uses[node.id]
            is_data = node.kind == "frozen" and (node.name or "").isidentifier()
            is_given = (node.kind in ("leaf", "accumulate") or is_data) and node.module is None
            if node.kind in kinds and uses and not is_given and node.id not in self.graph.roots:
                places = {self.own[edge.target] for edge in uses}
                self.own[node.id] = self.common({place for place in places if place not in self.lines} or places)

    def common(self, places: Collection[int]) -> int:
        """Return the innermost group that all of these are in."""
        rest = {*places}
        deepest = [(-self.levels[place], place) for place in rest]
        heapify(deepest)
        while len(rest) > 1:  # each group once: the deepest one is left for the one that it is in
            place = heappop(deepest)[1]
            rest.remove(place)
            if (within := self.tree[place].within) not in rest:
                rest.add(within)
                heappush(deepest, (-self.levels[within], within))
        return rest.pop()

    def titles(self) -> list[str]:
        """Return what each group is called: its path, with the number of the call if there are several."""
        calls: dict[str, set[int]] = defaultdict(set)
        for group in self.tree:
            calls[group.path].add(group.call)
        numbers = {
            path: {call: number for number, call in enumerate(sorted(all_of), 1)} for path, all_of in calls.items()
        }
        word = "run" if self.word == "line" else "call"
        which = [numbers[group.path][group.call] for group in self.tree]
        return [
            f"{group.path}, {word} {number}" if number > 1 else group.path
            for group, number in zip(self.tree, which, strict=True)
        ]

    def matching(self, option: str, patterns: Collection[str]) -> dict[int, Weight]:
        """Return the groups that patterns match, by their number, each with how much the pattern says.

        Raises:
            RenderError: a pattern matches none.
        """
        titles = self.titles()
        weights: dict[int, Weight] = {}
        for pattern in patterns:
            words = "[^./]*".join(map(re.escape, pattern.split("*")))
            matches = re.compile(rf"(?:.*[./])?{words}", re.DOTALL).fullmatch
            fits = {title: matches(title) is not None for title in {*titles, *(group.path for group in self.tree)}}
            weight: Weight = (-pattern.count("*"), len(pattern))
            new = {
                place: max(weights.get(place, weight), weight)
                for place, group in enumerate(self.tree)
                if fits[group.path] or fits[titles[place]]
            }
            if not new and (parts := self.parts_of_list(pattern)):
                new = dict.fromkeys(parts, weight)
            if not new:
                raise RenderError(f"{option}: there is no {self.word} {pattern!r}", hint=self.hint(pattern))
            weights |= new
        return weights

    def parts_of_list(self, path: str) -> list[int]:
        """Return the groups of a list of modules, which is never called itself, by their numbers."""
        is_part = re.compile(rf"(?:.*[./])?{re.escape(path)}\.\d+").fullmatch
        return [place for place, group in enumerate(self.tree) if is_part(group.path)]

    def hint(self, pattern: str) -> str:
        """Return a hint for a name that no group has: a similar name, or the names that there are."""
        if self.is_static and pattern == "gradients":
            return "--gradients adds it"
        paths = list(dict.fromkeys(group.path for group in self.tree))
        ends = {path[at:] for path in paths for at in (0, *(dot.end() for dot in re.finditer(r"[./]", path)))}
        if "*" in pattern:
            ends = {DIGITS.sub("*", end) for end in ends}
        else:  # a list of modules is one, too
            ends |= {end.rpartition(".")[0] for end in ends if end.rpartition(".")[2].isdigit()} - {""}
        return did_you_mean(pattern, sorted(ends)) or f"there are {joined(paths, 12) or 'none'}"

    def closed(self, depth: int, collapse: Mapping[int, Weight], expand: Mapping[int, Weight]) -> list[int]:
        """Return for each group the closed one that it is, or is in; -1 for an open one."""
        has_parts, opened = {group.within for group in self.tree}, {*expand}
        opens_all = depth > max(self.levels)
        for place in reversed(range(len(self.tree))):  # what is around an open group is open
            if place in opened:
                opened.add(self.tree[place].within)
        closed_group: list[int] = []
        for place, group in enumerate(self.tree):
            is_shut = self.levels[place] >= depth or (place not in has_parts and not opens_all)
            if place in opened or place in collapse:
                is_shut = collapse.get(place, NEVER) > expand.get(place, ALWAYS if place in opened else NEVER)
            around = closed_group[group.within] if group.within >= 0 else -1
            closed_group.append(around if around >= 0 else place if is_shut else -1)
        return closed_group

    def count(self, closed: Sequence[int]) -> int:
        """Return how many boxes there are."""
        shut = [closed[place] if place >= 0 else -1 for place in self.own.values()]
        return len({*shut} - {-1}) + shut.count(-1)

    def graph_of(self, closed: Sequence[int]) -> Graph:
        """Return the graph with these groups as boxes, and the others as frames."""
        places = {node: closed[place] if place >= 0 else -1 for node, place in self.own.items()}
        boxes = Boxes(self.with_shared(places) if self.has_lines else self.graph, places)
        titles, parts = self.titles(), Counter(box for box, _ in boxes.members)
        group_of = {box: boxes.groups.get(box, self.own[box]) for box in boxes.box_of.values()}
        around = {box: self.tree[place].within if box in boxes.groups else place for box, place in group_of.items()}
        frames, regions = self.framed(around.values(), titles)
        nodes: list[Node] = []
        for (box, part), inside in boxes.members.items():
            node = inside[0]
            if node.id in boxes.groups:
                place = group_of[node.id]
                kind = self.tree[place].kind
                title = titles[place] + f", part {part + 1} of {parts[box]}" * (parts[box] > 1)
                card = boxes.card(inside, kind, title)
                recorded = Recorded(slots=boxes.slots[node.id], kept=card.kept)
                module = self.module_of(place)
                node = Node(node.id, "group", kind or self.word, title, module=module, recorded=recorded, card=card)
            nodes.append(node._replace(region=frames[around[node.id]]))
        roots = tuple(dict.fromkeys(boxes.box_of[root] for root in self.graph.roots))
        return boxes.graph.changed(nodes=tuple(nodes), edges=boxes.edges, roots=roots, regions=regions)

    def with_shared(self, places: dict[str, int]) -> Graph:
        """Return the graph without the arrows of a parameter that several boxes use, and put it into the first of them.

        Args:
            places: the box of each node, -1 for one of its own.
        """
        gone: set[int] = set()
        shared = 0
        ranks = {node.id: rank for rank, node in enumerate(self.graph.order)}
        for node in reversed(self.graph.order):
            users = [edge for edge in self.graph.uses[node.id] if places[edge.target] >= 0]
            users = [edge for edge in users if places[edge.target] not in self.lines]
            if node.kind in ("leaf", "accumulate") and node.module is not None and places[node.id] < 0 and users:
                first = places[node.id] = places[min((edge.target for edge in users), key=ranks.__getitem__)]
                gone |= {id(edge) for edge in users if places[edge.target] != first}
                shared += node.kind == "leaf"
        said = f"{amount(shared, 'parameter')} that several boxes use stand{'s' * (shared == 1)} in the first of them"
        remarks = (*self.graph.remarks, *[said] * bool(shared))
        return self.graph.changed(
            edges=tuple(edge for edge in self.graph.edges if id(edge) not in gone), remarks=remarks
        )

    def framed(self, around: Iterable[int], titles: Sequence[str]) -> tuple[dict[int, int], tuple[Region, ...]]:
        """Return the frame of each open group with something in it, by its place among the frames, and these."""
        around_used = {-1}
        for place in around:
            while place not in around_used:
                around_used.add(place)
                place = self.tree[place].within  # noqa: PLW2901 - outwards
        frames, regions = {-1: -1}, list[Region]()
        for place in sorted(around_used - {-1}):
            frames[place], group = len(regions), self.tree[place]
            title = titles[place].rpartition("/")[2] if self.is_static else titles[place]
            regions.append(Region(title, group.kind, frames[group.within]))
        return frames, tuple(regions)

    def module_of(self, place: int) -> Module | None:
        """Return the module that a group is, as a node has it; of a name scope the one around."""
        if self.by != "module" or self.is_static:
            outer = self.tree[place].path.rpartition("/")[0] if self.is_static else ""
            return Module(outer) if outer else None
        return self.modules[place]
