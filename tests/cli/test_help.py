"""Help, version and completion: a page fits a screen, and a shell finds commands, options and files with Tab."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from program import Program, clean_environment

import gviz as package
from gviz.cli import COMMANDS, LazyGroup, main
from gviz.cli.options import ListedOption, SourceCommand

SCREEN = 40
"""Lines of a screen, with the prompt."""


@pytest.mark.parametrize("command", COMMANDS)
def test_a_help_page_fits_a_screen(gviz: Program, command: str) -> None:
    done = gviz(command, "--help")
    lines = done.out.splitlines()
    assert (done.status, done.err) == (0, "")
    assert len(lines) <= SCREEN
    assert max(map(len, lines)) <= 80
    options = [line for line in lines[lines.index("") :] if re.match(r"  -", line)]
    assert max(map(len, options), default=0) <= 80
    assert len(options) <= 15


def paged() -> dict[str, SourceCommand]:
    assert isinstance(main, LazyGroup)
    context = click.Context(main)
    commands = {name: main.get_command(context, name) for name in COMMANDS}
    return {name: command for name, command in commands.items() if isinstance(command, SourceCommand)}


PAGED = tuple(paged())


def test_every_line_of_an_option_stands_on_a_page() -> None:
    lines: set[str] = set()
    listed: set[str] = set()
    for command in paged().values():
        assert command.page, f"{command.name} has many options, and no page"
        lines |= {one.opts[0] for one in command.params if isinstance(one, ListedOption) and one.short}
        listed |= {one.opts[0] for names in command.page.values() for one in command.listed(names)}
    assert lines <= listed


@pytest.mark.parametrize("command", PAGED)
def test_all_options_are_a_page_further(gviz: Program, command: str) -> None:
    whole = gviz(command, "--help-all")
    flags = {option for one in paged()[command].params for option in one.opts if option.startswith("--")}
    assert whole.status == 0
    assert all(flag in whole.out for flag in flags)
    assert "--help-all" in gviz(command, "--help").out
    assert flags >= set(re.findall(r"  (?:-\w, )?(--[\w-]+)", gviz(command, "-h").out)) - {"--help-all", "--at"}


def test_the_help_of_a_command_is_asked_for_in_words_too(gviz: Program) -> None:
    assert gviz("help").out == gviz("--help").out
    assert gviz("help", "render").out == gviz("render", "--help").out
    assert gviz("help", "formats").out == gviz("formats", "--help").out
    gviz("help", "rendr").assert_refused("there is no command 'rendr': did you mean render?", status=2)


def test_the_version_is_a_command_too(gviz: Program) -> None:
    assert gviz("version").out == gviz("--version").out == f"gviz {package.__version__}\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_of_a_shell_asks_gviz(gviz: Program, shell: str) -> None:
    done = gviz("completion", shell)
    assert done.status == 0
    assert f"_GVIZ_COMPLETE={shell}_complete" in done.out


def test_a_shell_without_completion_is_refused(gviz: Program) -> None:
    gviz("completion", "tcsh").assert_refused("'tcsh' is not one of bash, zsh, fish", status=2)
    gviz("completion").assert_refused("Missing argument '{bash|zsh|fish}'", status=2)


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("gviz com", ["compare", "completion"]),
        ("gviz render --rank", ["--rankdir"]),
        ("gviz render y=x --theme d", ["dark"]),
        ("gviz render y=x --theme = d", ["dark"]),  # as bash takes --theme=d apart
        ("gviz help ins", ["inspect"]),
        ("gviz completion f", ["fish"]),
        ("gviz render y=x --format sv", ["svg"]),
        ("gviz ops MulBackward0", ["MulBackward0"]),
    ],
)
def test_tab_offers_words_in_bash(tmp_path: Path, line: str, words: list[str]) -> None:
    assert completed(tmp_path, line) == words


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize("line", ["gviz render tr", "gviz why tr", "gviz render y=x -o tr", "gviz render --values tr"])
def test_tab_offers_files_in_bash(tmp_path: Path, line: str) -> None:
    assert completed(tmp_path, line) == ["compopt -o default"]


def completed(folder: Path, line: str) -> list[str]:
    """What a real bash offers at the end of a line, once its startup file has the line of the README."""
    programs = folder / "bin"
    programs.mkdir()
    (programs / "gviz").write_text(f"#!/bin/sh\nexec '{sys.executable}' -m gviz \"$@\"\n")
    (programs / "gviz").chmod(0o755)
    words = line.split()
    script = (
        'eval "$(gviz completion bash)"; compopt() { local IFS=" "; COMPREPLY+=("compopt $*"); }; '
        f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; "
        'complete -p gviz >/dev/null && _gviz_completion gviz; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    environment = clean_environment(folder)
    environment["PATH"] = f"{programs}:{environment['PATH']}"
    done = subprocess.run(
        ["bash", "--norc", "-c", script], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    assert not done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_tab_offers_the_values_of_an_option_with_an_equals_sign_as_whole_words(tmp_path: Path, shell: str) -> None:
    asked = {"_GVIZ_COMPLETE": f"{shell}_complete", "COMP_WORDS": "gviz render y=x --theme=d", "COMP_CWORD": "3"}
    asked |= {"COMP_CWORD": "--theme=d"} if shell == "fish" else {}
    done = subprocess.run(
        [sys.executable, "-m", "gviz"],
        env=clean_environment(tmp_path) | asked,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "--theme=dark" in re.split(r"[\n,]", done.stdout)


@pytest.mark.skipif(shutil.which("zsh") is None, reason="there is no zsh here")
def test_zsh_takes_the_completion_before_its_own_is_switched_on(gviz: Program) -> None:
    source = gviz("completion", "zsh").out
    done = subprocess.run(
        ["zsh", "-f", "-c", f"{source}\nprint -r -- $_comps[gviz]"],
        env=clean_environment(gviz.home),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("_gviz_completion\n", 0)


def test_zsh_s_completion_is_switched_on_if_it_is_not(gviz: Program) -> None:
    assert gviz("completion", "zsh").out.startswith(
        "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }\n"
    )
