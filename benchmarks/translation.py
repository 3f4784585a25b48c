"""Translation speed: greedy and beam search, with the cache of keys and values and without it."""

import time
from pathlib import Path

from tqdm import tqdm

from benchmarks.report import Report, Row, machine, paired_ratio
from benchmarks.sentences import SENTENCES
from transformer_core.trained import Translator

BEAM_SIZES = {"greedy": 1, "beam 4": 4}


def benchmark(model: Path, device: str, repeats: int, sentences: list[str] = SENTENCES) -> Report:
    """Seconds for all sentences, the four ways taking turns.

    Args:
        model: folder of a translator.
        repeats: translations of all sentences, each way.
    """
    translator = Translator.load(model, device)
    sources = [translator.source_ids(sentence) for sentence in sentences]
    ways = [(name, use_cache) for name in BEAM_SIZES for use_cache in (True, False)]
    seconds: dict[tuple[str, bool], list[float]] = {way: [] for way in ways}
    results = {}
    translator.generate(sources[:4])  # warm-up
    for _ in tqdm(range(repeats), unit="round"):
        for name, use_cache in ways:
            start = time.perf_counter()
            # Lists of numbers come back, so a GPU has finished too.
            results[name, use_cache] = translator.generate(sources, BEAM_SIZES[name], use_cache=use_cache)
            seconds[name, use_cache].append(time.perf_counter() - start)

    equal = sum(
        cached == uncached
        for name in BEAM_SIZES
        for cached, uncached in zip(results[name, True], results[name, False], strict=True)
    )
    tokens = sum(len(target) for target in results["beam 4", True])
    return Report(
        title=f"Translation: seconds for {len(sentences)} sentences, in batches of up to 64",
        unit="s",
        rows=[
            Row(
                f"{name}, {'cached' if use_cache else 'every step reads the whole prefix again'}",
                seconds[name, use_cache],
                paired_ratio(seconds[name, False], seconds[name, use_cache]) if use_cache else None,
            )
            for name, use_cache in ways
        ],
        ratio="how many times as long it takes without the cache (median over the rounds)",
        conditions=machine(translator.model.embedding.tokens.weight.device)
        | {
            "model": model.name,
            "tokens": f"{sum(map(len, sources)):,} source, {tokens:,} target (beam 4)",
            "translations equal with and without the cache": f"{equal} of {len(BEAM_SIZES) * len(sentences)}",
        },
    )
