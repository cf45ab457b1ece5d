"""A multilayer perceptron with dropout by hand and nn.Dropout, in training and in evaluation."""

import torch
from torch import nn


def dropout_layer(X, p):
    mask = (torch.rand(X.shape) > p).float()
    return mask * X / (1.0 - p)


torch.manual_seed(6)
X = torch.arange(8, dtype=torch.float32).reshape(2, 4)
print(dropout_layer(X, 0.5))

net = nn.Sequential(nn.Flatten(), nn.Linear(16, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 4))


def init_weights(m):
    if type(m) is nn.Linear:
        nn.init.normal_(m.weight, std=0.1)
        nn.init.zeros_(m.bias)


net.apply(init_weights)
images, labels = torch.randn(32, 1, 4, 4), torch.randint(0, 4, (32,))
trainer = torch.optim.SGD(net.parameters(), lr=0.5)
criterion = nn.CrossEntropyLoss(reduction="none")
for epoch in range(4):
    net.train()
    loss = criterion(net(images), labels).mean()
    trainer.zero_grad()
    loss.backward()
    trainer.step()
    print(f"epoch {epoch}: {loss.item():.4f}")
net.eval()
with torch.no_grad():
    print("evaluation is repeatable:", torch.equal(net(images), net(images)))
