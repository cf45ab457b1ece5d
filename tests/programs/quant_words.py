"""The words of eager quantization on a float model: stubs, fusing, a configuration."""
import torch
from torch import nn
from torch.ao.quantization import DeQuantStub, QuantStub, fuse_modules


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.quant, self.dequant = QuantStub(), DeQuantStub()
        self.conv, self.bn, self.relu = nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU()

    def forward(self, x):
        return self.dequant(self.relu(self.bn(self.conv(self.quant(x)))))


torch.manual_seed(0)
net = Net()
net(torch.randn(4, 1, 6, 6))
net.eval()
x = torch.randn(2, 1, 6, 6)
before = net(x)
fused = fuse_modules(net, [["conv", "bn"]])
print(fused)
print(torch.allclose(before, fused(x), atol=1e-5))
