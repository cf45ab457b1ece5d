"""Softmax and cross-entropy by hand, beside F.cross_entropy, and the accuracy of the classes."""

import torch
import torch.nn.functional as F

torch.manual_seed(3)
centres = torch.tensor([[2.0, 0.0], [-2.0, 1.0], [0.0, -2.0]])
labels = torch.arange(90) % 3
X = centres[labels] + 0.5 * torch.randn(90, 2)
W = torch.normal(0, 0.01, (2, 3), requires_grad=True)
b = torch.zeros(3, requires_grad=True)


def softmax(scores):
    exponentials = torch.exp(scores)
    return exponentials / exponentials.sum(1, keepdim=True)


def cross_entropy(probabilities, y):
    return -torch.log(probabilities[range(len(probabilities)), y])


optimizer = torch.optim.SGD([W, b], lr=0.5)
for step in range(5):
    probabilities = softmax(X @ W + b)
    loss = cross_entropy(probabilities, labels).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    right = (probabilities.argmax(dim=1) == labels).float().mean()
    print(f"step {step}: loss {loss:.4f}, accuracy {right:.2f}")
print(f"torch's own {F.cross_entropy(X @ W + b, labels).item():.4f}")
