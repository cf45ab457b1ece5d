"""PyTorch's errors and warnings about autograd: what each of them means, and the ways out.

A text is found by its letters alone, so that it may be pasted with its traceback, other line breaks, colours, other
quotes, and with the sizes and names of its own tensors.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from functools import cache
from typing import Any, NamedTuple

from gviz.errors import SourceError
from gviz.reference.words import WORDS as WORDS_OF_AUTOGRAD
from gviz.text import excerpt, joined


class ErrorHelp(NamedTuple):
    """An error, or a warning, of PyTorch's.

    Args:
        texts: its wording today, and older ones; ``...`` stands for what each program has of its own.
        meaning: what has happened.
        ways: what to do, each as (when it helps, the code of it).
    """

    texts: tuple[str, ...]
    meaning: str
    ways: tuple[tuple[str, str], ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the record for JSON."""
        ways = [{"when": when, "code": code} for when, code in self.ways]
        return {"error": self.texts[0], "older": self.texts[1:], "meaning": self.meaning, "ways": ways}


MADE_OF_A_TENSOR = ("ReLU", "LeakyReLU", "ELU", "GELU", "SiLU", "Softplus", "Softmax", "LogSoftmax", "Flatten")
"""Layers that take a tensor for an option, of which PyTorch says so where the layer is used as a tensor."""

CUBE = """class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3
    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 3 * x ** 2 * grad

y = Cube.apply(x)"""

NO_GRAD = "Very likely .grad is None: backward() has not run yet, or the tensor is no leaf, or the loss was not computed from it."
NO_GRAD_WAYS = (
    ("Find out which.", "gviz why train.py"),
    ("w = w - lr * w.grad has replaced the leaf.", "with torch.no_grad():\n    w -= lr * w.grad"),
)

