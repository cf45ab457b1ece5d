# e = a*b + log(d)*c: each tensor before and after backward
import torch

a = torch.tensor(2.0, requires_grad=True)
b = torch.tensor(3.0, requires_grad=True)
c = torch.tensor(5.0, requires_grad=True)
d = torch.tensor(10.0, requires_grad=True)

u = a * b
t = torch.log(d)
v = t * c
e = u + v


def table(when):
    print(when)
    for name, node in [("a", a), ("b", b), ("c", c), ("d", d), ("u", u), ("t", t), ("v", v), ("e", e)]:
        grad = node.grad if node.is_leaf else None
        print(name, node.data, grad, node.grad_fn, node.is_leaf, node.requires_grad)


table("before backward")
e.backward()
table("after backward")
