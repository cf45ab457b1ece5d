"""The words of autograd that students ask for: a paragraph each, with an example to run."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple


class Word(NamedTuple):
    """A word of autograd.

    Args:
        names: what it is called, the name of its page first; in any case, with spaces, hyphens or underscores.
        meaning: a paragraph.
        example: a program. What each print() writes stands in the comment behind it.
        command: a command of gviz that shows it; "" for none.
    """

    names: tuple[str, ...]
    meaning: str
    example: str
    command: str = ""

    def ways(self) -> tuple[tuple[str, str], ...]:
        """Return the examples, each as (sentence, code)."""
        drawing = (("See it drawn, or listed.", self.command),) if self.command else ()
        return (("Run this.", self.example), *drawing)

    def as_dict(self) -> dict[str, Any]:
        """Return the record for JSON."""
        examples = {"example": self.example, "command": self.command or None}
        return {"word": self.names[0], "also": self.names[1:], "meaning": self.meaning, **examples}


WORDS = (
    Word(
        ("chain rule", "chainrule", "path", "local derivative", "local gradient"),
        "The derivative of a result by an input is a sum over all paths between the two: along each path the local "
        "derivatives of its operations are multiplied, and the products of all paths are added. backward() computes "
        "it from the root to the leaves, with one product for each operation and input, and adds up where paths meet.",
        "import torch\n\n"
        "x = torch.tensor(2.0, requires_grad=True)\n"
        "a = x * 3\n"
        "y = a**2\n"
        "y.backward()\n"
        "print(x.grad)  # tensor(36.)\n"
        "print(2 * a.item() * 3)  # 36.0",
        'gviz explain "y=(x*3)**2" x=2',
    ),
    Word(
        ("leaf", "leaves", "leaf tensor", "leaf node", "leaf variable"),
        "A leaf is a tensor that you made yourself, and that no recorded operation has computed: a weight, a bias, "
        "an input. A graph begins at its leaves. backward() goes from the root to the leaves, and leaves the "
        "gradient of each one that requires it in its .grad. A tensor that requires no gradient counts as a leaf, "
        "too, but gets none.",
        "import torch\n\n"
        "w = torch.tensor(3.0, requires_grad=True)\n"
        "y = w * 2\n"
        "y.backward()\n"
        "print(w.is_leaf, w.grad_fn)  # True None\n"
        "print(y.is_leaf)  # False\n"
        "print(w.grad)  # tensor(2.)",
        'gviz inspect "y=w*2" w=3',
    ),
    Word(
        ("is_leaf", "isleaf"),
        "tensor.is_leaf says whether a tensor is a leaf. It is True for a tensor that requires no gradient, and for"
        " one that requires it and that no operation has made (its grad_fn is None). It is False for the result of "
        "an operation on tensors that require a gradient. A common surprise is a weight that is moved or scaled "
        "after it was made: w is the result of an operation then, no leaf, and its .grad stays None.",
        "import torch\n\n"
        "x = torch.ones(2)\n"
        "w = torch.ones(2, requires_grad=True)\n"
        "scaled = torch.ones(2, requires_grad=True) * 0.1\n"
        "print(x.is_leaf, w.is_leaf, scaled.is_leaf)  # True True False",
        'gviz inspect "y=x*w" --frozen x',
    ),
    Word(
        ("non-leaf", "nonleaf", "intermediate", "intermediate tensor", "non-leaf tensor"),
        "A non-leaf is the result of a recorded operation: its grad_fn is the node of that operation. Its gradient "
        "is computed on the way to the leaves, passed on, and not kept: its .grad is None, and PyTorch warns if you"
        " read it. retain_grad() keeps it.",
        "import torch\n\n"
        "w = torch.tensor(3.0, requires_grad=True)\n"
        "h = w * 2\n"
        "h.retain_grad()\n"
        "(h * h).backward()\n"
        "print(h.is_leaf, h.grad)  # False tensor(12.)",
        'gviz inspect "h=w*2; y=h*h" w=3 --only nonleaf',
    ),
    Word(
        ("retain_grad", "retains_grad", "retaingrad"),
        "h.retain_grad() asks backward() to keep the gradient of a non-leaf h in h.grad. Without it, only leaves "
        "keep theirs: that of an intermediate result is needed for a moment and then thrown away. Call it after h "
        "is computed and before backward(). h.retains_grad says whether it was called. It changes no gradient.",
        "import torch\n\n"
        "w = torch.tensor(3.0, requires_grad=True)\n"
        "h = w * 2\n"
        "h.retain_grad()\n"
        "y = h * h\n"
        "y.backward()\n"
        "print(h.retains_grad, h.grad)  # True tensor(12.)\n"
        "print(w.grad)  # tensor(24.)",
        'gviz render "h=w*2; y=h*h" w=3 --retain h',
    ),
    Word(
        ("detach", "detached"),
        "x.detach() is a tensor with the same numbers, in the same memory, and no graph: it requires no gradient, "
        "and no gradient flows through it to x. For autograd it is a constant. It is right for a target, a logged "
        "value, or the state of a recurrent net between two pieces of text; it is a mistake where a weight behind "
        "it is to learn.",
        "import torch\n\n"
        "w = torch.tensor(3.0, requires_grad=True)\n"
        "d = (w * w).detach()\n"
        "y = w * d\n"
        "y.backward()\n"
        "print(d.requires_grad, d.grad_fn)  # False None\n"
        "print(w.grad)  # tensor(9.)",
        'gviz why "y=w*(w*w).detach()" w',
    ),
    Word(
        ("requires_grad", "requires_grad_", "requiresgrad"),
        "requires_grad=True asks autograd to record what is computed from a tensor, so that backward() can find its"
        " gradient. It is set where a leaf is made, or by requires_grad_(); an nn.Parameter has it by itself. The "
        "result of an operation requires a gradient if one of its inputs does. Only tensors of floating point or "
        "complex numbers can.",
        "import torch\n\n"
        "x = torch.tensor(2.0)\n"
        "w = torch.tensor(3.0, requires_grad=True)\n"
        "y = x * w\n"
        "y.backward()\n"
        "print(y.requires_grad)  # True\n"
        "print(x.grad, w.grad)  # None tensor(2.)",
        'gviz render "y=x*w" x=2 w=3 --frozen x',
    ),
    Word(
        ("no_grad", "nograd", "set_grad_enabled", "enable_grad"),
        "In a block `with torch.no_grad():` nothing is recorded: what is computed there requires no gradient, even "
        "from tensors that do. It is for evaluation, which needs no graph and saves the memory, and for the update "
        "of a weight, which must not be a part of the graph. requires_grad of the weights themselves stays as it "
        "is.",
        "import torch\n\n"
        "w = torch.tensor(3.0, requires_grad=True)\n"
        "(w * w).backward()\n"
        "with torch.no_grad():\n"
        "    w -= 0.5 * w.grad\n"
        "    y = w * 2\n"
        "print(w.requires_grad, w.is_leaf)  # True True\n"
        "print(y.requires_grad, y.grad_fn)  # False None",
    ),
    Word(
        ("AccumulateGrad",),
        "AccumulateGrad is the last node on the way back to a leaf: it takes the gradient that arrives and adds it "
        "to the leaf's .grad. Each leaf that requires a gradient has one, however often it is used; it is in the "
        "graph because something has to stand where the arrows end. Its attribute .variable is the leaf. It "
        "computes no derivative and saves nothing.",
        "import torch\n\n"
        "w = torch.tensor(3.0, requires_grad=True)\n"
        "y = w * 2\n"
        "node = y.grad_fn.next_functions[0][0]\n"
        "print(type(node).__name__)  # AccumulateGrad\n"
        "print(node.variable is w)  # True",
        'gviz render "y=w*2" w=3',
    ),
    Word(
        ("grad", "gradient"),
        "w.grad is the gradient that backward() has left in a leaf: the derivative of the root by w, with the shape"
        " of w. It is None until a backward() comes to w. Each further backward() adds to it. It stays None where "
        "no path of the graph leads from the root to w, and where w requires no gradient. torch.autograd.grad(y, w)"
        " returns the gradient, and leaves .grad as it is.",
        "import torch\n\n"
        "w = torch.tensor([1.0, 2.0], requires_grad=True)\n"
        "print(w.grad)  # None\n"
        "(w * w).sum().backward()\n"
        "print(w.grad)  # tensor([2., 4.])",
        'gviz explain "y=(w*w).sum()" "w=[1,2]"',
    ),
    Word(
        ("grad_fn", "gradfn", "grad function"),
        "y.grad_fn is the node of the operation that made y, such as MulBackward0: it knows how to turn the "
        "gradient of y into those of the operation's inputs. It is None for a leaf. Its next_functions lead on, to "
        "the nodes of the inputs: they are the graph. The digit at the end tells overloads of one function apart.",
        "import torch\n\n"
        "w = torch.tensor(3.0, requires_grad=True)\n"
        "y = w * 2\n"
        "print(y.grad_fn.name())  # MulBackward0\n"
        "print(w.grad_fn)  # None",
        "gviz explain MulBackward0",
    ),
    Word(
        ("backward", "backward pass", "backpropagation", "backprop"),
        "y.backward() goes through the graph from y back to the leaves. At each node it multiplies the gradient "
        "that arrives by the local derivative (the chain rule), where several arrows meet it adds, and at the "
        "leaves it adds to .grad. y has to be one number, or backward() is given its gradient. What the operations "
        "saved is freed on the way, so a second backward() through the same graph needs retain_graph=True.",
        "import torch\n\n"
        "x = torch.tensor(2.0, requires_grad=True)\n"
        "w = torch.tensor(1.0, requires_grad=True)\n"
        "y = (x + w) * (w + 1)\n"
        "y.backward()\n"
        "print(x.grad, w.grad)  # tensor(2.) tensor(5.)",
        'gviz steps "y=(x+w)*(w+1)" x=2 w=1 -o y.pdf',
    ),
    Word(
        ("accumulate", "accumulation", "gradient accumulation", "accumulated", "zero_grad"),
        "Gradients accumulate: backward() adds to .grad and never replaces it. That is what a leaf needs that is "
        "used twice, and what makes several small batches count as a large one. In a training loop it means that "
        "the gradients of the last step have to go first: optimizer.zero_grad(), or w.grad = None, before each "
        "backward(). zero_grad() sets .grad to None, not to 0, unless set_to_none=False.",
        "import torch\n\n"
        "w = torch.tensor(3.0, requires_grad=True)\n"
        "optimizer = torch.optim.SGD([w], lr=0.1)\n"
        "(w * 2).backward()\n"
        "(w * 2).backward()\n"
        "print(w.grad)  # tensor(4.)\n"
        "optimizer.zero_grad()\n"
        "print(w.grad)  # None",
        "gviz inspect train.py --watch w",
    ),
    Word(
        ("in-place", "inplace", "in-place operation", "version counter", "_version"),
        "An in-place operation (x += 1, x.add_(1), x[0] = 1) writes into a tensor that is there already. Each write"
        " counts up x._version. An operation that has saved x for its derivative compares: if x was written since, "
        "backward() refuses, for the gradient would be wrong. A leaf that requires a gradient is not written in "
        "place but under no_grad().",
        "import torch\n\n"
        "w = torch.tensor(3.0, requires_grad=True)\n"
        "h = w * 2\n"
        "y = h * h\n"
        "h += 1\n"
        "try:\n"
        "    y.backward()\n"
        "except RuntimeError as error:\n"
        "    print(str(error)[:45])  # one of the variables needed for gradient comp\n"
        "print(h._version)  # 1",
        'gviz explain "RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation"',
    ),
    Word(
        ("saved tensors", "saved tensor", "saved_tensors", "save_for_backward", "saved for backward"),
        "Saved tensors are what an operation keeps from the forward pass because its derivative needs it: x * w "
        "keeps both, for the derivative by one is the other; x + w keeps nothing; exp keeps its result. They are "
        "most of the memory that training takes. They are attributes of the node, such as grad_fn._saved_self, and "
        "are freed by backward().",
        "import torch\n\n"
        "x = torch.tensor(2.0, requires_grad=True)\n"
        "w = torch.tensor(3.0, requires_grad=True)\n"
        "y = x * w\n"
        "print(y.grad_fn._saved_self.item(), y.grad_fn._saved_other.item())  # 2.0 3.0",
        'gviz render "y=x*w" x=2 w=3 --show saved',
    ),
    Word(
        ("frozen", "freeze", "constant"),
        "A frozen tensor requires no gradient (requires_grad=False): for autograd it is a constant. It takes part "
        "in the computation and gets no .grad, and TorchViz's graph does not show it. Layers are frozen so that "
        "only the others learn; a gradient still flows through their operations to what stands before them.",
        "import torch\n\n"
        "w1 = torch.tensor(3.0, requires_grad=True)\n"
        "w2 = torch.tensor(5.0)\n"
        "y = (w1 * 2) * w2\n"
        "y.backward()\n"
        "print(w1.grad, w2.grad)  # tensor(10.) None",
        'gviz render "y=(w1*2)*w2" w1=3 w2=5 --frozen w2 --ghosts',
    ),
    Word(
        ("freed", "retain_graph", "retaingraph"),
        "backward() frees the graph as it goes: the saved tensors of each operation are given back at once. The "
        "nodes are still there, and a second backward() through one that has saved something is an error. "
        "retain_graph=True keeps them. Most often the mend is another: one backward() of the sum of two losses, or "
        "detach() between two iterations.",
        "import torch\n\n"
        "w = torch.tensor(3.0, requires_grad=True)\n"
        "y = w * w\n"
        "y.backward(retain_graph=True)\n"
        "y.backward()\n"
        "print(w.grad)  # tensor(12.)\n"
        "try:\n"
        "    y.backward()\n"
        "except RuntimeError as error:\n"
        "    print(str(error)[:50])  # Trying to backward through the graph a second time",
        'gviz explain "Trying to backward through the graph a second time"',
    ),
    Word(
        ("create_graph", "creategraph", "higher derivative", "second derivative"),
        "create_graph=True makes the backward pass record what it computes, so that the gradient has a graph of its"
        " own and can be differentiated again: for a second derivative, or a penalty on the gradient.",
        "import torch\n\n"
        "x = torch.tensor(2.0, requires_grad=True)\n"
        "y = x * x * x\n"
        "(first,) = torch.autograd.grad(y, x, create_graph=True)\n"
        "(second,) = torch.autograd.grad(first, x)\n"
        "print(first.item(), second.item())  # 12.0 12.0",
        'gviz render "y=x*x*x" x=2 --order 1',
    ),
)
"""In the order in which they are best learned."""


ASKED = re.compile(
    r"(?:with\s+)?(?:[A-Za-z_]\w*\.)*\.?(?P<word>\w[\w\s-]*?)(?:\((?:\w+=\w+)?\))?(?:\s*=\s*(?:True|False))?:?\??"
    r"|<(?P<object>\w+) object at 0x\w+>"
)
"""A word as it stands in code: ``loss.backward()``, ``requires_grad=True``, ``with torch.no_grad():``."""


def word_for(text: str) -> Word | None:
    """Return the word that a text asks for, as it stands in code or in prose; None if it is none of them.

    >>> [word_for(text).names[0] for text in ("leaf", "torch.no_grad()", "Saved tensors", "<AccumulateGrad object at 0x7f>")]
    ['leaf', 'no_grad', 'saved tensors', 'AccumulateGrad']
    >>> [word_for(text) for text in ("y=leaf*2", "leaf*w", "relu")]
    [None, None, None]
    """
    match = ASKED.fullmatch(text.strip())
    return None if match is None else _by_name().get(_key(match["word"] or match["object"]))


@cache
def _by_name() -> dict[str, Word]:
    """Return the words by all of their names."""
    return {_key(name): word for word in WORDS for name in word.names}


def _key(name: str) -> str:
    """Return a name as it is compared."""
    return re.sub(r"[\s_-]+", " ", name.lower()).strip()
