"""Vector quantization: the nearest code word, straight through, with a commitment loss and moving averages."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(7)


class Quantizer(nn.Module):
    def __init__(self, codes, width, decay=0.9):
        super().__init__()
        self.register_buffer("book", torch.randn(codes, width))
        self.register_buffer("size", torch.ones(codes))
        self.register_buffer("total", self.book.clone())
        self.decay = decay

    def forward(self, z):
        flat = z.reshape(-1, z.shape[-1])
        code = torch.cdist(flat, self.book).argmin(-1)
        q = F.embedding(code, self.book).view_as(z)
        if self.training:
            hot = F.one_hot(code, len(self.book)).type_as(flat)
            self.size.mul_(self.decay).add_(hot.sum(0), alpha=1 - self.decay)
            self.total.mul_(self.decay).add_(hot.t() @ flat.detach(), alpha=1 - self.decay)
            self.book.copy_(self.total / self.size.clamp_min(1e-5).unsqueeze(1))
        loss = F.mse_loss(z, q.detach())
        probs = torch.bincount(code, minlength=len(self.book)).float() / len(code)
        return z + (q - z).detach(), loss, torch.exp(-(probs * (probs + 1e-10).log()).sum())


enc, dec, vq = nn.Linear(6, 3), nn.Linear(3, 6), Quantizer(8, 3)
opt = torch.optim.RAdam([*enc.parameters(), *dec.parameters()], lr=0.02)
x = torch.randn(20, 6)
for step in range(12):
    q, commit, perplexity = vq(enc(x))
    loss = F.mse_loss(dec(q), x) + 0.25 * commit
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 4 == 3:
        print(step, f"{loss.item():.3f} {commit.item():.3f} {perplexity.item():.2f}")
print(sorted(vq.state_dict()))
