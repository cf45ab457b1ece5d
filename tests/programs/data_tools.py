"""Datasets of all kinds: splits, subsets, samplers, streams, and what collates them."""
import torch
from torch.utils.data import (
    BatchSampler, ChainDataset, ConcatDataset, DataLoader, Dataset, IterableDataset, RandomSampler, StackDataset, Subset,
    TensorDataset, WeightedRandomSampler, default_collate, random_split,
)  # fmt: skip


class Squares(Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return {"x": torch.tensor(float(i)), "y": i * i, "name": f"n{i}"}


class Count(IterableDataset):
    def __init__(self, a, b):
        self.a, self.b = a, b

    def __iter__(self):
        return iter(range(self.a, self.b))


torch.manual_seed(0)
train, test = random_split(Squares(10), [0.7, 0.3], generator=torch.Generator().manual_seed(42))
print(len(train), len(test), train.indices)
for batch in DataLoader(test, batch_size=2):
    print(batch)
weights = [0.1, 0.9, 0.4, 0.7]
print(list(WeightedRandomSampler(weights, 5, replacement=True)))
print(list(BatchSampler(RandomSampler(range(6)), batch_size=4, drop_last=False)))
print([b.tolist() for b in DataLoader(Count(3, 8), batch_size=2)])
print(list(DataLoader(ChainDataset([Count(0, 2), Count(5, 7)]), batch_size=None)))
both = ConcatDataset([Squares(3), Subset(Squares(9), [7, 8])])
print(both[3], len(both))
stack = StackDataset(torch.arange(3), torch.arange(3) * 2)
print(stack[1], len(stack), StackDataset(a=torch.arange(2), b=["u", "v"])[1])
print(default_collate([(1, 2.0, "a"), (3, 4.0, "b")]))


def pad(batch):
    longest = max(len(b) for b in batch)
    return torch.stack([torch.nn.functional.pad(b, (0, longest - len(b))) for b in batch])


print(next(iter(DataLoader([torch.ones(n) for n in (1, 3, 2)], batch_size=3, collate_fn=pad))))
x, y = next(iter(DataLoader(TensorDataset(torch.arange(6.0), torch.arange(6)), batch_size=3, shuffle=True)))
print(x, y)
w = torch.zeros(1, requires_grad=True)
for xb, yb in DataLoader(TensorDataset(torch.arange(6.0), 2 * torch.arange(6.0)), batch_size=3):
    loss = (w * xb - yb).square().mean()
    loss.backward()
print(w.grad)
