"""Questions to tensors and models while their program runs: what the commands answer about a source, in Python.

Nobody has followed the program here, so that its lines are not known; all else is what the commands say.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from html import escape
from shutil import get_terminal_size
from typing import Any

from gviz import answers, drawing, render, sources
from gviz.answers.summary import GraphSummary, summary as summary_of_graph
from gviz.causes.diagnosis import Cause
from gviz.causes.layers import causes_in
from gviz.derivations.derivation import MOST_PATHS, derive
from gviz.drawing import Drawing, Nest, SourceLike, caller_tensors, caller_variables, is_nest
from gviz.errors import ArgumentError, warn_user
from gviz.flow import as_brought
from gviz.graphs import LOST, NOW, Graph
from gviz.graphs.numbers import Numbers
from gviz.live import live_graph
from gviz.pictures.options import RenderOptions
from gviz.pictures.table import html_table, table_beside
from gviz.text import amount, joined
from gviz.walk import ModuleLike, Params, TensorLike, by_name, is_tensor, numbers

MOST_ROWS, MOST_FAILURES = 40, 3
"""Rows of a table of which all are listed; verdicts of a failed test of which one is told in full."""

UNCHECKED = ("cleared", "hidden")
"""Verdicts on gradients that a test cannot check: it was too late for it, or too early."""


class Causes(Sequence[Cause]):
    """Why the gradients of some tensors are what they are: ``print()`` shows a table, and so does a notebook.

    Args:
        graph: what they are read off.
        causes: one for each tensor, in order; ``causes["fc.weight"]`` is that of a tensor.
    """

    def __init__(self, graph: Drawing, causes: Sequence[Cause]) -> None:
        self.graph, self.causes = graph, tuple(causes)
        self.gradients = {row.name: row.grad.value for row in graph.tensors}

    def __len__(self) -> int:
        return len(self.causes)

    def __getitem__(self, at: int | slice | str) -> Any:
        """Return the cause of a tensor, by its name or its place."""
        return {cause.name: cause for cause in self.causes}[at] if isinstance(at, str) else self.causes[at]

    @property
    def wrong(self) -> list[Cause]:
        """Those of gradients that cannot be used."""
        return [cause for cause in self.causes if cause.is_wrong]

    @property
    def notes(self) -> list[str]:
        """What there is to say besides: how many are wrong, and whether the root is not finite."""
        names = [node.name for root in self.graph.roots if (node := self.graph.by_id[root]).name]
        values = {row.name: row.value for row in self.graph.tensors}
        bad = {name: number for name in names if (value := values.get(name)) and (number := value.not_finite)}
        count = f"{len(self.wrong)} of {len(self)} gradients are not as they should be"
        return [
            *([count] if self.wrong else []),
            *(f"{name} is {number}: to ask about it alone may tell where that began" for name, number in bad.items()),
        ]

    def columns(self, causes: Sequence[Cause]) -> dict[str, list[str]]:
        """Return the texts of a table of causes, by its headings."""
        grads = [self.gradients.get(cause.name) for cause in causes]
        places = [str(cause.lines[-1][0]) if cause.lines else "" for cause in causes]
        columns = {
            "name": [cause.name for cause in causes],
            "why": [cause.verdict for cause in causes],
            "‖grad‖": ["" if grad is None or not grad.is_known else f"{grad.norm:.3g}" for grad in grads],
            "where": places,
            "mend": [cause.mend if cause.is_wrong else "" for cause in causes],
        }
        return {key: cells for key, cells in columns.items() if any(cells) or key in ("name", "why")}

    def table(self, causes: Sequence[Cause]) -> str:
        """Return a table as text, as wide as the terminal."""
        columns = self.columns(causes)
        mends = columns.pop("mend", [])
        return table_beside(columns, {"mend": mends} if mends else {}, get_terminal_size().columns)

    def __str__(self) -> str:
        """Return the table, of many tensors without those that are fine."""
        causes = self.causes if len(self) <= MOST_ROWS else [one for one in self.causes if one.verdict != "ok"]
        count = f"{amount(len(self) - len(causes), 'gradient')}{' more' * bool(causes)}: ok"
        rest = [count] if len(causes) < len(self) else []
        return "\n".join([*([self.table(causes)] if causes else []), *rest, *self.notes])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return the table as a notebook shows it."""
        return html_table(self.columns(self.causes)) + "".join(f"<p>{escape(note)}</p>" for note in self.notes)

    def to_dict(self) -> list[dict[str, Any]]:
        """Return the causes as plain data, as ``gviz why --json`` prints them."""
        return [cause.as_dict() for cause in self.causes]


