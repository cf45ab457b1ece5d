"""A gradient derived as on paper: the operations, and the chain rule with each path, its steps and the sum."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from gviz.derivations.parts import with_parts_apart
from gviz.derivations.paths import GAP, Chain, Path, above, find_chains
from gviz.errors import SourceError
from gviz.formulas.expressions import with_letters, words_of
from gviz.formulas.formula import GRAD, UNKNOWN, Formula
from gviz.formulas.lectures import is_by_rows
from gviz.formulas.local import MOST_DERIVED, with_formula, with_symbols
from gviz.formulas.operands import part_of_result, rows_by_label
from gviz.formulas.operations import jacobian_symbol
from gviz.garbage import without_collecting
from gviz.graphs import FREED, LEFT_OUT, LOST, NOW, OVERWRITTEN, RETURNED, Edge, Flow, Graph, Later, Node
from gviz.graphs.numbers import Numbers, size_of
from gviz.passes.dataflow import dataflow, outputs_of
from gviz.passes.elements import ONE, agree, summed_dims
from gviz.passes.rounding import without_rounding
from gviz.passes.starts import starts_of
from gviz.text import joined
from gviz.walk import MOST_FLOWING

MOST_PATHS = 8
"""Paths to a tensor that are listed, unless more are asked for."""

MOST_LISTED = 60
"""Operations that are listed, unless there are more on the paths themselves."""

WHY_LOST = {FREED: "backward had freed it", OVERWRITTEN: "what it saved for backward was written since"}
"""Why a graph that nobody has watched computes no gradient, by the state of an operation."""

NOT_IMPLEMENTED = "NotImplemented"
"""The class of an operation that PyTorch has no derivative of."""

CHECKPOINT = "what a checkpoint has left out is computed again for backward alone"
"""Why a graph of a program with one has none: who asks what operations save would run its functions once more."""

LARGE = 200_000
"""Elements of a tensor whose numbers are left out: nobody reads them, and each is multiplied one by one."""


@dataclass(frozen=True)
class Derivation:
    """Gradients, path by path.

    Args:
        of: the names of the roots.
        start_nodes: the tensors that it begins with: leaves, and what needs no gradient; in the order of the program.
        operations: the operations on the way, each after what it is made from.
        chains: for each tensor its paths, their products and their sum.
        ran: whether backward ran, so that there is a gradient of the engine's to compare with.
        graph: the graph of all of these.
        other_roots: names of roots that backward did not start at when it ran from ``of``.
    """

    of: tuple[str, ...]
    start_nodes: tuple[Node, ...]
    operations: tuple[Node, ...]
    chains: tuple[Chain, ...]
    ran: bool
    graph: Graph
    other_roots: tuple[str, ...] = ()

    @property
    def has_unknown(self) -> bool:
        """Whether :data:`~gviz.formulas.formula.UNKNOWN` stands in one of its formulas."""
        return any(UNKNOWN in text for text in (*(node.expression for node in self.operations), *self.symbols))

    @property
    def of_now(self) -> list[str]:
        """The names of the tensors that may have been written since: their numbers are not those of the results."""
        return [node.name or "" for node in self.start_nodes if node.state == NOW and node.value is not None]

    @property
    def is_by_rows(self) -> bool:
        """Whether one of its symbols is that of each row by itself."""
        return any(map(is_by_rows, self.symbols))

    @property
    def symbols(self) -> set[str]:
        """The local derivatives of the steps of all paths."""
        return {edge.flow.symbol for chain in self.chains for path in chain.paths for edge in path.edges}

    def nearest(self, most: int) -> list[Node]:
        """Return at most so many operations in their order: those on the paths, then their operands, then the last."""
        on_paths = {node for chain in self.chains for path in chain.paths for edge in path.edges for node in edge[:2]}
        operands = {edge.source for edge in self.graph.edges if edge.target in on_paths}
        first = [at for at, node in enumerate(self.operations) if node.id in on_paths]
        others = [at for at, node in enumerate(self.operations) if node.id not in on_paths]
        others.sort(key=lambda at: (self.operations[at].id not in operands, -at))
        return [self.operations[at] for at in sorted([*first, *others][:most])]

    def as_dict(self) -> dict[str, Any]:
        """Return the record for JSON.

        ``count`` is there if not all paths are listed, ``checked`` (false) if the sum was not compared with the
        engine's gradient, ``start`` if backward does not start from 1, or ``starts`` of several roots;
        ``grad_before`` and ``grad_after``, what the tensor's ``.grad`` was before backward and after it, if that is not
        ``grad``; ``cleared``, where the program has cleared it since ("" where that is not known), ``grad_now``, what
        it has made of it since. ``sum`` and a product are null where they are not known.
        """
        return {"of": " + ".join(self.of), "wrt": [chain_record(chain) for chain in self.chains]}


@without_collecting()
def derive(graph: Graph, wrt: Sequence[str] = (), most: int = MOST_PATHS) -> Derivation:
    """Return how the gradients of some tensors come about.

    Args:
        graph: one that was recorded, with its flow (:attr:`gviz.SourceOptions.flow`) and Jacobians if numbers are
            wanted.
        wrt: names of tensors, such as w for ``w.grad``; all leaves if there is none.
        most: how many paths to each are listed; they are counted and added whatever their number.

    Raises:
        SourceError: no path leads to one of them, or the graph is not of that kind.
    """
    if graph.kind == "static":
        hint = "gviz static draws it; its gradients are operations of their own"
        raise SourceError("this graph is static: backward goes through a recorded one only", hint=hint)
    is_large = len(graph.nodes) > MOST_DERIVED
    graph = prepared(graph, is_large=is_large)
    values_graph = dataflow(graph, has_constants=not is_large)
    if not is_large:
        values_graph = without_large(with_names_of_maps(with_parts_apart(values_graph)))
    begins = starts_of(values_graph)
    other_roots = tuple(values_graph.by_id[root].name or "" for root in values_graph.roots if root not in begins)
    values_graph = values_graph.changed(roots=tuple(begins))
    roots = {node.id for node in values_graph.nodes if node.id in graph.roots or node.id in values_graph.roots}
    chains = chains_of(graph, values_graph, names_to_explain(graph, values_graph, wrt, roots), roots, most)
    op_ids = listed_operations(values_graph, chains)
    computed = [node for node in values_graph.order if node.id in op_ids]
    nodes, inputs = values_graph.by_id, values_graph.inputs
    sources = {edge.source for node in op_ids for edge in inputs[node]}
    if is_large:
        stated = {node.id for node in computed[:MOST_LISTED]}
        chains, small = with_formulas_of_part(graph, chains, stated)
        computed = [small.by_id[node.id] if node.id in stated else node for node in computed]
        nodes = nodes | small.by_id
        sources |= {edge.source for edge in small.edges if edge.target in stated}
    sources = made_from(sources - op_ids, op_ids, inputs)
    rows = {row.name: position for position, row in enumerate(values_graph.tensors)}
    starts = [node for node in nodes.values() if node.id in sources and is_given(node)]
    by_name = {node.name: node for node in reversed(starts)}  # a frozen one has a node at each use
    starts = [*by_name.values()][::-1]
    starts.sort(key=lambda node: rows.get(node.name or "", len(rows)))
    outside = [by_name[node.name] for node in values_graph.order if node.expression and by_name.get(node.name) == node]
    start_nodes = [node for node in starts if not node.expression]
    made = outputs_of(values_graph)
    steps = tuple(
        one for node in in_order((*outside, *computed), rows, values_graph) for one in tensors_made(node, made)
    )
    has_run = any(chain.grad is not None for chain in chains)
    return Derivation(chains[0].of, tuple(start_nodes), steps, chains, has_run, values_graph, other_roots)


def prepared(graph: Graph, *, is_large: bool) -> Graph:
    """Return the graph with names for all tensors, and the symbols of its local derivatives if it is not too large."""
    if is_large:
        return with_leaf_names(with_letters(graph))
    if not any(edge.flow.symbol for edge in graph.edges):
        graph = with_formula(graph)
    return with_leaf_names(without_rounding(graph))


def names_to_explain(graph: Graph, values_graph: Graph, wrt: Sequence[str], roots: set[str]) -> tuple[str, ...]:
    """Return the names of the tensors that were asked for, or of all leaves; SourceError if there are none."""
    names = tuple(graph.aliases.get(name, name) for name in wrt) or leaves_of(values_graph, roots)
    if names:
        return names
    root = " and ".join(node.name or "it" for node in values_graph.nodes if node.id in roots)
    hint = f"write what it is computed by, as in {root}=x*w"
    raise SourceError(f"{root} is a leaf: no operation has made it, so that there is no path to explain", hint=hint)


def chains_of(graph: Graph, values_graph: Graph, names: Sequence[str], roots: set[str], most: int) -> tuple[Chain, ...]:
    """Return the paths to each tensor, with what its gradient was before, and why there is none of backward's steps."""
    has_tensors = any(node.shape for node in values_graph.nodes if node.id in roots)
    before = {row.name: row.grad.before for row in graph.tensors}
    has_run = any(
        node.grad.value is not None or node.grad.arrived is not None or node.state in LOST
        for node in values_graph.nodes
    )
    too_large = absence_in_large(values_graph)
    return tuple(
        replace(
            completed(chain, has_tensors=has_tensors),
            before=before.get(chain.wrt),
            absent=too_large or absence(chain, values_graph) if chain.grad is None and has_run else "",
        )
        for chain in find_chains(values_graph, names, most)
    )


