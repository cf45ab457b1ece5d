"""The graph as data: plain, frozen, ordered values that every renderer and pass reads.

A :class:`Graph` comes from :func:`gviz.walk.walk` (or from its own JSON) and knows nothing of the engine that
recorded it, nor of who draws it: names, numbers and text only, no memory address anywhere, so that equal programs give
equal bytes.

A record says what a thing is, and has a facet for each thing else that may be known of it: its numbers, its gradient, its
place in the program, the module that it is in, what was recorded. A facet that is None, or empty, is not known.

All numbers of a graph are of one moment: when its backward ran. What the program did afterwards is said apart, in
``later``; the table of ``gviz inspect`` alone has what the program left, and the moment apart.

Edges point the way the data flows, from the leaves to the root, as TorchViz draws them: ``source`` is the
``next_functions[slot]`` of ``target``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

from gviz.graphs import codec
from gviz.graphs.numbers import Numbers, Sizes
from gviz.reaching import first_to_last
from gviz.text import amount, excerpt

KINDS = (
    "operation",
    "accumulate",
    "leaf",
    "output",
    "intermediate",
    "saved",
    "constant",
    "frozen",
    "placeholder",
    "variable",
    "group",
    "carried",
    *("added", "removed", "changed", "unchanged"),
)
"""The kinds of a node. ``output`` is a root tensor; ``intermediate`` a tensor on the way (the base of a view);
``placeholder`` and ``variable`` are operations of static graphs; ``group`` is many nodes in one, such as a module;
``carried`` stands for what the block before has made, in a block that repeats; the last four are of the picture of two
graphs."""

EDGE_KINDS = ("data", "view", "saved", "control", "carried", "added", "removed")
"""``data`` is an autograd edge, ``view`` joins a base to its view, ``saved`` an operation to what it keeps; ``control``
says that one operation of a static graph runs before another; ``carried`` leads from the end of a block that repeats
to the beginning of the next, which is drawn as the same block; the last two are of the picture of two graphs."""


FREED = "freed"
"""The state of an operation whose saved tensors backward has freed."""

OVERWRITTEN = "overwritten"
"""The state of an operation that has saved a tensor which was written in place since: its backward fails."""

LOST = (FREED, OVERWRITTEN)
"""The states of operations whose saved tensors nobody can have any more."""

NOW = "its numbers are those of now"
"""The state of a tensor of which nobody knows what it was when backward ran."""

MIXED = "written between its uses"
"""The state of a tensor that had several values in one graph, so that none is shown."""

MADE_LATER = "made later"
"""The remark on a tensor of the table that there was not yet when backward ran."""

RENAMED = "another tensor now"
"""The remark on a tensor of the table whose name the program has given to another one since."""

AT_BACKWARD = " (at backward)"
"""What follows the name that a leaf had when backward ran, where what is asked about is the tensor that has it now."""

GRAD_OF = "grad is that of "
"""How the state of a leaf begins whose gradient is of something else than its name lets people think."""

LEFT_OUT, RETURNED = "left out by ", "its gradient was returned by "
"""How the state of a leaf begins that backward did not add to, though it could: who has called says for what."""

REMARKS = (NOW, MIXED, GRAD_OF)
"""How states begin that say of which moment the numbers of a tensor are."""

PARTS = ("roots", "nodes", "edges", "tensors")
"""The lists of a graph, which its JSON always has."""


# ---------------------------------------------------------------- facets
class Place(NamedTuple):
    """A place in a program. Its text is what people read: ``line 3``, ``model.py:3``, ``cell 2, line 3``.

    Args:
        line: counted from 1, in a cell from its first line.
        file: the file's name, if it is not the source itself.
        column: of an expression, counted from 1; 0 for a script.
        cell: of a notebook, counted from 1; 0 for anything else.
        run: which run of a line this was, counted from 1 over the whole program; 0 where runs are not counted.
        call: the call of a function that it was in, by its place in the graph's ``functions``; -1 for none.
    """

    line: int
    file: str = ""
    column: int = 0
    cell: int = 0
    run: int = 0
    call: int = -1

    def __str__(self) -> str:
        """Return the place in words."""
        return f"{self.file}:{self.line}" if self.file else f"{f'cell {self.cell}, ' * bool(self.cell)}line {self.line}"

    @property
    def number(self) -> str:
        """The place as a column of lines has it: ``3`` for line 3 of the source itself."""
        return str(self) if self.file or self.cell else str(self.line)

    @property
    def without_run(self) -> Place:
        """The place, whichever run of the line it is, and wherever in the line."""
        return self._replace(run=0, column=0, call=-1)


class Hooked(NamedTuple):
    """What a hook of the program has made of a gradient.

    Args:
        given: the gradient that it was given; None for None.
        made: what there was after it; None for None.
        place: where it was registered; None where that is not known.
        kind: ``arrived``, where it stands between what comes to a tensor and what the tensor gets; ``handed``, where it
            changed what an operation hands on; ``grad``, where it changed what ``.grad`` holds.
    """

    given: Numbers | None = None
    made: Numbers | None = None
    place: Place | None = None
    kind: str = "arrived"

    @property
    def where(self) -> str:
        """The hook in words: ``a hook, line 4``."""
        return "a hook" if self.place is None else f"a hook, {self.place.without_run}"


class Gradient(NamedTuple):
    """The gradient of a tensor, or of what an operation makes.

    Args:
        value: what ``.grad`` holds; None for None.
        before: what it held when backward was called; None for None, or where that was not asked for.
        arrived: what came to it when backward ran, after all hooks, or in a program that nobody has followed what comes
            to it when it runs; None where that was not asked for.
        hooks: what hooks have made of it when backward ran, in their order.
    """

    value: Numbers | None = None
    before: Numbers | None = None
    arrived: Numbers | None = None
    hooks: tuple[Hooked, ...] = ()

    @property
    def hook_change(self) -> Hooked | None:
        """The gradient before the first hook and after the last one; None where no hook has changed it."""
        own = [one for one in self.hooks if one.kind == "arrived"]
        return own[-1]._replace(given=own[0].given) if own else None

    @property
    def alarming(self) -> Numbers | None:
        """What it holds, if that is nothing but zeros, or not finite, and backward alone has made it; else None."""
        is_alone = self.before is None or self.before.has_only(0)
        is_usual = self.value is None or (self.value.is_finite and not self.value.has_only(0))
        return self.value if is_alone and not is_usual else None


class Module(NamedTuple):
    """The ``nn.Module`` whose call recorded an operation, or that holds a parameter; or a name scope of a static graph.

    Args:
        path: the names that lead to it: ``net.blocks.3.mlp``; of a scope ``outer/inner``.
        kind: its class; "" for a scope.
        call: which call of this module it was, counted from 1; 0 for a parameter, and for a scope.
        within: the call that this one was made in, by its place in the graph's ``modules``; -1 for none.
    """

    path: str
    kind: str = ""
    call: int = 0
    within: int = -1


class Card(NamedTuple):
    """What a group of nodes that is drawn as one comes to.

    Args:
        kind: the class of a module; "" for another group.
        operations: how many there are in it.
        parameters: how many leaves.
        elements: how many numbers these have.
        inputs: the sizes of what comes from outside, each once, in their order.
        outputs: the sizes of what others use; where nobody uses anything, of what it computes last.
        kept: bytes of the tensors that its operations save for backward; None where that is not known.
        grad: the norm of the gradients of its leaves together; None where one is not known.
        content: a digest of what is in it, each operation with its options and wires: groups alike have the same.
        numbers: those of its operations that may vary among groups alike, in order: (attribute or "", text).
    """

    kind: str = ""
    operations: int = 0
    parameters: int = 0
    elements: int = 0
    inputs: tuple[Sizes, ...] = ()
    outputs: tuple[Sizes, ...] = ()
    kept: int | None = None
    grad: float | None = None
    content: str = ""
    numbers: tuple[tuple[str, str], ...] = ()


ROW = "side by side"
"""What a region is that has no outline: its nodes stand side by side, in their order."""


class Region(NamedTuple):
    """A frame around nodes: an open module, a name scope, or the block that stands for all that repeat.

    Args:
        title: what is written on it.
        kind: the class of a module, or a remark; :data:`ROW` for no frame, but nodes that stand side by side.
        within: the frame that it is in, by its place in the graph's ``regions``, which is a smaller one; -1 for none.
        times: how many blocks it stands for.
    """

    title: str
    kind: str = ""
    within: int = -1
    times: int = 1


class Recorded(NamedTuple):
    """What was recorded of an operation.

    Args:
        slots: how many inputs it has, empty ones (constants, frozen inputs) included.
        attrs: what it saved, (name, text) in order of the names, as in ``("alpha", "1")``.
        held: the tensors without gradient that it saves and that can be told: (attribute, name), or a number of the program's.
        given: names of what its call was given without a gradient, expressions and numbers, in order; "" for none.
        given_numbers: of each of these that is a small tensor without a name.
        outputs: names of what it makes, if that is several tensors, in their order; "" for one without a name.
        results: the numbers of these, as far as they are known.
        seconds: how long the call took; None where that was not asked for.
        kept: bytes of the tensors that it saves for backward, and no operation before it; None where that was not asked
            for.
        is_written: whether it has written its result in place.
        tensors: the names of what it saved that is a tensor, or several.
        began: the call outside of the graph that has made the first nan or inf which it was given from there; None
            where there is none, or none is known.
    """

    slots: int = 0
    attrs: tuple[tuple[str, str], ...] = ()
    held: tuple[tuple[str, str], ...] = ()
    outputs: tuple[str, ...] = ()
    seconds: float | None = None
    kept: int | None = None
    is_written: bool = False
    tensors: tuple[str, ...] = ()
    given: tuple[str, ...] = ()
    given_numbers: tuple[Numbers | None, ...] = ()
    results: tuple[Numbers | None, ...] = ()
    began: GraphCut | None = None

    def result(self, number: int) -> Numbers | None:
        """Return the numbers of one of several results, which are counted from 0; None where they are not known."""
        return self.results[number] if 0 <= number < len(self.results) else None

    @property
    def options(self) -> dict[str, str]:
        """What it saved that is no tensor, as text, by its name."""
        return {name: text for name, text in self.attrs if name not in self.tensors}


class Flow(NamedTuple):
    """What goes along an edge when backward runs.

    Args:
        symbol: the local derivative of the target for this input, as in ``b`` for a * b; "" where that was not asked for.
        local: its numbers, if it is a factor for each element.
        handed: the gradient that the target hands on to this input.
        jacobian: the derivatives of the target for this input as a matrix, a row for each element of the target, a column for
            each of the input; None where that was not asked for, or ``local`` says as much.
        is_underflow: whether ``handed`` is 0 because its dtype has no number as small: a gradient of the same signs that is
            larger as a whole is handed on as numbers other than 0.
    """

    symbol: str = ""
    local: Numbers | None = None
    handed: Numbers | None = None
    jacobian: Numbers | None = None
    is_underflow: bool = False


class Moment(NamedTuple):
    """A tensor when its graph was recorded, and when backward ran.

    Args:
        numbers: its numbers when it was used; None where they are not known, or are the same now.
        grad: its gradient when backward had run; none where it did not run on this graph.
        requires_grad: whether it required a gradient; None where that is not known.
        remark: why backward did not come to it, though there is a path; or :data:`NOW`, or :data:`MIXED`.
        is_of_other: whether the gradient that it has now is of another graph's backward, since none ran on this one.
        grad_of: the name of the root of that; "" for one without a name.
        grad_at: where that was called.
        is_of_whole: whether this graph is a part of that, so that it has its share in the gradient.
        made_by: where its name is another tensor's now: the class name of its grad_fn, "" for a leaf; else None.
    """

    numbers: Numbers | None = None
    grad: Gradient = Gradient()
    requires_grad: bool | None = None
    remark: str = ""
    is_of_other: bool = False
    grad_of: str = ""
    grad_at: Place | None = None
    is_of_whole: bool = False
    made_by: str | None = None


class Later(NamedTuple):
    """What the program has made of a tensor after the backward that a graph is of.

    Args:
        numbers: its numbers now; None if they are the same.
        grad: what ``.grad`` holds now, if that is another gradient than backward has left.
        is_cleared: whether ``.grad`` was set to None, or to zeros.
        cleared_at: where that was done, or where it was set to zeros; None where that is not known.
        requires_grad: whether it requires a gradient now; None if that is as it was.
        set_at: where that was set; None where that is not known.
        is_of_other: whether that is a gradient of another graph's backward, since none ran on this one.
        grad_of: the name of the root of that; "" for one without a name.
        grad_at: where that was called.
    """

    numbers: Numbers | None = None
    grad: Numbers | None = None
    is_cleared: bool = False
    cleared_at: Place | None = None
    requires_grad: bool | None = None
    set_at: Place | None = None
    is_of_other: bool = False
    grad_of: str = ""
    grad_at: Place | None = None

    @property
    def other(self) -> str:
        """The other backward that its gradient is of, as people read it: ``loss, line 7``; "" if it is of none."""
        where = f", {self.grad_at}" if self.grad_at is not None else ""
        return f"{self.grad_of or 'another backward'}{where}" if self.is_of_other else ""


class History(NamedTuple):
    """What the program did with a tensor, and with its gradient.

    Args:
        grad_cleared: where it has set ``.grad`` to None or to zeros, after the last backward that brought one.
        was_used: whether it was used by then: the program has read the gradient, or the tensor was written.
        was_early: whether a later backward, of something else, followed on that.
        put_in: where its module got it after an optimizer had others of the module's, if none has got it since, and one
            has stepped after a backward that came to it, or no backward has.
        requires_grad_set: where the tensor was made to require a gradient, after it was made without: be it that it had been
            cut off, which brings no graph back.
        autograd_grad: where ``torch.autograd.grad`` was asked for its gradient last, which leaves ``.grad`` as it is.
        grad_of_others: where ``torch.autograd.grad`` was asked last, or ``torch.func``, of a tensor that neither was asked
            for, in a program that has called no backward.
        is_optimized: whether an optimizer has the tensor; None where the program has made no optimizer.
        written: where its memory was changed last before the graph used it; None where it was as it was made.
        optimizer: if none has the tensor, where the only one was made, or the only one that steps after a backward that
            came to the tensor; None where that may be several.
        copied: if none has it, where one stepped that has another tensor with its numbers, and had no gradient of that
            at any step.
        first_norm: its norm when a backward brought its first gradient; None where none has, or that is not known.
        steps: how many steps of optimizers have had a gradient of it to use; None if the run was ended early, so that
            more may have been to come.
        still_steps: how many of these had the learning rate 0.
        idle_steps: how many steps the last optimizer that has the tensor has made, if none has had a gradient of it; of
            a tensor that no optimizer has, how many of those that step after its backward have never had a gradient,
            or, if no backward has come to it, how many steps have had none.
        stepped: where one of them stepped last.
        stepped_twice: where one was, more than once, the second to use what one backward had brought, or used it again
            after a backward that has brought nothing.
        unclipped: the line that is to clip its gradient, if that has, time and again, found none, or changed one that a
            step had used.
        clipped_scaled: the line that has, time and again, clipped its gradient before a GradScaler has divided that by
            its scale.
        clips_nothing: a line that is to clip gradients, and was given a generator that had come to its end, if a step
            has used the tensor's, and no other line has clipped the last one.
        is_stale: whether what was in ``.grad`` had been used when the last backward added to it.
        used_sum: whether what the last step of an optimizer used was such a sum.
        is_updated: whether the tensor was written since a backward brought its first gradient; of one that got none,
            since the first backward of all, or the first call of ``torch.autograd.grad``.
        brought: where the backward was called that has come to it last.
        stepped_after: where the last backward was called before its optimizer stepped last, if none of that call has
            brought it a gradient; None if the last one of all was called there.
        is_stepped_later: whether its optimizer was made after the last backward of all, and has stepped more than once.
        is_own_turn: whether the last step of its optimizer followed the backward that brought the last gradient, or it
            has made none.
        is_same_call: whether the last call of backward, which may have failed, has brought it a gradient, be it in an
            earlier run, for the same optimizer.
        arrivals: how many gradients the calls of backward have brought that were made where the last one was.
        wasted: how many of these were taken away before anything had used them; 0 if its steps use those of another
            backward.
        wasted_at: the line that has taken away most of these.
        grad_set: where the program has given it a gradient of its own, which is there still.
        spoiled: where the program has written nan or inf into a gradient that backward had left finite, as all others.
        spread: where it has done so when another gradient was not finite, as by clipping all to one norm.
        took_bad: whether a step was given a gradient with nan or inf while it was finite, and has left it not finite.
        is_grown: whether it is a parameter that was written in place while operations are recorded, and has a graph
            with operations from before a backward and after it.
    """

    grad_cleared: Place | None = None
    was_used: bool = False
    was_early: bool = False
    put_in: Place | None = None
    requires_grad_set: Place | None = None
    autograd_grad: Place | None = None
    grad_of_others: Place | None = None
    is_optimized: bool | None = None
    written: Place | None = None
    optimizer: Place | None = None
    copied: Place | None = None
    first_norm: float | None = None
    steps: int | None = 0
    still_steps: int = 0
    idle_steps: int = 0
    stepped: Place | None = None
    stepped_twice: Place | None = None
    unclipped: Place | None = None
    clipped_scaled: Place | None = None
    clips_nothing: Place | None = None
    is_stale: bool = False
    used_sum: bool = False
    is_updated: bool = False
    brought: Place | None = None
    stepped_after: Place | None = None
    is_stepped_later: bool = False
    is_own_turn: bool = False
    is_same_call: bool = False
    arrivals: int = 0
    wasted: int = 0
    wasted_at: Place | None = None
    grad_set: Place | None = None
    spoiled: Place | None = None
    spread: Place | None = None
    took_bad: bool = False
    is_grown: bool = False


class GraphCut(NamedTuple):
    """A call that cut tensors off from the graph.

    Args:
        place: its line, with its run if it ran once.
        call: the name of the function.
        reason: ``detached``, ``no_grad``, ``no derivative`` or ``frozen``; ``not finite`` where it has made nan or inf.
        source: the name of the tensor inside that one tensor was cut off from; "" if it has none, or there are several.
        leaves: names of the leaves behind what was cut off.
        is_used: whether what came of it is used in the graph.
        is_number: whether numbers came of it, as by ``item()`` or ``numpy()``: what becomes of these cannot be followed.
        is_list: whether it took a list of tensors, as ``torch.tensor(losses)`` does.
        is_of_leaves: whether it took leaves themselves, and nothing that was made from them.
        switch: what had switched gradients off there, as it is written; "" for another reason, or if nobody knows.
        block: the first line of the block of the switch, or of its function; None where there is none.
        is_summand: whether what came of it is only added to the root, so that no gradient depends on it.
        others: names of tensors with graphs of their own in which it is used as well, as the loss of a discriminator.
        span: where its expression is written: first line and column, last line and column, lines counted from 1, columns
            from 0; with line 0 in the code of its place alone. None where that is not known.
        is_freed: whether a backward on another root has freed the graph of what it took last.
        behind: of one that is behind another one: the place of that among the cuts of the graph; -1 for none.
        added_to: those of the others that it is only added to, so that no gradient of theirs depends on it.
        is_idle: whether nothing but gradients of 0 came to the operations that use what came of it: without the cut
            it would have got none.
        is_input: whether what came of it meets nothing but leaves in an operation, as an input of the graph does.
    """

    place: Place | None
    call: str
    reason: str
    source: str = ""
    leaves: tuple[str, ...] = ()
    is_used: bool = False
    is_number: bool = False
    is_list: bool = False
    is_of_leaves: bool = False
    switch: str = ""
    block: Place | None = None
    is_summand: bool = False
    others: tuple[str, ...] = ()
    span: tuple[int, int, int, int] | None = None
    is_freed: bool = False
    behind: int = -1
    added_to: tuple[str, ...] = ()
    is_idle: bool = False
    is_input: bool = False

    @property
    def reason_and_place(self) -> str:
        """Its reason, with what is written there, and its line: ``no_grad, at torch.no_grad() in line 8``."""
        return f"{self.reason}, at {self.switch or self.call} in {self.place}"


class Unlisted(NamedTuple):
    """What keeps a tensor that a module holds out of the module's parameters, and so out of an optimizer.

    Args:
        module: the name of the module.
        attribute: of the module: it holds the tensor, or a list or a dictionary that the tensor is in.
        wrapper: the class of ``torch.nn`` that would list it: ``Parameter``, ``ModuleList`` ...
        place: where the attribute is assigned; None where that is not known.
        is_buffer: it is a buffer of the module.
    """

    module: str
    attribute: str
    wrapper: str
    place: Place | None = None
    is_buffer: bool = False


class Stop(NamedTuple):
    """Why a program stopped.

    Args:
        message: what the error says.
        place: the line that raised it; None where that is not known.
        code: what is written there.
        mend: what to write there; "" where that is not known.
    """

    message: str
    place: Place | None = None
    code: str = ""
    mend: str = ""

    @property
    def where(self) -> str:
        """The line and what is written there, as a picture has it."""
        return "" if self.place is None else f"{self.place}  {self.code}"


NO_GRADIENT, NOT_RECORDED, NO_FLOW, NO_HISTORY = Gradient(), Recorded(), Flow(), History()


# ---------------------------------------------------------------- records
class Varying(NamedTuple):
    """A number that an operation has another of in each block of a fold.

    Args:
        name: the attribute that holds it; "" for what the call was given.
        texts: the number of each block, in their order.
    """

    name: str
    texts: tuple[str, ...]


class Share(NamedTuple):
    """What a block of a fold hands to the gradient of a leaf that all blocks use.

    Args:
        block: its number, counted from 1, as in ``16``, or ``5.3`` in a fold inside a fold; "" for what is in no block.
        grad: the gradient.
    """

    block: str
    grad: Numbers


class Blocks(NamedTuple):
    """What is known of all blocks of a fold where the last one is drawn.

    Args:
        varies: the numbers that are other ones in each block.
        values: the least and the greatest value; of tensors of several elements of their norms. () where that was not
            asked for, or one is not known.
        grads: likewise of the gradients.
        shares: what blocks have handed to a leaf that they share, the last block first; it comes to its gradient.
    """

    varies: tuple[Varying, ...] = ()
    values: tuple[float, ...] = ()
    grads: tuple[float, ...] = ()
    shares: tuple[Share, ...] = ()


class Node(NamedTuple):
    """One box of the picture.

    Args:
        id: ``n0``, ``n1``, ... counted in the order of the walk.
        kind: one of :data:`KINDS`.
        label: class name of the grad_fn (``MulBackward0``), or of the saved attribute (``other``); "" for tensors.
        name: name of the tensor that the node holds or makes; None where the program gave it none.
        numbers: of that tensor.
        grad: its gradient.
        state: honest remark, such as ``freed``, ``retained`` or ``not retained``; "" for none.
        expression: what an operation computes, in the program's names, as in ``x + w``; "" where that is not known.
        is_letter: whether gviz has named what an operation makes, since the program gave it no name.
        place: where an operation was recorded.
        module: which it was recorded in.
        recorded: what was recorded of an operation.
        later: what the program has made of the tensor since.
        card: what a group comes to.
        region: the innermost frame that it is in, by its place in the graph's ``regions``; -1 for none.
        blocks: what is known of all blocks, if it is drawn for those of a fold.
    """

    id: str
    kind: str
    label: str = ""
    name: str | None = None
    numbers: Numbers | None = None
    grad: Gradient = NO_GRADIENT
    state: str = ""
    expression: str = ""
    is_letter: bool = False
    place: Place | None = None
    module: Module | None = None
    recorded: Recorded = NOT_RECORDED
    later: Later | None = None
    card: Card | None = None
    region: int = -1
    blocks: Blocks | None = None

    @property
    def shape(self) -> Sizes | None:
        """The sizes of the tensor; None where they are not known."""
        return self.numbers.shape if self.numbers is not None else None

    @property
    def value(self) -> Numbers | None:
        """The numbers of the tensor, if more than its shape is known."""
        return self.numbers if self.numbers is not None and self.numbers.is_known else None

    @property
    def dtype(self) -> str:
        """The dtype of the tensor; "" where it is not known."""
        return self.numbers.dtype if self.numbers is not None else ""

    @property
    def scope(self) -> str:
        """The path of the module, or of the name scope, that it is in; "" for none."""
        return self.module.path if self.module is not None else ""

    @property
    def run(self) -> int:
        """Which run of a line recorded it, counted over the whole program; 0 where that is not known."""
        return self.place.run if self.place is not None else 0


class Edge(NamedTuple):
    """One arrow, in the direction of the data.

    Args:
        source: id of the node the data comes from.
        target: id of the node that uses it.
        slot: which input of ``target`` this is, counted from 0.
        label: text on the arrow, such as the sizes of a tensor; "" for none.
        kind: one of :data:`EDGE_KINDS`.
        output: which output of ``source`` is used (``unbind`` has several), counted from 0.
        flow: what goes along it when backward runs.
        called: the name of what goes along it, by its slots, where that of its source does not tell it: of other blocks of
            a fold, and of one of several outputs of a group.
        times: for how many wires of its source it stands, in all blocks of a fold.
    """

    source: str
    target: str
    slot: int = 0
    label: str = ""
    kind: str = "data"
    output: int = 0
    flow: Flow = NO_FLOW
    called: tuple[tuple[int, str], ...] = ()
    times: int = 1


class TensorRow(NamedTuple):
    """One named tensor of the program, as the program left it: a row of ``gviz inspect``.

    Args:
        name: as in the program; nested ones as ``parts[0]``, ``d['k']``, ``net.fc.weight``.
        numbers: its numbers.
        requires_grad: True if gradients flow to it.
        is_leaf: True if the user made it, rather than a recorded operation.
        retains_grad: True for a non-leaf that keeps its gradient.
        grad_fn: class name of its grad_fn, or None.
        grad: its gradient now, and when backward was called.
        expression: that of an unnamed intermediate (``x + w``), or None.
        place: the line that made it.
        is_written: whether its memory was written in place at that line.
        broken: what cut it off from the graph, if it was made from tensors inside.
        leaves: names of the leaves that a non-leaf is made from, where lines were asked for.
        history: what the program did with its gradient, likewise.
        moment: what it was when backward ran, if the program has changed it since.
        unlisted: why no parameters() list it, if a module holds it.
        same_as: the first name of the tensor, if this is another one, as of a weight that two layers share; "" else.
    """

    name: str
    numbers: Numbers
    requires_grad: bool
    is_leaf: bool
    retains_grad: bool
    grad_fn: str | None
    grad: Gradient = NO_GRADIENT
    expression: str | None = None
    place: Place | None = None
    is_written: bool = False
    broken: GraphCut | None = None
    leaves: tuple[str, ...] = ()
    history: History = NO_HISTORY
    moment: Moment | None = None
    unlisted: Unlisted | None = None
    same_as: str = ""

    @property
    def shape(self) -> Sizes:
        """Its sizes."""
        return self.numbers.shape or ()

    @property
    def dtype(self) -> str:
        """As in ``float32``."""
        return self.numbers.dtype

    @property
    def value(self) -> Numbers | None:
        """Its numbers, if more than its shape is known."""
        return self.numbers if self.numbers.is_known else None

    def at_backward(self) -> tuple[Numbers, Gradient, Later | None]:
        """Return its numbers and its gradient when backward ran, and what the program has made of them since."""
        if self.moment is None:
            return self.numbers, self.grad, None
        then, grad, now = self.moment.numbers or self.numbers, self.moment.grad, self.grad.value
        is_cleared = (grad.value is not None and not self.is_renamed) and (
            now is None or (now.has_only(0) and not grad.value.has_only(0))
        )
        is_set, is_of_other = self.required_grad != self.requires_grad, self.moment.is_of_other
        cleared_at = self.history.grad_cleared
        later = Later(
            None if then == self.numbers else self.numbers,
            None if grad.value == now or (is_of_other and cleared_at) else now,
            is_cleared,
            None if is_of_other else cleared_at,
            self.requires_grad if is_set else None,
            self.set_at if is_set else None,
            is_of_other,
            self.moment.grad_of,
            self.moment.grad_at,
        )
        return then, grad, later

    @property
    def is_renamed(self) -> bool:
        """Whether its name is another tensor's now, whose numbers and gradient those of now are."""
        return self.moment is not None and self.moment.made_by is not None

    @property
    def as_it_was(self) -> TensorRow:
        """The row with what is known of the tensor that had its name when backward ran, be it another one."""
        if self.moment is None or self.moment.made_by is None:
            return self
        made, is_retained = self.moment.made_by, self.moment.grad.value is not None
        return self._replace(is_leaf=not made, grad_fn=made or None, retains_grad=made != "" and is_retained)

    @property
    def set_at(self) -> Place | None:
        """Where it was made to require a gradient, or to require none; None where that is not known."""
        return self.history.requires_grad_set if self.requires_grad else self.broken.place if self.broken else None

    @property
    def required_grad(self) -> bool:
        """Whether it required a gradient when backward ran."""
        then = None if self.moment is None else self.moment.requires_grad
        return self.requires_grad if then is None else then


