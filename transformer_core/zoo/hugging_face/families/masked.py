"""Masked language models (BERT, arXiv 1810.04805): they guess the words that were masked."""

from dataclasses import replace

from transformers.utils import ModelOutput

from transformer_core.inspection import Prediction
from transformer_core.zoo.hugging_face.families.encoder import Answer, Encoder
from transformer_core.zoo.hugging_face.opening.checkpoint import Checkpoint
from transformer_core.zoo.hugging_face.tokens.encoding import Encoding
from transformer_core.zoo.input_checks import check_masked
from transformer_core.zoo.interface import InspectionOptions


class Masked(Encoder):
    """A masked language model whose attention can be inspected (an `InspectableModel`).

    Masked are the tokens at `InspectionOptions.masked`, and every mask token that was typed where special tokens are
    read as such. The predictions are "mask 1", "mask 2", ... from left to right, and the answer is the text with the
    likeliest token at each (the two texts of a pair on a line each). Without a mask there is nothing to guess: no
    predictions and an empty answer.
    """

    def _prepare(self, checkpoint: Checkpoint) -> None:
        super()._prepare(checkpoint)
        if self.tokenizer.mask_token_id is not None:
            self.abilities |= {"mask"}

    def _encode(self, text: str, second_text: str, options: InspectionOptions) -> Encoding:
        encoding = super()._encode(text, second_text, options)
        if "mask" not in self.abilities:
            return encoding
        own = [place for place, sentence in enumerate(encoding.sentences) if sentence == "A"]
        ids = list(encoding.ids)
        check_masked(options.masked, len(own))
        for number in options.masked:
            ids[own[number]] = self.tokenizer.mask_token_id
        return replace(encoding, ids=tuple(ids))

    def _answer(self, outputs: ModelOutput, encoding: Encoding) -> Answer:
        places = [place for place, id in enumerate(encoding.ids) if id == self.tokenizer.mask_token_id]
        logits = outputs.logits[0, places].cpu()
        if not places or logits.isnan().any():
            return Answer(logits)
        predictions = [
            Prediction(f"mask {number}", row=place, candidates=candidates)
            for number, (place, candidates) in enumerate(zip(places, self._candidates(logits), strict=True), start=1)
        ]
        guesses = dict(zip(places, logits.argmax(dim=-1).tolist(), strict=True))
        return Answer(logits, self._filled_in(encoding, guesses), predictions)

    def _about_text(self, text: str, options: InspectionOptions) -> list[str]:
        mask = self.tokenizer.mask_token
        if mask is None or options.read_special_tokens or mask not in text + options.second_text:
            return []
        return [
            f"The {mask} in the text is read as these letters, and masks nothing. Choose a token to mask instead, or "
            "have special tokens read as such."
        ]

    def _filled_in(self, encoding: Encoding, guesses: dict[int, int]) -> str:
        ids = [guesses.get(place, id) for place, id in enumerate(encoding.ids)]
        texts = (
            [id for id, sentence in zip(ids, encoding.sentences, strict=True) if sentence == wanted]
            for wanted in ("A", "B")
        )
        return "\n".join(self._decode(text) for text in texts if text)
