"""Orders along an axis, equal elements where PyTorch leaves them: it sorts and selects as C++'s library does, not stably."""

from __future__ import annotations

from operator import itemgetter

import numpy as np

LONGEST = 1 << 14
"""Among more elements than these equal ones keep their order: to follow C++ step by step would take too long."""
RANK = itemgetter(0)


def ordered(array, axis, descending, way=None):
    """Indices that sort along an axis, equal elements in their old order.

    Args:
        array: the elements.
        axis: along which.
        descending: whether from the largest.
        way: a function that orders pairs of a rank and an index in place; where elements are equal, it decides.
    """
    if descending:
        turned = np.argsort(np.flip(array, axis), axis=axis, kind="stable")
        found = array.shape[axis] - 1 - np.flip(turned, axis)
    else:
        found = np.argsort(array, axis=axis, kind="stable")
    if way is None or not 0 < array.size <= LONGEST:
        return found
    lines, values = np.moveaxis(found, axis, -1), np.moveaxis(np.take_along_axis(array, found, axis), axis, -1)
    steps, ranks = np.zeros(lines.shape, np.int64), np.zeros(lines.shape, np.int64)
    np.cumsum(values[..., 1:] != values[..., :-1], axis=-1, out=steps[..., 1:])
    np.put_along_axis(ranks, lines, steps, -1)
    for place in map(tuple, np.argwhere(steps[..., -1] < lines.shape[-1] - 1)):
        pairs = [(rank, i) for i, rank in enumerate(ranks[place].tolist())]
        way(pairs)
        lines[place] = [i for _, i in pairs]
    return found


def part(pairs, low, high):
    """Parts pairs around the median of three, as ``std::__unguarded_partition_pivot``: where the second part begins."""
    middle = (low + high) // 2
    a, b, c = (pairs[i][0] for i in (low + 1, middle, high - 1))
    if a < b:
        pick = middle if b < c else high - 1 if a < c else low + 1
    else:
        pick = low + 1 if a < c else high - 1 if b < c else middle
    pairs[low], pairs[pick] = pairs[pick], pairs[low]
    pivot, i, j = pairs[low][0], low + 1, high
    while True:
        while pairs[i][0] < pivot:
            i += 1
        j -= 1
        while pivot < pairs[j][0]:
            j -= 1
        if i >= j:
            return i
        pairs[i], pairs[j] = pairs[j], pairs[i]
        i += 1


def sort_pairs(pairs):
    """Order pairs as ``std::sort``: parted down to 16 elements, these sorted by insertion, which is stable."""
    waiting = [(0, len(pairs))]
    while waiting:
        low, high = waiting.pop()
        while high - low > 16:
            cut = part(pairs, low, high)
            waiting.append((cut, high))
            high = cut
    pairs.sort(key=RANK)


def first_pairs(k):
    """A way to order the first ``k``: ``std::nth_element`` and ``std::sort``; of few among many the first of equal ones."""

    def order(pairs):
        low, high = 0, len(pairs) if 64 * k > len(pairs) else 0
        while high - low > 3:
            cut = part(pairs, low, high)
            low, high = (cut, high) if cut <= k - 1 else (low, cut)
        if not high:
            pairs.sort(key=RANK)
            return
        pairs[low:high] = sorted(pairs[low:high], key=RANK)
        head = pairs[: k - 1]
        sort_pairs(head)
        pairs[: k - 1] = head

    return order


def place_pair(k):
    """A way to bring the pair of number ``k`` to its place: PyTorch's own quickselect, for :func:`kthvalue`."""

    def order(pairs):
        def swap(i, j):
            pairs[i], pairs[j] = pairs[j], pairs[i]

        low, high = 0, len(pairs) - 1
        while high > low + 1:
            swap((low + high) // 2, low + 1)
            for i, j in ((low + 1, high), (low, high), (low + 1, low)):
                if pairs[i][0] > pairs[j][0]:
                    swap(i, j)
            pivot, i, j = pairs[low][0], low + 2, high - 1
            while True:
                while pairs[i][0] < pivot:
                    i += 1
                while pairs[j][0] > pivot:
                    j -= 1
                if j < i:
                    break
                swap(i, j)
                i, j = i + 1, j - 1
            swap(low, j)
            low, high = (i if j <= k else low), (j - 1 if j >= k else high)
        if high == low + 1 and pairs[low][0] > pairs[high][0]:
            swap(low, high)

    return order
