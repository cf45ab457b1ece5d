"""Which tensor of a script its picture is of, and why."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from gviz.errors import SourceError
from gviz.formulas.expressions import root_names
from gviz.sources.notes import Note
from gviz.sources.run import Run
from gviz.sources.script.changes import Changes
from gviz.sources.script.names import Names, Unnamed, global_of
from gviz.sources.script.program import Script
from gviz.sources.script.syntax import bindings, pieces
from gviz.sources.script.watch import OF_ASKED, Calls
from gviz.text import did_you_mean, joined
from gviz.walk import grad_fn, graph_nodes, tensor_row

if TYPE_CHECKING:
    from gviz.sources.static import StaticSource


@dataclass(frozen=True)
class ScriptRun(Run):
    """A script after its run.

    Its ``names`` are those at its end; once the roots are chosen, those of the moment that is drawn.

    Args:
        script: where its code is.
        tree: what it is.
        calls: its calls of ``backward()`` and ``make_dot()``.
        names_at_call: its named tensors at the call that the picture is of, those of the function that called included.
        static: the static graph that it has built, if it has.
        interrupted: whether Ctrl-C ended it.
        status: the exit status that it would have as a program.
        changes: what was noticed of the tensor that was to be watched.
        unnamed: the tensors that have no names since they are very many.
    """

    _: KW_ONLY
    script: Script
    tree: ast.Module
    calls: Calls
    names_at_call: Mapping[str, Any]
    static: StaticSource | None
    interrupted: bool
    status: int
    changes: Changes | None
    unnamed: Unnamed


def choose_roots(run: ScriptRun, names: Sequence[str]) -> tuple[Names, Note | None]:
    """Return the roots by their names, and the line that says which and why.

    Args:
        run: what the script left behind.
        names: the names that the user asks for; empty for the tensor of that call, else the last assigned one
            that no other named tensor was made from.

    Returns:
        No roots if nothing has a graph: see :func:`why_no_root`.

    Raises:
        SourceError: a wanted name is not a tensor of the script.
    """
    if names and OF_ASKED not in run.calls.last:
        return {name: _root_of_name(name, run) for name in names}, None
    call = run.calls.chosen
    if call is not None and any(tensor.requires_grad for tensor in call.tensors):
        about, roots = call.about, _by_name([tensor for tensor in call.tensors if tensor.requires_grad], run)
        where = "" if about.place is None else f" at {about.place}"
        where += (
            f", call {about.number} of the whole program, the first with nan or inf"
            if about.is_first_bad and run.calls.count > 1
            else ""
        )
        unnamed = "" if roots.keys() <= run.names_at_call.keys() | run.names.keys() else "a tensor without a name; "
        return roots, _note(roots, f"{unnamed}{about.function} called{where}")
    rank = {name: number for number, name in enumerate(run.assignments)}
    inner = {following for node in graph_nodes(run.names.values()) for following, _ in node.next_functions}
    ends = [name for name, tensor in run.names.items() if (node := grad_fn(tensor)) is not None and node not in inner]
    if not ends:
        return {}, None
    last = max(
        reversed(ends), key=lambda name: rank.get(global_of(name), -1)
    )  # what no line assigns came by a function
    place = run.assignments.get(global_of(last))
    where = "" if place is None else f" at {place}"
    why = f"the last tensor assigned{where} that no other was made from"
    if any(
        at > rank.get(global_of(last), -1) and not run.names[name].requires_grad
        for name, at in rank.items()
        if name in run.names
    ):
        why = f"the last tensor assigned{where} that has a graph, and is in no other"
    if call is not None:
        why += f"; what backward was called on{f' at {call.about.place}' if call.about.place else ''} has none"
    return {last: run.names[last]}, _note({last: None}, why)


@lru_cache(maxsize=2)
def assignment_lines(tree: ast.Module, until: int | None = None) -> Mapping[str, int]:
    """Return the global names in the order of their last assignment in the text, each with its line.

    Args:
        tree: the script.
        until: the line at which it stopped; what is assigned further down was never reached.
    """
    places: dict[str, tuple[int, int]] = {}
    for name, place, scope, *_ in bindings(tree):
        if not scope and (until is None or place[0] <= until):
            places[name] = max(place, places.get(name, place))
    return {name: line for name, (line, _) in sorted(places.items(), key=lambda pair: pair[1])}


def _note(roots: Mapping[str, Any], why: str) -> Note:
    return Note(f"{'root' if len(roots) == 1 else 'roots'}: {', '.join(roots)} ({why})")


def _by_name(tensors: Sequence[Any], run: ScriptRun) -> Names:
    """Return each tensor under the name that it had when backward was called, or has now: h, and not hs[2]."""
    roots = dict[str, Any]()
    names_taken = {  # with a function's own
        *(str(getattr(node, "id", getattr(node, "arg", ""))) for node in ast.walk(run.tree)),
        *run.names_at_call,
        *run.names,
    }
    for tensor in {id(one): one for one in tensors}.values():  # backward may be given one twice
        name = next(
            (
                name
                for names in (run.names_at_call, run.names)
                for name in sorted(names, key=lambda one: not one.isidentifier())
                if names[name] is tensor
            ),
            "",
        )
        roots[name if name and name not in roots else next(root_names(names_taken | roots.keys()))] = tensor
    return roots


def _root_of_name(name: str, run: ScriptRun) -> Any:
    """Return the tensor that the user asks for; SourceError if none has that name, or no gradient flows to it."""
    # what only a function had is gone, unless backward was called on it
    tensor = {**run.names_at_call, **run.calls.roots, **run.names}.get(name)
    if tensor is None:
        functions = {id(one): one.name for one in pieces(run.tree) if isinstance(one, ast.FunctionDef)}
        scopes = [scope for own, _, scope, *_ in bindings(run.tree) if own == global_of(name)]
        owners = [functions[scope] for scope in scopes if scope in functions and 0 not in scopes]
        raise SourceError(
            f"--root {name}: the script "
            + (
                "fails before it has that graph"
                if run.error is not None and 0 in scopes
                else "has no tensor of that name"
            ),
            hint=f"{name} is a variable of {owners[0]}(), gone when that has returned"
            if owners
            else did_you_mean(name, run.names, f"its tensors: {joined(run.names)}" if run.names else ""),
        )
    if not tensor.requires_grad:
        ends = [other for other, end in run.names.items() if grad_fn(end) is not None]
        cut = run.lines.row(tensor_row(name, tensor), tensor, {}, {}).broken if run.lines is not None else None
        raise SourceError(
            f"--root {name}: {name} requires no gradient, so there is no graph behind it",
            hint="; ".join(
                hint
                for is_known, hint in (
                    (cut is not None, f"{name} is outside the graph: {cut and cut.reason_and_place}"),
                    (name in run.names, f"gviz why SOURCE {name} tells more"),
                    (ends, f"tensors with a graph: {joined(ends)}"),
                )
                if is_known
            ),
        )
    return tensor


def why_no_root(names: Mapping[str, Any], *, has_cuts: bool = False) -> SourceError:
    """Return what to say, and what to do, if none of these tensors of a script has a graph.

    Args:
        names: the tensors.
        has_cuts: whether a call of the script has cut something off from a graph.
    """
    first = {id(tensor): name for name, tensor in [*names.items()][::-1]}  # of the names of each
    names = {name: tensor for name, tensor in names.items() if first[id(tensor)] == name}
    flowing = [name for name, tensor in names.items() if tensor.requires_grad]
    if not names:
        what = "the script leaves no tensor among its global names"
        hint = "gviz draws the tensors that a name at the top level of the script reaches"
    elif flowing:
        verb, them = ("requires a gradient", "it") if len(flowing) == 1 else ("require gradients", "them")
        what = f"{joined(flowing)} {verb}, but " + (
            f"what was computed from {them} and has a name is outside of it"
            if has_cuts
            else f"nothing that has a name was computed from {them}"
        )
        hint = "a leaf alone has no graph yet; compute something, as in y = x * 2 (not under torch.no_grad())"
    else:
        what = f"nothing requires a gradient (requires_grad is False for {joined(names)})"
        hint = "make a leaf with requires_grad=True, as in x = torch.tensor(2.0, requires_grad=True)"
    return SourceError(f"there is no graph: {what}", hint=hint)
