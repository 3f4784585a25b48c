"""Writing on by chance: temperature, top-k and nucleus sampling."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_core.interrupting import short_steps, stage
from transformer_core.model import LanguageModel

MAX_TEMPERATURE = 5.0


def distribution(
    logits: Float[Tensor, " vocab"], temperature: float, top_k: int = 0, top_p: float = 1.0
) -> Float[Tensor, " vocab"]:
    """The probabilities by which a token is drawn, in float64: softmax(logits / temperature), cut and made whole again.

    Args:
        temperature: above 0.
        top_k: only the k likeliest tokens are left (Fan et al. 2018); of equally likely ones the first. 0: all.
        top_p: then only the nucleus is left (Holtzman et al. 2020): the fewest of the likeliest tokens whose
            probabilities sum to p or more. 1: all.
    """
    logits = logits.double()
    # The largest is 0, so that dividing by a small temperature reaches no infinity.
    probabilities = ((logits - logits.max()) / temperature).softmax(dim=-1)
    ordered, tokens = probabilities.sort(descending=True, stable=True)
    if top_k:
        ordered[top_k:] = 0
        ordered /= ordered.sum()
    if top_p < 1:
        # A token is left if those before it fall short of p: the one that crosses p is the last.
        before = ordered.cumsum(dim=-1) - ordered
        ordered[before >= top_p] = 0
    return torch.zeros_like(probabilities).scatter(0, tokens, ordered / ordered.sum())


class Sampler:
    """Chooses one token after another. The same seed makes the same choices again, whatever else draws meanwhile.

    Args:
        temperature: 0 (always the likeliest token) to MAX_TEMPERATURE; 1: as the model's probabilities are.
        top_k: only so many of the likeliest tokens can be chosen; 0: all.
        top_p: only the likeliest tokens can be chosen that together just reach this probability, above 0; 1: all.
        seed: of the random numbers.

    Raises:
        ValueError: a value outside its range.
    """

    def __init__(self, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0, seed: int = 0) -> None:
        # Written so that NaN is refused too.
        if not 0 <= temperature <= MAX_TEMPERATURE:
            raise ValueError(f"the temperature is {temperature}; it has to be from 0 to {MAX_TEMPERATURE:g}")
        if top_k < 0:
            raise ValueError(f"top_k is {top_k}; it has to be 0 (all tokens) or more")
        if not 0 < top_p <= 1:
            raise ValueError(f"top_p is {top_p}; it has to be above 0 and at most 1")
        self.temperature = temperature
        self.top_k = top_k
        self.top_p = top_p
        self._random = torch.Generator().manual_seed(seed)

    def choose(self, logits: Float[Tensor, " vocab"]) -> int:
        """One token, by the logits of all."""
        logits = logits.cpu()
        # A broken model's logits can be NaN, or all be minus infinity: nothing can be drawn from these.
        if not self.temperature or not logits.max().isfinite():
            return int(logits.argmax())
        probabilities = distribution(logits, self.temperature, self.top_k, self.top_p)
        return int(torch.multinomial(probabilities, 1, generator=self._random))


@torch.inference_mode()
@short_steps()
def sample(
    model: LanguageModel,
    ids: Sequence[int],
    new_tokens: int,
    sampler: Sampler,
    forbidden: Sequence[int] = (),
    use_cache: bool = True,
) -> list[int]:
    """Go on with a text by so many tokens.

    Args:
        ids: what the model reads first: at least one token.
        forbidden: tokens that are never written.
        use_cache: keep keys and values of earlier tokens; without it every step reads the whole text again.

    Returns:
        The new tokens' ids.

    Raises:
        ValueError: text and new tokens together are longer than the model's max_length.
    """
    room = model.config.max_length - len(ids)
    if new_tokens > room:
        raise ValueError(
            f"{new_tokens:,} new tokens do not fit behind {len(ids):,} into this model's "
            f"{model.config.max_length:,} positions: ask for at most {max(room, 0):,}, or shorten the text"
        )
    device = model.embedding.tokens.weight.device
    cache = model.new_cache() if use_cache else None
    read, written = list(ids), []
    for number in range(1, new_tokens + 1):
        stage(f"Writing token {number:,} of {new_tokens:,}")
        logits = model.logits(model.hidden(torch.tensor([read], device=device), cache)[0, -1]).float()
        logits[list(forbidden)] = -torch.inf
        written.append(sampler.choose(logits))
        # The cache holds what was read before.
        read = written[-1:] if use_cache else [*read, written[-1]]
    return written
