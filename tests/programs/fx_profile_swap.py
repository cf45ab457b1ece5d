"""fx: a counter of operations as an Interpreter, ReLU swapped for GELU, dropout taken out, and shapes."""
import operator

import torch
import torch.fx as fx
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.drop = nn.Linear(4, 6), nn.Linear(6, 2), nn.Dropout(0.5)

    def forward(self, x):
        h = torch.relu(self.a(x))
        return self.drop(self.b(h + 1)).sum(dim=-1) * 2


class Counter(fx.Interpreter):
    def __init__(self, m):
        super().__init__(m)
        self.counts = {}

    def run_node(self, n):
        self.counts[n.op] = self.counts.get(n.op, 0) + 1
        return super().run_node(n)


class NoDropout(fx.Transformer):
    def call_module(self, target, args, kwargs):
        if isinstance(self.submodules[target], nn.Dropout):
            return args[0]
        return super().call_module(target, args, kwargs)


torch.manual_seed(20)
gm = fx.symbolic_trace(Net())
counter = Counter(gm)
counter.run(torch.randn(3, 4))
print(counter.counts)
for node in gm.graph.nodes:
    if node.target == torch.relu:
        with gm.graph.inserting_after(node):
            new = gm.graph.call_function(nn.functional.gelu, (node.args[0],))
            node.replace_all_uses_with(new)
        gm.graph.erase_node(node)
    elif node.target == operator.mul:
        node.args = (node.args[0], 3)
gm.graph.lint()
gm.recompile()
print(gm.code)
plain = NoDropout(gm).transform()
print(plain.code)
from torch.fx.passes.shape_prop import ShapeProp

ShapeProp(plain).propagate(torch.randn(3, 4))
print([(n.name, tuple(n.meta["tensor_meta"].shape)) for n in plain.graph.nodes])
