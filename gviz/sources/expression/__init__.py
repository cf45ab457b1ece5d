"""Expressions: ``y=(x+w)*(w+1)`` to tensors of gviz's engine, with a name for each.

An expression is read by Python's parser, held against an allow-list, compiled once with a hook around each piece, and
run. A tensor without a name is called a, b, c ... in the order of computing.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from gviz import engine
from gviz.engine import Tensor
from gviz.errors import SourceError
from gviz.graphs import Place
from gviz.options import SourceOptions
from gviz.sources.derivatives import results_noted
from gviz.sources.expression.allowed import RANDOM, is_function
from gviz.sources.expression.limits import Budget
from gviz.sources.expression.naming import Names
from gviz.sources.expression.parse import read_program
from gviz.sources.expression.program import ExpressionText, Program
from gviz.sources.expression.run import ENGINE_ERRORS, FILE, engine_error, run_program
from gviz.sources.expression.values import make_leaves, make_value, normalize_name
from gviz.sources.notes import Note, short_text
from gviz.sources.order import derivatives
from gviz.sources.run import Pass, Run
from gviz.text import did_you_mean, excerpt, joined, name_among, shorten
from gviz.walk import NodeFlow, NodeLike

if TYPE_CHECKING:
    from gviz.sources.lines import Lines

SCALARS = "grad can be implicitly created only for scalar outputs"
"""PyTorch's words for backward from a tensor with more elements than one."""

TARGETS = {
    "cross_entropy": (1, "target"),
    "nll_loss": (1, "target"),
    "multi_margin_loss": (1, "target"),
    "embedding": (0, "input"),
    "one_hot": (0, "input"),
}
"""Functions that want integers -> where they take them, and by which name."""

MAX_READ = 300
"""Characters of a note that says what was read."""

NO_GRAPH = "element 0 of tensors does not require grad and does not have a grad_fn"
"""PyTorch's words for backward from a tensor that nothing with a gradient is in."""

MOST_COMPARED = 100
"""Numbers in the tensors of an expression that is computed a second time, as float64, at most."""

BEYOND = 1e-6
"""What a result of float32 is off by, as a part of it, if more of it is wrong than its last digit."""

MOST_WARNINGS = 3
"""More values that are not used have one warning together: they come from a file of them."""


def evaluate(text: str, options: SourceOptions | None = None) -> Run:
    """Compute an expression, and run backward from its roots.

    Args:
        text: statements separated by ``;`` or newlines; the last assigned name is the root, or a formula without a
            name.
        options: values of the names, roots, what is frozen or retained.

    Returns:
        Every named tensor, the roots, what the automatic names stand for, and what there is to say.

    Raises:
        SourceError: it cannot be read, computed or drawn; with the place of what is wrong.

    >>> result = evaluate("y=(x+w)*(w+1)", SourceOptions(values={"x": "2", "w": "1"}))
    >>> {name: tensor.item() for name, tensor in result.names.items()}
    {'x': 2.0, 'w': 1.0, 'a': 3.0, 'b': 2.0, 'y': 6.0}
    >>> result.expressions, result.names["w"].grad.item()
    ({'a': 'x + w', 'b': 'w + 1'}, 5.0)
    """
    options = _normalized(options or SourceOptions())
    program = read_program(ExpressionText(text), options.values)
    options = with_names(options, program)
    _check_frozen(program, options)
    notes = notes_on_names(program, options)
    try:
        names, last, lines = _run(program, options)
    except SourceError as error:
        classes = _class_numbers(program, options, error)
        if not classes:
            raise
        program = read_program(ExpressionText(text), options.values)  # as it was before it ran
        names, last, lines = _run(program, options, classes)
    tensors, notes = names.tensors, notes_on_reading(program) + notes
    roots, refused = _find_roots(program, options, tensors, last)
    notes += _retain(options.retain, tensors)
    if options.order:
        roots, more = derivatives(roots, tensors, options)
        tensors, notes = tensors | roots, notes + more
    about = Pass(
        "backward", flow=_flow(options, tuple(roots.values())) if (options.flow or options.shares) and roots else {}
    )  # before it is freed
    if options.backward:
        notes += _run_backward(program, options, roots)
        if (
            options.jacobians
            and options.dtype is None
            and sum(one.numel() for one in tensors.values()) <= MOST_COMPARED
        ):
            notes += _beyond_float32(text, options, tensors, roots)
        if roots and not about.flow:
            about = replace(about, late_flow=partial(_flow, replace(options, jacobians=True), tuple(roots.values())))
    run = Run(tensors, roots, names.expressions, names.statements, tuple(notes), lines, about, code=text)
    return replace(run, error=SourceError(NO_GRAPH), notes=(*notes, Note(refused.what, "warning"))) if refused else run


