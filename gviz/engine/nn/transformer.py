"""Attention of several heads as a layer, and the encoders and decoders that are made of it: the transformer."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import deepcopy
from typing import Any, ClassVar

import numpy as np

from gviz.autograd.modes import is_grad_enabled
from gviz.autograd.row import TENSORS as call
from gviz.autograd.tensor import Tensor
from gviz.engine.creation import empty
from gviz.engine.nn import functional as F, init
from gviz.engine.nn.containers import ModuleList
from gviz.engine.nn.layers import Linear
from gviz.engine.nn.options import LAYERS, MADE, Layer, refuse_options
from gviz.numbers.words import refuse, warn

dropout, linear, normalized = LAYERS["Dropout"], LAYERS["Linear"], LAYERS["LayerNorm"]


class NonDynamicallyQuantizableLinear(Linear):
    """A linear map under another name, as PyTorch prints it."""

    __module__, _importable = "torch.nn.modules.linear", "gviz.engine.nn.transformer"


projection: Any = NonDynamicallyQuantizableLinear


def added_mask(mask: Tensor | None, name: str, other: Tensor | None, other_name: str, dtype: object) -> Any:
    """Return a mask as numbers to be added: minus infinity where a truth value forbids."""
    if mask is None:
        return None
    refuse(mask._array.dtype.kind not in "bfV", f"only bool and floating types of {name} are supported", AssertionError)
    if other is not None and other.dtype != mask.dtype:
        warn(f"Support for mismatched {name} and {other_name} is deprecated. Use same type for both instead.")
    return mask if mask.is_floating_point() else call["zeros_like"](mask).to(dtype).masked_fill_(mask, -math.inf)


class MultiheadAttention(
    Layer,
    home="activation",
    shown="",
    takes="embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, add_zero_attn=False, "
    f"kdim=None, vdim=None, batch_first=False, {MADE}",
    refused={
        "embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} instead": (
            lambda embed_dim, num_heads, **_: embed_dim <= 0 or num_heads <= 0
        ),
        "embed_dim must be divisible by num_heads": lambda embed_dim, num_heads, **_: (
            embed_dim % num_heads and AssertionError
        ),
        "add_bias_kv and add_zero_attn are not in gviz's engine; run with --engine torch": (
            lambda add_bias_kv, add_zero_attn, **_: (add_bias_kv or add_zero_attn) and NotImplementedError
        ),
    },
):
    """Values mixed by how well their keys fit each query, in several parts of the features at once."""

    def _take_(self, values: dict[str, Any]) -> None:
        size, heads = values["embed_dim"], values["num_heads"]
        refuse_options(self._refused_, values)
        self.head_dim = size // heads
        self.out_proj = projection(size, size, **{name: values[name] for name in ("bias", "device", "dtype")})
        super()._take_(values | {name: size for name in ("kdim", "vdim") if values[name] is None})

    def _shaped_(self, bias: bool) -> dict[str, Any]:
        size, apart = (
            self.embed_dim,
            {"q_proj_weight": self.embed_dim, "k_proj_weight": self.kdim, "v_proj_weight": self.vdim},
        )
        alike = {*apart.values()} == {size}
        shapes: dict[str, Any] = {"in_proj_weight": (3 * size, size) if alike else None}
        shapes |= {name: None if alike else (size, taken) for name, taken in apart.items()}
        return shapes | {"in_proj_bias": (3 * size,) if bias else None, "bias_k": None, "bias_v": None}

    def reset_parameters(self) -> None:
        """Write Glorot's values, and zeros to add."""
        for weight in (*self._parameters.values(), self.out_proj.bias):
            if weight is not None:
                (init.zeros_ if weight.dim() == 1 else init.xavier_uniform_)(weight)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Any, Any]:
        """Return the attention (as the query), and if ``need_weights`` the means of the shares of keys (N, L, S).

        The query is (L, N, embed_dim), or (N, L, embed_dim) if ``batch_first``, or (L, embed_dim); keys and values
        likewise, of length S. ``key_padding_mask`` is (N, S), ``attn_mask`` (L, S) or (N * num_heads, L, S): true or
        minus infinity forbids.
        """
        alone, turned = query.dim() == 2, self.batch_first and query.dim() == 3
        refuse(
            query.dim() not in (2, 3),
            f"query should be unbatched 2D or batched 3D tensor but received {query.dim()}-D query tensor",
            AssertionError,
        )
        refuse(
            query.shape[-1] != self.embed_dim,
            f"was expecting embedding dimension of {self.embed_dim}, but got {query.shape[-1]}",
            AssertionError,
        )
        refuse(
            is_causal and attn_mask is None,
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer "
            "module method `generate_square_subsequent_mask` to create this mask.",
        )
        padding = added_mask(key_padding_mask, "key_padding_mask", attn_mask, "attn_mask", query.dtype)
        mask = added_mask(attn_mask, "attn_mask", None, "", query.dtype)
        if padding is not None and padding.dim() != query.dim() - 1:
            raise AssertionError(
                f"For {'un' * alone}batched ({query.dim()}-D) `query`, expected `key_padding_mask` to be "
                f"`None` or {query.dim() - 1}-D but found {padding.dim()}-D tensor instead"
            )
        if turned:  # what is the same tensor stays so
            once = {id(one): one.transpose(1, 0) for one in {id(one): one for one in (query, key, value)}.values()}
            query, key, value = once[id(query)], once[id(key)], once[id(value)]
        elif alone:
            query, key, value = (one.unsqueeze(1) for one in (query, key, value))
            padding = None if padding is None else padding.unsqueeze(0)
        only_causal = is_causal and padding is None and not need_weights
        mask = self._mask_of_(None if only_causal else mask, padding, query, key)
        q, k, v = self._projected_(query, key, value)
        out, shares = self._attend_(q, k, v, mask, need_weights, only_causal)
        if need_weights:
            shares = shares.mean(1) if average_attn_weights else shares
            shares = shares.squeeze(0) if alone else shares
        return (out.squeeze(1) if alone else out.transpose(1, 0) if turned else out), shares

    def _projected_(self, query: Tensor, key: Tensor, value: Tensor) -> Any:
        """Return query, key and value after their linear maps, which are one where they are the same tensor."""
        size, linear, projections, weight, bias = (
            self.embed_dim,
            call["linear"],
            [],
            self.in_proj_weight,
            self.in_proj_bias,
        )
        if weight is not None and key is value:
            count = 3 if query is key else 2  # how many of them one map gives
            if count == 2:
                weights, biases = weight.split([size, size * 2]), bias if bias is None else bias.split([size, size * 2])
                projections, weight, bias = (
                    [linear(query, weights[0], biases and biases[0])],
                    weights[1],
                    biases and biases[1],
                )
            both = linear(key, weight, bias).unflatten(-1, (count, size))
            both = both.unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
            return *projections, *(both[i] for i in range(count))
        apart = self.q_proj_weight, self.k_proj_weight, self.v_proj_weight
        weights, biases = apart if weight is None else weight.chunk(3), (None,) * 3 if bias is None else bias.chunk(3)
        return [linear(*three) for three in zip((query, key, value), weights, biases, strict=True)]

    def _mask_of_(self, mask: Tensor | None, padding: Tensor | None, query: Tensor, key: Tensor) -> Any:
        """Return what is added to the products of all heads: the mask of attention, and that of what is padded."""
        (length, batch, _), seen, heads = query.shape, len(key), self.num_heads
        if mask is not None:
            expected_shape = (length, seen) if mask.ndim == 2 else (batch * heads, length, seen)
            refuse(
                mask.shape != expected_shape,
                f"The shape of the {mask.ndim}D attn_mask is {mask.shape}, but should be {expected_shape}.",
            )
            mask = mask.unsqueeze(0) if mask.ndim == 2 else mask
        if padding is None:
            return mask
        for dim, size in enumerate((batch, seen)):
            refuse(
                padding.shape[dim] != size,
                f"Expected key_padded_mask.shape[{dim}] to be {size}, but got {padding.shape[dim]}",
                AssertionError,
            )
        padding = padding.view(batch, 1, 1, seen).expand(-1, heads, -1, -1).reshape(batch * heads, 1, seen)
        return padding if mask is None else mask + padding

    def _attend_(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, need_weights: bool, is_causal: bool
    ) -> tuple[Any, Any]:
        """Return the attention after its linear map, and the shares of each head if they are needed."""
        (length, batch, size), heads, width = q.shape, self.num_heads, self.head_dim
        q, k, v = (one.view(len(one), batch * heads, width).transpose(0, 1) for one in (q, k, v))
        shares, rate = None, self.dropout if self.training else 0.0
        if need_weights:
            scaled, turned = q * math.sqrt(1.0 / width), k.transpose(-2, -1)
            fit = scaled.bmm(turned) if mask is None else mask.baddbmm(scaled, turned)
            shares = F.dropout(fit.softmax(-1), rate)
            out = shares.bmm(v).transpose(0, 1).reshape(length * batch, size)
            shares = shares.view(batch, heads, length, -1)
        else:
            if mask is not None:
                mask = mask.unsqueeze(0) if len(mask) == 1 else mask.view(batch, heads, -1, k.shape[1])
            q, k, v = (one.view(batch, heads, -1, width) for one in (q, k, v))
            out = F.scaled_dot_product_attention(q, k, v, mask, rate, is_causal)
            out = out.permute(2, 0, 1, 3).reshape(batch * length, size)
        return call["linear"](out, self.out_proj.weight, self.out_proj.bias).view(length, batch, -1), shares


