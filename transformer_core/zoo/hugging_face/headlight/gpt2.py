"""GPT-2 (Radford et al. 2019): the weights of a GPT2LMHeadModel in a `LanguageModel`."""

from collections.abc import Mapping
from typing import Any

from jaxtyping import Int
from torch import Tensor
from transformers import Cache, GenerationMixin, GPT2Config
from transformers.modeling_outputs import CausalLMOutput

from transformer_core.model import TransformerConfig
from transformer_core.zoo.hugging_face.headlight.cache import layer_caches
from transformer_core.zoo.hugging_face.headlight.network import Network
from transformer_core.zoo.hugging_face.headlight.renaming import activation, layers, refuse, renamed

LAYER = {
    "add_and_norm_1.norm": "ln_1",
    "self_attention.w_q": "attn.query",
    "self_attention.w_k": "attn.key",
    "self_attention.w_v": "attn.value",
    "self_attention.w_o": "attn.c_proj",
    "add_and_norm_3.norm": "ln_2",
    "feed_forward.w_1": "mlp.c_fc",
    "feed_forward.w_2": "mlp.c_proj",
}
"""The attention's query, key and value are one matrix c_attn there; see `_as_linear`."""


def config_of(hf_config: GPT2Config) -> TransformerConfig:
    """The sizes and choices of a GPT-2.

    Raises:
        InputError: the checkpoint uses what Headlight's GPT-2 does not have.
    """
    refuse(
        "GPT-2",
        {
            "cross attention": hf_config.add_cross_attention,
            "scores divided by the layer's number (scale_attn_by_inverse_layer_idx)": (
                hf_config.scale_attn_by_inverse_layer_idx
            ),
        },
    )
    return TransformerConfig.gpt2(
        vocab_size=hf_config.vocab_size,
        d_model=hf_config.n_embd,
        num_heads=hf_config.n_head,
        num_decoder_layers=hf_config.n_layer,
        d_ff=4 * hf_config.n_embd if hf_config.n_inner is None else hf_config.n_inner,
        dropout=hf_config.resid_pdrop,
        max_length=hf_config.n_positions,
        activation=activation("GPT-2", hf_config.activation_function),
        norm_epsilon=hf_config.layer_norm_epsilon,
        scale_scores=hf_config.scale_attn_weights,
        share_output=hf_config.tie_word_embeddings,
    )


def weights_of(tensors: Mapping[str, Tensor], config: TransformerConfig) -> dict[str, Tensor]:
    """The state dict of a `LanguageModel` from that of a GPT2LMHeadModel.

    Raises:
        ValueError: a tensor is missing or left over.
    """
    names = {
        "embedding.tokens.weight": "transformer.wte.weight",
        "embedding.learned_positions.weight": "transformer.wpe.weight",
        **layers("decoder.layers.{}", "transformer.h.{}", config.num_decoder_layers, LAYER),
        "decoder.norm.weight": "transformer.ln_f.weight",
        "decoder.norm.bias": "transformer.ln_f.bias",
    }
    if config.share_output:
        return renamed(_as_linear(tensors), names, {"lm_head.weight": names["embedding.tokens.weight"]})
    return renamed(_as_linear(tensors), names | {"output.weight": "lm_head.weight"})


def _as_linear(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """GPT-2's matrices as those of `nn.Linear`: turned, and c_attn cut into query, key and value."""
    linear = {}
    for name, tensor in tensors.items():
        if ".c_" in name and name.endswith(".weight"):
            tensor = tensor.T.contiguous()
        if ".c_attn." in name:
            for part, piece in zip(("query", "key", "value"), tensor.chunk(3), strict=True):
                linear[name.replace("c_attn", part)] = piece
        else:
            linear[name] = tensor
    return linear


class GPT2Network(Network, GenerationMixin):
    """A `LanguageModel` that is called like a GPT2LMHeadModel and writes with its `generate`."""

    def forward(
        self,
        input_ids: Int[Tensor, "batch token"],
        cache: Cache | None = None,
        logits_to_keep: int = 0,
        **kwargs: Any,
    ) -> CausalLMOutput:
        hidden = self.model.hidden(input_ids, layer_caches(cache, self.model.decoder))
        return CausalLMOutput(logits=self.model.logits(hidden[:, -logits_to_keep:]))
