"""Layers on gviz's engine and on real PyTorch, statement by statement: texts, states, results, graphs, refusals."""

from __future__ import annotations

import pytest
from torch_parity import Program

from gviz import engine

LAYERS: dict[str, tuple[tuple[int, ...], ...]] = {
    "Linear(2, 3)": ((4, 2),),
    "Linear(2, 3, bias=False, dtype=torch.float64)": (),
    "Bilinear(2, 3, 2)": ((4, 2), (4, 3)),
    "Bilinear(2, 3, 2, bias=False)": ((4, 2), (4, 3)),
    "PReLU()": ((2, 3),),
    "PReLU(3, init=0.5)": ((2, 3),),
    "Upsample(scale_factor=2, mode='bilinear', align_corners=True)": ((1, 2, 3, 3),),
    "Upsample((4, 5))": ((1, 2, 3, 3),),
    "Embedding(4, 3, padding_idx=-1)": (),
    "Embedding(4, 3, scale_grad_by_freq=True)": (),
    "Embedding(4, 3, max_norm=0.5, norm_type=1.0)": (),
    "UpsamplingNearest2d(scale_factor=2)": ((1, 2, 3, 3),),
    "UpsamplingBilinear2d((4, 5))": ((1, 2, 3, 3),),
    "Conv1d(4, 2, 3, padding='same', groups=2)": ((2, 4, 5),),
    "Conv2d(2, 3, (2, 3), 2, 1, bias=False)": ((2, 2, 5, 5),),
    "Conv2d(2, 3, 3, padding=1, dilation=2, padding_mode='circular')": ((2, 2, 5, 5),),
    "Conv3d(1, 2, 2)": ((1, 1, 3, 3, 3),),
    "Conv2d(3, 2, 1, groups=2)": (),
    "Conv2d(2, 3, 1, groups=2)": (),
    "ConvTranspose1d(2, 3, 3, 2, 1, 1)": ((1, 2, 4),),
    "ConvTranspose2d(2, 4, 3, 2, 1, 1, 2, False, 1)": ((1, 2, 3, 3),),
    "ConvTranspose2d(2, 4, 3, padding_mode='reflect')": (),
    "ConvTranspose3d(2, 1, 2, 2)": ((1, 2, 2, 2, 2),),
    "LayerNorm(3)": ((2, 3),),
    "LayerNorm((2, 3), 1e-3, bias=False)": ((2, 2, 3),),
    "LayerNorm([3], elementwise_affine=False)": ((2, 3),),
    "RMSNorm(3)": ((2, 3),),
    "RMSNorm((2, 3), 1e-3, False)": ((2, 2, 3),),
    "GroupNorm(2, 4)": ((2, 4, 3),),
    "GroupNorm(2, 4, affine=False)": ((2, 4, 3),),
    "GroupNorm(2, 3)": (),
    "BatchNorm1d(3)": ((4, 3),),
    "BatchNorm1d(3, affine=False, momentum=None)": ((4, 3, 2),),
    "BatchNorm2d(3, 1e-3, 0.2, track_running_stats=False)": ((2, 3, 2, 2),),
    "BatchNorm3d(2)": ((2, 2, 2, 2, 2),),
    "BatchNorm2d(2)": ((2, 2),),
    "InstanceNorm1d(3)": ((2, 3, 4),),
    "InstanceNorm2d(3, affine=True, track_running_stats=True)": ((2, 3, 2, 2),),
    "InstanceNorm3d(2)": ((2, 2, 2, 2, 2),),
    "RNNCell(2, 3)": ((4, 2),),
    "RNNCell(2, 3, False, 'relu')": ((4, 2), (4, 3)),
    "LSTMCell(2, 3)": ((4, 2),),
    "GRUCell(2, 3)": ((4, 2), (4, 3)),
    "RNN(2, 3, 2, 'relu', bidirectional=True)": ((4, 2, 2),),
    "RNN(2, 3, nonlinearity='no')": (),
    "GRU(2, 3, batch_first=True, bias=False)": ((2, 4, 2),),
    "Identity(1, 2, a=3)": ((2,),),
    "CrossEntropyLoss(label_smoothing=0.1)": (),
    "MaxPool2d(2, 1, return_indices=True)": ((1, 2, 3, 3),),
    "AvgPool1d(2)": ((2, 4, 4),),
    "AdaptiveAvgPool2d((2, None))": ((1, 2, 3, 3),),
    "MaxPool3d(2, 1, 1, return_indices=True)": ((1, 2, 3, 3, 3),),
    "AvgPool3d(2, divisor_override=3)": ((1, 2, 4, 4, 4),),
    "LocalResponseNorm(2)": ((1, 3, 4),),
    "LocalResponseNorm(3, 0.1, 0.5, 2.0)": ((1, 4, 2, 2),),
    "ZeroPad2d(1)": ((1, 2, 2),),
    "ReflectionPad1d((1, 2))": ((2, 3, 4),),
    "Unflatten(1, (2, 2))": ((2, 4),),
    "Dropout(0.3, True)": ((4, 4),),
    "Dropout2d(1.5)": (),
}
"""Each layer -> the shapes of its inputs, where it is called."""


