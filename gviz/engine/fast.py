"""The same rows, faster: calls and derivatives written out for the usual case, and the plain backward pass.

This file lies above the engine, and nothing knows it but one line of ``engine/__init__.py``: ``GVIZ_FAST=0`` leaves it
out, and every result stays the same. A row that is called often gets a function of its own (:func:`call_text`), made
from what it declares, in place of the one that serves all rows: of tensors of one float dtype, and numbers where it
takes them; all else is left to the usual way. Its derivatives are written out likewise (:func:`step_text`), and a
backward pass without hooks, anomaly mode, ``create_graph`` and custom nodes (:func:`run`) runs them on arrays.
"""

from __future__ import annotations

import functools
import gc
import operator
import re
from collections import Counter
from collections.abc import Callable
from types import FunctionType
from typing import Any
from weakref import ref

import numpy as np

from gviz.autograd.backward import Pass
from gviz.autograd.call import fact_of, mark_view, results
from gviz.autograd.formulas import bind
from gviz.autograd.modes import mode, no_grad
from gviz.autograd.node import OUTPUTS, SINGLE, AccumulateGrad, Array, Edge, Node, Output, creation_numbers, target_of
from gviz.autograd.row import ARRAYS, TENSORS, Row, Save
from gviz.autograd.saved import GONE, Saved, save as form_of, unpack
from gviz.autograd.tensor import Tensor, edge_of, from_array
from gviz.numbers.dtypes import NARROW
from gviz.numbers.summing import loop_total
from gviz.signatures import names

AFTER = 50
"""The calls of a row in the usual way before its code is written: that takes as long as some hundreds of them."""
LARGE = 2048
"""Elements from which a sum in place is quicker than one in new memory."""
UNUSUAL = (
    ArithmeticError, AttributeError, LookupError, MemoryError, RuntimeWarning, TypeError, ValueError,
)  # fmt: skip
"""What a call may raise that the usual way says in PyTorch's words."""
ndarray, asarray = np.ndarray, np.asarray


# ------------------------------------------------------------------ calls
CALL = """
def call({parameters}):
    {begin}
    if mode.node_callbacks:
        return usual({operand_text})
    try:
        {operands}
        shared = singles if dtype is SINGLE else OUTPUTS.get(dtype)
        if shared is None:
            return usual({operand_text})
        {check}
        data = {forward}({arguments})
    except UNUSUAL:
        return usual({operand_text})
    if data.__class__ is not ndarray:
        data = asarray(data)
    {unlike}if not mode.recording:
        return {unrecorded}
    {edges}
    if {edgeless}:
        return results(row, ({every},), data)
    node = cls()
    node._next = {next},
    node._outputs = shared[data.shape]
    node._hooks = None
    node._seq = next(creation_numbers)
    node._saved = ({kept})
    result = new(Tensor)
    result._array = data
    result._edge = node
    result._meta = result._version_cell = None
    {end}
    return result
"""
"""The call of a row with arguments p0, p1 ..., whose operands have arrays a0, a1 ... and edges e0, e1 ...

What is not plain goes the usual way, or does so from where that shows."""

INPUTS = {
    "tensor": ("p{0}._array", "p{0}._edge if p{0}._meta is None else edge_of(p{0})"),
    "number": ("p{0}._array if p{0}.__class__ is Tensor or p{0}.__class__ not in NUMBERS or mode.formula else p{0}",
               "None if p{0} is a{0} else p{0}._edge if p{0}._meta is None else edge_of(p{0})"),
    "optional": ("None if p{0} is None else p{0}._array",
                 "None if p{0} is None else p{0}._edge if p{0}._meta is None else edge_of(p{0})"),
}  # fmt: skip
"""By what an input may be: its array, and its edge (which may be the weak reference of a leaf)."""

