"""Seeing the attention of any PyTorch model. Nothing in here knows a particular model."""

from transformer_core.inspection.inspection import AttentionStack, Inspection, Provenance
from transformer_core.inspection.recording import NoAttentionError, record
from transformer_core.inspection.trace import AttentionCall, Trace

__all__ = ["AttentionCall", "AttentionStack", "Inspection", "NoAttentionError", "Provenance", "Trace", "record"]
