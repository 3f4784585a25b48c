"""Any Hugging Face model, by what it makes of its input."""

from transformer_core.zoo.hugging_face.families.causal import Causal
from transformer_core.zoo.hugging_face.families.classifier import Classifier
from transformer_core.zoo.hugging_face.families.encoder import Encoder
from transformer_core.zoo.hugging_face.families.image import ImageModel
from transformer_core.zoo.hugging_face.families.masked import Masked
from transformer_core.zoo.hugging_face.families.sentence_embedding import SentenceEmbedding
from transformer_core.zoo.hugging_face.families.text_to_text import TextToText
from transformer_core.zoo.hugging_face.opening.checkpoint import Checkpoint
from transformer_core.zoo.interface import Family, InspectableModel

MODELS: dict[Family, type] = {
    "text-to-text": TextToText,
    "causal": Causal,
    "masked": Masked,
    "classifier": Classifier,
    "embedding": SentenceEmbedding,
    "encoder": Encoder,
    "image": ImageModel,
}
"""The class that inspects a family; see `transformer_core.zoo.interface.Family`."""


def inspectable(checkpoint: Checkpoint) -> InspectableModel:
    """The checkpoint as a model that can be inspected. A first forward pass shows which layers and heads it has.

    Raises:
        ValueError: its attention cannot be shown, and why: it has none, or its maps are not tokens by tokens.
        DeviceMemoryError: too little memory on a GPU.
    """
    return MODELS[checkpoint.family](checkpoint)
