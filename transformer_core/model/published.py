"""Models as their papers published them: the shape, the total that the paper gives, and why a count may differ.

GPT-4 is not among them. Its technical report (OpenAI 2023, section 2) "contains no further details about the
architecture (including model size)".
"""

from dataclasses import dataclass

from transformer_core.model.config import TransformerConfig
from transformer_core.model.parameters import Part, Top, parameters
from transformer_core.model.vision import VisionConfig

UNITS = {"M": 1e6, "B": 1e9}


@dataclass(frozen=True)
class Published:
    """A model of a paper."""

    name: str
    config: TransformerConfig | VisionConfig
    total: str
    """The number of parameters with the digits that the paper gives: "65M", "175.0B"."""
    source: str
    """Where the paper says so, and what it says about the shape."""
    difference: str
    """Why the parts add up to another number, as far as that is known."""
    top: Top = "pooler"
    """What stands on an encoder without a decoder. BERT is counted as the released model, which has the pooler."""

    @property
    def published_total(self) -> float:
        """The paper's number."""
        return float(self.total[:-1]) * UNITS[self.total[-1]]

    @property
    def parts(self) -> list[Part]:
        return parameters(self.config, self.top)


def _bert(name: str, total: str, **changes: int) -> Published:
    source = "Devlin et al. 2019, section 3. The vocabulary, of which the paper says “30,000”, is that of the released "
    source += "uncased model. Counted with the pooler, without the layer that guesses masked words."
    return Published(name, TransformerConfig.bert(**changes), total, source, BERT_PAPER)


def _gpt2(name: str, total: str, **changes: int) -> Published:
    source = "Radford et al. 2019, Table 2; vocabulary and longest sequence: section 2.3. The paper leaves out the "
    source += "number of heads, which is that of the released model."
    return Published(name, TransformerConfig.gpt2(**changes), total, source, GPT2_PAPER)


def _t5(name: str, total: str, section: str, difference: str, **changes: int) -> Published:
    source = f"Raffel et al. 2020, section {section}. To the 32,000 pieces of section 3.1.3 the released models add "
    source += "100 sentinels and 28 rows that fill the matrix up."
    return Published(name, TransformerConfig.t5(**changes), total, source, difference)


def _vit(name: str, total: str, patch_size: int, **changes: int) -> Published:
    config = VisionConfig(
        patch_size=patch_size, encoder=TransformerConfig.vit(max_length=(224 // patch_size) ** 2 + 1, **changes)
    )
    source = (
        "Dosovitskiy et al. 2021, Table 1. Counted for images of 224 x 224 pixels and the 1,000 classes of ImageNet."
    )
    return Published(name, config, total, source, VIT_TABLE)


PAPER_VOCABULARY = (
    "The token vectors are uncertain: their number is only “about 37000”, shared by both languages (section 5.1). 65M "
    "would need about 40,800 of them and the big model's 213M about 35,900, so no one vocabulary gives both."
)

BERT_PAPER = (
    "The paper rounds to two digits. It does not say what stands on the encoder: its totals fit with the pooler, as "
    "here, and with the layer that guesses masked words."
)

GPT2_PAPER = (
    "The paper's numbers are wrong: “our original parameter counts were wrong due to an error (in our previous blog "
    "posts and paper)”, says the README of the released models, whose names are 124M, 355M, 774M and 1558M. In "
    "every size 9,300 to 9,800 times d_model is missing, as if so many token vectors had been left out."
)

T5_ROUNDED = "The paper rounds (“about”)."

VIT_TABLE = (
    "Table 1 names no patch size and does not say whether it counts the classes, and no one way gives all three: 86M "
    "fits ViT-B/16 without classes (85.8M), 307M fits ViT-L with patches of 32 x 32 pixels (306.5M), and 632M fits "
    "ViT-H/14 with classes (632.0M)."
)

PUBLISHED = (
    Published(
        "Transformer base",
        TransformerConfig.base(),
        "65M",
        "Vaswani et al. 2017, Table 3, row “base”.",
        PAPER_VOCABULARY,
    ),
    Published(
        "Transformer big",
        TransformerConfig.big(),
        "213M",
        "Vaswani et al. 2017, Table 3, row “big”.",
        PAPER_VOCABULARY,
    ),
    _bert("BERT-base", "110M"),
    _bert(
        "BERT-large",
        "340M",
        d_model=1024,
        num_heads=16,
        d_ff=4096,
        num_encoder_layers=24,
    ),
    _gpt2("GPT-2 small", "117M"),
    _gpt2("GPT-2 medium", "345M", d_model=1024, num_heads=16, d_ff=4096, num_decoder_layers=24),
    _gpt2("GPT-2 large", "762M", d_model=1280, num_heads=20, d_ff=5120, num_decoder_layers=36),
    _gpt2("GPT-2 XL", "1542M", d_model=1600, num_heads=25, d_ff=6400, num_decoder_layers=48),
    Published(
        "GPT-3 175B",
        TransformerConfig.gpt2(d_model=12_288, num_heads=96, d_ff=49_152, num_decoder_layers=96, max_length=2048),
        "175.0B",
        "Brown et al. 2020, Table 2.1; section 2.1 has d_ff, the longest sequence and “the same model and architecture "
        "as GPT-2”, so also its vocabulary. Every other layer's attention is sparse there; the operations here are "
        "those of full attention.",
        "Table 2.1 rounds to 175.0B; Table D.1 of the same paper has 174,600M.",
    ),
    _t5("T5 small", "60M", "3.7 (“about 60 million”)", T5_ROUNDED),
    _t5(
        "T5 base",
        "220M",
        "3.1.1 (“about 220 million”)",
        T5_ROUNDED,
        d_model=768,
        num_heads=12,
        d_ff=3072,
        num_encoder_layers=12,
        num_decoder_layers=12,
    ),
    _t5(
        "T5 large",
        "770M",
        "3.7 (“around 770 million”)",
        "The output matrix: with one of its own the model would have 770.6M. But the paper shares that matrix with the "
        "token vectors (section 2.1), and only so do small and base have the paper's 60M and 220M.",
        d_model=1024,
        num_heads=16,
        d_ff=4096,
        num_encoder_layers=24,
        num_decoder_layers=24,
    ),
    _t5(
        "T5 3B",
        "2.8B",
        "3.7 (“around 2.8 billion”)",
        "The paper rounds, here down: the sum is 2.85 billion.",
        d_model=1024,
        num_heads=32,
        head_size=128,
        d_ff=16_384,
        num_encoder_layers=24,
        num_decoder_layers=24,
    ),
    _t5(
        "T5 11B",
        "11B",
        "3.7 (“about 11 billion”)",
        T5_ROUNDED,
        d_model=1024,
        num_heads=128,
        head_size=128,
        d_ff=65_536,
        num_encoder_layers=24,
        num_decoder_layers=24,
    ),
    _vit("ViT-B/16", "86M", 16),
    _vit("ViT-L/16", "307M", 16, d_model=1024, num_heads=16, d_ff=4096, num_encoder_layers=24),
    _vit("ViT-H/14", "632M", 14, d_model=1280, num_heads=16, d_ff=5120, num_encoder_layers=32),
)
"""In the order of their papers."""

BY_NAME = {published.name: published for published in PUBLISHED}