def with_formulas_of_part(graph: Graph, chains: Sequence[Chain], stated: set[str]) -> tuple[tuple[Chain, ...], Graph]:
    """Return the paths of a large graph with symbols, and a small graph with the formulas of some operations.

    Formulas of all operations would take too long.
    """
    on_listed = {edge.target for chain in chains for path in chain.paths for edge in path.edges}
    part = subgraph(graph, on_listed | stated)
    words = words_of(part)
    part = with_names_of_maps(with_symbols(part, words))
    symbols = {(edge.target, edge.slot): edge.flow.symbol for edge in part.edges if edge.flow.symbol}
    return tuple(with_symbols_of(chain, symbols) for chain in chains), dataflow(subgraph(part, stated), words)


def in_order(operations: Sequence[Node], rows: Mapping[str, int], graph: Graph) -> tuple[Node, ...]:
    """Return operations in the order of the program, which is also that of their letters.

    A step that the program has no name for, as the reciprocal of ``1 / x``, stands before what uses it first. Nothing
    stands before what it is made from: the row of ``losses[0]`` has the place of its list.
    """
    places: dict[str, int] = {}
    for node in reversed(operations):
        after = [places[edge.target] for edge in graph.uses.get(node.id, ()) if edge.target in places]
        places[node.id] = rows.get(node.name or "", min(after, default=len(rows)))
    for node in operations:
        operands = [places[edge.source] for edge in graph.inputs.get(node.id, ()) if edge.source in places]
        places[node.id] = max([places[node.id], *operands])
    return tuple(sorted(operations, key=lambda node: places[node.id]))


