# A step of gradient descent: w1 = w1 - lr * w1.grad makes a new tensor, which is no leaf
import torch

a = torch.tensor(2.0, requires_grad=True)
w1 = torch.tensor(1.0, requires_grad=True)
w2 = torch.tensor(2.0, requires_grad=True)
w3 = torch.tensor(3.0, requires_grad=True)
w4 = torch.tensor(4.0, requires_grad=True)
learning_rate = 0.5

b = w1 * a
c = w2 * a
d = w3 * b + w4 * c
L = 10 - d

L.backward()

w1 = w1 - (learning_rate) * w1.grad
