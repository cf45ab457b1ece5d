"""``Session.run``: values for fetches, from feeds and the variables that live in the session; and ``tf.function``."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import repeat
from traceback import walk_tb
from typing import Any, NoReturn, Self, TypeAlias, cast

import numpy as np

from gviz.numbers.words import refuse
from gviz.static.build import convert
from gviz.static.chance import generator_of
from gviz.static.errors import FailedPreconditionError, InvalidArgumentError
from gviz.static.functions import placeholder
from gviz.static.graph import Graph, GraphElement, Operation, Tensor, get_default_graph
from gviz.static.plan import Plan
from gviz.static.rules import constant_value
from gviz.static.types import TensorShape, Value, as_bytes, as_dtype, dims_text, fill_structure, fits, is_array, leaves

Fetches: TypeAlias = "GraphElement | str | Sequence[Fetches] | Mapping[str, Fetches]"
Feeds: TypeAlias = "Mapping[Any, object]"
"""Values for tensors, for variables or for names."""
Reader: TypeAlias = "Callable[[object], Value]"
"""Turns a fed value into what a plan takes."""

PARTS = {Tensor, Operation}

_defaults: list[Session] = []


class State(dict[Operation, "Value"]):
    """The values of variables."""

    def __missing__(self, op: Operation) -> NoReturn:
        raise FailedPreconditionError(f"Attempting to use uninitialized value {op.name}", op)


class Session:
    """Runs a graph.

    Args:
        target: accepted; there is one machine.
        graph: the graph, the default one where none is given.
        config: accepted.
        loop_limit: how many steps a ``while_loop`` may take.
    """

    def __init__(
        self, target: str = "", graph: Graph | None = None, config: object = None, *, loop_limit: int = 1_000_000
    ) -> None:
        self.graph = get_default_graph() if graph is None else graph
        self.loop_limit = loop_limit
        self._values = State()
        self._plans: dict[Hashable, tuple[Plan, list[Reader]]] = {}
        self._random = functools.cache(lambda op: generator_of(op.attrs["seeds"]))  # of each operation
        self._closed = False
        self._entered = ExitStack()

    # -------------------------------------------------------------- running
    def run(
        self, fetches: Fetches, feed_dict: Feeds | None = None, options: object = None, run_metadata: object = None
    ) -> Any:
        """Return the values of some tensors, in the form of ``fetches``.

        Args:
            fetches: a tensor, an operation (its value is None), a name of one, or lists, tuples and dicts of them.
            feed_dict: values for tensors.
            options: accepted.
            run_metadata: accepted.

        Raises:
            RuntimeError: the session is closed, or its graph is empty.
            TypeError, ValueError: a fetch or a feed's key is not a part of this graph; a feed has another shape.
            InvalidArgumentError, FailedPreconditionError: a placeholder has no feed; shapes clash; a variable has no
                value.
        """
        is_flat = type(fetches) is list and PARTS.issuperset(map(type, fetches))  # this form and one tensor go quickly
        items: Any = [fetches] if isinstance(fetches, Tensor) else fetches if is_flat else leaves(fetches)
        feeds = feed_dict or {}
        plan, readers = self._prepared(tuple(items), feeds)
        results = self._call(plan, [read(value) for read, value in zip(readers, feeds.values(), strict=True)])
        if isinstance(fetches, Tensor):
            return results[0]
        return list(results) if is_flat else fill_structure(fetches, iter(results))

    def plan(self, fetches: Fetches, feeds: Iterable[GraphElement | str] = ()) -> Plan:
        """Return what a run of these fetches with feeds for these tensors becomes."""
        return self._prepared(tuple(leaves(fetches)), feeds)[0]

    def _prepared(self, fetches: tuple[Any, ...], feeds: Iterable[GraphElement | str]) -> tuple[Plan, list[Reader]]:
        """Return the plan and what reads its feeds, made the first time; RuntimeError if there is nothing to run."""
        key = (fetches, len(self.graph.unfeedable), *feeds)
        if key not in self._plans:
            refuse(self._closed, "Attempted to use a closed Session.")
            refuse(
                not self.graph.operations,
                "The Session graph is empty. Add operations to the graph before calling run().",
            )
            tensors = [self._feed(feed) for feed in feeds]
            plan = Plan([self._fetch(fetch) for fetch in fetches], tensors, self.loop_limit)
            self._plans[key] = plan, [reader(tensor) for tensor in tensors]
            self.graph.extras["was_run"] = True
        return self._plans[key]

    def _call(self, plan: Plan, values: Iterable[Value]) -> tuple[Value | None, ...]:
        """Run a plan; InvalidArgumentError, with the operation that was running, for what numpy raises."""
        try:
            with np.errstate(all="ignore"):
                return plan.call(self._values, self._random, *values)
        except (ValueError, RuntimeError, TypeError, IndexError, ArithmeticError) as error:
            raise failure(plan, error) from error

    def _feed(self, key: GraphElement | str) -> Tensor:
        """Return the tensor that a key of ``feed_dict`` means."""
        try:
            tensor = cast("Tensor", self.graph.as_graph_element(key, allow_operation=False))
        except (TypeError, ValueError, KeyError) as error:
            raise TypeError(f"Cannot interpret feed_dict key as Tensor: {error.args[0]}") from None
        refuse(not self.graph.is_feedable(tensor), f"Tensor {tensor.name} may not be fed.", ValueError)
        return tensor

    def _fetch(self, fetch: GraphElement | str) -> Tensor | Operation:
        """Return the part of the graph that a fetch means."""
        try:
            part = self.graph.as_graph_element(fetch)
        except TypeError as error:
            raise TypeError(
                f'Argument `fetch` = {fetch} has invalid type "{type(fetch).__name__}". ({error})'
            ) from None
        except KeyError as error:
            raise ValueError(f"Argument `fetch` = {fetch} cannot be interpreted as a Tensor. ({error})") from None
        op = part.op if isinstance(part, Tensor) else part
        refuse(
            op.context is not None,
            f"Operation {op.name!r} has been marked as not fetchable: it is inside a loop or a branch.",
            ValueError,
        )
        return part

    # -------------------------------------------------------------- opening and closing
    def close(self) -> None:
        """Forget all values; the session runs nothing any more, and is not the default one."""
        self._closed = True
        self._values.clear()
        self._plans.clear()
        self._entered.close()

    @contextmanager
    def as_default(self) -> Iterator[Session]:
        """Make it the session that ``eval()`` and ``run()`` use."""
        _defaults.append(self)
        try:
            yield self
        finally:
            _defaults.remove(self)

    def __enter__(self) -> Self:
        self._entered.enter_context(self.graph.as_default())
        self._entered.enter_context(self.as_default())
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


class InteractiveSession(Session):
    """A session that is the default one from the start."""

    def __init__(self, target: str = "", graph: Graph | None = None, config: object = None) -> None:
        super().__init__(target, graph, config)
        self._entered.enter_context(self.as_default())


def get_default_session() -> Session | None:
    """Return the session that ``eval()`` and ``run()`` use, None if there is none."""
    return _defaults[-1] if _defaults else None


def run_part(self: Tensor | Operation, feed_dict: Feeds | None = None, session: Session | None = None) -> Any:
    """Run a tensor or an operation in the given session, else in the default one; ValueError if there is none."""
    session = session or get_default_session()
    if session is None:
        raise ValueError("No default session is registered. Use `with sess.as_default()` or give session=sess")
    return session.run(self, feed_dict)


Tensor.eval = Operation.run = run_part


MANY = 1_000
"""Operations of one line, from which on it is said that they were built and not computed."""


def unused_operations(graph: Graph) -> list[str]:
    """Return what to say of a line that has built many operations of a graph which no session has run, if there is one."""
    places = Counter(op.place for op in graph.get_operations() if op.place)
    return [
        f"line {place.rpartition(':')[2]} has built {count:,} operations, and no session has run the graph: nothing was "
        "computed. In graph mode a call builds operations each time; a time that the script takes around it is that of "
        "building"
        for place, count in places.most_common(1)
        if count >= MANY and "was_run" not in graph.extras
    ]


def computed(graph: Graph, feeds: Feeds) -> dict[Tensor, Value]:
    """Return what each tensor of a graph comes to in one run."""
    tensors = [tensor for op in graph.get_operations() for tensor in op.outputs]
    return dict(zip(tensors, Session(graph=graph).run(tensors, feeds), strict=True))


# ------------------------------------------------------------------ feeds
def reader(tensor: Tensor) -> Reader:
    """Return what turns a fed value into the tensor's dtype; ValueError for another shape, TypeError for a tensor."""
    dtype: Any = tensor.dtype.base_dtype.as_numpy_dtype
    dims = tensor._dims
    numbers: tuple[Any, ...] = ()
    if not dims:
        numbers = (float, int) if tensor.dtype.is_floating else (int,) if tensor.dtype.is_integer else ()

    def read(value: Any) -> Any:
        if value.__class__ in numbers and (value.__class__ is float or -(2**31) <= value < 2**31):
            return dtype(value)  # the quick way for a scalar
        if isinstance(value, Tensor):
            raise TypeError(
                "The value of a feed cannot be a tf.Tensor object. Acceptable feed values include Python scalars, "
                "strings, lists, numpy ndarrays, or TensorHandles. For reference, the tensor object was "
                f"{value} which was passed to the argument `feed_dict` with key {tensor}."
            )
        try:
            array = as_bytes(np.asarray(value, dtype)) if dtype is np.object_ else np.asarray(value, dtype)
        except OverflowError:
            raise TypeError(
                f"Type of feed value {value} with type {type(value)} is not compatible with Tensor type {dtype}. "
                "Try explicitly setting the type of the feed tensor to a larger type (e.g. int64)."
            ) from None
        if not fits(dims, array.shape):
            raise ValueError(
                f"Cannot feed value of shape {array.shape} for "
                f"Tensor {tensor.name}, which has shape {TensorShape(dims)}"
            )
        return array[()]

    return read