def why(source: SourceLike, model: Params = None) -> Any:
    """Return why gradients are what they are: ``gviz.why(loss, model)``, before backward or after it.

    Where backward has not run, or has kept its graph, the gradients are computed by ``torch.autograd.grad``: ``.grad``
    and the graph stay as they are, hooks of the program run. Else they are what ``.grad`` has.

    >>> from gviz import engine as torch
    >>> net = torch.nn.Linear(2, 1)
    >>> head = torch.nn.Linear(1, 1)
    >>> loss = net(torch.ones(1, 2)).sum()
    >>> [cause.verdict for cause in why(loss, net)], why(loss, head)["bias"].verdict, why(loss, net.bias).verdict
    (['ok', 'ok'], 'no path', 'ok')

    Args:
        source: the loss, or several, as :func:`gviz.graph` takes them; with nothing else, a tensor that is asked about
            itself. Or a source that :func:`gviz.read` takes, or what it has returned.
        model: what is asked about: a module, ``named_parameters()``, a dictionary, a list of tensors, or one tensor. Of
            a source that is read the name of a tensor; None for all leaves.

    Returns:
        The cause for one tensor, or a table of the causes for several.
    """
    if isinstance(source, str | os.PathLike):
        source = drawing.read(
            source, sources.SourceOptions(diagnose=True, names=() if model is None else (str(model),))
        )
    if isinstance(source, sources.Reading | Graph):
        graph = drawing.drawing_of(as_brought(source if isinstance(source, Graph) else source.graph))
        return causes_in(graph, [model])[0] if model is not None else Causes(graph, causes_in(graph))
    asked = source if model is None else model
    if not is_tensor(asked):
        parameters = by_name(asked)
        if isinstance(asked, list | tuple):  # variables are better names than places
            parameters = {variable_of(one) or name: one for name, one in parameters.items()}
        return causes_of(source, parameters, asked if hasattr(asked, "named_modules") else None)
    name = variable_of(asked) or "tensor"
    if model is None and asked.is_leaf:
        return cause_of_leaf(name, asked)
    return causes_of(source, {name: asked}).causes[0]


def variable_of(tensor: TensorLike) -> str:
    """Return the name that the caller's variables have for a tensor; "" for none."""
    return next((name for name, one in caller_variables([tensor]).items() if one is tensor), "")


def causes_of(source: Nest, parameters: Mapping[str, TensorLike], model: ModuleLike | None = None) -> Causes:
    """Return the causes for parameters, and for the leaves that their module holds and does not list as parameters."""
    graph = drawing.drawing_of(as_brought(live_graph(source, parameters, model)))
    names = [*parameters, *(row.name for row in graph.tensors if row.unlisted is not None)]
    if not names:
        raise ArgumentError("there are no parameters to ask about: what is given as a model has none")
    return Causes(graph, causes_in(graph, names))


def cause_of_leaf(name: str, leaf: TensorLike) -> Cause:
    """Return the cause for a leaf where no root is given: no graph leads from a leaf to what is made from it."""
    if not leaf.requires_grad:
        return Cause(name, "frozen", f"{name} does not require a gradient", (), f"{name}.requires_grad_()")
    mend = f"gviz.why(loss, {name}) looks for the cause in the graph of a loss"
    if leaf.grad is None:
        return Cause(
            name, "no gradient", f"{name}.grad is None: no backward has come to it, or it was cleared", (), mend
        )
    grad = numbers(leaf.grad)
    verdict = "zero" if grad.has_only(0) else grad.not_finite.removeprefix("-")
    if verdict:
        return Cause(name, verdict, f"{name}.grad is {'0' if verdict == 'zero' else grad.not_finite}", (), mend)
    return Cause(name, "ok", f"{name} has a gradient of norm {grad.norm:.3g}")


