"""From tensors to the graph as data: follow ``grad_fn`` edges as TorchViz does.

The walk asks only for what every PyTorch node has (``next_functions``, ``variable``, ``_saved_*``), so gviz's own
engine and real PyTorch look the same to it. It goes in the order in which TorchViz draws: a root, then depth first
along the slots of each node; an explicit stack takes the place of recursion, so a chain of a million operations is no
deeper than two.
"""

from __future__ import annotations

import cmath
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import chain
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeGuard

from gviz.errors import ArgumentError
from gviz.garbage import without_collecting
from gviz.graphs import (
    FREED,
    LOST,
    NO_FLOW,
    NO_GRADIENT,
    OVERWRITTEN,
    Edge,
    Flow,
    Gradient,
    Graph,
    GraphCut,
    Hooked,
    Module,
    Moment,
    Node,
    Place,
    Recorded,
    TensorRow,
)
from gviz.graphs.numbers import ALL_ELEMENTS, FEW_ELEMENTS, Numbers, Sizes, Summary, elements_of

SAVED = "_saved_"

INPLACE = "modified by an inplace operation"
"""In PyTorch's words on a saved tensor that was written since."""

DETAILED, FEW, FEW_PLACES = 5_000, 300, 6
"""So many boxes of a large graph list what they saved, and those after them do not: reading it costs more than the
walk. Of places of elements that an operation has picked, so many are written out."""

CHUNK = 1 << 17
"""Elements of a large tensor that are looked at at a time, so that what is computed of them takes no memory."""

TINY, HUGE = 1e-15, 1e15
"""Numbers beyond these are scaled before they are squared: a float32 has no room for their squares."""

TINY_GRADIENT = 1e-4
"""Numbers of a gradient below this are compared with what was added up to them."""

MOST_FLOWING = 300
"""Operations and leaves of a graph whose flow of gradients is looked at; nobody reads the derivatives of a larger
one."""


def may_be_rounding(grad: Numbers | None) -> bool:
    """Return whether a gradient has a number so small that it may be what rounding has left of a sum.

    >>> may_be_rounding(Numbers.of([3.0, 2e-8])), may_be_rounding(Numbers.of([3.0, 0.0])), may_be_rounding(None)
    (True, False, False)
    """
    elements = (grad.elements if grad is not None else None) or ()
    return any(isinstance(one, float) and 0 < abs(one) < TINY_GRADIENT for one in elements)


class NodeLike(Protocol):
    """A ``grad_fn`` as the walk needs it.

    An AccumulateGrad also has ``variable``, a user's Function ``saved_tensors``.
    """

    @property
    def next_functions(self) -> Slots:
        """The node behind each input, with the number of its output; None for an input that needs no gradient."""


Slots: TypeAlias = "Sequence[tuple[NodeLike | None, int]]"


class TensorLike(Protocol):
    """A tensor as the walk needs it, gviz's or PyTorch's."""

    @property
    def shape(self) -> Sequence[int]:
        """Sizes."""

    @property
    def dtype(self) -> object:
        """Its text ends in the name: ``torch.float32``."""

    @property
    def requires_grad(self) -> bool:
        """True if gradients flow to it."""

    @property
    def is_leaf(self) -> bool:
        """True if no recorded operation made it."""

    @property
    def retains_grad(self) -> bool:
        """True for a non-leaf that keeps its gradient."""

    @property
    def grad_fn(self) -> NodeLike | None:
        """The operation that made it."""

    @property
    def grad(self) -> TensorLike | None:
        """Its gradient."""

    @property
    def _base(self) -> TensorLike | None:
        """The tensor that it is a view of."""

    def _is_view(self) -> bool:
        """Return True if it is a view."""

    def numel(self) -> int:
        """Return how many elements it has."""

    def data_ptr(self) -> int:
        """The address of its first element."""

    def stride(self) -> Sequence[int]:
        """How far apart its elements are in memory, for each dim."""

    def element_size(self) -> int:
        """Return the bytes of an element."""

    def detach(self) -> TensorLike:
        """Return the same values, outside of any graph."""

    def reshape(self, *shape: int) -> TensorLike:
        """Return the same values in other sizes."""

    def tolist(self) -> Any:
        """Return a number, or nested lists of numbers."""


class ModuleLike(Protocol):
    """An ``nn.Module`` as questions need it, gviz's or PyTorch's."""

    def named_parameters(self) -> Iterable[tuple[str, TensorLike]]:
        """Return its parameters, each with its name."""

    def named_modules(self) -> Iterable[tuple[str, ModuleLike]]:
        """Return it and the modules within it, each with the names that lead there."""


Params: TypeAlias = Any
"""Tensors by name: a module, a dictionary, pairs as ``named_parameters()`` gives them, or a list of tensors."""


ARITHMETIC = re.compile(r"[\w.]+( [*/+@-]+ [\w.]+)+")
"""Names with signs between them: what such a text says has a gradient if one of the names has."""


