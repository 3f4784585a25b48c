"""BERT (Devlin et al. 2019, arXiv 1810.04805): the weights of a BertForMaskedLM in a `MaskedLanguageModel`."""

from collections.abc import Mapping
from typing import Any

from jaxtyping import Int
from torch import Tensor
from transformers import BertConfig
from transformers.modeling_outputs import MaskedLMOutput

from transformer_core.model import TransformerConfig
from transformer_core.zoo.hugging_face.headlight.network import Network, attention_allowed
from transformer_core.zoo.hugging_face.headlight.renaming import activation, layers, refuse, renamed

LAYER = {
    "self_attention.w_q": "attention.self.query",
    "self_attention.w_k": "attention.self.key",
    "self_attention.w_v": "attention.self.value",
    "self_attention.w_o": "attention.output.dense",
    "add_and_norm_1.norm": "attention.output.LayerNorm",
    "feed_forward.w_1": "intermediate.dense",
    "feed_forward.w_2": "output.dense",
    "add_and_norm_2.norm": "output.LayerNorm",
}


def config_of(hf_config: BertConfig) -> TransformerConfig:
    """The sizes and choices of a BERT.

    Raises:
        InputError: the checkpoint uses what Headlight's BERT does not have.
    """
    refuse(
        "BERT",
        {
            "decoder": hf_config.is_decoder,
            "cross attention": hf_config.add_cross_attention,
            "relative positions": getattr(hf_config, "position_embedding_type", "absolute") != "absolute",
        },
    )
    return TransformerConfig.bert(
        vocab_size=hf_config.vocab_size,
        d_model=hf_config.hidden_size,
        num_heads=hf_config.num_attention_heads,
        num_encoder_layers=hf_config.num_hidden_layers,
        d_ff=hf_config.intermediate_size,
        dropout=hf_config.hidden_dropout_prob,
        max_length=hf_config.max_position_embeddings,
        pad_id=hf_config.pad_token_id or 0,
        activation=activation("BERT", hf_config.hidden_act),
        norm_epsilon=hf_config.layer_norm_eps,
        share_output=hf_config.tie_word_embeddings,
        num_segments=hf_config.type_vocab_size,
    )


def weights_of(tensors: Mapping[str, Tensor], config: TransformerConfig) -> dict[str, Tensor]:
    """The state dict of a `MaskedLanguageModel` from that of a BertForMaskedLM.

    Raises:
        ValueError: a tensor is missing or left over.
    """
    names = {
        "embedding.tokens.weight": "bert.embeddings.word_embeddings.weight",
        "embedding.learned_positions.weight": "bert.embeddings.position_embeddings.weight",
        "embedding.segments.weight": "bert.embeddings.token_type_embeddings.weight",
        "embedding.norm.weight": "bert.embeddings.LayerNorm.weight",
        "embedding.norm.bias": "bert.embeddings.LayerNorm.bias",
        **layers("encoder.layers.{}", "bert.encoder.layer.{}", config.num_encoder_layers, LAYER),
        "dense.weight": "cls.predictions.transform.dense.weight",
        "dense.bias": "cls.predictions.transform.dense.bias",
        "dense_norm.weight": "cls.predictions.transform.LayerNorm.weight",
        "dense_norm.bias": "cls.predictions.transform.LayerNorm.bias",
        "output_bias": "cls.predictions.decoder.bias",
    }
    if not config.share_output:
        names["output.weight"] = "cls.predictions.decoder.weight"
        # transformers keeps this second bias, but adds the decoder's.
        return renamed(tensors, names, unused=["cls.predictions.bias"])
    shared = {"cls.predictions.decoder.weight": names["embedding.tokens.weight"]}
    return renamed(tensors, names, shared | {"cls.predictions.bias": names["output_bias"]})


class BertNetwork(Network):
    """A `MaskedLanguageModel` that is called like a BertForMaskedLM."""

    def forward(
        self,
        input_ids: Int[Tensor, "batch token"],
        attention_mask: Int[Tensor, "batch token"] | None = None,
        token_type_ids: Int[Tensor, "batch token"] | None = None,
        **kwargs: Any,
    ) -> MaskedLMOutput:
        embedded = self.model.embedding(input_ids, segment_ids=token_type_ids)
        hidden = self.model.encoder(embedded, attention_allowed(attention_mask))
        return MaskedLMOutput(logits=self.model.logits(hidden))