def assert_gradients(
    loss: Nest,
    model: Params,
    *,
    allow_none: Sequence[str] = (),
    nonzero: bool = True,
    finite: bool = True,
    max_norm: float | None = None,
) -> Causes:
    """Check that each parameter that requires a gradient gets one: ``gviz.assert_gradients(loss, net)`` in a test.

    It does not matter whether backward has run: see :func:`gviz.why`.

    Args:
        loss: the root.
        model: a module, ``named_parameters()``, a dictionary or a list of tensors.
        allow_none: patterns of the names of parameters that may have none: ``("aux.*",)``.
        nonzero: whether a gradient of zeros is a fault; where another one is not 0, only if that cannot be meant, as it
            may be of a bias whose parts cancel out, and in LoRA at its start.
        finite: whether nan or inf is one.
        max_norm: what the norm of all gradients together may be at most; None for anything.

    Returns:
        The causes for all parameters.

    Raises:
        AssertionError: one of them has no such gradient; its text says why.
    """
    __tracebackhide__ = True
    causes: Causes = why(loss, model if not is_tensor(model) else [model])
    patterns = [allow_none] if isinstance(allow_none, str) else [*allow_none]
    for pattern in patterns:
        if not any(fnmatchcase(cause.name, pattern) for cause in causes):
            warn_user(f"allow_none: no parameter is named as {pattern!r} says")
    frozen = {row.name for row in causes.graph.tensors if not row.requires_grad}
    trained = [cause for cause in causes if cause.name not in frozen]
    failed, is_still = [], all(one.has_only(0) for one in causes.gradients.values() if one is not None)
    for cause in trained:
        grad = causes.gradients.get(cause.name)
        if grad is None:
            is_bad = not any(fnmatchcase(cause.name, pattern) for pattern in patterns)
        else:
            is_zero = (cause.verdict == "zero" or grad.has_only(0)) and (is_still or not cause.is_meant)
            is_fault = (nonzero and is_zero) or (finite and not grad.is_finite)
            is_bad = is_fault or causes.graph.stop is not None  # backward fails: the gradient is of another root
        failed += [cause] if is_bad else []
    norm = math.hypot(*(grad.norm for one in trained if (grad := causes.gradients.get(one.name)) is not None))
    text = ""
    if not trained:
        text = "no parameter requires a gradient"
    elif failed:
        first = [*{cause.verdict: cause for cause in reversed(failed)}.values()][: -MOST_FAILURES - 1 : -1]
        rest = [cause for cause in failed if cause not in first]
        hidden, count = [cause for cause in failed if cause.verdict in UNCHECKED], amount(len(trained), "parameter")
        heads = [f"{len(failed) - len(hidden)} of {count} have no gradient as it should be"] * (failed != hidden)
        heads += [f"of {len(hidden)} of {count} it is not known whether they have a gradient"] * bool(hidden)
        text = "\n\n".join(["; ".join(heads), *map(str, first), *([causes.table(rest)] if rest else [])])
    elif max_norm is not None and not norm <= max_norm:
        largest = sorted(trained, key=lambda one: -(causes.gradients[one.name] or Numbers()).norm)[:MOST_FAILURES]
        text = f"the norm of all gradients is {norm:.4g}, more than max_norm={max_norm:g}\n\n{causes.table(largest)}"
    if text:
        raise AssertionError(text)
    return causes


