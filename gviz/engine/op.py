"""What one row of the operation table is, and how it becomes a function and its grad_fn class.

A row says everything about an operation::

    @op("MulBackward0", self=lambda grad, other: grad * other, other=lambda grad, self: grad * self)
    def mul(self, other): return self * other

- The decorated function is the forward, on numpy arrays. Its parameters that have a formula, or are named in ``nondiff``,
  are tensors; all others are options (numbers, dims, flags).
- Each keyword is the derivative for that input. Its first parameter is ``grad``; the others say what the operation saves:
  an input (``other``), an option (``dim``), ``result`` or the name of an output, or something derived from an
  input: ``self_sym_sizes``, ``self_sym_numel``, ``self_sym_strides``, ``weight_sym_argsize_0``.
- As in PyTorch, a tensor that exactly one of several derivatives uses is saved only if that derivative is needed.

One formula, several namespaces. A formula is a lambda without closure or defaults that calls table functions by their
names. For the fast backward the same code is bound to ``ARRAYS``, where each name is the plain forward; for
``create_graph=True`` to ``TENSORS``, where it is the recording function; symbols and static graphs are further namespaces
(:func:`bind`). A ``@composite`` is a plain function over rows that is registered in every namespace and makes no node itself.

The decorator only stores the row; the first call makes the class and the function (``makers.py``).
"""

from __future__ import annotations

import builtins
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from gviz.engine.node import FREED, Node, SavedResult, freed_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from gviz.engine.tensor import Tensor

__all__ = ["ARRAYS", "PASS", "ROWS", "TENSORS", "Row", "bind", "composite", "everywhere", "op"]

ARRAYS: dict[str, Any] = {"__name__": "gviz.engine.arrays", "__builtins__": builtins, "np": np}
TENSORS: dict[str, Any] = {"__name__": "gviz.engine.tensors", "__builtins__": builtins}
ROWS: dict[str, Row] = {}
COMPOSITES: dict[str, Any] = {}

PASS: Any = lambda grad: grad
"""The derivative of an input that the operation passes on unchanged."""


def parameters(function: Any) -> tuple[str, ...]:
    """Names of a Python function's positional parameters."""
    code = function.__code__
    return tuple(code.co_varnames[: code.co_argcount])


def bind(formula: Any, namespace: dict[str, Any]) -> Any:
    """The same code, with the table's names looked up in that namespace."""
    return FunctionType(formula.__code__, namespace, formula.__name__, formula.__defaults__)


class Saved:
    """One thing a row saves: its public name, where it comes from, and when it is kept."""

    __slots__ = ("guard", "index", "kind", "name")

    def __init__(self, name: str, kind: str, index: int, guard: int | None) -> None:
        self.name = name
        self.kind = kind  # input, option, result, sizes, numel, strides, dtype, argsize:N
        self.index = index  # of the parameter, or of the output
        self.guard = guard  # number of the edge that has to be wanted, or None


