"""``Session.run``: values for fetches, from feeds and from the variables that live in the session; and ``tf.function``."""

from __future__ import annotations

import functools
import sys
from contextlib import ExitStack, contextmanager
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from gviz.static.build import convert
from gviz.static.dtypes import as_dtype, as_value, is_array
from gviz.static.errors import FailedPreconditionError, InvalidArgumentError, OpError
from gviz.static.functions import placeholder
from gviz.static.graph import Graph, Operation, Tensor, get_default_graph
from gviz.static.plan import Plan
from gviz.static.rules import constant_value
from gviz.static.shapes import TensorShape, fits, leaves, listed, refilled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType
    from typing import Self

__all__ = ["InteractiveSession", "Session", "function", "get_default_session", "session_for"]

_defaults: list[Session] = []


class Session:
    """Runs a graph.

    Args:
        target: accepted; there is one machine.
        graph: the graph, the default one where none is given.
        config: accepted.
        loop_limit: how many steps a ``while_loop`` may take.
    """

    def __init__(
        self, target: str = "", graph: Graph | None = None, config: Any = None, *, loop_limit: int = 1_000_000
    ) -> None:
        self.graph = get_default_graph() if graph is None else graph
        self.loop_limit = loop_limit
        self.plans = 0  # how many were compiled
        self._values: dict[Operation, Any] = {}
        self._plans: dict[Any, tuple[Plan, list[Callable[[Any], Any]]]] = {}
        self._random: dict[Operation, np.random.Generator] = {}
        self._closed = False
        self._entered = ExitStack()

    # -------------------------------------------------------------- running
    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        """Return the values of some tensors, in the form of ``fetches``.

        Args:
            fetches: a tensor, an operation (its value is None), a name of one, or lists, tuples and dicts of them.
            feed_dict: values for tensors.
            options: accepted.
            run_metadata: accepted.

        Raises:
            RuntimeError: the session is closed, or its graph is empty.
            TypeError, ValueError: a fetch or a feed's key is not a part of this graph; a feed has another shape.
            InvalidArgumentError, FailedPreconditionError: a placeholder has no feed; shapes clash; a variable has no value.
        """
        single = fetches.__class__ is Tensor
        key: Any
        if single or (fetches.__class__ is list and all(f.__class__ is Tensor for f in fetches)):
            key = (fetches if single else tuple(fetches), *(feed_dict or ()))
            found = None if self._closed or self.graph.unfeedable else self._plans.get(key)
            if found is not None:
                plan, readers = found
                values = [read(v) for read, v in zip(readers, feed_dict.values(), strict=True)] if feed_dict else ()
                results = self._call(plan, values)
                return results[0] if single else list(results)
        return self._run(fetches, feed_dict or {})

    def _run(self, fetches: Any, feed_dict: dict[Any, Any]) -> Any:
        """Look everything up, check it, plan if there is no plan yet, and run."""
        feed_dict = dict(single_feeds(feed_dict))
        plan, readers, items = self._prepared(fetches, feed_dict)
        values = [read(value) for read, value in zip(readers, feed_dict.values(), strict=True)]
        results = iter(self._call(plan, values))
        return refilled(fetches, iter([next(results) if isinstance(item, Tensor) else None for item in items]))

    def plan(self, fetches: Any, feed_dict: Any = ()) -> Plan:
        """What a run of these fetches with these feeds (a dict, or the tensors alone) becomes."""
        return self._prepared(fetches, dict.fromkeys(feed_dict))[0]

    def _prepared(self, fetches: Any, feed_dict: dict[Any, Any]) -> tuple[Plan, list[Callable[[Any], Any]], list[Any]]:
        """Return the plan, what reads each feed, and the fetches as parts of the graph."""
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        if not len(self.graph):
            raise RuntimeError("The Session graph is empty. Add operations to the graph before calling run().")
        feeds = [self._feed(key, value) for key, value in feed_dict.items()]
        items = [self._fetch(f) for f in leaves(fetches)]
        key = (tuple(items) if isinstance(fetches, (list, tuple, dict)) else items[0], *feeds)
        if key not in self._plans:
            self._plans[key] = Plan(items, feeds, self.loop_limit), [reader(t) for t in feeds]
            self.plans += 1
        return *self._plans[key], items

    def _call(self, plan: Plan, values: Any) -> Any:
        """Run a plan; what numpy raises is told with the operation that it happened in."""
        try:
            with np.errstate(all="ignore"):
                return plan.call(self._values, self._drawing, *values)
        except KeyError as error:
            op = error.args[0]
            if not isinstance(op, Operation):
                raise
            raise FailedPreconditionError(f"Attempting to use uninitialized value {op.name}", op) from None
        except OpError:
            raise
        except (ValueError, RuntimeError, TypeError, IndexError, ArithmeticError) as error:
            raise failure(plan, error, sys.exc_info()[2]) from error

    def _drawing(self, op: Operation) -> np.random.Generator:
        """Return the random numbers of an operation."""
        if op not in self._random:
            self._random[op] = np.random.default_rng(op.attrs["seed"])
        return self._random[op]

    def _feed(self, key: Any, value: Any) -> Tensor:
        """Return the tensor that a key of ``feed_dict`` means."""
        try:
            tensor: Tensor = self.graph.as_graph_element(key, allow_operation=False)
        except (TypeError, ValueError, KeyError) as error:
            raise TypeError(f"Cannot interpret feed_dict key as Tensor: {error.args[0]}") from None
        refuse_tensor(value, key)
        if not self.graph.is_feedable(tensor):
            raise ValueError(f"Tensor {tensor.name} may not be fed.")
        return tensor

    def _fetch(self, fetch: Any) -> Any:
        """Return the part of the graph that a fetch means."""
        if fetch is None:
            raise TypeError('Argument `fetch` = None has invalid type "NoneType". Cannot be None')
        try:
            found = self.graph.as_graph_element(fetch)
        except TypeError as error:
            what = f'invalid type "{type(fetch).__name__}" must be a string or Tensor'
            raise TypeError(f"Argument `fetch` = {fetch} has {what}. ({error})") from None
        except (ValueError, KeyError) as error:
            raise ValueError(f"Argument `fetch` = {fetch} cannot be interpreted as a Tensor. ({error})") from None
        op = found.op if isinstance(found, Tensor) else found
        if op.context is not None:
            raise ValueError(f"Operation {op.name!r} has been marked as not fetchable: it is inside a loop or a branch.")
        return found

    # -------------------------------------------------------------- opening and closing
    def close(self) -> None:
        """Forget all values; the session runs nothing any more."""
        self._closed = True
        self._values.clear()
        self._plans.clear()

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
        self._entered.close()
        self.close()


