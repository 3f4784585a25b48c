"""The tensors of one implementation under the names of another, with none left over and none missing."""

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor

from transformer_core.zoo.hugging_face.messages import some
from transformer_core.zoo.interface import InputError

ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh"}
"""Headlight's names by those of transformers."""


def refuse(model: str, lacking: Mapping[str, bool]) -> None:
    """Refuse a checkpoint that uses what Headlight's implementation does not have.

    Args:
        model: what to call the implementation, say "BERT".
        lacking: what it does not have, and whether the checkpoint uses it.

    Raises:
        InputError: the checkpoint uses some of it.
    """
    if used := [what for what, is_used in lacking.items() if is_used]:
        raise InputError(
            f"Headlight's own {model} has no {' and no '.join(used)}, which this checkpoint uses. Open it with the "
            'implementation "transformers".'
        )


def activation(model: str, name: str) -> str:
    """Headlight's name of an activation function.

    Raises:
        InputError: it is another function.
    """
    refuse(model, {f"activation {name!r}": name not in ACTIVATIONS})
    return ACTIVATIONS[name]


def layers(
    ours: str, theirs: str, number: int, modules: Mapping[str, str], parts: Iterable[str] = ("weight", "bias")
) -> dict[str, str]:
    """Names in every layer of a stack.

    Args:
        ours: path of Headlight's layers, with {} for the number of the layer.
        theirs: the same in the other implementation.
        number: of layers.
        modules: the paths of modules inside a layer: Headlight's, and the other's.
        parts: the tensors of each module.
    """
    return {
        f"{ours.format(layer)}.{our_module}.{part}": f"{theirs.format(layer)}.{their_module}.{part}"
        for layer in range(number)
        for our_module, their_module in modules.items()
        for part in parts
    }


def renamed(
    tensors: Mapping[str, Tensor],
    names: Mapping[str, str],
    copies: Mapping[str, str] | None = None,
    unused: Iterable[str] = (),
) -> dict[str, Tensor]:
    """The tensors under Headlight's names.

    Args:
        tensors: of the other implementation.
        names: Headlight's names, with the other's for each.
        copies: tensors that only repeat another one (shared weights), with that one.
        unused: tensors that the other implementation holds and does not compute with.

    Raises:
        ValueError: a tensor is missing or left over, or a copy is none.
    """
    copies = copies or {}
    if missing := [name for name in names.values() if name not in tensors]:
        raise ValueError(f"{len(missing):,} tensors are missing: {some(missing)}")
    if left := [name for name in tensors if name not in {*names.values(), *copies, *unused}]:
        raise ValueError(f"{len(left):,} tensors have no place in Headlight's model: {some(left)}")
    for copy, original in copies.items():
        if copy in tensors and not torch.equal(tensors[copy], tensors[original]):
            raise ValueError(f"{copy} is not the same as {original}, with which it should be shared")
    return {ours: tensors[theirs] for ours, theirs in names.items()}