def tensors_made(node: Node, made: Mapping[str, Mapping[int, Node]]) -> list[Node]:
    """Return what an operation makes: of several tensors each that is used, with what picks it from the others."""
    if not node.recorded.outputs:
        return [node]
    parts = {number: part_of_result(node.label, [number]) or f"[{number}]" for number in made[node.id]}
    texts = {at: "" if node.expression.endswith(f"){part}") else part for at, part in parts.items()}  # as it is written
    return [one._replace(expression=f"{node.expression}{texts[at]}") for at, one in made[node.id].items()]


def is_given(node: Node) -> bool:
    """Return whether a tensor is worth a place among those that a computation begins with.

    What has no gradient and no known numbers, as ``π`` or ``sqrt(2 * π)``, stands where it is used alone.

    >>> from gviz.graphs.numbers import Numbers
    >>> is_given(Node("n0", "frozen", name="t", numbers=Numbers.of(1.0))), is_given(Node("n0", "frozen", name="π"))
    (True, False)
    """
    is_known = node.kind != "frozen" or node.value is not None or node.shape is not None
    return bool(node.name) and node.kind != "constant" and is_known


def made_from(sources: set[str], op_ids: set[str], inputs: Mapping[str, Sequence[Edge]]) -> set[str]:
    """Return what is used and not listed, and what that is made from, as what is cut off is."""
    todo = [*sources]
    for here in todo:  # grows while it is read
        new = {edge.source for edge in inputs.get(here, ())} - sources - op_ids
        sources |= new
        todo += new
    return sources