def _run(program: Program, options: SourceOptions, classes: Collection[str] = ()) -> tuple[Names, str, Lines | None]:
    """Return the named tensors of a program, the name of its root, and what is told of places.

    Args:
        program: the expression.
        options: the values of its names.
        classes: names whose values are the numbers of classes: integers, without a gradient.
    """
    lines, budget = _lines(program, options), Budget()
    texts = [program.source.code, *map(str, options.values.values())]
    if not RANDOM.isdisjoint(re.findall(r"\w+", " ".join(texts))):
        engine.manual_seed(0)
    leaves = make_leaves(program, options, budget, classes)
    names = Names(program, leaves, options.values)
    with lines.trace.listening() if lines else nullcontext(), results_noted() if options.flow else nullcontext():
        return names, names.root(run_program(program, leaves.values(), budget, names)), lines


def _class_numbers(program: Program, options: SourceOptions, error: SourceError) -> list[str]:
    """Return the names that are nothing but targets of losses which want integers, if that is what an error says."""
    if not re.search(r"\bLong\b|int64", error.what):
        return []
    uses = Counter(node.id for parts in program.parts.values() for node in parts if isinstance(node, ast.Name))
    targets: Counter[str] = Counter()
    for piece, word in program.words.items():
        if isinstance(piece, ast.Call) and word in TARGETS:
            at, key = TARGETS[word]
            arguments = [*piece.args[at : at + 1], *(one.value for one in piece.keywords if one.arg == key)]
            targets.update(node.id for node in arguments if isinstance(node, ast.Name))
    names = [
        name for name in targets if name in program.free and name in options.values and targets[name] == uses[name]
    ]
    values = {name: make_value(name, options.values[name], engine.float32, requires_grad=False) for name in names}
    return [name for name, value in values.items() if bool((value == value.floor()).all())]


def _lines(program: Program, options: SourceOptions) -> Lines | None:
    """Return what is told of the places of an expression's operations, if they are asked for."""
    if not (options.lines or options.kept or options.costs):
        return None
    from gviz.sources.lines import Lines
    from gviz.trace import Trace

    def place(where: Place) -> Place:
        """Return a place in what was compiled as one in what was typed."""
        near: Any = SimpleNamespace(lineno=where.line, col_offset=where.column - 1)
        origin = program.source.place(near)
        return Place(where.line, column=(origin.column or 0) + 1)

    trace = Trace(engine, FILE.__eq__, columns=True, timed=options.costs)
    return Lines(trace, place, keeps=options.kept or options.costs)


def _flow(options: SourceOptions, roots: Sequence[engine.Tensor]) -> Mapping[NodeLike, NodeFlow]:
    """Return how the gradient flows; the factors alone where backward does not run."""
    from gviz.flow import flow

    return flow(
        engine,
        roots,
        [_grad_output(options, root) for root in roots],
        has_gradient=options.backward and (options.grad_output is not None or all(root.numel() == 1 for root in roots)),
        jacobians=options.jacobians,
        elements=options.most,
    )


def _normalized(options: SourceOptions) -> SourceOptions:
    """Return the options with the name of every value as Python reads it."""
    values: dict[str, str] = {}
    for name, text in options.values.items():
        plain = normalize_name(name)
        if plain in values:
            raise SourceError(f"{plain} has a value twice", hint="leave one out")
        values[plain] = text
    return replace(options, values=values)


def with_names(options: SourceOptions, program: Program) -> SourceOptions:
    """Return the options with the names of an expression for those that were typed with other signs, as w₂."""
    names = {*program.names, *options.values}
    lists = {
        key: tuple(dict.fromkeys(name_among(name, names) for name in getattr(options, key)))
        for key in ("roots", "frozen", "retain", "wrt")
    }
    return replace(options, **lists)  # type: ignore[arg-type]


