"""The site: `make site` builds it of the pages in docs/ and in the folders that they name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from gviz import __version__

ROOT = Path(__file__).parent.parent.parent

project = "gviz"
author = "The gviz founders"
version = release = __version__
root_doc = "docs/site/index"
include_patterns = ["*.md", "docs/*.md", "docs/site/*.md", "samples/README.md", "benchmarks/README.md"]
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "gviz.sphinx"]
source_suffix = {".md": "markdown"}

html_theme = "furo"
html_title = f"gviz {version}"
html_extra_path = ["index.html"]  # sends on to the first page
html_show_sphinx = False
html_show_copyright = False

myst_enable_extensions = ["html_image"]
myst_heading_anchors = 3
suppress_warnings = ["myst.header", "misc.highlighting_failure"]  # logs of programs are no code of a language

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
add_module_names = True


def prepare(_app: Any, docname: str, source: list[str]) -> None:
    """Write the table of operations where its page has a mark for it; leave a link to a folder away, which is no page."""
    folder = (ROOT / docname).parent
    source[0] = re.sub(
        r"\[([^\]]+)\]\(([^)#:]+)\)", lambda link: link[1] if (folder / link[2]).is_dir() else link[0], source[0]
    )
    if docname == "docs/site/operations":
        from gviz.reference.catalogue import operations

        listed = [one for one in operations() if one.grad_fn and one.forms]
        rows = [f"| `{one.grad_fn}` | {', '.join(f'`{form}`' for form in one.forms[:3])} |" for one in listed]
        source[0] = source[0].replace("OPERATIONS", "\n".join(["| grad_fn | called as |", "|---|---|", *rows]))


def setup(app: Any) -> None:
    """Tell Sphinx what each page needs."""
    app.connect("source-read", prepare)
