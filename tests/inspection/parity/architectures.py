"""The models of the parity suite, grouped by kind, all built small and from their configuration: nothing is downloaded.

The weights are random, and those of queries and keys large, so that the maps are far from uniform. Batches are padded:
decoders on the left, where the padding's own rows may attend to nothing, everything else on the right.
"""

import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import torch
from torch import Tensor, nn

from tests.inspection.parity import oracles, written_by_hand
from tests.inspection.parity.oracles import Oracle

Kind = Literal["encoder", "decoder", "cross", "self"]
Calls = tuple[tuple[str, Kind], ...]
"""The module that makes each call, in order, and the stack it belongs to."""

ROUTES = {"sdpa": ("fused",), "eager": ("written out",)}
LAYERS = 2
BATCH, LENGTH, TARGET_LENGTH = 2, 7, 5
SIDE = 16
"""Height and width of an image."""


@dataclass(frozen=True)
class Architecture:
    """One model, how it is run, and what is to be seen in it."""

    name: str
    build: Callable[[str], nn.Module]
    """Makes the model for one of `implementations`."""
    inputs: Callable[[nn.Module], dict[str, Any]]
    """The arguments of one run. Made anew for each: a cache grows while it is used."""
    calls: Calls
    implementations: tuple[str, ...] = ("sdpa", "eager")
    """"sdpa" and "eager" as in transformers: on the fused kernel, and written out."""
    oracles: dict[str, tuple[Oracle, ...]] = field(default_factory=lambda: oracles.USUAL)
    """Where the maps of each implementation come from."""
    routes: dict[str, tuple[str, ...]] = field(default_factory=lambda: ROUTES)
    """How each implementation attends."""
    blank: Tensor | None = None
    """(batch, query), true for queries that may attend to nothing."""
    keeps_maps: bool = False
    """Its way from queries and keys to weights is not a simple formula, so that the weights themselves are kept."""
    gap: str = ""
    """What the trace must say that it did not see, as a regular expression."""
    refused: str = ""
    """The reason for which nothing is recorded, as a regular expression."""
    sharpness: float = 2.0
    """What the weights of queries and keys are multiplied by."""
    training: bool = False
    grad: bool = False
    """Gradients are on, with which PyTorch's own modules leave their C++ fast path whether recorded or not."""
    dtype: torch.dtype = torch.float32
    output_rounding: float = 0.0
    """How far, relative to its size, the output may be from that of an unrecorded run: not at all."""
    remark: str = ""

    def __str__(self) -> str:
        return self.name


def model_of(architecture: Architecture, implementation: str) -> nn.Module:
    """The model with peaked maps, the same weights in every implementation."""
    torch.manual_seed(0)
    model = architecture.build(implementation)
    sharpen(model, architecture.sharpness)
    return model.to(architecture.dtype).train(architecture.training)


QUERY_OR_KEY = re.compile(
    r"(^|[._])(q|k|query|key|q_proj|k_proj|q_lin|k_lin|q_b_proj|kv_b_proj|q_norm|k_norm|qkv|qkv_proj|wqkv|c_attn"
    r"|in_proj|query_key_value|query_proj|key_proj|matrixn|query_layernorm|key_layernorm|wq|wk)(\.|_|$)"
)


@torch.no_grad()
def sharpen(model: nn.Module, sharpness: float) -> None:
    """Draw weights with which activations keep their size and maps are peaked. No bias stays zero, no norm stays 1."""
    draw = torch.Generator().manual_seed(1)
    for name, parameter in sorted(model.named_parameters()):
        noise = torch.randn(parameter.shape, generator=draw)
        if parameter.numel() == 0 or re.search("A_log|dt_", name):  # state-space layers need the values they come with
            continue
        if parameter.dim() < 2:
            parameter.add_(0.1 * noise)
        else:
            fan_in = parameter.size(-1) if "expert" in name else parameter[0].numel()
            parameter.copy_(noise * fan_in**-0.5)
        if QUERY_OR_KEY.search(name.lower()):
            parameter.mul_(sharpness)


# How a transformers model is built and run


def _draw_ids(length: int, seed: int) -> Tensor:
    return torch.randint(5, 80, (BATCH, length), generator=torch.Generator().manual_seed(seed))


def _padding(length: int, side: Literal["left", "right"], count: int = 2) -> Tensor:
    """The mask of a batch whose last text is `count` tokens shorter."""
    mask = torch.ones(BATCH, length, dtype=torch.long)
    mask[-1, slice(0, count) if side == "left" else slice(length - count, length)] = 0
    return mask


LEFT_PADDED = {"input_ids": _draw_ids(LENGTH, 0), "attention_mask": _padding(LENGTH, "left")}
RIGHT_PADDED = {"input_ids": _draw_ids(LENGTH, 0), "attention_mask": _padding(LENGTH, "right")}
PAIR = RIGHT_PADDED | {
    "decoder_input_ids": _draw_ids(TARGET_LENGTH, 1),
    "decoder_attention_mask": _padding(TARGET_LENGTH, "right", count=1),
}
IMAGE = {"pixel_values": torch.randn(BATCH, 3, SIDE, SIDE, generator=torch.Generator().manual_seed(2))}
SOUND = {"input_values": torch.randn(BATCH, 200, generator=torch.Generator().manual_seed(3))}

