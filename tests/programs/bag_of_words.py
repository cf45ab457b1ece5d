"""A text classifier: nn.EmbeddingBag over texts of different lengths, laid end to end with offsets."""

import torch
from torch import nn

torch.manual_seed(36)
texts = [("good fun great film", 1), ("bad dull film", 0), ("great great fun", 1), ("dull bad bad plot", 0), ("fun plot", 1)]
vocab = {word: i for i, word in enumerate(dict.fromkeys(" ".join(text for text, _ in texts).split()))}


def collate(batch):
    labels = torch.tensor([label for _, label in batch])
    lists = [torch.tensor([vocab[word] for word in text.split()]) for text, _ in batch]
    offsets = torch.tensor([0] + [len(entry) for entry in lists]).cumsum(dim=0)[:-1]
    return labels, torch.cat(lists), offsets


class TextClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.EmbeddingBag(len(vocab), 4, mode="mean")
        self.fc = nn.Linear(4, 2)
        self.embedding.weight.data.uniform_(-0.5, 0.5)

    def forward(self, text, offsets):
        return self.fc(self.embedding(text, offsets))


model = TextClassifier()
optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
loader = torch.utils.data.DataLoader(texts, batch_size=5, collate_fn=collate)
for epoch in range(5):
    for labels, text, offsets in loader:
        predicted = model(text, offsets)
        loss = nn.functional.cross_entropy(predicted, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.4f}, right {(predicted.argmax(1) == labels).sum().item()} of 5")