@dataclass(frozen=True)
class Graph:
    """A computational graph, ready to be drawn, listed or saved.

    Args:
        nodes: in the order of the walk; ids are unique.
        edges: in the order of the walk; both ends are among the nodes.
        roots: ids of the root tensors' nodes, in the order asked for.
        tensors: the program's named tensors, in the order of their first assignment.
        title: of the picture; usually the roots' names.
        kind: "autograd" for a graph that was recorded, "static" for one that was defined to be run later.
        stop: why the program stopped, if it did; the picture says so.
        failure: why the last backward failed, if it did, be it that the program has caught the error.
        code: the program, where its lines were asked for.
        backward: where backward was called.
        codes: the places in other files, or in a notebook's cells, that something in the graph names, each with its code.
        writes: the writes in place that an error is about, each with its line and the name of the call, in order.
        breaks: the lines that cut tensors off from it.
        earlier_runs: of the backwards before this one, the last hundred, the run of the last line that had run when
            each was called, in their order; none if this was the first.
        is_followed: whether the program called another backward after the one that it is of.
        is_first_bad: whether that one was the first that left what is not finite, as all after it did.
        modules: the calls of modules that others were made in, each after the one that it was made in; then, with the
            call 0, modules that have recorded nothing, though their parameters are there, or, where nobody has seen
            what they record, of which no node is.
        functions: likewise the calls of functions of the program, where that was asked for.
        regions: frames around nodes, each after the one that it is in.
        remarks: what a picture says of what was left out or put together.
        is_detailed: whether every operation of a large graph lists what it saved; each of a small one does.

    Raises:
        ValueError: an id twice, an edge or root without its node.
    """

    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
    roots: tuple[str, ...] = ()
    tensors: tuple[TensorRow, ...] = ()
    title: str = ""
    kind: str = "autograd"
    stop: Stop | None = None
    failure: Stop | None = None
    code: str = ""
    backward: Place | None = None
    codes: tuple[tuple[Place, str], ...] = ()
    writes: tuple[tuple[Place, str], ...] = ()
    breaks: tuple[GraphCut, ...] = ()
    earlier_runs: tuple[int, ...] = ()
    is_followed: bool = False
    is_first_bad: bool = False
    modules: tuple[Module, ...] = ()
    functions: tuple[Module, ...] = ()
    regions: tuple[Region, ...] = ()
    remarks: tuple[str, ...] = ()
    is_detailed: bool = False

    def __post_init__(self) -> None:
        """Refuse what no renderer could draw.

        The records themselves are not checked, since walks make very many of them.
        """
        ids: set[str] = set()
        for node in self.nodes:
            if not node.id or not isinstance(node.id, str):
                raise ValueError(f"a node needs a text as id, not {excerpt(repr(node.id))}")
            if node.id in ids:
                raise ValueError(f"two nodes have the id {excerpt(repr(node.id))}")
            if fault := _fault(node):
                raise ValueError(f"node {excerpt(repr(node.id))} {fault}")
            ids.add(node.id)
        for source, target, slot, _, kind, output, *_ in self.edges:
            if source not in ids or target not in ids:
                missing = excerpt(repr(target if source in ids else source))
                raise ValueError(f"{_arrow(source, target)}: there is no node {missing}")
            if kind not in EDGE_KINDS:
                word = excerpt(repr(kind))
                raise ValueError(
                    f"{_arrow(source, target)} has the unknown kind {word}; one of {', '.join(EDGE_KINDS)}"
                )
            if slot < 0 or output < 0:
                raise ValueError(f"{_arrow(source, target)} has a negative slot or output")
        for root in self.roots:
            if root not in ids:
                raise ValueError(f"there is no node {excerpt(repr(root))} to be a root")
        if fault := _nesting_fault(self):
            raise ValueError(fault)

    def __repr__(self) -> str:
        """Return the title and the size: ``<Graph y: 8 boxes, 7 arrows>``."""
        return f"<{self.summary('Graph')}>"

    def summary(self, word: str) -> str:
        """Return the word, the title and the size, as a short representation has them."""
        size = f"{amount(len(self.nodes), 'box', 'boxes')}, {amount(len(self.edges), 'arrow')}"
        return f"{' '.join(filter(None, [word, excerpt(self.title)]))}: {size}"

    @cached_property
    def by_id(self) -> dict[str, Node]:
        """The nodes by their ids, in their order."""
        return {node.id: node for node in self.nodes}

    @cached_property
    def aliases(self) -> dict[str, str]:
        """Further names of tensors, each with the first name of its tensor."""
        return {row.name: row.same_as for row in self.tensors if row.same_as}

    def names_of(self, name: str) -> set[str]:
        """Return all names of the tensor of a name; a node has the first one, a root that by which it was asked for."""
        first = self.aliases.get(name, name)
        return {name, first, *(other for other, target in self.aliases.items() if target == first)}

    @cached_property
    def inputs(self) -> dict[str, list[Edge]]:
        """For each node the edges that lead to it, in the order of the walk."""
        inputs: dict[str, list[Edge]] = {node.id: [] for node in self.nodes}
        for edge in self.edges:
            inputs[edge.target].append(edge)
        return inputs

    @cached_property
    def uses(self) -> dict[str, list[Edge]]:
        """For each node the edges that lead from it, likewise."""
        uses: dict[str, list[Edge]] = {node.id: [] for node in self.nodes}
        for edge in self.edges:
            uses[edge.source].append(edge)
        return uses

    @cached_property
    def has_modules(self) -> bool:
        """Whether operations know the module, or the name scope, that they were recorded in."""
        return any(node.module is not None for node in self.nodes if node.kind == "operation")

    @cached_property
    def guesses_modules(self) -> bool:
        """Whether nobody has seen its operations being recorded, and names of parameters alone tell their modules."""
        return self.kind != "static" and {
            node.module.call for node in self.nodes if node.kind in ("operation", "group") and node.module is not None
        } == {0}

    @cached_property
    def has_hooks(self) -> bool:
        """Whether a hook has changed a gradient on its way, so that what arrives below is no derivative of the root."""
        return any(node.grad.hooks and node.kind == "operation" for node in self.nodes)

    @cached_property
    def memo(self) -> dict[object, Any]:
        """What passes have found in the graph, by what they were asked for: of several files it is found once."""
        return {}

    def changed(self, **fields: Any) -> Self:
        """Return the graph with other fields, which are not checked: what a pass of gviz makes is right."""
        graph = object.__new__(type(self))
        vars(graph).update({name: vars(self)[name] for name in self.__dataclass_fields__} | fields)
        return graph

    def node(self, node_id: str) -> Node:
        """Return the node of that id; KeyError if there is none."""
        return self.by_id[node_id]

    @cached_property
    def order(self) -> list[Node]:
        """The nodes, each after those that edges lead from; without those on a circle."""
        return self.inputs_first()

    def inputs_first(self, kinds: Collection[str] = EDGE_KINDS) -> list[Node]:
        """Return the nodes, each after those that edges of these kinds lead from; without those on a circle."""
        nodes, uses = self.by_id, self.uses
        order = first_to_last([*nodes], lambda node: [edge.target for edge in uses[node] if edge.kind in kinds])
        return [nodes[node] for node in order]

    def calls_around(self, module: Module | None) -> list[Module]:
        """Return a module and the calls that it was made in, outermost first; nothing for none."""
        around = (
            [] if module is None else [module, *(self.modules[one] for one in outwards(self.modules, module.within))]
        )
        return around[::-1]

    def frames_around(self, region: int) -> list[int]:
        """Return the number of a frame and of those around it, the innermost first; nothing for -1."""
        return outwards(self.regions, region)

    def code_at(self, place: Place) -> str:
        """Return the code at a place that something in the graph names, without its indent; "" if it is not known."""
        if place.file or place.cell:
            return dict(self.codes).get(place.without_run, "")
        lines = self.code.split("\n")
        return lines[place.line - 1].strip() if 0 < place.line <= len(lines) else ""

    def columns(self) -> dict[str, int]:
        """Return where the operations that make tensors stand in an expression, by their names, counted from 1."""
        operations = (node for node in reversed(self.nodes) if node.kind == "operation" and node.place is not None)
        return {node.name: node.place.column for node in operations if node.name and node.place and node.place.column}

    def to_json(self) -> str:
        """Return the whole graph as JSON text, ending in a newline; :meth:`from_json` is the inverse.

        >>> Graph.from_json(Graph(nodes=(Node("n0", "leaf"),)).to_json()).nodes[0].kind
        'leaf'
        """
        return codec.dumped(self.as_dict())

    def as_dict(self) -> dict[str, Any]:
        """Return the graph as JSON-able dicts; fields that hold their default are left out."""
        return {"format": codec.FORMAT, "version": codec.VERSION, **codec.as_plain(self, always=("title", *PARTS))}

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what :meth:`to_json` wrote.

        Raises:
            ValueError: not JSON, not a graph of gviz, another version, or a graph that breaks its own rules.
        """
        return cls.from_dict(codec.parse_text(text))

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Return the graph of these dicts: the inverse of :meth:`as_dict`, and the one check of JSON.

        Raises:
            ValueError: as for :meth:`from_json`.
        """
        return cls(**codec.read_fields(cls, codec.of_this_version(data), ""))


