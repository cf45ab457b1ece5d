"""What people hold in their hands: a graph, or a source that was read, that draws itself and is saved as a picture."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import wraps
from html import escape
from types import FrameType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from gviz import sources
from gviz.errors import ArgumentError, SourceError
from gviz.flow import flow_through_hooks
from gviz.graphs import LOST, NOW, Graph, TensorRow
from gviz.graphs.numbers import ALL_ELEMENTS, FEW_ELEMENTS
from gviz.passes.modules import in_modules
from gviz.passes.others import with_other_gradients
from gviz.sources.source import text_or_path
from gviz.text import aligned_text, joined
from gviz.walk import FEW, Params, TensorLike, by_name, graph_nodes, is_tensor, memory_of, saved_items, walk

if TYPE_CHECKING:
    from gviz.causes.diagnosis import Cause
    from gviz.compare.diff import Diff
    from gviz.pictures.options import (
        RenderOptions,  # most readings are never drawn, so nothing here loads the renderers
    )

READ = "an expression, or a file, is read by gviz.read(...)"

MOST_IN_NOTEBOOK = 300
"""Boxes of a picture that a notebook shows by itself; the layout of a larger one may take minutes."""

Values: TypeAlias = Literal["summary", "full"]

Nest: TypeAlias = Any
"""A tensor, or what holds several: a list, a tuple, a mapping or a dataclass, however they are nested."""

SourceLike: TypeAlias = Any
"""A source that :func:`gviz.read` takes, what it has returned, a graph, or tensors as :func:`gviz.graph` takes them."""

MOST: dict[Values | None, int | None] = {"summary": FEW_ELEMENTS, "full": sys.maxsize, None: None}
"""How many elements of a tensor are listed."""


class Drawing(Graph):
    """A graph that draws itself: ``gviz.graph(loss).save("loss.svg")``. A notebook shows it as its picture."""

    view = ""
    """The view that it is drawn in unless another is asked for; not a part of the data."""

    def __eq__(self, other: object) -> bool:
        """Return whether the other one is a graph with the same in it, whoever holds it."""
        return isinstance(other, Graph) and all(
            getattr(self, one.name) == getattr(other, one.name) for one in fields(Graph)
        )

    __hash__ = Graph.__hash__

    def save(self, path: str | os.PathLike[str], /, options: RenderOptions | None = None, **look: Any) -> str:
        """Write the picture to a file, whole or not at all; return the path.

        Args:
            path: its suffix is the format: ``y.pdf``, ``y.svg``, ``y.json``.
            options: how to draw it.
            look: fields of :class:`gviz.RenderOptions` that are to be other than there: ``view="dataflow"``.

        Raises:
            RenderError: an unknown format, or a picture that cannot be made.
            FileError: the file cannot be written.
            TypeError: there is no such field.
        """
        from gviz.render import save

        own = {"view": self.view} if self.view and options is None else {}
        return save(self, path, look_with(options, {**own, **look}))

    def diff(self, other: Graph, *, values: bool = False, tolerance: float = 1e-5) -> Diff:
        """Return what is different in another graph, for which this one is the old one.

        Args:
            other: the new graph.
            values: whether numbers of tensors and gradients are compared, and not only what the graphs are made of.
            tolerance: how far apart two numbers may be and count as equal, for their size; for numbers below 1 by
                itself.
        """
        from gviz.compare.diff import Diff  # it loads the renderers

        return Diff(self, other, values, tolerance)

    def _repr_svg_(self) -> Any:
        """Return the picture as SVG, as notebooks show it.

        None for a large graph, of which they show a line of text.
        """
        return in_notebook(self, look_with(None, {"view": self.view} if self.view else {}), "svg")

    def _repr_png_(self) -> Any:
        """Return the picture as PNG, for notebooks that show no SVG, as those that are not trusted."""
        return in_notebook(self, look_with(None, {"view": self.view} if self.view else {}), "png")


class Reading(sources.Reading):
    """A source that was read, and draws itself: ``gviz.read("y=x*w", x=2).save("y.svg")``."""

    graph: Drawing

    def save(self, path: str | os.PathLike[str], /, options: RenderOptions | None = None, **look: Any) -> str:
        """Write the graph to a file, as :meth:`Drawing.save` does, with the numbers that the view shows."""
        from gviz.render import suffix_of

        look_options = look_with(options, look)
        flow = look_options.needs_flow or suffix_of(path) == "html"
        is_script = self.source is not None and self.source.kind == "script"  # which is not run again for numbers
        facts = {"flow": flow, "jacobians": flow and not is_script}
        has_lines = look_options.groups in ("line", "code")
        graph = self.with_facts(**facts, functions=look_options.needs_functions, lines=has_lines)
        return graph.save(path, look_options)

    def steps(self, path: str | os.PathLike[str] = "", /, seconds: float = 2.0, **look: Any) -> list[str] | Player:
        """Draw the computation step by step, forward and backward.

        Args:
            path: ``y.pdf``, ``y.html``, ``y.gif``, or ``y.png`` for an image of each step; without it a notebook plays.
            seconds: how long each step is shown, where it plays.
            look: fields of :class:`gviz.RenderOptions`: ``every="line"``, ``theme="dark"``.

        Returns:
            The files that were written, or what a notebook plays.

        Raises:
            RenderError: an unknown format, or a picture that cannot be made.
            FileError: a file cannot be written.
        """
        return drawn_steps(self.with_facts(flow=True, lines=look.get("every") == "line"), path, seconds, look)

    def why(self, name: str) -> Cause:
        """Return why the gradient of a tensor is what it is; SourceError if there is no tensor of that name."""
        from gviz.causes.layers import causes_in

        return causes_in(self.with_facts(lines=True, flow=True), [name])[0]

    def with_facts(self, **facts: bool) -> Drawing:
        """Return the graph with further facts: an expression is computed again for them, a script is not run again.

        Args:
            facts: fields of :class:`gviz.SourceOptions`.

        Raises:
            SourceError: they were not noted when a script ran.
        """
        source, options = self.source, self.options or sources.SourceOptions()
        lacking: dict[str, Any] = {
            name: True for name, is_needed in facts.items() if is_needed and not getattr(options, name)
        }
        if source is None or source.kind == "graph" or self.graph.kind == "static" or not lacking:
            return self.graph
        if source.kind == "script":
            words = ", ".join(f"{name}=True" for name in lacking)
            raise SourceError(
                f"what this shows was not noted when {source.file} ran",
                hint=f"without options gviz.read notes it; with them it is gviz.SourceOptions({words}, ...)",
            )
        return drawing_of(sources.read(source, replace(options, **lacking), say=lambda _: None).graph)

    def _repr_svg_(self) -> Any:
        """Return the picture as SVG, as notebooks show it; None for a large graph."""
        return self.graph._repr_svg_()

    def _repr_html_(self) -> str:
        """Return the picture and the notes, as notebooks show them; of a large graph a line of text."""
        from gviz.render._svg import as_image

        notes, svg = "\n".join(note.text for note in self.notes), self._repr_svg_()
        shown = f"<pre>{escape(repr(self))}</pre>" if svg is None else as_image(svg, repr(self))
        return f"{shown}<pre>{escape(notes)}</pre>"


class Player:
    """A computation step by step, which a notebook plays.

    Args:
        page: the whole page of HTML.
    """

    def __init__(self, page: str) -> None:
        self.page = page

    def __repr__(self) -> str:
        """Return what to do where there is no notebook."""
        return '<Player: a notebook plays it; steps("y.html") writes it as a page>'

    def _repr_html_(self) -> str:
        """Return a frame with the page in it."""
        look = 'sandbox="allow-scripts allow-downloads" width="960" height="680" style="border: 0"'
        return f'<iframe {look} srcdoc="{escape(self.page)}"></iframe>'


def drawn_steps(
    graph: Graph, path: str | os.PathLike[str], seconds: float, look: Mapping[str, Any]
) -> list[str] | Player:
    """Draw a computation step by step; arguments and result as for :meth:`Reading.steps`."""
    from gviz.render import series

    options = look_with(None, {"view": "dataflow", "theme": "light", **look})
    if path:
        return series.save(graph, os.fspath(path), options, (), seconds)
    return Player(series.render(graph, "html", options, (), seconds).decode())


class Table:
    """The tensors of a program: ``print()`` shows them as ``gviz inspect`` does, and a notebook as a table.

    Args:
        graph: what they are of.
        ran_backward: whether backward ran while gviz watched: then there is a gradient before it.
    """

    def __init__(self, graph: Graph, *, ran_backward: bool) -> None:
        self.graph = graph
        self.ran_backward = ran_backward

    @property
    def rows(self) -> tuple[TensorRow, ...]:
        """The tensors, in the order of the program."""
        return self.graph.tensors

    def columns(self) -> dict[str, list[str]]:
        """Return the texts of each column, by its heading."""
        from gviz.pictures.table import columns_of, settled_rows

        return columns_of(settled_rows(self.graph, self.rows), self.graph.columns(), before=self.ran_backward)

    def __str__(self) -> str:
        """Return the table as text."""
        columns = self.columns()
        return aligned_text([list(columns), *zip(*columns.values(), strict=True)]).rstrip("\n")

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return the table, and what there is to say of all tensors, as a notebook shows it."""
        from gviz.pictures.table import html_table, totals

        return html_table(self.columns()) + "".join(f"<p>{escape(line)}</p>" for line in totals(self.graph))