ERRORS = (
    ErrorHelp(
        (
            "element ... of tensors does not require grad and does not have a grad_fn",
            "element ... of variables does not require grad and does not have a grad_fn",
            "there are no graph nodes that require computing gradients",
            "element ... of variables tuple is volatile",
        ),
        "backward() was called on a tensor that no recorded operation has made: none of the tensors that it was computed from "
        "requires a gradient, or the graph was cut on the way. There is nothing to go back through.",
        (
            ("No leaf asks for gradients: set it where the leaf is made.", "w = torch.randn(3, requires_grad=True)"),
            (
                "It was computed under no_grad() or inference_mode(): compute it outside.",
                "loss = model(x).sum()   # not in: with torch.no_grad():",
            ),
            (
                "The graph was cut by .detach(), .data, .item(), .numpy() or torch.tensor(y): use the tensor itself.",
                "loss = (y - target).pow(2).mean()   # not: torch.tensor(y.item())",
            ),
            (
                "The last operation has no derivative (argmax, a comparison, round to an integer): use a smooth one.",
                "loss = F.cross_entropy(logits, target)   # not: (logits.argmax(1) == target).sum()",
            ),
            ("Find out at which line.", "gviz why train.py"),
            (
                "loss.requires_grad = True silences it and is no cure: the loss becomes a leaf, and no weight gets a gradient.",
                "",
            ),
        ),
    ),
    ErrorHelp(
        ("Cannot copy out of meta tensor; no data!",),
        "A tensor on the device meta has a size and no numbers. There is nothing to copy, to print or to compute with.",
        (
            ("Make a module's parameters anew on the CPU, then fill them.", 'model.to_empty(device="cpu")'),
            ("Take numbers from a file as the parameters.", "model.load_state_dict(state, assign=True)"),
        ),
    ),
    ErrorHelp(
        (
            "Trying to backward through the graph a second time",
            "Trying to backward through the graph second time",
            "but the buffers have already been freed",
            "directly access saved variables after they have already been freed",
        ),
        "backward() frees what the operations saved as it goes, and a part of this graph has been gone through before. Often a "
        "tensor of an earlier iteration (a hidden state, a running loss, a term computed before the loop) ties two "
        "graphs together.",
        (
            ("A tensor of the last iteration is used again: cut it off.", "hidden = hidden.detach()"),
            (
                "A loss is summed for a printout: sum numbers, not graphs.",
                "total += loss.item()   # not: total += loss",
            ),
            ("Something is computed once before the loop: compute it in each iteration, before backward().", ""),
            ("Two losses share a graph: add them, and go back once.", "(loss1 + loss2).backward()"),
            ("You do want to go back twice: keep the graph. The gradients add up.", "loss.backward(retain_graph=True)"),
        ),
    ),
    ErrorHelp(
        ("one of the variables needed for gradient computation has been modified by an inplace operation",),
        "An operation has saved a tensor for its derivative, and the tensor was written in place afterwards. With the "
        "new numbers "
        "the gradient would be wrong. The message has the tensor's size, the operation that made it, and how often it "
        "was written "
        "(its version) beside how often it had been when it was saved.",
        (
            (
                "Write the in-place operation as one that makes a new tensor.",
                "x = x + 1   # not: x += 1, x.add_(1), x[0] = 1",
            ),
            (
                "An activation works in place on what the layer before has saved.",
                "nn.ReLU()   # not: nn.ReLU(inplace=True)",
            ),
            ("The in-place write is wanted: let it have a copy.", "y = x.clone(); y[0] = 1"),
            ("optimizer.step() comes between two backward() calls that share weights: call it after both.", ""),
            ("Find the operation that saved it.", "torch.autograd.set_detect_anomaly(True)"),
        ),
    ),
    ErrorHelp(
        (
            "a view of a leaf Variable that requires grad is being used in an in-place operation",
            "a view of a leaf Variable that requires grad has been used in an in-place operation",
        ),
        "A slice or another view of a leaf that requires a gradient is written in place: w[0] = 1, w.view(-1).add_(1). "
        "The leaf "
        "would become the result of an operation, and its .grad would have no place.",
        (
            ("It is an update of the numbers that is not to be recorded.", "with torch.no_grad():\n    w[0] = 1"),
            ("It is a part of the computation: work on a copy.", "v = w.clone(); v[0] = 1"),
        ),
    ),
    ErrorHelp(
        (
            "a leaf Variable that requires grad is being used in an in-place operation",
            "a leaf Variable that requires grad has been used in an in-place operation",
            "leaf variable has been moved into the graph interior",
        ),
        "A leaf that requires a gradient is written in place: w -= lr * w.grad, w.add_(1), w.zero_(). The leaf would "
        "become the "
        "result of an operation, and its .grad would have no place.",
        (
            (
                "It is an update of the weights, which is not to be recorded.",
                "with torch.no_grad():\n    w -= lr * w.grad",
            ),
            ("It is a part of the computation: make a new tensor.", "v = w + 1   # not: w += 1"),
            (
                "w = w - lr * w.grad without no_grad() makes a new w that is no leaf: its .grad stays None.",
                "",
            ),
        ),
    ),
    ErrorHelp(
        (
            "grad can be implicitly created only for scalar outputs",
            "grad can be implicitly created only for real scalar outputs",
            "backward should be called only on a scalar (i.e. 1-element tensor) or with gradient w.r.t. the variable",
        ),
        "backward() was called on a tensor of several elements. It computes a product of a gradient and the Jacobian, "
        "and only for "
        "one number is it clear that this gradient is 1.",
        (
            ("There is to be one number: add up, or take the mean.", "y.sum().backward()"),
            ("Give the gradient of each element: ones are the same as y.sum().", "y.backward(torch.ones_like(y))"),
            ("For gviz.", 'gviz explain "y=x*w" x=[1,2] --grad-output ones'),
            ("You want the whole Jacobian.", "torch.autograd.functional.jacobian(f, x)"),
        ),
    ),
    ErrorHelp(
        ("appears to not have been used in the graph",),
        "autograd.grad(y, x): y was not computed from this very x. Often x was made anew (x = x * 1, x[0], x.to(...)) "
        "after y was "
        "computed, or is a copy of what y was computed from.",
        (
            (
                "Take the tensor that y was computed from.",
                "x = torch.tensor(2.0, requires_grad=True)\ny = x ** 2\ntorch.autograd.grad(y, x)",
            ),
            (
                "It may be that it has no part in y: None is its gradient then.",
                "torch.autograd.grad(y, x, allow_unused=True)",
            ),
            ("Zeros instead of None.", "torch.autograd.grad(y, x, materialize_grads=True)"),
        ),
    ),
    ErrorHelp(
        (
            "One of the differentiated Tensors does not require grad",
            "One of the differentiated Variables does not require grad",
        ),
        "autograd.grad(y, x): x requires no gradient, so that nothing about it was recorded.",
        (("Ask for its gradient before y is computed.", "x.requires_grad_()\ny = f(x)\ntorch.autograd.grad(y, x)"),),
    ),
    ErrorHelp(
        (
            "only Tensors of floating point and complex dtype can require gradients",
            "only Tensors of floating point dtype can require gradients",
            "can only compute gradients for floating point",
            "only floating point tensors can require gradients",
            "data set to a tensor that requires gradients must be floating point or complex dtype",
        ),
        "The tensor holds integers or booleans, for which there is no derivative. torch.tensor(2) is an integer; "
        "torch.tensor(2.0) "
        "is not.",
        (
            ("Write the number with a point.", "x = torch.tensor(2.0, requires_grad=True)"),
            ("Convert it.", "x = torch.arange(3).float().requires_grad_()"),
            ("It is an index or a target: it needs no gradient; leave requires_grad out.", ""),
        ),
    ),
    ErrorHelp(
        (
            "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed",
            "Its .grad attribute won't be populated during autograd.backward()",
        ),
        "A warning: .grad of an intermediate result was read. backward() keeps gradients in leaves only, so this is None.",
        (
            ("You want this gradient: ask for it before backward().", "y.retain_grad()"),
            (
                "It was meant to be a leaf: an operation behind requires_grad=True makes it none.",
                "w = (torch.randn(3) * 0.1).requires_grad_()   # not: torch.randn(3, requires_grad=True) * 0.1",
            ),
            NO_GRAD_WAYS[1],
        ),
    ),
    ErrorHelp(
        ("Can't call numpy() on Tensor that requires grad", "Can't call numpy() on Variable that requires grad"),
        "numpy records no operations: what is computed there would be missing in the graph. So PyTorch asks you to leave "
        "it by name.",
        (
            ("You want the numbers, for a plot or a printout.", "y.detach().numpy()"),
            ("You want gradients through it: use the function of torch.", "torch.sin(y)   # not: np.sin(y)"),
        ),
    ),
    ErrorHelp(
        ("you can only change requires_grad flags of leaf variables",),
        "requires_grad of an intermediate result follows from what it was computed from; it cannot be switched.",
        (
            ("You want a tensor without gradients.", "z = y.detach()   # not: y.requires_grad = False"),
            (
                "You want to freeze a layer: its parameters are the leaves.",
                "for p in layer.parameters():\n    p.requires_grad_(False)",
            ),
        ),
    ),
    ErrorHelp(
        ("Mismatch in shape: grad_output[...] has a shape of",),
        "backward(gradient) or autograd.grad(..., grad_outputs=...) was given a gradient of another size than the tensor has.",
        (("It has the size of the tensor itself.", "y.backward(torch.ones_like(y))"),),
    ),
    ErrorHelp(
        (
            "This view is the output of a function that returns multiple views",
            "is a view and is being modified inplace. This view is the output of a function that returns multiple views",
            "is a view and its base or another view of its base has been modified inplace",
        ),
        "One of the results of unbind, split, chunk or of a loop over a tensor is written in place. These are views of "
        "one tensor, "
        "made by one operation, which cannot be told that one of them has changed.",
        (
            ("Make a new tensor.", "row = row + 1   # not: row += 1"),
            ("Write into the tensor that they are views of.", "x[0] += 1   # not: a, b = x.unbind(); a += 1"),
            ("Write into a copy.", "parts = [part.clone() for part in x.split(2)]"),
        ),
    ),
    ErrorHelp(
        (
            "is a view of a view which was created in no_grad mode and is being modified inplace with grad mode enabled",
            "A view was created in no_grad mode and is being modified inplace with grad mode enabled",
            "was created in no_grad mode and its base or another view of its base has been modified inplace",
        ),
        "A view was made under no_grad(), and is written in place outside of it. It is not clear whether the write is to be "
        "recorded.",
        (
            (
                "The write is not to be recorded: do both inside.",
                "with torch.no_grad():\n    part = w[:2]\n    part.zero_()",
            ),
            ("It is to be recorded: do both outside.", "part = w[:2]\npart.mul_(x)"),
        ),
    ),
    ErrorHelp(
        ("This view was created inside a custom Function (or because an input was returned as-is)",),
        "The forward of your own Function returned its input, or a view of it, and that is written in place now. PyTorch would "
        "have to replace your backward.",
        (("Return a copy.", "return x.view(-1).clone()"),),
    ),
    ErrorHelp(
        (
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment",
            "Only Variables created explicitly by the user (graph leaves) support the deepcopy protocol at the moment",
        ),
        "copy.deepcopy() was called on an intermediate result, or on an object that holds one, such as a module that keeps an "
        "activation. A copy would need a copy of the graph behind it.",
        (
            ("Copy the numbers.", "z = y.detach().clone()"),
            ("A module keeps a tensor with a graph: keep it without.", "self.last = y.detach()"),
            (
                "torch.nn.utils.weight_norm makes such a tensor: use the newer one.",
                "torch.nn.utils.parametrizations.weight_norm(layer)",
            ),
        ),
    ),
    ErrorHelp(
        ("returned nan values in its ...th output",),
        "Anomaly detection has found the operation whose derivative is not a number: a division by 0, sqrt or pow at 0, "
        "log of 0, "
        "0 * inf. torch.where does not help behind it: the derivative of the branch that was not taken is multiplied by 0, and "
        "0 * nan is nan.",
        (
            ("Keep the argument away from the bad place, before the operation.", "torch.sqrt(x.clamp_min(1e-12))"),
            (
                "With where: make the argument safe, then choose.",
                "safe = torch.where(x > 0, x, 1)\ny = torch.where(x > 0, safe.log(), 0)",
            ),
            ("See where it begins.", "gviz why train.py"),
        ),
    ),
    ErrorHelp(
        ("can't retain_grad on Tensor that has requires_grad=False",),
        "The tensor has no graph behind it, so that no gradient will come to it.",
        (
            (
                "One of the tensors that it is computed from needs a gradient.",
                "x.requires_grad_()\ny = x * 2\ny.retain_grad()",
            ),
        ),
    ),
    ErrorHelp(
        ("Tensor post accumulate grad hooks should return None.",),
        "A hook of register_post_accumulate_grad_hook() changes .grad itself; what it returns has no place to go to.",
        (
            (
                "Let it return nothing: a lambda returns what it computes, as p.grad.mul_(0.5) does.",
                "def halve(p):\n    p.grad.mul_(0.5)\n\nw.register_post_accumulate_grad_hook(halve)",
            ),
        ),
    ),
    ErrorHelp(
        (
            "cannot register a hook on a tensor that doesn't require gradient",
            "cannot register a hook on a variable that doesn't require gradient",
        ),
        "A hook is called with the gradient of its tensor, and this tensor gets none.",
        (("Ask for its gradient first.", "x.requires_grad_()\nx.register_hook(print)"),),
    ),
    ErrorHelp(
        ("Inference tensors cannot be saved for backward",),
        "A tensor that was made under inference_mode() is used in a computation that is recorded.",
        (
            ("Take no_grad() instead: its tensors may be used later.", "with torch.no_grad():\n    features = net(x)"),
            ("Make a normal tensor of it.", "features = features.clone()"),
        ),
    ),
    ErrorHelp(
        (
            "Inplace update to inference tensor outside InferenceMode is not allowed",
            "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed",
        ),
        "A tensor that was made under inference_mode() is changed outside of it.",
        (("Make a normal tensor of it.", "x = x.clone()"),),
    ),
    ErrorHelp(
        ("functions with out=... arguments don't support automatic differentiation",),
        "out=... writes the result into a tensor that is there already, which is not recorded.",
        (
            ("Take the result.", "y = torch.add(x, w)   # not: torch.add(x, w, out=y)"),
            ("No gradient is wanted.", "with torch.no_grad():\n    torch.add(x, w, out=y)"),
        ),
    ),
    ErrorHelp(
        ("returned an incorrect number of gradients",),
        "The backward of your own Function returns another number of values than its forward has arguments (ctx not counted).",
        (("One for each argument; None for one that needs none.", "return grad * w, None"),),
    ),
    ErrorHelp(
        ("returned an invalid gradient at index",),
        "A backward returned a gradient of another size than the tensor that it is for. In your own Function an argument that "
        "was broadcast needs its gradient summed.",
        (("Sum it to the size of the argument.", "return grad.sum_to_size(x.shape)"),),
    ),
    ErrorHelp(
        ("Trying to use a saved tensor that has been detached in-place",),
        "A tensor that an operation has saved was cut off with .detach_().",
        (("Make a new tensor of it.", "z = y.detach()   # not: y.detach_()"),),
    ),
    ErrorHelp(
        ("Can't detach views in-place",),
        "detach_() was called on a view: its base has a graph still.",
        (("Make a new tensor of it.", "z = y.detach()"),),
    ),
    ErrorHelp(
        (
            "attempting to assign a gradient of size",
            "attempting to assign a gradient with dtype",
            "assigned grad has data of a different size",
            "assigned grad has data of a different type",
        ),
        "x.grad = g: the gradient needs the size and the dtype of x.",
        (("Bring it into the form of x.", "x.grad = g.to(x.dtype).reshape(x.shape)"),),
    ),
    ErrorHelp(
        ("Legacy autograd function with non-static forward method is deprecated",),
        "Your own Function is written as before PyTorch 1.3, with __init__ and self.",
        (
            (
                "Make forward and backward static, with ctx in place of self.",
                CUBE,
            ),
        ),
    ),
    ErrorHelp(
        (
            "a Tensor with ... elements cannot be converted to Scalar",
            "only one element tensors can be converted to Python scalars",
        ),
        "item() or float() was called on a tensor of several elements.",
        (("There is to be one number.", "loss = loss.mean()\nloss.item()"), ("You want all numbers.", "loss.tolist()")),
    ),
    ErrorHelp(
        ("Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior",),
        "A warning: float(y) or math.sin(y) makes a plain number of a tensor with a graph. No gradient goes through it.",
        (
            ("You want the number.", "y.item()"),
            ("You want gradients through it: use the function of torch.", "torch.sin(y)   # not: math.sin(y)"),
        ),
    ),
    ErrorHelp(
        ("derivative for ... is not implemented", "the derivative for ... is not implemented"),
        "PyTorch has no derivative for this operation, or for this one of its inputs (such as the target of a loss).",
        (
            ("The input needs no gradient.", "loss = F.nll_loss(logp, target.detach())"),
            ("Write the operation with others, or as your own torch.autograd.Function.", ""),
        ),
    ),
    ErrorHelp(
        (
            "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient",
        ),
        "A warning: with create_graph=True the gradient has a graph that leads to its own leaf, so that neither is freed.",
        (
            ("Take the gradient as a result.", "(grad,) = torch.autograd.grad(loss, w, create_graph=True)"),
            ("Let go of it afterwards.", "w.grad = None"),
        ),
    ),
    ErrorHelp(
        ("can't optimize a non-leaf Tensor", "can't optimize a non-leaf Variable"),
        "An optimizer was given the result of an operation: its .grad stays None.",
        (("Make it a leaf: requires_grad after the last operation.", "w = (torch.randn(3) * 0.1).requires_grad_()"),),
    ),
    ErrorHelp(
        (
            "unsupported operand type(s) for *: 'float' and 'NoneType'",
            "unsupported operand type(s) for *: 'Tensor' and 'NoneType'",
        ),
        NO_GRAD,
        NO_GRAD_WAYS,
    ),
    ErrorHelp(
        (
            "'float' object has no attribute 'backward'",
            "'int' object has no attribute 'backward'",
            "'list' object has no attribute 'backward'",
            "'numpy.ndarray' object has no attribute 'backward'",
            "'numpy.float64' object has no attribute 'backward'",
            "'NoneType' object has no attribute 'backward'",
        ),
        "backward() was called on what is no tensor, such as a number, as item() and float() give it, "
        "an array of numpy, a list of losses, or None.",
        (
            (
                "It is a number: take that for a print alone.",
                "loss = F.mse_loss(out, y)   # not: F.mse_loss(out, y).item()",
            ),
            ("It is an array: compute it with torch.", "loss = torch.stack(losses).mean()   # not: np.mean(losses)"),
            ("It is a list: add its elements.", "sum(losses).backward()"),
            ("It is None: let the function return its loss.", "return loss"),
            ("Find out at which line.", "gviz why train.py"),
        ),
    ),
    ErrorHelp(
        (
            *(f"must be Tensor, not {name}" for name in MADE_OF_A_TENSOR),
            *(f"{name}.__init__() takes 1 positional argument but 2 were given" for name in ("Sigmoid", "Tanh")),
        ),
        "A layer stands where its result is wanted: nn.ReLU(h) makes one that has h as an option, and computes nothing"
        " of h. A module is made first, and then called with the tensor.",
        (
            ("Make the module, then call it.", "h = nn.ReLU()(h)   # not: nn.ReLU(h)"),
            ("Call the function.", "h = F.relu(h)"),
        ),
    ),
    ErrorHelp(("'NoneType' object has no attribute 'zero_'",), NO_GRAD, NO_GRAD_WAYS),
    ErrorHelp(("'NoneType' object has no attribute 'data'",), NO_GRAD, NO_GRAD_WAYS),
    ErrorHelp(
        ("'type' object does not support the context manager protocol", "AttributeError: __enter__"),
        "A with statement got a class, not an object: the brackets are missing.",
        (("Call it.", "with torch.no_grad():   # not: with torch.no_grad:"),),
    ),
    ErrorHelp(
        ("Cowardly refusing to serialize non-leaf tensor which requires_grad",),
        "A tensor with a graph behind it is sent to another process, which cannot have the graph.",
        (("Send the numbers.", "queue.put(y.detach())"),),
    ),
    ErrorHelp(
        ("None of the inputs have requires_grad=True. Gradients will be None",),
        "A warning of torch.utils.checkpoint: no input of the part that is computed twice asks for a gradient.",
        (("Take the form that also sees the weights inside.", "checkpoint(block, x, use_reentrant=False)"),),
    ),
    ErrorHelp(
        ("invalid index of a 0-dim tensor. Use tensor.item() in Python", "invalid index to scalar variable"),
        "A tensor of one number, such as a loss, is indexed as if it had elements: loss[0], or loss.data[0] in programs for "
        "PyTorch before 0.4.",
        (("Take its number.", "loss.item()   # not: loss.data[0]"),),
    ),
    ErrorHelp(
        ("expected a Variable argument, but got ...Tensor", "Variable data has to be a tensor, but got Variable"),
        "PyTorch before 0.4 had Variables, which have gradients, beside tensors, which had none: the other one is wanted.",
        (
            (
                "Use a newer PyTorch, where a tensor is both.",
                "w = torch.randn(3, requires_grad=True)   # not: Variable(...)",
            ),
        ),
    ),
    ErrorHelp(
        ("more than one element of the written-to tensor refers to a single memory location",),
        "A tensor that was made with expand() is written in place: several of its elements are the same number in memory.",
        (("Make a copy with elements of its own.", "y = x.expand(3, 3).clone()"),),
    ),
    ErrorHelp(
        ("some elements of the input tensor and the written-to tensor refer to a single memory location",),
        "A part of a tensor is written with numbers of another part of it, which lies in the same memory: what is read"
        " would be written over while it is read.",
        (("Read from a copy.", "x[1:] = x[:-1].clone()"),),
    ),
    ErrorHelp(
        (
            "unscale_() is being called after step()",
            "unscale_() has already been called on this optimizer since the last update()",
            "step() has already been called since the last update()",
        ),
        "A GradScaler divides the gradients of an optimizer by its scale once between two calls of update(), which"
        " begins the next pass: update() was left out or not reached, or unscale_() or step() is called twice before.",
        (
            (
                "Call update() once, after the step() of each optimizer.",
                "scaler.unscale_(opt)   # where gradients are clipped\nscaler.step(opt)\nscaler.update()",
            ),
            (
                "Several backwards are to make one step: unscale after the last of them.",
                "if (i + 1) % 4 == 0:\n    scaler.unscale_(opt)\n    scaler.step(opt)\n    scaler.update()",
            ),
        ),
    ),
    ErrorHelp(
        ("No inf checks were recorded for this optimizer", "No inf checks were recorded prior to update"),
        "A GradScaler looks at the gradients of an optimizer before its step, and there was none: no parameter of the"
        " optimizer has a gradient, or update() was called without a step().",
        (
            ("Call backward() before step().", "scaler.scale(loss).backward()\nscaler.step(opt)\nscaler.update()"),
            ("Find out which parameters have no gradient, and why.", "gviz why train.py"),
        ),
    ),
    ErrorHelp(
        ("Attempting to unscale FP16 gradients",),
        "The parameters themselves are float16, and so are their gradients. A GradScaler is for parameters in float32,"
        " of which autocast makes float16 where that is safe.",
        (
            (
                "Keep the parameters in float32.",
                "net = Net()   # not: Net().half()\nwith torch.autocast('cuda', dtype=torch.float16):\n    y = net(x)",
            ),
        ),
    ),
)
"""All that gviz explains; of two that fit a text the one with the longer wording is meant."""

