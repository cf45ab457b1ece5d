"""An encoder, a decoder with additive attention, teacher forcing and a masked loss."""

import torch
from torch import nn

torch.manual_seed(16)
source, target = torch.tensor([[3, 4, 5, 0], [6, 7, 8, 9]]), torch.tensor([[1, 5, 4, 3, 2], [1, 9, 8, 7, 2]])


class Seq2Seq(nn.Module):
    def __init__(self, vocab=10, size=8):
        super().__init__()
        self.embed_in, self.embed_out = nn.Embedding(vocab, size), nn.Embedding(vocab, size)
        self.encoder = nn.GRU(size, size, batch_first=True)
        self.decoder = nn.GRUCell(2 * size, size)
        self.W_q, self.W_k, self.w_v = nn.Linear(size, size, bias=False), nn.Linear(size, size, bias=False), nn.Linear(size, 1, bias=False)
        self.out = nn.Linear(size, vocab)

    def attend(self, query, keys, mask):
        features = torch.tanh(self.W_q(query).unsqueeze(1) + self.W_k(keys))
        scores = self.w_v(features).squeeze(-1).masked_fill(mask, float("-inf"))
        self.weights = scores.softmax(dim=-1)
        return torch.bmm(self.weights.unsqueeze(1), keys).squeeze(1)

    def forward(self, source, target):
        keys, hidden = self.encoder(self.embed_in(source))
        hidden, logits = hidden[0], []
        for t in range(target.shape[1] - 1):
            context = self.attend(hidden, keys, source == 0)
            hidden = self.decoder(torch.cat([self.embed_out(target[:, t]), context], dim=1), hidden)
            logits.append(self.out(hidden))
        return torch.stack(logits, dim=1)


model = Seq2Seq()
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for step in range(3):
    logits = model(source, target)
    loss = nn.functional.cross_entropy(logits.transpose(1, 2), target[:, 1:], ignore_index=0)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step}: {loss.item():.4f}")
print("no attention to the padding:", model.weights[0, 3].item(), "weights sum to", round(model.weights[1].sum().item(), 4))
