"""A generator and a discriminator that take turns; detach() keeps the discriminator's step from the generator."""

import torch
from torch import nn

torch.manual_seed(23)
data = torch.randn(32, 2) @ torch.tensor([[1.0, 2.0], [-0.1, 0.5]]) + torch.tensor([1.0, 2.0])
net_G = nn.Sequential(nn.Linear(2, 2))
net_D = nn.Sequential(nn.Linear(2, 5), nn.LeakyReLU(0.2), nn.Linear(5, 3), nn.Tanh(), nn.Linear(3, 1))
loss = nn.BCEWithLogitsLoss(reduction="sum")
for w in net_D.parameters():
    nn.init.normal_(w, 0, 0.2)
for w in net_G.parameters():
    nn.init.normal_(w, 0, 0.2)
trainer_D = torch.optim.Adam(net_D.parameters(), lr=0.05)
trainer_G = torch.optim.Adam(net_G.parameters(), lr=0.005, betas=(0.5, 0.999))

for epoch in range(4):
    Z = torch.normal(0, 1, size=(32, 2))
    ones, zeros = torch.ones(32, 1), torch.zeros(32, 1)
    trainer_D.zero_grad()
    fake_X = net_G(Z)
    loss_D = (loss(net_D(data), ones) + loss(net_D(fake_X.detach()), zeros)) / 2
    loss_D.backward()
    assert net_G[0].weight.grad is None or not net_G[0].weight.grad.any() or epoch
    trainer_D.step()
    trainer_G.zero_grad()
    loss_G = loss(net_D(net_G(Z)), ones)
    loss_G.backward()
    trainer_G.step()
    print(f"epoch {epoch}: loss_D {loss_D.item() / 32:.4f}, loss_G {loss_G.item() / 32:.4f}")
