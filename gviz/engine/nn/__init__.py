"""``torch.nn``: modules, parameters and layers. The functions are ``nn.functional``, initial values ``nn.init``."""

from __future__ import annotations

from gviz.engine.nn import functional, init, parameter, utils
from gviz.engine.nn.activation import (
    CELU,
    ELU,
    GELU,
    SELU,
    Hardshrink,
    Hardsigmoid,
    Hardswish,
    Hardtanh,
    LeakyReLU,
    LogSigmoid,
    LogSoftmax,
    Mish,
    PReLU,
    ReLU,
    ReLU6,
    Sigmoid,
    SiLU,
    Softmax,
    Softmin,
    Softplus,
    Softshrink,
    Softsign,
    Tanh,
    Tanhshrink,
    Threshold,
)  # fmt: skip
from gviz.engine.nn.containers import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from gviz.engine.nn.layers import (
    AdaptiveAvgPool1d,
    AdaptiveAvgPool2d,
    AvgPool1d,
    AvgPool2d,
    BatchNorm1d,
    BatchNorm2d,
    Conv1d,
    Conv2d,
    ConvTranspose1d,
    ConvTranspose2d,
    Dropout,
    Embedding,
    Flatten,
    Identity,
    LayerNorm,
    Linear,
    MaxPool1d,
    MaxPool2d,
    Unflatten,
)  # fmt: skip
from gviz.engine.nn.loss import (
    BCELoss,
    BCEWithLogitsLoss,
    CrossEntropyLoss,
    HuberLoss,
    KLDivLoss,
    L1Loss,
    MSELoss,
    NLLLoss,
    SmoothL1Loss,
    SoftMarginLoss,
)  # fmt: skip
from gviz.engine.nn.module import Module
from gviz.engine.nn.parameter import Buffer, Parameter
from gviz.engine.nn.recurrent import GRUCell, LSTMCell, RNNCell

__all__ = [
    "CELU", "ELU", "GELU", "SELU", "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AvgPool1d", "AvgPool2d", "BCELoss",
    "BCEWithLogitsLoss", "BatchNorm1d", "BatchNorm2d", "Buffer", "Conv1d", "Conv2d", "ConvTranspose1d", "ConvTranspose2d",
    "CrossEntropyLoss", "Dropout", "Embedding", "Flatten", "GRUCell", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh",
    "HuberLoss", "Identity", "KLDivLoss", "L1Loss", "LSTMCell", "LayerNorm", "LeakyReLU", "Linear", "LogSigmoid", "LogSoftmax",
    "MSELoss", "MaxPool1d", "MaxPool2d", "Mish", "Module", "ModuleDict", "ModuleList", "NLLLoss", "PReLU", "Parameter",
    "ParameterDict", "ParameterList", "RNNCell", "ReLU", "ReLU6", "Sequential", "SiLU", "Sigmoid", "SmoothL1Loss",
    "SoftMarginLoss", "Softmax", "Softmin", "Softplus", "Softshrink", "Softsign", "Tanh", "Tanhshrink", "Threshold",
    "Unflatten", "functional", "init", "parameter", "utils",
]  # fmt: skip


def __getattr__(name: str) -> object:
    """What is not there is missing in PyTorch's words."""
    raise AttributeError(f"module 'torch.nn' has no attribute '{name}'")
