"""The roots of an expression: which tensors they are, why one has no graph, and backward from each."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from gviz import engine
from gviz.errors import SourceError
from gviz.sources.expression.limits import Budget
from gviz.sources.expression.naming import ROOT_NAME
from gviz.sources.expression.run import ENGINE_ERRORS, engine_error
from gviz.sources.expression.values import make_value
from gviz.sources.options import Note, SourceOptions
from gviz.text import did_you_mean, excerpt, joined

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gviz.sources.expression.check import Program

__all__ = ["find_roots", "not_finite", "retain", "run_backward"]

SCALAR_ONLY = "grad can be implicitly created only for scalar outputs"
"""What PyTorch says of backward from a tensor with more elements than one."""


def find_roots(program: Program, options: SourceOptions, tensors: Mapping[str, Any], last: str) -> dict[str, Any]:
    """The root tensors by name.

    Args:
        program: the expression.
        options: which roots are asked for, and what is frozen.
        tensors: every named tensor.
        last: name of the root where none is asked for.

    Raises:
        SourceError: no tensor has the name that is asked for, or nothing that a root is made from requires gradients.
    """
    names = options.roots or (last,)
    roots: dict[str, Any] = {}
    for name in names:
        if name not in tensors:
            raise _unknown(name, "--root", tensors)
        if not tensors[name].requires_grad:
            raise _no_graph(name, program, options, tensors)
        roots[name] = tensors[name]
    return roots


def retain(names: Sequence[str], tensors: Mapping[str, Any]) -> Iterator[Note]:
    """Let intermediates keep their gradients; SourceError for no such tensor, or one without gradients."""
    for name in names:
        if name not in tensors:
            raise _unknown(name, "--retain", tensors)
        if tensors[name].is_leaf and tensors[name].requires_grad:
            yield Note(f"{name} is a leaf: it keeps its gradient without --retain")
            continue
        try:
            tensors[name].retain_grad()
        except ENGINE_ERRORS as error:
            raise SourceError(f"--retain {name}: {error}", hint="nothing that it is made from requires gradients") from error


def run_backward(program: Program, options: SourceOptions, roots: Mapping[str, Any]) -> Iterator[Note]:
    """Run backward from each root, the graph retained, and say from which one it cannot run.

    Raises:
        SourceError: the gradient given does not fit, or a derivative fails.
    """
    for name, root in roots.items():
        if options.grad_output is None and root.numel() != 1:
            yield Note(
                f"{SCALAR_ONLY}: {name} has shape {tuple(root.shape)}; --grad-output ones supplies a gradient", "warning"
            )
            continue
        try:
            root.backward(_grad_output(options.grad_output, root), retain_graph=True)
        except ENGINE_ERRORS as error:
            if options.grad_output not in (None, "ones"):
                raise SourceError(str(error), hint=f"--grad-output needs the shape of {name}, {tuple(root.shape)}") from error
            raise engine_error(error, program.source, program.statements[-1]) from error


def not_finite(tensors: Mapping[str, Any], expressions: Mapping[str, str]) -> Iterator[Note]:
    """Say which tensor became NaN or infinite first, and for which leaf the gradient is."""
    for name, tensor in tensors.items():
        kind = _kind(tensor)
        if kind is not None:
            made = f" = {expressions[name]}" if name in expressions else ""
            yield Note(f"{name}{made} is {kind}: the first tensor that is not finite", "warning")
            break
    for name, tensor in tensors.items():
        grad = tensor.grad if tensor.is_leaf or tensor.retains_grad else None
        kind = None if grad is None else _kind(grad)
        if kind is not None:
            yield Note(f"the gradient of {name} is {kind}", "warning")
            break


def _grad_output(text: str | None, root: Any) -> Any:
    if text is None:
        return None
    if text.strip() == "ones":
        return engine.ones_like(root)
    return make_value("--grad-output ", text, root.dtype, requires_grad=False, budget=Budget())


def _kind(tensor: Any) -> str | None:
    """``NaN``, ``inf`` or ``-inf`` if the tensor has one such element, else None."""
    if "float" not in str(tensor.dtype) or not tensor.numel():
        return None
    ends = tensor.detach().max().item(), tensor.detach().min().item()  # both are NaN if there is one
    return next((str(end).replace("nan", "NaN") for end in ends if not math.isfinite(end)), None)


def _unknown(name: str, option: str, tensors: Mapping[str, Any]) -> SourceError:
    hint = did_you_mean(name, tensors, f"there are {joined(tensors, 12)}")
    return SourceError(f"{option} {excerpt(name)}: there is no tensor of that name", hint=hint)


def _no_graph(name: str, program: Program, options: SourceOptions, tensors: Mapping[str, Any]) -> SourceError:
    """The error for a root that has no graph: why, and which other tensor has one."""
    tensor, frozen = tensors[name], [free for free in program.free if free in options.frozen]
    dtype = str(tensor.dtype).removeprefix("torch.")
    if "float" not in dtype:
        why = f"it has {dtype} values, and only floating-point ones have gradients"
        hint = "a comparison, or the place of a maximum, has no derivative"
    elif frozen and len(frozen) == len(program.free):
        why, hint = f"all values are frozen ({', '.join(frozen)})", "take one out of --frozen"
    elif not program.free:
        why, hint = "it is made of constants only", "write a name and give it a value: y=x*2 x=3"
    else:
        cut = f"frozen values ({', '.join(frozen)}) and " if frozen else ""
        why, hint = f"it is made from {cut}numbers outside the graph", "detach() and comparisons cut the graph"
    others = [other for other, value in tensors.items() if value.requires_grad and not value.is_leaf]
    if others:
        hint = f"{hint}; --root {others[-1]} has a graph"
    place = program.source.place(program.assigned.get(name, program.statements[-1]))
    shown = "this expression" if name.startswith(ROOT_NAME) and name not in program.names else name
    return SourceError(f"{shown} has no graph, nothing in it requires gradients: {why}", place=place, hint=hint)
