"""What ``--help`` shows of a command's options: those that people need, by groups; ``--help-all`` has the rest."""

from __future__ import annotations

from collections.abc import Iterator

import click

from gviz.pictures.options import FITS, VIEWS
from gviz.pictures.theme import THEMES

COMPUTATION = "root frozen retain values"
SCRIPT = "until engine"

PAGES = {
    "render": {
        "What is drawn": "view path order show by around",
        "The picture": "output theme rankdir fit",
        "The source": f"root values {SCRIPT}",
    },
    "steps": {
        "The steps": "every only from to yes",
        "The file": "output theme title",
        "The source": f"{COMPUTATION} {SCRIPT}",
    },
    "inspect": {"The table": "only sort watch json", "The source": f"{COMPUTATION} grad-output {SCRIPT}"},
    "summary": {"The answer": "json", "The source": f"{COMPUTATION} {SCRIPT}"},
    "why": {"The answer": "json", "The source": f"{COMPUTATION} grad-output {SCRIPT}"},
    "explain": {"The explanation": "wrt max-paths format fragment output", "The source": f"{COMPUTATION} {SCRIPT}"},
    "run": {"The run": "trace until stop-at engine"},
    "static": {
        "What is drawn": "root gradients collapse graph show",
        "The picture": "output theme rankdir fit",
        "What is printed": "plan table",
    },
    "compare": {
        "The runs": "runs feeds json",
        "The source": "root frozen values",
        "The picture": "output theme rankdir fit",
    },
}
"""The options of each command that its help shows, by groups, by their long names."""

WORDS = {
    "around": ("NAME", "what is near NAME; --hops N says how near"),
    "json": ("", "print JSON"),
    "by": ("module", "a box for each module, line or statement"),
    "collapse": ("SCOPE", "draw a scope, such as gradients, as one box"),
    "engine": ("torch", "run it on the real PyTorch"),
    "every": ("line", "a step for each line, beside the code"),
    "feeds": ("FILE.json", "the values of each run"),
    "output": ("FILE", "the file; its suffix is the format"),
    "from": ("N", "the first step, by its number"),
    "fit": ("PAGE", ", ".join(FITS)),
    "format": ("FORMAT", "text, latex, markdown or json"),
    "fragment": ("", "LaTeX without its preamble, to be pasted"),
    "frozen": ("NAME", "treat NAME as a constant"),
    "grad-output": ("ones", "the gradient of a root that is not a scalar"),
    "gradients": ("", "add the operations of the derivatives"),
    "graph": ("NAME", "the script's graph of that name"),
    "to": ("N", "the last step, by its number"),
    "max-paths": ("N", "how many paths to each tensor are listed"),
    "only": ("WORD", ""),
    "order": ("N", "the graph of the N-th derivative"),
    "path": ("NAME", "each path of the chain rule to NAME"),
    "plan": ("", "print the numpy function that a run becomes"),
    "rankdir": ("LR", "left to right; or TB, BT, RL"),
    "retain": ("NAME", "keep the gradient of an intermediate"),
    "root": ("NAME", "the tensor whose graph it is; repeatable"),
    "runs": ("N", "how many runs are timed"),
    "show": ("WORD,...", "lines in the boxes: value, grad, shape ... or none"),
    "sort": ("WORD", ""),
    "stop-at": ("backward:N", "end it after its N-th backward"),
    "table": ("", "print the table of operations"),
    "theme": ("NAME", ", ".join(THEMES)),
    "title": ("TEXT", "the text above the picture"),
    "trace": ("", "print what each line computes"),
    "until": ("LINE", "end it before that line runs"),
    "values": ("FILE.json", 'read values: {"x": 2, "W": [[1, 2], [3, 4]]}'),
    "view": ("NAME", ", ".join(VIEWS)),
    "watch": ("NAME", "each line of a script that changes NAME"),
    "yes": ("", "draw more than 100 pages"),
    "wrt": ("NAME", "the tensor whose gradient is derived"),
}
"""For each of them an example of its value, and its line; "" for the words that it takes."""


def sections(command: click.Command) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield the groups of a command's options: the title, and each option with its line."""
    options = {name.lstrip("-"): one for one in command.params if isinstance(one, click.Option) for name in one.opts}
    groups = {
        title: [_row(name, options[name]) for name in names.split()]
        for title, names in PAGES[str(command.name)].items()
    }
    groups["More"] = [("--help-all", "all options")]
    width = max(len(head) for rows in groups.values() for head, _ in rows)
    for title, rows in groups.items():
        yield title, [(f"{head:<{width}}", text) for head, text in rows]


def _row(name: str, option: click.Option) -> tuple[str, str]:
    """Return an option as its line begins, and what it does."""
    example, text = WORDS[name]
    choices = getattr(option.type, "choices", ())
    return f"{', '.join(sorted(option.opts, key=len))} {example}".rstrip(), text or ", ".join(choices)
