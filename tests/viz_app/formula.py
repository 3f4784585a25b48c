"""Attention weights by the paper's formula, to compare with what the app shows."""

import math

import numpy as np
import torch

from transformer_core.trained import Translator


def expected_weights(
    translator: Translator, text: str, stack: str, layer: int, head: int
) -> tuple[list[int], np.ndarray]:
    """Target ids and weights, (query, key), from the model's own matrices: softmax(Q K^T / sqrt(d_k))."""
    model = translator.model
    layers = model.encoder.layers if stack == "encoder" else model.decoder.layers
    attention = layers[layer].cross_attention if stack == "cross" else layers[layer].self_attention
    source = translator.source_ids(text)
    target = [translator.tokenizer.bos_id, *translator.generate([source])[0]]
    projected = {}
    handles = [
        matrix.register_forward_hook(lambda module, inputs, output, name=name: projected.update({name: output[0]}))
        for name, matrix in (("q", attention.w_q), ("k", attention.w_k))
    ]
    with torch.no_grad():
        model(torch.tensor([source]), torch.tensor([target]))
    for handle in handles:
        handle.remove()
    d_k = model.config.d_model // model.config.num_heads
    part = slice(head * d_k, (head + 1) * d_k)
    scores = projected["q"][:, part] @ projected["k"][:, part].T / math.sqrt(d_k)
    if stack == "decoder":
        scores = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -torch.inf)
    return target, torch.softmax(scores, dim=-1).numpy()
