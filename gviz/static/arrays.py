"""``tf.TensorArray``: a list of tensors of one shape that a loop fills or reads, and the loops that are made of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gviz.numbers.words import refuse
from gviz.static.build import (
    add_operation,
    check_others,
    common_graph,
    constant,
    convert,
    in_scope,
    make,
    operation_scope,
)
from gviz.static.control import while_loop
from gviz.static.functions import getitem, range_, shape
from gviz.static.graph import Tensor, TensorLike
from gviz.static.rules import constant_value
from gviz.static.types import Dims, DTypeLike, ShapeLike, TensorShape, as_dtype, as_shape, fill_structure, int32, leaves


class TensorArray:
    """A list of tensors. Whatever changes it returns another one, as a loop's variables need it.

    Args:
        dtype: of its elements.
        size: how many there are; more are added by writing them if ``dynamic_size`` is set.
        dynamic_size: accepted.
        element_shape: the shape of an element, as far as it is known.
        name: of the operations.
    """

    def __init__(
        self,
        dtype: DTypeLike,
        size: TensorLike = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Tensor | None = None,
        flow: Tensor | None = None,
        infer_shape: bool = True,
        element_shape: ShapeLike = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        self.dtype, self._dims = as_dtype(dtype), as_shape(element_shape)
        self._size: Tensor | None = None
        self.handle: Any = handle
        self._read: Any = flow  # a loop carries it along
        if handle is None:
            with operation_scope(common_graph(size), name, "TensorArray") as scope:
                self._size = convert(0 if size is None else size, int32, "size")
                attrs = {
                    "dtype": self.dtype, "dynamic_size": bool(dynamic_size), "element_shape": self._dims,
                    "clear_after_read": clear_after_read is not False, "identical_element_shapes": infer_shape,
                    "tensor_array_name": tensor_array_name or "",
                }  # fmt: skip
                operation = add_operation(self._size.graph, "TensorArrayV3", [self._size], attrs, scope)
                self.handle, self._read = operation.outputs
            self._size = None if dynamic_size else self._size

    flow = property(lambda self: self._read)
    graph = property(lambda self: self.handle.graph)

    def with_flow(self, flow: Tensor, dims: Dims = None) -> TensorArray:
        """Return the list in another state."""
        shape = self._dims if dims is None else TensorShape(dims)
        after = TensorArray(self.dtype, handle=self.handle, flow=flow, element_shape=shape)
        after._size = self._size
        return after

    @in_scope("TensorArrayWrite")
    def write(self, index: TensorLike, value: TensorLike, name: str | None = None) -> TensorArray:
        """Return the list with an element written."""
        element = convert(value, self.dtype, "value")
        place = convert(index, int32, "TensorArrayWriteV3/index")
        flow = make("TensorArrayWriteV3", [self.handle, place, element, self._read])
        return self.with_flow(flow, element._dims)

    @in_scope("TensorArrayReadV3")
    def read(self, index: TensorLike, name: str | None = None) -> Tensor:
        """Return an element."""
        place = convert(index, int32, "index")
        element = make("TensorArrayReadV3", [self.handle, place, self._read], name, dtype=self.dtype)
        element.set_shape(self._dims)
        return element

    @in_scope("TensorArrayUnstack")
    def unstack(self, value: TensorLike, name: str | None = None) -> TensorArray:
        """Return the list of a tensor's parts along its first axis."""
        whole = convert(value, self.dtype, "value")
        places = range_(0, getitem(shape(whole), 0))
        with self.graph.name_scope("TensorArrayScatter"):
            flow = make("TensorArrayScatterV3", [self.handle, places, whole, self._read])
        return self.with_flow(flow, whole._dims and whole._dims[1:])

    @in_scope("TensorArrayStack")
    def stack(self, name: str | None = None) -> Tensor:
        """Return all elements as one tensor."""
        places = range_(0, self.size())
        attrs: dict[str, Any] = {"dtype": self.dtype, "element_shape": self._dims}
        whole = make("TensorArrayGatherV3", [self.handle, places, self._read], **attrs)
        whole.set_shape(None if self._dims is None else (None, *self._dims))
        return whole

    def size(self, name: str | None = None) -> Tensor:
        """Return how many elements there are."""
        if self._size is None:
            return make("TensorArraySizeV3", [self.handle, self._read], name)
        static_size = constant_value(self._size)
        return self._size if static_size is None else constant(static_size, int32)


