"""Ratings as products of vectors of users and items, with biases, sparse gradients, and RMSE."""

import torch
from torch import nn

torch.manual_seed(38)
users, items = torch.arange(24) % 6, torch.arange(24) % 5
ratings = (users * items % 5).float() + 1


class MF(nn.Module):
    def __init__(self, num_factors, num_users, num_items):
        super().__init__()
        self.P, self.Q = nn.Embedding(num_users, num_factors), nn.Embedding(num_items, num_factors)
        self.user_bias, self.item_bias = nn.Embedding(num_users, 1), nn.Embedding(num_items, 1)

    def forward(self, user_id, item_id):
        outputs = (self.P(user_id) * self.Q(item_id)).sum(dim=1)
        return outputs + self.user_bias(user_id).squeeze(1) + self.item_bias(item_id).squeeze(1)


net = MF(3, 6, 5)
for p in net.parameters():
    nn.init.normal_(p, std=0.1)
optimizer = torch.optim.Adam(net.parameters(), lr=0.3, weight_decay=1e-5)
for epoch in range(6):
    loss = nn.functional.mse_loss(net(users, items), ratings)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"epoch {epoch}: RMSE {loss.sqrt().item():.4f}")
with torch.no_grad():
    full = net.P.weight @ net.Q.weight.T + net.user_bias.weight + net.item_bias.weight.T
print("predictions for all:", tuple(full.shape))
