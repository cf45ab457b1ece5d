"""A checkpoint of a parallel model, with an old name in it, loaded into a model that keeps more than tensors."""

import io
import pickle
from collections import OrderedDict

import torch
from torch import nn

torch.manual_seed(0)


class Scaled(nn.Module):
    """A layer with a setting that goes into its state."""

    def __init__(self, unit):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
        self.unit = unit

    def forward(self, x):
        return x * self.weight

    def get_extra_state(self):
        return {"unit": self.unit}

    def set_extra_state(self, state):
        self.unit = state["unit"]


class Net(nn.Module):
    """Convolution, batch norm, the layer above, and a head that had another name before."""

    def __init__(self, unit="cm"):
        super().__init__()
        self.conv = nn.Conv2d(1, 3, 3)
        self.bn = nn.BatchNorm2d(3)
        self.scaled = Scaled(unit)
        self.head = nn.Linear(3, 2)
        self._register_load_state_dict_pre_hook(self.rename)

    def rename(self, state_dict, prefix, *_):
        for key in [key for key in state_dict if key.startswith(prefix + "fc.")]:
            state_dict[key.replace("fc.", "head.")] = state_dict.pop(key)

    def forward(self, x):
        return self.head(self.scaled(torch.relu(self.bn(self.conv(x))).mean((2, 3))))


class Wrapper(nn.Module):
    """What keeps a model under ``module``."""

    def __init__(self, module):
        super().__init__()
        self.module = module


saved = Wrapper(Net("inch"))
handle = saved.register_state_dict_post_hook(lambda module, state, prefix, local: print("saved", len(state), local))
state = saved.state_dict()
handle.remove()
print(list(state))
print(state._metadata)
nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
old = OrderedDict((key.replace("head.", "fc."), value) for key, value in state.items())
model = Net()
model.bn.register_load_state_dict_post_hook(lambda module, keys: print("loaded", type(module).__name__, keys))
print(model.load_state_dict(old), model.scaled.unit, torch.equal(model.head.weight, saved.module.head.weight))

for wrong in (state.keys() - {"conv.bias"}, [*state, "conv.extra", "scaled.gain.weight"], [*state, "tail.bias"]):
    try:
        model.load_state_dict({key: state.get(key, torch.ones(1)) for key in sorted(wrong)})
    except RuntimeError as error:
        print(error)
print(model.load_state_dict({"conv.bias": torch.zeros(3), "none": torch.ones(1)}, strict=False))


class Config:
    """What a checkpoint has beside tensors."""

    rate = 0.1


file = io.BytesIO()
torch.save({"state": model.state_dict(), "config": Config()}, file)
file.seek(0)
try:
    torch.load(file)
except pickle.UnpicklingError as error:
    print(str(error)[:60])
file.seek(0)
with torch.serialization.safe_globals([Config]):
    loaded = torch.load(file)
print(loaded["config"].rate, loaded["state"]["scaled._extra_state"])
loss = model(torch.randn(2, 1, 5, 5)).pow(2).mean()
print(f"{loss.item():.4f}")
