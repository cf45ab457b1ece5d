"""Sentences of different lengths: padding, packing, and an LSTM's last state that no padding has touched."""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

torch.manual_seed(15)
sentences = [torch.tensor([1, 2, 3, 4]), torch.tensor([5, 6]), torch.tensor([7, 8, 9])]
lengths = torch.tensor([len(s) for s in sentences])
padded = pad_sequence(sentences, batch_first=True)
print(padded)
embed = nn.Embedding(10, 4, padding_idx=0)
lstm = nn.LSTM(4, 5, batch_first=True)
head = nn.Linear(5, 2)
packed = pack_padded_sequence(embed(padded), lengths, batch_first=True, enforce_sorted=False)
print(packed.batch_sizes, packed.data.shape)
output, (hidden, cell) = lstm(packed)
unpacked, sizes = pad_packed_sequence(output, batch_first=True)
print(unpacked.shape, sizes)
loss = nn.functional.cross_entropy(head(hidden[-1]), torch.tensor([0, 1, 0]))
loss.backward()
alone, _ = lstm(embed(sentences[1].unsqueeze(0)))
print(f"loss {loss.item():.4f}", "padding changes nothing:", torch.allclose(alone[0, -1], hidden[0, 1], atol=1e-6))
print("the padding's row has no gradient:", bool((embed.weight.grad[0] == 0).all()))