def subgraph(graph: Graph, ids: set[str]) -> Graph:
    """Return some operations of a graph with two levels of their inputs, and with the names of their results."""
    outputs = {node.id for node in graph.nodes if node.kind == "output"}
    inputs = {edge.source for edge in graph.edges if edge.target in ids}
    leaves = {edge.source for edge in graph.edges if edge.target in inputs}
    inside = (
        ids | inputs | leaves | {edge.target for edge in graph.edges if edge.target in outputs and edge.source in ids}
    )
    if len(inside) == len(graph.nodes):
        return graph
    edges = tuple(edge for edge in graph.edges if edge.source in inside and edge.target in inside)
    nodes = tuple(node for node in graph.nodes if node.id in inside)
    return graph.changed(nodes=nodes, edges=edges, roots=tuple(root for root in graph.roots if root in inside))


def with_symbols_of(chain: Chain, symbol_of: Mapping[tuple[str, int], str]) -> Chain:
    """Return a chain with the symbols that are known of the steps of its paths, by the operation and its slot."""

    def with_symbols(path: Path) -> Path:
        symbols = [symbol_of.get((edge.target, edge.slot)) or edge.flow.symbol for edge in path.edges]
        pairs = zip(path.edges, symbols, strict=True)
        edges = tuple(Edge(*edge[:6], Flow(symbol, *edge.flow[1:])) for edge, symbol in pairs)
        return path._replace(edges=edges, symbols=tuple(symbols))

    return replace(chain, paths=tuple(map(with_symbols, chain.paths)))


def listed_operations(graph: Graph, chains: Sequence[Chain]) -> set[str]:
    """Return the operations on the paths, and those that compute their factors; if they are many, the nearest ones."""
    on_paths = above(graph, [chain.node.id for chain in chains])
    users = {edge.target for edge in graph.edges if edge.source in on_paths}
    todo = [node.id for node in reversed(graph.order) if node.id in users]
    if len(todo) >= MOST_LISTED:
        return set(todo)
    operations = {node.id for node in graph.order if node.kind == "operation"}
    ids = dict.fromkeys(todo)
    for here in todo:  # grows while it is read
        for edge in graph.inputs[here]:
            if edge.source in operations and edge.source not in ids and len(ids) < MOST_LISTED:
                ids[edge.source] = None
                todo.append(edge.source)
    return set(ids)


def absence_in_large(graph: Graph) -> str:
    """Return why a large graph has no gradients of backward's steps; "" for one that is not too large."""
    number = sum(node.kind in ("operation", "leaf") for node in graph.nodes)
    limit = f"gviz follows backward through {MOST_FLOWING} at most"
    return f"it has {number:,} operations and leaves, and {limit}" if number > MOST_FLOWING else ""