class ModuleTable(Table):
    """The modules of a program, as ``gviz inspect --by module`` prints them.

    Args:
        graph: what they are of.
        names: those of the columns; none for all.
    """

    def __init__(self, graph: Graph, names: Iterable[str]) -> None:
        super().__init__(graph, ran_backward=False)
        from gviz.answers.summary import module_columns

        self.facts = module_columns(graph, names)

    def columns(self) -> dict[str, list[str]]:
        """Return the texts of each column, by its heading."""
        from gviz.answers.summary import fact_text

        return {name: [fact_text(name, fact) for fact in facts] for name, facts in self.facts.items()}


def in_notebook(graph: Graph, options: RenderOptions, suffix: str) -> Any:
    """Return a graph in a format for a notebook; None for a large one, and where nothing here draws that format."""
    import warnings  # only a notebook needs it

    from gviz.layout import NoEngineError, RenderWarning
    from gviz.render import render

    try:
        # what is to be said is said of the SVG, which a notebook asks for, too
        with warnings.catch_warnings(action="ignore" if suffix == "png" else None, category=RenderWarning):
            return render(graph, suffix, options) if len(graph.nodes) <= MOST_IN_NOTEBOOK else None
    except NoEngineError:
        return None


def look_with(options: RenderOptions | None, look: Mapping[str, Any]) -> RenderOptions:
    """Return how to draw, with some fields other than in the options."""
    from gviz.pictures.options import RenderOptions

    return RenderOptions(**look) if options is None else replace(options, **look)