SAVED = {
    "tensor": "p{0} if p{0}._version_cell is p{0}._meta is None else form_of(p{0})",
    "number": "p{0} if p{0} is a{0} or p{0}._version_cell is p{0}._meta is None else form_of(p{0})",
    "optional": "form_of(p{0})",
    "option": "p{0}", "result": "data", "sizes": "a{0}.shape", "dim": "a{0}.ndim", "numel": "a{0}.size",
}  # fmt: skip
"""By what a saved input may be, or where another saved thing comes from: how it is had."""


MISSING: Any = object()
"""Stands for an operand that a call of a public name leaves out."""


def present(*operands: object) -> list[object]:
    """Return the operands that a call of a public name has."""
    return [operand for operand in operands if operand is not MISSING]


SPACE: dict[str, Any] = {
    "MISSING": MISSING, "NUMBERS": (int, float), "OUTPUTS": OUTPUTS, "SINGLE": SINGLE, "Tensor": Tensor,
    "UNUSUAL": UNUSUAL, "asarray": asarray, "creation_numbers": creation_numbers, "edge_of": edge_of,
    "fact_of": fact_of, "form_of": form_of, "from_array": from_array, "mark_view": mark_view, "mode": mode,
    "ndarray": ndarray, "new": object.__new__, "present": present, "ref": ref, "results": results, "singles": OUTPUTS[SINGLE],
}  # fmt: skip
"""What the code of calls names."""


def is_plain(row: Row) -> bool:
    """Return whether a row's calls can be written out: it records one tensor, of operands that are no lists."""
    unlike = row.node is None or row.outputs or row.extras or row.reshapes or row.lists or row.skips_sole_input
    return not unlike and "f" in row.grad_kinds and kinds_of(row)[row.edges[0]] == "tensor"


def kinds_of(row: Row) -> dict[int, str]:
    """Return what each input may be: a key of :data:`INPUTS`."""
    first = len(row.parameters) - len(row.defaults)
    kinds = {i: "optional" if i >= first and row.defaults[i - first] is None else "tensor" for i in row.inputs}
    return kinds | {i: "number" for i in row.inputs[1:] if row.takes_number in (True, row.parameters[i])}


def keeps_dtype(row: Row, ufunc: np.ufunc) -> bool:
    """Return whether numpy's function of a row gives floats of the one dtype that all its operands have."""
    return "f" * ufunc.nin + "->f" in ufunc.types and row.inputs == row.promoted_inputs


