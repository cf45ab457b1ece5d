"""Datasets of one's own, splits, samplers, batches with a rest, and a loop over DataLoader and TensorDataset."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset, WeightedRandomSampler, random_split

torch.manual_seed(42)


class Squares(Dataset):
    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        return {"x": torch.tensor([index / self.size]), "y": (index / self.size) ** 2, "name": f"number {index}"}


train, test = random_split(Squares(10), [7, 3])
print(len(train), len(test), test[0]["name"])
for batch in DataLoader(train, batch_size=4, shuffle=True):
    print({key: (tuple(value.shape) if torch.is_tensor(value) else value) for key, value in batch.items()}, batch["y"].dtype)
tensors = TensorDataset(torch.arange(12.0).reshape(6, 2), torch.tensor([0, 0, 0, 0, 0, 1]))
sampler = WeightedRandomSampler(weights=[1, 1, 1, 1, 1, 5], num_samples=8)
print("drawn:", [label for _, labels in DataLoader(tensors, batch_size=4, sampler=sampler) for label in labels.tolist()])
net = nn.Linear(2, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
for epoch in range(2):
    for features, labels in DataLoader(tensors, batch_size=4, shuffle=True, drop_last=True):
        loss = nn.functional.cross_entropy(net(features), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: {loss.item():.4f}")
