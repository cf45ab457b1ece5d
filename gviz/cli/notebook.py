"""gviz in a notebook: ``%load_ext gviz``, then ``%gviz y=x*w x=2``, ``%gviz loss`` or ``%%gviz`` above a cell.

The magics take the words of ``gviz render``. What they show is SVG, with PNG for places that show no SVG, and text.
"""

from __future__ import annotations

import ast
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import Any, Protocol

import click

from gviz.cli.options import SourceCommand, takes_source
from gviz.cli.output import Output, makes_picture
from gviz.drawing import Reading, SourceLike, graph, in_notebook, look_with, read
from gviz.errors import ArgumentError
from gviz.graphs import Graph
from gviz.render import RenderOptions, render
from gviz.sources import Source, SourceOptions
from gviz.walk import is_tensor

HEIGHT = 560
"""Pixels of a page in a notebook."""

PICTURES = {"image/svg+xml": "svg", "image/png": "png"}
"""What a notebook chooses from: one that is not trusted shows no SVG."""

FEW_LINES = 60
"""Lines of the text of a graph that is too large for a picture."""


class Shell(Protocol):
    """What is used of IPython's shell."""

    user_ns: dict[str, Any]

    def run_cell(self, raw_cell: str) -> Any:
        """Run a cell."""

    def register_magic_function(self, func: Callable[..., object], magic_kind: str, magic_name: str) -> None:
        """Make a function a magic."""


class Shown:
    """A graph as a notebook shows it.

    Args:
        graph: what is drawn.
        options: how it is drawn.
        is_page: whether it is shown as a page, in which it can be folded, searched and played.
    """

    def __init__(self, graph: Graph, options: RenderOptions, *, is_page: bool = False) -> None:
        self.graph, self.options, self.is_page = graph, options, is_page

    def __repr__(self) -> str:
        """Return the graph as text, as a terminal shows it."""
        return str(render(self.graph, "txt", replace(self.options, max_lines=FEW_LINES))).rstrip("\n")

    def _repr_mimebundle_(self, **_wanted: object) -> dict[str, Any]:
        """Return what a notebook chooses from. A frame of its own keeps a page's scripts away from the notebook."""
        texts: dict[str, Any] = {"text/plain": repr(self)}
        if self.is_page:
            name = escape(f"graph {self.graph.title}")
            frame = (
                f'sandbox="allow-scripts allow-downloads" style="width:100%;height:{HEIGHT}px;border:0" title="{name}"'
            )
            page = escape(str(render(self.graph, "html", self.options)))
            texts["text/html"] = f'<iframe {frame} srcdoc="{page}"></iframe>'
        else:
            drawn = {kind: in_notebook(self.graph, self.options, suffix) for kind, suffix in PICTURES.items()}
            texts |= {kind: data for kind, data in drawn.items() if data is not None}
        return texts


def show_graph(source: SourceLike, /, *, page: bool = False, **look: Any) -> Shown:
    """Show a graph in a notebook.

    Args:
        source: a tensor, or several; a graph; what :func:`gviz.read` takes, or has returned.
        page: whether to show a page, in which the graph can be folded, searched and played.
        look: fields of :class:`gviz.RenderOptions`: ``view="dataflow"``.

    Raises:
        SourceError: a source cannot be read.
        TypeError: there is no such field.
    """
    return show_with(source, look_with(None, look), is_page=page)


def show_with(source: SourceLike, options: RenderOptions, *, is_page: bool) -> Shown:
    """Show a graph, with the numbers that its view shows; arguments as for :func:`show`."""
    has_flow = options.needs_flow or is_page
    if isinstance(source, Graph):
        drawn = source
    elif is_tensor(source) or isinstance(source, list | tuple | dict):
        drawn = graph(source, flow=has_flow)
    else:
        reading = source if isinstance(source, Reading) else read(source)
        drawn = reading.with_facts(flow=True, jacobians=True) if has_flow else reading.graph
    return Shown(drawn, options, is_page=is_page)


@click.command(cls=SourceCommand)
@takes_source(required=False)
@makes_picture(has_views=True)  # type: ignore[arg-type] # what it returns is no status
@click.option("--page", "is_page", is_flag=True, help="Show a page, in which the graph can be folded and searched.")
def magic(*, source: Source | None, options: SourceOptions, picture: Output, is_page: bool) -> Callable[..., Shown]:
    r"""Draw a variable of the notebook, or SOURCE, as gviz render does.

    As %%gviz above a cell: run the cell, and draw the last tensor with a graph that it assigns.

    \b
    Examples:
      %gviz y=(x+w)*(w+1) x=2 w=1
      %gviz loss --view circuit
      %%gviz --page
    """
    look = picture.options

    def shown(own: SourceLike = None) -> Shown:
        if source is None:
            return show_with(own, look, is_page=is_page)
        reading = read(source, replace(options, flow=look.needs_flow or is_page, jacobians=True, lines=True))
        for note in reading.notes:
            click.echo(note.text)
        return Shown(reading.graph, look, is_page=is_page)

    return shown


def shown_by_words(words: Sequence[str], program: str) -> Callable[..., Shown] | None:
    """Return what draws the source that words name, or the one that it is called with; None if they ask for the help.

    Raises:
        ArgumentError: the words are wrong.
    """
    try:
        shown = magic.main([*words], prog_name=program, standalone_mode=False)
    except click.ClickException as error:
        raise ArgumentError(error.format_message()) from None
    return shown if callable(shown) else None


def load_ipython_extension(shell: Shell) -> None:
    """Make ``%gviz`` and ``%%gviz`` known to a notebook."""

    def gviz(line: str, cell: str | None = None) -> Shown | None:
        """Draw a variable, an expression with its values, or what the cell computes, with the words of gviz render."""
        words, variables = shlex.split(line), shell.user_ns
        name = variable_in(words, variables)
        if cell is not None:
            if not shell.run_cell(cell).success:
                return None
            name = name or last_result(cell, variables)
            if not name:
                raise ArgumentError("no tensor that this cell computes has a graph: none of them requires a gradient")
        elif not name and words and words[0].isidentifier():
            raise ArgumentError(f"the notebook has no variable {words[0]} with a graph")
        elif not words:
            raise ArgumentError("name what is to be drawn: %gviz loss, or %gviz y=x*w x=2; above a cell, %%gviz")
        if name in words:
            words.remove(name)
        shown = shown_by_words(words, "%gviz")
        if shown is None:
            return None
        return shown({name: variables[name]} if is_tensor(variables.get(name)) else variables.get(name))

    shell.register_magic_function(gviz, "line_cell", "gviz")


def variable_in(words: Sequence[str], variables: Mapping[str, object]) -> str:
    """Return the word that names what is drawn, which is the first or the last one; "" if it is no variable.

    >>> variable_in(["loss", "--path", "w"], {"loss": [], "w": []}), variable_in(["--path", "w"], {"w": []})
    ('loss', '')
    """
    ends = [*words[:1], *(words[-1:] if len(words) > 1 and not words[-2].startswith("-") else [])]
    return next((word for word in ends if is_drawable(variables.get(word))), "")


def is_drawable(value: object) -> bool:
    """Return whether a value has a graph, or may have one inside."""
    return is_tensor(value) or isinstance(value, Graph | Reading | list | tuple | dict)


def last_result(cell: str, variables: Mapping[str, Any]) -> str:
    """Return the name of the last tensor with a graph that a cell assigns; "" for none."""
    names = [
        node.id for node in ast.walk(ast.parse(cell)) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    tensors = [name for name in names if is_tensor(variables.get(name)) and variables[name].grad_fn is not None]
    return tensors[-1] if tensors else ""