def absence(chain: Chain, graph: Graph) -> str:
    """Return why a graph that is not too large has no gradients of backward's steps, though backward ran."""
    if graph.stop is not None or chain.node.state.startswith((LEFT_OUT, RETURNED)):
        return chain.node.state if graph.stop is None else f"the program has ended in an error, {graph.stop.where}"
    on_paths = above(graph, [chain.node.id]) - {chain.node.id}
    operations = [node for node in graph.nodes if node.id in on_paths]
    size = max(math.prod(size_of(node.numbers)) for node in (*operations, chain.node))
    if size > LARGE:
        return f"a tensor has {size:,} elements, and the numbers of more than {LARGE:,} are left out"
    if own := next((node.label for node in operations if node.label not in {*rows_by_label(), "CopySlices"}), ""):
        return f"{own.removesuffix('Backward')} is a function of your own, whose backward gviz runs no second time"
    names = [
        node.name for node in graph.nodes if node.name and node.later is not None and node.later.numbers is not None
    ]
    if graph.backward is None and names:
        return f"backward did not run before {joined(names)} {'was' if len(names) == 1 else 'were'} written"
    refused = [
        node
        for node in operations
        if node.grad.arrived is not None and all(edge.flow.handed is None for edge in graph.inputs[node.id])
    ]
    if refused:
        return f"the backward of {refused[-1].label} cannot be run a second time"
    lacking = [
        f"the derivative of {node.expression or node.name or 'an operation'} is not implemented in PyTorch"
        for node in operations
        if node.label == NOT_IMPLEMENTED
    ]
    other = CHECKPOINT if "checkpoint" in graph.code else "it was saved without them"
    return [*lacking, *(WHY_LOST[node.state] for node in operations if node.state in LOST), other][0]


def leaves_of(graph: Graph, roots: set[str]) -> tuple[str, ...]:
    """Return the names of the leaves that gradients go to, in the order of the program."""
    leaves = [node.name for node in graph.nodes if node.kind == "leaf" and node.id not in roots and node.name]
    rows = {row.name: position for position, row in enumerate(graph.tensors)}
    return tuple(sorted(leaves, key=lambda name: rows.get(name, len(rows))))


def with_leaf_names(graph: Graph) -> Graph:
    """Return the graph with a name for each leaf that the program has given none: ``leaf 1``."""
    numbers = count(1)
    return graph.changed(
        nodes=tuple(
            node._replace(name=f"leaf {next(numbers)}") if node.kind == "leaf" and not node.name else node
            for node in graph.nodes
        )
    )


def with_names_of_maps(graph: Graph) -> Graph:
    """Return the graph with a Jacobian, ``grad @ J(svd)``, for each derivative that has one and no formula."""
    nodes = {node.id: node for node in graph.nodes if node.kind == "operation"}

    def with_name(edge: Edge) -> Edge:
        node = nodes.get(edge.target)
        if node is None or edge.flow.symbol or node.label == NOT_IMPLEMENTED:
            return edge
        return edge._replace(flow=edge.flow._replace(symbol=jacobian_symbol(node.label)))

    return graph.changed(edges=tuple(map(with_name, graph.edges)))


def without_large(graph: Graph) -> Graph:
    """Return the graph without the numbers on the edges of large tensors.

    The sum over what an input was spread over is told by sizes, and so is a part of the symbol there.
    """

    def small(edge: Edge) -> Edge:
        sizes = [math.prod(size_of(value)) for value in (edge.flow.local, edge.flow.handed)]
        if max(sizes) <= LARGE:
            return edge
        dims, factor = summed_dims(edge), Formula.read(edge.flow.symbol)
        if not dims or factor is None:
            return edge._replace(flow=Flow(edge.flow.symbol))
        over = "" if len(dims) == len(size_of(edge.flow.local)) else f", {dims}"
        return edge._replace(flow=Flow(f"sum({Formula.parse(GRAD).times(factor)}{over})"))

    return graph.changed(edges=tuple(map(small, graph.edges)))


def completed(chain: Chain, *, has_tensors: bool) -> Chain:
    """Return a chain that could not be checked with the numbers that are known all the same.

    Where a step is neither a factor nor a small matrix, but one path alone has come there, the path's gradient is the
    one that the engine hands on. These are the engine's own numbers: they check nothing. Without a gradient to begin
    with there are numbers for numbers alone.
    """
    if chain.sum is not None:
        return chain
    factors = (factor for path in chain.paths for factor in path.factors)
    if chain.grad is None and (has_tensors or any(factor is not None and factor.shape for factor in factors)):
        unknown = tuple(path._replace(product=None, gradients=()) for path in chain.paths)
        return replace(chain, paths=unknown, path_sum=None)
    paths = (path._replace(product=(path.start, *path.gradients)[-1]) for path in chain.paths)
    return replace(chain, paths=tuple(paths))


