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
    """What stands on an encoder without a decoder: the totals of BERT's paper are those with the pooler."""

    @property
    def published_total(self) -> float:
        """The paper's number."""
        return float(self.total[:-1]) * UNITS[self.total[-1]]

    @property
    def parts(self) -> list[Part]:
        return parameters(self.config, self.top)


def _bert(name: str, total: str, difference: str, **changes: int) -> Published:
    source = (
        "Devlin et al. 2019, section 3. The vocabulary is that of the released uncased model. With the pooler, and "
    )
    source += "without the layer that guesses masked words."
    return Published(name, TransformerConfig.bert(**changes), total, source, difference)


def _gpt2(name: str, total: str, **changes: int) -> Published:
    source = "Radford et al. 2019, Table 2. It leaves out the number of heads, which is that of the released model."
    return Published(name, TransformerConfig.gpt2(**changes), total, source, GPT2_PAPER)


def _t5(name: str, total: str, section: str, difference: str, **changes: int) -> Published:
    source = f"Raffel et al. 2020, section {section}. The vocabulary is that of the released models: 32,000 pieces, "
    source += "100 sentinels, and 28 that fill it up."
    return Published(name, TransformerConfig.t5(**changes), total, source, difference)


def _vit(name: str, total: str, patch_size: int, difference: str, **changes: int) -> Published:
    config = VisionConfig(
        patch_size=patch_size, encoder=TransformerConfig.vit(max_length=(224 // patch_size) ** 2 + 1, **changes)
    )
    source = "Dosovitskiy et al. 2021, Table 1. For images of 224 x 224 pixels and the 1,000 classes of ImageNet."
    return Published(name, config, total, source, difference)


ROUNDED = "None beyond the paper's rounding."

PAPER_VOCABULARY = (
    "The paper gives no exact vocabulary: “about 37,000” pieces shared by both languages (section 5.1). 65M would need "
    "about 40,800 and the big model's 213M about 35,900, so no single vocabulary gives both."
)

GPT2_PAPER = (
    "The paper's numbers are wrong: “our original parameter counts were wrong due to an error (in our previous blog "
    "posts and paper)”, says the README of the released models, whose names there are 124M, 355M, 774M and 1558M."
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
    _bert("BERT-base", "110M", ROUNDED),
    _bert(
        "BERT-large",
        "340M",
        ROUNDED,
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
        "Brown et al. 2020, Table 2.1; “the same model and architecture as GPT-2” (section 2.1), so also its "
        "vocabulary. Every other layer's attention is sparse there; the operations here are those of full attention.",
        "Table 2.1 rounds it up; Table D.1 of the same paper has 174,600M.",
    ),
    _t5("T5 small", "60M", "3.7 (“about 60 million”)", ROUNDED),
    _t5(
        "T5 base",
        "220M",
        "3.1.1 (“about 220 million”)",
        ROUNDED,
        d_model=768,
        num_heads=12,
        d_ff=3072,
        num_encoder_layers=12,
        num_decoder_layers=12,
    ),
    _t5(
        "T5 large",
        "770M",
        "3.7",
        "The paper does not say how it counted. With an output matrix of its own it would be 770.6M, but the paper "
        "shares that matrix with the token vectors (section 2.1), and its totals for the other sizes agree with that.",
        d_model=1024,
        num_heads=16,
        d_ff=4096,
        num_encoder_layers=24,
        num_decoder_layers=24,
    ),
    _t5(
        "T5 3B",
        "2.8B",
        "3.7 (“2.8 billion”)",
        "2.85 billion, of which the paper gives two digits.",
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
        "3.7 (“11 billion”)",
        ROUNDED,
        d_model=1024,
        num_heads=128,
        head_size=128,
        d_ff=65_536,
        num_encoder_layers=24,
        num_decoder_layers=24,
    ),
    _vit("ViT-B/16", "86M", 16, "Without the 1,000 classes, which depend on the task, it is 85.8M."),
    _vit(
        "ViT-L/16",
        "307M",
        16,
        "The paper's table names no patch size and does not say what it counts. With patches of 32 x 32 pixels, which "
        "the paper uses too, this shape has 306.5M.",
        d_model=1024,
        num_heads=16,
        d_ff=4096,
        num_encoder_layers=24,
    ),
    _vit("ViT-H/14", "632M", 14, ROUNDED, d_model=1280, num_heads=16, d_ff=5120, num_encoder_layers=32),
)
"""In the order of their papers."""
