"""The directive ``gviz`` of Sphinx, and so of MyST's Markdown: ``extensions = ["myst_parser", "gviz.sphinx"]``.

Its words are those of ``gviz render``; ``--page`` puts the page there that can be searched, folded and played::

    ```{gviz} "y=(x+w)*(w+1)" x=2 w=1 --view circuit
    :alt: the circuit of y

    The caption.
    ```

A source that is a file is read from the folder of the document.
"""

from __future__ import annotations

import os
import shlex
import warnings
from contextlib import chdir
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from gviz import __version__
from gviz.cli.notebook import Shown, shown_by_words
from gviz.errors import ArgumentError, GvizError, GvizWarning
from gviz.render import render

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

FOLDER = "gviz"
"""Where the pictures are kept: beside what Sphinx keeps of the documents."""

IMAGES = ("svg", "pdf", "png")
"""What a builder chooses from: HTML the first, LaTeX the second, an e-book the first or the last."""


def picture_files(shown: Shown, folder: str) -> str:
    """Write a picture in each format that a builder may want; return the files' path without a suffix."""
    files = {suffix: render(shown.graph, suffix, shown.options) for suffix in IMAGES}
    stem = os.path.join(folder, sha256(str(files["svg"]).encode()).hexdigest()[:16])
    os.makedirs(folder, exist_ok=True)
    for suffix, data in files.items():
        with open(f"{stem}.{suffix}", "wb") as file:
            file.write(data.encode() if isinstance(data, str) else data)
    return stem


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directive, as Sphinx asks each extension to."""
    from docutils import nodes
    from docutils.parsers.rst import directives
    from sphinx import addnodes
    from sphinx.util.docutils import SphinxDirective
    from sphinx.util.logging import getLogger

    logger = getLogger(__name__)

    class GvizDirective(SphinxDirective):  # type: ignore[misc]  # of no known type where Sphinx is not installed
        """A picture, or a page, of a source."""

        required_arguments = 1
        final_argument_whitespace = True
        has_content = True
        option_spec = {"alt": directives.unchanged, "width": directives.unchanged}  # noqa: RUF012 - Sphinx has it so

        def run(self) -> list[nodes.Node]:
            """Return the figure."""
            folder = os.path.dirname(self.env.doc2path(self.env.docname))
            words = shlex.split(self.arguments[0])
            if os.path.isfile(os.path.join(folder, words[0])):
                self.env.note_dependency(os.path.join(folder, words[0]))
            try:
                with chdir(folder), warnings.catch_warnings(record=True) as remarks:
                    warnings.simplefilter("always", GvizWarning)
                    drawn = shown_by_words(words, "gviz")
                    if drawn is None:
                        raise ArgumentError("the words are those of gviz render, without --help")
                    shown = drawn()
                    stem = picture_files(shown, os.path.join(app.doctreedir, FOLDER))
            except GvizError as error:
                raise self.error(str(error)) from None
            for text in dict.fromkeys(str(remark.message) for remark in remarks):
                logger.info("%s: %s", self.get_location(), text)
            uri = "/" + os.path.relpath(stem, app.srcdir).replace(os.sep, "/") + ".*"
            alt = self.options.get("alt", f"The graph of {shown.graph.title}")
            width = {"width": self.options["width"]} if "width" in self.options else {}
            figure = nodes.figure("", nodes.image(uri=uri, alt=alt, **width))
            if shown.is_page:  # a picture where there are no scripts, as on paper
                page = nodes.raw("", shown._repr_mimebundle_()["text/html"], format="html")
                figure = nodes.figure("", page, addnodes.only("", *figure.children, expr="not html"))
            if self.content:
                inline, messages = self.parse_inline(" ".join(self.content))
                figure += [nodes.caption("", "", *inline), *messages]
            self.set_source_info(figure)
            return [figure]

    app.add_directive("gviz", GvizDirective)
    return {"version": __version__, "parallel_read_safe": True, "parallel_write_safe": True}
