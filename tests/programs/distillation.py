"""A small student that learns from a large teacher's softened scores and from the labels."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(53)
X = torch.randn(30, 4)
labels = (X[:, 0] + X[:, 1] > 0).long() + (X[:, 2] > 0.5).long()
teacher = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 3))
student = nn.Linear(4, 3)
optimizer = torch.optim.Adam(teacher.parameters(), lr=0.05)
for _ in range(20):
    optimizer.zero_grad()
    F.cross_entropy(teacher(X), labels).backward()
    optimizer.step()
T, optimizer = 2.0, torch.optim.SGD(student.parameters(), lr=0.3, momentum=0.9, nesterov=True)
for step in range(4):
    with torch.no_grad():
        soft = F.softmax(teacher(X) / T, dim=-1)
    scores = student(X)
    distilled = F.kl_div(F.log_softmax(scores / T, dim=-1), soft, reduction="batchmean") * T**2
    loss = 0.7 * distilled + 0.3 * F.cross_entropy(scores, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step}: loss {loss.item():.4f}, student right {(scores.argmax(1) == labels).float().mean().item():.2f}")
