"""What the linked view asks about its pins, answered from the model's own numbers."""

from typing import Any

import numpy as np
from jaxtyping import Float

from transformer_core.inspection.inspection import AttentionStack
from transformer_core.inspection.pair import explain
from transformer_core.inspection.thumbnails import strongest_pair


def answer(stack: AttentionStack, state: dict[str, Any]) -> dict[str, Any] | None:
    """The exact weight of the pinned pair, and, for the view that shows it, where that weight comes from.

    Args:
        state: of the view, checked.

    Returns:
        JSON that names the stack, layer and head that it is about; "cell" or "pair" is null where that is not asked.
        None where nothing is.
    """
    layer, head = state["layer"], state["head"]
    place = {"stack": stack.name, "layer": layer, "head": head}
    pair = pinned_pair(state)
    cell = None
    if pair is not None:
        weight = float(stack.weights(layer, head)[pair])
        cell = {"query": pair[0], "key": pair[1], "weight": weight if np.isfinite(weight) else None}
    if state["view"] != "product":
        return cell and {**place, "cell": cell, "pair": None}
    if pair is None:
        pair = strongest_pinned(np.nan_to_num(stack.weights(layer, head).cpu().numpy()), state)
    return {**place, "cell": cell, "pair": explain(stack, layer, head, *pair).to_json()}


def pinned_pair(state: dict[str, Any]) -> tuple[int, int] | None:
    """The pinned cell, or the pinned query with the pinned key where there is one of each."""
    if state["pinnedCell"]:
        return tuple(state["pinnedCell"])
    if len(state["pinnedQueries"]) == len(state["pinnedKeys"]) == 1:
        return state["pinnedQueries"][0], state["pinnedKeys"][0]
    return None


def strongest_pinned(weights: Float[np.ndarray, "query key"], state: dict[str, Any]) -> tuple[int, int]:
    """The strongest pair of the last pinned query, or else of the last pinned key, or else of all."""
    if state["pinnedQueries"]:
        query = state["pinnedQueries"][-1]
        return query, int(weights[query].argmax())
    if state["pinnedKeys"]:
        key = state["pinnedKeys"][-1]
        return int(weights[:, key].argmax()), key
    return strongest_pair(weights)[:2]