class Row:
    """One operation. Attributes up to ``shows`` are declared; the rest is made by :meth:`ready` at the first call."""

    def __init__(self, key: str, node: str | None, forward: Any, formulas: dict[str, Any], declared: dict[str, Any]) -> None:
        self.key = key
        self.node = node
        self.forward = forward
        self.formulas = formulas
        self.nondiff: tuple[str, ...] = declared["nondiff"]
        self.lists: tuple[str, ...] = declared["lists"]
        self.outputs: tuple[str, ...] = declared["outputs"]
        self.view: bool = declared["view"]
        self.promote: str = declared["promote"]
        self.shows: dict[str, Any] = declared["shows"]
        self.hidden: tuple[str, ...] = declared["hidden"]
        self.call: Any = None
        self.operator: Any = None
        self.places: list[tuple[Any, str]] = [(forward.__globals__, forward.__name__), (TENSORS, key)]

    def ready(self) -> Any:
        """Read the formulas, make the node class and the function; from now on every place calls that function."""
        if self.call is None:
            from gviz.engine import derivatives, makers

            self.parameters = parameters(self.forward)
            self.defaults = self.forward.__defaults__ or ()
            self.groups = [tuple(name.split("__")) for name in self.formulas]
            self.inputs = [i for i, p in enumerate(self.parameters) if self.differentiable(p) or p in self.nondiff]
            self.edges = [i for i in self.inputs if self.differentiable(self.parameters[i])]
            self.edge_names = [self.parameters[i] for i in self.edges]
            self.needs = [parameters(f)[1:] for f in self.formulas.values()]
            self.saved = [
                self.plan_save(name)
                for name in dict.fromkeys(n for need in self.needs for n in need)
                if name != "grad_input_mask"
            ]
            self.position = {s.name: i for i, s in enumerate(self.saved)}
            self.tensor_positions = [i for i, s in enumerate(self.saved) if s.kind in ("input", "result")]
            self.on_arrays = [bind(f, ARRAYS) for f in self.formulas.values()]
            self.on_tensors = [bind(f, TENSORS) for f in self.formulas.values()]
            self.cls: Any = derivatives.node_class(self)
            self.call, self.operator = makers.make(self)
            for owner, name in self.places:
                if isinstance(owner, dict):
                    owner[name] = self.call
                else:
                    setattr(owner, name, self.entry(name))
        return self.call

    def entry(self, name: str) -> Any:
        """The function for a place of that name: an operator says NotImplemented where a function raises."""
        operator = name.startswith("__")
        if self.call is not None:
            return self.operator if operator else self.call

        def first(*args: Any, **kwargs: Any) -> Any:
            self.ready()
            return (self.operator if operator else self.call)(*args, **kwargs)

        return first

    def differentiable(self, parameter: str) -> bool:
        """Whether some formula gives this parameter's gradient."""
        return any(parameter in name.split("__") for name in self.formulas)

    def plan_save(self, name: str) -> Saved:
        """Where the saved thing of that name comes from, and PyTorch's guard on it."""
        if name in self.parameters:
            index = self.parameters.index(name)
            return Saved(name, "input" if index in self.inputs else "option", index, self.guard(name, index))
        if name == "result" or name in self.outputs:
            return Saved(name, "result", self.outputs.index(name) if name in self.outputs else 0, None)
        base, _, derived = name.partition("_sym_")
        if base not in self.parameters or not derived:
            raise TypeError(f"{self.key}: a derivative uses {name!r}, which is no input, option or output of the operation")
        return Saved(name, derived.replace("argsize_", "argsize:"), self.parameters.index(base), None)

    def guard(self, name: str, index: int) -> int | None:
        """The edge that alone needs this input; None where it is always saved."""
        users = [i for i, need in enumerate(self.needs) if name in need]
        if (
            index not in self.inputs
            or len(self.formulas) < 2
            or len(users) != 1
            or "_backward" in self.key
            or len(self.groups[users[0]]) > 1
        ):
            return None
        return self.edge_names.index(self.groups[users[0]][0])

    def saved_names(self) -> list[str]:
        """Names for ``_saved_*``, sorted."""
        return sorted(name for name in [*self.position, *self.shows] if name not in self.hidden)

    def save(self, args: Any, edges: tuple[Any, ...], results: Any) -> tuple[Any, ...]:
        """What a call keeps, in the order of :attr:`saved`."""
        kept: list[Any] = []
        for s in self.saved:
            kind = s.kind
            if kind == "input":
                kept.append(guarded(args[s.index]) if s.guard is None or edges[s.guard] is not None else None)
            elif kind == "option":
                kept.append(args[s.index])
            elif kind == "result":
                kept.append(results[s.index])
            else:
                kept.append(derive(kind, args[s.index]))
        return tuple(kept)

    def read_saved(self, node: Node, name: str) -> Any:
        """``node._saved_NAME``: tensors with their place in the graph, numbers as PyTorch shows them.

        Raises:
            AttributeError: the row saves nothing of that name.
            RuntimeError: backward has freed it, or it was modified in place since.
        """
        if name in self.shows:
            return self.shows[name]
        if name not in self.position:
            raise AttributeError(f"'{self.node}' object has no attribute '_saved_{name}'")
        position = self.position[name]
        value = node.saved[position] if node.saved.__class__ is tuple else node.saved
        if self.saved[position].kind in ("input", "result"):
            return self.as_tensor(node, value, self.saved[position])
        return unsigned(name, value)

    def as_tensor(self, node: Node, value: Any, saved: Saved) -> Any:
        """A saved tensor as the user, or a recorded derivative, sees it."""
        value = self.checked(node, value, saved)
        if value.__class__ is np.ndarray:
            differentiable = saved.kind == "result" and value.dtype.kind in "fc"
            return node.output_tensor(value) if differentiable else from_array(value, None)
        if isinstance(value, int | float | bool | np.generic):
            return from_array(np.asarray(value), None)
        return [from_array(v, None) if v.__class__ is np.ndarray else v for v in value] if isinstance(value, list) else value

    def checked(self, node: Node, value: Any, saved: Saved) -> Any:
        """The saved tensor or array, if it is still there and still what was saved.

        Raises:
            RuntimeError: it was freed, or modified in place.
        """
        if value is FREED:
            raise freed_error()
        expected = 0
        if value.__class__ is SavedResult:
            version, expected, value = value.version, value.expected, value.content
        else:
            version = None if value.__class__ is np.ndarray else version_of(value)
        if version is not None and version.count != expected:
            raise modified_error(node, value, saved, version.count, expected)
        return value

    def arrays(self, node: Node) -> list[Any]:
        """Everything saved, tensors as plain arrays, for the derivatives on arrays."""
        kept = node.saved if node.saved.__class__ is tuple else (node.saved,) * len(self.saved)
        values = list(kept)
        for i in self.tensor_positions:
            value = self.checked(node, kept[i], self.saved[i])
            values[i] = (
                [getattr(v, "_array", v) for v in value]
                if value.__class__ in (list, tuple)
                else value
                if value is None or value.__class__ is np.ndarray
                else getattr(value, "_array", value)
            )
        return values

    def tensors(self, node: Node) -> list[Any]:
        """Everything saved, tensors as tensors, for the derivatives that are recorded."""
        kept = node.saved if node.saved.__class__ is tuple else (node.saved,) * len(self.saved)
        values = list(kept)
        for i in self.tensor_positions:
            values[i] = None if kept[i] is None else self.as_tensor(node, kept[i], self.saved[i])
        return values

    def release(self, node: Node) -> None:
        """Drop the saved tensors; numbers stay readable, as in PyTorch."""
        if self.tensor_positions:
            if node.saved.__class__ is tuple:
                node.saved = tuple(FREED if i in self.tensor_positions else v for i, v in enumerate(node.saved))
            else:
                node.saved = FREED

    def watch_result(self, node: Node, version: Version) -> None:
        """Somebody may write the result in place from now on: compare its version when it is read."""
        kept = node.saved
        if kept.__class__ is np.ndarray:
            node.saved = SavedResult(kept, version, version.count)
        elif kept.__class__ is tuple:
            results = [i for i in self.tensor_positions if self.saved[i].kind == "result" and kept[i].__class__ is np.ndarray]
            if results:
                node.saved = tuple(SavedResult(v, version, version.count) if i in results else v for i, v in enumerate(kept))