def drawing_of(graph: Graph, view: str = "") -> Drawing:
    """Return a graph as one that draws itself, in a view unless another is asked for."""
    drawing = Drawing(**{field.name: getattr(graph, field.name) for field in fields(Graph)})
    vars(drawing)["view"] = view
    return drawing


@wraps(sources.read)
def read(source: Any, options: sources.SourceOptions | None = None, **words: Any) -> Reading:
    """Read a source, as :func:`gviz.sources.read` says, for somebody who wants to draw it.

    Of a script everything is noted that a view may show, unless there are options that say otherwise.
    """
    if options is None and isinstance(source, str | os.PathLike):
        options = sources.SourceOptions()
        if os.fspath(source) == "-" or os.fspath(source).lower().endswith((".py", ".pyw", ".ipynb")):
            options = sources.SourceOptions(flow=True, lines=True, functions=True)
    reading = sources.read(source, options, **words)
    facts = {field.name: getattr(reading, field.name) for field in fields(sources.Reading)}
    return Reading(**{**facts, "graph": drawing_of(reading.graph)})


def list_tensors(
    source: SourceLike,
    options: sources.SourceOptions | None = None,
    *,
    only: str = "",
    sort: str = "",
    by: str = "tensor",
    columns: str | Iterable[str] = (),
    **words: Any,
) -> Table:
    """Return the tensors of a source, or of a graph, as a table: leaf or not, grad_fn, value and gradients.

    >>> print(list_tensors("y=x*w", x=2, w=3))
    name  is_leaf  requires_grad  grad_fn       retains_grad  shape  dtype    value  grad_before  grad_after  column
    x     True     True           None          False         ()     float32  2      None         3
    w     True     True           None          False         ()     float32  3      None         2
    y     False    True           MulBackward0  False         ()     float32  6      None         None        3

    Args:
        source: what :func:`gviz.read` or :func:`gviz.graph` takes, or what it returned.
        options: how to read it.
        only: ``leaf``, ``nonleaf``, ``frozen``, or ``none`` for what has no gradient; "" for all.
        sort: ``name``, ``line``, ``grad``, by the largest amount of an element, or ``size``; "" for the order of the
            program.
        by: ``tensor`` for a row for each tensor, ``module`` for one for each module.
        columns: those of a table by module, as ``--columns`` has them, or a list; none for all.
        words: as for :func:`gviz.read`, or :func:`gviz.graph`: ``model=net``.
    """
    is_by_module = by == "module"
    if by not in ("tensor", "module"):
        raise ArgumentError(f"by is 'tensor' or 'module', not {by!r}")
    if is_by_module and (only or sort):
        raise ArgumentError("only and sort are for a table of tensors")
    if columns and not is_by_module:
        raise ArgumentError("columns are for a table by module: by='module'")
    if is_tensor(source) or is_nest(source):
        source = graph(source, **words)
    elif not isinstance(source, Graph | sources.Reading):
        own_options = replace(options or sources.SourceOptions(), lines=True, kept=is_by_module)
        source = sources.read(source, own_options, rootless=True, **words)
    own_graph: Graph = source if isinstance(source, Graph) else source.graph
    if is_by_module:
        names = columns.replace(",", " ").split() if isinstance(columns, str) else columns
        return ModuleTable(own_graph, names)
    from gviz.pictures.table import rows_to_list

    own_graph = own_graph.changed(tensors=tuple(rows_to_list(own_graph, only, sort)))
    return Table(own_graph, ran_backward=getattr(source, "ran_backward", False))


