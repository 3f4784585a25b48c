"""Models that choose a class for a text or for a pair of texts, say its sentiment or whether B follows from A."""

from transformers.utils import ModelOutput

from transformer_core.zoo.hugging_face.families.classes import read_classes
from transformer_core.zoo.hugging_face.families.encoder import Answer, Encoder
from transformer_core.zoo.hugging_face.tokens.encoding import Encoding


class Classifier(Encoder):
    """A classifier whose attention can be inspected (an `InspectableModel`). The answer is the class."""

    def _answer(self, outputs: ModelOutput, encoding: Encoding) -> Answer:
        logits = outputs.logits[0].cpu()
        if logits.isnan().any():
            return Answer(logits)
        return Answer(logits, *read_classes(logits, self.config))