def op(
    node: str | None,
    /,
    *,
    key: str | None = None,
    nondiff: tuple[str, ...] = (),
    lists: tuple[str, ...] = (),
    outputs: tuple[str, ...] = (),
    view: bool = False,
    promote: str = "",
    shows: dict[str, Any] | None = None,
    hidden: tuple[str, ...] = (),
    **formulas: Any,
) -> Callable[[Any], Any]:
    """Store a row of the table.

    Args:
        node: class name of the grad_fn; None for an operation that is not differentiable.
        key: the row's name where it is not that of the function.
        nondiff: inputs that are tensors but get no gradient.
        lists: inputs that are lists of tensors.
        outputs: names of several outputs, those with gradients first; ``("...",)`` for a list of them.
        view: whether the result shares the input's memory.
        promote: "pointwise" (all inputs to one dtype, the default for several inputs), "float" (and integers to float), "none".
        shows: saved numbers that are the same for every call.
        hidden: saved things that PyTorch does not show as ``_saved_*``.
        formulas: derivative per input; ``a__b`` gives those of two inputs as a tuple.

    Returns:
        The recording function (made at its first call).
    """
    declared = {
        "nondiff": nondiff,
        "lists": lists,
        "outputs": outputs,
        "view": view,
        "promote": promote,
        "shows": shows or {},
        "hidden": hidden,
    }

    def store(forward: Any) -> Any:
        row = Row(key or forward.__name__, node, forward, formulas, declared)

        def first(*args: Any, **kwargs: Any) -> Any:
            return row.ready()(*args, **kwargs)

        first.row = row  # type: ignore[attr-defined]
        ROWS[row.key] = row
        ARRAYS[row.key] = forward
        TENSORS[row.key] = first
        return first

    return store


