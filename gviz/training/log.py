"""The log of a training: what the steps have measured, as a table, as JSON, and as a heat map."""

from __future__ import annotations

import math
import os
import re
from html import escape
from typing import Any

from gviz.files import write
from gviz.graphs.codec import dumped, jsonable
from gviz.text import aligned_text, amount, joined, ordinal
from gviz.training.rows import Finding, Norms, StepRow, three_digits

MOST_ROWS = 256
"""Measured steps that are kept: where there are more, every second one of the older half goes."""

LARGE_UPDATE, FAR, SUSPECT_ROWS = 1.0, 10.0, 3
"""How many measured steps in a row have an update as large as the parameter, or a gradient of zeros, to be told of; an
update of ``FAR`` times its norm may leave no gradient to the steps that follow."""


BROUGHT = {
    "cleared": "in each iteration zero_grad() is to come first, then backward(), and step() last",
    "": "backward() had not run",
    "zeros": "backward() had brought them none but zeros",
    "none": "backward() had brought them none; gviz.why(loss, model) tells why",
    "others": "backward() had brought gradients to others alone: see which parameters the optimizer was given, and"
    " gviz.why(loss, model)",
}
"""What is said of steps without a gradient, by what backward had brought before."""

COLUMNS = ("parameter", "shape", "first grad", "smallest", "largest", "last", "zeros", "weight", "update/weight")
"""The headings of the table."""


