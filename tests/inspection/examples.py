"""Inspections made by hand from any scores, for what shows and writes them."""

import torch
from torch import Tensor, nn

from transformer_core.inspection import AttentionStack, Inspection, PatchImage, Prediction, Provenance, record

ODD_TOKENS = (
    *(
        "",
        " ",
        "\n",
        "\r\n",
        "\t",
        ",",
        '"',
        '",\n"',
        "##x",
        "=1+1",
        "-",
        "+",
        "@",
        "'",
        "null",
        "NaN",
        "NA",
        "12",
        "0.5",
    ),
    *(
        "</script>",
        "<img src=x onerror=alert(1)>",
        "&amp;",
        "שלום",
        "\u202eabc",
        "👩\u200d🔬",
        "▁Ä",
        "\u2028",
        "\\n",
        "a;b",
    ),
)


class Attend(nn.Module):
    """Attention whose scores are given: softmax(scores) of a value that does not matter."""

    def forward(self, scores: Tensor) -> Tensor:
        _, heads, queries, keys = scores.shape
        query, key = torch.zeros(1, heads, queries, 4), torch.zeros(1, heads, keys, 4)
        return nn.functional.scaled_dot_product_attention(query, key, key + 1.0, attn_mask=scores)


def layer(scores: Tensor):
    """The recorded call with these scores, (head, query, key)."""
    model = Attend()
    with torch.no_grad(), record(model) as trace:
        model(scores[None])
    return trace[0]


def stack(name: str, layers: list[Tensor], query_tokens, key_tokens, **more) -> AttentionStack:
    return AttentionStack(
        name=name,
        calls=tuple(layer(scores) for scores in layers),
        query_tokens=tuple(query_tokens),
        key_tokens=tuple(key_tokens),
        query_label="German",
        key_label="English",
        **more,
    )


def inspection(*stacks: AttentionStack, **changes) -> Inspection:
    values = {
        "text": "The cat, “the” cat.",
        "answer": "Die Katze",
        "stacks": {each.name: each for each in stacks},
        "provenance": Provenance("a-model", "0123456789ab", "cpu", "float32", torch.__version__),
        "seconds": 0.25,
        "notes": ("A note.",),
        "certificate": 1.25e-7,
        "row_sum_error": 2.5e-7,
    }
    return Inspection(**values | changes)


def odd_scores() -> dict[str, list[Tensor]]:
    """Of two stacks: "cross", whose layers differ in heads, and "encoder" with weights from 1 to the smallest and 0."""
    random = torch.Generator().manual_seed(0)
    cross = [torch.randn(heads, 3, len(ODD_TOKENS), generator=random) * 9 for heads in (1, 3)]
    return {"cross": cross, "encoder": [-torch.linspace(0, 110, 60).repeat(60, 1).tril()[None]]}


def odd() -> Inspection:
    """The attention of `odd_scores`. The keys of "cross" are odd tokens."""
    scores, numbers = odd_scores(), tuple(map(str, range(60)))
    cross = stack("cross", scores["cross"], ("<s>", "Die", "Die"), ODD_TOKENS)
    return inspection(cross, stack("encoder", scores["encoder"], numbers, numbers))


def pair() -> Inspection:
    """A sentence pair: the whole, and what B reads from A."""
    scores = torch.randn(2, 4, 4, generator=torch.Generator().manual_seed(1))
    whole = stack("self", [scores], "abcd", "abcd", query_special=(0,), query_words=(0, 1, 1, 2))
    part = AttentionStack("B to A", whole.calls, ("c", "d"), ("a",), "B", "A", rows=(2, 3), columns=(0,))
    prediction = Prediction("class", None, (("yes", 0.75), ("<no>", 0.25)))
    options = {"masked": (2,), "temperature": 0.5}
    return inspection(whole, part, text="ab", second_text="cd", predictions=(prediction,), options=options)


def image() -> Inspection:
    pixels = torch.arange(4 * 6 * 3, dtype=torch.uint8).reshape(4, 6, 3).numpy()
    tokens = ("[CLS]", *(f"patch {number}" for number in range(6)))
    whole = stack("encoder", [torch.zeros(2, 7, 7)], tokens, tokens)
    return inspection(whole, text="cat.png", image=PatchImage(pixels, (2, 3), 1))


def broken() -> Inspection:
    """A model that computed NaN."""
    scores = torch.zeros(2, 3, 3)
    scores[1, 2, 0] = torch.nan
    return inspection(stack("self", [scores], "abc", "abc"), certificate=float("nan"), row_sum_error=float("nan"))
