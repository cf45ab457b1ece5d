"""Answers in words and formulas, one file per format: for a terminal, LaTeX, Markdown, JSON.

A format is a module with ``SUFFIXES`` and ``render(explanation, page)``, which returns its text.
"""

from __future__ import annotations

import ast
import json
import os
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from gviz.derivations.derivation import MOST_PATHS, Derivation, derive
from gviz.errors import RenderError
from gviz.files import write
from gviz.sources import Note, Reading, Source, SourceOptions, read
from gviz.sources.source import looks_like_a_file, text_or_path
from gviz.text import did_you_mean

if TYPE_CHECKING:
    from gviz.reference.error_help import ErrorHelp
    from gviz.reference.naming import Named
    from gviz.reference.words import Word

__all__ = ["FORMATS", "Explanation", "PageStyle", "explain", "explain_words", "subject_of", "suffix_for"]

FORMATS = {"text": "terminal", "latex": "latex", "markdown": "markdown", "json": ""}
"""The formats by their names, each with its module here, if it needs one."""

SUFFIXES = {"txt": "text", "tex": "latex", "md": "markdown", "json": "json"}
"""The formats by the suffixes of files."""

CODE = (".py", ".pyw", ".ipynb", ".json")
"""Suffixes of files that are a source, whatever stands in them."""

Subject: TypeAlias = Literal["source", "operation", "error", "word"]


@dataclass(frozen=True)
class PageStyle:
    """The page that a text is written on.

    Args:
        width: its columns.
        ascii: whether it can show ASCII alone.
        color: whether ANSI colours are welcome.
        fragment: whether the text is a part of a document, which has a preamble of its own.
    """

    width: int = 80
    ascii: bool = False
    color: bool = False
    fragment: bool = False


@dataclass(frozen=True, repr=False)
class Explanation:
    """What ``gviz explain`` says; ``print()`` shows it, and so does a notebook.

    Args:
        subject: what was asked: a ``source``, an ``operation`` by its name, an ``error`` by its text, or a ``word``.
        content: the gradients of a source, path by path; the operations of a name; the error; or the word.
        reading: the source, as it was read; None for anything else.
    """

    subject: Subject
    content: Derivation | tuple[Named, ...] | ErrorHelp | Word
    reading: Reading | None = None

    def text(self, form: str = "text", page: PageStyle | None = None) -> str:
        """Return it in a format: ``text``, ``latex`` (a document), ``markdown`` or ``json``.

        Raises:
            RenderError: there is no such format.
        """
        if format_named(form) == "json":
            return json.dumps(self.as_dict(), ensure_ascii=False, allow_nan=False) + "\n"
        module = import_module(f"gviz.answers.{FORMATS[format_named(form)]}")
        return str(module.render(self, page or PageStyle()))

    def save(self, path: str | os.PathLike[str]) -> str:
        """Write it to a file, whole or not at all: ``.txt``, ``.tex``, ``.md`` or ``.json``; return the path.

        Raises:
            RenderError: the suffix is none of these.
            FileError: the file cannot be written.
        """
        return str(write(path, self.text(suffix_for(path))))

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        if isinstance(self.content, tuple) and self.subject == "operation":
            return {"operations": [one.as_dict() for one in self.content]}  # type: ignore[union-attr]
        record: dict[str, Any] = self.content.as_dict()  # type: ignore[union-attr]
        return record

    def __repr__(self) -> str:
        """Return it as text."""
        return self.text().rstrip("\n")

    def _repr_markdown_(self) -> str:
        """Return it as Markdown, as notebooks show it."""
        return self.text("markdown")


def format_named(form: str) -> str:
    """Return the name of a format, by its name or suffix; RenderError if there is none."""
    name = SUFFIXES.get(form.lower().removeprefix("."), form.lower())
    if name in FORMATS:
        return name
    raise RenderError(
        f"there is no format {form!r}", hint=did_you_mean(form, FORMATS, f"there are {', '.join(FORMATS)}")
    )


def suffix_for(path: str | os.PathLike[str]) -> str:
    """Return the format of a file, by its suffix; RenderError if it has none of those that there are."""
    suffix = os.path.splitext(os.fspath(path))[1][1:].lower()
    if suffix not in SUFFIXES:
        what = (
            f"gviz explain writes no .{suffix} files"
            if suffix
            else "the file's name has no suffix that tells the format"
        )
        suffixes = ", ".join(f".{one}" for one in SUFFIXES)
        raise RenderError(what, hint=f"it writes {suffixes}; gviz render SOURCE --path NAME draws the paths")
    return SUFFIXES[suffix]


