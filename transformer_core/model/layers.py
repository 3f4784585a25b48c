"""The layers of encoder and decoder (sections 3.1 and 3.3): attention, feed-forward, Add & Norm."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from transformer_core.model.attention import MultiHeadAttention
from transformer_core.model.config import TransformerConfig

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "gelu": F.gelu,
    "gelu_tanh": partial(F.gelu, approximate="tanh"),
}


class FeedForward(nn.Module):
    """FFN(x) = max(0, x W_1 + b_1) W_2 + b_2, at every position alike (equation 2); max, or what came after it."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.w_1 = nn.Linear(config.d_model, config.d_ff, bias=config.feed_forward_bias)
        self.w_2 = nn.Linear(config.d_ff, config.d_model, bias=config.feed_forward_bias)
        self.activation = ACTIVATIONS[config.activation]
        for linear in (self.w_1, self.w_2):
            nn.init.xavier_uniform_(linear.weight)
            if config.feed_forward_bias:
                nn.init.zeros_(linear.bias)

    def forward(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_model"]:
        return self.w_2(self.activation(self.w_1(x)))


def normalization(config: TransformerConfig) -> nn.Module:
    """LayerNorm (Ba et al. 2016), or RMSNorm (Zhang & Sennrich 2019)."""
    kind = nn.LayerNorm if config.normalization == "layer" else nn.RMSNorm
    return kind(config.d_model, eps=config.norm_epsilon)


def last_norm(config: TransformerConfig) -> nn.Module:
    """The normalisation after the last of a stack of layers, which only "pre" needs."""
    return normalization(config) if config.norm == "pre" else nn.Identity()


class AddAndNorm(nn.Module):
    """The residual connection, dropout and layer normalisation around every sub-layer (sections 3.1 and 5.4).

    "post" is the paper's LayerNorm(x + Dropout(Sublayer(x))); "pre" is x + Dropout(Sublayer(LayerNorm(x))).
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.norm_first = config.norm == "pre"
        self.norm = normalization(config)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self,
        x: Float[Tensor, "batch token d_model"],
        sublayer: Callable[[Float[Tensor, "batch token d_model"]], Float[Tensor, "batch token d_model"]],
    ) -> Float[Tensor, "batch token d_model"]:
        if self.norm_first:
            return x + self.dropout(sublayer(self.norm(x)))
        return self.norm(x + self.dropout(sublayer(x)))


def attention(config: TransformerConfig, rotary: bool) -> MultiHeadAttention:
    """Multi-head attention of the sizes that `config` names."""
    return MultiHeadAttention(
        config.d_model, config.num_heads, config.head_size, config.attention_bias, config.scale_scores, rotary
    )


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward (section 3.1, "Encoder")."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.self_attention = attention(config, rotary=config.positions == "rotary")
        self.add_and_norm_1 = AddAndNorm(config)
        self.has_feed_forward = config.d_ff > 0
        if self.has_feed_forward:
            self.feed_forward = FeedForward(config)
            self.add_and_norm_2 = AddAndNorm(config)

    def forward(
        self,
        x: Float[Tensor, "batch source d_model"],
        source_mask: Bool[Tensor, "batch 1 source"] | None = None,
        bias: Float[Tensor, "head source source"] | None = None,
    ) -> Float[Tensor, "batch source d_model"]:
        x = self.add_and_norm_1(x, lambda y: self.self_attention(y, y, y, source_mask, bias))
        return self.add_and_norm_2(x, self.feed_forward) if self.has_feed_forward else x


@dataclass
class LayerCache:
    """Keys and values that one decoder layer has already computed, so that each new token costs one row."""

    keys: Float[Tensor, "batch head target d_k"] | None = None
    values: Float[Tensor, "batch head target d_k"] | None = None
    memory: tuple[Float[Tensor, "batch head source d_k"], Float[Tensor, "batch head source d_k"]] | None = None

    @property
    def length(self) -> int:
        """Number of target tokens seen so far."""
        return 0 if self.keys is None else self.keys.size(2)

    def extend(
        self, keys: Float[Tensor, "batch head new d_k"], values: Float[Tensor, "batch head new d_k"]
    ) -> tuple[Float[Tensor, "batch head target d_k"], Float[Tensor, "batch head target d_k"]]:
        """Append the new tokens' keys and values; returns those of all tokens so far."""
        if self.keys is not None and self.values is not None:
            keys, values = torch.cat([self.keys, keys], dim=2), torch.cat([self.values, values], dim=2)
        self.keys, self.values = keys, values
        return keys, values

    def select(self, rows: Int[Tensor, " rows"]) -> None:
        """Keep these rows of the batch, in this order: what beam search does when it keeps its best hypotheses."""
        if self.keys is not None and self.values is not None:
            self.keys, self.values = self.keys[rows], self.values[rows]
        if self.memory is not None:
            self.memory = self.memory[0][rows], self.memory[1][rows]


class DecoderLayer(nn.Module):
    """Masked self-attention, attention to the encoder's output, feed-forward (section 3.1, "Decoder").

    A decoder without an encoder has no attention to its output (Liu et al. 2018; GPT).
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.self_attention = attention(config, rotary=config.positions == "rotary")
        self.add_and_norm_1 = AddAndNorm(config)
        self.has_cross_attention = config.num_encoder_layers > 0
        if self.has_cross_attention:
            self.cross_attention = attention(config, rotary=False)
            self.add_and_norm_2 = AddAndNorm(config)
        self.has_feed_forward = config.d_ff > 0
        if self.has_feed_forward:
            self.feed_forward = FeedForward(config)
            self.add_and_norm_3 = AddAndNorm(config)

    def forward(
        self,
        x: Float[Tensor, "batch target d_model"],
        memory: Float[Tensor, "batch source d_model"] | None = None,
        target_mask: Bool[Tensor, "..."] | None = None,
        memory_mask: Bool[Tensor, "batch 1 source"] | None = None,
        cache: LayerCache | None = None,
        bias: Float[Tensor, "head target key"] | None = None,
    ) -> Float[Tensor, "batch target d_model"]:
        """One layer. With a cache, `x` holds only the tokens that the cache has not seen yet."""
        start = 0 if cache is None else cache.length

        def attend_to_target(y: Tensor) -> Tensor:
            keys, values = self.self_attention.project_keys_values(y, y, start)
            if cache is not None:
                keys, values = cache.extend(keys, values)
            return self.self_attention.attend(y, keys, values, target_mask, bias, start)

        def attend_to_memory(y: Tensor) -> Tensor:
            if cache is None:
                return self.cross_attention(y, memory, memory, memory_mask)
            if cache.memory is None:
                cache.memory = self.cross_attention.project_keys_values(memory, memory)
            return self.cross_attention.attend(y, *cache.memory, memory_mask)

        x = self.add_and_norm_1(x, attend_to_target)
        if self.has_cross_attention:
            x = self.add_and_norm_2(x, attend_to_memory)
        return self.add_and_norm_3(x, self.feed_forward) if self.has_feed_forward else x
