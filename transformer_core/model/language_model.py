"""The decoder-only Transformer: GPT (Radford et al. 2018, 2019), without an encoder (Liu et al. 2018)."""

from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_core.model.config import TransformerConfig
from transformer_core.model.embedding import Embedding, output_matrix, token_logits
from transformer_core.model.layers import LayerCache
from transformer_core.model.stacks import Decoder


class LanguageModel(nn.Module):
    """Reads tokens and says what comes next. With `TransformerConfig.gpt2` it is GPT-2.

    Sequences of a batch are padded on the right.

    Raises:
        ValueError: `config` has an encoder, or no vocabulary.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        if config.num_encoder_layers or not config.vocab_size:
            raise ValueError("a decoder-only model has num_encoder_layers=0 and a vocabulary")
        self.config = config
        self.embedding = Embedding(config)
        self.decoder = Decoder(config)
        self.output = output_matrix(config)

    def forward(self, token_ids: Int[Tensor, "batch token"]) -> Float[Tensor, "batch token vocab"]:
        """Next-token logits at every position, given the tokens up to there."""
        return self.logits(self.hidden(token_ids))

    def hidden(
        self, token_ids: Int[Tensor, "batch token"], cache: list[LayerCache] | None = None
    ) -> Float[Tensor, "batch token d_model"]:
        """The last vectors. With a cache from `new_cache`, pass only the tokens that it has not seen."""
        start = 0 if cache is None else cache[0].length
        return self.decoder(self.embedding(token_ids, start), cache=cache)

    def new_cache(self) -> list[LayerCache]:
        """An empty cache for writing token by token."""
        return self.decoder.new_cache()

    def logits(self, hidden: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch vocab"]:
        """The pre-softmax transformation, usually with the shared matrix (section 3.4)."""
        return token_logits(hidden, self.embedding, self.output, self.config)