# ------------------------------------------------------------------ layers of a transformer
BLOCK = (
    "d_model, nhead, dim_feedforward=2048, dropout=0.1, activation='relu', layer_norm_eps=1e-5, batch_first=False, "
    f"norm_first=False, bias=True, {MADE}"
)


class Block(Layer, shown=""):
    """Base of encoder and decoder layers: attentions, then two linear maps, each added to its input and normalized."""

    _attentions_: ClassVar[tuple[str, ...]] = ("self_attn",)

    def _take_(self, values: dict[str, Any]) -> None:
        size, bias, inner = values["d_model"], values["bias"], values["dim_feedforward"]
        factory = {"device": values["device"], "dtype": values["dtype"]}
        for name in self._attentions_:
            options = {option: values[option] for option in ("dropout", "bias", "batch_first")}
            setattr(self, name, LAYERS["MultiheadAttention"](size, values["nhead"], **options, **factory))
        self.linear1 = linear(size, inner, bias=bias, **factory)
        self.dropout, self.norm_first = dropout(values["dropout"]), values["norm_first"]
        self.linear2 = linear(inner, size, bias=bias, **factory)
        numbers = range(1, len(self._attentions_) + 2)
        for number in numbers:
            setattr(self, f"norm{number}", normalized(size, values["layer_norm_eps"], bias=bias, **factory))
        for number in numbers:
            setattr(self, f"dropout{number}", dropout(values["dropout"]))
        activations, activation = {"relu": F.relu, "gelu": F.gelu}, values["activation"]
        refuse(
            isinstance(activation, str) and activation not in activations,
            f"activation should be relu/gelu, not {activation}",
        )
        self.activation = activations[activation] if isinstance(activation, str) else activation

    def _added_(self, x: Tensor, number: int, block: Callable[..., Any], *args: object) -> Any:
        """Return the input plus what a block makes of it, normalized before or after."""
        norm = getattr(self, f"norm{number}")
        return x + block(norm(x), *args) if self.norm_first else norm(x + block(x, *args))

    def _sa_block(self, x: Tensor, mask: Tensor | None, padding: Tensor | None, is_causal: bool = False) -> Any:
        return self.dropout1(self.self_attn(x, x, x, padding, False, mask, is_causal=is_causal)[0])

    def _mha_block(
        self, x: Tensor, memory: Tensor, mask: Tensor | None, padding: Tensor | None, is_causal: bool = False
    ) -> Any:
        return self.dropout2(self.multihead_attn(x, memory, memory, padding, False, mask, is_causal=is_causal)[0])

    def _ff_block(self, x: Tensor) -> Any:
        return getattr(self, f"dropout{len(self._attentions_) + 1}")(
            self.linear2(self.dropout(self.activation(self.linear1(x))))
        )


