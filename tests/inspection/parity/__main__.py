"""python -m tests.inspection.parity > docs/architectures.md"""

import sys
import warnings

from tests.inspection.parity.architectures import GROUPS, Architecture
from tests.inspection.parity.comparison import Comparison, compare

INTRODUCTION = """# What `record` sees

Each of these models was built small from its configuration, with random weights that make its attention far from
uniform, and run on a padded batch: decoders padded on the left, all others on the right. The weights of every call and
head that `record` gives were compared with those of the model's own library in double precision (its eager attention
with `output_attentions=True`, or the softmax itself), and on the fused kernel also with the kernel's own: its output
is linear in the value, so that with the identity for a value it returns its weights.

*Fused* is attention in one call of PyTorch's kernel (`attn_implementation="sdpa"` in transformers), *written out* is
attention step by step with a softmax of its own (`"eager"`). The columns give the largest difference of any weight from
the truth and, in brackets, how far the library's or the kernel's own single precision is from it. *Equal* output is
equal bit for bit to that of a run that is not recorded. The tests assert all of it, and more, whenever they run
(`tests/inspection/parity`); this page is what

    .venv/bin/python -m tests.inspection.parity

prints, with {versions}.
"""

Results = list[tuple[Architecture, dict[str, Comparison]]]
"""What was found in each implementation of each model."""


def main() -> int:
    import transformers

    transformers.logging.set_verbosity_error()
    warnings.simplefilter("ignore")
    print(document({group: [(each, _compare(each)) for each in models] for group, models in GROUPS.items()}))
    return 0


def _compare(architecture: Architecture) -> dict[str, Comparison]:
    return {implementation: compare(architecture, implementation) for implementation in architecture.implementations}


def document(results: dict[str, Results]) -> str:
    """The page in Markdown."""
    import torch
    import transformers

    from tests.inspection.parity.timm_import import timm

    versions = f"torch {torch.__version__}, transformers {transformers.__version__} and timm {timm.__version__}"
    lines = [INTRODUCTION.format(versions=versions)]
    for group, its_results in results.items():
        rows = [_row(architecture, found) for architecture, found in its_results if not architecture.refused]
        if rows:
            lines += [f"## {group}", "", *HEADER, *rows, ""]
    lines += ["## Partly seen, or not at all", "", "In the words of `Trace.gaps()` or `NoAttentionError`:", ""]
    lines += [_words(architecture, found) for its in results.values() for architecture, found in its if _has_gap(found)]
    return "\n".join(lines)


HEADER = (
    "| Model | Class | Calls | Fused | Written out | Output | Remarks |",
    "|---|---|---:|---|---|---|---|",
)


def _row(architecture: Architecture, found: dict[str, Comparison]) -> str:
    first = next(iter(found.values()))
    output = max(each.output_difference for each in found.values())
    cells = [
        architecture.name,
        f"`{first.model}`",
        str(len(first.calls)),
        _differences(found.get("sdpa")),
        _differences(found.get("eager")),
        "equal" if output == 0 else f"within {output:.0e}",
        architecture.remark,
    ]
    return f"| {' | '.join(cells)} |"


def _differences(found: Comparison | None) -> str:
    if found is None or not found.calls:
        return ""
    return f"{found.difference:.0e} ({found.rounding:.0e})" + (", map kept" if found.keeps_maps else "")


def _has_gap(found: dict[str, Comparison]) -> bool:
    return any(each.gaps or each.refusal for each in found.values())


def _words(architecture: Architecture, found: dict[str, Comparison]) -> str:
    said = next(iter(found.values()))  # the implementations of a model say the same
    return f"- **{architecture.name}**: {said.refusal or ' '.join(said.gaps)}"


if __name__ == "__main__":
    sys.exit(main())
