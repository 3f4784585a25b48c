"""What a benchmark found, as a table for people and as JSON for programs."""

import json
import platform
from dataclasses import asdict, dataclass, field
from statistics import median

import torch

from transformer_core.training.speed import describe_hardware


@dataclass(frozen=True)
class Row:
    """One contender."""

    name: str
    values: list[float]
    """What was measured, one value a repeat."""
    ratio: float | None = None
    """How it compares; Report.ratio says with what."""
    more: dict[str, float] = field(default_factory=dict)
    """Further columns, with their unit in the name. A row may lack some."""


@dataclass(frozen=True)
class Report:
    """Contenders that took turns in one run."""

    title: str
    unit: str
    rows: list[Row]
    conditions: dict[str, str]
    """Machine, versions and sizes."""
    ratio: str = ""
    """What the rows' ratios mean."""
    notes: list[str] = field(default_factory=list)

    def as_text(self) -> str:
        """A table: medians, ranges, ratios."""
        digits = 0 if max(median(row.values) for row in self.rows) >= 1000 else 2
        more = list(dict.fromkeys(name for row in self.rows for name in row.more))
        cells = [("", f"median {self.unit}", "range", "ratio" if self.ratio else "", *more)]
        for row in self.rows:
            low, middle, high = (f"{f(row.values):,.{digits}f}" for f in (min, median, max))
            ratio = f"{row.ratio:.2f}" if row.ratio is not None else ""
            others = [_three_digits(row.more[name]) if name in row.more else "" for name in more]
            cells.append((row.name, middle, f"{low} - {high}", ratio, *others))
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        table = [
            "  ".join([name.ljust(widths[0]), *(n.rjust(width) for n, width in zip(numbers, widths[1:], strict=True))])
            for name, *numbers in cells
        ]
        lines = [self.title, "", *(line.rstrip() for line in table), ""]
        if self.ratio:
            lines.append(f"ratio: {self.ratio}")
        return "\n".join([*lines, *self.notes, *(f"{name}: {value}" for name, value in self.conditions.items())])

    def as_json(self) -> str:
        """Everything, the single measurements included."""
        rows = [asdict(row) | {"median": median(row.values)} for row in self.rows]
        return json.dumps(asdict(self) | {"rows": rows}, indent=2, ensure_ascii=False)


def _three_digits(value: float) -> str:
    """Three digits, or all those before the decimal point."""
    return f"{value:,.0f}" if value >= 100 else f"{value:#.3g}"


def paired_ratio(numerators: list[float], denominators: list[float]) -> float:
    """The median of the ratios of measurements that were made one after the other."""
    return median(a / b for a, b in zip(numerators, denominators, strict=True))


def machine(device: torch.device) -> dict[str, str]:
    """Conditions that every benchmark has."""
    return {
        "hardware": describe_hardware(device),
        "software": f"Python {platform.python_version()}, torch {torch.__version__}",
    }
