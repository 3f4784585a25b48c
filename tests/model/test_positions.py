"""The identities of the sinusoids (section 3.5), with the values of the paper's base model."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from transformer_core.model import sinusoidal_encoding, wavelengths
from transformer_core.model.positions import WAVELENGTH_LIMIT, largest_difference, offset_dot_products


def test_the_first_values():
    encoding = sinusoidal_encoding(2, 512)
    torch.testing.assert_close(encoding[0], torch.tensor([0.0, 1.0] * 256))
    torch.testing.assert_close(
        encoding[1, :4], torch.tensor([0.841471, 0.540302, 0.821856, 0.569695]), atol=5e-7, rtol=0
    )


@given(position=st.integers(0, 5000), pair=st.integers(0, 255))
def test_the_formula(position, pair):
    encoding = sinusoidal_encoding(1, 512, start=position)[0]
    angle = position / 10000 ** (2 * pair / 512)
    assert encoding[2 * pair].item() == pytest.approx(math.sin(angle), abs=1e-6)
    assert encoding[2 * pair + 1].item() == pytest.approx(math.cos(angle), abs=1e-6)


@given(position=st.integers(0, 10_000), d_model=st.sampled_from([2, 64, 512, 1024]))
def test_every_position_has_the_same_length(position, d_model):
    encoding = sinusoidal_encoding(1, d_model, start=position)
    assert encoding.square().sum().item() == pytest.approx(d_model / 2, rel=1e-5)


OFFSETS = {0: 256, 1: 249.1021, 2: 231.7336, 3: 211.7494, 5: 189.5967, 10: 173.7897, 50: 131.0908, 100: 111.9502}


@pytest.mark.parametrize(("offset", "product"), OFFSETS.items())
@pytest.mark.parametrize("position", [0, 17, 900])
def test_dot_products_depend_on_the_offset_alone(offset, product, position):
    encoding = sinusoidal_encoding(1001, 512).double()
    assert (encoding[position] @ encoding[position + offset]).item() == pytest.approx(product, abs=1e-4)


@pytest.mark.parametrize("position", [0, 1000])
def test_the_dot_products_of_the_first_offsets(position):
    products = offset_dot_products(512, 3, position)
    torch.testing.assert_close(
        products, torch.tensor([256, 249.1021, 231.7336, 211.7494], dtype=torch.float64), atol=1e-4, rtol=0
    )


def test_the_largest_difference_is_taken_over_all_curves_and_offsets():
    curves = [torch.tensor([1.0, 2.0, 0.0]), torch.tensor([1.5, 1.0, 0.0]), torch.tensor([1.0, 4.0, 0.5])]
    assert largest_difference(curves) == 3.0
    assert largest_difference(curves[:1]) == 0.0


@given(position=st.integers(0, 500), offset=st.integers(-100, 100))
def test_an_offset_is_a_rotation_of_every_pair(position, offset):
    position = max(position, -offset)
    here = sinusoidal_encoding(1, 64, start=position).view(32, 2).double()
    there = sinusoidal_encoding(1, 64, start=position + offset).view(32, 2).double()
    angle = offset / 10000 ** (torch.arange(32, dtype=torch.float64) / 32)
    sine, cosine = here.unbind(1)
    rotated = torch.stack([sine * angle.cos() + cosine * angle.sin(), cosine * angle.cos() - sine * angle.sin()], dim=1)
    torch.testing.assert_close(rotated, there, atol=1e-6, rtol=0)


def test_wavelengths():
    lengths = wavelengths(512)
    assert lengths[0].item() == pytest.approx(2 * math.pi)
    assert lengths[-1].item() == pytest.approx(60_611, abs=0.5)
    assert math.isclose(WAVELENGTH_LIMIT, 62_831.853, abs_tol=1e-3)
    assert (lengths < WAVELENGTH_LIMIT).all()


def test_a_wavelength_is_a_full_turn():
    # Of 64 pairs the one in the middle turns 1/100 a position: after 200 pi = 628.3 positions it is where it was.
    assert wavelengths(128)[32].item() == pytest.approx(200 * math.pi)


@pytest.mark.parametrize("d_model", [1, 7, 513])
def test_an_odd_width_ends_on_a_sine(d_model):
    encoding = sinusoidal_encoding(10, d_model)
    assert encoding.shape == (10, d_model)
    expected = [math.sin(p / 10000 ** ((d_model - 1) / d_model)) for p in range(10)]
    torch.testing.assert_close(encoding[:, -1], torch.tensor(expected), atol=1e-6, rtol=0)


@pytest.mark.parametrize("arguments", [(-1, 8), (4, 0), (4, 8, -1)])
def test_impossible_sizes_are_refused(arguments):
    with pytest.raises(ValueError, match="must"):
        sinusoidal_encoding(*arguments)


def test_no_positions_are_an_empty_encoding():
    assert sinusoidal_encoding(0, 8).shape == (0, 8)
