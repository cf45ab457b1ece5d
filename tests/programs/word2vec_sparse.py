"""Skip-gram with negative sampling on sparse gradients: the rows of the tables that were looked up, and SparseAdam."""
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
words = "the quick brown fox jumps over the lazy dog the fox".split()
vocabulary = {word: i for i, word in enumerate(dict.fromkeys(words))}
ids = [vocabulary[word] for word in words]
pairs = torch.tensor([(ids[i], ids[j]) for i in range(len(ids)) for j in (i - 1, i + 1) if 0 <= j < len(ids)])


class SkipGram(nn.Module):
    def __init__(self, count, size):
        super().__init__()
        self.center = nn.Embedding(count, size, sparse=True)
        self.context = nn.Embedding(count, size, sparse=True)

    def forward(self, center, context, noise):
        v = self.center(center)
        positive = F.logsigmoid((v * self.context(context)).sum(1))
        negative = F.logsigmoid(-torch.bmm(self.context(noise), v.unsqueeze(2)).squeeze(2)).sum(1)
        return -(positive + negative).mean()


model = SkipGram(len(vocabulary), 4)
optimizer = torch.optim.SparseAdam(model.parameters(), lr=0.05)
print(optimizer)
for epoch in range(3):
    noise = torch.randint(0, len(vocabulary), (len(pairs), 2))
    loss = model(pairs[:, 0], pairs[:, 1], noise)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"epoch {epoch}: {loss.item():.4f}")
grad = model.center.weight.grad
print(grad.is_sparse, grad.layout, grad.shape, grad._nnz(), grad.coalesce()._nnz())
one = nn.Embedding(4, 2, sparse=True)
one(torch.tensor([1, 3, 1])).sum().backward()
print(one.weight.grad)
print(one.weight.grad.to_dense())
tables = [table.weight.detach().clone().requires_grad_() for table in (model.center, model.context)]
score = (tables[0] @ tables[1].T).softmax(1).diagonal().sum()
score.backward()
