"""A GRU encoder and decoder with attention, teacher forcing, and beam search."""
import random

import torch
import torch.nn.functional as F
from torch import nn

random.seed(0)
torch.manual_seed(0)
SOS, EOS = 0, 1


class Encoder(nn.Module):
    def __init__(self, vocab, hidden):
        super().__init__()
        self.embedding, self.gru = nn.Embedding(vocab, hidden), nn.GRU(hidden, hidden, batch_first=True)

    def forward(self, x):
        return self.gru(self.embedding(x))


class Decoder(nn.Module):
    def __init__(self, vocab, hidden):
        super().__init__()
        self.embedding = nn.Embedding(vocab, hidden)
        self.Wa, self.Ua, self.Va = nn.Linear(hidden, hidden), nn.Linear(hidden, hidden), nn.Linear(hidden, 1, bias=False)
        self.gru, self.out = nn.GRUCell(2 * hidden, hidden), nn.Linear(hidden, vocab)

    def forward(self, token, h, keys):
        scores = self.Va(torch.tanh(self.Wa(h).unsqueeze(1) + self.Ua(keys)))
        context = (F.softmax(scores, 1) * keys).sum(1)
        h = self.gru(torch.cat([self.embedding(token), context], -1), h)
        return F.log_softmax(self.out(h), -1), h


enc, dec = Encoder(8, 12), Decoder(8, 12)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=0.02)
source = torch.tensor([[2, 3, 4, 1], [5, 6, 7, 1]])
target = torch.flip(source[:, :3], [1])
target = torch.cat([target, torch.ones(2, 1, dtype=torch.long)], 1)
for epoch in range(16):
    keys, h = enc(source)
    h, token, loss = h.squeeze(0), torch.full((2,), SOS), 0
    forced = random.random() < 0.5
    for t in range(4):
        logp, h = dec(token, h, keys)
        loss = loss + F.nll_loss(logp, target[:, t])
        token = target[:, t] if forced else logp.topk(1)[1].squeeze(-1).detach()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if epoch % 5 == 0:
        print(epoch, f"{loss.item() / 4:.3f}", forced)
with torch.no_grad():
    keys, h = enc(source[:1])
    beams = [([SOS], 0.0, h.squeeze(0))]
    for _ in range(4):
        grown = []
        for words, score, h in beams:
            if words[-1] == EOS:
                grown.append((words, score, h))
                continue
            logp, h2 = dec(torch.tensor(words[-1:]), h, keys)
            best = logp[0].topk(2)
            grown += [(words + [i], score + s, h2) for s, i in zip(best.values.tolist(), best.indices.tolist())]
        beams = sorted(grown, key=lambda b: -b[1])[:2]
print([b[0] for b in beams])
