"""What a result says about the model that it comes from."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import torch

from transformer_core.inspection import Provenance
from transformer_core.interrupting import stage
from transformer_core.zoo.interface import InspectableModel

BLOCK = 2**20
"""Bytes that are read at once."""


def provenance(model: InspectableModel) -> Provenance:
    return Provenance(
        model=model.name,
        weights_hash=model.weights_hash,
        device=str(model.device),
        dtype=str(model.dtype).removeprefix("torch."),
        torch_version=torch.__version__,
    )


def weights_hash(files: Sequence[Path]) -> str:
    """The first 12 hex digits of the SHA-256 of all the files' bytes, one file after the other."""
    digest = hashlib.sha256()
    total, done = sum(file.stat().st_size for file in files), 0
    for file in files:
        with file.open("rb") as opened:
            while block := opened.read(BLOCK):
                digest.update(block)
                done += len(block)
                stage("Computing the SHA-256 of the weights", min(done / total, 1.0))
    return digest.hexdigest()[:12]