HEAD = re.compile(
    r"^\s*(?:E\s+|>\s+|[^\n'\"]+:\d+: )?(?:[\w.]*(?:Error|Warning|Exception))\b\s*:|Traceback \(most recent call last\)",
    re.MULTILINE,
)
"""What an error or a warning begins with, as Python and pytest print it; a warning has its place before it."""

QUESTION = re.compile(
    r"(?=.*\b(?:grad|gradients?|none|nan|null|zero|why|how|what)\b)(?=.*\w\s+\w)[\w\s.'?]+", re.IGNORECASE | re.DOTALL
)
"""Words about a gradient, and no formula."""

WORDS = re.compile(
    r"[A-Za-z']{2,}(?: +[A-Za-z']{2,}){3,}|^(?=[^=]*$)(?!.*(?:[+*^@]| [-/] )).*\b[A-Za-z]\w{2,},? +[A-Za-z]\w{2,}\b"
)
"""Four words in a row, or two where no formula is: no expression has them."""

MARKS = re.compile(r"\x1b\[[0-9;]*m|^[ \t]*(?:E|>|\|)[ \t]+", re.MULTILINE)
"""Colours, and what pytest and others put before each line."""


def letters_alone(text: str) -> str:
    """Return the letters of a text."""
    return re.sub(r"[^a-z]", "", MARKS.sub("", text).lower())


