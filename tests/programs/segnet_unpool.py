"""A SegNet: the places of each pooling say where the decoder puts its elements; margins between the classes."""
import torch
from torch import nn

torch.manual_seed(24)


class SegNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.dec = nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(4, 3, 3, padding=1)
        self.pool, self.unpool, self.norm = nn.MaxPool2d(2, return_indices=True), nn.MaxUnpool2d(2), nn.LPPool2d(2, 2)

    def forward(self, x):
        h, where = self.pool(torch.tanh(self.enc(x)))
        return self.dec(self.unpool(h, where)), self.norm(h)


net = SegNet()
opt = torch.optim.SGD(net.parameters(), lr=0.2)
x = torch.randn(2, 1, 4, 4)
mask = (x > 0).long().squeeze(1) + (x > 1).long().squeeze(1)
for step in range(4):
    scores, energy = net(x)
    flat, classes = scores.permute(0, 2, 3, 1).reshape(-1, 3), mask.reshape(-1)
    several = nn.functional.one_hot(classes, 3).float()
    loss = nn.MultiMarginLoss()(flat, classes) + nn.MultiLabelSoftMarginLoss()(flat, several) + 0.01 * energy.mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, f"{loss.item():.4f} {energy.mean().item():.4f}")
print(nn.Softmax2d()(scores).sum(1).shape)
triplet = nn.TripletMarginWithDistanceLoss(distance_function=lambda a, b: 1 - nn.functional.cosine_similarity(a, b))
print(f"{triplet(flat[:4], flat[4:8], flat[8:12]).item():.4f}")
print(net)