def outwards(records: Sequence[Module | Region], number: int) -> list[int]:
    """Return the number of a record and of those that it is within, the innermost first; nothing for -1."""
    around = []
    while number >= 0:
        around.append(number)
        number = records[number].within
    return around


def _fault(node: Node) -> str:
    """Return what is wrong with a node, "" if nothing is."""
    if node.kind not in KINDS:
        return f"has the unknown kind {excerpt(repr(node.kind))}; one of {', '.join(KINDS)}"
    if node.recorded.slots < 0:
        return f"has {node.recorded.slots} slots"
    return (
        "is an operation without a label, such as 'MulBackward0'" if node.kind == "operation" and not node.label else ""
    )


def _nesting_fault(graph: Graph) -> str:
    """Return what is wrong with the modules and frames of a graph, "" if nothing is."""
    for word in ("modules", "functions", "regions"):
        for number, one in enumerate(getattr(graph, word)):
            if not -1 <= one.within < number:
                return f"{word}[{number}].within is {one.within}: neither -1 nor the number of one before it"
    for number, one in enumerate(graph.regions):
        if one.times < 1:
            return f"regions[{number}].times is {one.times}: a frame stands for one block at least"
    for node in graph.nodes:
        if not -1 <= node.region < len(graph.regions):
            return f"node {excerpt(repr(node.id))}: there is no region {node.region}"
        if node.module is not None and not -1 <= node.module.within < len(graph.modules):
            return f"node {excerpt(repr(node.id))}: there is no module {node.module.within} to be within"
        if node.place is not None and not -1 <= node.place.call < len(graph.functions):
            return f"node {excerpt(repr(node.id))}: there is no call {node.place.call} of a function to be in"
    return ""


def _arrow(source: object, target: object) -> str:
    """Return what an error calls an edge."""
    return f"edge {excerpt(str(source))} -> {excerpt(str(target))}"