class NodeFlow(NamedTuple):
    """What happens at one operation when backward runs.

    Args:
        arrived: the gradient that arrives, the sum of what its users hand on; None if it has several outputs.
        inputs: for each input what goes along its edge.
        constants: the tensors without gradient that it has saved, which backward frees, each with its attribute.
        hooks: what hooks have made of what came to it, or of what it handed on.
        result: what it has made, where it has saved that.
    """

    arrived: Numbers | None
    inputs: Sequence[Flow]
    constants: Sequence[tuple[str, TensorLike]] = ()
    hooks: tuple[Hooked, ...] = ()
    result: Numbers | None = None


class Argument(NamedTuple):
    """What a call was given that has no gradient.

    Args:
        tensor: None for a number, and for a tensor that is no more.
        text: what is written there; "" where that is long, or not known.
        numbers: of a small tensor, as it was then.
    """

    tensor: Any
    text: str
    numbers: Numbers | None = None


class Origin(NamedTuple):
    """Where an operation was recorded, and what it costs.

    Args:
        place: None for one that no call of the program has made itself.
        is_written: whether it wrote its result in place.
        seconds: how long the call took; None if that was not measured.
        kept: the memory that it saves for backward, see :func:`memory_kept`; None likewise.
        numbers: of its result, where that is small; without a dtype, which a box shows only where its tensor has a name.
        given: what its call was given that has no gradient, in order.
        others: the numbers of its other results, by the number of the output.
        began: as :attr:`gviz.graphs.Recorded.began`.
    """

    place: Place | None
    is_written: bool = False
    seconds: float | None = None
    kept: Mapping[object, int] | None = None
    numbers: Numbers | None = None
    given: Sequence[Argument] = ()
    others: Mapping[int, Numbers | None] | None = None
    began: GraphCut | None = None


@without_collecting()
def walk(
    roots: Mapping[str, TensorLike],
    names: Mapping[str, TensorLike] | None = None,
    *,
    saved: bool = False,
    expressions: Mapping[str, str] | None = None,
    most: int | None = FEW_ELEMENTS,
    detailed: float = DETAILED,
    statements: Mapping[str, str] | None = None,
    flow: Mapping[NodeLike, NodeFlow] | None = None,
    origin_of: Callable[[NodeLike], Origin | None] | None = None,
    moments: Mapping[int, Moment] | None = None,
    modules: tuple[Mapping[object, Module], tuple[Module, ...]] | None = None,
) -> Graph:
    """Return the graph below the roots.

    Args:
        roots: name -> tensor, in the order to draw them. A root may be a leaf; it is then drawn alone.
        names: the program's named tensors, in order; the roots are added if they are missing.
        saved: draw the tensors that operations keep for backward, as nodes of their own.
        expressions: the expression of an intermediate that gviz named, by its name.
        most: elements of a tensor that are listed; None to read no numbers at all.
        detailed: how many of the first nodes list what they saved; less than 0 for as many without the tensors, which
            would be computed again.
        statements: the right side of the statement that made a tensor, by its name.
        flow: how the gradient flows through the operations, from :func:`gviz.flow.flow`.
        origin_of: gives the place of the program that an operation was recorded at, where that is known.
        modules: the module that an operation was recorded in, or that holds a leaf, by the node or the name of the
            leaf; and the calls that they were made in.
        moments: what tensors were when backward ran, by their identity, as far as the program may have changed them since.

    Returns:
        A graph with TorchViz's nodes and edges, and a row for each named tensor.
    """
    tensors = dict(names or {})
    for name, root in roots.items():
        tensors.setdefault(name, root)
    moments = moments or {}
    rows = {
        name: tensor_row(name, tensor, (expressions or {}).get(name), most=most, moment=moments.get(id(tensor)))
        for name, tensor in tensors.items()
    }
    firsts: dict[int, str] = {}
    for name, tensor in tensors.items():  # two names of one tensor, as of a layer that two modules hold
        if (first := firsts.setdefault(id(tensor), name)) != name and tensor.is_leaf:
            rows[name] = rows[name]._replace(same_as=first)
    walker = Walker(tensors, rows, saved=saved, most=most, detailed=detailed, moments=moments)
    root_ids = tuple(walker.add_root(rows[name], root) for name, root in roots.items())
    module_of, around = modules or ({}, ())
    facts: tuple[tuple[Callable[[Any], None], object], ...] = (
        (walker.add_statements, statements),
        (walker.add_flow, flow),
        (walker.add_origins, origin_of),
        (walker.add_modules, module_of),
    )
    for add, fact in facts:
        if fact:
            add(fact)
    return Graph(title=", ".join(roots)).changed(
        nodes=tuple(walker.nodes),
        edges=tuple(walker.edges),
        roots=root_ids,
        tensors=tuple(rows.values()),
        modules=around,
        is_detailed=FEW < len(walker.nodes) <= detailed,
    )


def is_tensor(value: object) -> TypeGuard[TensorLike]:
    """Return True for a tensor, of whichever library."""
    return hasattr(type(value), "grad_fn") and hasattr(type(value), "requires_grad")  # asks the value for neither


