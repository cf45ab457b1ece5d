"""Skip-grams with negative sampling: centre and context vectors, and a masked binary loss."""

import torch
from torch import nn

torch.manual_seed(37)
corpus = "a b c d a b c d a c b d".split()
vocab = sorted(set(corpus))
ids = [vocab.index(w) for w in corpus]
centers = torch.tensor(ids[1:-1]).unsqueeze(1)
contexts = torch.tensor([[ids[i - 1], ids[i + 1]] for i in range(1, len(ids) - 1)])
negatives = torch.randint(0, len(vocab), (len(contexts), 3))
both = torch.cat([contexts, negatives], dim=1)
labels = torch.cat([torch.ones_like(contexts), torch.zeros_like(negatives)], dim=1).float()
mask = torch.ones_like(both).masked_fill_(torch.cat([torch.zeros_like(contexts).bool(), negatives == centers], 1), 0)
embed_v, embed_u = nn.Embedding(len(vocab), 5), nn.Embedding(len(vocab), 5)


def skip_gram(center, context):
    return torch.bmm(embed_v(center), embed_u(context).permute(0, 2, 1)).squeeze(1)


optimizer = torch.optim.Adam([*embed_v.parameters(), *embed_u.parameters()], lr=0.05)
for epoch in range(4):
    scores = skip_gram(centers, both)
    out = nn.functional.binary_cross_entropy_with_logits(scores, labels, weight=mask.float(), reduction="none")
    loss = (out.sum(1) / mask.sum(1)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"epoch {epoch}: {loss.item():.4f}")
similar = nn.functional.cosine_similarity(embed_v.weight[0], embed_v.weight, dim=1)
print("nearest to a is", vocab[similar.topk(1).indices.item()])
