"""GoogLeNet on a batch of 64 pictures of 3x96x96, two steps of training."""
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class Inception(nn.Module):
    def __init__(self, ins, one, three, five, pool):
        super().__init__()
        self.one = nn.Conv2d(ins, one, 1)
        self.three = nn.Sequential(nn.Conv2d(ins, three[0], 1), nn.ReLU(), nn.Conv2d(three[0], three[1], 3, padding=1))
        self.five = nn.Sequential(nn.Conv2d(ins, five[0], 1), nn.ReLU(), nn.Conv2d(five[0], five[1], 5, padding=2))
        self.pool = nn.Sequential(nn.MaxPool2d(3, 1, 1), nn.Conv2d(ins, pool, 1))

    def forward(self, x):
        return torch.cat([F.relu(part(x)) for part in (self.one, self.three, self.five, self.pool)], 1)


net = nn.Sequential(
    nn.Conv2d(3, 64, 7, 2, 3), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
    nn.Conv2d(64, 64, 1), nn.ReLU(), nn.Conv2d(64, 192, 3, padding=1), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
    Inception(192, 64, (96, 128), (16, 32), 32), Inception(256, 128, (128, 192), (32, 96), 64), nn.MaxPool2d(3, 2, 1),
    Inception(480, 192, (96, 208), (16, 48), 64), Inception(512, 160, (112, 224), (24, 64), 64),
    Inception(512, 128, (128, 256), (24, 64), 64), Inception(512, 112, (144, 288), (32, 64), 64),
    Inception(528, 256, (160, 320), (32, 128), 128), nn.MaxPool2d(3, 2, 1),
    Inception(832, 256, (160, 320), (32, 128), 128), Inception(832, 384, (192, 384), (48, 128), 128),
    nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1024, 10),
)
pictures, labels = torch.randn(64, 3, 96, 96), torch.randint(0, 10, (64,))
trainer = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(2):
    loss = F.cross_entropy(net(pictures), labels)
    trainer.zero_grad()
    loss.backward()
    trainer.step()
    print(step, f"{loss.item():.3f}")
