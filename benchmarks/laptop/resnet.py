"""ResNet-18 on pictures of 3x32x32, two batches of 64."""
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self, ins, outs, stride):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(ins, outs, 3, stride, 1, bias=False), nn.BatchNorm2d(outs)
        self.conv2, self.norm2 = nn.Conv2d(outs, outs, 3, 1, 1, bias=False), nn.BatchNorm2d(outs)
        self.short = nn.Sequential()
        if stride != 1 or ins != outs:
            self.short = nn.Sequential(nn.Conv2d(ins, outs, 1, stride, bias=False), nn.BatchNorm2d(outs))

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(y)) + self.short(x))


net = nn.Sequential(
    nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU(), Block(64, 64, 1), Block(64, 64, 1),
    Block(64, 128, 2), Block(128, 128, 1), Block(128, 256, 2), Block(256, 256, 1), Block(256, 512, 2), Block(512, 512, 1),
    nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10),
)
trainer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)
for step in range(2):
    pictures, labels = torch.randn(64, 3, 32, 32), torch.randint(0, 10, (64,))
    loss = F.cross_entropy(net(pictures), labels)
    trainer.zero_grad()
    loss.backward()
    trainer.step()
    print(step, f"{loss.item():.3f}")
