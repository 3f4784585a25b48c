"""Decoding: from a source to the most likely target, token by token."""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_core.interrupting import short_steps, stage
from transformer_core.model import Transformer

MAX_EXTRA_TOKENS = 50
"""A target may be this much longer than its source (section 6.1)."""


class _NextToken:
    """Log-probabilities of the next token, with a cache of keys and values or by reading the whole prefix again."""

    def __init__(self, model: Transformer, source_ids: Int[Tensor, "batch source"], bos_id: int, use_cache: bool):
        self.model = model
        self.memory = model.encode(source_ids)
        self.memory_mask = model.source_mask(source_ids)
        self.cache = model.new_cache() if use_cache else None
        # A target never contains these two.
        self.forbidden = [bos_id, model.config.pad_id]

    def log_probabilities(self, target_ids: Int[Tensor, "batch target"]) -> Float[Tensor, "batch vocab"]:
        new = target_ids if self.cache is None else target_ids[:, -1:]
        hidden = self.model.decode(new, self.memory, self.memory_mask, self.cache)
        logits = self.model.logits(hidden[:, -1]).float()
        logits[:, self.forbidden] = -torch.inf
        return logits.log_softmax(dim=-1)

    def select(self, rows: Int[Tensor, " rows"]) -> None:
        """Go on with these rows of the batch."""
        self.memory = self.memory[rows]
        self.memory_mask = None if self.memory_mask is None else self.memory_mask[rows]
        for layer in self.cache or ():
            layer.select(rows)


def longest_target(source_length: int, max_length: int) -> int:
    """Tokens after which a target is cut, for a source of so many tokens and a model of that max_length."""
    return min(source_length + MAX_EXTRA_TOKENS, max_length)


@torch.inference_mode()
@short_steps()
def greedy_search(
    model: Transformer,
    source_ids: Int[Tensor, "batch source"],
    bos_id: int,
    eos_id: int,
    use_cache: bool = True,
) -> list[list[int]]:
    """The most likely next token, again and again, until the end token.

    Args:
        source_ids: padded on the right with the model's pad_id.
        use_cache: keep keys and values of earlier tokens; without it every step reads the whole prefix again.

    Returns:
        Target ids without begin and end token. At most MAX_EXTRA_TOKENS longer than the longest source.
    """
    state = _NextToken(model, source_ids, bos_id, use_cache)
    results: list[list[int]] = [[] for _ in range(source_ids.size(0))]
    rows = torch.arange(source_ids.size(0), device=source_ids.device)
    target_ids = torch.full((len(rows), 1), bos_id, dtype=torch.long, device=source_ids.device)
    longest = longest_target(source_ids.size(1), model.config.max_length)
    for step in range(longest):
        stage(f"Translating: token {step + 1:,} of at most {longest:,}")
        best = state.log_probabilities(target_ids).argmax(dim=-1)
        going_on = best != eos_id
        for row, token in zip(rows[going_on].tolist(), best[going_on].tolist(), strict=True):
            results[row].append(token)
        if not going_on.any():
            break
        if not going_on.all():
            state.select(going_on.nonzero().squeeze(1))
        rows = rows[going_on]
        target_ids = torch.cat([target_ids[going_on], best[going_on].unsqueeze(1)], dim=1)
    return results


def length_penalty(length: int, alpha: float) -> float:
    """lp(Y) = ((5 + |Y|) / 6)^alpha (Wu et al. 2016, equation 14), by which a log-probability is divided."""
    return ((5 + length) / 6) ** alpha


