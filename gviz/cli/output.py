"""The options of a picture: its file, its format and its looks. All commands that draw share them."""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any

import click
from click.core import ParameterSource

from gviz.cli import streams
from gviz.cli.options import (
    Command,
    Source,
    field_option,
    listed_option,
    not_blank,
    not_one_of,
    pairs,
    refuse_source,
    with_options,
)
from gviz.cli.values import given_options, is_format, refuse_first
from gviz.errors import FileError, RenderError, warn_user
from gviz.files import STDIN
from gviz.graphs import Graph
from gviz.layout import RenderWarning
from gviz.options import declared
from gviz.pictures.look import LONGEST_TITLE, docstring_of
from gviz.pictures.options import SHOWABLE, flags_of
from gviz.pictures.parts import may_fold
from gviz.render import RenderOptions, find, formats, render, require, save, suffix_of
from gviz.text import shorten

TREE_LINES = 20
"""Lines of the tree that is printed beside a picture on a terminal."""

LONGEST_STEM = 100
"""Characters of a file name that is made from a root's name."""


VIEWED = (
    *("view", "path", "by", "depth", "collapse", "expand", "symbols", "arrows", "math", "ghosts"),
    *("around", "hops", "between", "hide", "max_nodes", "fold", "unfold", "fold_min"),
)
"""Options of a graph that backward goes through, which has more than one view."""

LOOKED = (
    *("theme", "fit", "title", "caption", "color_by", "repeat_leaves", "font_size", "scale", "transparent"),
    *("graph", "node", "edge"),
)
"""Options of every picture, in the order of the help; and those that fewer people need."""

LAID_OUT = ("precision", "legend", "rankdir", "layout", "pages", "timeout", "graphviz")


@dataclass(frozen=True)
class Output:
    """A picture that was asked for.

    Args:
        files: where it goes: each a file, - for standard output, or None for ROOT.pdf in the current folder.
        options: how it is drawn; their format is "" for the suffix of the file.
        opens: whether it is shown when it is written.
    """

    files: tuple[str | None, ...]
    options: RenderOptions
    opens: bool = False

    @property
    def is_stdout(self) -> bool:
        """Whether the picture goes to standard output, too."""
        return "-" in self.files

    @property
    def has_details(self) -> bool:
        """Whether the picture, or the data, tells what each operation saved, however large the graph is."""
        return "attrs" in self.options.show or "json" in map(self.format_of, self.files)

    @property
    def format(self) -> str:
        """The format that is asked for, of several files that of the first; FileError for a folder."""
        return self.format_of(self.files[0])

    def format_of(self, file: str | None) -> str:
        """Return the format that a file is to have; FileError for a folder."""
        if file is not None and file.endswith("/") and self.options.format not in ("", "tensorboard"):
            raise FileError(f"{file} is a folder", hint=f"name a file in it: {file}graph.{self.options.format}")
        if self.options.format or file is None:
            return self.options.format or "pdf"
        if file == "-":
            return "txt" if streams.is_terminal(sys.stdout) else "dot"
        suffix = suffix_of(file)
        if suffix != "tensorboard" and os.path.isdir(file):
            example = os.path.join(file, "graph.pdf")
            raise FileError(
                f"{file} is a folder",
                hint=f"name a file in it: {example}; with a slash, {file}/, it is for TensorBoard",
            )
        return suffix

    @property
    def may_fold(self) -> bool:
        """Whether blocks that repeat may be drawn once."""
        return any(may_fold(self.options, self.format_of(file)) for file in self.files)

    def check(self, source: Source | None) -> None:
        """Refuse, before a script runs, a file that is the source, and a format that is unknown or not to be shown."""
        streams.hear_warnings()
        typed = {one.name for one in given_options(click.get_current_context())}  # --path chooses a view itself
        for file in self.files:
            refuse_source(file, source, "picture", "picture")
            suffix = self.format_of(file)
            try:
                module = find(suffix, any_word=bool(self.options.format))
            except RenderError as error:
                raise (
                    click.BadParameter(str(error), param_hint="'--format'") if self.options.format else error
                ) from None
            require(suffix)
            if file == "-" and streams.is_terminal(sys.stdout) and suffix not in module.TEXTS:
                ways = f"Name a file (-o FILE.{suffix}), or send it on (-o - --format {suffix} | ...)."
                raise click.UsageError(f"{suffix} is binary, which a terminal cannot show. {ways}")
            # of several files some may well have no use for what the others need
            is_sharp = suffix not in getattr(module, "RASTER", (suffix,))  # at any size
            names = (*getattr(module, "IGNORES", ()), *(["scale"] if is_sharp else []))
            ignored = [name for name in self.options.differs(*names) if name in typed]
            if len(self.files) == 1 and ignored:
                warn_user(f"the format {suffix} has no use for {flags_of(ignored)}", RenderWarning)

    def write(self, graph: Graph) -> None:
        """Draw a graph, and write the picture; FileError if ROOT.pdf would replace a file that gviz did not make."""
        for name in self.files:
            if name == "-":
                streams.write_product(render(graph, self.format_of(name), for_terminal(self.options)))
                continue
            file = name or unnamed_file(default_stem(graph), self.format)
            save(graph, file, self.options)
            if name is None:
                if streams.is_terminal(sys.stdout):
                    tree = replace(for_terminal(self.options), max_lines=TREE_LINES)
                    streams.write_product(render(graph, "txt", tree))
                streams.write_product(f"{file}\n")
            if self.opens and click.launch(file):
                streams.complain(f"{file} is written, but there is no program here to show it", "warning")

    def drawn_with(self, **look: Any) -> Output:
        """Return the same picture with other options."""
        return replace(self, options=replace(self.options, **look))

    def write_events(self, data: bytes, graph: Graph) -> None:
        """Write an event file for TensorBoard into the folder that was asked for."""
        from gviz.events import write_events

        if self.is_stdout:
            streams.write_product(data)
            return
        folder = write_events(self.files[0] or f"{default_stem(graph)}.tensorboard", data)
        if self.files[0] is None:
            streams.write_product(f"{folder}\n")


