"""A graph convolution whose adjacency matrix is sparse, as in Kipf's code: coordinates, spmm, two layers."""
import math
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(1)
edges = torch.tensor([[0, 1, 1, 2, 3, 4, 0], [1, 0, 2, 1, 4, 3, 4]])
both = torch.cat([edges, edges.flip(0), torch.arange(5).repeat(2, 1)], dim=1).unique(dim=1)
degree = torch.bincount(both[0]).float()
weights = (degree[both[0]] * degree[both[1]]).rsqrt()
adjacency = torch.sparse_coo_tensor(both, weights, (5, 5), check_invariants=False).coalesce()
print(adjacency)
print(adjacency.is_sparse, adjacency._nnz(), adjacency.to_dense().sum(1))


class GraphConvolution(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(inputs, outputs))
        self.bias = nn.Parameter(torch.empty(outputs))
        bound = 1.0 / math.sqrt(outputs)
        self.weight.data.uniform_(-bound, bound)
        self.bias.data.uniform_(-bound, bound)

    def forward(self, x, adjacency):
        return torch.spmm(adjacency, torch.mm(x, self.weight)) + self.bias


first, second = GraphConvolution(3, 4), GraphConvolution(4, 2)
x, labels = torch.randn(5, 3), torch.tensor([0, 0, 0, 1, 1])
optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=0.05, weight_decay=5e-4)
for step in range(4):
    optimizer.zero_grad()
    output = F.log_softmax(second(F.relu(first(x, adjacency)), adjacency), dim=1)
    loss = F.nll_loss(output[[0, 3]], labels[[0, 3]])
    loss.backward()
    optimizer.step()
    print(step, round(loss.item(), 4))
print(output.argmax(1), torch.sparse.sum(adjacency, 0))