class InteractiveSession(Session):
    """A session that is the default one from the start."""

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        super().__init__(target, graph, config)
        _defaults.append(self)

    def close(self) -> None:
        """Close it, and be the default one no more."""
        super().close()
        if self in _defaults:
            _defaults.remove(self)


def get_default_session() -> Session | None:
    """Return the session that ``eval()`` and ``run()`` use, None if there is none."""
    return _defaults[-1] if _defaults else None


def session_for(session: Session | None, what: str, method: str) -> Session:
    """Return the given session, else the default one, for a method that does something; ValueError if there is none."""
    session = session or get_default_session()
    if session is None:
        mend = f"Use `with sess.as_default()` or pass an explicit session to `{method}(session=sess)`"
        raise ValueError(f"Cannot {what} using `{method}()`: No default session is registered. {mend}")
    return session


def running(what: str, method: str) -> Callable[..., Any]:
    """Return the method of tensors or operations that runs them."""
    return lambda self, feed_dict=None, session=None: session_for(session, what, method).run(self, feed_dict)


Tensor.eval, Operation.run = running("evaluate tensor", "eval"), running("execute operation", "run")


def single_feeds(feed_dict: Any) -> Iterator[tuple[Any, Any]]:
    """Return each key with its value; a tuple of keys has a tuple of as many values, else ValueError; TypeError for no dict."""
    if not isinstance(feed_dict, dict):
        raise TypeError("input must be a dictionary")
    for key, value in feed_dict.items():
        if not isinstance(key, tuple):
            yield key, value
        elif not isinstance(value, (tuple, list)) or len(value) != len(key):
            sizes = f"Key had {len(key)} elements, but value had {np.size(value)} elements"
            raise ValueError(f"Could not flatten dictionary. {sizes}.")
        else:
            yield from single_feeds(dict(zip(key, value, strict=True)))


def refuse_tensor(value: Any, key: Any) -> None:
    """Raise TypeError for a feed that is a tensor."""
    if isinstance(value, Tensor):
        raise TypeError(
            "The value of a feed cannot be a tf.Tensor object. Acceptable feed values include Python scalars, strings, lists, "
            f"numpy ndarrays, or TensorHandles. For reference, the tensor object was {value} which was passed to the argument "
            f"`feed_dict` with key {key}."
        )


def reader(tensor: Tensor) -> Callable[[Any], Any]:
    """What turns a fed value into the tensor's dtype and refuses another shape."""
    kind = tensor.dtype.base_dtype.as_numpy_dtype
    dims = tensor.shape.dims
    is_scalar = dims is None or dims == ()
    numbers = (float, int) if tensor.dtype.is_floating else (int,) if tensor.dtype.is_integer else ()

    def read(value: Any) -> Any:
        if is_scalar and value.__class__ in numbers and (value.__class__ is float or -(2**31) <= value < 2**31):
            return kind(value)
        refuse_tensor(value, tensor)
        try:
            array = np.asarray(value, kind)
        except OverflowError:
            raise TypeError(
                f"Type of feed value {value} with type {type(value)} is not compatible with Tensor type {kind}. "
                "Try explicitly setting the type of the feed tensor to a larger type (e.g. int64)."
            ) from None
        if not fits(dims, array.shape):
            wanted = f"Tensor {tensor.name}, which has shape {TensorShape(dims)}"
            raise ValueError(f"Cannot feed value of shape {array.shape} for {wanted}")
        return array[()]

    return read