class Log:
    """What a training did, step by step: ``print()`` shows a table of it, and a notebook the heat map.

    Steps are counted from 0. ``by`` says what a step is: one of an ``optimizer`` that has parameters of the model, or,
    where there is none, a ``backward``.
    """

    def __init__(self, every: int) -> None:
        self.every = every
        self.by = "backward"
        self.steps = self.steps_of_others = 0  # of optimizers, with parameters of the model and without
        self.rows: list[StepRow] = []
        self.findings: list[Finding] = []
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.remarks: list[str] = []
        self.is_thinned = False

    # ---------------------------------------------------------------- writing
    def restart(self, by: str) -> None:
        """Forget what was measured: steps are of another kind."""
        self.by, self.steps = by, 0
        self.rows.clear()
        self.findings.clear()

    def row(self, step: int) -> StepRow:
        """Return the row of a step, the last one or a new one."""
        if not self.rows or self.rows[-1].step != step:
            self.rows.append(StepRow(step))
        if len(self.rows) > MOST_ROWS:
            half = MOST_ROWS // 2
            self.rows[:half] = self.rows[:half:2]
            self.is_thinned = True
        return self.rows[-1]

    def find(self, finding: Finding) -> None:
        """Keep a finding, the first of its kind; of dead units one for each ReLU."""
        if not any((one.kind, one.name) == (finding.kind, finding.name) for one in self.findings) and (
            finding.kind == "dead units" or not self.has(finding.kind)
        ):
            self.findings.append(finding)

    def has(self, kind: str) -> bool:
        """Return whether there is a finding of that kind."""
        return any(one.kind == kind for one in self.findings)

    def judge(self, optimizer: int, learning_rate: str) -> None:
        """Look for what is not right in the last rows.

        Args:
            optimizer: which one has stepped last.
            learning_rate: it and its learning rate in that step, in words.
        """
        last, rows = self.rows[-1], [row for row in self.rows if not optimizer or optimizer in row.own][-SUSPECT_ROWS:]
        last.rates[optimizer] = learning_rate
        for name, idle in last.units.items():
            if idle.silent * 2 > idle.units:
                of = f"{idle.silent} of {amount(idle.units, 'unit')} of {name} were 0 for each of the last"
                self.find(
                    Finding("dead units", last.step, f"{of} {idle.inputs:,} inputs of measured steps, or more", name)
                )
        if len(rows) < SUSPECT_ROWS or self.has("not finite"):
            return
        steps, rates = (
            joined([str(row.step) for row in rows]),
            ", then ".join(dict.fromkeys(row.rates[optimizer] for row in rows if optimizer in row.rates)),
        )
        measured = [row.own[optimizer] if optimizer else row.norms for row in rows]
        histories = {name: [norms[name] for norms in measured if name in norms] for name in measured[-1]}
        is_to_learn = all(row.root or any(one.grad for one in row.norms.values()) for row in rows)  # and has not learnt
        grads_of = {name: [row.norms[name].grad for row in rows if name in row.norms] for name in histories}
        ratios_of = {name: [one.ratio or 0.0 for one in norms] for name, norms in histories.items()}
        large = [
            f"{name} ({joined([three_digits(one) for one in ratios])} times)"
            for name, ratios in ratios_of.items()
            if len(self.shapes[name]) > 1 and len(ratios) == SUSPECT_ROWS and min(ratios) > LARGE_UPDATE
        ]
        zero = [
            name
            for name in histories
            if is_to_learn
            and grads_of[name] == [0.0] * SUSPECT_ROWS
            and not any(name in row.missed for row in rows)
            and not any(grads_of.get(re.sub(r"\bbias$", "weight", name), ()))  # whose parts may cancel
        ]
        if large:
            what = f"the steps {steps} have each changed {joined(large)} by more than its own norm"
            self.find(Finding("large update", last.step, f"{what}, with {rates}", large[0].partition(" ")[0]))
        self.judge_first(optimizer)
        lost = [name for name in last.cleared if name in histories and all(name in row.cleared for row in rows)]
        if zero:
            cause = (
                f"that of {lost[0]} was not, when backward() had brought it:"
                " what runs between backward() and step(), such as zero_grad() or clipping, has made it so"
                if lost
                else "gviz.why(loss, model) before backward() tells where it becomes 0"
            )
            what = f"the gradient was exactly 0 in the steps {steps}: of {joined(zero)}; {self.leap()}{cause}"
            self.find(Finding("zero gradient", last.step, what, zero[0]))
        grads = [one.grad for norms in histories.values() for one in norms]
        if any(grads) and all(one.update == 0 for norms in histories.values() for one in norms):
            what = f"the steps {steps} have changed none of the parameters, with {rates}"
            self.find(Finding("no update", last.step, what))
        if histories and all(one is None for one in grads):
            what = f"no parameter of the optimizer ({rates}) had a gradient when step() began, in the steps {steps}"
            self.find(Finding("no gradient", last.step, f"{what}: {BROUGHT['cleared' if lost else last.brought]}"))
        elif gone := [name for name in lost if name not in zero]:
            what = (
                f"{joined(gone)} had no gradient when step() began, in the steps {steps}, though backward() had"
                " brought one: what runs between the two, such as zero_grad(), has taken it away"
            )
            self.find(Finding("no gradient", last.step, what, gone[0]))

    def judge_first(self, optimizer: int) -> None:
        """Look for a first step that has changed each weight of an optimizer by far, with no lower loss since."""
        first, few = self.rows[0], self.rows[: SUSPECT_ROWS + 1]  # where there are more, it was judged before
        losses = [math.nan if row.root is None else row.root for row in few]
        own, last = (row.own.get(optimizer, {}) for row in (first, self.rows[-1]))
        ratio, name = min(
            ((own[one].ratio or 0.0, one) for one in own.keys() & last.keys() if len(self.shapes[one]) > 1),
            default=(0.0, ""),
        )
        if len(losses) == SUSPECT_ROWS and FAR < ratio < math.inf and all(one >= losses[0] for one in losses):
            what = f"each weight was changed by {three_digits(ratio)} times its norm, as {name}, or more"
            self.find(Finding("large update", first.step, f"{what}, with {first.rates[optimizer]}", name))

    def leap(self) -> str:
        """Return which parameter the measured step before the last rows has changed very much, as a clause; or ""."""
        ratio, name, step, rate = max(
            (
                (one.ratio or 0.0, name, row.step, joined(row.rates.values()))
                for row in self.rows[-SUSPECT_ROWS - 1 : -SUSPECT_ROWS]
                for name, one in row.norms.items()
                if len(self.shapes[name]) > 1
            ),
            default=(0.0, "", 0, ""),
        )
        return (
            f"step {step}, before these, has changed {name} by {three_digits(ratio)} times its norm, with {rate}; "
            if FAR < ratio < math.inf
            else ""
        )

    def judge_end(self) -> None:
        """Look for what is not right in the whole training: optimizers that have nothing of the model."""
        if (
            self.by == "backward"
            and self.steps_of_others
            and any(one.grad for row in self.rows for one in row.norms.values())
        ):
            what = (
                f"there were {amount(self.steps_of_others, 'step')} of optimizers, which have none of these parameters:"
                " to train them, make an optimizer after the model, of its parameters()"
            )
            self.find(Finding("not trained", self.steps - 1, what))

    # ---------------------------------------------------------------- reading
    def heading(self) -> str:
        """Return what was seen, in a sentence."""
        if not self.shapes:
            return "nothing is measured: there is no model with parameters of such names"
        if not self.steps:
            return (
                "no step was seen: neither backward() nor the step() of an optimizer that has parameters of the model"
            )
        of = (
            "of the optimizer"
            if self.by == "optimizer"
            else "(calls of backward(): no optimizer of these parameters has made a step)"
        )
        if self.rows and not any(row.norms for row in self.rows):
            of += ", and no gradient has come to these parameters"
        thinned = (
            f"; {len(self.rows)} of them are kept, older ones thinned out: the table is of these"
            if self.is_thinned
            else ""
        )
        which = "each" if self.every == 1 else f"every {ordinal(self.every)}"
        return f"{amount(self.steps, 'step')} {of}, counted from 0; {which} is measured{thinned}"

    def texts(self) -> list[list[str]]:
        """Return the rows of the table of parameters, in the order of ``COLUMNS``."""
        rows = list[list[str]]()
        for name in self.names():
            norms = [row.norms[name] for row in self.rows if name in row.norms]
            grads = [one.grad for one in norms if one.grad is not None]
            finite = [one for one in grads if math.isfinite(one)]
            last = norms[-1]
            ends = (min(finite), max(finite)) if finite else (None, None)
            numbers = [three_digits(one) for one in (grads[0] if grads else None, *ends, last.grad)]
            shape = "x".join(map(str, self.shapes[name])) or "()"
            rows.append(
                [
                    name,
                    shape,
                    *numbers,
                    "-" if last.zeros is None else f"{last.zeros:.0%}",
                    three_digits(last.weight),
                    three_digits(last.ratio),
                ]
            )
        return rows

    def names(self) -> list[str]:
        """Return the names of the parameters that were measured, in the order of the model."""
        measured = {name for row in self.rows for name in row.norms}
        return [name for name in self.shapes if name in measured]

    def table(self) -> str:
        """Return a table of the parameters, and what is not right, as text.

        ``first grad``, ``smallest``, ``largest`` and ``last`` are norms of the gradient, ``zeros`` is how much of the
        last one is exactly 0. ``weight`` is the norm of the parameter before the last measured step, ``update/weight``
        that of what the step has added to it, by that.
        """
        rows = self.texts()
        lines = [self.heading()]
        lines += aligned_text([COLUMNS, *rows]).splitlines() if rows else []
        for row in [row for row in self.rows if row.units][-1:]:
            lines += [
                f"{name}: {units.idle} of {amount(units.units, 'unit')} 0 for all inputs of step {row.step}"
                for name, units in row.units.items()
                if units.idle
            ] or [f"{amount(len(row.units), 'ReLU')}: no unit was 0 for all inputs of step {row.step}"]
        return "\n".join([*lines, *self.remarks, *map(str, self.findings)])

    __str__ = table

    def __repr__(self) -> str:
        """Return the heading, and how many findings there are."""
        return f"<Log: {self.heading()}; {amount(len(self.findings), 'finding')}>"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as data for JSON: columns of numbers, one for each measured step; nan and inf as text."""
        series = {
            name: {
                key: [jsonable(getattr(row.norms[name], key)) if name in row.norms else None for row in self.rows]
                for key in (*Norms._fields, "ratio")
            }
            for name in self.names()
        }
        sites = dict.fromkeys(name for row in self.rows for name in row.units)
        return {
            "by": self.by,
            "every": self.every,
            "steps": self.steps,
            "measured": [row.step for row in self.rows],
            "root": [jsonable(row.root) for row in self.rows],
            "parameters": {name: {"shape": list(self.shapes[name]), **one} for name, one in series.items()},
            "units": {
                name: [idle._asdict() if (idle := row.units.get(name)) is not None else None for row in self.rows]
                for name in sites
            },
            "findings": [one._asdict() for one in self.findings],
        }  # fmt: skip

    def save(self, path: str | os.PathLike[str]) -> str:
        """Write everything to a file as JSON, whole or not at all; return the path. FileError: it cannot be written."""
        return write(path, dumped(self.to_dict()))

    def picture(self, path: str | os.PathLike[str], show: str = "grad") -> str:
        """Write a heat map to a file, layers by steps; return the path.

        Args:
            path: its suffix is the format: ``run.svg``, ``run.pdf``, ``run.png``.
            show: ``grad`` for the norms of gradients, ``weight`` for those of parameters, ``update`` for the ratio of
                update to weight.

        Raises:
            RenderError: an unknown format, or a picture that cannot be made.
            FileError: the file cannot be written.
            ValueError: ``show`` is something else.
        """
        return write(path, self.drawn(os.fspath(path), show))

    def drawn(self, path: str, show: str) -> bytes:
        """Return the heat map in the format of a file's suffix; errors as for :meth:`picture`."""
        from gviz.training.heatmap import Chart, drawn  # a log is seldom drawn

        return drawn(Chart(self.heading(), self.names(), self.rows, self.findings), path, show)

    def _repr_html_(self) -> str:
        """Return the heat map of the gradients and the table, as a notebook shows them."""
        from gviz.render._svg import as_image

        return (
            as_image(self.drawn("log.svg", "grad").decode(), self.heading()) if self.names() else ""
        ) + f"<pre>{escape(self.table())}</pre>"
