"""The encoder-decoder Transformer (section 3, Figure 1)."""

import math

import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from transformer_core.model.attention import causal_mask, padding_mask
from transformer_core.model.config import TransformerConfig
from transformer_core.model.layers import DecoderLayer, EncoderLayer, LayerCache
from transformer_core.model.positions import sinusoidal_encoding


class Embedding(nn.Module):
    """Token vectors times sqrt(d_model), plus positions, with dropout on the sum (sections 3.4, 3.5 and 5.4).

    The vectors start as a normal of variance 1 / d_model, so that after the scaling they are as large as the
    sinusoids that are added to them.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.tokens = nn.Embedding(config.vocab_size, config.d_model)
        nn.init.normal_(self.tokens.weight, std=config.d_model**-0.5)
        self.scale = math.sqrt(config.d_model)
        self.max_length = config.max_length
        positions = sinusoidal_encoding(config.max_length, config.d_model)
        self.register_buffer("positions", positions, persistent=False)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, token_ids: Int[Tensor, "batch token"], start: int = 0) -> Float[Tensor, "batch token d_model"]:
        """Embed tokens that stand at positions start, start + 1, ...

        Raises:
            ValueError: a position beyond the model's max_length.
        """
        end = start + token_ids.size(1)
        if end > self.max_length:
            raise ValueError(f"{end} tokens are more than this model's max_length of {self.max_length}")
        return self.dropout(self.tokens(token_ids) * self.scale + self.positions[start:end])


class Encoder(nn.Module):
    """A stack of N identical layers (section 3.1)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.num_encoder_layers))
        self.norm = nn.LayerNorm(config.d_model) if config.norm == "pre" else nn.Identity()

    def forward(
        self, x: Float[Tensor, "batch source d_model"], source_mask: Bool[Tensor, "batch 1 source"] | None
    ) -> Float[Tensor, "batch source d_model"]:
        for layer in self.layers:
            x = layer(x, source_mask)
        return self.norm(x)


class Decoder(nn.Module):
    """A stack of N identical layers that also attend to the encoder's output (section 3.1)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.layers = nn.ModuleList(DecoderLayer(config) for _ in range(config.num_decoder_layers))
        self.norm = nn.LayerNorm(config.d_model) if config.norm == "pre" else nn.Identity()

    def forward(
        self,
        x: Float[Tensor, "batch target d_model"],
        memory: Float[Tensor, "batch source d_model"],
        target_mask: Bool[Tensor, "..."] | None,
        memory_mask: Bool[Tensor, "batch 1 source"] | None,
        cache: list[LayerCache] | None = None,
    ) -> Float[Tensor, "batch target d_model"]:
        for index, layer in enumerate(self.layers):
            x = layer(x, memory, target_mask, memory_mask, cache[index] if cache is not None else None)
        return self.norm(x)


class Transformer(nn.Module):
    """The Transformer. Source, target and output share one matrix of token vectors (section 3.4).

    Sequences are padded on the right with `config.pad_id`.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = Embedding(config)
        self.encoder = Encoder(config)
        self.decoder = Decoder(config)

    def forward(
        self, source_ids: Int[Tensor, "batch source"], target_ids: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target vocab"]:
        """Next-token logits at every target position, given the target up to there (teacher forcing)."""
        return self.logits(self.hidden(source_ids, target_ids))

    def hidden(
        self, source_ids: Int[Tensor, "batch source"], target_ids: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target d_model"]:
        """The decoder's last vectors, from which `logits` reads the next token."""
        return self.decode(target_ids, self.encode(source_ids), self.source_mask(source_ids))

    def source_mask(self, source_ids: Int[Tensor, "batch source"]) -> Bool[Tensor, "batch 1 source"] | None:
        """Which source tokens may be attended to; None where all may."""
        mask = padding_mask(source_ids, self.config.pad_id)
        return None if mask.all() else mask

    def encode(self, source_ids: Int[Tensor, "batch source"]) -> Float[Tensor, "batch source d_model"]:
        """Read the source: one vector for every source token."""
        return self.encoder(self.embedding(source_ids), self.source_mask(source_ids))

    def decode(
        self,
        target_ids: Int[Tensor, "batch target"],
        memory: Float[Tensor, "batch source d_model"],
        memory_mask: Bool[Tensor, "batch 1 source"] | None,
        cache: list[LayerCache] | None = None,
    ) -> Float[Tensor, "batch target d_model"]:
        """Vectors of the target tokens. With a cache from `new_cache`, pass only the token that was added last."""
        if cache is None:
            # Padding stands on the right, so the causal mask alone keeps every real token from seeing it.
            start, mask = 0, causal_mask(target_ids.size(1), target_ids.device)
        elif target_ids.size(1) == 1:
            start, mask = cache[0].length, None
        else:
            raise ValueError(f"decoding with a cache takes one token at a time, not {target_ids.size(1)}")
        return self.decoder(self.embedding(target_ids, start), memory, mask, memory_mask, cache)

    def new_cache(self) -> list[LayerCache]:
        """An empty cache for decoding token by token."""
        return [LayerCache() for _ in self.decoder.layers]

    def logits(self, hidden: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch vocab"]:
        """The pre-softmax transformation, with the shared matrix (section 3.4)."""
        return F.linear(hidden, self.embedding.tokens.weight)