TEXTS: dict[str, Any] = {
    **dict.fromkeys(("MatMul", "BatchMatMulV2"), lambda a, b: f"Matrix size-incompatible: In[0]: {a}, In[1]: {b}"),
    "ConcatV2": lambda a, *rest: (
        f"ConcatOp : Dimensions of inputs should match: shape[0] = {a} vs. shape[1] = {next((r for r in rest if r != a), a)}"
    ),
    "Pack": lambda a, *rest: "Shapes of all inputs must match: values[0].shape = {} != values[{}].shape = {}".format(
        a, *next(((i, r) for i, r in enumerate(rest, 1) if r != a), (0, a))
    ),
}
"""What TensorFlow says of inputs that do not fit, by their shapes."""


def failure(plan: Plan, error: Exception, trace: TracebackType | None) -> OpError:
    """What went wrong in a plan, with the operation's name and TensorFlow's words where shapes clash."""
    line, values = 0, {}
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<plan>":
            line = trace.tb_lineno - 1
            values = trace.tb_frame.f_globals | trace.tb_frame.f_locals
        trace = trace.tb_next
    step = plan.steps[line - 1] if 0 < line <= len(plan.steps) else None
    if step is None or not isinstance(step.op, Operation):
        return InvalidArgumentError(str(error))
    op, message = step.op, str(error)
    shapes = [listed(np.shape(values[n])) for n in step.args if n in values]
    if op.type in TEXTS and len(shapes) > 1:
        message = TEXTS[op.type](*shapes)
    elif op.type == "AddN":
        message = f"Inputs to operation {op.name} of type AddN {message}"
    elif op.type == "Reshape" and "call" not in op.attrs:
        message = refused_shape(int(np.size(values[step.args[0]])), constant_value(op.inputs[1]), values.get(step.args[-1]))
    elif isinstance(error, ZeroDivisionError) or "ZeroDivision" in message:
        message = "Integer division by zero"
    elif len(shapes) == 2 and "broadcast" in message:
        message = f"Incompatible shapes: {shapes[0]} vs. {shapes[1]}"
    return InvalidArgumentError(message, op)


def refused_shape(size: int, known: Any, fed: Any) -> str:
    """Return TensorFlow's words for so many values that do not fit a shape, known while building or now."""
    wanted = np.asarray(fed if known is None else known)
    count = int(np.prod(wanted[wanted != -1]))
    has = f"has {count}" if -1 not in wanted else f"requires a multiple of {count}"
    return f"Input to reshape is a tensor with {size} values, but the requested shape {has}"


# ------------------------------------------------------------------ functions that are run as graphs
class Traced:
    """A function that is traced when it meets a kind of arguments for the first time, and runs as a graph from then on.

    Arrays and tensors are arguments of the graph, by dtype and shape; all else (numbers, text) is part of the kind, as in
    TensorFlow. Called with tensors of a graph, its operations are added to that graph; called with arrays, it is run at once.
    """

    def __init__(self, python_function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, python_function)
        self.python_function = python_function
        self.traces: dict[Any, tuple[Session, list[Tensor], Any]] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        given = [list(args), kwargs]
        if any(isinstance(v, Tensor) for v in leaves(given)):
            return self.python_function(*args, **kwargs)
        session, inputs, outputs = self.trace(given)
        return session.run(outputs, dict(zip(inputs, filter(is_array, leaves(given)), strict=True)))

    def trace(self, given: Any) -> tuple[Session, list[Tensor], Any]:
        """Return the graph for arguments of this kind: its session, its placeholders and its results."""
        key = (str(refilled(given, repeat(0))), *map(signature, leaves(given)))
        if key not in self.traces:
            with Graph().as_default() as graph:
                symbolic = [placeholder(as_dtype(v.dtype), v.shape) if is_array(v) else v for v in leaves(given)]
                args, kwargs = refilled(given, iter(symbolic))
                result = self.python_function(*args, **kwargs)
                outputs = refilled(result, (v if v is None else convert(v) for v in leaves(result)))
            self.traces[key] = Session(graph=graph), [v for v in symbolic if isinstance(v, Tensor)], outputs
        return self.traces[key]

    def experimental_get_tracing_count(self) -> int:
        """Return how many graphs there are."""
        return len(self.traces)


def signature(value: Any) -> Any:
    """Return what a trace depends on: dtype and shape of an array, anything else itself."""
    return (as_value(value, None).dtype.name, value.shape) if is_array(value) else (type(value).__name__, value)


def function(func: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Trace a Python function to a graph, once per signature; also as a decorator with options (which are accepted)."""
    return Traced(func) if func is not None else Traced
