"""The gradients of layers beside one another: those that vanish on their way to the input, and those that explode.

And what is said where nobody has followed the program, so that nothing is known of its lines.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from gviz.causes.diagnosis import Cause, in_code
from gviz.causes.training import BEFORE_EACH
from gviz.causes.why import why, why_all
from gviz.causes.zero import NORMALIZED
from gviz.flow import CHECKPOINT, as_brought, is_multiple
from gviz.graphs import LOST, Graph, Node, TensorRow
from gviz.graphs.numbers import Numbers
from gviz.reaching import reached

VANISHING, EXPLODING, FEWEST, SMALL = 1e-6, 1e10, 3, 1e-4
"""How small a layer's gradient is beside that of a layer nearer to the root, how large beside its own weights, how
many layers there are, where one is said to vanish; and in parts of the largest gradient what may be rounding alone."""

MENDS = {
    "vanishing": (
        "normalization or residual connections between layers; larger initial weights, scaled data, or an activation"
        " that is less flat"
    ),
    "exploding": "torch.nn.utils.clip_grad_norm_ before step(); smaller initial weights, fewer steps, or scaled data",
}

WITHOUT_BIAS = "none: bias=False leaves it out"
"""What to do about a bias that a normalization takes away again."""

FITS = ("ok", "cleared", "accumulated")
"""Verdicts on gradients that may be compared with those of other layers, as backward has left them."""


class Layer(NamedTuple):
    """The parameters of a module.

    Args:
        grad: the norm of their gradients together.
        weight: the norm of their values.
        distance: how many operations are between them and the root, on the longest way.
    """

    grad: float
    weight: float
    distance: int

    @property
    def size(self) -> float:
        """The norm of the gradients in parts of that of the values."""
        return self.grad / self.weight


def causes_in(graph: Graph, names: Sequence[str] | None = None) -> list[Cause]:
    """Return the causes for tensors, beside one another: those of these names, else all leaves and parameters.

    Args:
        graph: as for :func:`gviz.causes.why.why`.
        names: of tensors.

    Raises:
        SourceError: there is no tensor of such a name.
    """
    graph = as_brought(graph)
    causes = why_all(graph) if names is None or len(names) > 1 else []
    of_leaves = {cause.name: cause for cause in causes}
    asked = causes if names is None else [of_leaves.get(name) or why(graph, name) for name in names]
    causes = [*with_layers(graph, asked)]
    return causes if graph.code else [*without_lines(graph, causes)]


def with_layers(graph: Graph, causes: Sequence[Cause]) -> Iterator[Cause]:
    """Yield causes, where a gradient that seemed fine is said to vanish or to explode.

    A layer explodes whose gradient is more than :data:`EXPLODING`, and so in parts of its weights.
    """
    layers = layers_of(graph) if any(cause.verdict in FITS for cause in causes) else {}
    sizes = defaultdict(  # as they are now: they may have been clipped since
        float, {row.name: row.grad.value.norm for row in graph.tensors if row.grad.value is not None}
    )
    vanishing, largest = vanishing_layers(layers), max(layers, key=lambda name: layers[name].size, default="")
    zeros = rounding_errors(graph) if layers else {}
    # A hook, or the program, may have added something to a rounding error: then it is none beside the other gradients.
    least = SMALL * max((size for name, size in sizes.items() if name not in zeros), default=0.0)
    lines = ((graph.backward.without_run, graph.code_at(graph.backward)),) if graph.backward is not None else ()
    for cause in causes:
        name = layer_name(cause.name)
        layer, verdict, what, mend = layers.get(name), "", "", ""
        is_small = sizes[cause.name] < least or not (least or cause.verdict == "accumulated")
        if cause.name in zeros and is_small:
            verdict, (what, mend) = "zero", zeros[cause.name]
        elif layer is not None and layer.size > EXPLODING and sizes[cause.name] > EXPLODING * max(layer.weight, 1.0):
            verdict, what = "exploding", f"{name} is {layer.size:.0e} times the size of its weights"
        elif layer is not None and name in vanishing:
            times = f"{layer.size / layers[largest].size:.0e} times that of {largest}"
            verdict, what = "vanishing", f"{name} is {times}, each in parts of its weights"
        if cause.verdict in FITS and verdict:
            yield cause._replace(
                verdict=verdict,
                what=f"the gradient of {what}" + f"; {cause.what}" * bool(graph.code),  # which tells of hooks
                lines=(*cause.lines, *lines * (cause.verdict == "cleared")),
                mend=mend or MENDS[verdict],
                is_meant=mend == WITHOUT_BIAS,
            )
        else:
            yield cause


def rounding_errors(graph: Graph) -> dict[str, tuple[str, str]]:
    """Return the leaves whose gradients are 0 but for rounding: each with a sentence that says why, and the mend."""
    (kind, constant), root = constant_sum(graph), name_of_root(graph)
    return {
        name: (f"{name} is a rounding error: {root} does not depend on it", NORMALIZED.format(kind))
        for name in constant
    } | {
        name: (f"{name} is a rounding error: {norm} takes away again what it adds", WITHOUT_BIAS)
        for name, norm in shifts_of_norms(graph)
    }


def constant_sum(graph: Graph) -> tuple[str, set[str]]:
    """Return the operation whose result has the root as its sum, and the leaves of which that sum does not depend.

    The sum of normalized elements is the same for any input: what comes to these leaves is a rounding error.
    """
    node = below_sums(graph)
    kind = node.label.partition("Backward")[0].removeprefix("Native") if node is not None else ""
    if node is None or kind not in ("Softmax", "LayerNorm", "BatchNorm", "GroupNorm"):
        return "", set()
    inputs = {
        edge.slot: {*reached([edge.source], lambda one: [way.source for way in graph.inputs[one]])}
        for edge in graph.inputs[node.id]
    }
    own = [0, 1] if kind == "BatchNorm" else [0]
    is_constant = node.recorded.options.get("training") != "False" and (
        kind in ("Softmax", "BatchNorm") or has_even_gain(graph, node, inputs.get(1, set()))
    )
    within = set().union(*(ids for slot, ids in inputs.items() if slot in own))
    others = set().union(*(ids for slot, ids in inputs.items() if slot not in own))
    return (kind, leaves_among(graph, within - others)) if is_constant else ("", set())


def shifts_of_norms(graph: Graph) -> Iterator[tuple[str, str]]:
    """Yield the leaves that only shift the channels of a batch norm's input, each with the name of the norm.

    The mean of each channel is taken from it: nothing depends on such a leaf, as the bias of a convolution before it.
    What addmm() adds is a bias if it is a leaf of one number for each channel: a matrix has others for each example.
    """
    for norm in (one for one in graph.nodes if one.label.startswith("NativeBatchNorm")):
        made = next((graph.by_id[edge.source] for edge in graph.inputs[norm.id] if edge.slot == 0), norm)
        slot = {"AddmmBackward0": 0, "ConvolutionBackward0": 2}.get(made.label)
        own = (edge.source for edge in graph.inputs[made.id] if edge.slot == slot)
        below = reached(own, lambda one: [edge.source for edge in graph.inputs[one]])
        is_row = len(below) <= 2 and all({*(graph.by_id[one].shape or ())[:-1]} <= {1} for one in below)
        is_alone = all(len(graph.uses[one]) == 1 for one in (made.id, *below))  # no other loss depends on it
        if is_row and is_alone and norm.recorded.options.get("training") != "False":
            name = norm.module.path if norm.module else "the batch norm"
            yield from ((leaf, name) for leaf in leaves_among(graph, below))


def has_even_gain(graph: Graph, node: Node, gain: Collection[str]) -> bool:
    """Return whether a normalization multiplies all elements by the same number: by a leaf, or by nothing."""
    names = leaves_among(graph, gain) if len(gain) <= 2 else ()  # the leaf and its AccumulateGrad
    summaries = [row.at_backward()[0].summary for row in graph.tensors if row.name in names]
    return (not gain and dict(node.recorded.attrs).get("weight") == "None") or any(
        one.smallest == one.largest for one in summaries
    )


def name_of_root(graph: Graph) -> str:
    """Return the name of the root, for a sentence."""
    return next((graph.by_id[root].name or "the root" for root in graph.roots), "the root")


def leaves_among(graph: Graph, ids: Collection[str]) -> set[str]:
    """Return the names of the leaves among some nodes."""
    return {node.name for node in map(graph.by_id.__getitem__, ids) if node.kind == "leaf" and node.name}


def below_sums(graph: Graph) -> Node | None:
    """Return the operation whose result the root is, be it the sum of its elements; None unless that is one number.

    Of several numbers, or roots, each may have another gradient, as backward can be given one to begin with.
    """
    at = graph.roots[0] if sum((graph.by_id[one].numbers or Numbers()).numel for one in graph.roots) == 1 else ""
    while (
        at
        and graph.inputs[at]
        and (
            graph.by_id[at].kind == "output"
            or graph.by_id[at].label.startswith(  # what hands on the same gradient to all elements
                ("Sum", "Mean", "View", "UnsafeView", "Transpose", "Permute", "Squeeze", "Unsqueeze")
            )
        )
    ):
        at = graph.inputs[at][0].source
    return graph.by_id.get(at)


def vanishing_layers(layers: Mapping[str, Layer]) -> set[str]:
    """Return the layers whose gradient is less than :data:`VANISHING` of the largest, and so in parts of the weights.

    They are those that are farthest from the root. Where a layer as far as they are has a larger gradient, the small
    ones may be meant to be small, as those behind a small factor.
    """
    if len(layers) < FEWEST:
        return set()
    least, size = (
        VANISHING * max(values) for values in zip(*((one.grad, one.size) for one in layers.values()), strict=True)
    )
    small = {name for name, one in layers.items() if one.grad < least and one.size < size}
    nearest = min((layers[name].distance for name in small), default=0)
    return small if all(name in small for name, one in layers.items() if one.distance >= nearest) else set()


def layers_of(graph: Graph) -> dict[str, Layer]:
    """Return the layers whose gradients are known and not 0, with these and their weights; without those of zeros."""
    nodes, distances = {node.name: node for node in graph.nodes if node.kind == "leaf"}, distances_of(graph)
    members: dict[str, list[Layer]] = defaultdict(list)  # each parameter by itself
    for row in graph.tensors:
        numbers, grad, _ = row.at_backward()
        if row.name in nodes and grad.value is not None:
            members[layer_name(row.name)].append(Layer(grad.value.norm, numbers.norm, distances[nodes[row.name].id]))
    layers = {
        name: Layer(
            math.hypot(*(one.grad for one in rows)),
            math.hypot(*(one.weight for one in rows)),
            max(one.distance for one in rows),
        )
        for name, rows in members.items()
    }
    return {name: one for name, one in layers.items() if one.weight > 0 and 0 < one.grad < math.inf}


def layer_name(name: str) -> str:
    """Return the module that a parameter is of; a tensor of its own is a layer of its own."""
    return name.rpartition(".")[0] or name


def distances_of(graph: Graph) -> Mapping[str, int]:
    """Return how many nodes are between each node and a root, on the longest way."""
    distances: dict[str, int] = {}
    for node in reversed(graph.order):
        distances[node.id] = max((distances[edge.target] + 1 for edge in graph.uses[node.id]), default=0)
    return distances


def without_lines(graph: Graph, causes: Sequence[Cause]) -> Iterator[Cause]:
    """Yield causes where nobody has followed the program: of what has cut a tensor off nothing is known then."""
    rows = {row.name: row for row in graph.tensors}
    root, is_freed = name_of_root(graph), any(node.state in LOST for node in graph.nodes)
    has_hidden, factor = (
        any(node.label == CHECKPOINT for node in graph.nodes),
        factor_of_gradients(graph),
    )
    inside = {node.name for node in graph.nodes}
    for cause in causes:
        name, row = cause.name, rows[cause.name]
        if has_hidden and row.is_leaf and row.requires_grad and name not in inside:
            what = f"{root} goes through a checkpoint with use_reentrant=True, which hides what is computed in it"
            yield (
                Cause(name, "hidden", what, (), "use_reentrant=False; or ask after backward()")
                if row.grad.value is None
                else Cause(name, "ok", f"{name} has a gradient, and whether {root} has brought it is not known: {what}")
            )
        elif cause.verdict in ("zero", "nan", "inf") and "is not known" in cause.what:
            asked = "ask before backward(), which frees what tells it" if is_freed else "look at hooks"
            meant = f"none, if what comes to {name} is to cancel out; else " * cause.is_meant
            yield cause._replace(mend=f"{meant}{asked}; or gviz why SCRIPT")
        elif cause.verdict == "backward not run" and root in rows and rows[root].is_leaf:
            yield Cause(
                name,
                "leaf root",
                f"{root} is a leaf: no operation has made it, so that there is nothing behind it",
                (),
                f"compute {root} from the model: no_grad(), torch.tensor({root}.item()) and the like keep no graph",
            )
        else:
            yield without_lines_of(cause, row, root, factor, is_freed=is_freed)


def factor_of_gradients(graph: Graph) -> float:
    """Return how many times what each ``.grad`` had is the gradient of the root; 0.0 if it is no multiple of that."""
    grads = [(row.grad.value, row.grad.before) for row in graph.tensors if row.grad.value and row.grad.before]
    own, old = max(grads, key=lambda pair: pair[0].norm, default=(Numbers(), Numbers()))
    factor = old.norm / own.norm if own.norm else 0.0
    is_sure = sum(one.numel for one, _ in grads) > 1 and math.isfinite(factor)
    return factor if is_sure and all(is_multiple(*pair, factor) for pair in grads) else 0.0


def without_lines_of(cause: Cause, row: TensorRow, root: str, factor: float, *, is_freed: bool) -> Cause:
    """Return what is said of a tensor then, by what is said of a program that was followed.

    Args:
        cause: that.
        row: the tensor.
        root: the name of the root.
        factor: how many times ``.grad`` is the gradient of the root, for each tensor; 0.0 if it is no multiple of that.
        is_freed: whether backward has freed the graph.
    """
    name, verdict, number = cause.name, cause.verdict, row.value.not_finite if row.value is not None else ""
    if verdict == "no path" and not cause.is_meant:
        cut = (
            f"{root} has no graph: it is not made from {name}, or was"
            if "has no graph" in cause.what
            else f"no path leads from {root} to {name}: {root} is not made from it, or what is made from it was"
        )
        return Cause(
            name,
            verdict,
            f"{cut} cut off on its way, as by detach(), no_grad(), item(), argmax() or a checkpoint with"
            " use_reentrant=True",
            (),
            f"use it where {root} is computed; if it is used there, gviz why SCRIPT tells the line that cuts it off",
        )
    if verdict == "not a leaf" and number:
        return Cause(
            name,
            number.removeprefix("-"),
            f"{name} is {number}, and where that began is not known: what the operations were given was not kept",
            (),
            "gviz why SCRIPT tells where it began",
        )
    if verdict == "ok" and row.grad.value is not None:
        return without_history(cause, row, root, factor, is_freed=is_freed)
    if verdict == "not a leaf" and name == root and row.value is not None and row.value.is_known:
        cause = cause._replace(mend=f"none: its numbers are finite; gviz.why({name}, model) tells of gradients")
    what = re.sub("the program stopped: RuntimeError|backward did not run( to its end)?", "backward fails", cause.what)
    if verdict in ("failed", "written in place", "second backward") and row.grad.value is not None:
        itself = f": of {root} itself, if retain_graph=True has kept its graph, which cannot be gone through again"
        what += f". {name}.grad is of an earlier backward{itself * cause.is_meant}" + (
            ", or what had come to it until then" * (verdict == "written in place")
        )
    return cause._replace(
        what=what,
        mend="requires_grad_(True), if it is to be trained" if verdict.startswith("frozen") else cause.mend,
    )


def without_history(cause: Cause, row: TensorRow, root: str, factor: float, *, is_freed: bool) -> Cause:
    """Return what is said of a gradient that seems fine then: whether other ones are in it."""
    name = cause.name
    if row.grad.before is not None:
        other = f"{factor:.3g} times the gradient" if factor else "another gradient than that"
        what = f"{name}.grad is {other} of {root} alone:"
        if 0 < factor < 1:
            return cause._replace(what=f"{what} the program has made it smaller, as clip_grad_norm_ does", mend="")
        what += (
            f" an earlier backward has left one there, to which backward() of {root} adds its own if zero_grad() does"
        )
        what += " not come in between; or the program has changed it"  # be it that this backward has not run yet
        mend = f"{BEFORE_EACH.format(in_code(name))}, where it is missing, unless the sum is meant"
        return Cause(name, "accumulated", what, (), mend)
    if not is_freed:  # be it that backward has not run, and .grad is None
        return cause._replace(what=cause.what.replace(f"{name} has a gradient", f"{root} brings {name} a gradient"))
    what = f"{cause.what.removesuffix(', which is finite and not 0')} in .grad, and backward has freed the graph:"
    return cause._replace(what=f"{what} whether an earlier backward has added to it is not known")
