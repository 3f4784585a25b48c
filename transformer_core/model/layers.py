"""The layers of encoder and decoder (sections 3.1 and 3.3): attention, feed-forward, Add & Norm."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from transformer_core.model.attention import MultiHeadAttention
from transformer_core.model.config import TransformerConfig


class FeedForward(nn.Module):
    """FFN(x) = max(0, x W_1 + b_1) W_2 + b_2, at every position alike (equation 2)."""

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.w_1 = nn.Linear(d_model, d_ff)
        self.w_2 = nn.Linear(d_ff, d_model)
        for linear in (self.w_1, self.w_2):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_model"]:
        return self.w_2(torch.relu(self.w_1(x)))


class AddAndNorm(nn.Module):
    """The residual connection, dropout and layer normalisation around every sub-layer (sections 3.1 and 5.4).

    "post" is the paper's LayerNorm(x + Dropout(Sublayer(x))); "pre" is x + Dropout(Sublayer(LayerNorm(x))).
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.norm_first = config.norm == "pre"
        self.norm = nn.LayerNorm(config.d_model)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self,
        x: Float[Tensor, "batch token d_model"],
        sublayer: Callable[[Float[Tensor, "batch token d_model"]], Float[Tensor, "batch token d_model"]],
    ) -> Float[Tensor, "batch token d_model"]:
        if self.norm_first:
            return x + self.dropout(sublayer(self.norm(x)))
        return self.norm(x + self.dropout(sublayer(x)))


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward (section 3.1, "Encoder")."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(config.d_model, config.num_heads)
        self.add_and_norm_1 = AddAndNorm(config)
        self.feed_forward = FeedForward(config.d_model, config.d_ff)
        self.add_and_norm_2 = AddAndNorm(config)

    def forward(
        self, x: Float[Tensor, "batch source d_model"], source_mask: Bool[Tensor, "batch 1 source"] | None = None
    ) -> Float[Tensor, "batch source d_model"]:
        x = self.add_and_norm_1(x, lambda y: self.self_attention(y, y, y, source_mask))
        return self.add_and_norm_2(x, self.feed_forward)


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

    def select(self, rows: Tensor) -> None:
        """Keep these rows of the batch, in this order: what beam search does when it keeps its best hypotheses."""
        if self.keys is not None and self.values is not None:
            self.keys, self.values = self.keys[rows], self.values[rows]
        if self.memory is not None:
            self.memory = self.memory[0][rows], self.memory[1][rows]


class DecoderLayer(nn.Module):
    """Masked self-attention, attention to the encoder's output, feed-forward (section 3.1, "Decoder")."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(config.d_model, config.num_heads)
        self.add_and_norm_1 = AddAndNorm(config)
        self.cross_attention = MultiHeadAttention(config.d_model, config.num_heads)
        self.add_and_norm_2 = AddAndNorm(config)
        self.feed_forward = FeedForward(config.d_model, config.d_ff)
        self.add_and_norm_3 = AddAndNorm(config)

    def forward(
        self,
        x: Float[Tensor, "batch target d_model"],
        memory: Float[Tensor, "batch source d_model"],
        target_mask: Bool[Tensor, "..."] | None = None,
        memory_mask: Bool[Tensor, "batch 1 source"] | None = None,
        cache: LayerCache | None = None,
    ) -> Float[Tensor, "batch target d_model"]:
        """One layer. With a cache, `x` holds only the tokens that the cache has not seen yet."""

        def attend_to_target(y: Tensor) -> Tensor:
            keys, values = self.self_attention.project_keys_values(y, y)
            if cache is not None:
                keys, values = cache.extend(keys, values)
            return self.self_attention.attend(y, keys, values, target_mask)

        def attend_to_memory(y: Tensor) -> Tensor:
            if cache is None:
                return self.cross_attention(y, memory, memory, memory_mask)
            if cache.memory is None:
                cache.memory = self.cross_attention.project_keys_values(memory, memory)
            return self.cross_attention.attend(y, *cache.memory, memory_mask)

        x = self.add_and_norm_1(x, attend_to_target)
        x = self.add_and_norm_2(x, attend_to_memory)
        return self.add_and_norm_3(x, self.feed_forward)