def draw_steps(
    source: SourceLike,
    path: str | os.PathLike[str] = "",
    seconds: float = 2.0,
    *,
    params: Params = None,
    model: Params = None,
    **look: Any,
) -> list[str] | Player:
    """Draw a computation step by step, forward and backward: ``gviz.steps(loss, "loss.pdf")``; in a notebook it plays.

    Args:
        source: a tensor, or what :func:`gviz.graph` takes; a source that :func:`gviz.read` takes, or what it returned.
        path: a file, as for :meth:`Reading.steps`; "" for a player.
        seconds: how long each step is shown, where it plays.
        params: tensors by name, as for :func:`gviz.graph`.
        model: the module that they are of, likewise.
        look: fields of :class:`gviz.RenderOptions`.
    """
    if not (is_tensor(source) or is_nest(source)):
        return (source if isinstance(source, Reading) else read(source)).steps(path, seconds, **look)
    return drawn_steps(graph(source, params, model=model, flow=True), path, seconds, look)


def diff_sources(
    first: object, second: object, *, values: bool = False, tolerance: float = 1e-5, **words: object
) -> Diff:
    """Return what is different in a second graph: ``print(gviz.diff(old, new))``.

    >>> print(diff_sources("y=relu(x*w)", "y=tanh(x*w)"))
    different: 0 added, 0 removed, 1 changed; 4 boxes as before, not counting AccumulateGrad
    <BLANKLINE>
    ~ TanhBackward0 y  tanh(a)
        operation: ReluBackward0 → TanhBackward0

    Args:
        first: a source, a graph or a tensor, as :func:`gviz.read` and :func:`gviz.graph` take them, or what they
            returned.
        second: likewise.
        values: as for :meth:`Drawing.diff`.
        tolerance: likewise.
        words: values of the names of expressions, ``gviz.diff("y=w*x", "y=w*x+b", x=2)``.
    """
    from gviz.compare.diff import Diff  # it loads the renderers

    if words and not isinstance(first, str) and not isinstance(second, str):
        raise ArgumentError(f"{joined(words)} not used: they are for expressions: gviz.diff('y=x', 'y=x*x', x=2)")
    return Diff(graph_of(first, words), graph_of(second, words), values, tolerance)


def graph_of(source: object, values: Mapping[str, Any]) -> Graph:
    """Return the graph of a source, with its lines, or of tensors; a graph as it is."""
    if isinstance(source, Graph):
        return source
    if is_tensor(source) or isinstance(source, list | tuple | dict):
        return graph(source)
    if isinstance(source, sources.Reading):
        return source.graph
    return sources.read(text_or_path(source), sources.SourceOptions(lines=True), **values).graph