def call_text(row: Row, head: str) -> str:
    """Return the Python source of a row's call.

    Args:
        row: a row that :func:`is_plain`.
        head: "row": parameters as those of the forward; "public": the operands alone, and any other call goes the usual
            way; "operator": the same, but Python sees to their number.
    """
    count, kinds, lead = len(row.parameters), kinds_of(row), row.edges[0]
    first = count - len(row.defaults)
    every, needed = (", ".join(f"p{i}" for i in range(end)) for end in (count, first))
    operand_text = every if head == "row" else needed
    parameters = {
        "row": [f"p{i}" if i < first else f"p{i}=d{i}" for i in range(count)],
        "public": [*(f"p{i}=MISSING" for i in range(first)), "/", "*args", "**words"],
        "operator": [needed],
    }
    unusual = f"if args or words or p{first - 1} is MISSING: return usual(*present({needed}), *args, **words)"
    arrays = {i: f"a{i} = {INPUTS[kind][0].format(i)}" for i, kind in kinds.items()}
    usual = f"is not ndarray: return usual({operand_text})"  # as of the device meta
    operands = [arrays.pop(lead), f"dtype = a{lead}.dtype", f"if a{lead}.__class__ {usual}"]
    for i, text in arrays.items():
        own = f"a{i} is not p{i} and " if kinds[i] != "tensor" else ""
        operands += [
            text,
            *([f"if {own}a{i}.dtype is not dtype: return usual({operand_text})"] * (i in row.promoted_inputs)),
            f"if {own}a{i}.__class__ {usual}",
        ]
    *others, last = row.inputs
    operands += [
        f"if a{last} is not p{last} and not a{i}.flags.c_contiguous and a{i}.strides != a{last}.strides: return "
        f"usual({operand_text})"
        for i in others
        if row.promote != "none"
    ]
    checked = row.check is not None and not {*"fe"}.isdisjoint(getattr(row.check, "refused", "f"))
    ufunc = None if head == "row" and row.defaults else row.ufunc
    unlike = [] if ufunc and keeps_dtype(row, ufunc) else ["data.dtype is not dtype"]
    if not row.view and not ufunc:  # numpy's functions give new memory
        unlike += ["data.base is not None", *(f"data is a{i}" for i in kinds)]
    arguments = [f"a{i}" if i in kinds else f"p{i}" for i in range(first if ufunc else count)]
    edges = [f"e{i} = {INPUTS[kinds[i]][1].format(i)}" for i in row.edges]
    leaves = [f"if e{i}.__class__ is ref: e{i} = e{i}() or edge_of(p{i})" for i in row.edges]
    text = CALL.format(
        parameters=", ".join(parameters[head]),
        begin=unusual if head == "public" else "",
        operand_text=operand_text,
        operands="\n        ".join(operands),
        check=f"check({', '.join(f'a{i}' for i in row.inputs)})" if checked else "",
        forward="ufunc" if ufunc else "forward",
        arguments=", ".join(arguments),
        unlike=f"if {' or '.join(unlike)}: return results(row, ({every},), data)\n    " if unlike else "",
        every=every,
        unrecorded=f"results(row, ({every},), data)" if row.view else "from_array(data, None)",
        edges="\n    ".join(edges + leaves),
        edgeless=" is ".join([*(f"e{i}" for i in row.edges), "None"]),
        next=", ".join(f"e{i}" for i in row.edges),
        kept="".join(f"{saved_text(row, save, kinds)}, " for save in row.plan),
        end=f"mark_view(result, p{row.inputs[0]}, '')" if row.view else "",
    )
    literals = {f"p{i}": repr(d) if d.__class__ in (int, bool) else f"d{i}" for i, d in enumerate(row.defaults, first)}
    return text if head == "row" else re.sub(r"\bp\d+\b", lambda match: literals.get(match[0], match[0]), text)


def saved_text(row: Row, save: Save, kinds: dict[int, str]) -> str:
    """Return the expression of a thing that a row saves, as its plan says it."""
    usual = f"fact_of({save.source!r}, {'p{0}' if save.place >= 0 else 'data'})"
    text = SAVED.get(kinds[save.place] if save.source == "input" else save.source, usual).format(save.place)
    unsaved = f"{None if save.source == 'input' else ()} if e{row.edges[save.guard or 0]} is None else "
    return text if save.guard is None else unsaved + text


def compile_function(name: str, text: str, row: Row, space: dict[str, Any]) -> Any:
    """Return the function of that name in a text about a row; its lines count as gviz's own where places are told."""
    exec(compile(text, f"{__file__}:{row.key}", "exec"), space)  # noqa: S102 - made here, of the table's own
    return space[name]


def compile_call(row: Row, head: str, usual: Callable[..., Any]) -> Any:
    """Return the function of a row's call."""
    first = len(row.parameters) - len(row.defaults)
    space = SPACE | {
        "__name__": __name__,
        "row": row,
        "usual": usual,
        "cls": row.cls,
        "check": row.check,
        "forward": row.forward,
        "ufunc": row.ufunc,
        **{f"d{i}": value for i, value in enumerate(row.defaults, first)},
    }
    row.cls.__init__ = object.__init__  # so that a call of the class is the quickest way to an empty node
    return compile_function("call", call_text(row, head), row, space)


CALLS: Counter[str] = Counter()
"""By the keys of rows: how often they were called in the usual way."""
COMPILED: dict[str, Any] = {}
"""By the keys of rows whose code is written: what is called."""
STUBS: dict[str, list[tuple[str, FunctionType]]] = {}
"""By the keys of rows: public functions that get the code of the call when it is written, each with its head."""
usual_call = Row.__call__


