"""What the models that write text share: the search for what to write, and what they expected at each token."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from transformers import LogitsProcessor, StoppingCriteria

from transformer_core.inspection import Prediction
from transformer_core.interrupting import short_steps, stage
from transformer_core.text.sampling import Sampler
from transformer_core.zoo.hugging_face.families.text_model import TextModel

SEARCH = {
    "do_sample": False,
    "num_return_sequences": 1,
    # What a checkpoint may have saved for other uses: more than the tokens, or a cache that lives on the model, which
    # threads share.
    "return_dict_in_generate": False,
    "output_attentions": False,
    "output_hidden_states": False,
    "output_scores": False,
    "cache_implementation": None,
    "disable_compile": True,
    # Other ways to search, some of which are programs on the hub.
    "constraints": None,
    "force_words_ids": None,
    "num_beam_groups": None,
    "dola_layers": None,
    "assistant_early_exit": None,
    # Only for transformers' own sampling. Saved ones would cause warnings.
    "temperature": None,
    "top_k": None,
    "top_p": None,
    "min_p": None,
    "typical_p": None,
}
"""For `generate`: the likeliest text by greedy or beam search. Other settings are those saved with the model."""


class _Telling(StoppingCriteria):
    """Says how far `generate` is. It is asked after every token, and never has it stop.

    The first of these steps reads the whole text, which may take minutes. Those after it are short.
    """

    def __init__(self, longest: int, tokens: ExitStack) -> None:
        self._longest = longest
        self._tokens = tokens
        """Holds what is entered when the first token is there, and lasts until `generate` ends."""
        self._written = 0

    def __call__(self, input_ids: Int[Tensor, "batch token"], scores: Any, **kwargs: Any) -> Bool[Tensor, " batch"]:
        if not self._written:
            self._tokens.enter_context(short_steps())
        self._written += 1
        stage(f"Writing token {min(self._written + 1, self._longest):,} of at most {self._longest:,}")
        return torch.zeros(input_ids.size(0), dtype=torch.bool, device=input_ids.device)


class _Drawing(LogitsProcessor):
    """Leaves `generate`'s greedy search nothing but the token that a sampler chose.

    transformers' own sampling draws from the generator of random numbers that all threads share.
    """

    def __init__(self, sampler: Sampler) -> None:
        self._sampler = sampler

    def __call__(self, input_ids: Int[Tensor, "1 token"], scores: Float[Tensor, "1 vocab"]) -> Float[Tensor, "1 vocab"]:
        chosen = self._sampler.choose(scores[0].float())
        only = torch.full_like(scores, -torch.inf)
        only[0, chosen] = 0.0
        return only


class Generator(TextModel):
    """A loaded checkpoint that writes text."""

    def _write(
        self, inputs: Mapping[str, Tensor], new_tokens: int, sampler: Sampler | None = None, **search: Any
    ) -> list[int]:
        """The ids of one text with at most so many new tokens: all of `generate`'s sequence.

        Args:
            sampler: chooses the tokens; without one, the likeliest are searched.
            search: more settings for `generate`.
        """
        pad = self.network.generation_config.pad_token_id
        if pad is None:
            search["pad_token_id"] = next(iter(self._end_ids()), 0)  # a batch of one is never padded
        stage("Reading the text")
        with self._failing_in_words(), ExitStack() as tokens:
            (sequence,) = self.network.generate(
                **inputs,
                max_new_tokens=new_tokens,
                stopping_criteria=[_Telling(new_tokens, tokens)],
                logits_processor=[_Drawing(sampler)] if sampler else [],
                tokenizer=self.tokenizer,  # which reads the strings that a checkpoint may have saved as its ends
                **SEARCH,
                **search,
            ).tolist()
        return sequence

    def _end_ids(self) -> list[int]:
        """The tokens that end a text."""
        ids = self.network.generation_config.eos_token_id
        return [] if ids is None else [ids] if isinstance(ids, int) else list(ids)

    def _until_end(self, written: Sequence[int], most: int) -> tuple[list[int], bool]:
        """The tokens before the first that ends the text, and whether it ended before it was cut after `most`."""
        ends = self._end_ids()
        length = next((place for place, id in enumerate(written) if id in ends), len(written))
        # Saved strings (`stop_strings`) end a text too.
        return list(written[:length]), length < len(written) or len(written) < most

    def _expected(self, logits: Float[Tensor, "place vocab"], first_row: int) -> list[Prediction]:
        """What the model expected at neighbouring places, of which the first is read off from the row `first_row`."""
        return [
            Prediction("next token" if place == 0 else f"next token {place + 1}", first_row + place, candidates)
            for place, candidates in enumerate(self._candidates(logits))
        ]

    def _about_choice(self, logits: Float[Tensor, "place vocab"], written: Sequence[int]) -> list[str]:
        """A note if greedy search wrote other tokens than the recorded pass finds the likeliest.

        The token that ends the text is left aside: where a text is cut, a model may have to write it.
        """
        likeliest = logits[: len(written)].argmax(dim=-1).tolist()
        others = sum(one != other for one, other in zip(likeliest, written, strict=True))
        if not others:
            return []
        return [
            f"At {others:,} of the {len(written):,} written tokens the recorded pass finds another one likelier: the "
            "model's saved settings for writing, or rounding, decided otherwise."
        ]
