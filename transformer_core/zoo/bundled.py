"""The models in pretrained/: translators that this project trained."""

import json
import re
import time
from collections.abc import Sequence
from pathlib import Path

import torch

from transformer_core.inspection import Inspection, Trace, record
from transformer_core.inspection.words import words_of_labels
from transformer_core.model import TransformerConfig
from transformer_core.text.generation import longest_target
from transformer_core.trained.translator import FORMAT, Translator
from transformer_core.zoo.axis import Axis, stack_of
from transformer_core.zoo.device_memory import device_memory
from transformer_core.zoo.input_checks import check_length, check_text, check_tokens
from transformer_core.zoo.interface import InputError, InspectionOptions, StackShape
from transformer_core.zoo.provenance import provenance, weights_hash

PRETRAINED = Path(__file__).resolve().parents[2] / "pretrained"
"""The folder with one folder for each model."""

SHIPPED = ("tatoeba-en-de",)
"""The models that come with Headlight."""


def available() -> list[str]:
    """Names of the models in pretrained/: those that come with Headlight, then your own in alphabetical order."""
    names = (config.parent.name for config in PRETRAINED.glob("*/config.json"))
    return sorted(names, key=lambda name: (name not in SHIPPED, name))


def load(name: str, device: str = "auto", dtype: str = "auto") -> "InspectableTranslator":
    """Load a bundled model.

    Args:
        name: one of `available()`.
        device: "auto", "cuda", "mps" or "cpu".
        dtype: "auto" or "float32", which are the same.

    Raises:
        InputError: there is no such model.
        ValueError: the model's files are damaged, this machine has no such device, or another dtype.
        FileNotFoundError: one of the model's files is missing.
        DeviceMemoryError: the model does not fit into the GPU's memory.
    """
    names = available()
    # A name may come from a link, so it is compared with what is there and never joined to a path before.
    if name not in names:
        there_is = f"There are: {', '.join(names)}." if names else f"There are none in {PRETRAINED}."
        raise InputError(f"There is no bundled model called {name!a}. {there_is}")
    return load_folder(PRETRAINED / name, name, device, dtype)


def is_translator(folder: Path) -> bool:
    """Whether a folder holds a translator as `python -m transformer_core train` writes it."""
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(config, dict) and config.get("format") == FORMAT


def load_folder(folder: Path, name: str, device: str = "auto", dtype: str = "auto") -> "InspectableTranslator":
    """Load a translator from its folder, and call it `name`.

    Raises:
        As `load`, but for InputError.
    """
    if dtype not in ("auto", "float32"):
        raise ValueError(f"The bundled models run in float32 only, not in {dtype}. Choose float32 or auto.")
    with device_memory():
        translator = Translator.load(folder, device)
    return InspectableTranslator(name, translator, weights_hash([folder / "model.safetensors"]))


