"""An LSTM that tags each word of a sentence, after the tutorial on sequence models."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(14)
training_data = [("The dog ate the apple".split(), ["DET", "NN", "V", "DET", "NN"]), ("Everybody read that book".split(), ["NN", "V", "DET", "NN"])]
word_to_ix = {word: i for i, word in enumerate(dict.fromkeys(w for sentence, _ in training_data for w in sentence))}
tag_to_ix = {"DET": 0, "NN": 1, "V": 2}


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.word_embeddings = nn.Embedding(len(word_to_ix), 6)
        self.lstm = nn.LSTM(6, 6)
        self.hidden2tag = nn.Linear(6, 3)

    def forward(self, sentence):
        out, _ = self.lstm(self.word_embeddings(sentence).view(len(sentence), 1, -1))
        return F.log_softmax(self.hidden2tag(out.view(len(sentence), -1)), dim=1)


model = Tagger()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(4):
    total = 0.0
    for sentence, tags in training_data:
        model.zero_grad()
        scores = model(torch.tensor([word_to_ix[w] for w in sentence], dtype=torch.long))
        loss = F.nll_loss(scores, torch.tensor([tag_to_ix[t] for t in tags]))
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: {total:.4f}")
print(scores.exp().sum(1).round(decimals=3))