@cache
def patterns() -> tuple[tuple[int, re.Pattern[str], ErrorHelp], ...]:
    """Return the wordings as patterns of letters, the longest first."""
    rows = []
    for trouble in ERRORS:
        for text in trouble.texts:
            parts = [letters_alone(part) for part in text.split("...")]
            rows.append((len("".join(parts)), re.compile(".{0,80}?".join(filter(None, parts))), trouble))
    return tuple(sorted(rows, key=lambda item: -item[0]))


def help_in(text: str) -> ErrorHelp | None:
    """Return the error that a text speaks of.

    The last one of a traceback with several. None if gviz knows none in it.
    """
    plain = letters_alone(text)
    hits = [(match.end(), size, trouble) for size, pattern, trouble in patterns() for match in pattern.finditer(plain)]
    return max(hits, key=lambda item: item[:2])[2] if hits else None


def begins_as_an_error(text: str) -> bool:
    """Return whether one of the lines begins as Python prints an error."""
    return HEAD.search(text) is not None


def looks_like_an_error(text: str) -> bool:
    """Return whether a text is that of an error or a warning, known or not, or a question: no expression, and no name.

    >>> [looks_like_an_error(text) for text in ("RuntimeError: no", "y=(x+w)*(w+1)", "a leaf Variable that requires grad")]
    [True, False, True]
    """
    code = re.sub(r"#.*", "", text)
    return any((HEAD.search(code), WORDS.search(code), QUESTION.fullmatch(code), help_in(code)))