def begins_with_one(chain: Chain) -> bool:
    """Return whether backward begins with 1 at roots of one element, so that the sum is the derivative."""
    return all(agree(single(start), ONE) for start in chain.starts)


def single(value: Numbers | None) -> Numbers | None:
    """Return the number of a tensor of one element, without dimensions; any other numbers as they are.

    >>> single(Numbers.of([[2.0]])), single(Numbers.of([2.0, 3.0])).shape
    (Numbers(shape=(), dtype='', elements=(2.0,), about=None), (2,))
    """
    if value is None or not value.shape or not value.elements or value.numel != 1:
        return value
    return value._replace(shape=())


def step_kind(edge: Edge) -> str:
    """Return what a step is.

    It is a ``factor``, element by element; a ``matrix``, a Jacobian that is known; or a ``vjp``, which is only named.

    ``gap`` stands for several steps.
    """
    if edge.flow.symbol == GAP:
        return "gap"
    if edge.flow.local is not None:
        return "factor"
    return "matrix" if edge.flow.jacobian is not None else "vjp"


def is_retained(node: Node) -> bool:
    """Return whether backward leaves the gradient of a tensor in its ``.grad``."""
    return node.kind == "leaf" or node.state == "retained"


def chain_record(chain: Chain) -> dict[str, Any]:
    """Return the record of one tensor."""
    record: dict[str, Any] = {
        "name": chain.wrt,
        "paths": [path_record(path) for path in chain.paths],
        "sum": _jsonable(chain.sum),
        "grad": _jsonable(chain.grad),
    }
    if is_retained(chain.node) and chain.node.grad.value != chain.grad and not agree(chain.node.grad.value, chain.grad):
        record |= {"grad_before": _jsonable(chain.before), "grad_after": _jsonable(chain.node.grad.value)}
    later = chain.node.later or Later()
    if later.is_cleared or later.cleared_at is not None:
        record["cleared"] = "" if later.cleared_at is None else str(later.cleared_at)
    record |= {"grad_now": _jsonable(later.grad)} if later.grad is not None else {}
    record |= {} if chain.is_complete else {"count": chain.count}
    if not begins_with_one(chain):
        record |= (
            {"start": _jsonable(chain.paths[0].start)}
            if len(chain.of) == 1
            else {"starts": [_jsonable(path.start) for path in chain.paths]}
        )
    return record if chain.sum is not None else {**record, "checked": False}


def _jsonable(numbers: Numbers | None) -> Any:
    """Return numbers for JSON; None for none."""
    return None if numbers is None else numbers.jsonable()


def path_record(path: Path) -> dict[str, Any]:
    """Return the record of one path; a factor is a number, the numbers of each element, or a Jacobian as a matrix.

    ``kinds`` is there if not all steps are factors. ``sums`` is there if a product is added up after a factor, as the
    input was broadcast; ``gradients``, what the product has become after each step, with one of the two.
    """
    flows = [edge.flow.jacobian if step_kind(edge) == "matrix" else edge.flow.local for edge in path.edges]
    factors = [_jsonable(one) for one in flows]
    record = {"nodes": path.names, "factors": factors, "symbols": path.symbols, "product": _jsonable(path.product)}
    kinds = [step_kind(edge) for edge in path.edges]
    record |= {"skipped": path.skipped} if path.skipped else {}
    record |= {} if set(kinds) <= {"factor", "gap"} else {"kinds": kinds}
    if any(path.sums):
        pairs = zip(path.sums, path.edges, strict=True)
        record["sums"] = [{"symbol": text, "dim": summed_dims(edge)} if text else None for text, edge in pairs]
    if record.keys() & {"kinds", "sums"}:
        record["gradients"] = [_jsonable(one) for one in path.gradients or (None,) * len(path.edges)]
    return record
