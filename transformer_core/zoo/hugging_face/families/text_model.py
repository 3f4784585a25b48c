"""What all Hugging Face models that read text share: tokens, limits, pairs and guesses."""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor, nn
from transformers import PreTrainedModel

from transformer_core.inspection.words import words_of_labels
from transformer_core.zoo.axis import Axis
from transformer_core.zoo.hugging_face.families.hugging_face_model import HuggingFaceModel, Recording
from transformer_core.zoo.hugging_face.opening.checkpoint import Checkpoint
from transformer_core.zoo.hugging_face.tokens.encoding import Encoding, encode_plain, special_ids
from transformer_core.zoo.hugging_face.tokens.labels import labels
from transformer_core.zoo.input_checks import check_length, check_text, check_tokens
from transformer_core.zoo.interface import InputError

PROBE = "a b c"
"""The text of the first pass. Only its being short counts."""

TOP = 10
"""Candidates that are kept of every prediction."""


class TextModel(HuggingFaceModel):
    """A loaded checkpoint that reads text."""

    def _prepare(self, checkpoint: Checkpoint) -> None:
        self.tokenizer = checkpoint.tokenizer
        self._num_tokens = len(self.tokenizer)
        self._position_limit = position_limit(self.network)
        self.max_tokens = self._max_tokens(encode_plain(self.tokenizer, PROBE))
        self.abilities = frozenset({"special tokens"})

    def _probe(self) -> Recording:
        with self._running():
            return self._record_text(self._read(PROBE))

    def _max_tokens(self, encoding: Encoding) -> int | None:
        """The most tokens that can be read where the tokenizer adds as many special ones as in this encoding."""
        if self._position_limit is None:
            return None
        return self._position_limit - sum(sentence is None for sentence in encoding.sentences)

    def tokens(self, text: str, read_special_tokens: bool = False) -> tuple[str, ...]:
        """Labels of the text's own tokens, without those that the tokenizer adds.

        Args:
            read_special_tokens: whether a typed "[MASK]" is one token, as with `InspectionOptions.read_special_tokens`.

        Raises:
            InputError: a text that the model cannot read.
        """
        encoding = self._read(text, read_special_tokens=read_special_tokens)
        own = [id for id, sentence in zip(encoding.ids, encoding.sentences, strict=True) if sentence is not None]
        return labels(self.tokenizer, own)

    def _read(
        self, text: str, second_text: str = "", read_special_tokens: bool = False, what: str = "text"
    ) -> Encoding:
        """Token ids of a text, or of a pair, with the special tokens around them.

        Raises:
            InputError: a text that the model cannot read; the message calls it `what`.
        """
        check_text(text, what)
        if second_text:
            check_text(second_text, "second text")
        encoding = encode_plain(self.tokenizer, text, second_text, read_special_tokens)
        length, second_length = encoding.sentences.count("A"), encoding.sentences.count("B")
        check_tokens(length, what)
        if second_text:
            check_tokens(second_length, "second text")
        are = "The two texts together are" if second_text else f"This {what} is"
        check_length(text + second_text, length + second_length, self._max_tokens(encoding), are)
        self._check_vocabulary(encoding.ids)
        return encoding

    def _check_vocabulary(self, ids: Sequence[int]) -> None:
        try:
            embedding = self.network.get_input_embeddings()
        except NotImplementedError:  # CANINE hashes characters
            return
        if isinstance(embedding, nn.Embedding) and max(ids) >= embedding.num_embeddings:
            (label,) = labels(self.tokenizer, [max(ids)])
            raise InputError(
                f"The tokenizer gives the token “{label}” the number {max(ids):,}, but {self.architecture} knows only "
                f"{embedding.num_embeddings:,} tokens (from 0). Tokenizer and model do not belong together."
            )

    def _inputs(self, encoding: Encoding) -> dict[str, Tensor]:
        inputs = self._text_inputs(encoding.ids)
        if encoding.token_types is not None and self._accepts("token_type_ids"):
            # A model with one type tells the texts of a pair apart by its separators alone.
            several = getattr(self.config, "type_vocab_size", None) != 1
            inputs["token_type_ids"] = self._batch(encoding.token_types if several else [0] * len(encoding.ids))
        return inputs

    def _text_inputs(self, ids: Sequence[int]) -> dict[str, Tensor]:
        inputs = {"input_ids": self._batch(ids)}
        if self._accepts("attention_mask"):
            inputs["attention_mask"] = self._batch([1] * len(ids))
        return inputs

    def _axis(self, ids: Sequence[int], label: str = "text") -> Axis:
        """The axis of tokens of which the model wrote some, or all."""
        tokens, specials = labels(self.tokenizer, ids), special_ids(self.tokenizer)
        special = [index in specials for index in ids]
        return Axis(tokens, label, self._places(ids, special), words_of_labels(tokens, special))

    def _text_axis(self, encoding: Encoding) -> Axis:
        """The axis of a text that the model reads."""
        special = self._places(encoding.ids, encoding.special)
        return Axis(labels(self.tokenizer, encoding.ids), "text", special, encoding.words)

    def _places(self, ids: Sequence[int], special: Sequence[bool]) -> tuple[int, ...]:
        """Where the special tokens are. A mask token is none: it stands for a word of the text."""
        mask = self.tokenizer.mask_token_id
        return tuple(place for place, index in enumerate(ids) if special[place] and index != mask)

    def _record_text(self, encoding: Encoding) -> Recording:
        """A pass over a text. The decoder of an encoder-decoder reads the same text, moved by one token."""
        if self.config.is_encoder_decoder:
            return self._record_both(encoding, self._moved(encoding.ids), "decoder input")
        text = self._text_axis(encoding)
        return self._record(self._inputs(encoding), {"self": (text, text)})

    def _record_both(self, encoding: Encoding, decoder_ids: Sequence[int], decoder_label: str) -> Recording:
        """A pass of an encoder-decoder over a text and what its decoder reads."""
        inputs = self._inputs(encoding) | {"decoder_input_ids": self._batch(decoder_ids)}
        text, decoder = self._text_axis(encoding), self._axis(decoder_ids, decoder_label)
        return self._record(inputs, {"encoder": (text, text), "decoder": (decoder, decoder), "cross": (decoder, text)})

    def _moved(self, ids: Sequence[int]) -> list[int]:
        """What a decoder reads beside an encoder that reads `ids`: the same after a start token.

        mBART (arXiv 2001.08210) starts with the text's last token, which names its language.
        """
        start = ids[-1] if self.config.model_type == "mbart" else self.config.decoder_start_token_id
        return [start, *ids[:-1]]

    def _about_unknown(self, ids: Sequence[int]) -> list[str]:
        unknown = self.tokenizer.unk_token_id
        # Some tokenizers (GPT-2's) lack such a token and name their end token instead.
        if unknown is None or unknown in (self.tokenizer.eos_token_id, self.tokenizer.bos_token_id):
            return []
        count = list(ids).count(unknown)
        if not count:
            return []
        return [
            f"{count:,} of the {len(ids):,} tokens {'is' if count == 1 else 'are'} unknown to this model "
            f"({self.tokenizer.unk_token})."
        ]

    def _candidates(self, logits: Float[Tensor, "place vocab"]) -> list[tuple[tuple[str, float], ...]]:
        """The likeliest tokens at each place, with their probabilities."""
        best = logits.float().softmax(dim=-1).topk(min(TOP, logits.size(-1)), dim=-1)
        names = iter(labels(self.tokenizer, best.indices.flatten().tolist()))
        return [tuple((next(names), probability) for probability in place) for place in best.values.tolist()]

    def _decode(self, ids: Sequence[int]) -> str:
        """The ids as text. Those without a token, of which a model may have some to spare, say nothing."""
        return self.tokenizer.decode([id for id in ids if id < self._num_tokens], skip_special_tokens=True)


def position_limit(network: PreTrainedModel, decoder: bool = False) -> int | None:
    """The most tokens, special ones included, that a network has positions for; None if it has no fixed limit."""
    side = "decoder" if decoder else "encoder"
    # An encoder and a decoder that were joined have a config each.
    config = getattr(network.config, side, None) or network.config.get_text_config(**{side: True})
    limit = getattr(config, f"max_{side}_position_embeddings", getattr(config, "max_position_embeddings", None))
    if not isinstance(limit, int) or limit <= 0:
        return None
    for name, module in network.named_modules():
        # RoBERTa and its descendants count positions from the padding token's number on.
        if "position" in name and isinstance(module, nn.Embedding) and module.padding_idx is not None:
            return min(limit, module.num_embeddings - module.padding_idx - 1)
    return limit
