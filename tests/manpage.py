"""The man page, made of what click knows of the commands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from inspect import cleandoc

import click

from gviz import __version__
from gviz.cli import COMMANDS, LazyGroup, main

HEAD = f"""\
.\\" made from the help of the commands: make docs
.TH GVIZ 1 "" "gviz {__version__}" "User Commands"
.SH NAME
gviz \\- draw and inspect computational graphs
.SH SYNOPSIS
.B gviz
.I COMMAND
.RI [ OPTIONS ]
.RI [ SOURCE ]
.RI [ NAME=VALUE ]...
"""

FOOT = """\
.SH EXIT STATUS
.TP
.B 0
Done.
.TP
.B 1
The input is wrong, or the result cannot be made.
.TP
.B 2
The command line is wrong.
.TP
.B 130
Ctrl\\-C stopped it.
.SH FILES
.TP
.I pyproject.toml
The table
.B [tool.gviz]
has defaults of options, for the folder of the file and all below it.
.SH SEE ALSO
.BR dot (1)
"""


def man_page() -> str:
    """Return the page: each command with its text, its examples and all its options."""
    assert isinstance(main, LazyGroup)
    context = click.Context(main, info_name="gviz")
    text = [HEAD, ".SH DESCRIPTION\n", *body(main.help or ""), ".SH COMMANDS\n"]
    for name in COMMANDS:
        command = main.get_command(context, name)
        assert command is not None
        own = click.Context(command, info_name=name, parent=context)
        text += [
            f".SS {escaped(' '.join(['gviz', name, *command.collect_usage_pieces(own)]))}\n",
            *body(command.help or ""),
        ]
        for option in command.get_params(own):
            record = option.get_help_record(own) if isinstance(option, click.Option) else None
            if record is not None and record[0] not in ("-h, --help", "--help", "--help-all"):
                text.append(f".TP\n.B {escaped(record[0])}\n{escaped(record[1])}\n")
    return "".join([*text, FOOT])


def body(help_text: str) -> Iterator[str]:
    """Yield the paragraphs of a help; those behind click's mark stay in lines."""
    for paragraph in re.split(r"\n\n+", cleandoc(help_text)):
        if paragraph.startswith("\b\n"):
            yield f".PP\n.nf\n{escaped(paragraph.removeprefix(chr(8)).strip(chr(10)))}\n.fi\n"
        else:
            yield f".PP\n{escaped(' '.join(paragraph.split()))}\n"


def escaped(text: str) -> str:
    """Return a text in which nothing is a request of troff."""
    plain = text.replace("\\", r"\e").replace("-", r"\-").replace("~", r"\(ti").replace("^", r"\(ha")
    return re.sub(r"^(?=[.'])", r"\\&", plain, flags=re.MULTILINE)