def composite(function: Any) -> Any:
    """Register a plain function over rows in every namespace; it may branch, and makes no node of its own."""
    name = function.__name__
    COMPOSITES[name] = function
    ARRAYS[name] = bind(function, ARRAYS)
    TENSORS[name] = bind(function, TENSORS)
    return TENSORS[name]


def everywhere(function: Any) -> Any:
    """Register a function of plain numbers under its own name in every namespace."""
    ARRAYS[function.__name__] = TENSORS[function.__name__] = function
    return function


def derive(kind: str, value: Any) -> Any:
    """What is derived from an input: its sizes, number of elements, strides (in elements) or one size."""
    if isinstance(value, list | tuple):
        return tuple(derive(kind, v) for v in value)
    array = value._array if hasattr(value, "_array") else np.asarray(value)
    if kind == "sizes":
        return array.shape
    if kind == "dtype":
        return array.dtype
    if kind == "numel":
        return array.size
    if kind == "strides":
        return tuple(s // array.itemsize for s in array.strides)
    return array.shape[int(kind.partition(":")[2])]


def unsigned(name: str, value: Any) -> Any:
    """Dims and indices as PyTorch's getters give them: negative ones as unsigned 64-bit numbers."""
    if isinstance(value, tuple | list):
        return tuple(unsigned(name, v) for v in value)
    if (
        value.__class__ is int
        and value < 0
        and name in ("dim", "dims", "dim0", "dim1", "index", "ignore_index", "padding_idx", "start")
    ):
        return value + 2**64
    return value


def guarded(value: Any) -> Any:
    """A tensor to be saved: itself, or with its version if it was written in place before."""
    rare = getattr(value, "_rare", None)
    version = None if rare is None else rare.version
    return SavedResult(value, version, version.count) if version is not None and version.count else value


def version_of(value: Any) -> Any:
    """The version cell of a tensor, None where it was never written in place (or is no tensor)."""
    rare = getattr(value, "_rare", None)
    return None if rare is None else rare.version


def modified_error(node: Node, value: Any, saved: Saved, found: int, expected: int) -> RuntimeError:
    """PyTorch's error for a saved tensor that was written in place since."""
    from gviz.engine.node import public_edge
    from gviz.engine.text import type_name

    array = value if value.__class__ is np.ndarray else value._array
    maker, number = (node, saved.index) if value.__class__ is np.ndarray else public_edge(value.grad_fn and value._edge)
    origin = (
        "" if maker is None else f", which is output {number} of {maker.name().removesuffix('0').removesuffix('Backward')},"
    )
    return RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[{type_name(array.dtype)} {list(array.shape)}]{origin} is at version {found}; expected version {expected} instead. "
        "Hint: enable anomaly detection to find the operation that failed to compute its gradient, "
        "with torch.autograd.set_detect_anomaly(True, check_nan=False)."
    )


def from_array(array: Any, edge: Any) -> Tensor:
    """A tensor around an array (tensor.py imports this module, so it is imported here at the first call)."""
    from gviz.engine.tensor import from_array as make

    return make(array, edge)


if TYPE_CHECKING:
    from gviz.engine.node import Version
