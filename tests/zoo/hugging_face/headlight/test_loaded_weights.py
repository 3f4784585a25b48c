"""Every tensor of the original has its place, and every tensor of Headlight's model is filled."""

import pytest
import torch

from tests.zoo.hugging_face.headlight.originals import ARCHITECTURES, original
from transformer_core.zoo.hugging_face.headlight.opening import IMPLEMENTATIONS, headlight_model

COPIES = {"cls.predictions.decoder.weight", "cls.predictions.bias", "lm_head.weight"} | {
    f"{stack}.embed_tokens.weight" for stack in ("encoder", "decoder")
}
"""Shared with another tensor, and so not needed."""


@pytest.fixture(params=ARCHITECTURES)
def theirs(request):
    return original(request.param)


def test_the_same_numbers_of_which_none_is_left_over_or_made_up(theirs):
    ours = headlight_model(theirs)
    ours_sorted, theirs_sorted = (
        torch.cat([parameter.detach().flatten() for parameter in model.parameters()]).sort().values
        for model in (ours, theirs)
    )
    assert torch.equal(ours_sorted, theirs_sorted)
    assert not any(parameter.is_meta for parameter in [*ours.parameters(), *ours.buffers()])
    assert not any(module.training for module in ours.modules())


def test_a_missing_tensor_is_named(theirs):
    implementation = IMPLEMENTATIONS[type(theirs).__name__]
    config, tensors = implementation.config_of(theirs.config), theirs.state_dict()
    for name in tensors.keys() - COPIES:
        with pytest.raises(ValueError, match=r"missing"):
            implementation.weights_of({key: value for key, value in tensors.items() if key != name}, config)
    implementation.weights_of({key: value for key, value in tensors.items() if key not in COPIES}, config)


def test_a_tensor_without_a_place_is_named(theirs):
    implementation = IMPLEMENTATIONS[type(theirs).__name__]
    tensors = theirs.state_dict() | {"adapter.weight": torch.zeros(1)}
    with pytest.raises(ValueError, match=r"1 tensors have no place in Headlight's model: adapter\.weight"):
        implementation.weights_of(tensors, implementation.config_of(theirs.config))
