"""A GRU that predicts the next value of a sine wave, and the same cell written out with gates."""

import torch
from torch import nn

torch.manual_seed(12)
wave = torch.sin(torch.arange(0, 6, 0.2))
X = torch.stack([wave[i : i + 6] for i in range(20)]).unsqueeze(-1)
y = torch.stack([wave[i + 6] for i in range(20)]).unsqueeze(-1)
gru, head = nn.GRU(1, 8, batch_first=True), nn.Linear(8, 1)
optimizer = torch.optim.Adam([*gru.parameters(), *head.parameters()], lr=0.05)
for epoch in range(4):
    output, last = gru(X)
    loss = nn.functional.mse_loss(head(output[:, -1]), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"epoch {epoch}: {loss.item():.4f}")


def cell(x, h):
    r_x, z_x, n_x = (x @ gru.weight_ih_l0.T + gru.bias_ih_l0).chunk(3, 1)
    r_h, z_h, n_h = (h @ gru.weight_hh_l0.T + gru.bias_hh_l0).chunk(3, 1)
    r, z = torch.sigmoid(r_x + r_h), torch.sigmoid(z_x + z_h)
    n = torch.tanh(n_x + r * n_h)
    return (1 - z) * n + z * h


h = torch.zeros(20, 8)
for t in range(6):
    h = cell(X[:, t], h)
print("the gates written out give the same:", torch.allclose(h, gru(X)[1][0], atol=1e-5), output.shape, last.shape)
