"""How far a text can be continued, where a model has a limited number of positions."""

from transformer_core.zoo.interface import InspectionOptions


def fitting(options: InspectionOptions, length: int, positions: int | None) -> int:
    """How many tokens to write: those asked for, or as many as there are positions left.

    Args:
        length: tokens of the text, special ones included.
        positions: the most tokens that the model reads; None: no limit.
    """
    return options.new_tokens if positions is None else max(0, min(options.new_tokens, positions - length))


def about_fitting(options: InspectionOptions, wanted: int, positions: int | None) -> list[str]:
    """A note if fewer tokens are written than were asked for."""
    if wanted >= options.new_tokens:
        return []
    return [
        f"Only {wanted:,} of the {options.new_tokens:,} tokens asked for could be written: this model has "
        f"{positions:,} positions, and the text takes the others."
    ]
