"""The parameters of a model as a table, part by part, and the published models beside what their papers say."""

import pandas as pd

from transformer_core.model import TransformerConfig, VisionConfig
from transformer_core.model.parameters import SYMBOLS, Part, symbols, total
from transformer_core.model.published import PUBLISHED


def parts_table(parts: list[Part]) -> pd.DataFrame:
    """A line for each part: its formula, its parameters and its share of them all."""
    everything = total(parts)
    return pd.DataFrame(
        {
            "block": [part.block for part in parts],
            "part": [part.name for part in parts],
            "formula": [part.formula for part in parts],
            "parameters": [f"{part.count:,}" for part in parts],
            "share": [f"{part.count / everything:.1%}" for part in parts],
        }
    )


def legend(config: TransformerConfig | VisionConfig, parts: list[Part]) -> str:
    """What the symbols in the formulas of these parts mean, and their values."""
    used = {
        word for part in parts for word in part.formula.replace("(", " ").replace(")", " ").replace("·", " ").split()
    }
    values = {name: value for name, value in symbols(config).items() if name in used}
    return "; ".join(f"{name} = {value:,} ({SYMBOLS[name]})" for name, value in values.items())


def published_table() -> pd.DataFrame:
    """A line for each published model: the sum of its parts, its paper's total, and how much more the sum is."""
    return pd.DataFrame(
        {
            "sum of the parts": [f"{total(published.parts):,}" for published in PUBLISHED],
            "published": [published.total for published in PUBLISHED],
            "difference": [change(total(published.parts), published.published_total) for published in PUBLISHED],
        },
        index=pd.Index([published.name for published in PUBLISHED], name="model"),
    )


def change(count: int, from_count: int) -> str:
    """How much more one count is than another: "+6.4%"."""
    return f"{count / from_count - 1:+.1%}"


def reasons_for_differences() -> dict[str, list[str]]:
    """Why the parts of published models add up to other numbers than the papers', and the models of each reason."""
    reasons: dict[str, list[str]] = {}
    for published in PUBLISHED:
        reasons.setdefault(published.difference, []).append(published.name)
    return reasons