def call(row: Row, *args: Any) -> Any:
    """Call a row: by its own code, if that is written."""
    if row.key in COMPILED:
        return COMPILED[row.key](*args)
    CALLS[row.key] += 1
    if CALLS[row.key] > AFTER:
        compile_row(row)
    return usual_call(row, *args)


def compile_row(row: Row) -> None:
    """Write the code of a row: for formulas, for its names that take operands alone, and for the backward pass."""
    COMPILED[row.key] = functools.partial(usual_call, row)
    if DERIVATIVES.pop(row.cls, None):
        derivative_of(row.cls)  # anew, at once: a pass may be running
    if is_plain(row):
        COMPILED[row.key] = TENSORS[row.key] = compile_call(row, "row", COMPILED[row.key])
        vars(COMPILED[row.key]).update(key=row.key, texts=row.texts)  # by which writing in place knows it
        for head, function in STUBS.pop(row.key, ()):
            quick = compile_call(row, head, function.__globals__["usual"])
            function.__globals__.update(quick.__globals__)
            function.__code__, function.__defaults__ = quick.__code__, quick.__defaults__


# ------------------------------------------------------------------ derivatives on arrays
STEP = """
    _target = node._next[{at}]
    if _target is not None:{reads}
        _gradient = {formula}
        if _target.__class__ is tuple or {unlike}:
            _accumulate(_target, _gradient, buffers, sums)
        elif _target not in buffers:
            buffers[_target] = _gradient
        elif _gradient.size < _LARGE:
            buffers[_target] = buffers[_target] + _gradient
        else:
            _add(_target, _gradient, buffers, sums)
"""
"""The part of a derivative that is for one input."""

OTHER_OUTPUT = "_target._outputs is not node._outputs"
"""Whether an input's gradient may differ from that of the result in shape and dtype."""
OTHER_ELEMENTS = f"_gradient.__class__ is not _ndarray or {OTHER_OUTPUT}"
"""The same for a function that is applied to each element: its derivative has the shape and dtype of the result."""
UNLIKE = (
    "_gradient.__class__ is not _ndarray or _gradient.shape != _target._outputs[0][0]"
    " or _gradient.dtype is not _target._outputs[0][1]"
)
"""Whether a gradient has not the shape and dtype of what it is for."""

READ = """
        {0} = node._saved[{1}]
        {0} = {2} else _array_of(node, {0}, {3})"""
USUAL = {
    "input": "{0}._array if {0}.__class__ is _Tensor and {0}._version_cell is {0}._meta is None",
    "option": "{0} if {0}.__class__ is int",
    "result": "{0} if {0}.__class__ is _ndarray",
}
"""By where a saved thing comes from: how it is read in the usual case."""


def array_of(node: Node, value: Any, number: int | None) -> Any:
    """Return a saved thing as a formula on arrays takes it."""
    content = value.content if value.__class__ is Saved and value.version.count == value.expected else value
    if isinstance(content, Tensor) and (content is not value or not content._version):
        if content._meta is None or not content._meta.detached:
            return content._array
    elif value.__class__ is ndarray or value.__class__ in (int, float, tuple):
        return value
    value = unpack(node, value, number)
    if value.__class__ is tuple:
        return tuple(getattr(one, "_array", one) for one in value)
    return getattr(value, "_array", value)


def accumulate(edge: Edge, gradient: Any, buffers: dict[Node, Any], sums: set[Node]) -> None:
    """Add a gradient, in the shape and dtype of what it is for, to what has arrived at a node."""
    if gradient is None:
        return
    node, number = target_of(edge)
    shape, dtype = node._outputs[number]
    gradient = asarray(gradient)
    if gradient.shape != shape:
        count = gradient.ndim - len(shape)
        others = (i for i, size in enumerate(gradient.shape) if i < count or size != shape[i - count])
        axes = tuple(others) if shape else None
        gradient = asarray(loop_total(gradient, axes)).reshape(shape)
    gradient = gradient if dtype.kind not in "fc" else gradient.astype(dtype, copy=False)
    if node in buffers:
        add(node, gradient, buffers, sums)
    else:
        buffers[node] = gradient


