"""Small models of transformers, with every number random and none at its starting value."""

from typing import Any

import torch
import transformers

ARCHITECTURES = ("BertForMaskedLM", "GPT2LMHeadModel", "T5ForConditionalGeneration", "ViTForImageClassification")


def original(architecture: str, **changes: Any) -> transformers.PreTrainedModel:
    """A small model that writes its attention out, step by step, and returns it.

    The sizes differ wherever they may, so that none stands for another by chance.
    """
    model_class = getattr(transformers, architecture)
    config = model_class.config_class(**CONFIGS[architecture] | changes)
    return randomised(model_class._from_config(config, attn_implementation="eager")).eval()


def randomised(model: transformers.PreTrainedModel) -> transformers.PreTrainedModel:
    """The model with weights at which attention is far from equal; biases and norms are random too."""
    tables = ("embed", "wte", "wpe", "shared", "cls_token", "relative")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        for name, parameter in model.named_parameters():
            is_norm = name.endswith("weight") and parameter.dim() == 1
            is_table = any(part in name for part in tables)
            std = 0.3 if parameter.dim() == 1 else 1.0 if is_table else parameter.size(-1) ** -0.5
            torch.nn.init.normal_(parameter, mean=1.0 if is_norm else 0.0, std=std)
    return model


CONFIGS: dict[str, dict[str, Any]] = {
    "BertForMaskedLM": {
        "vocab_size": 53,
        "hidden_size": 24,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "intermediate_size": 40,
        "max_position_embeddings": 20,
        "pad_token_id": 7,
        "type_vocab_size": 3,
        "layer_norm_eps": 1e-3,
    },
    "GPT2LMHeadModel": {
        "vocab_size": 53,
        "n_embd": 24,
        "n_layer": 3,
        "n_head": 3,
        "n_inner": 40,
        "n_positions": 20,
        "layer_norm_epsilon": 1e-3,
        "bos_token_id": 0,
        "eos_token_id": 0,
    },
    "T5ForConditionalGeneration": {
        "vocab_size": 53,
        "d_model": 24,
        "d_kv": 5,  # not d_model / num_heads
        "d_ff": 40,
        "num_layers": 2,
        "num_decoder_layers": 3,
        "num_heads": 6,
        "pad_token_id": 0,
        "eos_token_id": 1,
        "decoder_start_token_id": 0,
        "layer_norm_epsilon": 1e-3,
    },
    "ViTForImageClassification": {
        "hidden_size": 24,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "intermediate_size": 40,
        "image_size": 12,
        "patch_size": 3,
        "num_channels": 2,
        "num_labels": 5,
        "layer_norm_eps": 1e-3,
    },
}
