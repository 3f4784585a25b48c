"""The same Transformer built from torch.nn.Transformer, to measure beside ours."""

from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_core.model import TransformerConfig, causal_mask
from transformer_core.model.embedding import Embedding


class TorchTransformer(nn.Module):
    """torch.nn.Transformer between our embedding and the output matrix that it shares.

    Args:
        as_it_comes: keep what torch.nn.Transformer adds to the paper's model: dropout on attention weights and inside
            the feed-forward layers, and a last LayerNorm on both stacks, post-norm or not. Without these it computes
            what ours does, but for the biases of its attention projections, which cannot be left out one by one.
    """

    def __init__(self, config: TransformerConfig, as_it_comes: bool) -> None:
        super().__init__()
        self.config = config
        self.embedding = Embedding(config)
        self.transformer = nn.Transformer(
            d_model=config.d_model,
            nhead=config.num_heads,
            num_encoder_layers=config.num_encoder_layers,
            num_decoder_layers=config.num_decoder_layers,
            dim_feedforward=config.d_ff,
            dropout=config.dropout,
            batch_first=True,
            norm_first=config.norm == "pre",
        )
        if not as_it_comes:
            self._reduce_to_the_paper()

    def _reduce_to_the_paper(self) -> None:
        encoder, decoder = self.transformer.encoder, self.transformer.decoder
        if self.config.norm == "post":
            encoder.norm = decoder.norm = None
        for layer in [*encoder.layers, *decoder.layers]:
            layer.dropout = nn.Identity()
        for module in self.modules():
            if isinstance(module, nn.MultiheadAttention):
                module.dropout = 0.0

    def forward(
        self, source_ids: Int[Tensor, "batch source"], target_ids: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target vocab"]:
        """Next-token logits. The masks are those that let torch.nn.Transformer choose its fastest kernels."""
        padding = source_ids == self.config.pad_id
        padding = padding if padding.any() else None
        hidden = self.transformer(
            self.embedding(source_ids),
            self.embedding(target_ids),
            # Padding stands on the right, so the causal mask is enough; here True means "not allowed".
            tgt_mask=~causal_mask(target_ids.size(1), target_ids.device),
            tgt_is_causal=True,
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
        )
        return nn.functional.linear(hidden, self.embedding.tokens.weight)
