"""LeNet: convolutions, average pooling, sigmoids; the shape after each layer, and some steps of training."""

import torch
from torch import nn

torch.manual_seed(7)
net = nn.Sequential(
    nn.Conv2d(1, 3, kernel_size=5, padding=2), nn.Sigmoid(),
    nn.AvgPool2d(kernel_size=2, stride=2),
    nn.Conv2d(3, 6, kernel_size=5), nn.Sigmoid(),
    nn.AvgPool2d(kernel_size=2, stride=2),
    nn.Flatten(),
    nn.Linear(6, 16), nn.Sigmoid(),
    nn.Linear(16, 10),
)
X = torch.rand(size=(1, 1, 14, 14))
for layer in net:
    X = layer(X)
    print(layer.__class__.__name__, "output shape:\t", X.shape)

for m in net.modules():
    if isinstance(m, (nn.Linear, nn.Conv2d)):
        nn.init.xavier_uniform_(m.weight)
images, labels = torch.rand(8, 1, 14, 14), torch.randint(10, (8,))
optimizer = torch.optim.SGD(net.parameters(), lr=0.9)
for step in range(3):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(images), labels)
    loss.backward()
    optimizer.step()
    print(f"step {step}: loss {loss.item():.4f}")
