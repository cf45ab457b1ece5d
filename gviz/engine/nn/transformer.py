"""Attention of several heads as a layer, and the encoders and decoders that are made of it: the transformer."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, ClassVar

import numpy as np

from gviz.autograd.modes import is_grad_enabled
from gviz.engine.creation import empty
from gviz.engine.nn import functional as F
from gviz.engine.nn import init
from gviz.engine.nn.containers import ModuleList
from gviz.engine.nn.layers import Linear
from gviz.engine.nn.options import LAYERS, MADE, Layer
from gviz.engine.nn.parameter import Parameter
from gviz.numbers.words import warn
from gviz.ops.checks import refuse

dropout, linear, normalized = LAYERS["Dropout"], LAYERS["Linear"], LAYERS["LayerNorm"]

class NonDynamicallyQuantizableLinear(Linear):
    """A linear map under another name, as PyTorch prints it."""

    __module__, _importable = "torch.nn.modules.linear", "gviz.engine.nn.transformer"

projection: Any = NonDynamicallyQuantizableLinear

class MultiheadAttention(Layer, home="activation", shown="",
                         takes="embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, add_zero_attn=False, "
                         f"kdim=None, vdim=None, batch_first=False, {MADE}"):
    """Values mixed by how well their keys fit each query, in several parts of the features at once."""

    def _take(self, values: dict[str, Any]) -> None:
        size, heads, bias = values["embed_dim"], values["num_heads"], values["bias"]
        refuse(size <= 0 or heads <= 0, "embed_dim and num_heads must be greater than 0, got "
               f"embed_dim={size} and num_heads={heads} instead", ValueError)
        refuse(size % heads, "embed_dim must be divisible by num_heads", AssertionError)
        self.embed_dim, self.num_heads, self.head_dim, self.dropout = size, heads, size // heads, values["dropout"]
        self.kdim, self.vdim = (size if values[name] is None else values[name] for name in ("kdim", "vdim"))
        self.batch_first, self.add_zero_attn = values["batch_first"], values["add_zero_attn"]
        self._qkv_same_embed_dim = alike = self.kdim == size == self.vdim
        made = {"device": values["device"], "dtype": values["dtype"]}
        apart = {"q_proj_weight": (size, size), "k_proj_weight": (size, self.kdim), "v_proj_weight": (size, self.vdim)}
        shapes: dict[str, Any] = {"in_proj_weight": (3 * size, size) if alike else None}
        shapes |= {name: None if alike else shape for name, shape in apart.items()}
        shapes |= {"in_proj_bias": 3 * size if bias else None}
        shapes |= dict.fromkeys(("bias_k", "bias_v"), (1, 1, size) if values["add_bias_kv"] else None)
        for name, shape in shapes.items():
            self.register_parameter(name, None if shape is None else Parameter(empty(shape, **made)))
        self.out_proj = projection(size, size, bias=bias, **made)
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for name, weight in self._parameters.items():
            if weight is not None:
                (init.xavier_uniform_ if "weight" in name else init.zeros_ if "proj" in name else init.xavier_normal_)(weight)
        if self.out_proj.bias is not None:
            init.zeros_(self.out_proj.bias)

    def forward(self, query: Any, key: Any, value: Any, key_padding_mask: Any = None, need_weights: bool = True,
                attn_mask: Any = None, average_attn_weights: bool = True, is_causal: bool = False) -> tuple[Any, Any]:
        """Return the attention, and the shares of the keys, the means over the heads, if ``need_weights``."""
        turned = self.batch_first and query.dim() == 3
        padding = F.canonical_mask(key_padding_mask, "key_padding_mask", attn_mask, "attn_mask", query.dtype)
        mask = F.canonical_mask(attn_mask, "attn_mask", None, "", query.dtype)
        if turned:  # what is the same tensor stays so
            once = {id(one): one.transpose(1, 0) for one in {id(one): one for one in (query, key, value)}.values()}
            query, key, value = once[id(query)], once[id(key)], once[id(value)]
        out, shares = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.bias_k, self.bias_v,
            self.add_zero_attn, self.dropout, self.out_proj.weight, self.out_proj.bias, self.training, padding, need_weights,
            mask, not self._qkv_same_embed_dim, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight,
            average_attn_weights=average_attn_weights, is_causal=is_causal)
        return out.transpose(1, 0) if turned else out, shares

# ------------------------------------------------------------------ layers of a transformer
BLOCK = ("d_model, nhead, dim_feedforward=2048, dropout=0.1, activation='relu', layer_norm_eps=1e-5, batch_first=False, "
         f"norm_first=False, bias=True, {MADE}")

class Block(Layer, shown=""):
    """Base of both: attentions and two linear maps, each with a dropout, added to its input and normalized."""

    attentions: ClassVar[tuple[str, ...]] = ("self_attn",)

    def _take(self, values: dict[str, Any]) -> None:
        size, bias, inner = values["d_model"], values["bias"], values["dim_feedforward"]
        made = {"device": values["device"], "dtype": values["dtype"]}
        for name in self.attentions:
            options = {"dropout": values["dropout"], "bias": bias, "batch_first": values["batch_first"]}
            setattr(self, name, LAYERS["MultiheadAttention"](size, values["nhead"], **options, **made))
        self.linear1 = linear(size, inner, bias=bias, **made)
        self.dropout, self.norm_first = dropout(values["dropout"]), values["norm_first"]
        self.linear2 = linear(inner, size, bias=bias, **made)
        numbers = range(1, len(self.attentions) + 2)
        for number in numbers:
            setattr(self, f"norm{number}", normalized(size, values["layer_norm_eps"], bias=bias, **made))
        for number in numbers:
            setattr(self, f"dropout{number}", dropout(values["dropout"]))
        known, given = {"relu": F.relu, "gelu": F.gelu}, values["activation"]
        refuse(isinstance(given, str) and given not in known, f"activation should be relu/gelu, not {given}")
        self.activation = known.get(given, given) if isinstance(given, str) else given
        self.activation_relu_or_gelu = next(
            (i for i, (name, one) in enumerate((("ReLU", F.relu), ("GELU", F.gelu)), 1)
             if self.activation is one or isinstance(self.activation, LAYERS[name])), 0)

    def added(self, x: Any, number: int, block: Any, *args: Any) -> Any:
        """Return the input plus what a block makes of it, normalized before or after."""
        norm = getattr(self, f"norm{number}")
        return x + block(norm(x), *args) if self.norm_first else norm(x + block(x, *args))

    def _sa_block(self, x: Any, mask: Any, padding: Any, is_causal: bool = False) -> Any:
        return self.dropout1(self.self_attn(x, x, x, padding, False, mask, is_causal=is_causal)[0])

    def _mha_block(self, x: Any, memory: Any, mask: Any, padding: Any, is_causal: bool = False) -> Any:
        return self.dropout2(self.multihead_attn(x, memory, memory, padding, False, mask, is_causal=is_causal)[0])

    def _ff_block(self, x: Any) -> Any:
        last = getattr(self, f"dropout{len(self.attentions) + 1}")
        return last(self.linear2(self.dropout(self.activation(self.linear1(x)))))

class TransformerEncoderLayer(Block, home="transformer", takes=BLOCK):
    """Attention of a sequence to itself, then two linear maps."""

    def forward(self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool = False) -> Any:
        """Return the sequence, changed."""
        padding = F.canonical_mask(src_key_padding_mask, "src_key_padding_mask", src_mask, "src_mask", src.dtype)
        mask = F.canonical_mask(src_mask, "src_mask", None, "", src.dtype)
        return self.added(self.added(src, 1, self._sa_block, mask, padding, is_causal), 2, self._ff_block)

class TransformerDecoderLayer(Block, home="transformer", takes=BLOCK):
    """Attention of a sequence to itself, then to what the encoder has made, then two linear maps."""

    attentions = ("self_attn", "multihead_attn")

    def forward(self, tgt: Any, memory: Any, tgt_mask: Any = None, memory_mask: Any = None, tgt_key_padding_mask: Any = None,
                memory_key_padding_mask: Any = None, tgt_is_causal: bool = False, memory_is_causal: bool = False) -> Any:
        """Return the sequence, changed."""
        x = self.added(tgt, 1, self._sa_block, tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        x = self.added(x, 2, self._mha_block, memory, memory_mask, memory_key_padding_mask, memory_is_causal)
        return self.added(x, 3, self._ff_block)

# ------------------------------------------------------------------ stacks of them
def square_mask(size: int, device: Any = None, dtype: Any = None) -> Any:
    """Return a mask that lets each step see those before it: minus infinity above the diagonal."""
    return empty((size, size), dtype, device).fill_(-np.inf).triu(1)

def is_square(mask: Any, told: bool | None, size: int) -> bool:
    """Return whether a mask is such a one, if it was not told."""
    if told is not None or mask is None:
        return told is True
    wanted = square_mask(size, dtype=mask.dtype)
    return bool(mask.size() == wanted.size() and (mask == wanted).all())

def steps_of(x: Any, layer: Any) -> int:
    """Return the length of a sequence."""
    return int(x.shape[1 if x.dim() == 3 and layer.self_attn.batch_first else 0])

UNNESTED = (
    (".norm_first was True", lambda one: one.norm_first),
    (".self_attn.batch_first was not True(use batch_first for better inference performance)",
     lambda one: not one.self_attn.batch_first),
    (".self_attn was passed bias=False", lambda one: one.self_attn.in_proj_bias is None),
    (".activation_relu_or_gelu was not True", lambda one: not one.activation_relu_or_gelu),
    (".norm1.eps was not equal to encoder_layer.norm2.eps", lambda one: one.norm1.eps != one.norm2.eps),
    (".self_attn.num_heads is odd", lambda one: one.self_attn.num_heads % 2),
)
"""Why PyTorch would not leave out what is padded in evaluation, which it says when an encoder is made."""

class Stack(Layer, shown=""):
    """Base of both: copies of a layer, one after the other, and a norm."""

    def _take(self, values: dict[str, Any]) -> None:
        layer, self.num_layers = values.pop(self._options[0]), values["num_layers"]
        self.layers = ModuleList([deepcopy(layer) for _ in range(self.num_layers)])
        self.norm = values["norm"]

class TransformerEncoder(Stack, home="transformer",
                         takes="encoder_layer, num_layers, norm=None, enable_nested_tensor=True, mask_check=True"):
    """Several encoder layers."""

    def _take(self, values: dict[str, Any]) -> None:
        super()._take(dict(values))
        layer, self.mask_check = values["encoder_layer"], values["mask_check"]
        self.enable_nested_tensor = self.use_nested_tensor = values["enable_nested_tensor"]
        whys = (why for why, wrong in UNNESTED if wrong(layer))
        why = next(whys, "") if isinstance(layer, TransformerEncoderLayer) else " was not TransformerEncoderLayer"
        if self.enable_nested_tensor and why:
            warn(f"enable_nested_tensor is True, but self.use_nested_tensor is False because encoder_layer{why}")
            self.use_nested_tensor = False

    def forward(self, src: Any, mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool | None = None) -> Any:
        """Return the sequence, changed; in evaluation what is padded becomes zero, as in PyTorch."""
        padding = F.canonical_mask(src_key_padding_mask, "src_key_padding_mask", mask, "mask", src.dtype)
        mask, first = F.canonical_mask(mask, "mask", None, "", src.dtype), self.layers[0]
        causal = is_square(mask, is_causal, steps_of(src, first))
        quick = self.use_nested_tensor and not first.training and src.dim() == 3 and mask is None and padding is not None
        quick = quick and not (is_grad_enabled() and any(p.requires_grad for p in (src, *first.parameters())))
        quick = quick and not (np.diff(1 * (padding._array != 0)) < 0).any()
        for layer in self.layers:
            src = layer(src, src_mask=mask, is_causal=causal, src_key_padding_mask=padding)
        src = src if not quick else src.masked_fill((padding != 0).unsqueeze(-1), 0.0)
        return src if self.norm is None else self.norm(src)

class TransformerDecoder(Stack, home="transformer", takes="decoder_layer, num_layers, norm=None"):
    """Several decoder layers."""

    def forward(self, tgt: Any, memory: Any, tgt_mask: Any = None, memory_mask: Any = None, tgt_key_padding_mask: Any = None,
                memory_key_padding_mask: Any = None, tgt_is_causal: bool | None = None, memory_is_causal: bool = False) -> Any:
        """Return the sequence, changed."""
        causal = is_square(tgt_mask, tgt_is_causal, steps_of(tgt, self.layers[0]))
        for layer in self.layers:
            tgt = layer(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
                        memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=causal,
                        memory_is_causal=memory_is_causal)
        return tgt if self.norm is None else self.norm(tgt)

class Transformer(Layer, home="transformer", shown="",
                  takes="d_model=512, nhead=8, num_encoder_layers=6, num_decoder_layers=6, dim_feedforward=2048, dropout=0.1, "
                  "activation='relu', custom_encoder=None, custom_decoder=None, layer_norm_eps=1e-5, batch_first=False, "
                  f"norm_first=False, bias=True, {MADE}"):
    """An encoder and a decoder."""

    generate_square_subsequent_mask = staticmethod(square_mask)

    def _take(self, values: dict[str, Any]) -> None:
        options = {name: values[name] for name in TransformerEncoderLayer._options}
        norm = {"eps": values["layer_norm_eps"], **{name: values[name] for name in ("bias", "device", "dtype")}}
        for kind in ("encoder", "decoder"):
            layer, stack = (LAYERS[f"Transformer{kind.capitalize()}{end}"] for end in ("Layer", ""))
            made = values[f"custom_{kind}"]
            if made is None:
                made = layer(**options)
                made = stack(made, values[f"num_{kind}_layers"], normalized(values["d_model"], **norm))
            setattr(self, kind, made)
        for weight in self.parameters():
            if weight.dim() > 1:
                init.xavier_uniform_(weight)
        self.d_model, self.nhead, self.batch_first = values["d_model"], values["nhead"], values["batch_first"]

    def forward(self, src: Any, tgt: Any, src_mask: Any = None, tgt_mask: Any = None, memory_mask: Any = None,
                src_key_padding_mask: Any = None, tgt_key_padding_mask: Any = None, memory_key_padding_mask: Any = None,
                src_is_causal: bool | None = None, tgt_is_causal: bool | None = None, memory_is_causal: bool = False) -> Any:
        """Return what the decoder makes of ``tgt`` and of what the encoder has made of ``src``."""
        batch = 0 if self.batch_first else 1
        refuse(src.dim() == 3 and src.shape[batch] != tgt.shape[batch], "the batch number of src and tgt must be equal")
        refuse({src.shape[-1], tgt.shape[-1]} != {self.d_model},
               "the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask,
                            tgt_key_padding_mask=tgt_key_padding_mask, memory_key_padding_mask=memory_key_padding_mask,
                            tgt_is_causal=tgt_is_causal, memory_is_causal=memory_is_causal)