class TransformerEncoderLayer(Block, home="transformer", takes=BLOCK):
    """Attention of a sequence to itself, then two linear maps."""

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Any:
        """Return the sequence, changed."""
        padding = added_mask(src_key_padding_mask, "src_key_padding_mask", src_mask, "src_mask", src.dtype)
        mask = added_mask(src_mask, "src_mask", None, "", src.dtype)
        return self._added_(self._added_(src, 1, self._sa_block, mask, padding, is_causal), 2, self._ff_block)


class TransformerDecoderLayer(Block, home="transformer", takes=BLOCK):
    """Attention of a sequence to itself, then to what the encoder has made, then two linear maps."""

    _attentions_ = ("self_attn", "multihead_attn")

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Any:
        """Return the sequence, changed."""
        x = self._added_(tgt, 1, self._sa_block, tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        x = self._added_(x, 2, self._mha_block, memory, memory_mask, memory_key_padding_mask, memory_is_causal)
        return self._added_(x, 3, self._ff_block)


# ------------------------------------------------------------------ stacks of them
def square_mask(sz: int, device: object = None, dtype: object = None) -> Any:
    """Return a mask that lets each step see those before it: minus infinity above the diagonal."""
    return empty((sz, sz), dtype, device).fill_(-np.inf).triu(1)


def is_square(mask: Tensor | None, answer: bool | None, x: Tensor, layer: Any) -> bool:
    """Return whether a mask is such a one for a sequence, if it was not told."""
    if answer is not None or mask is None:
        return answer is True
    size = int(x.shape[1 if x.dim() == 3 and layer.self_attn.batch_first else 0])
    return bool(mask.size() == (size, size) and (mask == square_mask(size, dtype=mask.dtype)).all())


UNNESTED = (
    (".norm_first was True", lambda one: one.norm_first),
    (
        ".self_attn.batch_first was not True(use batch_first for better inference performance)",
        lambda one: not one.self_attn.batch_first,
    ),
    (".self_attn was passed bias=False", lambda one: one.self_attn.in_proj_bias is None),
    (".activation_relu_or_gelu was not True", lambda one: one.activation not in (F.relu, F.gelu)),
    (".self_attn.num_heads is odd", lambda one: one.self_attn.num_heads % 2),
)
"""Why PyTorch cannot leave out padded elements in evaluation: it warns of that when an encoder is made."""


class Stack(Layer, shown=""):
    """Base of encoder and decoder: copies of a layer, one after the other, and a norm."""

    def _take_(self, values: dict[str, Any]) -> None:
        layer, self.num_layers = values.pop(self._options_[0]), values["num_layers"]
        self.layers = ModuleList([deepcopy(layer) for _ in range(self.num_layers)])
        self.norm = values["norm"]


class TransformerEncoder(
    Stack, home="transformer", takes="encoder_layer, num_layers, norm=None, enable_nested_tensor=True, mask_check=True"
):
    """Several encoder layers."""

    def _take_(self, values: dict[str, Any]) -> None:
        super()._take_(dict(values))
        layer, self.mask_check = values["encoder_layer"], values["mask_check"]
        self.enable_nested_tensor = self.use_nested_tensor = values["enable_nested_tensor"]
        whys = (why for why, wrong in UNNESTED if wrong(layer))
        why = next(whys, "") if isinstance(layer, TransformerEncoderLayer) else " was not TransformerEncoderLayer"
        if self.enable_nested_tensor and why:
            warn(f"enable_nested_tensor is True, but self.use_nested_tensor is False because encoder_layer{why}")
            self.use_nested_tensor = False

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Any:
        """Return the sequence, changed; in evaluation what is padded becomes zero, as in PyTorch."""
        padding = added_mask(src_key_padding_mask, "src_key_padding_mask", mask, "mask", src.dtype)
        mask, first = added_mask(mask, "mask", None, "", src.dtype), self.layers[0]
        causal = is_square(mask, is_causal, src, first)
        quick = (
            (self.use_nested_tensor and not first.training and src.dim() == 3 and mask is None and padding is not None)
            and not (is_grad_enabled() and any(p.requires_grad for p in (src, *first.parameters())))
            and not (np.diff(1 * (padding._array != 0)) < 0).any()
        )
        for layer in self.layers:
            src = layer(src, src_mask=mask, is_causal=causal, src_key_padding_mask=padding)
        src = src if not quick else src.masked_fill((padding != 0).unsqueeze(-1), 0.0)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Stack, home="transformer", takes="decoder_layer, num_layers, norm=None"):
    """Several decoder layers."""

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Any:
        """Return the sequence, changed."""
        causal = is_square(tgt_mask, tgt_is_causal, tgt, self.layers[0])
        for layer in self.layers:
            tgt = layer(
                tgt,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=causal,
                memory_is_causal=memory_is_causal,
            )
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(
    Layer,
    home="transformer",
    shown="",
    takes="d_model=512, nhead=8, num_encoder_layers=6, num_decoder_layers=6, dim_feedforward=2048, dropout=0.1, "
    "activation='relu', custom_encoder=None, custom_decoder=None, layer_norm_eps=1e-5, batch_first=False, "
    f"norm_first=False, bias=True, {MADE}",
):
    """An encoder and a decoder."""

    generate_square_subsequent_mask = staticmethod(square_mask)

    def _take_(self, values: dict[str, Any]) -> None:
        options = {name: values[name] for name in TransformerEncoderLayer._options_}
        norm = {"eps": values["layer_norm_eps"], **{name: values[name] for name in ("bias", "device", "dtype")}}
        for kind in ("encoder", "decoder"):
            layer, stack = (LAYERS[f"Transformer{kind.capitalize()}{end}"] for end in ("Layer", ""))
            module = values[f"custom_{kind}"]
            if module is None:
                module = stack(layer(**options), values[f"num_{kind}_layers"], normalized(values["d_model"], **norm))
            setattr(self, kind, module)
        for weight in self.parameters():
            if weight.dim() > 1:
                init.xavier_uniform_(weight)
        self.d_model, self.nhead, self.batch_first = values["d_model"], values["nhead"], values["batch_first"]

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Any:
        """Return what the decoder makes of ``tgt`` and of what the encoder has made of ``src``."""
        batch = 0 if self.batch_first else 1
        refuse(src.dim() == 3 and src.shape[batch] != tgt.shape[batch], "the batch number of src and tgt must be equal")
        refuse(
            {src.shape[-1], tgt.shape[-1]} != {self.d_model},
            "the feature number of src and tgt must be equal to d_model",
        )
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )
