"""Memory and operations against numbers worked out by hand, and against what PyTorch counts while a model runs."""

import pytest
import torch
import transformers
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from tests.model.formulas import evaluated
from transformer_core.model import LanguageModel, MaskedLanguageModel, Transformer, TransformerConfig
from transformer_core.model.costs import BYTES, cache_bytes, flops, weight_bytes
from transformer_core.model.parameters import symbols, total
from transformer_core.model.published import BY_NAME, PUBLISHED
from transformer_core.model.vision import VisionConfig, VisionTransformer

SMALL = {"vocab_size": 50, "d_model": 12, "num_heads": 3, "d_ff": 20, "max_length": 16}
"""With a head of its own size, nothing can be mistaken for d_model."""


def counted(model, *inputs) -> int:
    """Operations of one forward pass as PyTorch counts them, its attention as matrices: fused for the CPU it is not
    counted."""
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH), torch.no_grad():
        model(*inputs)
    return counter.get_total_flops()


def ids(length: int) -> torch.Tensor:
    return torch.ones(1, length, dtype=torch.long)


def of_unit(parts, unit: str) -> int:
    return total(part for part in parts if part.block == unit)


DESIGNS = [
    {},
    {"head_size": 5, "attention_bias": True, "norm": "pre"},
    {"d_ff": 0, "positions": "learned"},
    {"share_output": False, "positions": "relative"},
]


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("length", [1, 7])
def test_a_decoders_pass_over_a_text(design, length):
    config = TransformerConfig(**SMALL | {"num_encoder_layers": 0, "num_decoder_layers": 2} | design)
    parts = flops(config, length)
    assert {part.block for part in parts} == {"a token"}
    assert length * total(parts) == counted(LanguageModel(config), ids(length))


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("length", [1, 7])
def test_an_encoders_pass_over_a_text(design, length):
    config = TransformerConfig(**SMALL | {"num_encoder_layers": 2, "num_decoder_layers": 0} | design)
    parts = flops(config, length)
    assert length * total(parts) == counted(MaskedLanguageModel(config), ids(length))


@pytest.mark.parametrize("design", DESIGNS)
def test_an_encoder_decoders_pass_over_a_pair_of_texts(design):
    config = TransformerConfig(**SMALL | {"num_encoder_layers": 3, "num_decoder_layers": 2} | design)
    length, parts = 6, flops(config, 6)
    source, target = (of_unit(parts, f"a {side} token") for side in ("source", "target"))
    assert source + target == total(parts)
    model = Transformer(config)
    assert length * (source + target) == counted(model, ids(length), ids(length))


def test_a_source_token_is_read_once():
    """What a decoder does with a cache, of which the encoder's part is paid before."""
    config = TransformerConfig(**SMALL | {"num_encoder_layers": 3, "num_decoder_layers": 2})
    length, model = 6, Transformer(config).eval()
    cache = model.new_cache()
    with torch.no_grad():
        memory = model.encode(ids(length))
        model.decode(ids(length - 1), memory, None, cache)
    last = counted(lambda token: model.logits(model.decode(token, memory, None, cache)), ids(1))
    assert last == of_unit(flops(config, length), "a target token")


def test_bert_in_transformers():
    config = transformers.BertConfig(
        vocab_size=50, hidden_size=12, num_hidden_layers=2, num_attention_heads=3, intermediate_size=20
    )
    ours = TransformerConfig.bert(**SMALL | {"num_encoder_layers": 2})
    parts = flops(ours, 7, top="pooler")
    with_pooler = counted(transformers.BertModel(config).eval(), ids(7))
    assert 7 * of_unit(parts, "a token") + of_unit(parts, "a text") == with_pooler
    assert of_unit(parts, "a text") == 2 * 12 * 12
    assert total(flops(ours, 7, top="none")) == of_unit(parts, "a token")


@pytest.mark.parametrize(("side", "patch_size"), [(1, 3), (2, 4)])
def test_an_image(side, patch_size):
    encoder = TransformerConfig.vit(d_model=12, num_heads=3, d_ff=20, num_encoder_layers=2, max_length=side**2 + 1)
    config = VisionConfig(side * patch_size, patch_size, num_channels=2, num_classes=5, encoder=encoder)
    images = torch.zeros(1, 2, side * patch_size, side * patch_size)
    parts = flops(config, 999)
    assert {part.block for part in parts} == {"an image"}
    assert total(parts) == counted(VisionTransformer(config), images)


