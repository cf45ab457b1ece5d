"""An LSTM that learns the next of 5,000 characters."""
import torch
from torch import nn

torch.manual_seed(0)
text = ("the quick brown fox jumps over the lazy dog, and then it sleeps in the sun until the evening comes. " * 50)[:5000]
letters = sorted(set(text))
codes = torch.tensor([letters.index(letter) for letter in text])


class Net(nn.Module):
    def __init__(self, count, size):
        super().__init__()
        self.embed, self.lstm, self.out = nn.Embedding(count, size), nn.LSTM(size, size, 2), nn.Linear(size, count)

    def forward(self, x, state=None):
        y, state = self.lstm(self.embed(x), state)
        return self.out(y), state


net = Net(len(letters), 128)
trainer = torch.optim.Adam(net.parameters(), lr=0.002)
for epoch in range(2):
    state, total = None, 0.0
    for start in range(0, len(codes) - 1, 100):
        x, y = codes[start : start + 100][:-1], codes[start + 1 : start + 100]
        answer, state = net(x.unsqueeze(1), state)
        state = tuple(one.detach() for one in state)
        loss = nn.functional.cross_entropy(answer.squeeze(1), y)
        trainer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        trainer.step()
        total += loss.item()
    print(epoch, f"{total / 50:.2f}")