MOST_OF_A_TERM = 3
"""Words of a text that is a term rather than a sentence."""


def help_for(text: str) -> ErrorHelp:
    """Return what a text means.

    Raises:
        SourceError: gviz does not know it.
    """
    trouble = help_in(text)
    if trouble is None and QUESTION.fullmatch(text):
        hint = "gviz why SOURCE NAME says why the gradient of a tensor is None, zero or NaN; SOURCE may be a script"
        what = "is neither an expression, nor the name of an operation, nor the text of an error"
        raise SourceError(f"{excerpt(text.strip(), 60)!r} {what}", hint=hint)
    if trouble is None:
        last = next((line for line in reversed(text.splitlines()) if line.strip()), "")
        near = get_close_matches(
            letters_alone(last), [letters_alone(one) for each in ERRORS for one in each.texts], n=1
        )
        suggestion = next((one for each in ERRORS for one in each.texts if letters_alone(one) in near), "")
        hint = "it explains PyTorch's errors about autograd: paste the whole message, the last line of a traceback"
        if not begins_as_an_error(text) and len(text.split()) <= MOST_OF_A_TERM and not suggestion:
            hint = f"the words are {joined([word.names[0] for word in WORDS_OF_AUTOGRAD], 30)}"
            raise SourceError(f"gviz explains no word of that name: {excerpt(last.strip(), 60)}", hint=hint)
        hint = f"did you mean this one? {suggestion}" if suggestion else hint
        raise SourceError(f"gviz does not know this error: {excerpt(last.strip(), 60)}", hint=hint)
    return trouble
