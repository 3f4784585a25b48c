"""python -m tests.inspection.parity: the suite as a table in Markdown."""

import sys
import warnings

from tests.inspection.parity.architectures import GROUPS, Architecture
from tests.inspection.parity.comparison import Comparison, compare


def main() -> int:
    from transformers import logging

    logging.set_verbosity_error()
    warnings.simplefilter("ignore")
    results = [
        (group, architecture, implementation, compare(architecture, implementation))
        for group, architectures in GROUPS.items()
        for architecture in architectures
        for implementation in architecture.implementations
    ]
    print("\n".join([*table(results), "", *partial_or_refused(results)]))
    return 0


def table(results: list[tuple[str, Architecture, str, Comparison]]) -> list[str]:
    """One line for each model and implementation that was recorded, grouped by kind."""
    lines = []
    for group in GROUPS:
        rows = [
            _row(architecture, found)
            for its_group, architecture, _, found in results
            if its_group == group and not found.refusal
        ]
        if rows:
            lines += ["", f"**{group}**", "", *HEADER, *rows]
    return lines[1:]


HEADER = (
    "| Model | Class | Attention | Calls | Largest difference | The library's own float32 | Output | Remarks |",
    "|---|---|---|---:|---:|---:|---|---|",
)


def _row(architecture: Architecture, found: Comparison) -> str:
    output = "equal" if found.output_difference == 0 else f"{found.output_difference:.0e} relative"
    cells = [
        architecture.name,
        f"`{found.model}`",
        " and ".join(found.routes) + (", maps kept" if found.keeps_maps else ""),
        str(len(found.calls)),
        f"{found.difference:.1e}",
        f"{found.rounding:.1e}",
        output,
        architecture.remark,
    ]
    return f"| {' | '.join(cells)} |"


def partial_or_refused(results: list[tuple[str, Architecture, str, Comparison]]) -> list[str]:
    """What the traces say that they do not show."""
    lines = ["| Model | What `record` says |", "|---|---|"]
    for _, architecture, implementation, found in results:
        said = " ".join(found.gaps) or found.refusal
        # The implementations of a model say the same.
        if said and implementation == architecture.implementations[0]:
            lines.append(f"| {architecture.name} | {said} |")
    return lines


if __name__ == "__main__":
    sys.exit(main())
