"""``gviz completion``: what lets a shell complete commands, options and files with the Tab key."""

from __future__ import annotations

import click

from gviz.cli.options import OneOf


@click.command()
@click.argument("shell", type=OneOf(("bash", "zsh", "fish")))
@click.pass_context
def completion(context: click.Context, shell: str) -> int:
    """Print what lets a shell complete gviz's words with Tab.

    \b
    Examples:
      gviz completion fish > ~/.config/fish/completions/gviz.fish
      eval "$(gviz completion bash)"                       # in ~/.bashrc
      eval "$(gviz completion zsh)"                        # in ~/.zshrc
    """
    from click.shell_completion import get_completion_class

    if shell == "zsh":  # which knows compdef only once its completion is switched on
        click.echo("(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }")
    if (kind := get_completion_class(shell)) is not None:
        click.echo(kind(context.find_root().command, {}, "gviz", "_GVIZ_COMPLETE").source())
    return 0
