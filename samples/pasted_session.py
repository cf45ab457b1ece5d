>>> import torch
>>> w = torch.tensor([1.], requires_grad=True)
>>> x = torch.tensor([2.], requires_grad=True)
>>> y = (x + w) * (w + 1)
>>> y
tensor([6.], grad_fn=<MulBackward0>)
>>> y.backward()
>>> w.grad
tensor([5.])
