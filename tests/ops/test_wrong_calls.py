"""Wrong calls are refused: by PyTorch's type of exception, with the function or the argument that is wrong."""

from __future__ import annotations

from typing import Any

import pytest
from tested import IS_GVIZ, torch

F: Any = torch.nn.functional
ABSENT = NotImplementedError
"""Raised for a dtype for which PyTorch has no kernel."""


def operands() -> dict[str, Any]:
    """The tensors that the calls below are made of."""
    f, image = torch.tensor([1.0, 2.0, 3.0]), torch.arange(384.0).reshape(2, 3, 8, 8)
    return {
        "torch": torch, "F": F, "f": f, "g": f.clone(), "i": torch.tensor([1, 2, 3]), "b": torch.tensor([True, False, True]),
        "d": f.double(), "m": torch.arange(12.0).reshape(3, 4), "image": image, "w": torch.ones(2, 3, 2, 2),
        "e": torch.zeros(0), "ix": torch.tensor([0, 2]), "far": torch.tensor([0, 7]), "two": torch.tensor([1.0, 2.0]),
        "one": torch.tensor(1.0),
    }  # fmt: skip


UNFIT = (
    "torch.where(m > 0, m)", "torch.where(m, None)", "torch.max(m, None)", "m.pow(None)", "torch.std(m, {})", "m.prod([1])",
    "m.prod(dtype=torch.tensor(1))", "torch.max(m, f, other=m)", "m.max(other=7)", "torch.var(m, [1], axis=0)",
    "m.lerp(True, 1.5)", "m.clamp(m, 1.5)", "m.squeeze(m)", "torch.where(m > 0, 1)", "torch.arange()",
)  # fmt: skip
"""Calls that fit none of several forms: all of them are listed."""

