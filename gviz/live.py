"""The graph of a model in a program that runs, with its gradients: as backward has left them, or as it is going to.

Nobody has followed the program. What is known is in the graph, in the tensors, and in what operations have saved.
"""

from __future__ import annotations

import linecache
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from gviz.causes.diagnosis import NO_GRAPH, NOT_SCALAR, SECOND
from gviz.drawing import (
    READ,
    Drawing,
    Nest,
    as_it_is_now,
    caller_variables,
    drawing_of,
    named_roots,
    tensors_by_name,
)
from gviz.errors import ArgumentError
from gviz.flow import MOST_TO_DIAGNOSE, engine_of, flow_through_hooks, has_other, retained_kept
from gviz.formulas.operands import input_names
from gviz.graphs import Gradient, Graph, Hooked, Later, Node, Place, Stop, Unlisted
from gviz.graphs.numbers import FEW_ELEMENTS, Numbers
from gviz.passes.modules import in_modules
from gviz.passes.others import OF_OTHERS
from gviz.pictures.table import near
from gviz.reaching import reached
from gviz.sources.layers import unlisted
from gviz.sources.lines import unnamed_leaves
from gviz.walk import (
    INPLACE,
    SAVED,
    ModuleLike,
    NodeLike,
    Origin,
    Params,
    TensorLike,
    grad_fn,
    graph_nodes,
    is_freed,
    is_tensor,
    next_nodes,
    numbers,
    saved_items,
    saved_names,
    saved_value,
    walk,
)

ONCE = ("retain_graph=False", "incompatible with .grad()")
"""What PyTorch says of graphs that only backward() can go through: of a compiled function, or reentrant checkpoints."""

MODEL = "model"
"""What the module is called that is asked about."""

DOMAINS = ("log", "log2", "log10", "log1p", "asin", "acos", "acosh", "atanh")
"""Operations that save what they are given, and that are not finite where that is outside of their domain."""

PRODUCTS = {"mm": ("self", "mat2"), "bmm": ("self", "mat2"), "addmm": ("mat1", "mat2")}
"""Products of matrices that save both of them, by their names."""

FRAME = re.compile(r' *File "(.+)", line (\d+), in .*\n?(.*)')
"""An entry of a traceback: the file, the line, and the code."""

LIBRARIES = os.path.dirname(__file__) + os.sep
"""Where code is gviz's own."""


class LeafGradients(NamedTuple):
    """The gradients of a graph's leaves.

    Args:
        computed: what backward is going to bring, by the identity of the leaf; nothing where it has freed the graph.
        has_run: whether backward has freed the graph, so that ``.grad`` has what it brought.
        error: why backward fails, in PyTorch's words; "" if it does not.
        hooks: what hooks make of what comes to a leaf, by its identity, as far as that was looked for.
    """

    computed: Mapping[int, Numbers]
    has_run: bool = False
    error: str = ""
    hooks: Mapping[int, tuple[Hooked, ...]] = {}


def live_graph(tensors: Nest, parameters: Mapping[str, TensorLike], model: Params = None) -> Drawing:
    """Return the graph of tensors, with what a question about a gradient needs.

    Args:
        tensors: the root, or roots, as :func:`gviz.graph` takes them.
        parameters: the tensors that are asked about, by name.
        model: the module that they are of; None for none.
    """
    missed = missed_parameters(model) if hasattr(model, "named_modules") else {}
    own_names = {**parameters, **{name: tensor for name, (tensor, _) in missed.items()}}
    roots, names = named_roots(tensors, own_names, "loss")
    if not roots or not all(map(is_tensor, roots.values())):
        kind = type(tensors).__name__
        raise ArgumentError(
            f"a question about gradients begins at a loss that is a tensor, not at one of type {kind}",
            hint=READ if kind == "str" else "give the loss as it is before item() or float(), and then the model",
        )
    if any(root.numel() == 1 for root in roots.values()):  # of a model's output the loss, and not the scores
        roots = {name: root for name, root in roots.items() if root.numel() == 1}
    starts, nodes = [*roots.values()], graph_nodes(roots.values())
    leaves = [leaf for leaf in nodes.values() if leaf is not None]
    names |= unnamed_leaves({**names, **roots}, dict.fromkeys(roots, leaves))
    grads = leaf_gradients(starts, nodes, [leaf for leaf in leaves if leaf.requires_grad])
    values, flows, lines = dict[NodeLike, Numbers](), None, dict[NodeLike, tuple[Place, str]]()
    results = (*map(numbers, starts), *grads.computed.values())
    if any(not one.is_finite or one.has_only(0) for one in results):
        odd = odd_constants(nodes)
        bad = any(not numbers(one).is_finite for one in odd.values())
        names |= odd
        values, lines = values_of(starts, nodes, names.values()), lines_of(nodes)
        is_put_in = bad or any(not numbers(leaf).is_finite for leaf in leaves)  # and not made on the way
        if grads.computed and not is_put_in:
            flows, hooks = flow_through_hooks(starts, most=MOST_TO_DIAGNOSE, elements=FEW_ELEMENTS, all_factors=False)
            grads = grads._replace(hooks=hooks)
    places = {node: place for node, (place, _) in lines.items()}
    plain = {node: value._replace(dtype="") for node, value in values.items()}
    origins = {node: Origin(places.get(node), numbers=plain.get(node)) for node in (*values, *lines)}
    graph = as_it_is_now(walk(roots, names, flow=flows, origin_of=origins.get), {**names, **roots})
    codes = (*dict.fromkeys(lines.values()),)
    graph = with_leaf_gradients(graph, {**names, **roots}, grads).changed(codes=codes)
    if model is not None:
        graph = in_modules(graph, model)
        graph = with_missed(graph, {name: part for name, (_, part) in missed.items()})
    stop = Stop(grads.error, code=f"{next(iter(roots))}.backward()") if grads.error else None
    return drawing_of(graph.changed(stop=stop))