def tensor_row(
    name: str,
    tensor: TensorLike,
    expression: str | None = None,
    *,
    most: int | None = FEW_ELEMENTS,
    moment: Moment | None = None,
) -> TensorRow:
    """Return the row of one tensor in the table of ``gviz inspect``; the arguments are those of :func:`walk`."""
    node = tensor.grad_fn
    own = numbers(tensor, most)
    grad = gradient(tensor) if most is not None else None
    after = None if grad is None else numbers(grad, most)
    then = NO_GRADIENT if moment is None else moment.grad
    is_same = moment is None or (
        (moment.grad.value, moment.numbers or own, moment.remark, moment.is_of_other) == (after, own, "", False)
        and moment.requires_grad in (None, bool(tensor.requires_grad))
    )
    return TensorRow(
        name=name,
        numbers=own,
        requires_grad=bool(tensor.requires_grad),
        is_leaf=bool(tensor.is_leaf),
        retains_grad=bool(tensor.retains_grad),
        grad_fn=None if node is None else type(node).__name__,
        grad=NO_GRADIENT if (after, *then[1:]) == NO_GRADIENT else then._replace(value=after),
        expression=expression,
        moment=None if is_same else moment,
    )


# ---------------------------------------------------------------- numbers
def plain_sizes(shape: Iterable[Any]) -> Sizes:
    """Return a shape as plain numbers.

    A length that PyTorch has only a name for, as of a jagged tensor, as that name.
    """
    return tuple([size if type(size) is int else int(size) if isinstance(size, int) else str(size) for size in shape])


def numbers(
    tensor: TensorLike,
    most: int | None = FEW_ELEMENTS,
    beside: TensorLike | None = None,
    known: Numbers | None = None,
) -> Numbers:
    """Return a tensor's numbers as a graph holds them: computed by its library, and without a copy of a large one.

    Args:
        tensor: of gviz's engine or of PyTorch.
        most: elements that are listed; None to read no numbers.
        beside: a tensor that may have the same elements, as what arrives at a transpose; None for none.
        known: the numbers of that one.
    """
    shape, dtype = shape_of(tensor), dtype_name(tensor.dtype)
    is_fake = hasattr(tensor, "fake_mode")  # PyTorch's, whose numbers are symbols
    if most is None or is_fake or not all(isinstance(size, int) for size in shape):
        return Numbers(shape, dtype)
    own: Any = tensor.detach()
    try:
        if getattr(tensor, "is_sparse", False):
            own = own.to_dense() if numel_of(tensor) <= ALL_ELEMENTS else own.coalesce().values()
        if not shape or tensor.numel() <= most:
            items: Iterable[object] = (own.tolist(),)
            for _ in shape:  # that is quicker than reshape, which is an operation
                items = chain.from_iterable(items)  # type: ignore[arg-type]
            return Numbers(shape, dtype, elements_of(items))
        if beside is not None and known is not None and has_same_elements(tensor, beside):
            return known._replace(shape=shape)
        return Numbers(shape, dtype, None, _summary_of(own))
    except RuntimeError:  # a tensor without numbers: on the device meta, fake, or sparse
        is_zero = getattr(own, "_is_zerotensor", bool)()  # PyTorch's zeros without memory
        return numbers(own.clone(), most) if is_zero else Numbers(shape, dtype)


def all_finite(tensor: TensorLike) -> bool:
    """Return whether all elements of a tensor are finite: where their sum is, they are; it alone may overflow."""
    own: Any = tensor
    return cmath.isfinite(own.sum().item()) or bool(own.isfinite().all())


@cache
def dtype_name(dtype: object) -> str:
    """Return the name of an element type: ``float32``."""
    return str(dtype).rpartition(".")[2]


def shape_of(tensor: TensorLike) -> Sizes:
    """Return the sizes of a tensor; of a nested one, which has no sizes, how many tensors are in it."""
    try:
        return plain_sizes(tensor.shape)
    except RuntimeError:  # PyTorch's nested tensors of the strided layout refuse
        return (int(tensor.size(0)), "?")  # type: ignore[attr-defined]


def _summary_of(tensor: Any) -> Summary:
    """Return what the numbers of a large tensor come to, chunk by chunk."""
    is_complex = tensor.is_complex()  # which has neither order nor a real mean
    norm = total = 0.0
    smallest, largest = math.inf, -math.inf
    zeros = nans = infs = 0
    for part in _chunks(tensor):
        amounts = part.abs() if is_complex else part
        chunk = amounts if str(amounts.dtype).endswith(("float32", "float64")) else amounts.double()
        low, high = map(float, chunk.aminmax())
        size = max(abs(low), abs(high))
        scale = size if 0 < size < TINY or HUGE < size < math.inf else 1.0
        scaled = chunk if scale == 1 else chunk / scale
        own = float(scaled.sum()) * scale
        norm, total = math.hypot(norm, float(scaled.norm()) * scale), total + own
        if not math.isnan(low):
            smallest, largest = min(smallest, low), max(largest, high)
        if not (low > 0 or high < 0 or float(chunk.abs().amin()) > 0):  # nan if one is; to count takes twice as long
            zeros += len(chunk) - int(chunk.count_nonzero())
        if not math.isfinite(own):
            nans += int(chunk.isnan().sum())
            infs += int(chunk.isinf().sum())
    ends = (math.nan, math.nan) if nans or is_complex else (smallest, largest)
    mean = math.nan if is_complex else total / tensor.numel()
    norm, low, high, mean = elements_of((math.nan if nans else norm, *ends, mean))  # all nan are one object
    return Summary(norm, low, high, mean, zeros, nans, infs)