@torch.inference_mode()
@short_steps()
def beam_search(
    model: Transformer,
    source_ids: Int[Tensor, "batch source"],
    bos_id: int,
    eos_id: int,
    beam_size: int = 4,
    alpha: float = 0.6,
    use_cache: bool = True,
) -> list[list[int]]:
    """The best of the `beam_size` most likely hypotheses kept at every step (section 6.1: beam 4, alpha 0.6).

    A sentence is finished when `beam_size` of its hypotheses have ended; the one with the highest
    log-probability / `length_penalty` wins, its end token counted.

    Args and returns as in `greedy_search`.

    Raises:
        ValueError: a beam size below 1 or beyond half of the vocabulary, or a negative alpha.
    """
    if not 1 <= beam_size <= model.config.vocab_size // 2:
        raise ValueError(f"beam_size={beam_size} must be between 1 and {model.config.vocab_size // 2}")
    if not alpha >= 0:
        raise ValueError(f"the length penalty alpha={alpha} must be at least 0")
    batch, device = source_ids.size(0), source_ids.device
    state = _NextToken(model, source_ids, bos_id, use_cache)
    state.select(torch.arange(batch, device=device).repeat_interleave(beam_size))
    target_ids = torch.full((batch * beam_size, 1), bos_id, dtype=torch.long, device=device)
    # At first all hypotheses of a sentence are equal, so only the first may be extended.
    scores = torch.full((batch, beam_size), -torch.inf, device=device)
    scores[:, 0] = 0.0
    sentences = list(range(batch))
    finished: list[list[tuple[float, list[int]]]] = [[] for _ in range(batch)]

    longest = longest_target(source_ids.size(1), model.config.max_length)
    for step in range(longest):
        stage(f"Translating: token {step + 1:,} of at most {longest:,}")
        log_probabilities = state.log_probabilities(target_ids).view(len(sentences), beam_size, -1)
        totals = (scores.unsqueeze(-1) + log_probabilities).flatten(1)
        # Of 2 x beam candidates at most half end here, so enough remain to go on with.
        best_scores, best = totals.topk(2 * beam_size, dim=1)
        hypotheses, tokens = best // log_probabilities.size(-1), best % log_probabilities.size(-1)
        ends = tokens == eos_id
        penalty = length_penalty(target_ids.size(1), alpha)
        for i, j in ends[:, :beam_size].nonzero().tolist():
            target = target_ids[i * beam_size + int(hypotheses[i, j]), 1:].tolist()
            finished[sentences[i]].append((float(best_scores[i, j]) / penalty, target))

        # Among the candidates that go on, in order of their score, the first beam_size.
        order = ends.int().argsort(dim=1, stable=True)[:, :beam_size]
        scores, hypotheses, tokens = (x.gather(1, order) for x in (best_scores, hypotheses, tokens))
        unfinished = [i for i, sentence in enumerate(sentences) if len(finished[sentence]) < beam_size]
        sentences = [sentences[i] for i in unfinished]
        if not sentences:
            break
        keep = torch.tensor(unfinished, device=device)
        rows = (keep.unsqueeze(1) * beam_size + hypotheses[keep]).flatten()
        state.select(rows)
        target_ids = torch.cat([target_ids[rows], tokens[keep].view(-1, 1)], dim=1)
        scores = scores[keep]

    # Where no hypothesis ended within the limit, the likeliest one has to do.
    for i, sentence in enumerate(sentences):
        if not finished[sentence]:
            finished[sentence] = [(float(scores[i, 0]), target_ids[i * beam_size, 1:].tolist())]
    return [max(hypotheses, key=lambda scored: scored[0])[1] for hypotheses in finished]


def pad_batch(sequences: Sequence[Sequence[int]], pad_id: int) -> Int[Tensor, "batch token"]:
    """Sequences of unequal lengths as one tensor, padded on the right."""
    return torch.nn.utils.rnn.pad_sequence([torch.tensor(s) for s in sequences], batch_first=True, padding_value=pad_id)


def in_batches(
    sources: Sequence[Sequence[int]],
    generate: Callable[[list[Sequence[int]]], list[list[int]]],
    batch_size: int = 64,
) -> list[list[int]]:
    """Generate for many sources, those of like length together, in the order they were given."""
    order = sorted(range(len(sources)), key=lambda i: len(sources[i]))
    results: list[list[int]] = [[]] * len(sources)
    for start in range(0, len(order), batch_size):
        indices = order[start : start + batch_size]
        for index, target in zip(indices, generate([sources[i] for i in indices]), strict=True):
            results[index] = target
    return results