def leaf_gradients(
    roots: Sequence[TensorLike], nodes: Iterable[NodeLike], leaves: Sequence[TensorLike]
) -> LeafGradients:
    """Return the gradients of the leaves of a graph; ``.grad`` and the graph stay as they are."""
    if not any(root.requires_grad for root in roots):
        return LeafGradients({}, error=f"RuntimeError: element 0 of tensors {NO_GRAPH}")
    engine, is_scalar = engine_of(roots[0]), all(root.numel() == 1 for root in roots)
    starts = None if is_scalar else [*map(engine.ones_like, roots)]  # to see whether backward has freed the graph
    try:
        with retained_kept(engine), engine.autograd.set_detect_anomaly(False):  # its nan are to be told, and not raised
            grads = engine.autograd.grad(roots, leaves, starts, retain_graph=True, allow_unused=True) if leaves else ()
    except RuntimeError as error:
        # If one that still has what it saved uses one that has not, the backward of another root has freed the latter.
        keeping = (node for node in nodes if any(map(is_tensor, saved_items(node))))
        has_run = SECOND in str(error) and not any(map(is_freed, reached(keeping, next_nodes)))
        has_all = has_run and all(leaf.grad is not None for leaf in leaves)
        message = written_in_place(nodes) if has_run else str(error)
        if not message or any(words in message for words in ONCE) or has_all:
            return LeafGradients({}, has_run=has_run)
        return LeafGradients({}, error=f"RuntimeError: {message}")
    if not is_scalar:
        return LeafGradients({}, error=f"RuntimeError: {NOT_SCALAR}")
    pairs = zip(leaves, grads, strict=True)
    return LeafGradients({id(leaf): numbers(grad) for leaf, grad in pairs if grad is not None})


def written_in_place(nodes: Iterable[NodeLike]) -> str:
    """Return PyTorch's words on a saved tensor that was written since, at which a backward has failed; "" for none."""
    for node in nodes:
        for _, attribute in saved_names(type(node)):
            try:
                getattr(node, attribute)
            except RuntimeError as error:
                if INPLACE in str(error):
                    return str(error)
    return ""


def odd_constants(nodes: Iterable[NodeLike]) -> dict[str, TensorLike]:
    """Return operands without gradient that operations have saved, and that are not finite, or nothing but 0.

    By the caller's names, or those of the operations.
    """
    odd: dict[str, TensorLike] = {}
    saved = (
        (node, name, one)
        for node in nodes
        for name in input_names(type(node).__name__)
        for one in [saved_value(node, f"{SAVED}{name}")]
        if is_tensor(one) and not one.requires_grad
    )
    for node, name, one in saved:
        value, text = numbers(one), f"{name} of {type(node).__name__}"
        if not value.is_finite or (value.has_only(0) and value.shape):
            odd[f"{text} ({len(odd) + 1})" if text in odd else text] = one
    variables = {id(one): name for name, one in caller_variables(odd.values()).items()}
    return {variables.get(id(one), name): one for name, one in odd.items()}


