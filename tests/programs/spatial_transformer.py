"""A spatial transformer learns where to look: a small net turns the image before the classifier sees it."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)


class STN(nn.Module):
    def __init__(self):
        super().__init__()
        self.localization = nn.Sequential(nn.Conv2d(1, 4, kernel_size=3), nn.MaxPool2d(2, stride=2), nn.ReLU(True))
        self.fc_loc = nn.Sequential(nn.Linear(4 * 3 * 3, 8), nn.ReLU(True), nn.Linear(8, 3 * 2))
        self.fc_loc[2].weight.data.zero_()
        self.fc_loc[2].bias.data.copy_(torch.tensor([1, 0, 0, 0, 1, 0], dtype=torch.float))
        self.conv = nn.Conv2d(1, 4, 3, stride=2)
        self.fc = nn.Linear(36, 3)

    def stn(self, x):
        xs = self.localization(x).view(-1, 4 * 3 * 3)
        theta = self.fc_loc(xs).view(-1, 2, 3)
        grid = F.affine_grid(theta, x.size(), align_corners=False)
        return F.grid_sample(x, grid, align_corners=False)

    def forward(self, x):
        x = F.relu(self.conv(self.stn(x)))
        return F.log_softmax(self.fc(x.flatten(1)), dim=1)


model = STN()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
x, target = torch.randn(6, 1, 8, 8), torch.tensor([0, 1, 2, 0, 1, 2])
for epoch in range(5):
    optimizer.zero_grad()
    loss = F.nll_loss(model(x), target)
    loss.backward()
    optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.4f}")
print(model.fc_loc[2].bias.data.view(2, 3).mul(1000).round())
print(model.stn(x).shape)
