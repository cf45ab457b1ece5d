"""The convolutional classifier of the sixty-minute tour: max pooling, ReLU, momentum, and the running loss."""

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

torch.manual_seed(8)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 4, 3)
        self.pool = nn.MaxPool2d(2, 2)
        self.conv2 = nn.Conv2d(4, 8, 3)
        self.fc1 = nn.Linear(8 * 2 * 2, 20)
        self.fc2 = nn.Linear(20, 10)

    def forward(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = torch.flatten(x, 1)
        return self.fc2(F.relu(self.fc1(x)))


net = Net()
criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
images = torch.rand(12, 3, 14, 14)
labels = torch.arange(12) % 10
running_loss = 0.0
for i in range(3):
    inputs, targets = images[4 * i : 4 * i + 4], labels[4 * i : 4 * i + 4]
    optimizer.zero_grad()
    loss = criterion(net(inputs), targets)
    loss.backward()
    optimizer.step()
    running_loss += loss.item()
    print(f"[{i + 1:5d}] loss: {running_loss / (i + 1):.3f}")
_, predicted = torch.max(net(images), 1)
print("parameters:", sum(p.numel() for p in net.parameters()), "predictions:", predicted.shape)