def _formats(_context: click.Context, _option: click.Parameter, beginning: str) -> list[str]:
    """Return the formats that a word begins, for Tab."""
    return [row.suffix for row in formats() if row.suffix.startswith(beginning)]


def makes_picture(by_name: str = "ROOT.pdf", *, has_views: bool = False) -> Callable[[Command], Command]:
    """Give a command the options of a picture: it is called with ``picture``, an :class:`Output`.

    Args:
        has_views: whether it draws a graph that backward goes through, which has more than one view.
        by_name: the file without ``--output``; "" if there is no picture then, and ``picture`` is None.
    """
    default = f" [default: {by_name}]" if by_name else ""
    rankdir = declared(RenderOptions)["rankdir"].text
    special: dict[str, dict[str, Any]] = {
        "between": {"nargs": 2, "multiple": False, "callback": None},
        **{name: {"callback": pairs} for name in ("graph", "node", "edge")},
        "rankdir": {"help": rankdir if has_views else rankdir.replace("that of the view", "TB")},
        "format": {"shell_complete": _formats},
    }

    def fields(*names: str) -> list[Callable[[Command], Command]]:
        return [field_option(RenderOptions, name, **special.get(name, {})) for name in names]

    options: tuple[Callable[[Command], Command], ...] = (
        *fields(*(VIEWED if has_views else ())),
        field_option(
            RenderOptions, "show", multiple=False, default="value,grad", show_default=True, callback=_lines_of
        ),
        listed_option(
            "-o",
            "--output",
            "files",
            metavar="FILE",
            multiple=True,
            callback=_files,
            help=f"The file to write; repeatable. Its suffix is the format; - is standard output.{default}",
            example="FILE",
            short="the file; its suffix is the format",
        ),
        *fields("format", *LOOKED),
        click.option("--open", "opens", is_flag=True, help="Show the picture when it is written."),
        *fields(*LAID_OUT),
    )

    def decorate(command: Command) -> Command:
        @wraps(command)
        def with_picture(*, files: tuple[str, ...], opens: bool, **arguments: Any) -> int:
            options = RenderOptions(**look_of(arguments, has_file=bool(files) or not by_name))
            is_one = len(files) == 1 or (not files and bool(by_name))
            refuse_first(
                {
                    "--format is for one picture: name its file, -o FILE; of several the suffixes tell.": (
                        options.format and not is_one
                    ),
                    "-o - is given twice.": files.count("-") > 1,
                    "-o - and --json both go to standard output: take one.": "-" in files and arguments.get("as_json"),
                }
            )
            picture = Output(files or (None,), options, opens)
            return command(picture=picture if files or by_name else None, **arguments)

        return with_options(with_picture, options)

    return decorate


