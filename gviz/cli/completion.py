"""``gviz completion``: what lets a shell complete commands, options and files with the Tab key."""

from __future__ import annotations

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
    get_completion_class,
)

from gviz.cli.options import OneOf


class _WholeWords(ShellComplete):
    """Offers ``--theme=dark`` for ``--theme=d``: zsh and fish compare it with the whole word; bash has three words."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        """Return the words that may follow."""
        option, equals, _ = incomplete.partition("=")
        offered = super().get_completions(args[:-1] if args[-1:] == ["="] else args, incomplete)
        if option[:2] == "--" and equals:
            return [CompletionItem(f"{option}={item.value}", item.type, item.help) for item in offered]
        return offered


def answer_shells() -> None:
    """Make click answer the shells so."""
    for kind in (BashComplete, ZshComplete, FishComplete):
        add_completion_class(type(kind.__name__, (_WholeWords, kind), {}))


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
    if shell == "zsh":  # which knows compdef only once its completion is switched on
        click.echo("(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }")
    if (kind := get_completion_class(shell)) is not None:
        click.echo(kind(context.find_root().command, {}, "gviz", "_GVIZ_COMPLETE").source())
    return 0
