"""What a classifier's numbers say, of a text or of an image."""

from typing import Any

from jaxtyping import Float
from torch import Tensor

from transformer_core.inspection import Prediction
from transformer_core.zoo.hugging_face.families.text_model import TOP


def read_classes(logits: Float[Tensor, " label"], config: Any) -> tuple[str, list[Prediction]]:
    """The answer in words, and the classes with their probabilities, as the config says what the numbers are.

    One class of several: a softmax, and the answer is the likeliest. Several at a time (problem_type
    "multi_label_classification"): a sigmoid each, and the answer names those above one half. A single number, or
    problem_type "regression": the values themselves, which are no probabilities and hence no prediction.

    Args:
        logits: what the model returned, without NaN.
        config: with `id2label`, `num_labels` and maybe `problem_type`.
    """
    logits = logits.float()
    names = [str(config.id2label.get(index, f"class {index}")) for index in range(len(logits))]
    problem = getattr(config, "problem_type", None) or ("regression" if len(logits) == 1 else "")
    if problem == "regression":
        return ", ".join(f"{name}: {value:.4g}" for name, value in zip(names, logits.tolist(), strict=True)), []
    several = problem == "multi_label_classification"
    probabilities = logits.sigmoid() if several else logits.softmax(dim=-1)
    best = probabilities.topk(min(TOP, len(names)))
    candidates = tuple(
        (names[index], value) for index, value in zip(best.indices.tolist(), best.values.tolist(), strict=True)
    )
    if several:
        chosen = [name for name, value in zip(names, probabilities.tolist(), strict=True) if value > 0.5]
        return ", ".join(chosen) or "none of the classes", [Prediction("each class by itself", None, candidates)]
    return candidates[0][0], [Prediction("class", None, candidates)]