def graph(
    tensors: Nest,
    params: Params = None,
    *,
    saved: bool = False,
    flow: bool = False,
    values: Values | None = "summary",
    model: Params = None,
    view: str = "",
) -> Drawing:
    """Return the graph of tensors: ``gviz.graph(loss).save("loss.svg")``.

    Variables of the function that calls it, or of a notebook, are names, too.

    >>> from gviz import engine as torch
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> [(node.kind, node.name) for node in graph(x * x, {"x": x}).nodes]
    [('output', 'output'), ('operation', 'output'), ('accumulate', None), ('leaf', 'x')]

    Args:
        tensors: the root, of gviz's engine or of the real torch: a tensor; for several roots a list of tensors, a dict
            of their names, or what a model returns, however it is nested. A tensor of ``gviz.static``, or its graph,
            gives the whole static graph.
        params: tensors by name, as in ``dict(model.named_parameters())``, or the module itself, or a list of tensors:
            names for boxes, and rows of the table.
        saved: True to draw the tensors that operations save for backward, as nodes of their own.
        flow: True for local derivatives, and for the gradients on their way if backward were to start here with ones:
            what the views ``dataflow``, ``teaching`` and ``micrograd`` show. Not after a backward that has freed the
            graph. Hooks of the program run, as in backward, and an error of theirs is raised.
        values: ``summary`` for the elements of small tensors, and norm, extremes, mean, zeros, nan and inf of large
            ones; ``full`` for all elements; None to read no numbers.
        model: the ``nn.Module`` that has computed them, or a dictionary of several: its parameters get their names, and
            operations the modules that they belong to, as far as the names of the parameters tell.
        view: the view that it is drawn in unless another is asked for, such as ``dataflow``; it implies ``flow`` where
            it shows that.

    Raises:
        TypeError: an argument is not a tensor.
        ValueError: ``values`` is something else.
    """
    if values not in MOST:
        raise ValueError(f"values is 'summary', 'full' or None, not {values!r}")
    first = tensors[0] if isinstance(tensors, list | tuple) and tensors else tensors
    static = sys.modules.get("gviz.static")
    if static is not None and isinstance(owner := getattr(first, "graph", first), static.Graph):
        from gviz.static.out import static_picture  # TensorFlow's face is loaded if the program has used it

        return drawing_of(static_picture(owner, title=getattr(first, "name", "").partition(":")[0]))
    flow = flow or (bool(view) and look_with(None, {"view": view}).needs_flow)
    named_tensors = {**by_name(model, remove_duplicate=False), **by_name(params)}
    roots, names = named_roots(tensors, named_tensors)
    for name, tensor in (roots | names).items():
        if not is_tensor(tensor):
            thing = f"{name!r} is" if isinstance(tensors, Mapping) or name in named_tensors else "this is"
            raise ArgumentError(
                f"gviz.graph() takes tensors, but {thing} of type {type(tensor).__name__}",
                hint=READ if isinstance(tensor, str) else None,
            )
    most = ALL_ELEMENTS if flow and values == "summary" else MOST[values]
    nodes, hooks = flow_through_hooks([*roots.values()], jacobians=True) if flow and roots else ({}, {})
    operands = [one for node in nodes.values() for _, one in node.constants]
    own = {id(one) for one in names.values()}
    names |= {name: one for name, one in caller_variables(operands).items() if name not in names and id(one) not in own}
    changes = {name: hooks[id(one)] for name, one in names.items() if id(one) in hooks}
    graph = with_other_gradients(walk(roots, names, saved=saved, most=most, flow=nodes), changes)
    graph = as_it_is_now(graph, {**names, **roots})
    if model is not None:
        graph = in_modules(graph, model)
    return drawing_of(graph, view)


def named_roots(
    tensors: Nest, names: Mapping[str, TensorLike], root: str = "output"
) -> tuple[dict[str, TensorLike], dict[str, TensorLike]]:
    """Return the root tensors by their names, and all names of a picture: the caller's variables are names, too.

    Args:
        tensors: the roots.
        names: further tensors by name, which win over variables.
        root: the name of a root that has none.
    """
    inside = nested_tensors(tensors)
    own = {id(tensor) for tensor in names.values()}
    all_names = {
        **names,
        **{name: one for name, one in caller_variables(inside.values()).items() if id(one) not in own},
    }
    if isinstance(tensors, Mapping):  # whose keys are the names of roots, whatever variables are called so
        return inside, {name: one for name, one in all_names.items() if inside.get(name, one) is one}
    names_by_id = {id(tensor): name for name, tensor in reversed(all_names.items())}
    own_names = {path: path if path[:1].isalpha() else f"{root}{path}" for path in inside}
    return {names_by_id.get(id(one), own_names[path]): one for path, one in inside.items()}, all_names


