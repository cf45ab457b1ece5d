"""From a row to its function and its node class: three makers, chosen by the number of inputs.

``one_input`` and ``two_inputs`` are the hot paths, written out by hand: their checks are the few that cannot be left out,
and what is not the plain case (numbers, mixed dtypes, subclasses, keywords) goes to :func:`general`, which serves
every row. All three record in the same way: one node, its edges, its shape, its creation number and what it saves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from gviz.engine import dtypes, hooks, text
from gviz.engine.modes import mode
from gviz.engine.node import FREED, NO_GRAD_VIEW, Node, Output, SavedResult, link, next_seq
from gviz.engine.op import PASS, TENSORS, guarded
from gviz.engine.tensor import Tensor, edge_of, from_array

if TYPE_CHECKING:
    from gviz.engine.op import Row

__all__ = ["make", "node_class", "record"]

ndarray = np.ndarray
new = object.__new__
NUMBERS = (int, float, bool, complex, np.generic)
OPERANDS = (Tensor, *NUMBERS)


# ------------------------------------------------------------------ the node class
def node_class(row: Row) -> Any:
    """The grad_fn class of a row, None for a row that is not differentiable."""
    if row.node is None:
        return None
    body = {
        "__slots__": (),
        "row": row,
        "__module__": "gviz.engine",
        "apply": apply_maker(row),
        "apply_tensors": tensor_apply(row),
    }
    return type(row.node, (Node,), body)


def apply_maker(row: Row) -> Any:
    """The derivative on arrays: specialised where a row saves nothing, its result, or each input for the other."""
    formulas, needs = row.on_arrays, row.needs
    lone = len(row.edges) == 1 and not row.lists
    if lone and row.formulas[row.edge_names[0]] is PASS:
        return lambda node, grad, keep: grad  # noqa: ARG005
    if lone and len(row.saved) == 1 and row.tensor_positions and needs[0] == (row.saved[0].name,):
        return apply_one(row, formulas[0])
    if lone and not row.saved:
        formula = formulas[0]
        return lambda node, grad, keep: formula(grad)  # noqa: ARG005
    if len(row.edges) == 2 and len(formulas) == 2 and not row.lists:
        if all(f is PASS for f in row.formulas.values()):
            return lambda node, grad, keep: (grad, grad)  # noqa: ARG005
        if crossed(row):
            return apply_crossed(row, *formulas)
    return apply_general(row)


def crossed(row: Row) -> bool:
    """Whether each of two inputs is saved for the derivative of the other, as in a product."""
    first, second = row.edge_names
    return row.needs == [(second,), (first,)] and [s.name for s in row.saved] == [second, first] and "_backward" not in row.key


def apply_one(row: Row, formula: Any) -> Any:
    """One input, one saved tensor: ``node.saved`` is that tensor, or the result's array."""

    def apply(node: Node, grad: Any, keep: bool) -> Any:
        saved = node.saved
        if saved.__class__ is not ndarray:
            saved = content(saved)
            if saved is None:
                saved = row.arrays(node)[0]
        if not keep:
            node.saved = FREED
        return formula(grad, saved)

    return apply


def apply_crossed(row: Row, left: Any, right: Any) -> Any:
    """Two inputs, each saved for the other: ``node.saved`` is (second, first), None where it is not needed."""

    def apply(node: Node, grad: Any, keep: bool) -> Any:
        other, self = node.saved
        if other is not None:
            array = other._array if other.__class__ is Tensor and other._rare is None else content(other)
            other = left(grad, row.arrays(node)[0] if array is None else array)
        if self is not None:
            array = self._array if self.__class__ is Tensor and self._rare is None else content(self)
            self = right(grad, row.arrays(node)[1] if array is None else array)
        if not keep:
            node.saved = FREED_PAIR
        return other, self

    return apply


FREED_PAIR = FREED, FREED


def content(saved: Any) -> Any:
    """The array of a saved tensor that is as it was saved; None where that has to be looked into."""
    kind = saved.__class__
    if kind is SavedResult:
        if saved.version.count != saved.expected:
            return None
        saved = saved.content
        return saved if saved.__class__ is ndarray else saved._array
    if kind is float or kind is int:
        return saved
    if isinstance(saved, Tensor):
        rare = saved._rare
        return saved._array if rare is None or rare.version is None or not rare.version.count else None
    return None


def apply_general(row: Row) -> Any:
    """Any row: read what was saved, evaluate the formulas of the inputs that want a gradient."""
    spread = spreader(row, row.on_arrays)

    def apply(node: Node, grad: Any, keep: bool) -> Any:
        values = row.arrays(node)
        if not keep:
            row.release(node)
        return spread(node, unpacked(row, grad), values)

    return apply


