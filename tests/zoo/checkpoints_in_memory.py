"""Checkpoints of small random models that never touch the disk, and transformers' own word on them."""

import copy
from pathlib import Path

import torch
import transformers

from transformer_core.inspection import AttentionStack
from transformer_core.zoo.checkpoint import Checkpoint
from transformer_core.zoo.hugging_face import inspectable


def checkpoint(model, tokenizer, family: str, **options) -> Checkpoint:
    """The model as it would come from a folder."""
    defaults = dict(image_processor=None, weights_hash="0123456789ab", notes=(), pooling=None, normalize=False)
    return Checkpoint(
        name="tiny",
        folder=Path("tiny"),
        family=family,
        architecture=type(model).__name__,
        model=model.eval(),
        tokenizer=tokenizer,
        **defaults | options,
    )


def inspected(model, tokenizer, family: str, **options):
    """The `InspectableModel` of a model in memory."""
    return inspectable(checkpoint(model, tokenizer, family, **options))


def random_model(model_class, config, implementation: str = "sdpa", seed: int = 0):
    """A model with weights that make peaky attention: larger ones than a fresh model has."""
    config = copy.deepcopy(config)
    config._attn_implementation = implementation
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = model_class(config)
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.data.mul_(4)
    return model.eval()


def eager_double(model) -> transformers.PreTrainedModel:
    """A second model with the same weights that hands out its own attention weights, in double precision."""
    config = copy.deepcopy(model.config)
    config._attn_implementation = "eager"
    second = type(model)(config)
    second.load_state_dict(model.state_dict())
    return second.double().eval()


def assert_weights(stack: AttentionStack, attentions, batch: int = 0, atol: float = 2e-5) -> None:
    """The stack's weights are those that transformers gives, (batch, head, query, key) for each layer."""
    assert len(stack) == len(attentions)
    for layer, expected in enumerate(attentions):
        torch.testing.assert_close(stack.weights(layer).double(), expected[batch].double(), atol=atol, rtol=1e-4)