def both() -> Program:
    """A program on both engines."""
    return Program(pytest.importorskip("torch"), engine, 0)


@pytest.mark.torch
@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_is_made_shown_kept_and_called_as_in_pytorch(layer: str) -> None:
    p = both()
    p.do("torch.manual_seed(3) and None")
    if not p.do(f"net = torch.nn.{layer}"):
        return
    p.do("text, names, values = repr(net), list(net.state_dict()), list(net.state_dict().values())")
    inputs = [p.new(f"torch.randn({shape}).mul_(2).requires_grad_()") for shape in LAYERS[layer]]
    for training in ("True", "False") if inputs else ():
        p.do(f"_ = net.train({training})")
        if p.do(f"out = net({', '.join(map(str, inputs))})"):
            p.do("out = out if isinstance(out, tuple) else (out,)")
            p.do("_ = sum((o * o).sum() for o in out if o.requires_grad)")
            p.do("_.backward() if _ is not 0 and _.requires_grad else None")
            p.do("gradients = [w.grad for w in net.parameters()]")


NAMES = sorted(
    {layer.split("(")[0] for layer in LAYERS} | {"ReLU", "Threshold", "Softmax", "MSELoss", "Fold", "ConstantPad2d"}
)


@pytest.mark.parametrize("name", [n for n in NAMES if n != "Identity"])
def test_options_that_a_layer_does_not_have_are_refused_with_its_name(name: str) -> None:
    layer = getattr(engine.nn, name)
    with pytest.raises(TypeError, match=rf"^{name}\.__init__\(\) got an unexpected keyword argument 'foo'$"):
        layer(1, 1, 1, foo=3)
    with pytest.raises(TypeError, match=rf"^{name}\.__init__\(\) takes .* but 40 .*were given$"):
        layer(*range(1, 40))


INPUTS = ("", "x, x, x, x, x", "foo=x", "x, foo=x", "input=x", "x, target=x", "x, x, x, var=x")
FORWARD = (
    "ReLU()", "Softmax(1)", "MSELoss()", "CrossEntropyLoss()", "MaxPool2d(2)", "Flatten()", "Dropout(0.5)",
    "CosineSimilarity()", "TripletMarginLoss()", "GaussianNLLLoss()", "PoissonNLLLoss()",
    "Linear(2, 2)", "LayerNorm(2)", "Identity()", "Embedding(2, 2)",
)  # fmt: skip


@pytest.mark.torch
@pytest.mark.parametrize("layer", FORWARD)
def test_a_layer_takes_its_inputs_by_name_and_refuses_others_in_the_words_of_pytorch(layer: str) -> None:
    p = both()
    p.do("torch.manual_seed(3) and None")
    p.do("x = torch.ones(2, 2)")
    p.do(f"net = torch.nn.{layer}")
    for inputs in INPUTS:
        p.do(f"y = net({inputs})")


