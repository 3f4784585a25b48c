"""What a model costs to hold and to run, as the page says it."""

import pandas as pd

from transformer_core.model import TransformerConfig, VisionConfig
from transformer_core.model.costs import cache_bytes, flops, weight_bytes
from transformer_core.model.parameters import Part, Top, total
from transformer_core.model.published import PUBLISHED
from viz_app.numbers import memory, operations

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
