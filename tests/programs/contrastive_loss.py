"""Embeddings that are pulled together and pushed apart: pairs, triplets, and InfoNCE over a batch."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(45)
encoder = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4))
x = torch.randn(6, 6)
first, second = x + 0.1 * torch.randn(6, 6), x + 0.1 * torch.randn(6, 6)
optimizer = torch.optim.Adam(encoder.parameters(), lr=0.02)


def info_nce(z1, z2, temperature=0.5):
    similarity = F.normalize(z1, dim=1) @ F.normalize(z2, dim=1).T / temperature
    return F.cross_entropy(similarity, torch.arange(len(z1)))


for step in range(3):
    z1, z2 = encoder(first), encoder(second)
    triplet = F.triplet_margin_loss(z1, z2, z2.roll(1, dims=0), margin=1.0)
    pairs = F.cosine_embedding_loss(z1, z2.flip(0), -torch.ones(6), margin=0.2)
    distance = F.pairwise_distance(z1, z2.roll(2, 0))
    margin = F.relu(1.0 - distance).pow(2).mean()
    loss = info_nce(z1, z2) + triplet + pairs + margin
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step}: {loss.item():.4f} (triplet {triplet.item():.4f}, pairs {pairs.item():.4f}, margin {margin.item():.4f})")