def tensor_apply(row: Row) -> Any:
    """The derivative on tensors, recorded: the same formulas, bound to the recording functions."""
    spread = spreader(row, row.on_tensors)

    def apply_tensors(node: Node, grad: Any, keep: bool) -> Any:
        values = row.tensors(node)
        if not keep:
            row.release(node)
        before, mode.formula = mode.formula, True
        try:
            return spread(node, unpacked(row, grad), values)
        finally:
            mode.formula = before

    return apply_tensors


def spreader(row: Row, formulas: list[Any]) -> Any:
    """A function that evaluates the formulas and puts each gradient at the edge of its input."""
    picks = [[-1 if name == "grad_input_mask" else row.position[name] for name in need] for need in row.needs]
    plan = list(zip(formulas, picks, row.groups, strict=True))
    names = row.edge_names

    def spread_one(node: Node, grad: Any, values: list[Any]) -> Any:  # noqa: ARG001
        formula, picks, _ = plan[0]
        return formula(grad, *[values[p] for p in picks])

    def spread(node: Node, grad: Any, values: list[Any]) -> Any:
        mask = tuple(edge is not None for edge in node.edges)
        found: dict[str, Any] = {}
        for formula, picks, group in plan:
            if any(mask[names.index(name)] for name in group):
                out = formula(grad, *[mask if p < 0 else values[p] for p in picks])
                found.update(zip(group, out, strict=True) if len(group) > 1 else [(group[0], out)])
        return tuple(found.get(name) for name in names)

    return spread_one if len(row.edges) == 1 else spread


def unpacked(row: Row, grad: Any) -> Any:
    """The gradient; for several outputs a list with None for outputs that got none."""
    if grad.__class__.__name__ == "Parts":
        by_number = grad.by_number
        return [by_number.get(i) for i in range(max(by_number) + 1 if row.outputs == ("...",) else len(row.outputs))]
    return grad


# ------------------------------------------------------------------ the function
def make(row: Row) -> tuple[Any, Any]:
    """The recording function of a row, and the same as an operator."""
    fallback = general(row)
    return choose(row, fallback), choose(row, operator(fallback))


def operator(function: Any) -> Any:
    """A function that leaves operands it does not know to Python, which then names both types."""

    def call(self: Any, other: Any = 0) -> Any:
        return function(self, other) if isinstance(other, OPERANDS) else NotImplemented

    return call


def choose(row: Row, fallback: Any) -> Any:
    """The maker for a row: a hot path where the row is plain, else the general one."""
    plain = not row.outputs and not row.view and not row.lists and row.node is not None and row.promote != "none"
    names = row.parameters
    if (
        plain
        and len(names) == 1
        and len(row.edges) == 1
        and len(row.saved) <= 1
        and all(s.kind in ("input", "result") for s in row.saved)
    ):
        return one_input(row, fallback)
    if plain and len(names) == 2 and len(row.edges) == 2 and (not row.saved or crossed(row)):
        return two_inputs(row, fallback)
    return fallback


def one_input(row: Row, fallback: Any) -> Any:
    """One tensor in, one out; saves nothing, the input or the result."""
    forward, cls = row.forward, row.cls
    kind = row.saved[0].kind if row.saved else ""
    keep_result, keep_input = kind == "result", kind == "input"

    def call(input: Any, *more: Any) -> Any:
        if input.__class__ is not Tensor or more:
            return fallback(input, *more)
        array = input._array
        data = forward(array)
        if data.__class__ is not ndarray:
            data = np.asarray(data)
        if data.dtype is not array.dtype:
            return fallback(input)
        result = new(Tensor)
        result._array = data
        result._rare = None
        edge = input._edge
        if edge is not None and mode.on:
            if edge.__class__ is ref:
                edge = edge() or link(input)
            elif input._rare is not None:
                edge = edge_of(input)
            node = new(cls)
            node.edges = (edge,)
            node.seq = next_seq()
            node.shape = data.shape
            if keep_result:
                node.saved = data
            elif keep_input:
                node.saved = input if input._rare is None else guarded(input)
            else:
                node.saved = None
            result._edge = node
        else:
            result._edge = None
            if mode.inference:
                result.rare().inference = True
        return result

    return call