def has_same_elements(one: TensorLike, other: TensorLike) -> bool:
    """Return whether two tensors have all elements of one part of memory, be it in another order."""
    place = memory_of(one)
    return one is other or (
        place[0] > 0
        and place == memory_of(other)
        and one.dtype == other.dtype
        and all(in_order_of_memory(own).is_contiguous() for own in (one, other))
    )


def in_order_of_memory(tensor: Any) -> Any:
    """Return a view of a tensor, its dims in the order of memory."""
    return tensor.permute(sorted(range(tensor.dim()), key=lambda dim: -tensor.stride(dim)))


def _chunks(tensor: Any) -> Iterator[Any]:
    """Yield the elements of a large tensor, some at a time, in the order of memory, so that no large part is copied."""
    todo = [in_order_of_memory(tensor)]
    while todo:
        part = todo.pop()
        if part.is_contiguous() or part.numel() <= CHUNK:
            flat = part.reshape(-1)
            yield from (flat[start : start + CHUNK] for start in range(0, len(flat), CHUNK))
        elif len(part) == 1:
            todo.append(part[0])
        else:
            rows = max(CHUNK // (part.numel() // len(part)), 1)
            todo += [part[start : start + rows] for start in range(0, len(part), rows)]


def gradient(tensor: TensorLike) -> TensorLike | None:
    """Return the gradient that is there, without PyTorch's warning for a non-leaf that keeps none."""
    return tensor.grad if tensor.is_leaf or tensor.retains_grad else None


class Walker:
    """Collects nodes and edges; nodes are keyed by identity and kept alive, and get ids in the order they are met."""

    def __init__(
        self,
        tensors: Mapping[str, TensorLike],
        rows: Mapping[str, TensorRow],
        *,
        saved: bool,
        most: int | None,
        detailed: float,
        moments: Mapping[int, Moment],
    ) -> None:
        self.saved, self.most, self.detailed, self.moments = saved, most, detailed, moments
        self.results: dict[str, TensorLike] = {}  # what operations without a name have made, and saved
        self.nodes: list[Node] = []
        self.edges: list[Edge] = []
        self.ids: dict[int, str] = {}
        self.alive: list[object] = []
        self.things: dict[str, Any] = {}
        self.row_of: dict[int, TensorRow] = {}
        self.made_by: dict[int, TensorRow] = {}
        self.makes: dict[int, dict[int, str]] = {}
        self.recorded: dict[tuple[int, tuple[tuple[str, str], ...]], Recorded] = {}  # many are equal: each is kept once
        self.plain: dict[tuple[str, int], tuple[Any, ...]] = {}  # boxes of which little is told, without their ids
        self.shared_texts = set[str]()  # what is written for several tensors, as x[i] is in a loop
        self.beside: dict[tuple[object, ...], tuple[Recorded, Recorded]] = {}  # with what calls were given
        self.rows = rows
        for name, tensor in tensors.items():
            self.row_of.setdefault(id(tensor), rows[name])
            node = tensor.grad_fn
            if node is not None:
                self.alive.append(node)
                self.made_by.setdefault(id(node), rows[name])
                self.makes.setdefault(id(node), {}).setdefault(int(getattr(tensor, "output_nr", 0)), name)

    def new_id(self, thing: object) -> str:
        """Return the next id, remembered for this object."""
        self.ids[id(thing)] = name = f"n{len(self.nodes)}"
        self.things[name] = thing
        return name

    def add_root(self, row: TensorRow, root: TensorLike) -> str:
        """Add a root tensor, all that is below it, and the bases it is a view of; return the root's id."""
        box = self.ids.get(id(root))
        if box is not None:
            return box
        tensor, here = root, self.add_tensor(root, "output", row)
        first = here
        while True:
            if (node := tensor.grad_fn) is not None:
                self.add_below(node)
                self.edges.append(Edge(self.ids[id(node)], here, output=int(getattr(tensor, "output_nr", 0))))
            base = tensor._base if tensor._is_view() else None
            box = self.ids.get(id(base))
            if base is not None:
                view, here = here, box or self.add_tensor(base, "intermediate")
                self.edges.append(Edge(here, view, kind="view"))
            if base is None or box is not None:
                return first
            tensor = base

    def add_tensor(self, tensor: TensorLike, kind: str, own_row: TensorRow | None = None, label: str = "") -> str:
        """Add a box for a tensor, with its row if that is known; return its id."""
        own_row = own_row or self.row_of.get(id(tensor))
        row = own_row or tensor_row("", tensor, most=self.most, moment=self.moments.get(id(tensor)))
        node_id, name = self.new_id(tensor), own_row.name if own_row else None
        has_state = kind != "saved" or (name and row.is_leaf)  # another is a number, or its state is in another box
        then, grad, later = row.at_backward()
        state = state_of(row, grad) if has_state else ""
        self.nodes.append(Node(node_id, kind, label, name, then, grad, state, later=later))
        return node_id

    def add_below(self, start: NodeLike) -> None:
        """Add a node and everything below it, depth first along the slots, without recursion.

        TorchViz adds the edge to an input first and what is below that input then; so does this.
        """
        ids, add_edge = self.ids, self.edges.append
        new_edge = partial(
            tuple.__new__, Edge
        )  # all fields at once: half the time of Edge(...), of which there are most
        if id(start) in ids:
            return
        here, below = self.enter(start)
        slots, stack = enumerate(below), []
        while True:
            for slot, (node, output) in slots:
                if node is None:
                    continue
                source, below = ids.get(id(node)), ()
                if source is None:
                    source, below = self.enter(node)
                add_edge(new_edge((source, here, slot, "", "data", output, NO_FLOW, (), 1)))
                if below:
                    stack.append((here, slots))
                    here, slots = source, enumerate(below)
                    break
            else:
                if not stack:
                    return
                here, slots = stack.pop()

    def enter(self, node: NodeLike) -> tuple[str, Slots]:
        """Add a box for an operation, or for a leaf's AccumulateGrad with the leaf; return its id and its slots."""
        node_id, label, slots = self.new_id(node), type(node).__name__, node.next_functions
        if label == "AccumulateGrad" and (variable := getattr(node, "variable", None)) is not None:
            self.nodes.append(Node(node_id, "accumulate", label))
            self.edges.append(Edge(self.add_leaf(variable), node_id))
            return node_id, slots
        row = self.made_by.get(id(node))
        is_custom = has_own_backward(node)
        if row is None and not self.saved and not is_custom and len(self.nodes) >= abs(self.detailed):
            plain = self.plain.get((label, len(slots)))
            if plain is None:
                recorded = self.recorded.setdefault((len(slots), ()), Recorded(len(slots)))
                plain = self.plain[label, len(slots)] = Node("", "operation", label, recorded=recorded)[1:]
            self.nodes.append(tuple.__new__(Node, (node_id, *plain)))
            return node_id, slots
        attributes = [
            (key, attribute)
            for key, attribute in saved_names(type(node))
            if self.detailed >= 0 or not hasattr(type(node), f"_raw{attribute}")  # but for tensors
        ]
        values = [(key, saved_value(node, attribute)) for key, attribute in attributes]
        attrs = tuple([(key, brief(value)) for key, value in values])
        tensors = tuple([key for key, value in values if has_tensors(value)])
        recorded = self.recorded.setdefault((len(slots), attrs), Recorded(len(slots), attrs, tensors=tensors))
        constants = self.constant_texts([(key, one) for key, one in values if is_tensor(one) and not one.requires_grad])
        recorded = recorded._replace(held=constants) if constants else recorded
        kept = "retained" if row is not None and row.retains_grad else ""
        state = next((text for _, text in attrs if text in LOST), kept)
        state = row.moment.remark or state if row is not None and row.moment is not None else state
        names = self.makes.get(id(node), {})
        if any(names):  # one that is not the first, or more
            outputs = tuple(names.get(number, "") for number in range(max(names) + 1))
            results = tuple(self.rows[one].at_backward()[0] if one else None for one in outputs)
            recorded = recorded._replace(outputs=outputs, results=results)
        name, is_letter = (row.name, row.expression is not None) if row is not None else (None, False)
        own, grad, later = row.at_backward() if row is not None else (result_sizes(node), NO_GRADIENT, None)
        self.nodes.append(
            Node(node_id, "operation", label, name, own, grad, state, "", is_letter, None, None, recorded, later)
        )
        if row is None:
            self.results.update((node_id, one) for key, one in values if key == "result" and is_tensor(one))
        if self.saved:
            self.add_saved(node_id, values)
        if is_custom and self.detailed >= 0:
            self.add_saved(node_id, [("saved", saved_value(node, "saved_tensors"))])
        return node_id, slots

    def constant_texts(self, saved: Sequence[tuple[str, TensorLike]]) -> tuple[tuple[str, str], ...]:
        """Return of each saved tensor without a gradient its name, or its number in the program, if that is known."""
        texts = [(key, self.row_of[id(one)].name if id(one) in self.row_of else _number_of(one)) for key, one in saved]
        return tuple([pair for pair in texts if pair[1]])

    def values_saved(self, saved: Sequence[tuple[str, TensorLike]]) -> tuple[Numbers, ...]:
        """Return the numbers of operands without gradient and name, as the mask of a dropout, where they are few."""
        operands = [one for key, one in saved if key in ("self", "other") and id(one) not in self.row_of]
        values = [numbers(one)._replace(dtype="") for one in operands if "float" in dtype_name(one.dtype) and one.shape]
        return tuple([value for value in values if value.elements is not None])

    def add_leaf(self, leaf: TensorLike) -> str:
        """Return the id of a leaf's box.

        If an operation that saved it was met first, its box becomes that of a leaf.
        """
        node_id = self.ids.get(id(leaf))
        if node_id is None:
            return self.add_tensor(leaf, "leaf")
        position = int(node_id[1:])
        box = self.nodes[position]
        if box.kind == "saved":
            state = box.state or state_of(tensor_row("", leaf, most=self.most), box.grad)
            self.nodes[position] = box._replace(kind="leaf", label="", state=state)
        return node_id

    def add_saved(self, node_id: str, values: list[tuple[str, object]]) -> None:
        """Add boxes for the tensors that an operation keeps.

        A user's Function always has them, as TorchViz draws it.
        """
        for key, value in values:
            items = enumerate(value) if isinstance(value, tuple | list) else [(None, value)]
            for index, item in items:
                if is_tensor(item):
                    label = key if index is None else f"{key}[{index}]"
                    source = self.ids.get(id(item)) or self.add_tensor(item, "saved", label=label)
                    self.edges.append(Edge(source, node_id, label=label, kind="saved"))

    def add_statements(self, statements: Mapping[str, str]) -> None:
        """Add what operations compute, in the words of the statements that gave their results a name."""
        self.nodes = [
            node._replace(expression=statements[node.name or ""])
            if node.kind == "operation" and node.name in statements
            else node
            for node in self.nodes
        ]

    def add_flow(self, flow: Mapping[NodeLike, NodeFlow]) -> None:
        """Add what arrives at the operations, and what they hand on."""
        flows = {self.ids[id(node)]: one for node, one in flow.items() if id(node) in self.ids}
        for position, node in enumerate(self.nodes):
            if node.id in flows:
                grad = node.grad._replace(arrived=flows[node.id].arrived, hooks=flows[node.id].hooks)
                result = self.results.get(node.id)
                own = node.numbers if result is None else numbers(result, self.most)
                if (own is None or not own.is_known) and node.name is None:
                    own = flows[node.id].result or own
                recorded = node.recorded._replace(
                    held=self.constant_texts(flows[node.id].constants) or node.recorded.held
                )
                if own_values := self.values_saved(flows[node.id].constants):
                    recorded = recorded._replace(given=("",) * len(own_values), given_numbers=own_values)
                self.nodes[position] = node._replace(numbers=own, grad=grad, recorded=recorded)
        for position, edge in enumerate(self.edges):
            if edge.kind == "data" and edge.target in flows:
                self.edges[position] = edge._replace(flow=flows[edge.target].inputs[edge.slot])

    def add_origins(self, origin_of: Callable[[NodeLike], Origin | None]) -> None:
        """Add where operations were recorded; one that no place is known of is a part of what uses it."""
        user: dict[str, str] = {}
        for edge in self.edges:
            user.setdefault(edge.source, edge.target)
        several = {edge.source for edge in self.edges if edge.output}  # of these results not the first alone is used
        uses = {(edge.source, edge.output) for edge in self.edges if edge.source in several}
        only, counts = dict(uses), Counter(source for source, _ in uses)
        places: dict[str, Place | None] = {}
        memory: dict[int, Mapping[object, int] | None] = {}  # by the position of the node
        origins = {node.id: origin_of(self.things[node.id]) for node in self.nodes if node.kind == "operation"}
        given = {(one.text, one.numbers) for origin in origins.values() for one in (origin.given if origin else ())}
        counts_of_texts = Counter(text for text, own in given if own is not None)
        self.shared_texts = {text for text, count in counts_of_texts.items() if count > 1}
        for position, node in enumerate(self.nodes):  # a user stands before what it uses
            if node.kind != "operation":
                continue
            origin = origins[node.id]
            place = places.get(user.get(node.id, ""))
            if origin is not None:
                own, recorded = node.numbers, node.recorded
                place = origin.place or place
                if origin[1:4] != (False, None, None):  # a record without them is shared by many nodes
                    recorded = recorded._replace(is_written=origin[1], seconds=origin[2])
                    memory[position] = origin.kept
                names, values = zip(*map(self.name_given, origin.given), strict=True) if origin.given else ((), ())
                values = values if any(one is not None for one in values) else ()
                if values or any(names):
                    alike = id(recorded), names, values
                    if alike not in self.beside:
                        self.beside[alike] = recorded, recorded._replace(given=names, given_numbers=values)
                    recorded = self.beside[alike][1]
                recorded = recorded._replace(began=origin.began) if origin.began is not None else recorded
                if origin.others:
                    named = {at: one for at, one in enumerate(recorded.results) if one is not None}
                    results = {0: origin.numbers, **origin.others, **named}
                    recorded = recorded._replace(results=tuple(map(results.get, range(1 + max(results)))))
                if node.name is None and node.id not in several:
                    own = origin.numbers or own
                elif node.name is None and counts[node.id] == 1:
                    own = recorded.result(only[node.id]) or own
                # all fields at once: a third of the time of _replace, and nearly all nodes come here
                fields = (*node[:4], own, *node[5:9], place, node.module, recorded, *node[12:])
                self.nodes[position] = tuple.__new__(Node, fields)
            elif place is not None:
                self.nodes[position] = node._replace(place=place)
            places[node.id] = place
        self.add_bytes_kept(memory)

    def add_bytes_kept(self, memory: dict[int, Mapping[object, int] | None]) -> None:
        """Add the bytes that operations save; memory that several save counts for the first of them, in the program."""
        counted: dict[object, int] = {}
        known = [(self.nodes[at], at, one) for at, one in memory.items() if one is not None]
        for node, at, one in sorted(known, key=lambda row: self.things[row[0].id]._sequence_nr()):
            size = 0
            for key, own in one.items():
                size += max(own - counted.get(key, 0), 0)
                counted[key] = max(own, counted.get(key, 0))
            self.nodes[at] = node._replace(recorded=node.recorded._replace(kept=size))

    def name_given(self, one: Argument) -> tuple[str, Numbers | None]:
        """Return what an argument is called: its name, or what is written there unless another tensor is called that.

        With it come the numbers of one that has no name.
        """
        row = self.row_of.get(id(one.tensor)) if one.tensor is not None else None
        if row is not None:
            return row.name, None
        text = self.part_text(one) or ("" if one.text in self.shared_texts else one.text)
        inside = {text, *text.split()} if ARITHMETIC.fullmatch(text) else {text}  # g * G, of a G before this one
        is_of_others = any(name in self.rows and (name == text or self.rows[name].requires_grad) for name in inside)
        return "" if is_of_others else text, one.numbers

    def part_text(self, one: Argument) -> str:
        """Return ``X[1]`` of what is written ``X[i]``, as in a loop, if the numbers tell which it is; else ""."""
        name, _, index = one.text.partition("[")
        row = self.rows.get(name)
        if row is None or not index[:-1].isidentifier() or one.numbers is None or row.shape[1:] != one.numbers.shape:
            return ""
        elements, count = row.numbers.elements or (), one.numbers.numel
        parts = [elements[at : at + count] for at in range(0, len(elements), count or 1)]
        own = one.numbers.elements or ()
        return f"{name}[{parts.index(own)}]" if parts.count(own) == 1 else ""

    def add_modules(self, module_of: Mapping[object, Module]) -> None:
        """Add the module that each operation was recorded in, and that holds each leaf and its AccumulateGrad."""
        for position, node in enumerate(self.nodes):
            key = node.name if node.kind == "leaf" else self.things[node.id] if node.kind == "operation" else None
            if key in module_of:
                self.nodes[position] = node._replace(module=module_of[key])
        for edge in self.edges:
            source, target = (self.nodes[int(end[1:])] for end in (edge.source, edge.target))
            if target.kind == "accumulate":
                self.nodes[int(edge.target[1:])] = target._replace(module=source.module)


def numel_of(tensor: TensorLike) -> int:
    """Return how many elements a tensor has, as far as its lengths are numbers."""
    return Numbers(shape_of(tensor)).numel


def memory_kept(node: NodeLike) -> dict[object, int] | None:
    """Return the bytes of the tensors that a node saves for backward, by their place in memory, as long as that is theirs.

    A tensor that is unpacked anew each time has no such place. None where they are freed, or one is nested.
    """
    items, again = saved_items(node), saved_items(node)
    memory: dict[object, int] = {}
    for number, (one, other) in enumerate(zip(items, again, strict=True)):
        if type(one) is str and one in LOST:
            return None
        if is_tensor(one):
            if not all(isinstance(size, int) for size in shape_of(one)):
                return None
            place, size = memory_of(one)
            key = place if place and is_tensor(other) and place == memory_of(other)[0] else (node, number)
            memory[key] = max(size, memory.get(key, 0))
    return memory


def has_own_backward(node: NodeLike) -> bool:
    """Return whether an operation is a Function of the program, whose backward is the program's own code."""
    return hasattr(type(node), "saved_tensors")


def saved_items(node: NodeLike) -> list[object]:
    """Return what a node saves for backward; of a list each item."""
    own = ["saved_tensors"] * has_own_backward(node)
    values = [saved_value(node, name) for name in [*dict(saved_names(type(node))).values(), *own]]
    return [one for value in values for one in (value if isinstance(value, tuple | list) else (value,))]


def is_freed(node: NodeLike) -> bool:
    """Return whether a backward has freed what a node saved."""
    return any(type(one) is str and one == FREED for one in saved_items(node))


def memory_of(tensor: TensorLike) -> tuple[int, int]:
    """Return the address of a tensor's first element, 0 if it has none, and the bytes that its elements take."""
    try:
        place, strides = tensor.data_ptr(), tensor.stride()
    except RuntimeError:  # a sparse one, or one without numbers
        return 0, tensor.element_size() * tensor.numel()
    elements = math.prod(size for size, stride in zip(tensor.shape, strides, strict=True) if stride)
    return place, tensor.element_size() * elements  # of an expanded dim there is one


def saved_constants(node: NodeLike) -> tuple[tuple[str, TensorLike], ...]:
    """Return the tensors without gradient that a node saves, each with its attribute."""
    saved = [(key, saved_value(node, attribute)) for key, attribute in saved_names(type(node))]
    return tuple([(key, one) for key, one in saved if is_tensor(one) and not one.requires_grad])


def grad_fn(tensor: Any) -> Any:
    """Return the tensor's grad_fn; None also if PyTorch refuses to give it (views that were changed in place)."""
    try:
        return tensor.grad_fn
    except RuntimeError:
        return None


def next_nodes(node: NodeLike) -> list[NodeLike]:
    """Return the nodes that one hands its gradients to."""
    return [following for following, _ in node.next_functions if following is not None]


def graph_nodes(roots: Iterable[Any]) -> dict[Any, Any]:
    """Return the grad_fn nodes that can be reached from the tensors, each once.

    Returns:
        node -> the leaf that it accumulates into, None for other nodes. The nodes are kept alive by it, so that
        they stay the same objects.
    """
    todo = [node for node in map(grad_fn, roots) if node is not None]
    nodes: dict[Any, Any] = {}
    while todo:
        node = todo.pop()
        if node in nodes:
            continue
        nodes[node] = node.variable if type(node).__name__ == "AccumulateGrad" else None
        todo += [following for following in next_nodes(node) if following not in nodes]
    return nodes


@cache
def saved_names(kind: type[NodeLike]) -> tuple[tuple[str, str], ...]:
    """Return the names of what a kind of node saves, each with its attribute."""
    return tuple((name.removeprefix(SAVED), name) for name in sorted(dir(kind)) if name.startswith(SAVED))


def saved_value(node: NodeLike, attribute: str) -> object:
    """Return what a node saved; a word of :data:`LOST` for what was freed, or written in place since."""
    try:
        return getattr(node, attribute)
    except RuntimeError as error:
        return OVERWRITTEN if INPLACE in str(error) else FREED
    except Exception as error:  # noqa: BLE001 - a hook of the program's own unpacks it, and may raise anything
        return f"its unpack hook raised {type(error).__name__}"


def _number_of(tensor: TensorLike) -> str:
    """Return a tensor without dimensions as it is typed, and a few whole numbers, as places are; "" for another."""
    are_places = dtype_name(tensor.dtype).startswith(("int", "bool")) and numel_of(tensor) <= FEW_PLACES
    value = numbers(tensor, FEW_PLACES).nested() if are_places or not shape_of(tensor) else None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return f"{value:.7g}" if is_number else str(value) if isinstance(value, list) and value else ""


def result_sizes(node: NodeLike) -> Numbers | None:
    """Return the shape of what an operation made, which a gradient that arrives must have.

    None if it made several tensors.
    """
    facts: Sequence[TensorLike] = getattr(node, "_input_metadata", ())
    try:
        return Numbers(plain_sizes(facts[0].shape)) if len(facts) == 1 else None
    except RuntimeError:  # of a nested tensor PyTorch knows none
        return None


def state_of(row: TensorRow, grad: Gradient) -> str:
    """Return the remark on a tensor's gradient when backward ran, or on the moment that its numbers are of."""
    if row.moment is not None and row.moment.remark:
        return row.moment.remark
    if grad.value is not None:
        return "retained" if not row.is_leaf else ""
    if not row.required_grad:
        return "frozen" if row.is_leaf and row.grad_fn is None else ""
    return "no gradient yet" if row.is_leaf or row.retains_grad else "not retained"


def has_tensors(value: object) -> bool:
    """Return whether a saved value is a tensor, or a tuple of several."""
    return is_tensor(value) or (isinstance(value, tuple) and any(map(is_tensor, value)))


def brief(value: object) -> str:
    """Return a saved value as one line."""
    if is_tensor(value):
        return f"[saved tensor] {shape_of(value)}"
    return "[saved tensors]" if has_tensors(value) else str(value)


def by_name(params: Params, **options: bool) -> dict[str, TensorLike]:
    """Return the names that a user gives to tensors; one of a plain list is called by its place, ``params[0]``.

    Args:
        params: what has them.
        options: those of ``named_parameters()``, as ``remove_duplicate=False`` for all names of a shared weight.

    Raises:
        TypeError: there are no names in it.
    """
    pairs: Any = {"": params} if hasattr(params, "named_parameters") else () if params is None else params
    try:
        if isinstance(pairs, list | tuple | Iterator):  # named_parameters() gives pairs, parameters() tensors
            pairs = [(f"params[{at}]", one) if is_tensor(one) else one for at, one in enumerate(pairs)]
        return {
            ".".join(filter(None, (name, inner))): tensor
            for name, part in dict(pairs).items()
            for inner, tensor in (
                part.named_parameters(**options) if hasattr(part, "named_parameters") else [("", part)]
            )
        }
    except (TypeError, ValueError):
        raise ArgumentError(
            "parameters are a dictionary of names and tensors, as dict(net.named_parameters()) is, a module, a"
            f" dictionary of modules, or a list of tensors; not of type {type(params).__name__}",
            hint=f"gviz.why(loss, net)[{params!r}] asks about one of a model" if isinstance(params, str) else None,
        ) from None