def explain(
    source: SourceLike, wrt: Nest = (), *, max_paths: int = MOST_PATHS, params: Params = None, **words: Any
) -> answers.Explanation:
    """Return the chain rule, path by path, of a tensor or of a source; or what an operation, an error or a word means.

    >>> from gviz import engine as torch
    >>> x, w = torch.tensor(2.0), torch.tensor(3.0, requires_grad=True)
    >>> print(explain(x * w, "w", params={"x": x, "w": w}))
    The gradient of output, path by path
    <BLANKLINE>
      x = 2, w = 3
      output = x·w = 6
    <BLANKLINE>
    ∂output/∂w: one path
      output → w   ∂output/∂w = x = 2
      ∂output/∂w = 2
      equals the engine's gradient; w.grad itself is None: backward() has not run,
      or it was cleared

    Args:
        source: a tensor, or what :func:`gviz.graph` takes; a source or a word as :func:`gviz.answers.explain` takes it.
        wrt: tensors whose gradients are derived, or their names; all leaves if there is none.
        max_paths: how many paths to each tensor are listed; all of them are counted and added.
        params: tensors by name, as for :func:`gviz.graph`.
        words: as for :func:`gviz.answers.explain`.
    """
    asked = [wrt] if isinstance(wrt, str) or is_tensor(wrt) else [*wrt]
    names: list[Any] = [variable_of(one) or f"wrt[{at}]" if is_tensor(one) else one for at, one in enumerate(asked)]
    if not (is_tensor(source) or is_nest(source)):
        return answers.explain(source, names, max_paths=max_paths, **words)
    variables = caller_tensors()
    tensors = variables | {name: one for name, one in zip(names, asked, strict=True) if is_tensor(one)}
    # what requires a gradient and is a variable has its name in the graph already, if it is there
    more = {
        name: tensors[name]
        for name in names
        if name in tensors and not (name in variables and tensors[name].requires_grad)
    }
    graph = drawing.graph(source, {**more, **by_name(params)}, flow=True)
    if any(node.state in LOST for node in graph.nodes):  # what is written by way of .data is not counted as written
        leaves_now = (node._replace(state=NOW) if node.kind == "leaf" else node for node in graph.nodes)
        graph = graph.changed(nodes=tuple(leaves_now))
    return answers.Explanation("source", derive(graph, names, max_paths))


def summary(source: SourceLike, model: Params = None, *, params: Params = None, **values: object) -> GraphSummary:
    """Return a graph in numbers: of a tensor and the module that has made it, of a graph, or of a source.

    >>> from gviz import engine as torch
    >>> net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
    >>> summary(net(torch.ones(1, 2)).sum(), net).parameters
    9

    Args:
        source: a tensor, or what :func:`gviz.graph` takes; a graph; a source, or what :func:`gviz.read` has returned.
        model: the module that the tensor was computed by.
        params: tensors by name, as for :func:`gviz.graph`.
        values: those of the names of an expression, ``gviz.summary("y=x*w", x=2)``.
    """
    if isinstance(source, str | os.PathLike):
        source = drawing.read(source, None, **values)
    elif values:
        raise ArgumentError(f"{joined(values)} not used: values are of an expression, as in gviz.summary('y=x*w', x=2)")
    elif is_tensor(source) or is_nest(source):
        source = drawing.graph(source, params, model=model)
    return summary_of_graph(source)


def save(
    source: SourceLike,
    path: str | os.PathLike[str],
    options: RenderOptions | None = None,
    *,
    model: Params = None,
    params: Params = None,
) -> str:
    """Write a picture, or the graph itself: ``gviz.save(loss, "run.json", model=net)``.

    The commands read a graph of ``.json`` where there is no torch: ``gviz why run.json``. It has each ``.grad``,
    and what backward adds to it, computed as for :func:`gviz.why`.

    Args:
        source: a tensor, or what :func:`gviz.graph` takes; a graph, or what :func:`gviz.read` has returned.
        path: where to, as for :func:`gviz.render.save`.
        options: how to draw it.
        model: the module that the tensors are of.
        params: tensors by name.
    """
    if not isinstance(source, sources.Reading | Graph):
        source = live_graph(source, {**by_name(model, remove_duplicate=False), **by_name(params)}, model)
    return render.save(source, path, options)