def two_inputs(row: Row, fallback: Any) -> Any:
    """Two tensors of one dtype in, one out; saves nothing, or each input for the other."""
    forward, cls = row.forward, row.cls
    saves, floats = bool(row.saved), row.promote == "float"

    def call(input: Any, other: Any, *more: Any) -> Any:
        if input.__class__ is Tensor and other.__class__ is Tensor and not more:
            a, b = input._array, other._array
            if a.dtype is b.dtype:
                try:
                    data = forward(a, b)
                except (ValueError, TypeError):
                    return fallback(input, other)
                if data.__class__ is not ndarray:
                    data = np.asarray(data)
                if floats and data.dtype is not a.dtype:
                    return fallback(input, other)
                result = new(Tensor)
                result._array = data
                result._rare = None
                left, right = input._edge, other._edge
                if (left is not None or right is not None) and mode.on:
                    if left.__class__ is ref:
                        left = left() or link(input)
                    elif input._rare is not None:
                        left = edge_of(input)
                    if right.__class__ is ref:
                        right = right() or link(other)
                    elif other._rare is not None:
                        right = edge_of(other)
                    node = new(cls)
                    node.edges = (left, right)
                    node.seq = next_seq()
                    node.shape = data.shape
                    if saves:
                        if left is None:
                            other = None
                        elif other._rare is not None:
                            other = guarded(other)
                        if right is None:
                            input = None
                        elif input._rare is not None:
                            input = guarded(input)
                        node.saved = (other, input)
                    else:
                        node.saved = None
                    result._edge = node
                else:
                    result._edge = None
                    if mode.inference:
                        result.rare().inference = True
                return result
        elif (
            not more
            and input.__class__ is Tensor
            and (other.__class__ is float or other.__class__ is int)
            and input._array.dtype.kind == "f"
        ):
            return with_number(input, other)
        return fallback(input, other, *more)

    def with_number(input: Any, other: Any) -> Any:
        """A floating point tensor and a Python number: numpy keeps the tensor's dtype, as PyTorch does."""
        array = input._array
        data = forward(array, other)
        if data.__class__ is not ndarray:
            data = np.asarray(data)
        if data.dtype is not array.dtype:
            return fallback(input, other)
        result = new(Tensor)
        result._array = data
        result._rare = None
        edge = input._edge
        if edge is not None and mode.on and not mode.formula:
            if edge.__class__ is ref:
                edge = edge() or link(input)
            elif input._rare is not None:
                edge = edge_of(input)
            node = new(cls)
            node.edges = (edge, None)
            node.seq = next_seq()
            node.shape = data.shape
            node.saved = (other, None) if saves else None
            result._edge = node
            return result
        if edge is not None and mode.on:
            return fallback(input, other)
        result._edge = None
        if mode.inference:
            result.rare().inference = True
        return result

    return call


def general(row: Row) -> Any:
    """Any row, any operands: keywords, numbers, lists, None, mixed dtypes, views, several outputs."""
    forward, arity = row.forward, len(row.parameters)

    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs or len(args) != arity:
            args = bound(row, args, kwargs)
        if (
            mode.formula
            and (scalar := SCALAR_ROWS.get(row.key)) is not None
            and any(isinstance(args[i], NUMBERS) for i in row.inputs)
        ):
            return TENSORS[scalar](*args)
        arrays, mixed = operands(row, args)
        try:
            data = forward(*arrays)
        except ValueError:
            text.broadcast_shape(*(np.shape(arrays[i]) for i in row.inputs if not isinstance(arrays[i], list)))
            raise
        return record(row, args, data, mixed)

    return call


SCALAR_ROWS = {"add": "add_scalar", "sub": "sub_scalar", "mul": "mul_scalar", "div": "div_scalar"}
"""In a derivative that is recorded, a number next to a tensor is PyTorch's scalar overload (``MulBackward1``)."""


