"""``gviz explain``: the chain rule, path by path; the names of operations, and errors, in plain words."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from gviz.cli import streams
from gviz.cli.options import (
    NAMES,
    READING,
    Command,
    OneOf,
    SourceCommand,
    listed_option,
    refuse_source,
    takes_source,
    typed_options,
)
from gviz.cli.values import refuse_first
from gviz.files import write

if TYPE_CHECKING:
    from gviz.answers import Explanation
    from gviz.sources import Source, SourceOptions

FORMS, STDOUT = ("text", "latex", "markdown", "json"), (None, "-")


def takes_words(command: Command) -> Command:
    """Let a command that takes a source take the name of an operation, or an error's text, in its place."""

    @wraps(command)
    def choose(*, words: tuple[str, ...], after: tuple[str, ...], **options: Any) -> int:
        from gviz.answers import explain_words, subject_of
        from gviz.sources.source import looks_like_a_file

        spoken = words or after
        first, whole = "".join(spoken[:1]), " ".join(spoken)  # an error's text may have been typed without quotes
        text = whole if not looks_like_a_file(first) and subject_of(whole) in {"error", "word"} else first
        if subject_of(text) == "source" or not text:
            return command(words=words, after=after, **options)
        keys = ("form", "file", "as_json", "fragment")
        form, explained = format_asked(**{key: options[key] for key in keys}), explain_words(text)
        flags = typed_options(click.get_current_context(), *keys)
        unused = [*(spoken[1:] if text == first else ()), *flags]
        if unused:
            streams.complain(f"{', '.join(unused)} not used: no expression or script is explained here", "warning")
        write_explanation(explained, form, options["file"], fragment=options["fragment"])
        return 0

    return choose


def format_asked(form: str | None, file: str | None, *, as_json: bool, fragment: bool) -> str:
    """Return the format of an explanation that was asked for; UsageError, or RenderError, if it cannot be."""
    from gviz.answers import suffix_for

    written = "json" if as_json else form or ("text" if file is None or file == "-" else suffix_for(file))
    refuse_first(
        {
            f"--json and --format {form}: take one.": as_json and form not in (None, "json"),
            "--fragment is a part of a LaTeX document: --format latex, or -o FILE.tex.": (
                fragment and written != "latex"
            ),
        }
    )
    return written


def write_explanation(explanation: Explanation, form: str, file: str | None, *, fragment: bool) -> None:
    """Write an explanation, or a fragment of a document, to a file, or to standard output."""
    from gviz.answers import PageStyle

    look = streams.terminal_look() if file in STDOUT else {}
    text = explanation.text(form, PageStyle(**look, fragment=fragment))
    if file is None or file == "-":
        streams.write_product(text)
    else:
        write(file, text)


@click.command(
    cls=SourceCommand,
    page={
        "The explanation": "wrt max-paths format fragment output",
        "The source": "root frozen retain values until engine",
    },
)
@takes_words
@takes_source(*READING)
@listed_option(
    "--wrt",
    **NAMES,
    help="The tensor whose gradient is derived; repeatable. [default: each leaf]",
    example="NAME",
    short="the tensor whose gradient is derived",
)
@listed_option(
    "--max-paths",
    type=click.IntRange(1, 10_000),
    default=8,
    show_default=True,
    metavar="N",
    help="The paths to each tensor that are listed; all are counted and added.",
    example="N",
    short="how many paths to each tensor are listed",
)
@listed_option(
    "--format",
    "form",
    type=OneOf(FORMS),
    help="The format. [default: the file's suffix, or text]",
    example="FORMAT",
    short="text, latex, markdown or json",
)
@listed_option(
    "--fragment",
    is_flag=True,
    help="Leave out the preamble of LaTeX, for a document or slides of your own.",
    short="LaTeX without its preamble, to be pasted",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, as --format json.")
@listed_option(
    "-o",
    "--output",
    "file",
    metavar="FILE",
    help="The file to write: .txt, .tex, .md or .json.",
    example="FILE",
    short="the file; its suffix is the format",
)
def explain(
    *,
    source: Source,
    options: SourceOptions,
    wrt: tuple[str, ...],
    max_paths: int,
    form: str | None,
    as_json: bool,
    file: str | None,
    fragment: bool,
) -> int:
    """Explain gradients, an operation, an error or a word.

    SOURCE is an expression, a .py script or .ipynb notebook (it is executed), a saved graph .json, or - for standard
    input. Each path of the chain rule is multiplied along, and the sum of all is compared with the engine's gradient.
    In place of SOURCE there may be the name of an operation, the text of one of PyTorch's errors, or a word such as
    leaf.

    \b
    Examples:
      gviz explain "y=(x+w)*(w+1)" x=2 w=1 --wrt w
      gviz explain train.py --wrt net.fc.bias -o bias.tex
      gviz explain AddBackward0
      gviz explain retain_grad
      gviz explain "grad can be implicitly created only for scalar outputs"
      python train.py 2>&1 | gviz explain -
    """
    from gviz.answers import explain as explained
    from gviz.cli.reading import ready

    written = format_asked(form, file, as_json=as_json, fragment=fragment)
    refuse_source(None if file in STDOUT else file, source, "explanation")
    with ready(source, product_on_stdout=file in STDOUT):
        explanation = explained(source, wrt, options=options, max_paths=max_paths, say=streams.say)
    write_explanation(explanation, written, file, fragment=fragment)
    return 0 if explanation.reading is None else explanation.reading.status
