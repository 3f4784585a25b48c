"""A checkpoint that transformers opened, in Headlight's own implementation."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from transformer_core.model import LanguageModel, MaskedLanguageModel, Transformer, VisionTransformer
from transformer_core.zoo.hugging_face.headlight import bert, gpt2, t5, vit
from transformer_core.zoo.hugging_face.headlight.network import Network
from transformer_core.zoo.hugging_face.opening.checkpoint import Checkpoint
from transformer_core.zoo.interface import InputError


@dataclass(frozen=True)
class Implementation:
    """How Headlight runs an architecture of transformers."""

    model: type[nn.Module]
    config_of: Callable[[Any], Any]
    weights_of: Callable[[Mapping[str, Tensor], Any], dict[str, Tensor]]
    network: type[Network]


IMPLEMENTATIONS = {
    "BertForMaskedLM": Implementation(MaskedLanguageModel, bert.config_of, bert.weights_of, bert.BertNetwork),
    "GPT2LMHeadModel": Implementation(LanguageModel, gpt2.config_of, gpt2.weights_of, gpt2.GPT2Network),
    "T5ForConditionalGeneration": Implementation(Transformer, t5.config_of, t5.weights_of, t5.T5Network),
    "ViTForImageClassification": Implementation(VisionTransformer, vit.config_of, vit.weights_of, vit.ViTNetwork),
}
"""By the class of transformers whose weights it has."""


def in_headlight(checkpoint: Checkpoint) -> Checkpoint:
    """The checkpoint with Headlight's implementation of its network; all else stays as it is.

    Raises:
        InputError: Headlight implements no such architecture, or not all that this checkpoint uses.
    """
    if checkpoint.architecture not in IMPLEMENTATIONS:
        raise InputError(
            f"{checkpoint.name} is a {checkpoint.architecture}, which Headlight does not implement. It implements "
            f'{", ".join(IMPLEMENTATIONS)}. Open all others with the implementation "transformers".'
        )
    theirs = checkpoint.model
    ours = headlight_model(theirs).to(theirs.dtype)
    network = IMPLEMENTATIONS[checkpoint.architecture].network(theirs.config, ours).eval()
    if network.can_generate():
        network.generation_config = theirs.generation_config
    name = type(ours).__name__
    note = f"Headlight's own {name} computes here, with the weights of {checkpoint.architecture}."
    return replace(checkpoint, architecture=name, model=network, notes=(*checkpoint.notes, note))


def headlight_model(theirs: PreTrainedModel) -> nn.Module:
    """Headlight's model with the weights of a model of transformers, in evaluation mode.

    The two share the memory of those tensors that are the same in both.

    Raises:
        InputError: Headlight's model lacks something that the other one uses.
    """
    implementation = IMPLEMENTATIONS[type(theirs).__name__]
    config = implementation.config_of(theirs.config)
    # Without memory, and without drawing weights that are replaced at once.
    with torch.device("meta"):
        ours = implementation.model(config)
    ours.load_state_dict(implementation.weights_of(theirs.state_dict(), config), assign=True)
    return ours.eval()
