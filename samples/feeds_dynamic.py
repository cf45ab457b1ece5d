# 50 feeds build 50 dynamic graphs
import torch

b = torch.tensor(3.0, requires_grad=True)
c = torch.tensor(5.0, requires_grad=True)
d = torch.tensor(10.0, requires_grad=True)

graphs = []
total = 0.0
for i in range(50):
    a = torch.tensor(float(i), requires_grad=True)
    e = a * b + torch.log(d) * c
    graphs.append(e.grad_fn)
    total += e.item()

print("graphs built:", len(set(graphs)))
print("mean of e:", round(total / 50, 4))