def subject_of(word: str) -> Subject:
    """Return what a word is: a source, the name of an operation, or the text of an error.

    A file is a source. A text with an error's beginning, with four words in a row, about a gradient without a formula,
    or that gviz knows, is an error. A name alone, with what print() puts around it, is an operation: an expression of
    one name has nothing to explain. A word of autograd, such as leaf, is one. All else is an expression.

    >>> [subject_of(word) for word in ("y=(x+w)*(w+1)", "<AddBackward0>", "relu", "x@w", "net.py", "is_leaf")]
    ['source', 'operation', 'operation', 'source', 'source', 'word']
    >>> subject_of("RuntimeError: grad can be implicitly created only for scalar outputs")
    'error'
    """
    from gviz.reference.error_help import looks_like_an_error
    from gviz.reference.naming import looks_like_a_node
    from gviz.reference.words import word_for

    if word == "-" or looks_like_a_file(word):
        return "source"
    if word_for(word) is not None:
        return "word"
    if looks_like_an_error(word):
        return "error"
    return "operation" if looks_like_a_node(word) else "source"


def subject_of_pasted(source: Source) -> Subject:
    """Return what standard input, or a text file, holds: code is a source, unless an error's beginning stands in it."""
    from gviz.reference.error_help import begins_as_an_error

    if source.kind == "graph" or (source.kind == "script" and is_python(source.text)):
        return "source"
    if begins_as_an_error(source.text):
        return "error"
    return subject_of(source.text.strip()) if source.kind == "expression" else "source"


def is_python(text: str) -> bool:
    """Return whether Python can read a text, which may quote an error."""
    with warnings.catch_warnings(), suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        warnings.simplefilter("ignore")
        ast.parse(text)
        return True
    return False


def explain(
    word: str | os.PathLike[str] | Source,
    wrt: str | Sequence[str] = (),
    *,
    options: SourceOptions | None = None,
    max_paths: int = MOST_PATHS,
    say: Callable[[Note], None] | None = None,
    **values: Any,
) -> Explanation:
    """Return the chain rule of a source, path by path; or what an operation's name, or an error's text, means.

    >>> print(explain("y=x*w", "w", x=2, w=3))
    The gradient of y, path by path
    <BLANKLINE>
      x = 2, w = 3
      y = x·w = 6
    <BLANKLINE>
    ∂y/∂w: one path
      y → w   ∂y/∂w = x = 2
      ∂y/∂w = 2 = w.grad
    >>> explain("AddBackward0").subject
    'operation'

    Args:
        word: a source as :func:`gviz.read` takes it; a name of an operation or of a graph's node; the text of an
            error; or a word of autograd, such as ``leaf``.
        wrt: names of tensors whose gradients are derived; all leaves if there is none.
        options: how to read the source.
        max_paths: how many paths to each tensor are listed; all of them are counted and added.
        say: called with each note on the source as it comes.
        values: values by name, as for :func:`gviz.read`.

    Raises:
        SourceError: the source is not right, no path leads to a tensor of ``wrt``, or the name or the error is unknown.
        FileError: a file that cannot be read.
    """
    if not isinstance(word, Source):
        word = text_or_path(word)
        subject = subject_of(word)
        if subject != "source":
            return explain_words(word)
        word = Source.of(word, values={**(options.values if options else {}), **values})
    if word.file and not word.file.lower().endswith(CODE) and (subject := subject_of_pasted(word)) != "source":
        return explain_words(word.text, subject)
    names = (wrt,) if isinstance(wrt, str) else tuple(wrt)
    facts: dict[str, Any] = {
        "flow": True,
        "jacobians": True,
        "lines": word.kind == "script",
        "names": names,
    }  # with all values
    reading = read(word, replace(options or SourceOptions(), **facts), say=say, **values)
    return Explanation("source", derive(reading.graph, names, max_paths), reading)


def explain_words(text: str, subject: Subject | None = None) -> Explanation:
    """Return what an operation's name, or an error's text, means; SourceError if gviz knows neither."""
    from gviz.reference import error_help, naming
    from gviz.reference.words import word_for

    if subject is None and (word := word_for(text)) is not None:
        return Explanation("word", word)
    if (subject or subject_of(text)) == "error":
        return Explanation("error", error_help.help_for(text))
    return Explanation("operation", naming.named(text))