def _check_frozen(program: Program, options: SourceOptions) -> None:
    """Refuse to freeze a name that has no value of its own."""
    for name in [name for name in options.frozen if name not in program.free and name not in options.values]:
        if name in program.assigned:
            raise SourceError(
                f"--frozen {name}: {name} is computed; only values can be frozen",
                hint=f"freeze the values that it is made from, or write {name} = (...).detach()",
            )
        raise SourceError(
            f"--frozen {excerpt(name)}: there is no value of that name",
            hint=did_you_mean(
                name,
                program.free,
                f"the values are {', '.join(program.free)}" if program.free else "there is no value in it",
            ),
        )


def notes_on_reading(program: Program) -> list[Note]:
    """Return notes on the expression, and on values, that were read as another text than what was typed."""
    texts = [program.reading(), *program.readings]
    return [Note(f"read as {shorten(text, MAX_READ, middle=True, mark=' … ')}") for text in texts if text]


def names_behind(program: Program, name: str) -> set[str]:
    """Return the names that the statement which assigns a name first is made from, those of earlier ones with it."""
    behind: dict[str, set[str]] = {}
    for statement in program.statements:
        names = {node.id for node in ast.walk(statement.value) if isinstance(node, ast.Name)}
        names |= {one for name in names for one in behind.get(name, ())}
        for target in getattr(statement, "targets", ()):
            for node in ast.walk(target):
                if isinstance(node, ast.Name):
                    behind.setdefault(node.id, names)
    return behind.get(name, set())


def notes_on_names(program: Program, options: SourceOptions) -> list[Note]:
    """Return notes on values that are missing, not used, or known without being given."""
    notes: list[Note] = []
    missing = [name for name in program.free if name not in options.values]
    if missing:
        functions = [name for name in missing if len(name) > 1 and is_function(name)]
        more = f" (to call the function, write {functions[0]}(...))" if functions else ""
        more += "; exp(x) is the exponential function" if "e" in missing else ""
        letter = next(
            (letter for letter in "ij" if letter in missing and re.search(rf"\d{letter}\b", program.source.code)), ""
        )
        more += f"; {letter} is a name here, there are no complex numbers" if letter else ""
        notes.append(Note(f"{', '.join(missing)} not given: 1.0 used{more}"))
    early = [name for name in missing if name in program.assigned and name not in names_behind(program, name)]
    if early:
        it = f"the statement that makes {'it' if len(early) == 1 else 'them'}"
        what = f"{joined(early)} {'is' if len(early) == 1 else 'are'} used before {it}; write that one first"
        notes.append(Note(what, "warning"))
    if program.constants:
        notes.append(Note(f"{', '.join(program.constants)}: the constant of that name; a value of yours wins"))
    others = {name: value for name, value in options.values.items() if name not in program.free}
    if len(others) > MOST_WARNINGS:
        text = joined([f"{name}={short_text(value)}" for name, value in others.items()], 2)
        return [*notes, Note(f"{text} not used: the expression has no such names, or assigns them itself", "warning")]
    for name, value in others.items():
        if name in program.assigned:
            reasons = [f"the expression assigns {name} itself"]
        else:
            reasons = [f"the expression has no {name}", did_you_mean(name, missing) or ""]
        notes.append(Note(f"{name}={short_text(value)} is not used: {'; '.join(filter(None, reasons))}", "warning"))
    return notes


# ------------------------------------------------------------------ roots
def _find_roots(
    program: Program, options: SourceOptions, tensors: Mapping[str, Tensor], last: str
) -> tuple[dict[str, Tensor], SourceError | None]:
    """Return the roots by name, and the error for what has no graph, if that is to be explained.

    Raises:
        SourceError: one is not there, or nothing that it is made from requires gradients.
    """
    roots = {name: _tensor_of("--root", name, tensors) for name in options.roots or (last,)}
    for name, root in roots.items():
        if not root.requires_grad:
            refused = _no_graph(name, program, options, tensors)
            if not options.diagnose:
                raise refused
            return {}, refused
    return roots, None


def _retain(names: Sequence[str], tensors: Mapping[str, Tensor]) -> Iterator[Note]:
    """Let intermediates keep their gradients; SourceError for no such tensor, or one without gradients."""
    for name in names:
        tensor = _tensor_of("--retain", name, tensors)
        if tensor.is_leaf and tensor.requires_grad:
            yield Note(f"{name} is a leaf: it keeps its gradient without --retain")
            continue
        try:
            tensor.retain_grad()
        except ENGINE_ERRORS as error:
            raise SourceError(
                f"--retain {name}: {error}", hint="nothing that it is made from requires gradients"
            ) from error


