"""What a name such as ``AddBackward0`` says: its operation, its overload's number, the call that makes it.

Older names too.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple, NoReturn

from gviz import engine
from gviz.errors import SourceError
from gviz.reference.catalogue import NODES, TableOperation, is_operator, matching, operations, spellings
from gviz.reference.words import WORDS
from gviz.text import closest, did_you_mean, excerpt

WRAPPED = re.compile(r"\s*(?:\w+\s*=\s*)?<?\s*((?:\w+(?:\.|::))*)(\w+)(?:\s+object(?: at 0x[0-9a-fA-F]+)?)?\s*>?\)?\s*")
"""A name with what print() puts around it: ``grad_fn=<AddBackward0>``, ``<AddBackward0 object at 0x7f3c>``."""

NODE = re.compile(r"(\w+?)Backward(\d*)")
OLD = re.compile(r"^(?:Thnn|Th|Cudnn|Mkldnn|Miopen|Native|Slow)(?=[A-Z])|(?<=[a-z])Constant$|(?<=Conv)Transpose?(?=\d)")
"""Parts of older names that told which library computed it, and more: ``ThAddBackward``, ``AddConstantBackward``."""

RENAMED = {
    "Threshold": "Relu", "SWhere": "Where", "Conv2D": "Convolution", "Conv2d": "Convolution", "Conv3D": "Convolution",
    "ConvNd": "Convolution", "ConvolutionOverrideable": "Convolution", "Expm": "Exp", "Addr": "Addr", "Dropout": "Mul",
    "NllLossForward": "NllLoss", "MseLossForward": "MseLoss", "NegConstant": "Neg", "SubConstant": "Sub", "Linear": "Addmm",
    "Matmul": "Mm", "AddmmConstant": "Addmm", "Softmax": "Softmax", "LogSoftmaxForward": "LogSoftmax",
}  # fmt: skip
"""What an older release, or another device, called it."""

MOST_OVERLOADS = 3
"""Operations that are explained for one name."""

DIGIT = (
    "The {digit} at its end tells overloads apart: PyTorch has a number for each form of one function, counted from 0. "
    "It is no layer and no depth: each {family} of this form is {label}, wherever it stands in the graph."
)
INNER = "(in derivatives only, with create_graph=True)"
ALONE = (
    "The {digit} at its end is the number of an overload. This function has one form with a derivative. It is no layer and no "
    "depth: each of them is {label}, wherever it stands in the graph."
)


class Named(NamedTuple):
    """A name of a graph's node, explained.

    Args:
        operation: its row in the table of operations.
        remarks: on the name that was asked for, and on its digit.
        example: a call that makes the node; "" for none.
    """

    operation: TableOperation
    remarks: tuple[str, ...]
    example: str

    def facts(self) -> list[tuple[str, str]]:
        """Return the lines below its title: (head, text)."""
        one = self.operation
        parts = (form for form in one.part_of if f"{form.rpartition('.')[2]}(" in self.example)  # it has been run
        calls = [*one.forms, *parts]
        more = [
            (
                "is",
                ""
                if one.note or not calls
                else f"what autograd records for {calls[0]}{'' if one.forms else ', among others'}",
            ),
            ("example", self.example),
            ("saves", "nothing: its derivative needs no value" if one.formulas and not one.saved else ""),
        ]
        order = ("is", "example", "called as", "takes", "saves")
        facts = [fact for fact in (*more, *one.facts()) if fact[1]]
        return sorted(facts, key=lambda fact: order.index(fact[0]) if fact[0] in order else len(order))

    def as_dict(self) -> dict[str, Any]:
        """Return the record for JSON."""
        return {**self.operation.as_dict(), "remarks": self.remarks, "example": self.example or None}


def looks_like_a_node(word: str) -> bool:
    """Return whether a word is the name of a graph's node, or of an operation, and nothing else.

    >>> [looks_like_a_node(word) for word in ("<AddBackward0>", "torch.mul", "torch::autograd::CopySlices", "y=x", "x+w")]
    [True, True, True, False, False]
    """
    match = WRAPPED.fullmatch(word)
    return match is not None and ("=" not in word or NODE.fullmatch(match[2]) is not None)


def named(word: str) -> tuple[Named, ...]:
    """Return what a name stands for: one operation, or several that are called so.

    Raises:
        SourceError: there is none of that name; with the one that was probably meant.
    """
    match = WRAPPED.fullmatch(word)
    name = match[2] if match else word.strip()
    owner = match[1] if match else ""
    exact = next((one for one in table_rows() if (one.grad_fn or "").lower() == name.lower()), None)
    if exact is not None:
        return (explained_name(exact, (digit_of(exact),)),)
    if node := NODE.fullmatch(name):
        return older(name, node[1])
    parts = matching(f"{owner}{name}")
    matches = [one for one in parts if name.lower() in {form.lower() for form in one.names()}]
    within = {text.lower() for one in parts for form in one.part_of for text in spellings(form)}
    if not matches and f"{owner}{name}".lower() in within:
        hint = f"gviz ops {owner}{name} lists the operations that it is made of"
        raise SourceError(f"{excerpt(f'{owner}{name}')} is no operation of the graph: it is made of several", hint=hint)
    if not matches:
        refuse_name(name)
    return tuple(explained_name(one, (digit_of(one),)) for one in matches[:MOST_OVERLOADS])


def older(name: str, family: str) -> tuple[Named, ...]:
    """Return the nodes that are called so today; SourceError if there is none."""
    plain = OLD.sub("", family)
    plain = RENAMED.get(plain, plain)
    today = [
        one
        for label, one in operations_by_label().items()
        if plain.lower() in (family_of(label).lower(), OLD.sub("", family_of(label)).lower())
    ]
    if not today:
        refuse_name(name)
    today = [one for one in today if one.forms] or today
    names = " and ".join(one.grad_fn or "" for one in today)
    remark = f"{name} is no name of PyTorch 2.13: it is {names} there."
    if name.endswith("Backward"):
        remark = f"{name} is an older name, from before overloads had numbers: PyTorch 2.13 has {names}."
    first, *others = today[:MOST_OVERLOADS]
    return explained_name(first, (remark, digit_of(first))), *(explained_name(one, ()) for one in others)


def refuse_name(name: str) -> NoReturn:
    """Raise SourceError: no operation is called so."""
    if name.endswith("Backward") or re.fullmatch("[A-Z][a-zA-Z]*backward", name):
        own = name[: -len("Backward")]
        suggestion = closest(own, map(family_of, operations_by_label()))
        hint = f"a class of your own, {excerpt(own)}(torch.autograd.Function), has a node of this name, without a digit"
        hint = f"did you mean {suggestion}Backward? Or {hint}" if suggestion else hint
    elif name == "backward":
        raise SourceError(
            "backward is no operation of the graph: it runs the graph",
            hint="gviz explain SOURCE shows what it computes",
        )
    else:
        otherwise = (
            "gviz ops lists all operations; words are leaf, detach, retain_grad and the like; "
            "an expression is more than a name, as in y=x*w"
        )
        words = (each for word in WORDS for each in word.names)
        hint = did_you_mean(name, [*words, *operations_by_label(), *(one.key for one in operations())], otherwise)
    raise SourceError(f"no operation has the name {excerpt(name)!r}", hint=hint)


def table_rows() -> Iterator[TableOperation]:
    """Yield the operations that have a node."""
    yield from (one for one in (*NODES, *operations()) if one.grad_fn)


@cache
def operations_by_label() -> dict[str, TableOperation]:
    """Return the operation of each node, by its label; of several that share one the one with the most names."""
    operations: dict[str, TableOperation] = {}
    for one in sorted(table_rows(), key=lambda one: -len(one.forms)):
        operations.setdefault(one.grad_fn or "", one)
    return dict(sorted(operations.items()))


def family_of(label: str) -> str:
    """Return the name of a node without its digit: ``Sum`` for SumBackward1."""
    match = NODE.fullmatch(label)
    return match[1] if match else label


def digit_of(operation: TableOperation) -> str:
    """Return what the digit of a node means, with the other nodes of its family; "" if it has none."""
    label = operation.grad_fn or ""
    match = NODE.fullmatch(label)
    if match is None or not match[2]:
        return ""
    others = [one for other, one in operations_by_label().items() if family_of(other) == match[1] and other != label]
    if not others:
        return ALONE.format(digit=match[2], label=label)
    calls = [f"{one.grad_fn} {one.takes[0] if one.takes else INNER}" for one in others]
    text = DIGIT.format(digit=match[2], label=label, family=match[1].lower())
    return f"{text} There {'are' if len(calls) > 1 else 'is'} also {', '.join(calls)}."


def explained_name(operation: TableOperation, remarks: tuple[str, ...]) -> Named:
    """Return the operation with its remarks and an example."""
    return Named(operation, tuple(filter(None, remarks)), example_of(operation))


# ------------------------------------------------------------------ examples
NAMES_OF = {"x": (2, 2), "y": (2, 2), "v": (2,)}
ARGUMENTS = ("x", "x, y", "x, 2", "x, 0", "2, x", "x, (0,)", "x, v", "v, v", "v, x, y", "x, 0, 1", "x, x > 0, 0", "x > 0, x, y",
             "x, y, x", "x, (4,)", "[x, y]", "x, (2, 2, 2)", "v, y, v", "x, 0, torch.tensor([0])",
             "x, 0, torch.tensor([[0, 1]])",
             "x[None]", "x[None], x[None]", "x.unsqueeze(0), 0", "v, 0", "v, 1.0", "x, torch.tensor([0, 1])")  # fmt: skip
"""Arguments that are tried, the plainest first."""


OWN_EXAMPLES = {
    "AccumulateGrad": "x = torch.ones(2, requires_grad=True); (x + 1).grad_fn.next_functions[0][0]",
    "CopySlices": "z = torch.zeros(2); z[0] = torch.ones((), requires_grad=True); z.grad_fn",
}
"""How to see the nodes that no call makes alone."""


def example_of(operation: TableOperation) -> str:
    """Return a call that makes the operation's node on gviz's engine: it has been run.

    "" if none of the usual ones does.
    """
    if operation.key in OWN_EXAMPLES:
        return OWN_EXAMPLES[operation.key]
    forms = sorted(operation.forms, key=lambda form: (not is_operator(form), form.startswith("2")))
    for form in forms or operation.part_of:
        for call in calls(form):
            if made_by(call) == operation.grad_fn:
                return call
    return ""


def calls(form: str) -> Iterator[str]:
    """Yield calls of a form, as people write them."""
    if is_operator(form):
        yield from (form.replace("...", "0"), form.replace("y", "2"))
        return
    owner, _, name = form.rpartition(".")
    for arguments in ARGUMENTS:
        if owner == "Tensor":
            first, _, rest = arguments.partition(", ")
            yield f"{first}.{name}({rest})"
        else:
            yield f"{form if owner == 'torch' else f'torch.{form}'}({arguments})"
    if owner == "Tensor":
        yield f"x.{name}"


REFUSALS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
)
"""What a call with arguments of another kind may come to."""


def made_by(call: str) -> str | None:
    """Return the class of the node that a call makes; None if it makes none."""
    space: dict[str, Any] = {"torch": engine}
    space |= {name: engine.full(size, 0.5).requires_grad_() for name, size in NAMES_OF.items()}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = eval(call, space)  # noqa: S307 - gviz's own text
    except REFUSALS:
        return None
    first = result[0] if isinstance(result, tuple | list) and result else result
    node = getattr(first, "grad_fn", None)
    return None if node is None else type(node).__name__