def test_gpt2_small_by_hand():
    """12 layers of 4 d^2 + 8 d^2, a vocabulary of 50,257, and 12 layers' attention to 1,024 tokens."""
    parts = flops(TransformerConfig.gpt2(), 1024)
    matrices = 2 * (12 * 12 * 768**2 + 50_257 * 768)
    assert total(parts) == matrices + 12 * 4 * 1024 * 768 == 284_812_800
    # Kaplan et al. 2020: C_forward = 2 N + 2 n_layer n_ctx d_attn, where N leaves the embeddings out, and a token
    # attends to half of the context in the mean.
    without_output = total(part for part in flops(TransformerConfig.gpt2(), 512) if part.name != "output matrix")
    assert without_output == 2 * 84_934_656 + 2 * 12 * 1024 * 768


def test_the_layers_of_gpt3_cost_about_twice_its_parameters():
    """Brown et al. 2020, Table D.1: 3.14e23 operations for 300 billion tokens, forward and backward (times three)."""
    gpt3 = BY_NAME["GPT-3 175B"]
    matrices = total(part for part in flops(gpt3.config, 2048) if part.name != "scores and weighted sums")
    assert 3 * matrices * 300e9 == pytest.approx(3.14e23, rel=0.005)


def test_weights_in_both_precisions():
    assert weight_bytes(124_439_808, "float32") == 497_759_232
    assert weight_bytes(124_439_808, "bfloat16") == 248_879_616
    assert {name: getattr(torch, name).itemsize for name in BYTES} == BYTES


def test_the_cache_of_gpt3_by_hand():
    """Keys and values, 96 layers of 96 heads of 128, two bytes each: 4.7 MB a token."""
    gpt3 = BY_NAME["GPT-3 175B"]
    assert total(cache_bytes(gpt3.config, 1)) == 2 * 96 * 96 * 128 * 2 == 4_718_592
    assert total(cache_bytes(gpt3.config, 2048)) == 2048 * 4_718_592
    assert total(cache_bytes(gpt3.config, 2048, "float32")) == 2 * 2048 * 4_718_592


def test_t5_3b_by_hand():
    """24 + 24 layers, d_model 1024, 32 heads of 128: their 4096 dimensions together are not d_model."""
    config = BY_NAME["T5 3B"].config
    # Two bytes for each of 4096 numbers of a key and of a value, in 24 layers; of the source as much.
    own, cross = cache_bytes(config, 1)
    assert own.count == cross.count == 2 * 24 * 4096 * 2 == 393_216
    # A multiply-add is two operations. Of a matrix of d_model x 4096: 8,388,608.
    matrix, feed_forward, attended = 2 * 1024 * 4096, 2 * 2 * 1024 * 16_384, 2 * 2 * 512 * 4096
    parts = flops(config, 512)
    assert of_unit(parts, "a source token") == 24 * (4 * matrix + attended + feed_forward) + 24 * 2 * matrix
    output = 2 * 1024 * 32_128
    assert of_unit(parts, "a target token") == 24 * (6 * matrix + 2 * attended + feed_forward) + output


@pytest.mark.parametrize("head_size", [None, 5])
def test_the_cache_that_a_decoder_holds(head_size):
    config = TransformerConfig(**SMALL | {"num_encoder_layers": 3, "num_decoder_layers": 2, "head_size": head_size})
    model = Transformer(config).eval()
    cache = model.new_cache()
    with torch.no_grad():
        model.decode(ids(6), model.encode(ids(6)), None, cache)
    tensors = [tensor for layer in cache for tensor in (layer.keys, layer.values, *layer.memory)]
    assert total(cache_bytes(config, 6, "float32")) == sum(tensor.nbytes for tensor in tensors)
    assert total(cache_bytes(config, 6, "float32")[:1]) * 2 == total(cache_bytes(config, 6, "float32"))


@pytest.mark.parametrize("config", [TransformerConfig.bert(), VisionConfig()])
def test_an_encoder_keeps_nothing(config):
    assert cache_bytes(config, 512) == []


@pytest.mark.parametrize("published", PUBLISHED, ids=lambda published: published.name)
def test_every_formula_is_what_it_counts(published):
    values = symbols(published.config) | {"n": 300, "b": 2}
    for part in (*flops(published.config, 300, published.top), *cache_bytes(published.config, 300)):
        assert evaluated(part.formula, values) == part.count, part