# ------------------------------------------------------------------ runs that fail
def failure(plan: Plan, error: Exception) -> InvalidArgumentError:
    """Return the error for what went wrong in a plan: the operation, and TensorFlow's words for the usual reasons."""
    frame, line = next((f, n) for f, n in walk_tb(error.__traceback__) if f.f_code.co_filename == "<plan>")
    step = next(iter(plan.steps[line - 2 :]), None)  # behind the head; the last line is not a step
    if step is None or not isinstance(step.op, Operation):
        return InvalidArgumentError(str(error))
    op, message = step.op, str(error)
    values = [eval(name, frame.f_globals, frame.f_locals) for name in step.args]  # noqa: S307 - the plan's own name
    shapes = [dims_text(np.shape(value)) for value in values]
    if op.type == "Reshape" and "call" not in op.attrs:
        static_shape = constant_value(op.inputs[1])
        shape = values[1] if static_shape is None else static_shape
        needs = "requires a multiple of" if -1 in shape else "has"
        size, count = np.size(values[0]), np.prod(shape[shape != -1])
        message = f"Input to reshape is a tensor with {size} values, but the requested shape {needs} {count}"
    elif "ZeroDivision" in message:
        message = "Integer division by zero"
    elif len(shapes) == 2 and op.type in ("MatMul", "BatchMatMulV2"):
        message = f"Matrix size-incompatible: In[0]: {shapes[0]}, In[1]: {shapes[1]}"
    elif len(shapes) == 2 and "broadcast" in message:
        message = f"Incompatible shapes: {shapes[0]} vs. {shapes[1]}"
    return InvalidArgumentError(message, op)


