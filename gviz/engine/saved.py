"""What a row's calls save for its derivatives: what to keep, when, and how it is read back.

A saved input is the tensor itself; a saved result is its array, never the tensor (that would be a cycle), and gets its place in
the graph back when it is read. Where somebody could write in place, both come with the version they had (``SavedResult``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from gviz.engine.data.dtypes import WrappedNumber
from gviz.engine.data.words import type_name
from gviz.engine.elements import steps_of
from gviz.engine.modes import mode
from gviz.engine.node import AccumulateGrad, Output, Parts, public_edge, short_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from gviz.engine.node import Node
    from gviz.engine.tensor import Tensor

__all__ = [
    "FREED", "Packed", "Saved", "SavedResult", "Saving", "Version", "freed_error", "guarded", "modified_error", "output_number",
    "output_tensor", "version_of",
]  # fmt: skip


FREED_TEXT = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). "
    "Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
    "Specify retain_graph=True if you need to backward through the graph a second time or "
    "if you need to access saved tensors after calling backward."
)


class Freed:
    """Stands where a saved tensor was, after backward has freed it."""

    __slots__ = ()


FREED = Freed()


def freed_error() -> RuntimeError:
    """PyTorch's error for a graph whose saved tensors are gone."""
    return RuntimeError(FREED_TEXT)


