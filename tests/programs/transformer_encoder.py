"""A transformer encoder that learns to tell whether a sequence is sorted: positions, layers, pooling, a head."""

import torch
from torch import nn

torch.manual_seed(19)


class Classifier(nn.Module):
    def __init__(self, vocab=10, width=8, length=5):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.position = nn.Parameter(torch.zeros(1, length, width))
        layer = nn.TransformerEncoderLayer(width, nhead=2, dim_feedforward=16, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=2)
        self.head = nn.Linear(width, 2)

    def forward(self, tokens):
        return self.head(self.encoder(self.embed(tokens) + self.position).mean(dim=1))


tokens = torch.randint(0, 10, (12, 5))
tokens[::2] = tokens[::2].sort(dim=1).values
labels = (tokens[:, 1:] >= tokens[:, :-1]).all(dim=1).long()
model = Classifier()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    loss = nn.functional.cross_entropy(model(tokens), labels)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    print(f"step {step}: loss {loss.item():.4f}")
print(sum(p.numel() for p in model.parameters()), "parameters")
