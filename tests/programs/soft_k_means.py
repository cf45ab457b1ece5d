"""Clusters: k-means with cdist and argmin, and a soft one whose centres learn by gradient."""

import torch

torch.manual_seed(50)
points = torch.cat([torch.randn(10, 2) * 0.3 + torch.tensor(c) for c in ([0.0, 0.0], [3.0, 0.0], [0.0, 3.0])])
centres = points[torch.tensor([0, 10, 20])] + 0.5
for iteration in range(3):
    distances = torch.cdist(points, centres)
    nearest = distances.argmin(dim=1)
    centres = torch.stack([points[nearest == k].mean(dim=0) for k in range(3)])
    print(f"iteration {iteration}: {distances.min(dim=1).values.pow(2).sum().item():.4f}", torch.bincount(nearest).tolist())

soft = (centres + 0.5).requires_grad_()
optimizer = torch.optim.Adam([soft], lr=0.1)
for step in range(4):
    distances = torch.cdist(points, soft)
    loss = -torch.logsumexp(-5 * distances, dim=1).mean() / 5
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"soft, step {step}: {loss.item():.4f}")
print(torch.softmax(-5 * distances[0], dim=0).argmax().item(), tuple(soft.shape))
