"""The identities of the sinusoids (section 3.5), with the values of the paper's base model; and what came after them.

Those are compared with transformers: rotary positions with GPT-J's, ALiBi with BLOOM's, relative positions with T5's.
"""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.gptj.modeling_gptj import apply_rotary_pos_emb, create_sinusoidal_positions
from transformers.models.t5.modeling_t5 import T5Attention

from transformer_core.model import TransformerConfig, sinusoidal_encoding, wavelengths
from transformer_core.model.positions import (
    WAVELENGTH_LIMIT,
    Alibi,
    RelativeBias,
    alibi_slopes,
    largest_difference,
    offset_dot_products,
    position_bias,
    relative_buckets,
    rotate,
)


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


CPU = torch.device("cpu")


@pytest.mark.parametrize("start", [0, 1, 37])
def test_rotary_positions_are_gpt_js(start):
    torch.manual_seed(0)
    x = torch.randn(2, 3, 9, 16)
    sin, cos = create_sinusoidal_positions(64, 16)[None, start : start + 9].chunk(2, dim=-1)
    # GPT-J's heads stand after its positions.
    expected = apply_rotary_pos_emb(x.transpose(1, 2), sin, cos).transpose(1, 2)
    torch.testing.assert_close(rotate(x, start), expected)


def test_a_dimension_without_its_pair_is_refused():
    with pytest.raises(ValueError, match="d=5 is odd"):
        rotate(torch.ones(3, 5))


def test_one_pair_is_turned_by_one_radian_a_position():
    turned = rotate(torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
    expected = [[1, 0], [math.cos(1), math.sin(1)], [-math.sin(2), math.cos(2)]]
    torch.testing.assert_close(turned, torch.tensor(expected))


@given(m=st.integers(0, 2000), n=st.integers(0, 2000), seed=st.integers(0, 1000))
def test_turned_queries_and_keys_know_their_distance_alone(m, n, seed):
    query, key = torch.randn(2, 1, 12, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    product = (rotate(query, m) * rotate(key, n)).sum().item()
    # Equation 12: Re(q k* exp(i (m - n) theta)), each pair of dimensions being a complex number.
    pairs = zip(*(torch.view_as_complex(x.view(6, 2)).tolist() for x in (query, key)), strict=True)
    turned = [
        q * k.conjugate() * complex(math.cos((m - n) * theta), math.sin((m - n) * theta))
        for (q, k), theta in zip(pairs, (10000 ** (-i / 6) for i in range(6)), strict=True)
    ]
    assert product == pytest.approx(sum(turned).real, abs=1e-9)


def test_the_slopes_of_eight_heads():
    assert alibi_slopes(8).tolist() == [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256]


@pytest.mark.parametrize("num_heads", range(1, 41))
def test_slopes_are_blooms(num_heads):
    # Of two tokens, the second's key gets the slope itself.
    expected = build_alibi_tensor(torch.ones(1, 2), num_heads, torch.float32)[:, 0, 1]
    torch.testing.assert_close(alibi_slopes(num_heads), expected)


def test_no_heads_have_no_slopes():
    with pytest.raises(ValueError, match="num_heads=0"):
        alibi_slopes(0)


def test_alibi_by_hand():
    # Two heads have the slopes 1/16 and 1/256.
    sixteenths = torch.tensor([[0.0, -1.0, -2.0], [-1.0, 0.0, -1.0], [-2.0, -1.0, 0.0]])
    bias = Alibi(2, bidirectional=True)(3, 3, CPU)
    assert torch.equal(bias, torch.stack([sixteenths / 16, sixteenths / 256]))
    # The fourth and the fifth token, of five.
    later = Alibi(1, bidirectional=False)(2, 5, CPU, start=3)
    assert torch.equal(later[0, 0, :4] * 256, torch.tensor([-3.0, -2.0, -1.0, 0.0]))
    assert torch.equal(later[0, 1] * 256, torch.tensor([-4.0, -3.0, -2.0, -1.0, 0.0]))


DISTANCES = torch.arange(-300, 301)


@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize(("num_buckets", "max_distance"), [(32, 128), (8, 20), (64, 1000)])
def test_buckets_are_t5s(bidirectional, num_buckets, max_distance):
    expected = T5Attention._relative_position_bucket(DISTANCES, bidirectional, num_buckets, max_distance)
    assert torch.equal(relative_buckets(DISTANCES, bidirectional, num_buckets, max_distance), expected)


FIRST_OF_BUCKET = {
    # 8 * 2 ** (k / 2), rounded up.
    True: [0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91],
    # 16 * 2 ** (3 k / 16), rounded up.
    False: [*range(16), 16, 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113],
}
"""The smallest distance in each bucket of keys before the query, by whether there are buckets for keys after it."""


@pytest.mark.parametrize("bidirectional", [True, False])
def test_buckets_by_hand(bidirectional):
    starts = FIRST_OF_BUCKET[bidirectional]
    before = [sum(start <= distance for start in starts) - 1 for distance in range(301)]
    after = [16 + bucket for bucket in before[1:]] if bidirectional else [0] * 300
    assert relative_buckets(DISTANCES, bidirectional).tolist() == before[:0:-1] + before[:1] + after


def test_a_relative_bias_is_the_number_of_its_bucket():
    bias = RelativeBias(2, bidirectional=True)
    table = torch.arange(64.0).view(32, 2)
    with torch.no_grad():
        bias.buckets.weight.copy_(table)
    # Of head 1: bucket 1 one to the left, bucket 16 + 1 one to the right; numbers 2 b + 1.
    assert bias(3, 3, CPU)[1].tolist() == [[1, 35, 37], [3, 1, 35], [5, 3, 1]]
    assert bias(1, 15, CPU, start=14)[0, 0].tolist() == [2 * b for b in [9, 9, 9, 8, 8, 8, 8, 7, 6, 5, 4, 3, 2, 1, 0]]
    causal = RelativeBias(2, bidirectional=False)
    with torch.no_grad():
        causal.buckets.weight.copy_(table)
    assert causal(2, 12, CPU, start=10)[0].tolist()[1] == [2 * b for b in range(11, -1, -1)]


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary", "none"])
def test_other_positions_are_no_bias(positions):
    assert position_bias(TransformerConfig(positions=positions), bidirectional=True) is None
