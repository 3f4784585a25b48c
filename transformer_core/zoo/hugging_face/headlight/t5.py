"""T5 (Raffel et al. 2020, arXiv 1910.10683), the first release: a T5ForConditionalGeneration in a `Transformer`."""

import sys
from collections.abc import Mapping
from typing import Any

from jaxtyping import Int
from torch import Tensor, nn
from transformers import Cache, GenerationMixin, T5Config
from transformers.modeling_outputs import BaseModelOutput, Seq2SeqLMOutput

from transformer_core.model import TransformerConfig
from transformer_core.zoo.hugging_face.headlight.cache import layer_caches
from transformer_core.zoo.hugging_face.headlight.network import Network, attention_allowed
from transformer_core.zoo.hugging_face.headlight.renaming import activation, layers, refuse, renamed

NO_LIMIT = sys.maxsize
"""A T5 reads texts of any length: far tokens share a bucket."""


def _attention(ours: str, theirs: str) -> dict[str, str]:
    return {f"{ours}.w_{part}": f"{theirs}.{part}" for part in "qkvo"}


def _feed_forward(norm: str, layer: int) -> dict[str, str]:
    return {
        f"add_and_norm_{norm}.norm": f"layer.{layer}.layer_norm",
        "feed_forward.w_1": f"layer.{layer}.DenseReluDense.wi",
        "feed_forward.w_2": f"layer.{layer}.DenseReluDense.wo",
    }


SELF_ATTENTION = {
    "add_and_norm_1.norm": "layer.0.layer_norm",
    **_attention("self_attention", "layer.0.SelfAttention"),
}
ENCODER_LAYER = SELF_ATTENTION | _feed_forward("2", 1)
DECODER_LAYER = {
    **SELF_ATTENTION,
    "add_and_norm_2.norm": "layer.1.layer_norm",
    **_attention("cross_attention", "layer.1.EncDecAttention"),
    **_feed_forward("3", 2),
}
BIAS = "{}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
"""A stack's first layer holds the table that all its layers use."""


def config_of(hf_config: T5Config) -> TransformerConfig:
    """The sizes and choices of a T5 of the first release.

    Raises:
        InputError: the checkpoint uses what Headlight's T5 does not have, as those of release 1.1 and later do.
    """
    refuse(
        "T5",
        {
            f"gated feed-forward layers ({hf_config.feed_forward_proj})": hf_config.is_gated_act,
            "output matrix of its own (tie_word_embeddings false)": not hf_config.scale_decoder_outputs,
            "other numbers of buckets and distances than 32 and 128": (
                (hf_config.relative_attention_num_buckets, hf_config.relative_attention_max_distance) != (32, 128)
            ),
        },
    )
    return TransformerConfig.t5(
        vocab_size=hf_config.vocab_size,
        d_model=hf_config.d_model,
        num_heads=hf_config.num_heads,
        num_encoder_layers=hf_config.num_layers,
        num_decoder_layers=hf_config.num_decoder_layers,
        d_ff=hf_config.d_ff,
        dropout=hf_config.dropout_rate,
        max_length=NO_LIMIT,
        pad_id=hf_config.pad_token_id or 0,
        head_size=hf_config.d_kv,
        activation=activation("T5", hf_config.dense_act_fn),
        norm_epsilon=hf_config.layer_norm_epsilon,
    )


def weights_of(tensors: Mapping[str, Tensor], config: TransformerConfig) -> dict[str, Tensor]:
    """The state dict of a `Transformer` from that of a T5ForConditionalGeneration.

    Raises:
        ValueError: a tensor is missing or left over, or the output matrix is not the token vectors.
    """
    shared = "shared.weight"
    stacks = {
        "encoder": (config.num_encoder_layers, ENCODER_LAYER),
        "decoder": (config.num_decoder_layers, DECODER_LAYER),
    }
    names = {"embedding.tokens.weight": shared}
    for stack, (number, layer) in stacks.items():
        names[f"{stack}.position_bias.buckets.weight"] = BIAS.format(stack)
        names |= layers(f"{stack}.layers.{{}}", f"{stack}.block.{{}}", number, layer, parts=["weight"])
        names[f"{stack}.norm.weight"] = f"{stack}.final_layer_norm.weight"
    copies = dict.fromkeys(("encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight"), shared)
    return renamed(tensors, names, copies)


class T5Network(Network, GenerationMixin):
    """A `Transformer` that is called like a T5ForConditionalGeneration and writes with its `generate`."""

    def get_encoder(self, modality: str | None = None) -> nn.Module:
        return self.model.encoder

    def forward(
        self,
        input_ids: Int[Tensor, "batch source"] | None = None,
        attention_mask: Int[Tensor, "batch source"] | None = None,
        decoder_input_ids: Int[Tensor, "batch target"] | None = None,
        encoder_outputs: BaseModelOutput | None = None,
        cache: Cache | None = None,
        **kwargs: Any,
    ) -> Seq2SeqLMOutput:
        if encoder_outputs is None:
            encoder_outputs = self._encode(input_ids, attention_mask)
        hidden = self.model.decode(
            decoder_input_ids,
            encoder_outputs.last_hidden_state,
            attention_allowed(attention_mask),
            layer_caches(cache, self.model.decoder),
        )
        return Seq2SeqLMOutput(logits=self.model.logits(hidden))

    def generate(
        self,
        input_ids: Int[Tensor, "batch source"],
        attention_mask: Int[Tensor, "batch source"] | None = None,
        **options: Any,
    ) -> Int[Tensor, "batch target"]:
        # `GenerationMixin` would call the encoder with token ids; Headlight's reads their vectors.
        encoded = self._encode(input_ids, attention_mask)
        return super().generate(input_ids, attention_mask=attention_mask, encoder_outputs=encoded, **options)

    def _encode(
        self, input_ids: Int[Tensor, "batch source"], attention_mask: Int[Tensor, "batch source"] | None
    ) -> BaseModelOutput:
        return BaseModelOutput(self.model.encoder(self.model.embedding(input_ids), attention_allowed(attention_mask)))
