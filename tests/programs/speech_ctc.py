"""A recurrent net reads a signal and writes letters, trained without knowing when each is said."""
import torch
from torch import nn

torch.manual_seed(0)
letters = "-abc"
net = nn.LSTM(5, 12, bidirectional=True)
head = nn.Linear(24, len(letters))
params = list(net.parameters()) + list(head.parameters())
opt = torch.optim.Adam(params, lr=0.02)
ctc = nn.CTCLoss(blank=0, zero_infinity=True)
signal = torch.randn(10, 2, 5)
words = ["abc", "cab"]
targets = torch.cat([torch.tensor([letters.index(ch) for ch in w]) for w in words])
lengths = torch.tensor([len(w) for w in words])


def greedy(scores):
    best = scores.argmax(-1).tolist()
    kept = [b for a, b in zip([None] + best, best) if a != b and b != 0]
    return "".join(letters[k] for k in kept)


for step in range(31):
    out, _ = net(signal)
    log_probs = head(out).log_softmax(2)
    loss = ctc(log_probs, targets, torch.full((2,), 10), lengths)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(params, 5.0)
    opt.step()
    if step % 10 == 0:
        print(step, round(loss.item(), 3))
print([greedy(log_probs[:, i]) for i in range(2)])