CALLS: list[tuple[str, type[Exception], str]] = [
    # integers and booleans where PyTorch has no kernel for them
    *(
        (f"F.{name}(i)", ABSENT, name)
        for name in ("leaky_relu", "silu", "mish", "hardswish", "hardsigmoid", "softplus")
    ),
    *(
        (f"F.{name}(i)", ABSENT, "Long")
        for name in ("gelu", "elu", "selu", "celu", "logsigmoid", "hardshrink", "softshrink", "rrelu")
    ),
    ("F.glu(i[:2])", ABSENT, "Long"),
    ("F.elu(i, inplace=True)", ABSENT, "Long"),
    ("F.threshold(b, 1, 0)", ABSENT, "threshold"),
    ("F.relu(b)", RuntimeError, "relu"),
    ("F.hardtanh(b)", RuntimeError, "hardtanh"),
    ("F.relu6(b)", RuntimeError, "hardtanh"),
    ("F.prelu(i, two[:1])", RuntimeError, "prelu"),
    ("F.prelu(f, d[:1])", RuntimeError, "prelu"),
    *(
        (f"torch.{name}(b)", ABSENT, name)
        for name in ("abs", "floor", "ceil", "trunc", "round", "frac", "median", "bincount")
    ),
    *((f"torch.{name}(b, b)", ABSENT, name) for name in ("remainder", "fmod", "pow", "hypot", "logaddexp", "dot")),
    ("abs(b)", ABSENT, "abs"),
    ("f & g", ABSENT, "\"bitwise_and_cpu\" not implemented for 'Float'"),
    ("torch.bitwise_not(f)", ABSENT, "\"bitwise_not_cpu\" not implemented for 'Float'"),
    ("f.cuda()", AssertionError, "Torch not compiled with CUDA enabled"),
    ("b.abs_()", ABSENT, "abs"),
    ("b // b", ABSENT, "floor"),
    ("b % b", ABSENT, "remainder"),
    ("b ** b", ABSENT, "pow"),
    ("torch.div(b, b, rounding_mode='trunc')", ABSENT, "trunc"),
    ("-b", RuntimeError, "Negation"),
    ("b - b", RuntimeError, "Subtraction"),
    ("torch.frac(i)", ABSENT, "frac"),
    ("torch.round(i, decimals=1)", ABSENT, "round"),
    ("torch.lerp(i, i, 0.5)", ABSENT, "lerp"),
    ("torch.lerp(f, d, 0.5)", RuntimeError, "end"),
    ("torch.addcmul(b, b, b)", ABSENT, "addcmul"),
    ("f.addcdiv_(i, i)", RuntimeError, "addcdiv"),
    ("torch.logcumsumexp(i, 0)", ABSENT, "logcumsumexp"),
    ("torch.kthvalue(b, 1)", ABSENT, "kthvalue"),
    ("torch.topk(b, 1)", RuntimeError, "topk"),
    ("torch.bincount(f)", ABSENT, "bincount"),
    ("torch.mm(b[None], b[:, None])", ABSENT, "Bool"),
    ("torch.multinomial(i, 1)", RuntimeError, "multinomial"),
    ("torch.heaviside(f, d)", RuntimeError, "heaviside"),
    ("F.mse_loss(i, i)", ABSENT, "mse"),
    ("F.smooth_l1_loss(i, i)", ABSENT, "smooth_l1"),
    ("F.max_pool2d(image > 1, 2)", ABSENT, "max_pool2d"),
    ("F.avg_pool2d(image.byte(), 2)", ABSENT, "avg_pool2d"),
    ("F.adaptive_avg_pool2d(image.long(), 2)", ABSENT, "adaptive_avg_pool2d"),
    ("F.interpolate(image.long(), 2)", ABSENT, "nearest2d"),
    # options that no kernel takes
    ("F.gelu(f, approximate='foo')", RuntimeError, "approximate"),
    ("F.gelu(f, 'tanh')", TypeError, "gelu"),
    ("F.hardtanh(f, 1, -1)", ValueError, "min_val"),
    ("F.softshrink(f, -1)", RuntimeError, "range"),
    ("F.rrelu(f, 0.5, 0.1)", RuntimeError, "Lower bound"),
    ("F.max_pool2d(image, 0)", RuntimeError, "greater than zero"),
    ("F.avg_pool2d(image, 0)", RuntimeError, "greater than zero"),
    ("F.max_pool2d(image, 2, padding=-1)", RuntimeError, "pad"),
    ("F.max_pool2d(image, 2, dilation=0)", RuntimeError, "dilation"),
    ("F.avg_pool2d(image, 2, divisor_override=0)", RuntimeError, "divisor"),
    ("F.adaptive_avg_pool2d(image, -1)", RuntimeError, "adaptive_avg_pool2d"),
    ("F.interpolate(image, 0)", RuntimeError, "greater than 0"),
    ("F.conv2d(image, w, padding='foo')", RuntimeError, "padding"),
    ("F.conv2d(image, w, groups=0)", RuntimeError, "groups"),
    ("F.layer_norm(m, ())", RuntimeError, "normalized_shape"),
    ("F.layer_norm(m, 4)", TypeError, "normalized_shape"),
    ("F.layer_norm(m, (4.0,))", TypeError, "normalized_shape"),
    ("F.rms_norm(m, 'a')", TypeError, "normalized_shape"),
    ("F.pad(f, 1)", TypeError, "pad"),
    ("F.pad(f, 'a')", TypeError, "pad"),
    ("F.smooth_l1_loss(f, f, beta=-1)", RuntimeError, "beta"),
    ("F.huber_loss(f, f, delta=0)", RuntimeError, "delta"),
    ("F.nll_loss(f, i)", ValueError, "target"),
    ("F.nll_loss(m, i, weight=torch.ones(4, dtype=torch.float64))", RuntimeError, "Double"),
    ("F.pixel_shuffle(image, 0)", RuntimeError, "pixel_shuffle"),
    ("torch.cdist(m, m, p=-1)", RuntimeError, "p"),
    ("torch.diff(f, n=-1)", RuntimeError, "order"),
    ("torch.linalg.solve(m[:, :3], d)", RuntimeError, "linalg.solve"),
    ("f.exponential_(-1)", RuntimeError, "lambda"),
    ("f.unfold(0, 2, 0)", RuntimeError, "step"),
    ("f.unfold(0, 2, -1)", RuntimeError, "step"),
    ("torch.diff(one)", RuntimeError, "diff"),
    ("torch.repeat_interleave(f, 2.0)", TypeError, "repeat"),
    ("m.split([1, -1, 3])", RuntimeError, "split"),
    ("f.repeat(-1)", RuntimeError, "negative"),
    ("torch.movedim(m, (0, 1), (0,))", RuntimeError, "movedim"),
    ("torch.tensor_split(f, 0)", RuntimeError, "sections"),
    ("torch.vsplit(f, 3)", RuntimeError, "vsplit"),
    ("torch.hsplit(m, 0)", RuntimeError, "hsplit"),
    ("torch.reshape(m, 3, 4)", TypeError, "reshape"),
    ("pow(f, 2, 3)", TypeError, ""),
    # calls that fit no form, or none of several
    ("torch.exp()", TypeError, "input"),
    ("torch.sin(3.0)", TypeError, "input"),
    ("torch.exp(2)", TypeError, "exp(): argument 'input' (position 1) must be Tensor, not int"),
    ("torch.transpose(m)", TypeError, 'transpose() missing 2 required positional argument: "dim0", "dim1"'),
    ("torch.exp(f, foo=3)", TypeError, "exp() got an unexpected keyword argument 'foo'"),
    ("torch.cat([f, 1])", TypeError, "expected Tensor as element 1 in argument 0, but got int"),
    ("F.selu_(f, 0, -9)", TypeError, "selu_() takes 1 positional argument but 3 were given"),
    ("f.backward(foo=1)", TypeError, "Tensor.backward() got an unexpected keyword argument 'foo'"),
    ("torch.nn.ReLU()(3.0)", TypeError, "relu(): argument 'input' (position 1) must be Tensor, not float"),
    *((call, TypeError, "() received an invalid combination of arguments - got (") for call in UNFIT),
    # things that are not tensors, and lists that are empty
    ("torch.meshgrid(1, 2)", TypeError, "element 0"),
    ("torch.meshgrid([f, 2])", TypeError, "element 1"),
    ("torch.meshgrid(f, m)", RuntimeError, "meshgrid"),
    ("torch.meshgrid(f, f, indexing='foo')", RuntimeError, "indexing"),
    ("torch.atleast_1d(1)", TypeError, "atleast_1d"),
    ("torch.atleast_2d([f, 1])", TypeError, "element 1"),
    ("torch.broadcast_tensors(f, 2)", TypeError, "element 1"),
    ("torch.broadcast_tensors([f, f])", TypeError, "element 0"),
    *((f"torch.{name}([])", RuntimeError, name) for name in ("hstack", "vstack", "dstack", "column_stack")),
    ("torch.mode(e)", IndexError, "mode"),
    ("torch.kthvalue(e, 1)", IndexError, "kthvalue"),
    ("torch.quantile(e, 0.5)", RuntimeError, ""),
    # places that do not exist, or are told by numbers of another dtype
    ("f.index_add_(0, far, two)", IndexError, "out of range"),
    ("f.index_add_(0, ix.float(), two)", RuntimeError, "index"),
    ("f.index_add_(0, ix, two.double())", RuntimeError, "index_add_"),
    ("f.index_copy_(0, far, two)", IndexError, "out of range"),
    ("f.index_copy_(0, ix, two.double())", RuntimeError, "index_copy_"),
    ("f.index_copy_(0, ix, one)", IndexError, "index_copy_"),
    ("f.index_fill_(0, far, 1.0)", IndexError, "index"),
    ("f.index_fill_(0, ix.float(), 1.0)", IndexError, "index_fill_"),
    ("f.index_fill_(0, ix.int(), 1.0)", IndexError, "index_fill_"),
    ("f.put_(far, two)", IndexError, "out of range"),
    ("f.put_(ix.float(), two)", RuntimeError, "put_"),
    ("f.put_(ix.int(), two)", RuntimeError, "put_"),
    ("torch.take(f, far)", IndexError, "out of range"),
    ("f.scatter_(0, far, g)", RuntimeError, "out of bounds"),
    ("f.scatter_(0, ix.float(), g)", RuntimeError, "scatter"),
    ("f.scatter_(0, ix, d)", RuntimeError, "scatter"),
    ("f.scatter_add_(0, far, g)", RuntimeError, "out of bounds"),
    ("torch.gather(f, 0, far)", RuntimeError, "out of bounds"),
    ("f.__delitem__(0)", TypeError, "deleting"),
    ("torch.where(i, f, f)", RuntimeError, "condition"),
]


@pytest.mark.parametrize(("call", "error", "word"), [pytest.param(*case, id=case[0]) for case in CALLS])
def test_a_wrong_call_is_refused_by_its_type_and_names_what_is_wrong(
    call: str, error: type[Exception], word: str
) -> None:
    with pytest.raises(error) as caught:
        eval(call, operands())  # noqa: S307 - the table's own
    assert caught.type is error
    assert word in str(caught.value) or not IS_GVIZ


@pytest.mark.skipif(not IS_GVIZ, reason="PyTorch has it")
def test_attention_of_grouped_queries_is_refused_with_the_way_to_the_real_pytorch() -> None:
    q = torch.ones(1, 2, 3, 4)
    with pytest.raises(NotImplementedError, match="enable_gqa is not in gviz's engine; run with --engine torch"):
        torch.nn.functional.scaled_dot_product_attention(q, q, q, enable_gqa=True)
