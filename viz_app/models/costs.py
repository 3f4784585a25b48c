"""What a model costs to hold and to run, as the page says it."""

import pandas as pd

from transformer_core.model import TransformerConfig, VisionConfig
from transformer_core.model.costs import cache_bytes, flops, weight_bytes
from transformer_core.model.parameters import Part, Top, total
from transformer_core.model.published import PUBLISHED
from viz_app.numbers import memory, operations

FORMULAS = {
    r"weights $= b \cdot$ parameters": "A number takes b bytes: 4 in float32, 2 in bfloat16.",
    r"KV cache $= 2\,N_d\,h\,d_k\,n\,b$": (
        "The key and the value of each of n tokens in every decoder layer, for one text. After an encoder as much "
        "again, for the n tokens of the source. An encoder keeps nothing."
    ),
    r"FLOPs $= 2 \cdot$ matrices $+\ 4\,N\,n\,h\,d_k$": (
        "Of one forward pass for one token that attends to n tokens: two for each multiply-add. An encoder-decoder has "
        "a cost for each token that it reads and for each that it writes. An image is counted whole, whatever n is."
    ),
}
"""How the costs are worked out, and what is counted."""

OPERATIONS = (
    "Every matrix costs two operations for each of its numbers and each token (Kaplan et al. 2020, Table 1), attention "
    "in each layer 2·n·h·d_k for the scores and as many for the weighted sum of the values (Chowdhery et al. 2022, "
    "appendix B). Normalisation, softmax, activations and look-ups are left out."
)
"""Where the operations come from, and what is not counted."""

TOO_LONG = "context too long"
"""What stands instead of a cost where learned positions end before the context does."""


def fits(config: TransformerConfig | VisionConfig, context: int) -> bool:
    """Whether a model can read a context of this length: only learned positions end. An image has its own length."""
    return isinstance(config, VisionConfig) or config.positions != "learned" or context <= config.max_length


def work_of(config: TransformerConfig | VisionConfig, top: Top, context: int) -> dict[str, str]:
    """Operations of the forward pass "a token", "a source token", ... What a text costs once is left out."""
    parts = [part for part in flops(config, context, top) if part.block != "a text"]
    units = dict.fromkeys(part.block for part in parts)
    return {unit: operations(total(part for part in parts if part.block == unit)) for unit in units}


def costs_of(config: TransformerConfig | VisionConfig, parts: list[Part], context: int) -> dict[str, str]:
    """Memory of the weights and of the cache.

    Args:
        parts: those of the model's parameters.
    """
    costs = {
        "weights, float32": memory(weight_bytes(total(parts), "float32")),
        "weights, bfloat16": memory(weight_bytes(total(parts), "bfloat16")),
    }
    cache = total(cache_bytes(config, context))
    kept = (memory(cache) if cache else "none") if fits(config, context) else TOO_LONG
    return costs | {"KV cache, bfloat16": kept}


def published_costs(context: int) -> pd.DataFrame:
    """A line for each published model: its costs at a context of so many tokens."""
    lines = []
    for published in PUBLISHED:
        work = TOO_LONG
        if fits(published.config, context):
            numbers = work_of(published.config, published.top, context)
            work = "; ".join(f"{number} {unit}" for unit, number in numbers.items())
        costs = costs_of(published.config, published.parts, context)
        lines.append({"model": published.name} | costs | {"FLOPs": work})
    return pd.DataFrame(lines)
