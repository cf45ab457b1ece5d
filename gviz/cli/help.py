"""``gviz help``: what a command does, and its options."""

from __future__ import annotations

import click

from gviz.cli import COMMANDS


def _commands(_context: click.Context, _argument: click.Parameter, beginning: str) -> list[str]:
    """Return the commands that a word begins, for Tab."""
    return [name for name in COMMANDS if name.startswith(beginning)]


@click.command()
@click.argument("command", required=False, default="", shell_complete=_commands)
@click.pass_context
def help(context: click.Context, command: str) -> int:  # noqa: A001 - it is the name of the command
    """Show the help of a command, or the list of commands.

    \b
    Examples:
      gviz help
      gviz help render
    """
    context_of_help = main = context.find_root()
    if command and isinstance(main.command, click.Group):
        name, command_found, _ = main.command.resolve_command(main, [command])
        if command_found is not None:
            context_of_help = click.Context(command_found, parent=main, info_name=name)
    click.echo(context_of_help.get_help())
    return 0
