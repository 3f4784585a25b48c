"""The encoder-decoder Transformer (section 3, Figure 1)."""

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from transformer_core.model.attention import padding_mask
from transformer_core.model.config import TransformerConfig
from transformer_core.model.embedding import Embedding, output_matrix, token_logits
from transformer_core.model.layers import LayerCache
from transformer_core.model.stacks import Decoder, Encoder


class Transformer(nn.Module):
    """The Transformer. Source, target and output share one matrix of token vectors (section 3.4).

    Sequences are padded on the right with `config.pad_id`. With `TransformerConfig.t5` it is the T5 of Raffel et al.

    Raises:
        ValueError: `config` has no encoder, no decoder or no vocabulary.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        if not (config.num_encoder_layers and config.num_decoder_layers and config.vocab_size):
            raise ValueError(
                "an encoder-decoder has num_encoder_layers and num_decoder_layers of at least 1, and a vocabulary"
            )
        self.config = config
        self.embedding = Embedding(config)
        self.encoder = Encoder(config)
        self.decoder = Decoder(config)
        self.output = output_matrix(config)

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
        """Vectors of the target tokens. With a cache from `new_cache`, pass only the tokens that it has not seen."""
        start = 0 if cache is None else cache[0].length
        return self.decoder(self.embedding(target_ids, start), memory, memory_mask, cache)

    def new_cache(self) -> list[LayerCache]:
        """An empty cache for decoding token by token."""
        return self.decoder.new_cache()

    def logits(self, hidden: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch vocab"]:
        """The pre-softmax transformation, usually with the shared matrix (section 3.4)."""
        return token_logits(hidden, self.embedding, self.output, self.config)
