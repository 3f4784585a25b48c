"""What lets a model of Headlight's stand in the place of one of transformers'."""

from jaxtyping import Bool, Int
from torch import Tensor, nn
from transformers import PreTrainedConfig, PreTrainedModel


class Network(PreTrainedModel):
    """One of Headlight's models, called as the families call a network.

    A subclass adds the `forward` of the architecture whose weights the model has.

    Args:
        hf_config: of that architecture.
        model: Headlight's, with its weights.
    """

    _supports_sdpa = True

    def __init__(self, hf_config: PreTrainedConfig, model: nn.Module) -> None:
        super().__init__(hf_config)
        self.model = model

    def get_input_embeddings(self) -> nn.Module:
        return self.model.embedding.tokens


def attention_allowed(attention_mask: Int[Tensor, "batch key"] | None) -> Bool[Tensor, "batch 1 key"] | None:
    """Which tokens may be attended to, from transformers' mask with 1 for these; None where all may."""
    if attention_mask is None or attention_mask.all():
        return None
    return attention_mask.bool().unsqueeze(1)