class Version:
    """How often a piece of memory was written in place; shared by a tensor, its views and its detached twins."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


class SavedResult:
    """A saved array or tensor whose version has to be compared when it is read.

    Only made where somebody could write in place; a plain array or tensor in ``Node._kept`` stands for version 0.
    """

    __slots__ = ("content", "expected", "version")

    def __init__(self, content: Any, version: Version, expected: int) -> None:
        self.content = content
        self.version = version
        self.expected = expected


class Packed:
    """What a user's hook made of a saved tensor, and the hook that gives the tensor back.

    Args:
        content: what the one hook made.
        unpack: the other hook.
        place: where the tensor was in the graph: its edge, None, or the number of the node's own output.
    """

    __slots__ = ("content", "place", "unpack")

    def __init__(self, content: Any, unpack: Callable[[Any], Any], place: Any) -> None:
        self.content = content
        self.unpack = unpack
        self.place = place

    def unpacked(self, node: Node) -> Any:
        """The tensor, in its place in the graph.

        Raises:
            TypeError: the hook gave something else.
        """
        found = self.unpack(self.content)
        if not hasattr(found, "_array"):
            name = type(found).__name__
            raise TypeError(f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type {name}")
        if self.place is None:
            return found.detach() if found.requires_grad else found
        if self.place.__class__ is int:
            return output_tensor(node, found._array, self.place)
        return from_array(found._array, ref(self.place) if isinstance(self.place, AccumulateGrad) else self.place)


class Saved:
    """One thing a row saves: its public name, where it comes from, and when it is kept."""

    __slots__ = ("guard", "index", "kind", "name")

    def __init__(self, name: str, kind: str, index: int, guard: int | None) -> None:
        self.name = name
        self.kind = kind  # input, option, result, sizes, numel, strides, dtype, argsize:N, extra
        self.index = index  # of the parameter, or of the output (what is derived from an output counts these down from -1)
        self.guard = guard  # number of the edge that has to be wanted, or None


class Saving:
    """The part of a row that saves and reads; :class:`gviz.engine.op.Row` makes the plan from the formulas' parameters."""

    key: str
    node: str | None
    shows: dict[str, Any]
    hidden: tuple[str, ...]
    outputs: tuple[str, ...]
    extras: tuple[str, ...]
    sparing: bool
    parameters: tuple[str, ...]
    inputs: list[int]
    groups: list[tuple[str, ...]]
    edge_names: list[str]
    needs: list[tuple[str, ...]]
    saved: list[Saved]
    position: dict[str, int]
    tensor_positions: list[int]

    def plan_save(self, name: str) -> Saved:
        """Where the saved thing of that name comes from, and PyTorch's guard on it."""
        if name in self.parameters:
            index = self.parameters.index(name)
            return Saved(name, "input" if index in self.inputs else "option", index, self.guard(name, index))
        if name in ("result", "output") or name in self.outputs:
            return Saved(name, "result", self.outputs.index(name) if name in self.outputs else 0, None)
        if name in self.extras:
            return Saved(name, "extra", self.extras.index(name) + max(len(self.outputs), 1), None)
        if name == "source_dim":
            return Saved(name, "ndim", self.parameters.index("source"), None)
        base, _, derived = name.partition("_sym_")
        users = [i for i, need in enumerate(self.needs) if name in need]
        only = self.groups[users[0]][0] if derived == "strides" and len(users) == 1 else ""
        derived = derived.replace("argsize_", "argsize:")
        if base in self.outputs:
            return Saved(name, derived, -1 - self.outputs.index(base), None)
        if base not in self.parameters or not derived:
            raise TypeError(f"{self.key}: a derivative uses {name!r}, which is no input, option or output of the operation")
        guard = self.edge_names.index(only) if only in self.edge_names else None
        return Saved(name, derived, self.parameters.index(base), guard)

    def guard(self, name: str, index: int) -> int | None:
        """The edge that alone needs this input; None where it is always saved."""
        users = [i for i, need in enumerate(self.needs) if name in need]
        alone = len(self.groups) > 1 == len(users) and len(self.groups[users[0]]) == 1
        if not alone or index not in self.inputs or "_backward" in self.key:
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
                value = args[s.index] if s.guard is None or edges[s.guard] is not None else None
                kept.append(list(map(guarded, value)) if value.__class__ in (list, tuple) else guarded(value))
            elif kind == "option":
                kept.append(args[s.index])
            elif kind in ("result", "extra"):
                kept.append(results[s.index])
            else:
                value = args[s.index] if s.index >= 0 else results[-1 - s.index]
                kept.append(derive(kind, value) if s.guard is None or edges[s.guard] is not None else ())
        if self.sparing and len(wanted := [i for i, edge in enumerate(edges) if edge is not None]) == 1:
            kept[self.position[self.edge_names[wanted[0]]]] = None
        return tuple(kept)

    def read_saved(self, node: Node, name: str) -> Any:
        """``node._saved_NAME``: tensors with their place in the graph, numbers as PyTorch shows them.

        Raises:
            RuntimeError: backward has freed it, or it was modified in place since.
        """
        if name in self.shows:
            return self.shows[name]
        position = self.position[name]
        value = node._kept[position] if node._kept.__class__ is tuple else node._kept
        if self.saved[position].kind in ("input", "result", "extra"):
            return self.as_tensor(node, value, self.saved[position])
        return unsigned(name, value)

    def as_tensor(self, node: Node, value: Any, saved: Saved) -> Any:
        """A saved tensor as the user, or a recorded derivative, sees it."""
        value = self.checked(node, value, saved)
        if value.__class__ is np.ndarray:
            number = output_number(saved, value)
            return from_array(value, None) if number is None else output_tensor(node, value, number)
        if isinstance(value, int | float | bool | np.generic):
            made = from_array(np.asarray(value), None)
            made._array = made._array.view(WrappedNumber)
            return made
        arrays = isinstance(value, list)
        return tuple(from_array(v, None) if v.__class__ is np.ndarray else v for v in value) if arrays else value

    def checked(self, node: Node, value: Any, saved: Saved) -> Any:
        """The saved tensor or array. RuntimeError: it was freed, or modified in place since."""
        if value is FREED:
            raise freed_error()
        if value.__class__ is Packed:
            return value.unpacked(node)
        if value.__class__ in (list, tuple):
            return [None if v is None else self.checked(node, v, saved) for v in value]
        expected = 0
        if value.__class__ is SavedResult:
            version: Version | None = value.version
            expected, value = value.expected, value.content
        else:
            version = None if value.__class__ is np.ndarray else version_of(value)
        if getattr(getattr(value, "_rare", None), "detached", 0) > node._seq:
            raise RuntimeError(
                "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_().This is not supported, "
                "please use out-of-place `.detach()` instead"
            )
        if version is not None and version.count != expected:
            raise modified_error(node, value, saved.index, version.count, expected)
        return value

    def arrays(self, node: Node) -> list[Any]:
        """Everything saved, tensors as plain arrays, for the derivatives on arrays."""
        kept = node._kept if node._kept.__class__ is tuple else (node._kept,) * len(self.saved)
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
        kept = node._kept if node._kept.__class__ is tuple else (node._kept,) * len(self.saved)
        values = list(kept)
        for i in self.tensor_positions:
            values[i] = None if kept[i] is None else self.as_tensor(node, kept[i], self.saved[i])
        return values

    def release(self, node: Node) -> None:
        """Drop the saved tensors; numbers stay readable, and so does None where nothing was kept, as in PyTorch."""
        if self.tensor_positions:
            if node._kept.__class__ is tuple:
                node._kept = tuple(
                    FREED if i in self.tensor_positions and v is not None else v for i, v in enumerate(node._kept)
                )
            elif node._kept is not None:
                node._kept = FREED

    def watch_result(self, node: Node, version: Version, number: int) -> None:
        """Somebody may write that result in place from now on: compare its version when it is read."""
        kept = node._kept
        if kept.__class__ is np.ndarray:
            node._kept = SavedResult(kept, version, version.count)
        elif kept.__class__ is tuple:
            results = [
                i
                for i in self.tensor_positions
                if (self.saved[i].kind, self.saved[i].index) == ("result", number) and kept[i].__class__ is np.ndarray
            ]
            if results:
                node._kept = tuple(SavedResult(v, version, version.count) if i in results else v for i, v in enumerate(kept))