def values_of(
    roots: Sequence[TensorLike], nodes: Collection[NodeLike], names: Iterable[TensorLike]
) -> dict[NodeLike, Numbers]:
    """Return what operations have made, as far as it has a name, or another operation has saved it."""
    values: dict[NodeLike, Numbers] = {}
    saved: list[Any] = [one for node in nodes for one in saved_items(node) if is_tensor(one)]
    for one in (*names, *roots, *saved):
        maker = grad_fn(one)
        if maker in nodes and maker not in values and len(getattr(maker, "_input_metadata", ())) <= 1:
            values[maker] = numbers(one)
    values |= {node: value for node in nodes if node not in values and (value := recomputed(node)) is not None}
    return values


def lines_of(nodes: Iterable[NodeLike]) -> dict[NodeLike, tuple[Place, str]]:
    """Return the lines of operations, each with its code, where PyTorch's anomaly mode has kept them."""
    lines = {}
    for node in nodes:
        frames = map(FRAME.match, reversed(getattr(node, "metadata", {}).get("traceback_", ())))
        own = (frame for frame in frames if frame is not None and not frame[1].startswith(LIBRARIES))
        if (frame := next((one for one in own if "site-packages" not in one[1]), None)) is not None:
            lines[node] = near(Place(int(frame[2]), frame[1])), (frame[3] or "").strip()
    return lines


def recomputed(node: NodeLike) -> Numbers | None:
    """Return what an operation has made: the cast of a leaf; of what it has saved a logarithm, say, or a product.

    None for any other operation, and for what it has made of saved tensors if that is finite.
    """
    kind = type(node).__name__.removesuffix("Backward0").lower()
    if kind == "tocopy" and (leaf := getattr(node.next_functions[0][0], "variable", None)) is not None:
        recorded: Any = node
        return numbers(leaf.detach().to(recorded._input_metadata[0].dtype))  # noqa: SLF001 - PyTorch's own name
    names = {**dict.fromkeys(DOMAINS, ("self",)), "div": ("other",), **PRODUCTS}.get(kind, ())
    saved: list[Any] = [saved_value(node, f"{SAVED}{name}") for name in names]
    if not saved or not all(map(is_tensor, saved)):
        return None
    one, *others = (tensor.detach() for tensor in saved)
    result = one @ others[0] if others else 1 / one if kind == "div" else getattr(engine_of(one), kind)(one)
    value = numbers(result)
    return None if value.is_finite else value


def with_leaf_gradients(graph: Graph, tensors: Mapping[str, TensorLike], grads: LeafGradients) -> Graph:
    """Return the graph with what backward brings to its leaves, beside what ``.grad`` has."""

    def with_gradient(grad: Gradient, name: str) -> Gradient:
        own = id(tensors[name])
        return grad._replace(arrived=grads.computed.get(own), hooks=grads.hooks.get(own, ()))

    def changed(node: Node) -> Node:
        if node.kind == "leaf" and node.name:
            later = Later(is_cleared=True) if grads.has_run and node.grad.value is None else None
            grad = with_gradient(node.grad, node.name)
            return node._replace(grad=grad, later=later, state=OF_OTHERS if has_other(grad) else node.state)
        return node

    rows = tuple(row._replace(grad=with_gradient(row.grad, row.name)) for row in graph.tensors)
    return graph.changed(nodes=tuple(map(changed, graph.nodes)), tensors=rows)


def missed_parameters(model: ModuleLike) -> dict[str, tuple[TensorLike, Unlisted]]:
    """Return the tensors that a module holds and does not list as parameters, each with the reason, by their names.

    What is made from its parameters is none of them, such as the weight that pruning computes.
    """
    own = {id(one) for _, one in model.named_parameters()}
    tensors = {
        name: one
        for name, one in tensors_by_name({"": model}).items()
        if one.requires_grad and own.isdisjoint(map(id, graph_nodes([one]).values()))
    }
    modules = {id(one): (f".{path}" if path else "", one) for path, one in model.named_modules()}
    return {
        name[1:]: (tensors[name], part._replace(module=f"{MODEL}{part.module}"))
        for name, part in unlisted(modules, tensors, os.path.isfile).items()
    }


def with_missed(graph: Graph, parts: Mapping[str, Unlisted]) -> Graph:
    """Return the graph with what keeps tensors out of the parameters of a module, by their names, and its lines."""
    places = {part.place: near(part.place) for part in parts.values() if part.place}
    codes = {new: linecache.getline(old.file, old.line).strip() for old, new in places.items()}
    own = {name: part._replace(place=part.place and places[part.place]) for name, part in parts.items()}
    rows = tuple(row._replace(unlisted=own.get(row.name)) for row in graph.tensors)
    return graph.changed(tensors=rows, codes=(*graph.codes, *codes.items()))