def _files(context: click.Context, option: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the files of a picture; refuse one without a name, and several in one word."""
    for name in names:
        parts = not_blank(context, option, name).split(",")
        if len(parts) > 1 and all(is_format(os.path.splitext(part)[1][1:]) for part in parts):
            ways = " ".join(f"-o {part.strip()}" for part in parts)
            raise click.UsageError(f"{name} is the name of one file: write {ways}")
    return names


def look_of(options: dict[str, Any], *, has_file: bool) -> dict[str, Any]:
    """Return the words of a command that are fields of :class:`gviz.RenderOptions`, and take them out.

    The suffix of a file that is named wins over a format that is set in pyproject.toml.
    """
    look = {name: options.pop(name) for name in options.keys() & RenderOptions.__annotations__.keys()}
    if has_file and click.get_current_context().get_parameter_source("format") is ParameterSource.DEFAULT_MAP:
        look["format"] = None
    return {name: value for name, value in look.items() if value is not None}


def _lines_of(_context: click.Context, _option: click.Parameter, show: str) -> tuple[str, ...]:
    """Return the words of ``--show`` in the order of the lines in a box; ``none`` is empty, ``all`` is everything."""
    words = {word.strip().lower() for word in show.split(",") if word.strip()}
    for word in sorted(words - {*SHOWABLE, "none", "all"}):
        raise click.BadParameter(not_one_of(word, (*SHOWABLE, "none", "all")), param_hint="'--show'")
    if "none" in words and len(words) > 1:
        raise click.BadParameter("none cannot be combined with other words.", param_hint="'--show'")
    return SHOWABLE if "all" in words else tuple(word for word in SHOWABLE if word in words)


def for_terminal(options: RenderOptions) -> RenderOptions:
    """Return the options for a tree that fits the terminal, if standard output is one."""
    return replace(options, **streams.terminal_look())


def title_of(source: Source, graph: Graph) -> str:
    """Return what stands above a page: the formula with the derivative that is drawn, or what a script says that it is.

    Of a script that is the first line of its docstring, else its name and the root.
    """
    if source.kind == "expression":
        formula = formula_of(source.text, [node.name for node in graph.nodes if node.name and node.kind != "operation"])
        return f"{formula}:  {graph.title}" if "∂" in graph.title else formula
    title = docstring_of(graph.code) or ": ".join(filter(None, [script_name(source), graph.title]))
    return shorten(title, LONGEST_TITLE, mark="…")


def script_name(source: Source) -> str:
    """Return the name of a script's file; "" for any other source."""
    return os.path.basename(source.file or "") if source.kind == "script" and source.file not in (None, STDIN) else ""


def unnamed_file(stem: str, suffix: str) -> str:
    """Return the file of a product that nobody has named; FileError if it would replace one that gviz did not make."""
    from gviz.render.marks import is_by_gviz

    file = f"{stem}.{suffix}"
    if os.path.lexists(file) and not os.path.isdir(file) and not is_by_gviz(file):
        raise FileError(f"{file} is here already and was not made by gviz", hint=f"to replace it: -o {file}")
    return file


def formula_of(formula: str, names: Iterable[str] = ()) -> str:
    """Return a formula as mathematics writes it in a line, as gviz explain does.

    >>> formula_of("y=(x+w)*(w+1)"), formula_of("a=2*x;y=sin(a)")
    ('y = (x + w)·(w + 1)', 'a = 2·x; y = sin(a)')
    >>> formula_of("y=(h-1)^2"), formula_of("y=x^(1/2)"), formula_of("y=(x**2)**3")
    ('y = (h - 1)²', 'y = x^(1/2)', 'y = (x²)³')
    >>> formula_of("y=2x²+1/ab", ["ab"])
    'y = 2·x² + 1/ab'

    Args:
        formula: as it was typed.
        names: those that have values, so that none of them is read as a product.
    """
    from gviz.formulas.formula import Formula
    from gviz.sources.expression.parse import read_program
    from gviz.sources.expression.program import ExpressionText

    try:
        statements = ast.parse(formula.replace("^", "**"))
    except SyntaxError:  # Python does not read all mathematics
        statements = ast.parse(read_program(ExpressionText(formula), dict.fromkeys(names)).reading())
    lines = (line.partition(" = ") for line in ast.unparse(statements).split("\n"))
    text = "; ".join(f"{name}{equals}{Formula.read(right) or right}" for name, equals, right in lines)
    return shorten(text, LONGEST_TITLE, mark="…")


def default_stem(graph: Graph) -> str:
    """Return a file name from the names of the roots: ``y``, ``d_k`` for ``d['k']``, ``graph`` for none.

    A static graph, which ends in many operations, has the name of its title.

    >>> from gviz.graphs import Graph, Node
    >>> default_stem(Graph(nodes=(Node("n0", "output", name="d['k']"),), roots=("n0",)))
    'd_k'
    >>> default_stem(Graph(nodes=(Node("n0", "output", name="∂²y/∂x²"),), roots=("n0",)))
    'd2y_dx2'
    """
    names = (
        [graph.title] if graph.kind == "static" else [node.name or "" for node in graph.nodes if node.id in graph.roots]
    )
    from unicodedata import normalize  # of a picture whose file has a name, nobody asks this

    plain = normalize("NFKC", "-".join(names).replace("/", "_").replace("∂", "d"))
    stem = re.sub(r"[^A-Za-z0-9._-]+", "_", plain)[:LONGEST_STEM].strip("._-")
    if stem.upper() in {"AUX", "CON", "NUL", "PRN"}:  # devices, not files, on Windows
        stem += "_"
    return stem or "graph"
