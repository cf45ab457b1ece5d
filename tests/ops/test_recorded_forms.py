"""Every recorded call form: the nodes that it makes, in which order, what they save, and the graph of its gradient."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from typing import Any, NamedTuple

import pytest
from program import ROOT

from gviz import engine
from gviz.engine.nn import functional as F

torch: Any = engine
Shapes = dict[str, tuple[int, ...]]
SHAPE = re.compile(r"(\w+) (\([\d, ]*\))")


class Form(NamedTuple):
    """A call, its operands' shapes, and what was recorded."""

    section: str
    call: str
    shapes: Shapes
    cells: list[str]


def read() -> list[Form]:
    """The rows of all sections. Those about gradients do not tell the operands, but the call and its nodes do."""
    forms: list[Form] = []
    known: dict[tuple[str, str], list[Shapes]] = defaultdict(list)
    section = ""
    for line in (ROOT / "tests" / "recorded" / "oracle" / "ops.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            section = line[3:].split(" (")[0]
        if not line.startswith("| `"):
            continue
        call, rest = re.fullmatch(r"\| `(.*?)` \|(.*)\|", line).groups()  # type: ignore[union-attr]
        cells = [cell.strip() for cell in re.split(r" \| ", f" {rest} ")]
        if section == "The graph of the gradient":
            shapes = known[call, " ".join(sorted(cells[0].split()))].pop(0)
        else:
            shapes = {name: eval(shape) for name, shape in SHAPE.findall(cells.pop(0))}  # noqa: S307 - numbers of ours
            known[call, " ".join(sorted(cells[0].split(" -> ")))].append(shapes)
        forms.append(Form(section, call, shapes, cells))
    return forms


def leaf(name: str, shape: tuple[int, ...]) -> Any:
    """A leaf with numbers that nearly every function is defined for."""
    numbers, count = random.Random(f"{name}{shape}"), 1  # noqa: S311 - the same each time
    for size in shape:
        count *= size
    return torch.tensor([numbers.uniform(0.3, 0.95) for _ in range(count)]).reshape(shape).requires_grad_()


def constants(call: str, shapes: Shapes) -> dict[str, Any]:
    """Return what a call names beside its operands: indices, targets, masks, weights."""
    shape = shapes.get("x", ())
    length = shapes.get("w", (2,))[0]
    along = [[0, 1], [1, 0]] if len(shape) == 2 else [0, 1, 0, 1][:length]
    classes = (
        torch.tensor([0, 2, 0, 1][: shape[0]]) if shape != (2, 2) and shape else torch.tensor([[0.3, 0.7], [0.6, 0.4]])
    )
    indices = {
        "gather|scatter|take_along": along, "one_hot": [0, 2, 1], "embedding": [0, 2],
        "index_(add|copy|put)": [0, 1, 2, 0][:length],
    }  # fmt: skip
    targets = {"nll_loss|F.cross_entropy": classes, "hinge|margin": torch.tensor([1.0, -1.0, 1.0])}

    def chosen(choices: dict[str, Any], default: Any) -> Any:
        return next((value for pattern, value in choices.items() if re.search(pattern, call)), default)

    values = {"i": torch.tensor(chosen(indices, [0, 1])), "t": chosen(targets, torch.full(shape, 0.4))}
    if "masked" in call:
        values["m"] = leaf("x", shape).detach() > 0.6
    if "batch_norm" in call:
        values |= {"m": torch.zeros(shape[1]), "v": torch.ones(shape[1])}
    return values | {"p": torch.tensor([1.5, 2.0]), "w": torch.tensor([1.0, 2.0, 1.0, 0.5])}


def operands(form: Form) -> dict[str, Any]:
    """The names that a call knows."""
    leaves = {name: leaf(name, shape) for name, shape in form.shapes.items()}
    if "acosh" in form.call:
        leaves["x"] = (leaves["x"].detach() + 1).requires_grad_()
    return {"torch": torch, "F": F, **constants(form.call, form.shapes), **leaves}


def nodes_of(tensor: Any) -> list[Any]:
    """The nodes below a tensor, breadth first, without those of leaves."""
    nodes = [] if tensor is None or tensor.grad_fn is None else [tensor.grad_fn]
    seen = set(map(id, nodes))
    for node in nodes:
        fresh = {id(n): n for n, _ in node.next_functions if n is not None and id(n) not in seen}
        seen.update(fresh)
        nodes += fresh.values()
    return [node for node in nodes if type(node).__name__ != "AccumulateGrad"]


def described(result: Any, given: dict[str, Any]) -> list[str]:
    """The nodes in the order in which they were made, and what they save."""
    tensor = result if isinstance(result, torch.Tensor) else result[0]
    if tensor is given.get("x"):
        return ["(the input itself)", ""]
    nodes = sorted(nodes_of(tensor), key=lambda node: node._sequence_nr())
    saved = {type(n).__name__: ", ".join(sorted(k[7:] for k in dir(n) if k.startswith("_saved_"))) for n in nodes}
    names = " -> ".join(type(node).__name__ for node in nodes)
    return [names or "none (not differentiable)", "; ".join(f"{name}: {kept}" for name, kept in saved.items() if kept)]


@pytest.mark.parametrize("form", read(), ids=lambda form: f"{form.section[:8]}-{form.call}")
def test_a_call_makes_the_recorded_nodes(form: Form) -> None:
    if form.section == "In place":
        given = operands(form._replace(shapes={"w": (3,)})) | {"y": leaf("x", (3,)) + 1.5}
        exec(form.call, given)  # noqa: S102 - a call that was recorded
        assert described(given["y"], {}) == form.cells
        return
    given = operands(form if form.shapes else form._replace(shapes={"x": (2, 3)}))
    result = eval(form.call, given)  # noqa: S307 - a call that was recorded
    if form.section != "The graph of the gradient":
        assert described(result, given) == form.cells
        return
    (gradient,) = torch.autograd.grad(
        result.sum(), given[next(iter(form.shapes))], create_graph=True, allow_unused=True
    )
    names = [" ".join(type(node).__name__ for node in nodes_of(tensor)) for tensor in (result, gradient)]
    assert [names[0], names[1] or "constant"] == form.cells
