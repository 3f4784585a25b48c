"""Seeing the attention of any PyTorch model. Nothing in here knows a particular model."""

from transformer_core.inspection.inspection import AttentionStack, Inspection, PatchImage, Prediction, Provenance
from transformer_core.inspection.intervention import intervene
from transformer_core.inspection.pair import PairScore, UnexplainedPair, explain
from transformer_core.inspection.recording import NoAttentionError, record
from transformer_core.inspection.trace import AttentionCall, Trace

__all__ = [
    "AttentionCall",
    "AttentionStack",
    "Inspection",
    "NoAttentionError",
    "PairScore",
    "PatchImage",
    "Prediction",
    "Provenance",
    "Trace",
    "UnexplainedPair",
    "explain",
    "intervene",
    "record",
]
