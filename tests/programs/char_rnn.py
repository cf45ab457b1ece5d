"""A character LSTM with truncated backpropagation, and text sampled at a temperature."""
import torch
from torch import nn

torch.manual_seed(11)
text = "hello world hello there "
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text])


class CharRNN(nn.Module):
    def __init__(self, n, hidden=16):
        super().__init__()
        self.emb = nn.Embedding(n, 8)
        self.rnn = nn.LSTM(8, hidden, num_layers=2, dropout=0.0)
        self.fc = nn.Linear(hidden, n)

    def forward(self, x, state=None):
        y, state = self.rnn(self.emb(x), state)
        return self.fc(y), state


model = CharRNN(len(chars))
opt = torch.optim.Adamax(model.parameters(), lr=0.02)
for epoch in range(4):
    state, total = None, 0.0
    for i in range(0, len(data) - 1, 6):
        x, y = data[i : i + 6][: len(data) - 1 - i, None], data[i + 1 : i + 7]
        if state is not None:
            state = tuple(s.detach() for s in state)
        logits, state = model(x, state)
        loss = nn.functional.cross_entropy(logits.squeeze(1), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    print(epoch, f"{total / 4:.3f}")
with torch.no_grad():
    x, state, out = torch.tensor([[stoi["h"]]]), None, "h"
    for _ in range(10):
        logits, state = model(x, state)
        p = torch.softmax(logits[0, 0] / 0.8, -1)
        x = torch.multinomial(p, 1).view(1, 1)
        out += chars[x.item()]
print(repr(out), sum(p.numel() for p in model.parameters()))
