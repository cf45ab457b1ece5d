"""An image that is changed until its Gram matrices are another's: LBFGS with a closure over the pixels."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(46)
features = nn.Sequential(nn.Conv2d(1, 3, 3, padding=1), nn.Tanh(), nn.Conv2d(3, 4, 3, padding=1)).requires_grad_(False)
content, style = torch.rand(1, 1, 6, 6), torch.rand(1, 1, 6, 6)


def gram_matrix(input):
    a, b, c, d = input.size()
    flat = input.view(a * b, c * d)
    return torch.mm(flat, flat.t()).div(a * b * c * d)


wanted, target = features(content), gram_matrix(features(style))
image = content.clone().requires_grad_()
optimizer = torch.optim.LBFGS([image], lr=0.5, max_iter=4)
run = [0]
while run[0] < 10:
    def closure():
        optimizer.zero_grad()
        out = features(image)
        global loss
        loss = 1000 * F.mse_loss(gram_matrix(out), target) + F.mse_loss(out, wanted)
        loss.backward()
        run[0] += 1
        return loss

    optimizer.step(closure)
    with torch.no_grad():
        image.clamp_(0, 1)
    print(f"run {run[0]}: loss {loss.item():.4f}")
print("within 0 and 1:", bool(((image >= 0) & (image <= 1)).all()), image.is_leaf)
