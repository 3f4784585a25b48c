"""Tokens and positions as vectors (sections 3.4 and 3.5)."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_core.model.config import TransformerConfig
from transformer_core.model.layers import normalization
from transformer_core.model.positions import sinusoidal_encoding

LEARNED_STD = 0.02
"""Standard deviation of the starting values of what is learned and not scaled (BERT, GPT-2, ViT)."""


def learned_vectors(number: int, d_model: int, std: float = LEARNED_STD) -> nn.Embedding:
    """A table of vectors that start as a normal of this standard deviation."""
    table = nn.Embedding(number, d_model)
    nn.init.normal_(table.weight, std=std)
    return table


class Embedding(nn.Module):
    """Token vectors times sqrt(d_model), plus positions, with dropout on the sum (sections 3.4, 3.5 and 5.4).

    The vectors start as a normal of variance 1 / d_model, so that after the scaling they are as large as the
    sinusoids that are added to them. Learned positions, segments and normalisation came later (BERT, GPT-2).
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        scaled = config.scale_embeddings
        self.tokens = learned_vectors(
            config.vocab_size, config.d_model, config.d_model**-0.5 if scaled else LEARNED_STD
        )
        self.scale = math.sqrt(config.d_model) if scaled else 1.0
        self.max_length = config.max_length
        self.kind = config.positions
        if self.kind == "sinusoidal":
            positions = sinusoidal_encoding(config.max_length, config.d_model)
            self.register_buffer("positions", positions, persistent=False)
        elif self.kind == "learned":
            self.learned_positions = learned_vectors(config.max_length, config.d_model)
        if config.num_segments:
            self.segments = learned_vectors(config.num_segments, config.d_model)
        self.norm = normalization(config) if config.norm_embeddings else nn.Identity()
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self,
        token_ids: Int[Tensor, "batch token"],
        start: int = 0,
        segment_ids: Int[Tensor, "batch token"] | None = None,
    ) -> Float[Tensor, "batch token d_model"]:
        """Embed tokens that stand at positions start, start + 1, ...

        Args:
            segment_ids: which text of a pair each token belongs to; the first if not given. Only for a model with
                segments.

        Raises:
            ValueError: a position beyond the model's max_length, or segments for a model without.
        """
        if segment_ids is not None and not hasattr(self, "segments"):
            raise ValueError("this model tells no segments apart (num_segments=0): leave segment_ids out")
        end = start + token_ids.size(1)
        if end > self.max_length:
            raise ValueError(f"{end} tokens are more than this model's max_length of {self.max_length}")
        x = self.tokens(token_ids) * self.scale
        if self.kind == "sinusoidal":
            x = x + self.positions[start:end]
        elif self.kind == "learned":
            x = x + self.learned_positions(torch.arange(start, end, device=token_ids.device))
        if hasattr(self, "segments"):
            x = x + self.segments(torch.zeros_like(token_ids) if segment_ids is None else segment_ids)
        return self.dropout(self.norm(x))


def output_matrix(config: TransformerConfig) -> nn.Linear | None:
    """The pre-softmax transformation, where it does not share the matrix of token vectors (section 3.4)."""
    if config.share_output:
        return None
    output = nn.Linear(config.d_model, config.vocab_size, bias=False)
    nn.init.xavier_uniform_(output.weight)
    return output


def token_logits(
    hidden: Float[Tensor, "*batch d_model"], embedding: Embedding, output: nn.Linear | None, config: TransformerConfig
) -> Float[Tensor, "*batch vocab"]:
    """A score for every token of the vocabulary."""
    if config.scale_logits:
        hidden = hidden * config.d_model**-0.5
    return F.linear(hidden, embedding.tokens.weight) if output is None else output(hidden)
