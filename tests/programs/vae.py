"""A variational autoencoder: reparametrization, and the loss of reconstruction and divergence."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(22)


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc21, self.fc22 = nn.Linear(16, 12), nn.Linear(12, 2), nn.Linear(12, 2)
        self.fc3, self.fc4 = nn.Linear(2, 12), nn.Linear(12, 16)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.randn_like(std)
        return mu + eps * std

    def forward(self, x):
        h1 = F.relu(self.fc1(x.view(-1, 16)))
        mu, logvar = self.fc21(h1), self.fc22(h1)
        z = self.reparameterize(mu, logvar)
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z)))), mu, logvar


def loss_function(recon_x, x, mu, logvar):
    BCE = F.binary_cross_entropy(recon_x, x.view(-1, 16), reduction="sum")
    KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return BCE + KLD, KLD


model = VAE()
data = (torch.rand(8, 1, 4, 4) > 0.6).float()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(4):
    optimizer.zero_grad()
    recon_batch, mu, logvar = model(data)
    loss, divergence = loss_function(recon_batch, data, mu, logvar)
    loss.backward()
    optimizer.step()
    print(f"epoch {epoch}: loss {loss.item() / len(data):.3f}, KL {divergence.item() / len(data):.3f}")
