"""The encoder and the decoder: stacks of N identical layers (section 3.1)."""

from jaxtyping import Bool, Float
from torch import Tensor, nn

from transformer_core.model.attention import causal_mask
from transformer_core.model.config import TransformerConfig
from transformer_core.model.layers import DecoderLayer, EncoderLayer, LayerCache, last_norm
from transformer_core.model.positions import position_bias


class Encoder(nn.Module):
    """A stack of N identical layers (section 3.1)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.position_bias = position_bias(config, bidirectional=True)
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.num_encoder_layers))
        self.norm = last_norm(config)

    def forward(
        self, x: Float[Tensor, "batch source d_model"], source_mask: Bool[Tensor, "batch 1 source"] | None = None
    ) -> Float[Tensor, "batch source d_model"]:
        bias = None if self.position_bias is None else self.position_bias(x.size(1), x.size(1), x.device)
        for layer in self.layers:
            x = layer(x, source_mask, bias)
        return self.norm(x)


class Decoder(nn.Module):
    """A stack of N identical layers that see no later token; after an encoder, they also attend to its output."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.position_bias = position_bias(config, bidirectional=False)
        self.layers = nn.ModuleList(DecoderLayer(config) for _ in range(config.num_decoder_layers))
        self.norm = last_norm(config)

    def forward(
        self,
        x: Float[Tensor, "batch target d_model"],
        memory: Float[Tensor, "batch source d_model"] | None = None,
        memory_mask: Bool[Tensor, "batch 1 source"] | None = None,
        cache: list[LayerCache] | None = None,
    ) -> Float[Tensor, "batch target d_model"]:
        """Vectors of the target tokens; with a cache, `x` holds those that it has not seen yet."""
        start, new = 0 if cache is None else cache[0].length, x.size(1)
        # Padding stands on the right, so the causal mask alone keeps every real token from seeing it. The only new
        # token sees all there are.
        mask = causal_mask(start + new, x.device)[start:] if start == 0 or new > 1 else None
        bias = None if self.position_bias is None else self.position_bias(new, start + new, x.device, start)
        for index, layer in enumerate(self.layers):
            x = layer(x, memory, mask, memory_mask, cache[index] if cache is not None else None, bias)
        return self.norm(x)

    def new_cache(self) -> list[LayerCache]:
        """An empty cache for decoding token by token."""
        return [LayerCache() for _ in self.layers]
