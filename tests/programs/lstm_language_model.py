"""A language model: embedding, LSTM, and the words that it would say next; the state goes from batch to batch."""

import torch
import torch.nn as nn

torch.manual_seed(13)
words = "the cat sat on the mat and the dog sat on the log and the cat ran".split()
vocab = {word: i for i, word in enumerate(dict.fromkeys(words))}
data = torch.tensor([vocab[word] for word in words])


class LanguageModel(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.embed = nn.Embedding(size, 6)
        self.lstm = nn.LSTM(6, 10, num_layers=2)
        self.decoder = nn.Linear(10, size)

    def forward(self, tokens, state=None):
        output, state = self.lstm(self.embed(tokens).unsqueeze(1), state)
        return self.decoder(output.squeeze(1)), state


model = LanguageModel(len(vocab))
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
for epoch in range(3):
    state = None
    for start in (0, 8):
        logits, state = model(data[start : start + 7], state)
        state = tuple(s.detach() for s in state)
        loss = nn.functional.cross_entropy(logits, data[start + 1 : start + 8])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: {loss.item():.4f}")
with torch.no_grad():
    logits, _ = model(data[:1])
print(logits.shape, [tuple(p.shape) for p in model.lstm.parameters()][:2])
