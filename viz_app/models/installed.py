"""What is known of the models in pretrained/ without loading one: their config.json, their files, their card.

A folder may be anybody's, so all of it is data.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from transformer_core.model import TransformerConfig, VisionConfig
from transformer_core.model.parameters import parameters, shape, total
from transformer_core.view.labels import clean_text
from transformer_core.zoo import bundled
from viz_app.numbers import memory

MAX_CARD = 50_000
"""Characters of a card that are shown."""

PURPOSES = {
    "encoder-decoder": "Encoder and decoder: turns one text into another",
    "decoder only": "Decoder only: says what comes next",
    "encoder only": "Encoder only: guesses masked words",
    "image": "Encoder only: names the class of an image",
}


@dataclass(frozen=True)
class Installed:
    """A model in pretrained/."""

    purpose: str
    facts: dict[str, str]
    """What it is, by name."""
    card: str
    """MODEL_CARD.md as Markdown that loads nothing; empty if there is none."""

    @property
    def quality(self) -> str:
        """What the card measured: the table below its heading “How good it is”; empty if it has none."""
        _, _, behind = self.card.partition("\n**How good it is**\n")
        section = re.split(r"^\*\*.+\*\*$", behind, maxsplit=1, flags=re.MULTILINE)[0]
        table = re.search(r"(?:^\|.*\n)+", section, re.MULTILINE)
        return table[0] if table else ""

    @property
    def training(self) -> list[str]:
        """What the card says of the data, and of the steps, the time and the hardware of its training."""
        items = re.findall(r"^- (.+(?:\n  .+)*)", self.card, re.MULTILINE)
        lines = [" ".join(item.split()) for item in items]
        return [line for line in lines if line.startswith("Data: ") or re.match(r"[\d,]+ steps, ", line)]


def installed(name: str) -> Installed:
    """Facts about one of the bundled models, worked out from its folder.

    Raises:
        ValueError: its config.json is damaged; the message says how.
        OSError: a file is missing or cannot be read.
    """
    folder = Path(bundled.PRETRAINED) / name
    config, languages = _read_config(folder / "config.json")
    encoder = config.encoder if isinstance(config, VisionConfig) else config
    kind = shape(config)
    purpose = PURPOSES[kind]
    if kind == "encoder-decoder" and languages:
        purpose += f", {languages[0]} into {languages[1]}"
    counts = {"encoder": encoder.num_encoder_layers, "decoder": encoder.num_decoder_layers}
    layers = " + ".join(f"{number:,} {stack}" for stack, number in counts.items() if number)
    facts = {
        "parameters": f"{total(parameters(config)):,}",
        "layers": f"{layers}, {encoder.norm}-norm",
        "heads": f"{encoder.num_heads:,} a layer, of {encoder.d_head:,} dimensions",
        "d_model, d_ff": f"{encoder.d_model:,}, {encoder.d_ff:,}" if encoder.d_ff else f"{encoder.d_model:,}, none",
        "positions": encoder.positions,
    }
    if isinstance(config, VisionConfig):
        facts["reads"] = (
            f"{config.image_size} x {config.image_size} pixels in {config.num_patches:,} patches; "
            f"{config.num_classes:,} classes"
        )
    else:
        facts["reads"] = f"{config.vocab_size:,} different tokens, {config.max_length:,} at most"
    facts["weights"] = memory((folder / "model.safetensors").stat().st_size) + " on disk"
    if snapshots := len(list((folder / "snapshots").glob("*.safetensors"))):
        facts["snapshots"] = f"{snapshots:,} of its training"
    return Installed(purpose, facts, _read_card(folder / "MODEL_CARD.md"))


def _read_config(path: Path) -> tuple[TransformerConfig | VisionConfig, tuple[str, str] | None]:
    """The model's config, and the languages that it translates between."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        languages = values.get("source_language"), values.get("target_language")
        if "vision_transformer" in values:
            config: TransformerConfig | VisionConfig = VisionConfig.from_dict(values["vision_transformer"])
        else:
            config = TransformerConfig.from_dict(values["transformer"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"its config.json does not describe a model: {error}") from error
    return config, languages if all(isinstance(language, str) for language in languages) else None


def _read_card(path: Path) -> str:
    if not path.is_file():
        return ""
    with path.open(encoding="utf-8", errors="replace") as file:
        text = file.read(MAX_CARD + 1)
    if len(text) > MAX_CARD:
        text = text[:MAX_CARD] + f"\n\n… cut off here: only the first {MAX_CARD:,} characters are shown."
    return harmless(text)


def harmless(markdown: str) -> str:
    """A card's Markdown as a part of a page: its headings are bold lines, and no picture is fetched from anywhere.

    HTML in it is shown as text by whoever does not allow it, as Streamlit.
    """
    lines = []
    in_code = False
    for line in clean_text(markdown).replace("![", "! [").splitlines():
        in_code ^= line.lstrip().startswith("```")
        heading = None if in_code else re.fullmatch(r" {0,3}#{1,6}\s+(.*?)[\s#]*", line)
        lines += ["", f"**{heading[1]}**", ""] if heading else [line]
    return "\n".join(lines)