def add(node: Node, gradient: Array, buffers: dict[Node, Any], sums: set[Node]) -> None:
    """Add a gradient to that which has arrived at a node already: in place if that is a large sum made here."""
    old = buffers[node]
    if node in sums:
        np.add(old, gradient, old)
    else:
        buffers[node] = old + gradient
        if old.size >= LARGE:
            sums.add(node)


def step_of(row: Row) -> Any:
    """Return ``step(node, grad, buffers, sums)``: gives each input that wants it its gradient, computed on arrays."""
    if row.key in COMPILED and not row.takes_list and len(row.texts) == len(row.edges):
        space = {"_array_of": array_of, "_accumulate": accumulate, "_add": add, "_LARGE": LARGE, "_ndarray": ndarray}
        return compile_function("step", step_text(row), row, {**ARRAYS, **space, "_Tensor": Tensor})
    steps = [(bind(function, ARRAYS), *rest) for function, *rest in row.grad_steps]
    numbers, count = row.output_numbers, len(row.edges)

    def step(node: Node, grad: Array, buffers: dict[Any, Any], sums: set[Any]) -> None:
        values = [array_of(node, value, number) for value, number in zip(node._saved, numbers, strict=True)]
        values.append(tuple([edge is not None for edge in node._next]))  # the mask, at place -1
        gradients: Any = [None] * count
        for function, places, targets in steps:
            if row.takes_list:
                gradients = function(grad, *[values[at] for at in places])
            elif any(values[-1][at] for at in targets):
                out = function(grad, *[values[at] for at in places])
                for at, one in zip(targets, out if len(targets) > 1 else (out,), strict=True):
                    gradients[at] = one
        for edge, gradient in zip(node._next, gradients, strict=False):
            if edge is not None:
                accumulate(edge, gradient, buffers, sums)

    return step


def step_text(row: Row) -> str:
    """Return the Python source of the step of a row with one formula for each input, with the formulas in it."""
    reads = {
        save.name: READ.format(save.name, place, USUAL.get(save.source, USUAL["result"]).format(save.name), number)
        for place, (save, number) in enumerate(zip(row.plan, row.output_numbers, strict=True))
    }
    text = "def step(node, grad, buffers, sums):"
    by_element = row.ufunc is not None and keeps_dtype(row, row.ufunc)
    for (name, formula), needed in zip(row.texts.items(), row.formula_args, strict=True):
        at, own = row.edges.index(row.parameters.index(name)), "".join(reads[one] for one in needed)
        unlike = OTHER_OUTPUT if formula == "grad" else OTHER_ELEMENTS if by_element else UNLIKE
        text += STEP.format(at=at, reads=own, formula=formula, unlike=unlike)
    return text


DERIVATIVES: dict[type, Any] = {}
"""By class of nodes: step on arrays, saved tensors when freed, whether there are any; None: the usual way only."""


def derivative_of(cls: type) -> Any:
    """Return the entry of a class of nodes, which is made when it is first asked for."""
    if cls not in DERIVATIVES:
        row: Any = getattr(cls, "_row", None)
        tensors = row.freed if row is not None else []
        freed = (GONE,) * len(tensors) if all(tensors) else ()
        DERIVATIVES[cls] = None if row is None or row.outputs else (step_of(row), freed, any(tensors))
    return DERIVATIVES[cls]


# ------------------------------------------------------------------ the plain backward pass
YOUTH = operator.attrgetter("_seq")
usual_run = Pass.run