OPTIMIZERS = (
    "SGD(g)", "SGD(g, 0.1, 0.9, nesterov=True, weight_decay=0.1)", "SGD(g, momentum=0.9, dampening=0.5, maximize=True)",
    "SGD(g, nesterov=True)", "SGD(g, -1)", "SGD(g, momentum=-1)", "SGD()", "SGD(g, rate=1)", "SGD(g, 1, 2, 3, 4, 5, 6, 7)",
    "Adam(g)", "Adam(g, 0.1, weight_decay=0.1, amsgrad=True)", "Adam(g, betas=(0.9, 1.5))", "Adam(g, eps=-1)",
    "Adam(g, weight_decay=0.1, decoupled_weight_decay=True)", "AdamW(g, 0.1, maximize=True)", "AdamW(g, betas=(-0.1, 0.9))",
    "RMSprop(g)", "RMSprop(g, 0.1, 0.9, 1e-3, 0.1, 0.5, True)", "RMSprop(g, alpha=-1)", "Adagrad(g)",
    "Adagrad(g, 0.1, 0.1, 0.1, 0.5)", "Adagrad(g, initial_accumulator_value=-1)",
    "Adagrad([{'params': g, 'lr': 0.5}], eps=0.1)",
)  # fmt: skip


TURNED = "torch.nn.ConvTranspose2d(1, 1, 3, 2, 1, dilation=2)(x[None])"
CALLED = (
    TURNED, TURNED.replace("])", "], [7, 10])"), TURNED.replace("])", "], output_size=(1, 7, 10))"),
    TURNED.replace("[None])", "[None, None], (7, 20))"),
    "torch.nn.Embedding(5, 3, max_norm=0.5, _weight=torch.arange(15.0).view(5, 3))(torch.tensor([1, 1, 3]))",
    "F.gumbel_softmax(x, 0.5)", "F.gumbel_softmax(x, hard=True, eps=1)", "F.gumbel_softmax(x, hard=True, dim=0)",
    "F.dropout(x, 1.0)", "F.max_pool1d(x, 2, return_indices=True)[0]", "F.adaptive_max_pool1d(x, 2, True)[1]",
    "F.max_pool2d(x[None], 2, return_indices=True)[1]", "F.local_response_norm(x[None], 2)",
    "F.avg_pool3d(x.view(1, 1, 3, 2, 2), 2)", "F.max_pool3d(x, 2)",
    "F.cross_entropy(x, torch.tensor([3, 0, 1]), torch.ones(4), label_smoothing=0.1)",
    "F.cross_entropy(x, x.detach().softmax(1))",
    "F.cross_entropy(x, torch.tensor([3, 0]))", "F.nll_loss(x, torch.tensor([3.0, 0.0, 1.0]))",
    "F.cross_entropy(x, torch.tensor([3, 0, 1]), size_average=False)", "F.mse_loss(x, x[0].detach(), reduce=False)",
    "F.poisson_nll_loss(x, x.detach().abs(), full=True)", "F.triplet_margin_loss(x, x * 2, x.detach(), swap=True)",
    "F.cosine_embedding_loss(x, x.detach() * 2, torch.tensor([1, -1, 1]), 0.5)", "F.cosine_similarity(x, x[0], dim=-1)",
    "F.rms_norm(x, (4,), x[0])", "F.instance_norm(x[None])", "F.scaled_dot_product_attention(x, x, x, is_causal=True)",
    "F.interpolate(x[None], scale_factor=2, mode='bilinear')", "F.conv1d(x, torch.ones(2, 3, 2), padding='same')",
)  # fmt: skip


@pytest.mark.torch
@pytest.mark.parametrize("call", CALLED)
def test_a_function_gives_the_numbers_and_the_graph_of_pytorch(call: str) -> None:
    p = both()
    p.do("F = torch.nn.functional")
    p.do("x = torch.tensor([[1.0, -2.0, 0.5, 3.0], [0.0, 1.5, -1.0, 2.0], [2.5, 1.0, 1.0, -0.5]]).requires_grad_()")
    p.do("torch.manual_seed(3) and None")
    if p.do(f"y = {call}") and p.do("y = y * 2 if y.requires_grad else y"):
        p.do("torch.autograd.grad(y.sum(), x) if y.requires_grad else None")
        p.do("g = torch.autograd.grad(y.sum(), x, create_graph=True)[0] if y.requires_grad else None")


