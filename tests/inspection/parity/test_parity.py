"""Every weight of every architecture, against its own library in double precision."""

import re
from pathlib import Path

import pytest
import torch

from tests.inspection.parity.architectures import GROUPS, Architecture
from tests.inspection.parity.comparison import compare

CASES = [
    pytest.param(architecture, implementation, id=f"{architecture.name}-{implementation}")
    for group in GROUPS.values()
    for architecture in group
    for implementation in architecture.implementations
]


@pytest.fixture(scope="module", autouse=True)
def quiet_transformers():
    from transformers import logging

    before = logging.get_verbosity()
    logging.set_verbosity_error()
    yield
    logging.set_verbosity(before)


@pytest.mark.parametrize(("architecture", "implementation"), CASES)
def test_every_weight(architecture: Architecture, implementation: str):
    found = compare(architecture, implementation)
    if architecture.refused:
        assert re.search(architecture.refused, found.refusal)
        return
    assert found.refusal == ""
    assert found.calls == architecture.calls
    assert found.routes == architecture.routes[implementation]
    assert found.keeps_maps == architecture.keeps_maps
    assert found.shapes == found.expected_shapes
    # As close to the truth as the library's own float32 is, give or take a few roundings of a number near 1.
    assert found.rounding <= 1e-5
    assert found.difference <= 2 * found.rounding + 4 * torch.finfo(torch.float32).eps
    assert found.row_sum_error <= 1e-6
    assert found.blank_rows_are_zero
    assert found.output_difference <= architecture.output_rounding
    if architecture.training:
        assert found.certificate is None
    else:
        assert found.certificate <= CERTIFICATE[architecture.dtype]
    assert len(found.gaps) == bool(architecture.gap)
    assert re.search(architecture.gap, " ".join(found.gaps))
    # Of the case itself: the maps are neither nearly uniform nor all of them one-hot.
    assert found.calls == () or 2 * found.uniform < found.peak < 0.97


CERTIFICATE = {torch.float32: 2e-6, torch.bfloat16: 2e-2}
"""What `AttentionCall.certificate` promises, and what bfloat16's own rounding of the output allows."""


def test_the_suite_is_as_wide_as_it_says():
    """A hundred classes of transformers, and both implementations of most."""
    transformers = [group for name, group in GROUPS.items() if name not in ("PyTorch, timm, by hand",)]
    assert len({architecture.name for group in transformers for architecture in group}) >= 100


def test_the_page_lists_what_the_suite_has():
    page = (Path(__file__).parents[3] / "docs" / "architectures.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| (?!Model \|)(.+?) \| `", page, re.MULTILINE)
    partial = re.findall(r"^- \*\*(.+?)\*\*: ", page, re.MULTILINE)
    everything = [architecture for group in GROUPS.values() for architecture in group]
    assert listed == [architecture.name for architecture in everything if not architecture.refused]
    assert partial == [architecture.name for architecture in everything if architecture.refused or architecture.gap]
