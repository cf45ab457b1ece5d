"""More random statements for the programs of ``torch_parity.py``: what is told of a graph rather than computed.

Hooks, retained gradients, higher derivatives, custom Functions, modules, anomaly mode, printing, and calls that are wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch_parity import Program

HOOKS = ("lambda g: g * 2", "lambda g: None", "lambda g: log.append(g.tolist())", "lambda g: g.clone().fill_(1)",
         "lambda g: torch.zeros_like(g)", "lambda g: g.sum()", "lambda g: 3", "lambda g: g.double()")  # fmt: skip
NODE_HOOKS = ("lambda i, o: log.append((len(i), [None if g is None else g.tolist() for g in o]))", "lambda i, o: None",
              "lambda i, o: tuple(None if g is None else g * 2 for g in i)", "lambda i, o: i[:1]")  # fmt: skip
ODDITIES = ("'a'", "None", "1.5", "[1]", "['a']", "(0, 'a')", "True", "{}", "torch.float32", "-1", "7", "[]", "b'1'",
            "torch.tensor(1)", "torch.tensor(0.5)", "slice(1)")  # fmt: skip
CAREFUL = ("sum", "mean", "max", "min", "softmax", "cat", "stack", "reshape", "transpose", "permute", "squeeze", "unsqueeze",
           "flatten", "clamp", "where", "argmax", "cumsum", "prod", "var", "std", "gather", "index_select", "masked_fill",
           "norm", "sort", "topk", "split", "chunk", "roll", "flip", "tril", "diag", "outer", "matmul", "mm", "bmm", "dot",
           "zeros_like", "full_like", "lerp", "addmm", "logsumexp", "pow", "div", "where", "select", "narrow",
           "any", "all", "amax", "broadcast_to", "nan_to_num")  # fmt: skip
WORDS = (
    "dim",
    "keepdim",
    "axis",
    "keepdims",
    "dtype",
    "foo",
    "out",
    "input",
    "other",
    "min",
    "max",
    "n",
    "size",
    "alpha",
)


def hook(p: Program) -> None:
    x = p.a_float()
    kind = p.random.randrange(7)
    p.count += 1
    if kind <= 1:
        p.do(f"h{p.count} = {x}.register_hook({p.one_of(*HOOKS)})")
    elif kind == 2:
        p.do(
            f"{x}.register_post_accumulate_grad_hook(lambda t: {p.one_of('log.append(t.grad.tolist())', 't.grad.zero_()')})"
        )
    elif kind == 3:
        p.do(f"h{p.count} = {x}.grad_fn.register_hook({p.one_of(*NODE_HOOKS)})")
    elif kind == 4:
        given = p.one_of("log.append([g.tolist() for g in o])", "tuple(g * 3 for g in o)", "None")
        p.do(f"h{p.count} = {x}.grad_fn.register_prehook(lambda o: {given})")
    elif kind == 5:
        p.do(f"{x}.retain_grad()")
    else:
        handles = [name for name in p.theirs if name[0] == "h"]
        if handles:
            p.do(f"{p.one_of(*handles)}.remove()")


def write_a_view(p: Program) -> None:
    x = p.a_float()
    p.count += 1
    name = f"w{p.count}"
    views = (f"{x}[0]", f"{x}[..., 0]", f"{x}.view(-1)", f"{x}.t()", f"{x}.detach()", f"{x}[:1]", f"{x}.unsqueeze(0)",
             f"{x}.data", f"{x}.unbind()[0]", f"{x}.split(1)[0]", f"{x}.diagonal()", f"{x}.expand(2, *{x}.shape)")  # fmt: skip
    if p.do(f"{name} = {p.one_of(*views)}"):
        y = p.one_of("2", "0.5", p.a_float(), x)
        p.do(p.one_of(f"{name}.mul_({y})", f"{name}.add_({y})", f"{name}.zero_()", f"{name}[...] = {y}", f"{name}.copy_({x})",
                      f"{name} *= {y}", f"{name}.exp_()", f"{name}.clamp_(min=0.5)"))  # fmt: skip


def derivative(p: Program) -> None:
    x, y = p.a_float(), p.a_float()
    p.count += 1
    name = f"g{p.count}"
    options = ", ".join({p.one_of("create_graph=True", "retain_graph=True", "allow_unused=True", "materialize_grads=True",
                                  "create_graph=True, allow_unused=True", f"grad_outputs=torch.ones_like({x})",
                                  f"grad_outputs=[{p.one_of('None', y)}]") for _ in range(2)})  # fmt: skip
    options = options.replace("create_graph=True, create_graph=True", "create_graph=True")
    root = p.one_of(x, f"{x}.sum()", f"({x} * {x}).sum()", f"({x} * {y}).sum()", f"[{x}, {y}]")
    if p.do(f"{name} = torch.autograd.grad({root}, {p.one_of(y, f'[{x}, {y}]', f'({y},)', '[]')}, {options})"):
        for i, grad in enumerate(p.theirs[name]):
            if grad is not None and grad.requires_grad and p.chance(0.5):
                p.do(f"{name}[{i}].sum().backward({p.one_of('', 'retain_graph=True')})")


def function(p: Program) -> None:
    p.count += 1
    name = f"F{p.count}"
    x, y = p.a_float(), p.a_float()
    keep = p.one_of("ctx.save_for_backward(a, b)", "ctx.a, ctx.b = a, b", "ctx.save_for_backward(a); ctx.b = b",
                    "ctx.mark_non_differentiable(a)", "ctx.set_materialize_grads(False)", "ctx.mark_dirty(a)",
                    "pass")  # fmt: skip
    result = p.one_of("a * b", "a + b", "(a * b).detach()", "a", "(a * 2, b)", "a.sum()", "a.view(-1)", "3", "None")
    back = p.one_of("g, g", "g * 2, None", "g", "g, g, g", "g, None, None", "g.sum(), g", "3, g",
                    "g * ctx.saved_tensors[0], g", "log.append(str(g)), g", "(g, ctx.needs_input_grad[1] and g)")  # fmt: skip
    p.do(
        f"class {name}(torch.autograd.Function):\n"
        f"    @staticmethod\n    def forward(ctx, a, b):\n        {keep}\n        return {result}\n"
        f"    @staticmethod\n    def backward(ctx, g{p.one_of('', '', '', ', h=None', ', *rest')}):\n        return {back}"
    )
    made = p.new(f"{name}.apply({x}, {y if y != x else 2})")
    if made:
        p.do(f"{made}.sum().backward({p.one_of('', 'create_graph=True', 'retain_graph=True')})")


def module(p: Program) -> None:
    p.count += 1
    name = f"m{p.count}"
    kinds = ("nn.Linear(3, 2)", "nn.Sequential(nn.Linear(3, 2), nn.ReLU())", "nn.Linear(3, 1, bias=False)", "nn.Tanh()",
             "nn.LayerNorm(3)", "nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5), nn.Linear(3, 1))",
             "nn.Softmax(dim=-1)")  # fmt: skip
    p.do(f"nn = torch.nn; torch.manual_seed({p.random.randrange(9)}); {name} = {p.one_of(*kinds)}")
    for _ in range(p.random.randrange(3)):
        p.do(f"{name}." + str(p.one_of(
            "register_forward_hook(lambda m, i, o: log.append((type(m).__name__, len(i), o.tolist())))",
            "register_forward_hook(lambda m, i, o: o * 2)",
            "register_forward_pre_hook(lambda m, i: (i[0] + 1,))",
            "register_forward_pre_hook(lambda m, i: log.append(i[0].tolist()))",
            "requires_grad_(False)", "eval()", "double()", "zero_grad()",
        )))  # fmt: skip
    x = p.leaf((2, 3), "torch.float32") if p.chance(0.8) else p.a_tensor()
    made = p.new(f"{name}({x})")
    p.do(f"v = (repr({name}), [n for n, _ in {name}.named_parameters()])")
    if made:
        p.do(f"{made}.sum().backward()")
        p.do(f"v = [None if q.grad is None else q.grad.tolist() for q in {name}.parameters()]")


def anomaly(p: Program) -> None:
    x = p.a_float()
    strange = p.one_of(f"({x} - {x}).sqrt()", f"({x} * 0).log() * 0", f"torch.sqrt({x} * -1)", f"{x} / ({x} - {x})", f"{x} * 2",
                       f"({x} * float('inf')).exp()", f"torch.where({x} > 0, {x}, ({x} * 0).sqrt())")  # fmt: skip
    mode = p.one_of(
        "detect_anomaly()", "set_detect_anomaly(True)", "detect_anomaly(check_nan=False)", "set_detect_anomaly(False)"
    )
    p.do(f"with torch.autograd.{mode}:\n    y = {strange}\n    y.sum().backward()")


def printing(p: Program) -> None:
    kind = p.random.randrange(6)
    scale = p.one_of("1", "1e-3", "1e5", "1e10", "1e-8", "float('inf')", "float('nan')", "0")
    x = p.a_tensor()
    if kind == 0:
        p.do(f"v = (repr({x}), str({x} * 1))")
    elif kind == 1:
        p.do(f"v = repr({x} * {scale})")
    elif kind == 2:
        size = p.one_of(
            "(3, 4)", "(1200,)", "(40, 40)", "(2, 0, 3)", "(7,)", "(25,)", "(2, 2, 2, 2)", "(1, 30)", "(1100, 2)"
        )
        p.do(f"v = str(torch.arange(float(np.prod({size}))).reshape({size}) * {scale})")
    elif kind == 3:
        dtype = p.one_of("float16", "float64", "int8", "uint8", "bool", "int32", "float32", "complex64", "complex128")
        p.do(f"v = repr({x}.detach().to(torch.{dtype}))")
    elif kind == 4:
        p.do(
            "v = f'" + str(p.one_of("{%s}", "{%s!r}", "{%s:.2f}", "{%s.shape}", "{%s.dtype}", "{%s.size()}")) % x + "'"
        )
    else:
        p.do(
            f"v = str([{x}, {p.a_tensor()}]) + str({x}.max(0))"
            if p.chance(0.5)
            else f"v = str({x}.shape) + str({x}.sum())"
        )


def wrong(p: Program) -> None:
    x = p.a_tensor()
    name = p.one_of(*CAREFUL)
    args = [p.one_of(*ODDITIES, x, p.a_tensor()) for _ in range(p.random.randrange(4))]
    words = [f"{p.one_of(*WORDS)}={p.one_of(*ODDITIES, x)}"] if p.chance(0.3) else []
    call = (
        f"torch.{name}({', '.join([x, *args, *words])})"
        if p.chance(0.5)
        else f"{x}.{name}({', '.join([*args, *words])})"
    )
    p.do("v = str(type(" + call + ").__name__)")


def edge(p: Program) -> None:
    x, y = p.a_float(), p.a_float()
    p.count += 1
    name = f"e{p.count}"
    if not p.do(f"{name} = torch.autograd.graph.get_gradient_edge({x})"):
        return
    ones = p.one_of(f"torch.ones_like({x})", f"torch.ones_like({x})", f"torch.ones_like({y})", "None")
    p.do(str(p.one_of(
        f"torch.autograd.backward({name}, {ones}, retain_graph=True)",
        f"g{p.count} = torch.autograd.grad({name}, {y}, {ones}, retain_graph=True, allow_unused=True)",
        f"g{p.count} = torch.autograd.grad([{name}, {y}], [{y}, {x}], [{ones}, torch.ones_like({y})], allow_unused=True)",
        f"g{p.count} = torch.autograd.grad({y}.sum(), {name}, retain_graph=True, allow_unused=True)",
        f"torch.autograd.backward({y}.sum(), inputs=[{name}], retain_graph=True)",
    )))  # fmt: skip


def inference(p: Program) -> None:
    x = p.a_tensor(lambda t: t.dtype.is_floating_point and not t.is_inference())
    p.count += 1
    name = f"w{p.count}"
    made = p.one_of(
        f"{x}[:1]", f"{x}.view(-1)", f"{x} * 2", f"{x}.detach()", f"{x}.t()", f"{x}.clone()", "torch.ones(2)"
    )
    manager = p.one_of("inference_mode", "inference_mode", "no_grad")
    inside = p.one_of("pass", f"{name}.mul_(2)", f"{x}.add_(1)", f"{name} = {name}.view(-1)")
    p.do(f"with torch.{manager}():\n    {name} = {made}\n    {inside}")
    p.do(f"v = ({name}.is_inference(), {name}._is_view(), {name}.requires_grad)")
    if name in p.theirs and not p.theirs[name].is_inference():  # PyTorch writes those and then refuses to
        p.do(str(p.one_of(f"{name}.mul_(3)", f"{x}.mul_(3)", f"with torch.no_grad(): {name}.add_(1)")))
    p.do(
        str(
            p.one_of(
                f"v = ({name} * 2).requires_grad",
                f"v = {name}.unsqueeze(0)._is_view()",
                f"v = {name}.detach().is_inference()",
            )
        )
    )


def write_what_is_saved(p: Program) -> None:
    x = p.a_float()
    value = p.one_of(f"{x}.exp()", f"{x} * {x}", f"{x}.clone().sigmoid()", f"{x}.clone() ** 2")
    write = p.one_of("y.mul_(2)", "y.zero_()", "y[...] = 3", "y.view(-1).add_(1)", "y.detach().add_(1)", "y.exp_()")
    p.do(
        f"with torch.autograd.graph.allow_mutation_on_saved_tensors():\n    y = {value}\n    z = y * y\n    {write}\n"
        f"    (z.sum() + {p.one_of('0', 'y.sum()', '(y * y).sum()')}).backward()"
    )


TOPICS: dict[str, tuple[Any, ...]] = {
    "hooks": (hook, hook, hook, write_a_view),
    "views": (write_a_view,),
    "derivatives": (derivative, hook),
    "functions": (function,),
    "edges": (edge, edge, hook, inference, write_what_is_saved),
    "modules": (module,),
    "anomaly": (anomaly,),
    "printing": (printing,),
    "wrong": (wrong,),
}