class InspectableTranslator:
    """A translator whose attention can be inspected (an `InspectableModel`)."""

    family = "text-to-text"
    architecture = "Transformer"
    abilities = frozenset({"beam search"})
    notes = ()

    def __init__(self, name: str, translator: Translator, weights_hash: str) -> None:
        self.name = name
        self.translator = translator
        self.weights_hash = weights_hash

    @property
    def config(self) -> TransformerConfig:
        return self.translator.model.config

    @property
    def device(self) -> torch.device:
        return self.translator.model.embedding.tokens.weight.device

    @property
    def num_parameters(self) -> int:
        """Trained numbers; the matrix that source, target and output share counts once."""
        return sum(parameter.numel() for parameter in self.translator.model.parameters())

    @property
    def dtype(self) -> torch.dtype:
        return self.translator.model.embedding.tokens.weight.dtype

    @property
    def languages(self) -> tuple[str, str]:
        return self.translator.source_language, self.translator.target_language

    @property
    def stacks(self) -> tuple[StackShape, ...]:
        config = self.config
        layers = {
            "encoder": config.num_encoder_layers,
            "decoder": config.num_decoder_layers,
            "cross": config.num_decoder_layers,
        }
        return tuple(StackShape(name, (config.num_heads,) * number) for name, number in layers.items())

    @property
    def max_tokens(self) -> int:
        """Longest text in tokens; the end token comes on top."""
        return self.translator.max_source_tokens - 1

    def tokens(self, text: str, read_special_tokens: bool = False) -> tuple[str, ...]:
        """Labels of the text's tokens, the end token aside."""
        return tuple(self.translator.tokenizer.pieces(self._read(text)[:-1]))

    def inspect(self, text: str, options: InspectionOptions = InspectionOptions()) -> Inspection:  # noqa: B008
        """Translate a text, then record one forward pass over the text and its whole translation.

        The stacks are "encoder" (source tokens among themselves), "decoder" (the decoder's input, which is the begin
        token and the translation, among themselves) and "cross" (from the decoder's input to the source tokens).

        Raises:
            InputError: the text is blank, too long or unreadable.
            DeviceMemoryError: too little memory on a GPU.
        """
        started = time.perf_counter()
        source = self._read(text)
        with device_memory(), torch.inference_mode():
            (target,) = self.translator.generate([source], options.beam_size, options.length_penalty)
            # What the decoder reads while it writes this target. The last token of one that fills all positions is
            # written, but never read.
            target_input = [self.translator.tokenizer.bos_id, *target][: self.config.max_length]
            with record(self.translator.model) as trace:
                self.translator.model.hidden(self._batch(source), self._batch(target_input))
            # On the CPU they are exact, and a GPU's memory does not fill up with what people look at.
            calls = Trace([call.to("cpu") for call in trace])
        seconds = time.perf_counter() - started

        source_axis = self._axis(source, self.translator.source_language)
        target_axis = self._axis(target_input, self.translator.target_language)
        axes = {
            "encoder": (source_axis, source_axis),
            "decoder": (target_axis, target_axis),
            "cross": (target_axis, source_axis),
        }
        stacks = {name: stack_of(name, calls.of_kind(name), rows, columns) for name, (rows, columns) in axes.items()}
        return Inspection(
            text=text,
            answer=self.translator.tokenizer.decode(target),
            stacks=stacks,
            provenance=provenance(self),
            seconds=seconds,
            notes=self._notes(source, target),
            certificate=calls.certificate(),
            row_sum_error=calls.row_sum_error(),
        )

    def _read(self, text: str) -> list[int]:
        """The text's token ids, or an InputError that says what is wrong with it."""
        check_text(text)
        source = self.translator.source_ids(text)
        check_tokens(len(source) - 1)
        check_length(text, len(source) - 1, self.max_tokens)
        return source

    def _axis(self, ids: Sequence[int], language: str) -> Axis:
        tokenizer = self.translator.tokenizer
        added = tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id
        pieces, special = tuple(tokenizer.pieces(ids)), [index in added for index in ids]
        places = tuple(place for place, is_special in enumerate(special) if is_special)
        return Axis(pieces, language, places, words_of_labels(pieces, special))

    def _notes(self, source: Sequence[int], target: Sequence[int]) -> tuple[str, ...]:
        tokenizer = self.translator.tokenizer
        notes = []
        spelled = sum(re.fullmatch("<0x[0-9A-F]{2}>", piece) is not None for piece in tokenizer.pieces(source))
        if spelled:
            notes.append(
                f"{spelled:,} of the {len(source):,} source tokens are single bytes, written like <0xF0>: they spell "
                "characters that this model's vocabulary lacks."
            )
        unknown = list(source).count(tokenizer.unk_id)
        if unknown:
            are = "is" if unknown == 1 else "are"
            notes.append(f"{unknown:,} of the {len(source):,} source tokens {are} unknown to this model (<unk>).")
        if not target:
            notes.append("The translation is empty: the model ended it at once.")
        # Only an answer that never ended grows as long as the search lets it.
        if len(target) >= longest_target(len(source), self.config.max_length):
            notes.append(f"The translation did not end by itself; it was cut at {len(target):,} tokens.")
        return tuple(notes)

    def _batch(self, ids: Sequence[int]) -> torch.Tensor:
        return torch.tensor([ids], device=self.device)