UNUSED = {"parallel_iterations": 10, "back_prop": True, "swap_memory": False, "infer_shape": True}


@in_scope()
def repeat_along(
    name: str,
    fn: Callable[[Any, Any], Any],
    elems: object,
    start: object,
    *,
    keeps: bool,
    reverse: bool,
    dtype: object = None,
) -> Any:
    """Call a function for each part of some tensors along their first axis, in a loop.

    Args:
        name: of the loop.
        fn: takes what it has returned for the part before, and a part.
        elems: a tensor, or lists of tensors.
        start: what it takes for the first part; None for the first part itself.
        keeps: whether all that it returns is kept, or the last alone.
        reverse: whether it begins with the last part.
        dtype: of what it returns, if that is not as ``start``.

    Returns:
        What it has returned, in its form: stacked, or the last.
    """
    parts = [convert(one) for one in leaves(elems)]
    length = parts[0].shape[0].value
    count: Any = shape(parts[0])[0] if length is None else length
    lists = [TensorArray(part.dtype.base_dtype, count, element_shape=part.shape[1:]).unstack(part) for part in parts]

    def part_at(place: Tensor) -> Any:
        return fill_structure(elems, iter([one.read(place) for one in lists]))

    first: Any = (count - 1) if reverse else 0
    step, begin, is_scan = -1 if reverse else 1, first, keeps and dtype is None
    if start is None and dtype is None:
        start, begin = part_at(first), first + step
    form = dtype if dtype is not None else start
    now = [] if dtype is not None else [convert(one) for one in leaves(start)]
    dtypes = list(map(as_dtype, leaves(dtype))) if dtype is not None else [one.dtype.base_dtype for one in now]
    arrays = [TensorArray(own, count) for own in dtypes] if keeps else []
    if keeps and begin is not first:
        arrays = [one.write(first, value) for one, value in zip(arrays, now, strict=True)]

    def body(place: Tensor, before: Sequence[Tensor], old_arrays: Sequence[TensorArray]) -> Any:
        result = fn(fill_structure(form, iter(before)) if before else None, part_at(place))
        values = [convert(one, own) for one, own in zip(leaves(result), dtypes, strict=True)]
        after = [one.write(place, value) for one, value in zip(old_arrays, values, strict=True)] if keeps else []
        return place + step, values if before else [], after

    results = while_loop(
        lambda place, *_: place >= 0 if reverse else place < count,
        body,
        (begin if is_scan else convert(begin), now, arrays),
        maximum_iterations=count,
    )
    out = [one.stack() for one in results[2]] if keeps else results[1]
    for one in out if keeps else []:
        one.set_shape([length, *one.shape.as_list()[1:]] if one.shape.rank else None)
    return fill_structure(form, iter(out))


def map_fn(
    fn: Callable[[Any], Any],
    elems: object,
    dtype: object = None,
    *args: object,
    name: str | None = None,
    **others: object,
) -> Any:
    """Return what a function returns for each part; ``dtype`` has the form of that if it is not a part's own."""
    refuse(bool(args), "gviz takes the options of tf.map_fn() by their names", ValueError)
    check_others("tf.map_fn", others, **UNUSED | {"parallel_iterations": None, "fn_output_signature": None})
    own = fill_structure(elems, (convert(one).dtype.base_dtype for one in leaves(elems)))
    form = own if dtype is None else dtype
    return repeat_along(name or "map", lambda _, part: fn(part), elems, None, keeps=True, reverse=False, dtype=form)


def going_along(default: str, *, keeps: bool = False, is_backwards: bool = False) -> Callable[..., Any]:
    """Return ``foldl`` or ``foldr``; or ``scan``, which keeps what the function returns for each part."""

    def build(
        fn: Callable[[Any, Any], Any],
        elems: object,
        initializer: object = None,
        *args: object,
        name: str | None = None,
        **others: object,
    ) -> Any:
        refuse(bool(args), f"gviz takes the options of tf.{default}() by their names", ValueError)
        reverse = bool(others.pop("reverse", False)) if keeps else is_backwards
        check_others(f"tf.{default}", others, **UNUSED)
        return repeat_along(name or default, fn, elems, initializer, keeps=keeps, reverse=reverse)

    return build


FUNCTIONS: dict[str, Any] = {
    "TensorArray": TensorArray, "map_fn": map_fn, "scan": going_along("scan", keeps=True),
    "foldl": going_along("foldl"), "foldr": going_along("foldr", is_backwards=True),
}  # fmt: skip
