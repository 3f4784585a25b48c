"""The encoder-only Transformer: BERT (Devlin et al. 2019), which guesses masked words."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_core.model.attention import padding_mask
from transformer_core.model.config import TransformerConfig
from transformer_core.model.embedding import Embedding, output_matrix, token_logits
from transformer_core.model.layers import ACTIVATIONS, normalization
from transformer_core.model.stacks import Encoder


class MaskedLanguageModel(nn.Module):
    """Reads a whole text at once and says what every token might be. With `TransformerConfig.bert` it is BERT.

    Between the encoder and the vocabulary stand one more layer and, on the logits, a bias (as in BERT's own code).
    Sequences are padded on the right with `config.pad_id`.

    Raises:
        ValueError: `config` has a decoder, or no vocabulary.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        if config.num_decoder_layers or not config.vocab_size:
            raise ValueError("an encoder-only model has num_decoder_layers=0 and a vocabulary")
        self.config = config
        self.embedding = Embedding(config)
        self.encoder = Encoder(config)
        self.dense = nn.Linear(config.d_model, config.d_model)
        nn.init.xavier_uniform_(self.dense.weight)
        nn.init.zeros_(self.dense.bias)
        self.activation = ACTIVATIONS[config.activation]
        self.dense_norm = normalization(config)
        self.output = output_matrix(config)
        self.output_bias = nn.Parameter(torch.zeros(config.vocab_size))

    def forward(
        self, token_ids: Int[Tensor, "batch token"], segment_ids: Int[Tensor, "batch token"] | None = None
    ) -> Float[Tensor, "batch token vocab"]:
        """Logits of what each token might be.

        Args:
            segment_ids: which text of a pair each token belongs to; the first if not given.

        Raises:
            ValueError: more tokens than the model's max_length, or segments for a model without.
        """
        return self.logits(self.hidden(token_ids, segment_ids))

    def hidden(
        self, token_ids: Int[Tensor, "batch token"], segment_ids: Int[Tensor, "batch token"] | None = None
    ) -> Float[Tensor, "batch token d_model"]:
        """The encoder's vectors."""
        mask = padding_mask(token_ids, self.config.pad_id)
        return self.encoder(self.embedding(token_ids, segment_ids=segment_ids), None if mask.all() else mask)

    def logits(self, hidden: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch vocab"]:
        """What the encoder's vectors say about the tokens."""
        hidden = self.dense_norm(self.activation(self.dense(hidden)))
        return token_logits(hidden, self.embedding, self.output, self.config) + self.output_bias