def order_of(roots: list[tuple[Output, Tensor]]) -> list[Any] | None:
    """Return the nodes below the roots, the youngest first, without leaves; None if one needs the usual way."""
    seen = {node for (node, _), _ in roots}
    nodes, leaves = list(seen), 0
    for node in nodes:
        if node._hooks is not None:
            return None
        if DERIVATIVES.get(node.__class__) is None:
            if node.__class__ is AccumulateGrad:
                meta = node.variable._meta
                if meta is not None and (meta.hooks or meta.post_hooks):
                    return None
                leaves += 1
            elif derivative_of(node.__class__) is None:
                return None
        for edge in node._next:
            if edge is not None:
                target: Any = edge[0] if edge.__class__ is tuple else edge
                if target not in seen:
                    seen.add(target)
                    nodes.append(target)
    nodes.sort(key=YOUTH, reverse=True)
    return nodes[leaves:]  # a leaf has the greatest number of all


def run(self: Pass) -> None:
    """Run a plain pass on arrays; any other one the usual way."""
    plain = not (self.create or self.only is not None or self.catch is not None or mode.anomaly or NARROW)
    plain = plain and all(gradient._array.__class__ is ndarray for _, gradient in self.roots)
    nodes = order_of(self.roots) if plain else None
    if nodes is None:
        usual_run(self)
        return
    buffers: dict[Any, Any] = {}
    for (root, _), gradient in self.roots:
        buffers[root] = gradient._array if root not in buffers else buffers[root] + gradient._array
    sums: set[Any] = set()  # nodes whose gradient is a large sum made here: nobody else holds it
    before, mode.running, mode.recording, keep = (
        (mode.running, mode.recording, mode.node_callbacks),
        self,
        False,
        self.keep,
    )
    try:
        with np.errstate(all="ignore"):
            for node in nodes:
                grad = buffers.pop(node, None)
                step, freed, holds = DERIVATIVES[node.__class__]
                if grad is not None:
                    step(node, grad, buffers, sums)
                if holds and not keep:
                    if freed and None not in node._next:
                        node._saved = freed
                    else:
                        node.release()
        nodes.clear()
    except UNUSUAL:
        node.apply([from_array(grad, None)], [edge is not None for edge in node._next])  # says it in PyTorch's words
        raise
    finally:
        mode.running, mode.recording, mode.node_callbacks = before
        unfinished = (
            nodes[nodes.index(node) :] if nodes else []
        )  # of a pass that failed: the leaves above have their gradients
        waiting = {target_of(edge)[0] for node in unfinished for edge in node._next if edge is not None}
        with no_grad():
            for leaf in [leaf for leaf in buffers if leaf.__class__ is AccumulateGrad and leaf not in waiting]:
                leaf.variable._accumulate_grad([from_array(buffers.pop(leaf), None)])


# ------------------------------------------------------------------ binding
def install(namespace: dict[str, Any]) -> None:
    """Put the calls and the pass of this file in the place of the usual ones, also in the namespace ``torch``.

    A public name keeps one function, whose code is exchanged: who holds it, or has wrapped it, need not know.
    """
    Row.__call__ = call  # type: ignore[method-assign]
    Pass.run = run  # type: ignore[method-assign]
    for word, name in names.NAMES.items():
        row = name.declared[0][1]
        needed = row.parameters[: len(row.parameters) - len(row.defaults)] if isinstance(row, Row) else ()
        if needed and {*needed} <= {"self", "other"} and row.node is not None and not name.writes:
            head = "operator" if name.operator and word not in names.UNARY else "public"
            if name.method:
                setattr(Tensor, name.method, stub_of(row, head, vars(Tensor)[name.method]))
            if name.space == "torch":
                namespace[name.base] = stub_of(row, "public", name.function)
    if gc.get_threshold() == (
        700,
        10,
        10,
    ):  # a recorded operation is four objects: Python looks for garbage all the time
        gc.set_threshold(20_000, 10, 10)


def stub(*args: object, **words: object) -> Any:
    """Call the usual function, which is among the globals of each copy."""
    return usual(*args, **words)


def stub_of(row: Row, head: str, usual: Callable[..., Any]) -> FunctionType:
    """Return a function that calls another one, until the code of the row's call is written."""
    function = FunctionType(stub.__code__, {"usual": usual})
    functools.update_wrapper(function, usual)
    STUBS.setdefault(row.key, []).append((head, function))
    return function
