"""What the word SOURCE stands for: an expression, a script or a saved graph, and its text. Decided once, here."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TextIO

from gviz import files
from gviz.errors import ArgumentError, SourceError
from gviz.options import SourceOptions
from gviz.sources.notes import Note

if TYPE_CHECKING:
    from gviz.sources.notebook import Cells

FOLDERS = ("./", "../", "/", "~/")
"""What no expression begins with, and the way to a file does."""

LOOKS_LIKE = (".py", ".pyw", ".json", ".ipynb", ".txt", ".pt", ".pth", ".onnx", ".dot", ".gv", ".pdf", ".svg", ".png")
"""Suffixes that make a source a file name, even if there is no such file."""

RAISED = re.compile(r"[\w)] *[\^_] *\{")
"""A power or an index in braces, which is LaTeX without a command: ``e^{-x}``, ``w_{1}``."""

WRAPPED = re.compile(r"\A\s*(?:>>>?|In\s*\[\s*\d*\s*\]:|`)|^\s*(?:`{3}|~{3})", re.MULTILINE)
"""Prompts, backticks and fences: pasted code."""

MODEL = re.compile(r"(?P<home>(?:[^\s:;=(*+,]*/)?[A-Za-z_]\w*(?:\.\w+)*):(?P<name>[A-Za-z_]\w*)")
"""A model: a file or a module, a colon, and the name of the model in it, or of what makes one."""

JSON = re.compile(r"[\ufeff\s]*(?:\{|\[\s*\{)")
"""The beginning of a graph, or of other JSON: no expression begins so."""

DOT = re.compile(r"(?:\s|//.*|#.*)*(?:strict\s+)?(?:di)?graph\b[^={(]*\{")
"""The beginning of a graph in Graphviz's language."""

SCRIPT_SIGNS = re.compile(
    r"""^\s*(?:import|from|def|class|for|while|if|with|try|async|del|global|return|assert|raise|@\w)\b
      | \bprint\s*\(
      | \btorch\s*\.\s*\w
      | \.\s*(?:backward|retain_grad|requires_grad_?)\b
    """,
    re.MULTILINE | re.VERBOSE,
)
"""What scripts have and expressions do not."""

NO_CODE = re.compile(r"#.*|'[^'\n]*'|\"[^\"\n]*\"")
"""Comments and strings of one line, whose words are not code."""

Kind = Literal["graph", "script", "expression"]


@dataclass(frozen=True)
class Source:
    """A source before it is computed.

    Args:
        kind: what it is.
        text: its text; of an expression without what surrounds pasted code.
        file: the file's name, :data:`gviz.files.STDIN` for standard input; None for an expression that is the word
            itself.
        notes: what was taken off the text.
        cells: where the cells of a notebook are in its text, which is their code; None for anything else.
    """

    kind: Kind
    text: str
    file: str | None = None
    notes: tuple[Note, ...] = ()
    cells: Cells | None = None

    @classmethod
    def of(cls, word: str, stdin: TextIO | None = None, values: Mapping[str, object] | None = None) -> Source:
        """Return the source that a word stands for; its file is read, and nothing is run.

        Args:
            word: an expression, the name of a file, or ``-`` for standard input.
            stdin: what ``-`` reads; None for the process's standard input.
            values: the values of names, which tell what letters side by side are in LaTeX.

        Raises:
            FileError: a file that cannot be read, or is not a text.
            SourceError: a notebook without code; a pasted script in the place of an expression: a word on the command
                line is not executed.
        """
        if MODEL.fullmatch(word):
            return cls("script", "", word)
        if word == "-":
            import sys

            text, file = files.read_stdin(sys.stdin if stdin is None else stdin), files.STDIN
        elif looks_like_a_file(word):
            text, file = files.decode(files.read_file(word), word), word
        else:
            text, file = word, None
        if file and file.lower().endswith(".ipynb"):
            from gviz.sources.notebook import read_notebook

            text, notes, cells = read_notebook(text, file)
            return cls("script", text, file, notes, cells)
        if DOT.match(text):
            raise SourceError(
                f"{file or 'this'} is a picture in DOT, not a graph that gviz reads",
                hint="gviz writes DOT and reads JSON: save the graph with -o y.json as well",
            )
        kind: Kind = "expression" if file is None else kind_of_text(text, file)
        if kind == "expression" and ("\\" in text or text.lstrip()[:1] == "$" or RAISED.search(text)):
            from gviz.sources.expression.latex import read_latex

            text, notes = read_latex(text, values or {})
            return cls(kind, text, file, notes)
        if kind != "expression" or not WRAPPED.search(text):
            return cls(kind, text, file)
        from gviz.sources.pasted import unwrap

        text, notes = unwrap(text)
        if kind_of_text(text, files.STDIN) == "script":
            raise SourceError(
                "this is a pasted script: as a word, SOURCE is an expression",
                hint="save it in a file and name that, or pipe it into gviz with - as SOURCE",
            )
        return cls(kind, text, file, notes)

    @property
    def is_model(self) -> bool:
        """Whether it is the name of a model, whose script is written by gviz."""
        return self.kind == "script" and MODEL.fullmatch(self.file or "") is not None

    def with_paths(self, options: SourceOptions) -> SourceOptions:
        """Return the options with a line of the text for a place in a notebook's cell.

        Raises:
            SourceError: there is no such place.
        """
        if not options.until.startswith("cell"):
            return options
        if self.cells is None:
            raise SourceError(
                f"--until {options.until}: {self.file or 'an expression'} is no notebook, and has no cells",
                hint="write a line: --until 12",
            )
        return replace(options, until=self.cells.until(options.until))


def looks_like_a_file(word: str) -> bool:
    """Return whether the word names a file: it exists, or ends as file names do and holds nothing that formulas do.

    >>> [looks_like_a_file(word) for word in ("nett.py", "../nett", "y=(x+w)*(w+1)", "a/b")]
    [True, True, False, False]
    """
    if not word or "\n" in word or "\0" in word or len(word) > 4096:  # no system has longer paths
        return False
    if (word.lower().endswith(LOOKS_LIKE) or word.startswith(FOLDERS)) and not set("=;(*+,") & set(word):
        return True
    return os.path.lexists(word)


def kind_of_text(text: str, file: str) -> Kind:
    """Return what the text of a file, or of standard input, is.

    The suffix of a file decides if it is ``.py`` or ``.json``. Else a text that begins with ``{`` or ``[{`` is a graph;
    a text that imports, defines, loops, branches, prints or names torch is a script; and every other text is an
    expression.

    >>> kind_of_text("y = (x+w)*(w+1)", "<stdin>"), kind_of_text("import torch", "<stdin>"), kind_of_text("y", "net.py")
    ('expression', 'script', 'script')
    """
    suffix = "" if file == files.STDIN else os.path.splitext(file)[1].lower()
    if suffix in {".py", ".pyw"}:
        return "script"
    if suffix == ".json" or JSON.match(text):
        return "graph"
    if WRAPPED.search(text):
        from gviz.sources.pasted import unwrap

        text, _ = unwrap(text)
    return "script" if SCRIPT_SIGNS.search(NO_CODE.sub("", text)) else "expression"


def text_or_path(source: Any) -> str:
    """Return an expression, or the path of a file. TypeError: it is neither, such as a tensor."""
    if not isinstance(source, str | os.PathLike):
        kind = type(source).__name__
        what = f"a source is an expression or the path of a file, and this is of type {kind}"
        raise ArgumentError(f"{what}: gviz.graph(tensor) draws how a tensor was made")
    return os.fspath(source)