# ------------------------------------------------------------------ functions that are run as graphs
class Traced:
    """A function that is traced when it meets arguments of a new signature, and runs as a graph from then on.

    Arrays and tensors are arguments of the graph, by dtype and shape; all else (numbers, text) is part of the
    signature, as in TensorFlow. Called with tensors of a graph, its operations are added to that graph; called with
    arrays, it is run at once.
    """

    def __init__(self, python_function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, python_function)
        self.python_function = python_function
        self.traces: dict[Hashable, tuple[Session, list[Tensor], Any]] = {}

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Return its results: arrays for arrays, tensors for tensors."""
        arguments = [list(args), kwargs]
        values = list(leaves(arguments))
        if any(isinstance(value, Tensor) for value in values):
            return self.python_function(*args, **kwargs)
        signature = [(v.dtype.name, v.shape) if is_array(v) else (type(v).__name__, v) for v in values]
        key = (str(fill_structure(arguments, repeat(0))), *signature)
        if key not in self.traces:
            self.traces[key] = self.trace(arguments)
        session, inputs, outputs = self.traces[key]
        return session.run(outputs, dict(zip(inputs, filter(is_array, values), strict=True)))

    def trace(self, arguments: object) -> tuple[Session, list[Tensor], Any]:
        """Return the graph for arguments of this signature: its session, its placeholders and its results."""
        with Graph().as_default() as graph:
            symbolic = [placeholder(as_dtype(v.dtype), v.shape) if is_array(v) else v for v in leaves(arguments)]
            args, kwargs = fill_structure(arguments, iter(symbolic))
            result = self.python_function(*args, **kwargs)
            outputs = fill_structure(result, (v if v is None else convert(v) for v in leaves(result)))
        return Session(graph=graph), [v for v in symbolic if isinstance(v, Tensor)], outputs


def function(func: Callable[..., Any] | None = None, **options: object) -> Any:
    """Trace a Python function to a graph, once per signature; also as a decorator with options (which are accepted)."""
    return Traced(func) if func is not None else Traced