SIZES = {"hidden_size": 32, "num_hidden_layers": LAYERS, "num_attention_heads": 4, "intermediate_size": 48}
TEXT = SIZES | {
    "vocab_size": 90,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
GROUPED = TEXT | {"num_key_value_heads": 2, "head_dim": 8}
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
LATENT = TEXT | {
    "num_key_value_heads": 4,
    "q_lora_rank": 16,
    "kv_lora_rank": 16,
    "qk_rope_head_dim": 4,
    "qk_nope_head_dim": 8,
    "v_head_dim": 8,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "first_k_dense_replace": 1,
    "moe_intermediate_size": 16,
}
VISION = SIZES | {"image_size": SIDE, "patch_size": 8}
AUDIO = SIZES | {
    "vocab_size": 30,
    "conv_dim": (16, 16),
    "conv_stride": (5, 2),
    "conv_kernel": (10, 3),
    "num_feat_extract_layers": 2,
    "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 4,
}
BART = {
    "d_model": 32,
    "encoder_layers": LAYERS,
    "decoder_layers": LAYERS,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "vocab_size": 90,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 2,
}
T5 = {
    "d_model": 32,
    "d_kv": 8,
    "d_ff": 48,
    "num_layers": LAYERS,
    "num_decoder_layers": LAYERS,
    "num_heads": 4,
    "vocab_size": 90,
}


def _transformers_model(model_type: str, sizes: dict[str, Any], implementation: str) -> nn.Module:
    from transformers import AutoConfig, AutoModel

    config = AutoConfig.for_model(model_type, **sizes)
    # The usual experts are multiplied by a kernel that has no double precision.
    return AutoModel.from_config(config, attn_implementation=implementation, experts_implementation="eager")


def _transformers(
    name: str, model_type: str, sizes: dict[str, Any], inputs: dict[str, Any], calls: Calls, **options: Any
) -> Architecture:
    return Architecture(
        name=name,
        build=functools.partial(_transformers_model, model_type, sizes),
        inputs=lambda model: dict(inputs),
        calls=calls,
        **options,
    )


def _each_layer(*calls: tuple[str, Kind], layers: int = LAYERS) -> Calls:
    """The calls of every layer, {} standing for its number."""
    return tuple((name.format(layer), kind) for layer in range(layers) for name, kind in calls)


EAGER_ONLY = {"implementations": ("eager",)}
EVERY_SOFTMAX = {"sdpa": (oracles.softmax, oracles.kernel), "eager": (oracles.softmax,)}
MULTI_HEAD_OF_THE_KERNEL = {"sdpa": (oracles.multi_head,)}
MULTI_HEAD_WRITTEN_OUT = {"eager": (oracles.multi_head,)}
BY_FORMULA = {"eager": (oracles.formula,)}


# Encoders

PADDED_ROWS = RIGHT_PADDED["attention_mask"] == 0
BERT_CALLS = _each_layer(("encoder.layer.{}.attention.self", "encoder"))


def _encoder(name: str, model_type: str, calls: Calls = BERT_CALLS, sizes=TEXT, inputs=RIGHT_PADDED, **options):
    return _transformers(name, model_type, sizes, inputs, calls, **options)


ENCODERS = [
    _encoder("BERT", "bert"),
    _encoder("RoBERTa", "roberta"),
    _encoder("XLM-RoBERTa", "xlm-roberta"),
    _encoder("XLM-RoBERTa-XL", "xlm-roberta-xl"),
    _encoder("CamemBERT", "camembert"),
    _encoder("RoBERTa-PreLayerNorm", "roberta-prelayernorm"),
    _encoder("ELECTRA", "electra"),
    _encoder("ERNIE", "ernie"),
    _encoder("BertGeneration", "bert-generation"),
    _encoder("Data2VecText", "data2vec-text"),
    _encoder("LayoutLM", "layoutlm", sizes=TEXT | {"max_2d_position_embeddings": 16}),
    _encoder("ESM", "esm", sizes=TEXT | {"mask_token_id": 4}),
    _encoder(
        "MobileBERT",
        "mobilebert",
        sizes=TEXT | {"embedding_size": 16, "intra_bottleneck_size": 32, "num_feedforward_networks": 1},
    ),
    _encoder(
        "DistilBERT",
        "distilbert",
        _each_layer(("transformer.layer.{}.attention", "self")),
        sizes={
            "dim": 32,
            "n_layers": LAYERS,
            "n_heads": 4,
            "hidden_dim": 48,
            "vocab_size": 90,
            "max_position_embeddings": 64,
        },
    ),
    _encoder(
        "ALBERT",
        "albert",
        (("encoder.albert_layer_groups.0.albert_layers.0.attention", "encoder"),) * LAYERS,
        sizes=TEXT | {"embedding_size": 16},
        remark="one module, called once a layer",
    ),
    _encoder("NomicBERT", "nomic_bert", _each_layer(("layers.{}.self_attn", "self"))),
    _encoder("EuroBERT", "eurobert", _each_layer(("layers.{}.self_attn", "self"))),
    _encoder(
        "ModernBERT",
        "modernbert",
        _each_layer(("layers.{}.attn", "self")),
        sizes=TEXT | {"global_attn_every_n_layers": 2, "local_attention": 4, "cls_token_id": 1, "sep_token_id": 2},
        remark="global and local layers",
    ),
    _encoder(
        "DeBERTa",
        "deberta",
        sizes=TEXT | {"relative_attention": True, "pos_att_type": "c2p|p2c"},
        blank=PADDED_ROWS,
        **EAGER_ONLY,
    ),
    _encoder(
        "DeBERTa-v2",
        "deberta-v2",
        sizes=TEXT
        | {"relative_attention": True, "pos_att_type": "c2p|p2c", "position_buckets": 4, "share_att_key": True},
        blank=PADDED_ROWS,
        **EAGER_ONLY,
    ),
    _encoder("MPNet", "mpnet", _each_layer(("encoder.layer.{}.attention.attn", "encoder")), **EAGER_ONLY),
    _encoder("MegatronBERT", "megatron-bert", **EAGER_ONLY),
    _encoder("RoFormer", "roformer", sizes=TEXT | {"embedding_size": 32}, **EAGER_ONLY),
    _encoder("RemBERT", "rembert", sizes=TEXT | {"input_embedding_size": 16}, **EAGER_ONLY),
    _encoder("Splinter", "splinter", **EAGER_ONLY),
    _encoder("TAPAS", "tapas", **EAGER_ONLY),
    _encoder("ConvBERT", "convbert", sizes=TEXT | {"embedding_size": 32, "conv_kernel_size": 3}, **EAGER_ONLY),
    _encoder(
        "XLM",
        "xlm",
        _each_layer(("attentions.{}", "self")),
        sizes={"vocab_size": 90, "emb_dim": 32, "n_layers": LAYERS, "n_heads": 4, "max_position_embeddings": 64},
        **EAGER_ONLY,
    ),
]


# Decoders

LLAMA_CALLS = _each_layer(("layers.{}.self_attn", "decoder"))
GPT_CALLS = _each_layer(("h.{}.attn", "decoder"))
PADDING_ROWS = LEFT_PADDED["attention_mask"] == 0


def _decoder(name: str, model_type: str, calls: Calls = LLAMA_CALLS, sizes=GROUPED, **options):
    return _transformers(name, model_type, sizes, LEFT_PADDED, calls, **{"blank": PADDING_ROWS} | options)


def _falcon(name: str, remark: str, **sizes: Any) -> Architecture:
    return _decoder(
        name,
        "falcon",
        _each_layer(("h.{}.self_attention", "decoder")),
        sizes=TEXT | sizes,
        # Its own maps are no oracle: they are not what either implementation attends with.
        oracles={"sdpa": (oracles.kernel,), "eager": (oracles.softmax,)},
        remark=remark,
    )


DECODERS = [
    _decoder("GPT-2", "gpt2", GPT_CALLS, TEXT | {"scale_attn_by_inverse_layer_idx": True}),
    _decoder("GPT-J", "gptj", GPT_CALLS, TEXT | {"rotary_dim": 4}),
    _decoder("CodeGen", "codegen", GPT_CALLS, TEXT | {"rotary_dim": 4}),
    _decoder("GPT-BigCode", "gpt_bigcode", GPT_CALLS, TEXT, remark="multi-query"),
    _decoder("GPT-NeoX", "gpt_neox", _each_layer(("layers.{}.attention", "decoder")), TEXT),
    _decoder(
        "GPT-Neo",
        "gpt_neo",
        _each_layer(("h.{}.attn.attention", "decoder")),
        {
            "vocab_size": 90,
            "hidden_size": 32,
            "num_layers": LAYERS,
            "num_heads": 4,
            "intermediate_size": 48,
            "attention_types": [[["global", "local"], 1]],
            "window_size": 3,
            "max_position_embeddings": 64,
        },
        **EAGER_ONLY,
        remark="global and local layers, unscaled",
    ),
    _decoder(
        "OpenAI GPT",
        "openai-gpt",
        _each_layer(("h.{}.attn", "self")),
        TEXT,
        **EAGER_ONLY,
        blank=None,
        keeps_maps=True,
        remark="its causal mask multiplies, then adds -10,000: padding on the left sees the future",
    ),
    _decoder("ImageGPT", "imagegpt", GPT_CALLS, TEXT, **EAGER_ONLY),
    _decoder("CTRL", "ctrl", _each_layer(("h.{}.multi_head_attention", "decoder")), TEXT | {"dff": 48}),
    _decoder(
        "OPT",
        "opt",
        _each_layer(("decoder.layers.{}.self_attn", "decoder")),
        TEXT | {"ffn_dim": 48, "word_embed_proj_dim": 32},
    ),
    _decoder("XGLM", "xglm", sizes=TEXT | {"ffn_dim": 48}, **EAGER_ONLY),
    _decoder("BioGPT", "biogpt", sizes=TEXT),
    _decoder("BLOOM", "bloom", _each_layer(("h.{}.self_attention", "decoder")), TEXT, **EAGER_ONLY, remark="ALiBi"),
    _decoder("MPT", "mpt", _each_layer(("blocks.{}.attn", "decoder")), TEXT, **EAGER_ONLY, remark="ALiBi"),
    _falcon("Falcon", "rotary, multi-query", alibi=False, multi_query=True),
    _falcon("Falcon, new decoder", "rotary, grouped", new_decoder_architecture=True, num_kv_heads=2),
    _falcon("Falcon, ALiBi", "ALiBi", alibi=True, multi_query=False),
    _decoder("LLaMA", "llama", remark="rotary, grouped"),
    _decoder(
        "Llama-4",
        "llama4_text",
        sizes=GROUPED
        | {
            "intermediate_size_mlp": 48,
            "attention_chunk_size": 4,
            "num_local_experts": 2,
            "no_rope_layers": [1, 0],
            "use_qk_norm": True,
        },
        remark="chunked and global layers",
    ),
    _decoder("Mistral", "mistral", sizes=GROUPED | {"sliding_window": 3}, remark="sliding window"),
    _decoder(
        "Ministral",
        "ministral",
        sizes=GROUPED | {"sliding_window": 3, "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}},
    ),
    _decoder("Mixtral", "mixtral", sizes=GROUPED | {"num_local_experts": 2}),
    _decoder("Qwen2", "qwen2"),
    _decoder("Qwen2-MoE", "qwen2_moe", sizes=GROUPED | EXPERTS | {"shared_expert_intermediate_size": 16}),
    _decoder("Qwen3", "qwen3", remark="normed queries and keys"),
    _decoder("Qwen3-MoE", "qwen3_moe", sizes=GROUPED | EXPERTS),
    _decoder("Phi", "phi", sizes=TEXT),
    _decoder("Phi-3", "phi3", sizes=TEXT | {"num_key_value_heads": 2}),
    _decoder("Gemma", "gemma", sizes=GROUPED | {"num_key_value_heads": 1}, remark="multi-query"),
    _decoder(
        "Gemma-2",
        "gemma2",
        sizes=GROUPED | {"sliding_window": 3, "attn_logit_softcapping": 5.0, "query_pre_attn_scalar": 8},
        **EAGER_ONLY,
        remark="soft cap, sliding window",
    ),
    _decoder(
        "Gemma-3",
        "gemma3_text",
        sizes=GROUPED
        | {"sliding_window": 3, "query_pre_attn_scalar": 8, "layer_types": ["sliding_attention", "full_attention"]},
        remark="sliding window",
    ),
    _decoder("VaultGemma", "vaultgemma", sizes=GROUPED | {"sliding_window": 3}, **EAGER_ONLY, remark="soft cap"),
    _decoder(
        "GPT-OSS",
        "gpt_oss",
        sizes=GROUPED | {"num_local_experts": 2, "num_experts_per_tok": 1, "sliding_window": 3},
        **EAGER_ONLY,
        remark="sinks, sliding window",
    ),
    _decoder("DeepSeek-V2", "deepseek_v2", sizes=LATENT, remark="latent attention"),
    _decoder("DeepSeek-V3", "deepseek_v3", sizes=LATENT | {"n_group": 2, "topk_group": 1}, remark="latent attention"),
    _decoder("OLMo", "olmo"),
    _decoder("OLMo-2", "olmo2"),
    _decoder("OLMo-3", "olmo3", sizes=GROUPED | {"sliding_window": 3}),
    _decoder("OLMoE", "olmoe", sizes=GROUPED | {"num_experts": 4, "num_experts_per_tok": 2}),
    _decoder("StableLM", "stablelm"),
    _decoder("Cohere", "cohere"),
    _decoder("Cohere-2", "cohere2", sizes=GROUPED | {"sliding_window": 3}),
    _decoder("StarCoder2", "starcoder2", sizes=GROUPED | {"sliding_window": 3}, remark="sliding window"),
    _decoder("Granite", "granite", sizes=GROUPED | {"attention_multiplier": 0.2}, remark="own scale"),
    _decoder("GraniteMoE", "granitemoe", sizes=GROUPED | {"num_local_experts": 2, "num_experts_per_tok": 1}),
    _decoder("GLM", "glm"),
    _decoder("GLM-4", "glm4"),
    _decoder("EXAONE-4", "exaone4", sizes=GROUPED | {"sliding_window": 3}),
    _decoder("Nemotron", "nemotron"),
    _decoder("Helium", "helium"),
    _decoder("SmolLM3", "smollm3"),
    _decoder("ERNIE-4.5", "ernie4_5"),
    _decoder("Seed-OSS", "seed_oss"),
    _decoder("Apertus", "apertus"),
    _decoder("Arcee", "arcee"),
    _decoder("BitNet", "bitnet"),
    _decoder("nanochat", "nanochat"),
    _decoder("Persimmon", "persimmon", sizes=TEXT),
    _decoder("Moshi", "moshi", sizes=GROUPED | {"ffn_dim": 48}),
    _decoder(
        "JetMoE",
        "jetmoe",
        _each_layer(("layers.{}.self_attention", "decoder")),
        TEXT | {"num_key_value_heads": 2, "kv_channels": 8, "num_local_experts": 2, "num_experts_per_tok": 2},
    ),
]


# Encoder-decoders


def _encoder_decoder(encoder: str, decoder: str, cross: str) -> Calls:
    return _each_layer((encoder, "encoder")) + _each_layer((decoder, "decoder"), (cross, "cross"))


BART_CALLS = _encoder_decoder(
    "encoder.layers.{}.self_attn", "decoder.layers.{}.self_attn", "decoder.layers.{}.encoder_attn"
)
T5_CALLS = _encoder_decoder(
    "encoder.block.{}.layer.0.SelfAttention",
    "decoder.block.{}.layer.0.SelfAttention",
    "decoder.block.{}.layer.1.EncDecAttention",
)


UNSCALED = {"sharpness": 1.0}
"""For scores that are not divided by sqrt(d_k)."""


def _text_to_text(name: str, model_type: str, calls: Calls = BART_CALLS, sizes=BART, inputs=PAIR, **options):
    return _transformers(name, model_type, sizes, inputs, calls, **options)


ENCODER_DECODERS = [
    _text_to_text("T5", "t5", T5_CALLS, T5, **UNSCALED, remark="relative bias, unscaled"),
    _text_to_text("mT5", "mt5", T5_CALLS, T5, **UNSCALED),
    _text_to_text("UMT5", "umt5", T5_CALLS, T5, **UNSCALED),
    _text_to_text(
        "Switch Transformers",
        "switch_transformers",
        T5_CALLS,
        T5 | {"num_sparse_encoder_layers": 1, "num_sparse_decoder_layers": 1, "num_experts": 2},
        **EAGER_ONLY,
        **UNSCALED,
    ),
    _text_to_text("BART", "bart"),
    _text_to_text("mBART", "mbart"),
    _text_to_text("PLBART", "plbart"),
    _text_to_text("Marian", "marian"),
    _text_to_text("Pegasus", "pegasus"),
    _text_to_text("M2M100", "m2m_100"),
    _text_to_text("Blenderbot", "blenderbot"),
    _text_to_text("BlenderbotSmall", "blenderbot-small"),
    _text_to_text("MVP", "mvp", **EAGER_ONLY),
    _text_to_text(
        "NLLB-MoE",
        "nllb-moe",
        _encoder_decoder(
            "encoder.layers.{}.self_attn", "decoder.layers.{}.self_attn", "decoder.layers.{}.cross_attention"
        ),
        BART | {"num_experts": 2, "expert_capacity": 8},
        **EAGER_ONLY,
    ),
]


# Vision

IMAGE_CALLS = _each_layer(("layers.{}.attention", "self"))


def _vision(name: str, model_type: str, calls: Calls = IMAGE_CALLS, sizes=VISION, inputs=IMAGE, **options):
    return _transformers(name, model_type, sizes, inputs, calls, **options)


SWIN = {"image_size": SIDE, "patch_size": 2, "embed_dim": 16, "depths": [2, 1], "num_heads": [2, 4], "window_size": 4}
VIT_DET = {
    "hidden_size": 32,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 4,
    "image_size": SIDE,
    "pretrain_image_size": SIDE,
    "patch_size": 4,
    "use_relative_position_embeddings": True,
}
SWIN_BLOCKS = ("0.blocks.0", "0.blocks.1", "1.blocks.0")

VISION_MODELS = [
    _vision("ViT", "vit"),
    _vision("DeiT", "deit"),
    _vision("ViT-MSN", "vit_msn"),
    _vision("I-JEPA", "ijepa"),
    _vision("BEiT", "beit", sizes=VISION | {"use_relative_position_bias": True}, remark="relative bias"),
    _vision(
        "Data2VecVision",
        "data2vec-vision",
        _each_layer(("encoder.layer.{}.attention.attention", "encoder")),
        VISION | {"use_relative_position_bias": True},
        remark="relative bias",
    ),
    _vision("DINOv2", "dinov2", _each_layer(("encoder.layer.{}.attention", "encoder"))),
    _vision("DINOv2 with registers", "dinov2_with_registers", _each_layer(("encoder.layer.{}.attention", "encoder"))),
    _vision("DINOv3", "dinov3_vit", _each_layer(("model.layer.{}.attention", "self")), remark="2-d rotary"),
    _vision("CLIP, image", "clip_vision_model", _each_layer(("encoder.layers.{}.self_attn", "encoder"))),
    _vision(
        "CLIP, text", "clip_text_model", _each_layer(("encoder.layers.{}.self_attn", "encoder")), TEXT, RIGHT_PADDED
    ),
    _vision(
        "SigLIP, image",
        "siglip_vision_model",
        (*_each_layer(("encoder.layers.{}.self_attn", "encoder")), ("head.attention", "self")),
        oracles=dict.fromkeys(("sdpa", "eager"), (oracles.attentions_then_multi_head,)),
        routes=ROUTES | {"sdpa": ("fused", "written out")},
        remark="its pooling is an nn.MultiheadAttention",
    ),
    _vision(
        "Swin",
        "swin",
        tuple((f"encoder.layers.{block}.attention", "encoder") for block in SWIN_BLOCKS),
        SWIN,
        oracles=EVERY_SOFTMAX,
        remark="shifted windows",
    ),
    _vision(
        "Swin-v2",
        "swinv2",
        tuple((f"encoder.layers.{block}.attention.self", "encoder") for block in SWIN_BLOCKS),
        SWIN,
        **EAGER_ONLY,
        oracles=EVERY_SOFTMAX,
        remark="cosine attention, shifted windows",
    ),
    _vision(
        "ViTDet",
        "vitdet",
        _each_layer(("encoder.layer.{}.attention", "encoder")),
        VIT_DET,
        **EAGER_ONLY,
        keeps_maps=True,
        gap="which is which is a guess: encoder.layer.0.attention",
        remark="decomposed relative positions",
    ),
    _vision(
        "SegFormer",
        "segformer",
        tuple((f"stages.{stage}.blocks.0.attention", "cross" if stage == 0 else "self") for stage in (0, 1)),
        {
            "num_encoder_blocks": 2,
            "depths": [1, 1],
            "sr_ratios": [2, 1],
            "hidden_sizes": [16, 32],
            "num_attention_heads": [2, 4],
            "patch_sizes": [3, 3],
            "strides": [2, 2],
            "mlp_ratios": [2, 2],
        },
        remark="fewer keys than queries",
    ),
    _vision(
        "ViLT",
        "vilt",
        _each_layer(("encoder.layer.{}.attention.attention", "encoder")),
        TEXT | VISION,
        RIGHT_PADDED | IMAGE,
        **EAGER_ONLY,
    ),
]


# Audio

AUDIO_CALLS = _each_layer(("encoder.layers.{}.attention", "encoder"))


def _audio(name: str, model_type: str, calls: Calls = AUDIO_CALLS, sizes=AUDIO, inputs=SOUND, **options):
    return _transformers(name, model_type, sizes, inputs, calls, **options)


AUDIO_MODELS = [
    _audio(
        "Whisper",
        "whisper",
        BART_CALLS,
        BART | {"num_mel_bins": 20, "max_source_positions": 12, "max_target_positions": 20},
        {"input_features": torch.randn(BATCH, 20, 24, generator=torch.Generator().manual_seed(4))}
        | {name: PAIR[name] for name in ("decoder_input_ids", "decoder_attention_mask")},
    ),
    _audio(
        "Speech2Text",
        "speech_to_text",
        BART_CALLS,
        BART
        | {"input_feat_per_channel": 20, "max_source_positions": 24, "max_target_positions": 20, "conv_channels": 16},
        {"input_features": torch.randn(BATCH, 24, 20, generator=torch.Generator().manual_seed(4))}
        | {name: PAIR[name] for name in ("decoder_input_ids", "decoder_attention_mask")},
        **EAGER_ONLY,
    ),
    _audio("Wav2Vec2", "wav2vec2"),
    _audio("HuBERT", "hubert"),
    _audio("UniSpeech", "unispeech"),
    _audio("UniSpeech-SAT", "unispeech-sat"),
    _audio("SEW", "sew"),
    _audio("Data2VecAudio", "data2vec-audio", sizes=AUDIO | {"num_conv_pos_embeddings": 2}),
    _audio(
        "WavLM",
        "wavlm",
        _each_layer(("encoder.layers.{}.attention", "encoder")),
        **EAGER_ONLY,
        oracles=MULTI_HEAD_WRITTEN_OUT,
        remark="gated bias, on PyTorch's multi-head function",
    ),
    _audio(
        "Audio Spectrogram Transformer",
        "audio-spectrogram-transformer",
        IMAGE_CALLS,
        VISION | {"frequency_stride": 8, "time_stride": 8, "max_length": 24, "num_mel_bins": 16},
        {"input_values": torch.randn(BATCH, 24, 16, generator=torch.Generator().manual_seed(5))},
    ),
]


# Hybrids: some of their layers mix tokens without attention

ONE_IN_TWO: Calls = (("layers.1.self_attn", "decoder"),)

HYBRIDS = [
    _decoder(
        "Jamba",
        "jamba",
        ONE_IN_TWO,
        GROUPED
        | {
            "attn_layer_period": 2,
            "attn_layer_offset": 1,
            "expert_layer_period": 2,
            "expert_layer_offset": 1,
            "num_experts": 2,
            "num_experts_per_tok": 1,
            "mamba_d_state": 4,
            "use_mamba_kernels": False,
        },
        gap="softmax attention.*layers.0.mamba",
        remark="one layer of two is Mamba",
    ),
    _decoder(
        "Qwen3-Next",
        "qwen3_next",
        ONE_IN_TWO,
        GROUPED
        | {
            "layer_types": ["linear_attention", "full_attention"],
            "linear_num_value_heads": 4,
            "linear_num_key_heads": 2,
            "linear_key_head_dim": 8,
            "linear_value_head_dim": 8,
            "num_experts": 2,
            "num_experts_per_tok": 1,
            "moe_intermediate_size": 16,
            "shared_expert_intermediate_size": 16,
        },
        gap="softmax attention.*layers.0.linear_attn",
        remark="one layer of two is linear attention",
    ),
    _decoder(
        "Bamba",
        "bamba",
        ONE_IN_TWO,
        GROUPED
        | {"attn_layer_indices": [1], "mamba_n_heads": 8, "mamba_d_head": 8, "mamba_d_state": 8, "mamba_n_groups": 1},
        gap="softmax attention.*layers.0.mamba",
        remark="one layer of two is Mamba-2",
    ),
    _decoder(
        "RecurrentGemma",
        "recurrent_gemma",
        (("layers.1.temporal_block", "decoder"),),
        GROUPED | {"lru_width": 32, "block_types": ["recurrent", "attention"], "attention_window_size": 4},
        gap="softmax attention.*layers.0.temporal_block",
        remark="one layer of two is recurrent",
    ),
    _decoder(
        "MiniMax",
        "minimax",
        ONE_IN_TWO,
        GROUPED | {"layer_types": ["linear_attention", "full_attention"], "block_size": 4, "num_local_experts": 2},
        oracles=EVERY_SOFTMAX,
        gap="1 of 2 attention modules.*layers.0.self_attn",
        remark="one layer of two is linear attention",
    ),
]


# Refused: nothing in them is softmax attention


def _refused(name: str, model_type: str, sizes: dict[str, Any], **options: Any) -> Architecture:
    return _transformers(name, model_type, sizes, RIGHT_PADDED, (), **EAGER_ONLY, **options)


REFUSED = [
    _refused("Mamba", "mamba", TEXT, refused="Mamba"),
    _refused(
        "Mamba-2",
        "mamba2",
        {
            "vocab_size": 90,
            "hidden_size": 32,
            "num_hidden_layers": 2,
            "num_heads": 8,
            "head_dim": 8,
            "state_size": 8,
            "n_groups": 2,
            "chunk_size": 4,
        },
        refused="Mamba2",
    ),
    replace(
        _refused("FNet", "fnet", TEXT, refused="FNet"), inputs=lambda model: {"input_ids": RIGHT_PADDED["input_ids"]}
    ),
    replace(
        _refused("RWKV", "rwkv", TEXT, refused="Rwkv"), inputs=lambda model: {"input_ids": RIGHT_PADDED["input_ids"]}
    ),
]


# PyTorch's own modules, timm, and attention written by hand


def _plain(name: str, build: Callable[[], nn.Module], inputs: dict[str, Any], calls: Calls, *usual, **options):
    """A model that comes in one implementation: "sdpa" when it runs on the fused kernel, else "eager"."""
    (implementation,) = options["oracles"]
    return Architecture(
        name=name,
        build=lambda implementation: build(),
        inputs=lambda model: dict(inputs),
        calls=calls,
        implementations=(implementation,),
        **options,
    )


VECTORS = torch.randn(BATCH, LENGTH, 32, generator=torch.Generator().manual_seed(6))
TARGET_VECTORS = torch.randn(BATCH, TARGET_LENGTH, 32, generator=torch.Generator().manual_seed(7))
HIDDEN = _padding(LENGTH, "right") == 0
FUTURE = torch.ones(TARGET_LENGTH, TARGET_LENGTH, dtype=torch.bool).triu(1)
LAYER = {"d_model": 32, "nhead": 4, "dim_feedforward": 48, "dropout": 0.0}
TORCH_CALLS = _encoder_decoder(
    "encoder.layers.{}.self_attn", "decoder.layers.{}.self_attn", "decoder.layers.{}.multihead_attn"
)


def _transformer(batch_first: bool) -> Architecture:
    def build() -> nn.Module:
        return nn.Transformer(**LAYER, num_encoder_layers=LAYERS, num_decoder_layers=LAYERS, batch_first=batch_first)

    source, target = VECTORS, TARGET_VECTORS
    if not batch_first:
        source, target = source.transpose(0, 1), target.transpose(0, 1)
    masks = {"tgt_mask": FUTURE, "src_key_padding_mask": HIDDEN, "memory_key_padding_mask": HIDDEN}
    inputs = {"src": source, "tgt": target, **masks}
    name = f"nn.Transformer(batch_first={batch_first})"
    return _plain(name, build, inputs, TORCH_CALLS, oracles=MULTI_HEAD_OF_THE_KERNEL, grad=True)


def _transformer_encoder(grad: bool) -> Architecture:
    def build() -> nn.Module:
        layer = nn.TransformerEncoderLayer(**LAYER, batch_first=True)
        return nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)

    return _plain(
        "nn.TransformerEncoder" + ("" if grad else ", fast path"),
        build,
        {"src": VECTORS, "src_key_padding_mask": HIDDEN},
        _each_layer(("layers.{}.self_attn", "self")),
        oracles=MULTI_HEAD_OF_THE_KERNEL,
        grad=grad,
        output_rounding=0.0 if grad else 1e-5,
        remark="" if grad else "recorded without PyTorch's C++ fast path, to which it is equal up to rounding",
    )


def _multi_head(need_weights: bool, **options: bool) -> Architecture:
    named = ", ".join(f"{name}={value}" for name, value in options.items())
    return _plain(
        f"nn.MultiheadAttention({named}), need_weights={need_weights}",
        functools.partial(written_by_hand.MultiHead, need_weights, **options),
        {"x": VECTORS, "padding": HIDDEN},
        (("self_attention", "self"),),
        oracles=MULTI_HEAD_WRITTEN_OUT if need_weights else MULTI_HEAD_OF_THE_KERNEL,
        grad=True,
    )


def _by_hand(attend: written_by_hand.Attend, **options: Any) -> Architecture:
    return _plain(
        f"by hand: {attend.__name__.replace('_', ' ')}",
        functools.partial(written_by_hand.Decoder, attend),
        {"input_ids": RIGHT_PADDED["input_ids"]},
        options.pop("calls", _each_layer(("layers.{}", "decoder"))),
        **{"oracles": BY_FORMULA} | options,
    )


def _timm_model(fused: bool) -> nn.Module:
    from tests.inspection.parity.timm_import import timm

    model = timm.models.VisionTransformer(
        img_size=SIDE, patch_size=8, embed_dim=32, depth=LAYERS, num_heads=4, num_classes=5
    )
    for block in model.blocks:
        block.attn.fused_attn = fused
    return model


PLAIN = [
    _transformer(batch_first=True),
    _transformer(batch_first=False),
    _transformer_encoder(grad=True),
    _transformer_encoder(grad=False),
    *(
        _multi_head(need_weights, batch_first=batch_first, **bias)
        for need_weights in (True, False)
        for batch_first in (True, False)
        for bias in ({}, {"add_bias_kv": True}, {"add_zero_attn": True})
    ),
    Architecture(
        name="timm VisionTransformer",
        build=lambda implementation: _timm_model(fused=implementation == "sdpa"),
        inputs=lambda model: {"x": IMAGE["pixel_values"]},
        calls=_each_layer(("blocks.{}.attn", "self")),
        oracles={"sdpa": (oracles.softmax, oracles.kernel), "eager": (oracles.softmax,)},
    ),
    _by_hand(written_by_hand.early_bound_kernel, oracles={"sdpa": (oracles.formula,)}),
    *map(_by_hand, written_by_hand.WAYS),
    _by_hand(
        written_by_hand.one_head_after_the_other,
        calls=tuple(
            (f"layers.{layer}", "decoder") for layer in range(LAYERS) for _ in range(written_by_hand.NUM_HEADS)
        ),
        oracles={"eager": (oracles.formula_head_by_head,)},
        remark="each head is a call of its own",
    ),
    _by_hand(written_by_hand.exponentials_by_hand, calls=(), refused="layers.0"),
]


# Layouts of their own: exact, partial or refused, and the trace says which

LONG = {"input_ids": _draw_ids(64, 8), "attention_mask": _padding(64, "right", count=9)}

OWN_LAYOUTS = [
    _encoder(
        "XLNet",
        "xlnet",
        _each_layer(("layer.{}.rel_attn", "self")),
        {"vocab_size": 90, "d_model": 32, "n_layer": LAYERS, "n_head": 4, "d_inner": 48},
        **EAGER_ONLY,
        remark="relative positions, tokens first",
    ),
    _transformers(
        "Perceiver",
        "perceiver",
        {
            "num_latents": 5,
            "d_latents": 32,
            "d_model": 16,
            "num_blocks": 1,
            "num_self_attends_per_block": LAYERS,
            "num_self_attention_heads": 4,
            "num_cross_attention_heads": 4,
        },
        {
            "inputs": torch.randn(BATCH, LENGTH, 16, generator=torch.Generator().manual_seed(9)),
            "attention_mask": _padding(LENGTH, "right"),
        },
        (
            ("encoder.cross_attention.attention.self", "cross"),
            *_each_layer(("encoder.self_attends.{}.attention.self", "encoder")),
        ),
        **EAGER_ONLY,
        oracles=EVERY_SOFTMAX,
    ),
    _decoder(
        "DiffLlama",
        "diffllama",
        tuple((f"layers.{layer}.self_attn", "decoder") for layer in range(LAYERS) for _ in range(2)),
        oracles={"sdpa": (oracles.kernel,), "eager": (oracles.softmax,)},
        remark="two maps, of which the model takes the difference: each is a call",
    ),
    _encoder("Longformer", "longformer", (), TEXT | {"attention_window": 4}, **EAGER_ONLY, refused="attention.self"),
    _encoder(
        "BigBird, block-sparse",
        "big_bird",
        (),
        TEXT | {"attention_type": "block_sparse", "block_size": 4, "num_random_blocks": 1},
        LONG,
        **EAGER_ONLY,
        oracles={"eager": ()},
        gap="2 modules attend in pieces.*encoder.layer.0.attention.self",
    ),
    _encoder(
        "BigBird, full",
        "big_bird",
        sizes=TEXT | {"attention_type": "original_full"},
        **EAGER_ONLY,
        oracles=EVERY_SOFTMAX,
    ),
    _text_to_text(
        "LongT5",
        "longt5",
        _each_layer(
            ("decoder.block.{}.layer.0.SelfAttention", "decoder"), ("decoder.block.{}.layer.1.EncDecAttention", "cross")
        ),
        T5 | {"local_radius": 3},
        **EAGER_ONLY,
        **UNSCALED,
        oracles={"eager": (oracles.attentions_of_the_decoder,)},
        gap="2 modules attend in pieces.*encoder.block.0.layer.0.LocalSelfAttention",
        remark="the encoder's local attention is in blocks",
    ),
    _text_to_text(
        "LED",
        "led",
        _each_layer(("decoder.layers.{}.self_attn", "decoder"), ("decoder.layers.{}.encoder_attn", "cross")),
        BART | {"attention_window": 4, "max_encoder_position_embeddings": 64, "max_decoder_position_embeddings": 64},
        **EAGER_ONLY,
        oracles={"eager": (oracles.attentions_of_the_decoder,)},
        gap="encoder.layers.0.self_attn",
        remark="the encoder's windows are a layout of their own",
    ),
    _text_to_text(
        "Pegasus-X",
        "pegasus_x",
        _each_layer(("decoder.layers.{}.self_attn", "decoder"), ("decoder.layers.{}.encoder_attn", "cross")),
        BART | {"num_global_tokens": 2, "block_size": 4},
        **EAGER_ONLY,
        oracles={"eager": (oracles.attentions_of_the_decoder,)},
        gap="2 modules attend in pieces.*encoder.layers.0.self_attn",
        remark="the encoder's attention is in blocks",
    ),
    _encoder(
        "Reformer",
        "reformer",
        (),
        {
            "hidden_size": 32,
            "vocab_size": 90,
            "num_attention_heads": 4,
            "attention_head_size": 8,
            "feed_forward_size": 48,
            "attn_layers": ["local", "lsh"],
            "local_attn_chunk_length": 4,
            "lsh_attn_chunk_length": 4,
            "num_hashes": 2,
            "num_buckets": 2,
            "axial_pos_embds": False,
            "max_position_embeddings": 64,
            "is_decoder": False,
        },
        **EAGER_ONLY,
        refused="encoder.layers.0.attention",
    ),
    _encoder(
        "Nystromformer",
        "nystromformer",
        (),
        TEXT | {"num_landmarks": 8, "segment_means_seq_len": 64, "conv_kernel_size": 3},
        {"input_ids": LONG["input_ids"]},
        **EAGER_ONLY,
        oracles={"eager": ()},
        gap="2 modules attend in pieces.*encoder.layer.0.attention.self",
    ),
    _encoder("YOSO", "yoso", (), TEXT | {"use_expectation": True}, **EAGER_ONLY, refused="attention.self"),
    _text_to_text(
        "ProphetNet",
        "prophetnet",
        _each_layer(("encoder.layers.{}.self_attn", "encoder"))
        + _each_layer(("decoder.layers.{}.cross_attn", "cross")),
        {
            "vocab_size": 90,
            "hidden_size": 32,
            "encoder_ffn_dim": 48,
            "num_encoder_layers": LAYERS,
            "num_encoder_attention_heads": 4,
            "decoder_ffn_dim": 48,
            "num_decoder_layers": LAYERS,
            "num_decoder_attention_heads": 4,
            "max_position_embeddings": 64,
            "ngram": 2,
        },
        **EAGER_ONLY,
        oracles={"eager": (oracles.softmax_over_the_source,)},
        gap="2 modules attend in pieces.*decoder.layers.0.self_attn",
        remark="the decoder's own attention has several streams",
    ),
]


# The same models in other circumstances: with a cache, in training, in bfloat16, compiled


def _named(name: str, group: Sequence[Architecture]) -> Architecture:
    return next(architecture for architecture in group if architecture.name == name)


def _next_tokens(model: nn.Module, new: int, static: bool, padded: bool) -> dict[str, Any]:
    """The arguments with which a decoder reads its last `new` tokens, after its cache has read the others."""
    from transformers import DynamicCache, StaticCache

    ids, read = LEFT_PADDED["input_ids"], LENGTH - new
    mask = LEFT_PADDED["attention_mask"] if padded else torch.ones_like(ids)
    cache = StaticCache(config=model.config, max_cache_len=LENGTH + 3) if static else DynamicCache(config=model.config)
    model(input_ids=ids[:, :read], attention_mask=mask[:, :read], cache=cache)
    return {"input_ids": ids[:, read:], "attention_mask": mask, "cache": cache}


def _cached(name: str, circumstance: str, new: int = 1, static: bool = False, padded: bool = True, **options: Any):
    return replace(
        _named(name, DECODERS),
        name=f"{name}, {circumstance}",
        inputs=functools.partial(_next_tokens, new=new, static=static, padded=padded),
        blank=None,
        **options,
    )


def _cached_text_to_text(model: nn.Module) -> dict[str, Any]:
    """The last target token, the encoder's output and the cache of both attentions given."""
    from transformers import DynamicCache, EncoderDecoderCache

    cache = EncoderDecoderCache(DynamicCache(config=model.config), DynamicCache(config=model.config))
    encoded = model.get_encoder()(input_ids=PAIR["input_ids"], attention_mask=PAIR["attention_mask"])
    inputs = {"encoder_outputs": encoded, "attention_mask": PAIR["attention_mask"], "cache": cache}
    ids = PAIR["decoder_input_ids"]
    model(decoder_input_ids=ids[:, :-1], **inputs)
    return inputs | {"decoder_input_ids": ids[:, -1:]}


def _unpadded(name: str, group: Sequence[Architecture]) -> Architecture:
    """Without masks, which lets transformers leave causality and grouped heads to the kernel."""
    architecture = _named(name, group)

    def inputs(model: nn.Module) -> dict[str, Any]:
        padded = architecture.inputs(model)
        return {name: value for name, value in padded.items() if "mask" not in name}

    return replace(architecture, name=f"{name}, unpadded", inputs=inputs, blank=None)


CIRCUMSTANCES = [
    _unpadded("BERT", ENCODERS),
    _unpadded("GPT-2", DECODERS),
    _unpadded("LLaMA", DECODERS),
    _unpadded("GPT-BigCode", DECODERS),
    _unpadded("Gemma-2", DECODERS),
    _unpadded("GPT-OSS", DECODERS),
    _unpadded("DeepSeek-V3", DECODERS),
    _unpadded("T5", ENCODER_DECODERS),
    _unpadded("BART", ENCODER_DECODERS),
    _cached("GPT-2", "a step with a cache"),
    _cached("LLaMA", "a step with a cache", remark="grouped heads, packed by transformers as queries of one head"),
    _cached("LLaMA", "a step with a cache, unpadded", padded=False),
    _cached("LLaMA", "three tokens after a cache", new=3),
    _cached("LLaMA", "a step with a static cache", static=True),
    _cached("LLaMA", "three tokens, static cache", new=3, static=True),
    _cached("Mistral", "a step with a cache"),
    _cached("GPT-OSS", "a step with a cache"),
    _cached("Gemma-2", "a step with a cache"),
    _cached("GPT-BigCode", "a step with a cache"),
    replace(
        _named("T5", ENCODER_DECODERS),
        name="T5, a step with a cache",
        gap="2 of 6 attention modules left no record.*encoder.block",
        inputs=_cached_text_to_text,
        calls=tuple(call for call in T5_CALLS if call[1] != "encoder"),
    ),
    replace(
        _named("BART", ENCODER_DECODERS),
        name="BART, a step with a cache",
        gap="2 of 6 attention modules left no record.*encoder.layers",
        inputs=_cached_text_to_text,
        calls=tuple(call for call in BART_CALLS if call[1] != "encoder"),
    ),
    replace(
        _named("BERT", ENCODERS),
        name="BERT in training",
        training=True,
        oracles={"sdpa": (oracles.kernel,), "eager": (oracles.softmax_of_the_run,)},
        remark="weights before dropout",
    ),
    replace(
        _named("GPT-2", DECODERS),
        name="GPT-2 in training",
        training=True,
        oracles={"sdpa": (oracles.kernel,), "eager": (oracles.softmax_of_the_run,)},
        remark="weights before dropout",
    ),
    replace(
        _named("BERT", ENCODERS),
        name="BERT in bfloat16",
        dtype=torch.bfloat16,
        oracles={"sdpa": (oracles.kernel,), "eager": (oracles.eager_function,)},
    ),
    replace(
        _named("LLaMA", DECODERS),
        name="LLaMA in bfloat16",
        dtype=torch.bfloat16,
        oracles={"sdpa": (oracles.kernel,), "eager": (oracles.eager_function,)},
    ),
]


def _compiled(architecture: Architecture) -> Architecture:
    """Compiled without a C++ compiler, so that its output can be equal."""
    return replace(
        architecture,
        name=f"{architecture.name}, torch.compile",
        build=lambda implementation: torch.compile(architecture.build(implementation), backend="eager"),
        gap="recorded uncompiled",
    )


CIRCUMSTANCES += [_compiled(_named("BERT", ENCODERS)), _compiled(_named("by hand: nano gpt", PLAIN))]


GROUPS: dict[str, Sequence[Architecture]] = {
    "Encoders": ENCODERS,
    "Decoders": DECODERS,
    "Encoder-decoders": ENCODER_DECODERS,
    "Vision": VISION_MODELS,
    "Audio": AUDIO_MODELS,
    "Hybrids": HYBRIDS,
    "PyTorch, timm, by hand": PLAIN,
    "Unpadded, with a cache, in training, in bfloat16, compiled": CIRCUMSTANCES,
    "Own layouts": OWN_LAYOUTS,
    "No softmax attention": REFUSED,
}
