"""An autoencoder of convolutions: strided down, transposed up, and the error of the reconstruction."""

import torch
from torch import nn

torch.manual_seed(21)
encoder = nn.Sequential(nn.Conv2d(1, 4, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(4, 8, 3, stride=2, padding=1), nn.ReLU())
decoder = nn.Sequential(
    nn.ConvTranspose2d(8, 4, 3, stride=2, padding=1, output_padding=1), nn.ReLU(),
    nn.ConvTranspose2d(4, 1, 3, stride=2, padding=1, output_padding=1), nn.Sigmoid(),
)
images = (torch.rand(4, 1, 8, 8) > 0.5).float()
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.02)
for epoch in range(4):
    code = encoder(images)
    output = decoder(code)
    loss = nn.functional.mse_loss(output, images)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"epoch {epoch}: {loss.item():.4f}")
print(tuple(images.shape), "->", tuple(code.shape), "->", tuple(output.shape))
