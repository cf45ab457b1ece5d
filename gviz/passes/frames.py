"""The frames of a folded graph: those that its nodes had, and one around each block that stands for several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from gviz.graphs import Graph, Region
from gviz.passes.forms import DIGITS
from gviz.passes.names import by_numbers, pattern
from gviz.passes.repeats import Fold
from gviz.passes.wires import Coordinates


class Frames:
    """The frames of a graph, and those of its folds.

    Args:
        graph: without AccumulateGrad nodes.
    """

    def __init__(self, graph: Graph) -> None:
        """Count what is in each frame."""
        self.graph = graph
        self.sizes = [0] * len(graph.regions)
        self.outside: dict[Fold, tuple[int, ...]] = {}
        """The frames around all blocks of a fold, outer ones first."""
        self.only: dict[Fold, Region | None] = {}
        for node in graph.nodes if graph.regions else ():
            if node.kind in ("operation", "group"):
                for region in self.graph.frames_around(node.region):
                    self.sizes[region] += 1

    def trim(self, fold: Fold) -> None:
        """Leave of a fold the blocks, one after the other, of which each has the same frames, or the same around it."""
        self.outside[fold] = ()
        if not self.graph.regions:
            return
        ways = [self._way(block) for block in fold.blocks]
        ends = [0, *(number for number in range(1, len(ways)) if ways[number] != ways[number - 1]), len(ways)]
        length, first = max((end - start if ways[start] else 0, start) for start, end in pairwise(ends))
        fold.keep(first, first + length)
        if way := ways[first]:
            self.outside[fold] = way[-1]

    def _way(self, block: Sequence[int]) -> tuple[tuple[object, ...], tuple[int, ...]] | None:
        """Return how frames inside a block are laid around its operations, and the frames around it, outer ones first.

        None if there is a frame that is neither.
        """
        chains = [self.graph.frames_around(self.graph.nodes[number].region) for number in block]
        count = Counter(region for one in chains for region in one)
        own = [[region for region in one if count[region] == self.sizes[region]] for one in chains]
        rest = {tuple(one[len(inner) :][::-1]) for one, inner in zip(chains, own, strict=True)}
        if len(rest) > 1 or any(one[: len(inner)] != inner for one, inner in zip(chains, own, strict=True)):
            return None
        new: dict[int, int] = {}  # frames of a block, counted as they come
        looks = [tuple((new.setdefault(region, len(new)), self._look(region)) for region in inner) for inner in own]
        return tuple(looks), rest.pop()

    def _look(self, region: int) -> object:
        """Return what two frames have in common that take each other's place."""
        one = self.graph.regions[region]
        return DIGITS.sub("#", one.title), one.kind, one.times

    def with_folds(
        self, titles: dict[Fold, str], places: Sequence[Coordinates]
    ) -> tuple[tuple[Region, ...], dict[int, int]]:
        """Return the frames of the folded graph, and the frame of each node that is drawn.

        Args:
            titles: of the folds.
            places: where each node of the graph is drawn.
        """
        paths = {
            number: self._path(number, [one for one in blocks if isinstance(one, Fold)])
            for number, (representative, blocks) in enumerate(places)
            if number == representative
        }
        regions: list[Region] = []
        varying = self._varying_titles(places)
        frame_of_path: dict[tuple[Fold | int, ...], int] = {(): -1}
        for path in paths.values():
            for end in range(1, len(path) + 1):
                if path[:end] not in frame_of_path:
                    frame_of_path[path[:end]] = len(regions)
                    region = self._region(path[end - 1], titles)
                    title = (
                        region.title if isinstance(path[end - 1], Fold) else varying.get(path[end - 1], region.title)
                    )
                    regions.append(region._replace(title=title, within=frame_of_path[path[: end - 1]]))
        return tuple(regions), {number: frame_of_path[path] for number, path in paths.items()}

    def _varying_titles(self, places: Sequence[Coordinates]) -> dict[Fold | int, str]:
        """Return what each frame inside a fold is called in all of its blocks."""
        titles_of: dict[Fold | int, dict[str, None]] = {}
        for number, (representative, blocks) in enumerate(places) if self.sizes else ():
            if blocks and self.graph.nodes[number].kind in ("operation", "group"):
                here = self.graph.frames_around(self.graph.nodes[representative].region)
                for region, other in zip(here, self.graph.frames_around(self.graph.nodes[number].region), strict=False):
                    titles_of.setdefault(region, {})[self.graph.regions[other].title] = None
        return {region: pattern(sorted(titles, key=by_numbers)) for region, titles in titles_of.items()}

    def _region(self, one: Fold | int, titles: dict[Fold, str]) -> Region:
        """Return a frame, but for the one that it is in."""
        if not isinstance(one, Fold):
            return self.graph.regions[one]
        if (frame := self._only_frame(one)) is None:
            return Region(titles[one], times=one.count)
        depth = len(self.outside[one])
        frames = [self.graph.frames_around(self.graph.nodes[block[0]].region)[-1 - depth] for block in one.blocks]
        return Region(pattern([self.graph.regions[number].title for number in frames]), frame.kind, times=one.count)

    def _only_frame(self, fold: Fold) -> Region | None:
        """Return the frame that is around all of the last block, and of nothing else; None if there is none."""
        if fold not in self.only:
            depth = len(self.outside.get(fold, ()))
            numbers = fold.blocks[-1] if self.sizes else ()
            chains = [self.graph.frames_around(self.graph.nodes[number].region)[::-1][depth:] for number in numbers]
            first = {one[0] if one else -1 for one in chains} or {-1}
            frame = self.graph.regions[min(first)] if len(first) == 1 and min(first) >= 0 else None
            self.only[fold] = frame if frame is not None and frame.times == 1 else None
        return self.only[fold]

    def _path(self, number: int, folds: Sequence[Fold]) -> tuple[Fold | int, ...]:
        """Return the frames around a node that is drawn, outer ones first."""
        own = tuple(self.graph.frames_around(self.graph.nodes[number].region)[::-1])
        path: list[Fold | int] = []
        count = 0
        for fold in folds:
            around = self.outside.get(fold, ())
            if own[: len(around)] != around:  # a leaf from elsewhere
                own = around
            path += [*own[count : len(around)], fold]
            count = max(count, len(around)) + (self._only_frame(fold) is not None)
        return (*path, *own[count:])
