"""The changed fields in the link, and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer_core.model.published import BY_NAME
from viz_app.models.changes import from_link, to_link
from viz_app.models.fields import CHOICES, LARGEST, SIZES, SWITCHES, fields_of


def _changes(name: str) -> st.SearchStrategy:
    if name in CHOICES:
        return st.sampled_from(CHOICES[name][0])
    if name in SWITCHES:
        return st.booleans()
    sizes = st.integers(-LARGEST, LARGEST)
    return sizes | st.none() if name == "head_size" else sizes


@given(st.fixed_dictionaries({}, optional={name: _changes(name) for name in (*SIZES, *CHOICES, *SWITCHES)}))
def test_a_link_holds_the_changes_exactly(changes):
    assert from_link(to_link(changes), fields_of(BY_NAME["Transformer base"])) == (changes, [])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("d_model-wide", "d_model cannot be “wide”; it is 512."),
        ("d_model-1e5", "d_model cannot be “1e5”; it is 512."),
        ("d_model-99999999", "d_model cannot be “99999999”; it is 512."),
        ("d_model-²", "d_model cannot be “²”; it is 512."),
        ("d_model-null", "d_model cannot be “null”; it is 512."),
        ("d_model", "d_model cannot be “”; it is 512."),
        ("positions-absolute", "positions cannot be “absolute”; it is sinusoidal."),
        ("share_output-yes", "share_output cannot be “yes”; it is true."),
        ("top-hat", "top cannot be “hat”; it is pooler."),
        ("patch_size-16", "The link changes “patch_size”, which is no field of this model."),
        ("<b>-1", "The link changes “<b>”, which is no field of this model."),
    ],
)
def test_what_a_link_asks_for_in_vain_is_said(text, problem):
    changes, problems = from_link(f"num_heads-4.{text}", fields_of(BY_NAME["Transformer base"]))
    assert changes == {"num_heads": 4}
    assert problems == [problem]
