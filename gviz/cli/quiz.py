"""``gviz quiz``: the local derivatives and gradients of a formula as questions."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from gviz.cli import streams
from gviz.cli.options import SourceCommand, field_option, listed_option, takes_source
from gviz.cli.output import Output, for_terminal, title_of
from gviz.cli.reading import read_source
from gviz.cli.values import refuse_first
from gviz.errors import SourceError
from gviz.files import STDIN, write
from gviz.pictures.options import RenderOptions

if TYPE_CHECKING:
    from gviz.derivations.quiz import Question
    from gviz.sources import Source, SourceOptions

HELP = "Type a number, such as 2, -0.5 or 1/3; an empty line or ? for a hint, q to end."

TELLING = ("json", "tensorboard")
"""Formats that say more of a graph than what is drawn."""

SAYS_WHAT = "a number is asked for, such as 2, -0.5 or 1/3; ? is for a hint"


@click.command(
    cls=SourceCommand,
    page={"The exercise": "answers output theme", "The source": "root values until"},
)
@takes_source()
@listed_option(
    "--answers",
    "has_answers",
    is_flag=True,
    help="Print the answers, or draw them with -o.",
    short="print the answers, or draw them with -o",
)
@listed_option(
    "-o",
    "--output",
    "file",
    metavar="FILE",
    help="Draw the picture with blanks in place of the numbers that are asked for; html asks for them on the page.",
    example="FILE",
    short="draw the picture with blanks for them",
)
@field_option(RenderOptions, "theme")
def quiz(*, source: Source, options: SourceOptions, has_answers: bool, file: str | None, theme: str) -> int:
    """Ask for the local derivatives and the gradients of SOURCE.

    SOURCE is an expression, a .py script or .ipynb notebook (it is executed), or a saved graph .json. A wrong answer
    brings a hint: what arrives, and which local derivative is asked for, way by way. Standard input may be a file with
    a line for each answer.

    \b
    Examples:
      gviz quiz "y=(x+w)*(w+1)" x=2 w=1
      gviz quiz "y=(x+w)*(w+1)" x=2 w=1 -o quiz.html
      gviz quiz "y=(x+w)*(w+1)" x=2 w=1 --answers
    """
    from gviz.derivations.quiz import blanked, questions_of
    from gviz.render import html, render

    picture, asks = Output((file,), RenderOptions(view="dataflow", theme=theme)), not (has_answers or file)
    tells = f"{picture.format} would tell the answers: html asks, and pdf, svg, png, pptx and tex are pictures."
    refuse_first(
        {
            "gviz quiz reads the answers from standard input: give SOURCE as a word or as a file.": (
                asks and source.file == STDIN
            ),
            tells: file and not has_answers and picture.format in TELLING,
        }
    )
    picture.check(source)
    facts = replace(options, flow=True, lines=source.kind == "script")  # with the values of results without a name
    reading = read_source(source, facts, product_on_stdout=not file)
    questions = questions_of(reading.graph)
    if not questions:
        hint = 'gviz quiz asks for derivatives that are one number, where backward has run: gviz quiz "y=(x+w)*(w+1)"'
        raise SourceError("there is nothing to ask about this graph", hint=hint)
    blank = blanked(reading.graph)
    if file:
        titled = picture.drawn_with(title=title_of(source, reading.graph))
        if picture.format == "html" and not has_answers:
            page = html.render_quiz(blank, [one._asdict() for one in questions], titled.options)
            streams.write_product(page) if file == "-" else write(file, page)
        else:
            titled.write(reading.graph if has_answers else blank)
    elif has_answers:
        streams.write_product("".join(f"{one.about}:  {one.asked} = {one.answer:g}\n" for one in questions))
    else:
        tree = render(blank, "txt", for_terminal(picture.options))
        streams.write_product(f"{tree if isinstance(tree, str) else ''}\n{HELP}\n")
        with streams.interruptible():
            ask_all(questions)
    return 0


def ask_all(questions: Sequence[Question]) -> None:
    """Ask the questions, and print the score, be it that the answers end before."""
    at_once = helped = asked = 0
    try:
        for number, question in enumerate(questions, 1):
            streams.write_product(f"\n{number}/{len(questions)}  {question.about}\n")
            tries = ask(question)
            asked = number
            at_once += tries == 0
            helped += 0 < tries <= len(question.hints)
    except (EOFError, KeyboardInterrupt):
        streams.write_product("\n")
    streams.write_product(f"\n{at_once} of {len(questions)} right at once, {helped} with hints; {asked} answered\n")


def ask(question: Question) -> int:
    """Ask until the answer is right, with a hint after each that is not; return how many of these there were.

    After the last hint the answer is told.

    Raises:
        EOFError: there are no more answers, or they are to end.
    """
    for tries, hint in enumerate((*question.hints, "")):
        while True:
            streams.write_product(f"     {question.asked} = ")
            text = read_line()
            try:
                is_right = bool(text) and question.is_right(text)
            except ValueError:
                streams.write_product(f"     {SAYS_WHAT}\n")
                continue
            break
        if is_right:
            streams.write_product("     right\n")
            return tries
        head = f"not {text}: " if text else ""
        streams.write_product(f"     {head}{hint or f'the answer is {question.answer:g}'}\n")
    return len(question.hints) + 1


def read_line() -> str:
    """Return an answer, "" if a hint is asked for; EOFError at the end of standard input, and for ``q``."""
    line = sys.stdin.readline() if sys.stdin is not None else ""
    if not streams.is_terminal(sys.stdin):
        streams.write_product(line if line.endswith("\n") else f"{line}\n")
    text = line.strip().replace("−", "-").rpartition("=")[2].strip()
    if not line or text.lower() in ("q", "quit", "exit"):
        raise EOFError
    return "" if text == "?" else text