FACTS: dict[str, Any] = {
    "ndim": lambda array: array.ndim,
    "sizes": lambda array: array.shape,
    "dtype": lambda array: array.dtype,
    "numel": lambda array: array.size,
    "strides": steps_of,
}


def output_tensor(node: Node, array: Any, number: int) -> Tensor:
    """A tensor around a saved output of a node, with its place in the graph."""
    return from_array(array, Output(node, number, array.shape) if node._shape == Parts.shape else node)


def output_number(saved: Saved, array: Any) -> int | None:
    """Which of its node's outputs a saved array is; None where it is none, or one without a gradient."""
    return saved.index if saved.kind == "result" and array.dtype.kind in "fc" else None


def derive(kind: str, value: Any) -> Any:
    """What is derived from an input: its sizes, number of elements, strides (in elements) or one size."""
    if value.__class__ in (list, tuple):
        return tuple(derive(kind, v) for v in value)
    if kind == "sizes_opt":
        return (0,) if value is None else value._array.shape
    array = value._array if hasattr(value, "_array") else np.asarray(value)
    if kind in FACTS:
        return FACTS[kind](array)
    return array.shape[int(kind.partition(":")[2].replace("minus_", "-"))]


UNSIGNED = frozenset({
    "dim", "dims", "dim0", "dim1", "dim2", "dimension", "diagonal", "offset", "shifts", "index", "ignore_index", "padding_idx",
    "pad", "padding", "divisor_override", "start", "end", "k",
})  # fmt: skip
"""Numbers whose getters know no sign."""


class ForAll(tuple[int, ...]):
    """A number for every dimension of which one was given, in a tuple: so it is shown."""

    __slots__ = ()


def unsigned(name: str, value: Any) -> Any:
    """Dims and indices as PyTorch's getters give them: negative ones as unsigned 64-bit numbers."""
    if isinstance(value, tuple | list):
        return tuple(unsigned(name, v) for v in (value[:1] if value.__class__ is ForAll else value))
    if value.__class__ is int and value < 0 and name in UNSIGNED:
        return value + 2**64
    return value


def guarded(value: Any) -> Any:
    """A tensor to be saved: itself, or with its version if it was written in place before.

    Raises:
        RuntimeError: it is an inference tensor.
    """
    rare = getattr(value, "_rare", None)
    if rare is not None and value.is_inference():
        raise RuntimeError(
            "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
            "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it in "
            "autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`."
        )
    version = None if rare is None else rare.version
    return SavedResult(value, version, version.count) if version is not None and version.count else value


def version_of(value: Any) -> Any:
    """The version cell of a tensor, None where it was never written in place (or is no tensor)."""
    rare = getattr(value, "_rare", None)
    return None if rare is None else rare.version


def modified_error(node: Node, value: Any, number: int, found: int, expected: int) -> RuntimeError:
    """PyTorch's error for a saved tensor that was written in place since; an array is the node's own output of that number."""
    array = getattr(value, "_array", value)
    maker: Any = node
    if array is not value:
        maker, number = public_edge(value.grad_fn and value._edge)
    origin = "" if maker is None else f", which is output {number} of {short_name(maker)},"
    kind = "CPUBoolType" if array.dtype.kind == "b" else type_name(array.dtype)
    return RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[{kind} {list(array.shape)}]{origin} is at version {found}; expected version {expected} instead. "
        + (FOUND if mode.anomaly else LOOK)
    )


LOOK = (
    "Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
    "torch.autograd.set_detect_anomaly(True, check_nan=False)."
)
FOUND = (
    "Hint: the backtrace further above shows the operation that failed to compute its gradient. The variable in question was "
    "changed in there or anywhere later. Good luck!"
)


def from_array(array: Any, edge: Any) -> Tensor:
    """A tensor around an array (tensor.py imports this module, so it is imported here when it is needed)."""
    from gviz.engine.tensor import from_array as make

    return make(array, edge)
