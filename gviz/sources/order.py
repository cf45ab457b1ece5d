"""The graph of a derivative: ``--order 1`` draws dy/dx as ``torch.autograd.grad(y, x, create_graph=True)`` records it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gviz.errors import SourceError
from gviz.flow import engine_of, flow
from gviz.options import SourceOptions
from gviz.sources.derivatives import results_noted
from gviz.sources.notes import Note
from gviz.sources.reading import find_aliases
from gviz.text import did_you_mean, joined, quotient_of

HINTS = {
    "second time": "the script's backward() has freed the graph: write backward(retain_graph=True), or take it out",
    "inplace": "a tensor of the graph was changed since, as optimizer.step() changes parameters: take that out",
}
"""What is in PyTorch's words, and what to do."""


def derivatives(
    roots: Mapping[str, Any], names: Mapping[str, Any], options: SourceOptions
) -> tuple[dict[str, Any], list[Note]]:
    """Return the derivatives of the roots, each differentiated ``options.order`` times by one and the same tensor.

    Args:
        roots: name -> tensor, of gviz's engine or of the real torch.
        names: the tensors that have a name; all leaves among them are taken, unless ``options.wrt`` names others.
        options: order, wrt, and what a root that is not a scalar starts from.

    Returns:
        The derivatives by their names, and a note for each one that has no graph.

    Raises:
        SourceError: no derivative has a graph; the graph has been freed; a root needs ``--grad-output``; a wrong name.
    """
    is_weighted = options.grad_output not in (None, "ones")
    if is_weighted and any(root.numel() == 1 for root in roots.values()):  # what is called ∂y/∂x would be another thing
        raise SourceError(
            f"--grad-output {options.grad_output}: with --order, the derivatives of a scalar start from 1",
            hint="write the factor in the formula, as in y=2*x**3",
        )
    tensors = _tensors_of(names, options.wrt)
    grads: dict[str, Any] = {}
    lacking: list[str] = []
    notes: list[str] = []
    for name, root in roots.items():
        firsts = _grad(name, root, list(tensors.values()), options)  # at once: what they have in common is there once
        higher = replace(options, grad_output=options.grad_output and "ones")  # a factor is put in once
        leaves = [by for by, first in zip(tensors, firsts, strict=True) if first is not None]
        if options.order > 1 and len(leaves) > 1:
            mixed = quotient_of(quotient_of(name, leaves[0]), leaves[1])
            notes.append(f"each is derived by one tensor alone: mixed derivatives, such as {mixed}, are not drawn")
        for (by, tensor), first in zip(tensors.items(), firsts, strict=True):
            grad, order = first, 1
            if grad is None and not options.wrt:
                continue
            while order < options.order and grad is not None and grad.requires_grad:
                (grad,), order = _grad(quotient_of(name, by, order), grad, [tensor], higher), order + 1
            if grad is not None and grad.requires_grad and order == options.order:
                grads[quotient_of(name, by, order)] = grad
            elif grad is None:
                before = name if order == 1 else quotient_of(name, by, order - 1)
                lacking.append(
                    f"{before} does not depend on {by}, so {quotient_of(name, by, order)} is 0 and has no graph"
                )
            else:
                value = f" = {grad.item():g}" if grad.numel() == 1 else ""
                lacking.append(
                    f"{quotient_of(name, by, order)}{value} is constant: it does not require grad, and has no graph"
                )
    if grads:
        return grads, list(map(Note, lacking + notes))
    none = f"{joined(roots)} depends on no leaf that has a name"
    hint = "without --order the graph of the root itself is drawn" if options.order == 1 else "take a smaller --order"
    raise SourceError(lacking[0] if lacking else none, hint=hint)


def factors(roots: Mapping[str, Any]) -> Mapping[Any, Any]:
    """Return the local derivatives in the graphs of a script's derivatives, from which no backward is going to run."""
    return flow(engine_of(next(iter(roots.values()))), [*roots.values()], has_gradient=False)


def _tensors_of(names: Mapping[str, Any], wrt: Sequence[str]) -> dict[str, Any]:
    """Return the tensors to differentiate by, each once.

    SourceError for a name of none, or of one without gradients.
    """
    if not wrt:
        leaves = {name: tensor for name, tensor in names.items() if tensor.is_leaf and tensor.requires_grad}
        aliases = find_aliases(leaves)
        return {name: leaf for name, leaf in leaves.items() if name not in aliases}
    for name in wrt:
        if name not in names:
            raise SourceError(
                f"--wrt {name}: there is no tensor of that name", hint=did_you_mean(name, names, joined(names))
            )
        if not names[name].requires_grad:
            raise SourceError(f"--wrt {name}: {name} requires no gradient", hint="it is frozen, a constant, or cut off")
    return {name: names[name] for name in wrt}


def _grad(name: str, tensor: Any, by: list[Any], options: SourceOptions) -> Sequence[Any]:
    """Return the gradients of a tensor, with their graph; None for what it was not made from."""
    engine = engine_of(tensor)
    try:
        start = _start(engine, tensor, options.grad_output)
        with results_noted():
            grads: Sequence[Any] = engine.autograd.grad(tensor, by, start, create_graph=True, allow_unused=True)
    except RuntimeError as error:
        text = str(error).partition(". ")[0]
        hint = next((hint for words, hint in HINTS.items() if words in text), None)
        if "scalar outputs" in text or "Mismatch in shape" in text:
            hint = f"{name} has shape {tuple(tensor.shape)}; --grad-output ones supplies a gradient"
        raise SourceError(f"--order {options.order}: {text}", hint=hint) from None
    return grads


def _start(engine: Any, tensor: Any, text: str | None) -> Any:
    """Return what differentiation of a tensor starts from; None for a scalar's 1."""
    if text is None or text == "ones":
        return text and engine.ones_like(tensor)
    from gviz.sources.expression.values import find_dtype, make_value

    value = make_value("--grad-output ", text, find_dtype("float64"), requires_grad=False)
    return None if tensor.numel() == 1 != value.numel() else engine.tensor(value.tolist(), dtype=tensor.dtype)
