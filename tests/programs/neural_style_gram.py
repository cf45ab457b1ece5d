"""Style transfer by gradient descent on the image: content and Gram losses of a fixed random net."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(9)
features = nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.Tanh(), nn.Conv2d(6, 8, 3, padding=1), nn.Tanh()).eval()
for p in features.parameters():
    p.requires_grad_(False)


def gram(f):
    b, c, h, w = f.size()
    f = f.view(b * c, h * w)
    return f @ f.t() / (b * c * h * w)


kept = {}
for i, layer in enumerate(features):
    layer.register_forward_hook(lambda m, inp, out, i=i: kept.__setitem__(i, out))
content, style = torch.rand(1, 3, 10, 10), torch.rand(1, 3, 10, 10)
features(content)
content_target = kept[3].detach()
features(style)
style_targets = {i: gram(kept[i]).detach() for i in (1, 3)}
image = content.clone().requires_grad_(True)
opt = torch.optim.Adam([image], lr=0.02)
for step in range(1, 13):
    opt.zero_grad()
    features(image)
    content_loss = F.mse_loss(kept[3], content_target)
    style_loss = sum(F.mse_loss(gram(kept[i]), g) for i, g in style_targets.items())
    tv = (image[..., 1:] - image[..., :-1]).abs().mean() + (image[:, :, 1:] - image[:, :, :-1]).abs().mean()
    loss = content_loss + 1e4 * style_loss + 0.01 * tv
    loss.backward()
    opt.step()
    with torch.no_grad():
        image.clamp_(0, 1)
    if step % 4 == 0:
        print(step, f"{content_loss.item():.4f} {1e4 * style_loss.item():.3f} {tv.item():.3f}")
print(features)