def _run_backward(program: Program, options: SourceOptions, roots: Mapping[str, Tensor]) -> Iterator[Note]:
    """Run backward from each root, the graph retained, and say from which one it cannot run."""
    for name, root in roots.items():
        if options.grad_output is None and root.numel() != 1:
            yield Note(
                f"{SCALARS}: {name} has shape {tuple(root.shape)}; --grad-output ones supplies a gradient", "warning"
            )
            continue
        try:
            root.backward(_grad_output(options, root), retain_graph=True)
        except ENGINE_ERRORS as error:
            if options.grad_output not in (None, "ones"):
                raise SourceError(
                    str(error), hint=f"--grad-output needs the shape of {name}, {tuple(root.shape)}"
                ) from error
            raise engine_error(error, program.source, program.statements[-1]) from error


def _beyond_float32(
    text: str, options: SourceOptions, tensors: Mapping[str, Tensor], roots: Mapping[str, Tensor]
) -> Iterator[Note]:
    """Yield a note on the roots and gradients, if they are numbers, that float32 has not the digits for."""
    if not RANDOM.isdisjoint(re.findall(r"\w+", " ".join([text, *map(str, options.values.values())]))):
        return
    exact = None
    with suppress(SourceError):
        exact = evaluate(text, replace(options, dtype="float64", flow=False, shares=False, jacobians=False))
    if exact is None:
        return
    pairs: list[tuple[str, Tensor | None, Any]] = [(name, root, exact.roots[name]) for name, root in roots.items()]
    pairs += [(f"{name}.grad", one.grad, exact.names[name].grad) for name, one in tensors.items() if one.is_leaf]
    texts = [
        f"{name} = {other.item():.8g}"
        for name, one, other in pairs
        if one is not None and other is not None and one.numel() == 1 and is_beyond(one.item(), other.item())
    ]
    if texts:
        yield Note(f"float32 has seven digits, too few here: with --dtype float64 {joined(texts, 4)}")


def is_beyond(value: float, exact: float) -> bool:
    """Return whether a number is off by more than its last digit.

    >>> is_beyond(1647.0205, 1647.0095), is_beyond(0.1, 0.10000001), is_beyond(float("nan"), 1.0)
    (True, False, False)
    """
    return abs(value - exact) > BEYOND * abs(exact)


def _grad_output(options: SourceOptions, root: Tensor) -> Tensor | None:
    """Return what backward starts from at a root; None for 1."""
    text = f"ones({tuple(root.shape)})" if options.grad_output == "ones" else options.grad_output
    return None if text is None else make_value("--grad-output ", text, root.dtype, requires_grad=False)


def _tensor_of(option: str, name: str, tensors: Mapping[str, Tensor]) -> Tensor:
    """Return the tensor that an option names; SourceError if there is none."""
    if name not in tensors:
        hint = did_you_mean(name, tensors, f"there are {joined(tensors, 12)}")
        raise SourceError(f"{option} {excerpt(name)}: there is no tensor of that name", hint=hint)
    return tensors[name]


def _no_graph(name: str, program: Program, options: SourceOptions, tensors: Mapping[str, Tensor]) -> SourceError:
    """Return the error for a root that has no graph: why, and which other tensor has one."""
    tensor, frozen = tensors[name], [free for free in program.free if free in options.frozen]
    dtype, names = str(tensor.dtype).removeprefix("torch."), ", ".join(frozen)
    reasons = (
        (
            "float" not in dtype,
            f"it has {dtype} values, and only floating-point ones have gradients",
            "a comparison, or the place of a maximum, has no derivative",
        ),
        (frozen and len(frozen) == len(program.free), f"all values are frozen ({names})", "take one out of --frozen"),
        (not program.free, "it is made of constants only", "give a name a value: y=x*2 x=3"),
        (
            True,
            f"it is made from {f'frozen values ({names}) and ' if frozen else ''}numbers outside the graph",
            "detach() and comparisons cut the graph",
        ),
    )
    why, hint = next((why, hint) for applies, why, hint in reasons if applies)
    others = [other for other, value in tensors.items() if value.requires_grad and not value.is_leaf]
    if others:
        hint = f"{hint}; --root {others[-1]} has a graph"
    place = program.source.place(program.assigned.get(name, program.statements[-1]))
    subject = "this expression" if isinstance(program.statements[-1], ast.Expr) and name not in program.names else name
    return SourceError(f"{subject} has no graph, nothing in it requires gradients: {why}", place=place, hint=hint)