def bound(row: Row, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Arguments in the order of the row's parameters, defaults filled in.

    Raises:
        TypeError: too many, unknown, or missing ones.
    """
    names = row.parameters
    values = dict(zip(names, args, strict=False))
    if "input" in kwargs and "input" not in names:
        kwargs[names[0]] = kwargs.pop("input")
    for name, value in kwargs.items():
        if name not in names:
            raise TypeError(f"{row.key}() got an unexpected keyword argument '{name}'")
        values[name] = value
    first_default = len(names) - len(row.defaults)
    for i, name in enumerate(names):
        if name not in values:
            if i < first_default:
                raise TypeError(f'{row.key}() missing 1 required positional arguments: "{name}"')
            values[name] = row.defaults[i - first_default]
    if len(args) > len(names):
        raise TypeError(f"{row.key}() takes {len(names)} positional arguments but {len(args)} were given")
    return tuple(values[name] for name in names)


def operands(row: Row, args: tuple[Any, ...]) -> tuple[list[Any], bool]:
    """The arrays for the forward, brought to one dtype by PyTorch's rule; and whether that changed any."""
    arrays = list(args)
    for i in row.inputs:
        value = args[i]
        if isinstance(value, Tensor):
            arrays[i] = value._array
        elif isinstance(value, list | tuple):
            arrays[i] = [v._array if isinstance(v, Tensor) else v for v in value]
        elif isinstance(value, NUMBERS):
            arrays[i] = value.item() if isinstance(value, np.generic) else value
        elif value is not None:
            raise TypeError(
                f"{row.key}(): argument '{row.parameters[i].replace('self', 'input')}' (position {i + 1}) must be Tensor, "
                f"not {type(value).__name__}"
            )
    if row.promote == "none" or not row.edges:
        return arrays, False
    return promoted(row, arrays)


def promoted(row: Row, arrays: list[Any]) -> tuple[list[Any], bool]:
    """Cast the differentiable operands to their common dtype; integers to the default float where the row is about floats."""
    flat: list[Any] = []
    for i in row.edges:
        value = arrays[i]
        flat.extend(v for v in value if v is not None) if isinstance(value, list) else flat.append(
            value
        ) if value is not None else None
    first = flat[0]
    if len(flat) == 1:
        target = first.dtype if isinstance(first, ndarray) else None
    else:
        target = dtypes.result_type(*flat)
    if target is not None and row.promote == "float" and target.kind in "iub":
        target = dtypes.get_default_dtype().np
    if target is None:
        return arrays, False
    mixed = False

    def cast(value: Any) -> Any:
        nonlocal mixed
        if isinstance(value, ndarray):
            if value.dtype is target or value.dtype == target:
                return value
            mixed = True
            return value.astype(target)
        return value if value is None else np.asarray(value, target)

    for i in row.edges:
        value = arrays[i]
        arrays[i] = [cast(v) for v in value] if isinstance(value, list) else cast(value)
    return arrays, mixed


def record(row: Row, args: tuple[Any, ...], data: Any, mixed: bool) -> Any:
    """Wrap what the forward gave, with a node if some input wants a gradient."""
    several = row.outputs
    arrays = list(data) if several else [data]
    arrays = [a if a.__class__ is ndarray else np.asarray(a) for a in arrays]
    node = make_node(row, args, arrays, mixed) if mode.on and row.cls is not None else None
    if not several:
        result = from_array(arrays[0], node if arrays[0].dtype.kind in "fc" else None)
        if row.view:
            mark_view(result, args[row.inputs[0]], arrays[0], row)
        return result
    results = []
    for i, array in enumerate(arrays):
        edge = None
        if node is not None and array.dtype.kind in "fc":
            edge = Output(node, i, array.shape) if row.several else node  # type: ignore[attr-defined]
        results.append(from_array(array, edge))
        if row.view:
            mark_view(results[-1], args[row.inputs[0]], array, row)
    return tuple(results) if several == ("...",) else named_results(row)(results)


def make_node(row: Row, args: tuple[Any, ...], arrays: list[Any], mixed: bool) -> Any:
    """The node of a call, None if no input wants a gradient."""
    inputs: list[Any] = []
    for i in row.edges:
        value = args[i]
        inputs.extend(value) if isinstance(value, list | tuple) else inputs.append(value)
    if not any(isinstance(v, Tensor) and v._edge is not None for v in inputs):
        return None
    edges = tuple(edge_of(v) if isinstance(v, Tensor) else None for v in inputs)
    node = new(row.cls)
    node.edges = edges
    node.seq = next_seq()
    node.shape = arrays[0].shape
    if row.outputs:
        row.several = row.outputs == ("...",) or sum(a.dtype.kind in "fc" for a in arrays) > 1  # type: ignore[attr-defined]
        if row.several:  # type: ignore[attr-defined]
            next_seq()  # an output's edge is younger than its node
            node.shape = ("parts",)
    saved = row.save(args, edges, arrays)
    node.saved = saved[0] if len(saved) == 1 and row.saved[0].kind in ("input", "result") and len(row.edges) == 1 else saved
    if mixed or any(isinstance(v, Tensor) and v._array.dtype != arrays[0].dtype for v in inputs):
        hooks.cast_gradients(node, [v._array.dtype if isinstance(v, Tensor) else None for v in inputs])
    return node


def mark_view(result: Tensor, source: Any, array: Any, row: Row) -> None:
    """Note that the result shares the memory of an input (if it really does), and with it the version."""
    if array.base is None and array is not source._array:
        return
    rare = result.rare()
    rare.base = source._base if source._is_view() else source
    rare.version = source.version_cell()
    rare.seen = rare.version.count
    if row.outputs:
        rare.origin = "multi"
    elif not mode.on and source.requires_grad:
        rare.origin = "no_grad"
        result._edge = NO_GRAD_VIEW
    elif source._rare is not None and source._rare.origin:
        rare.origin = source._rare.origin


NAMED: dict[str, Any] = {}


def named_results(row: Row) -> Any:
    """The class of a row's named results, as ``torch.return_types.max``."""
    if row.key not in NAMED:
        from gviz.engine.results import result_class

        NAMED[row.key] = result_class(row.key.partition("_")[0], row.outputs)
    return NAMED[row.key]