def nested_tensors(thing: Nest) -> dict[str, Any]:
    """Return the tensors in what a model returns, each with the way that leads to it.

    What else is in it is left out, and so are tensors without a graph where others have one, such as labels.

    >>> from gviz import engine as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> [*nested_tensors({"loss": x.sum(), "hidden": [x * 2, x * 3], "step": 7})], [*nested_tensors([x, x * 2])]
    (['loss', 'hidden[0]', 'hidden[1]'], ['1', '2'])
    """
    todo, things = [("", thing)], dict[str, Any]()
    while todo:
        path, one = todo.pop()
        if is_nest(one):
            todo += [(next_path(path, key), part) for key, part in items_of(one)][::-1]
        else:
            things[path] = one
    tensors = {path: one for path, one in things.items() if is_tensor(one)}
    within_graph = {path: one for path, one in tensors.items() if one.requires_grad}
    return within_graph or tensors or dict([*things.items()][:1])  # a message names what is no tensor


def next_path(path: str, key: object) -> str:
    """Return the way to an item of a thing that a way leads to; items of the outermost list are counted from 1."""
    if not path:
        return str(key + 1) if isinstance(key, int) else str(key)
    return f"{path}[{key}]" if isinstance(key, int) else f"{path}.{key}"


def is_nest(thing: object) -> bool:
    """Return whether a thing may hold tensors: a list, a tuple, a mapping or a dataclass; graphs of gviz do not."""
    is_data = is_dataclass(thing) and not isinstance(thing, type | Graph | sources.Reading)
    return isinstance(thing, list | tuple | Mapping) or is_data


def items_of(thing: Nest) -> Iterable[tuple[object, Any]]:
    """Return what such a thing holds, each with its key, its field, or its number."""
    if isinstance(thing, Mapping):
        return thing.items()
    if isinstance(thing, list | tuple):
        return zip(getattr(thing, "_fields", range(len(thing))), thing, strict=True)
    return ((one.name, getattr(thing, one.name)) for one in fields(thing))


def caller_variables(roots: Iterable[TensorLike]) -> dict[str, Any]:
    """Return the tensors of a graph that variables of the caller name."""
    tensors = [*filter(is_tensor, roots)]
    nodes = graph_nodes(tensors)
    inside = {id(one) for one in (*tensors, *nodes.values())}
    return {name: one for name, one in caller_tensors().items() if id(one) in inside or one.grad_fn in nodes}


def caller_tensors() -> dict[str, Any]:
    """Return the tensors that variables name: of the function that has called gviz, or of a notebook."""
    frame: FrameType | None = sys._getframe()  # noqa: SLF001 - there is no other way to a caller
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "gviz":
        frame = frame.f_back
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    space, hidden = ({}, ()) if shell is None else (shell.user_ns, shell.user_ns_hidden)
    if frame is not None and (shell is None or frame.f_globals is space):
        space = {**frame.f_globals, **frame.f_locals}
    own = {name: one for name, one in space.items() if name not in hidden and name[:1] != "_" and name.isidentifier()}
    return tensors_by_name(own)


def tensors_by_name(namespace: Mapping[str, Any]) -> dict[str, Any]:
    """Return every tensor that a name reaches, of the real torch and of gviz's engine."""
    from gviz.sources.script.names import named_tensors

    libraries = [sys.modules[name] for name in ("torch", "gviz.engine") if hasattr(sys.modules.get(name), "Tensor")]
    return named_tensors(namespace, libraries)


def as_it_is_now(graph: Graph, tensors: Mapping[str, TensorLike]) -> Graph:
    """Return a graph that says which of its numbers may not be those of its backward, which ran before anybody watched.

    PyTorch counts how often a tensor was written: an optimizer's step is a write. One that a graph has saved, and not
    lost, is as it was; the first write to a parameter is that of its layer.
    """
    is_lost = any(node.state in LOST for node in graph.nodes)
    if not is_lost and len(graph.nodes) > FEW:
        return graph
    names = {id(tensor): name for name, tensor in reversed([*tensors.items()])}  # the first of several
    nodes = graph_nodes(tensors.values())
    saved = set() if is_lost else {memory_of(one)[0] for node in nodes for one in saved_items(node) if is_tensor(one)}
    overwritten = {
        names.get(id(leaf))
        for leaf in (*tensors.values(), *nodes.values())
        if leaf is not None
        and not leaf.is_inference()  # PyTorch counts no writes to one of those
        and leaf._version > (type(leaf).__name__ == "Parameter" and not is_lost)  # noqa: SLF001 - PyTorch's own name
        and not (saved and memory_of(leaf)[0] in saved)
    }
    new_nodes = (
        node._replace(state=NOW) if node.kind == "leaf" and node.name in overwritten else node for node in graph.nodes
    )
    return replace(graph, nodes=tuple(new_nodes))