@pytest.mark.torch
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_an_optimizer_steps_and_keeps_its_state_as_in_pytorch(optimizer: str) -> None:
    p = both()
    leaves = ("[1.0, -2.0]", "[[0.5]]")  # a name with g: how often it was written is PyTorch's own business
    p.do(f"g = [{', '.join(f'torch.tensor({v}, dtype=torch.float64, requires_grad=True)' for v in leaves)}]")
    if not p.do(f"o = torch.optim.{optimizer}"):
        return
    p.do("text, groups = repr(o), [[k, v] for g in o.param_groups for k, v in g.items() if k != 'params']")
    for _ in range(3):
        p.do("o.zero_grad()")
        p.do("(g[0] ** 3).sum().backward()")
        p.do("o.step()")
        p.do("g_state = [[i, [[k, v] for k, v in s.items()]] for i, s in o.state_dict()['state'].items()]")


NETS = """
class Two(torch.nn.Module):
    def forward(self, a, b=2, c=None):
        return a * b if c is None else (a * b, 'text', c + 1)
class Late(torch.nn.Module):
    def __init__(self):
        self.layer = torch.nn.Linear(1, 1)
net, line = Two(), torch.nn.Linear(2, 2)
def note(*values):
    log.append([v.tolist() if isinstance(v, torch.Tensor) else [None if g is None else g.tolist() for g in v]
                if isinstance(v, tuple) and all(g is None or isinstance(g, torch.Tensor) for g in v) else str(v)
                for v in values if not isinstance(v, torch.nn.Module)])
def wrong(*values):
    raise KeyError('a hook')
"""
PROGRAMS = {
    "forward hooks see and replace": """
        h = net.register_forward_pre_hook(lambda m, args: note('first', args))
        net.register_forward_pre_hook(lambda m, args: args[0] * 10)
        net.register_forward_pre_hook(lambda m, args, kwargs: note('prepended', args, kwargs), prepend=True, with_kwargs=True)
        net.register_forward_hook(lambda m, args, out: out + 1)
        net.register_forward_hook(lambda m, args, kwargs, out: note(args, kwargs, out), with_kwargs=True)
        net.register_forward_hook(lambda m, args, out: note('prepended', out), prepend=True)
        y = net(x, b=3)
        h.remove()
        y = net(x, 4)
        net.register_forward_pre_hook(lambda m, args, kwargs: (args, {'b': 7}), with_kwargs=True)
        y = net(x, b=3)
        net.register_forward_pre_hook(lambda m, args, kwargs: 3, with_kwargs=True)
        y = net(x, b=3)""",
    "the same hook twice": """
        h1 = net.register_forward_hook(note)
        h2 = net.register_forward_hook(note)
        y = net(x)
        h1.remove()
        h1.remove()
        y = net(x)
        with net.register_forward_hook(wrong): net(x)
        y = net(x)""",
    "backward hooks see and replace": """
        line.register_full_backward_pre_hook(lambda m, out: note('before', out))
        line.register_full_backward_hook(lambda m, into, out: note('after', into, out))
        y = line(x)
        y.sum().backward()
        h = line.register_full_backward_pre_hook(lambda m, out: (out[0] * 2,), prepend=True)
        line.register_full_backward_hook(lambda m, into, out: (into[0] * 10,), prepend=True)
        y = line(x * 2) * 3
        y.sum().backward()
        h.remove()
        y = line(x * 2) ** 2
        g = torch.autograd.grad(y.sum(), x, create_graph=True)[0]
        g.sum().backward()
        weights = [line.weight.grad, line.bias.grad]""",
    "only a hook before backward": """
        line.register_full_backward_pre_hook(note)
        y = line(x)
        y.sum().backward()""",
    "several inputs and outputs": """
        net.register_full_backward_hook(note)
        net.register_full_backward_pre_hook(note)
        y, text, z = net(x, x.detach() * 2, x * 3)
        y.sum().backward()
        y, text, z = net(x, 3, c=x)
        (y + z).sum().backward()
        y, text, z = net(x, c=x.detach())
        y.sum().backward()""",
    "no input requires a gradient": """
        line.register_full_backward_hook(note)
        y = line(x.detach())
        y.sum().backward()
        line.register_full_backward_hook(lambda m, into, out: (None,))
        y = line(x.detach())
        y.sum().backward()
        line.register_full_backward_hook(lambda m, into, out: out)
        y = line(x.detach())
        y.sum().backward()""",
    "without a graph": """
        line.register_full_backward_hook(note)
        y = line.requires_grad_(False)(x.detach())
        with torch.no_grad(): z = line(x)""",
    "wrong numbers of gradients": """
        h = line.register_full_backward_hook(lambda m, into, out: ())
        y = line(x)
        y.sum().backward()
        h.remove()
        h = line.register_full_backward_pre_hook(lambda m, out: out * 2)
        y = line(x)
        y.sum().backward()
        h.remove()
        line.register_full_backward_hook(wrong)
        y = line(x)
        y.sum().backward()""",
    "an output that is no tensor": """
        class Dict(torch.nn.Module): forward = lambda self, a: {'y': a * 2}
        d = Dict()
        h = d.register_full_backward_hook(note)
        y = d(x)['y']
        y.sum().backward()""",
    "a network": """
        deep = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
        log.extend(str(m.register_full_backward_hook(note)) and type(m).__name__ for m in deep.modules())
        y = deep(x)
        y.sum().backward()
        y = deep[1](x)
        y.relu_()""",
    "what may be registered": """
        late = Late()
        net.register_buffer('a.b', x)
        net.register_buffer('', x)
        net.register_buffer('forward', x)
        net.register_parameter('q', None)
        net.q = torch.nn.Linear(1, 1)
        net.add_module('a.b', net)
        net.child = torch.nn.Linear(1, 1)
        net.child = None
        net.register_buffer('kept', x)
        net.kept = None
        names = [list(net._parameters), list(net._buffers), list(net._modules)]
        hooks = [len(net._forward_hooks), len(net._backward_hooks)]""",
    "wrong calls": """
        net.register_buffer('kept', 3)
        net.register_parameter('p', x)
        net.register_parameter('q', None)
        net.q = 3
        net.add_module('p', 3)
        net.child = torch.nn.Linear(1, 1)
        net.child = 3
        net.register_buffer('kept', x)
        net.kept = 3
        torch.nn.Module(3)
        torch.nn.Sequential()[0]
        torch.nn.ParameterList([torch.ones(2)])[1]
        names = [list(net._parameters), list(net._buffers), list(net._modules)]""",
    "containers": """
        m = [torch.nn.Linear(1, 1), torch.nn.ReLU(), torch.nn.Tanh()]
        s, l = torch.nn.Sequential(*m), torch.nn.ModuleList(m)
        text = repr(s[1:]) + repr(l[::2]) + repr(s[-1]) + repr(l + [m[0]]) + repr(s + s[:1])
        text = repr(l.pop(1)) + repr(l) + repr(s.pop(0)) + repr(s)
        l += [m[1]]
        l.insert(1, m[2]) and None
        s.insert(1, m[0]) and None
        l[0] = m[1]
        del l[1:]
        text = repr(l) + repr(s) + str(len(l))
        d = torch.nn.ModuleDict({'a': m[0], 'b': m[1]})
        d.update({'c': m[2]})
        text = repr(d) + repr(d.pop('b')) + str(list(d)) + str('a' in d) + str(list(d.keys()))
        d['b']
        d.add_module('x.y', m[0])
        p = torch.nn.ParameterList([torch.ones(2), torch.nn.Parameter(torch.ones(1, 2))])
        text = repr(p) + str(len(p)) + repr(p[-1]) + repr(list(p.state_dict()))
        q = torch.nn.ParameterDict({'a': torch.ones(2), 'b': torch.ones(3)})
        text = repr(q) + str(list(q.values())) + repr(q.pop('a')) + str(len(q))
        torch.nn.Sequential(3)
        torch.nn.ModuleList([3])""",
}


@pytest.mark.torch
@pytest.mark.parametrize("name", PROGRAMS)
def test_modules_run_their_hooks_and_hold_things_as_in_pytorch(name: str) -> None:
    p = both()
    p.topic = "wrong" * (name == "wrong calls")  # whose letters are gviz's own
    p.do("torch.manual_seed(3) and None")
    p.do("x = torch.tensor([[1.0, -2.0]], requires_grad=True)")
    p.do(NETS)
    for line in PROGRAMS[name].strip().splitlines():
        p.do(line.strip())
