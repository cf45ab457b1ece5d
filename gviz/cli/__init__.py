"""The command line: one file per command in this folder, each imported when it is called.

``run`` is the one place where errors become messages and exit statuses: 0 done, 1 the input is wrong, 2 usage.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import NoReturn

import click

from gviz import __version__
from gviz.cli import streams
from gviz.cli.settings import settings, with_place
from gviz.errors import GvizError
from gviz.files import HINTS

COMMANDS = (
    *("render", "view", "steps", "inspect", "summary", "why", "explain", "quiz", "diff", "check", "run", "static"),
    *("compare", "ops", "convert", "formats", "doctor", "help", "version", "completion"),
)
"""Each is a module of this folder with a click command of the same name, in the order of the help."""

OF_SOURCES = COMMANDS[: COMMANDS.index("ops")]
"""Those that read a source, whose options ``[tool.gviz]`` may set."""

DIFFERING = ("diff", "check")
"""Those whose status 1 says that something differs, so that an error of any kind is 2."""

MODULES = {"run": "running"}
"""Those whose module has another name: ``run`` is a function here."""

MEANT = {
    "render": "draw graph make_dot plot show",
    "view": "watch serve open",
    "steps": "animate play",
    "inspect": "list print table",
    "convert": "export save transform",
}
"""Words for the commands that people try."""

MANY_FILES = f"gviz can open no more files: {HINTS[errno.EMFILE]}"

EXIT_ERROR = 1
EXIT_USAGE = 2


class LazyGroup(click.Group):
    """A group that imports a command's module when the command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names, in the order they are best learned in."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of that name, or None."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"gviz.cli.{MODULES.get(cmd_name, cmd_name)}"), cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the first argument names; refuse another word."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            _refuse_command(ctx, args[0])
        if args and args[0] in OF_SOURCES and not ctx.resilient_parsing:
            ctx.default_map = {args[0]: settings()}
        return super().resolve_command(ctx, args)


@click.group(cls=LazyGroup, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="gviz", message="%(prog)s %(version)s")
@click.pass_context
def main(context: click.Context) -> None:
    """Draw and inspect computational graphs, as PyTorch's autograd records them.

    \b
    Examples:
      gviz render "y=(x+w)*(w+1)" x=2 w=1 -o y.pdf
      gviz inspect "y=(x+w)*(w+1)" x=2 w=1

    gviz COMMAND --help shows the options of a command, with examples.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help(), err=True)
        context.exit(EXIT_USAGE)


def run(arguments: Sequence[str]) -> int:
    """Run one command line.

    Args:
        arguments: the words after the program's name.

    Returns:
        The exit status: 0, 1 (the input is wrong) or 2 (usage).

    Raises:
        KeyboardInterrupt: Ctrl-C while a script runs.
    """
    try:
        status = _invoke(list(arguments))
        streams.flush()
    except BrokenPipeError:  # the reader, such as `head -1`, has what it wanted
        streams.abandon(sys.stdout, sys.stderr)
        return 0
    except KeyboardInterrupt:
        streams.abandon(sys.stdout)
        raise
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx is not None else " ".join(["gviz", *arguments[:1]])
        streams.complain(with_place(error, command))
        return EXIT_USAGE
    except GvizError as error:
        streams.complain(str(error))
        complain_of_meaning(error)
        return EXIT_USAGE if {*arguments[:1]} & {*DIFFERING} else error.exit_code
    except Exception as error:  # noqa: BLE001 the last line of defence: any other error is the system's, or gviz's own
        streams.complain(_explained(error))
        return EXIT_USAGE if {*arguments[:1]} & {*DIFFERING} else EXIT_ERROR
    return status


def complain_of_meaning(error: GvizError) -> None:
    """Name the command that explains an error of PyTorch's with which a script stopped, if nothing said what to do."""
    from gviz.reference.error_help import help_in  # the text of all errors, which few need

    text = error.what.partition("Error: ")[2]
    if error.hint is None and error.place is not None and text and "\n" not in text and help_in(error.what):
        streams.complain(f'gviz explain "{text}" says what it means', "note")


def _invoke(arguments: list[str]) -> int:
    """Run the command; return its status."""
    if "_GVIZ_COMPLETE" in os.environ:  # the shell asks for the words that Tab offers
        from gviz.cli.completion import answer_shells

        answer_shells()
        try:
            main.main(arguments, prog_name="gviz")
        except KeyError as error:
            raise click.UsageError(
                f"_GVIZ_COMPLETE is for a shell's completion, which sets {error.args[0]} as well."
            ) from None
    try:
        with main.make_context("gviz", arguments) as context:
            return int(main.invoke(context) or 0)
    except click.exceptions.Exit as done:
        return done.exit_code


def _explained(error: Exception) -> str:
    """Return the message for an error of the system, such as a full disk, or of gviz itself."""
    if isinstance(error, MemoryError):
        return "there is not enough memory for this"
    if isinstance(error, ImportError) and not (error.name or "").startswith("gviz"):
        reason = str(error).strip().rpartition("\n")[2].removeprefix("Original error was: ")  # numpy's is a page long
        return f"a library that gviz needs cannot be loaded: {reason}\nIs it installed as a whole, and is there memory?"
    if isinstance(error, OSError):
        if error.filename is not None or error.errno == errno.EMFILE:
            return MANY_FILES if error.errno == errno.EMFILE else f"{error.filename}: {error.strerror or error}"
        streams.abandon(sys.stdout)
        is_full = error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
        return f"{'cannot write to standard output: ' if is_full else ''}{error.strerror or error}"
    if os.environ.get("GVIZ_DEBUG"):
        import traceback

        return "".join(traceback.format_exception(error)).rstrip()
    return (
        f"gviz has a bug: {type(error).__name__}: {error}\n"
        "Your input may be right. GVIZ_DEBUG=1 shows where it happened; please report it with that."
    )


def _refuse_command(context: click.Context, name: str) -> NoReturn:
    """Refuse a word, with the command that was probably meant, or `gviz render` if the word is a source."""
    from gviz.sources.source import looks_like_a_file
    from gviz.text import did_you_mean

    command_meant = next((command for command, others in MEANT.items() if name.lower() in others.split()), None)
    hint = (
        f"did you mean {command_meant}?"
        if command_meant
        else did_you_mean(name, COMMANDS, f"the commands are {', '.join(COMMANDS)}")
    )
    if context.invoked_subcommand == "help" and command_meant is None:
        from gviz.answers import explain_words

        with suppress(GvizError):
            explain_words(name)
            hint = f"gviz explain {name} explains the word"
    if "=" in name or looks_like_a_file(name):
        hint = f'to draw it: gviz render "{name}"'
    raise click.UsageError(f"there is no command {name!r}: {hint}", context)
