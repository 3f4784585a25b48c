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


@dataclass(frozen=True)
class Measurement:
    """One thing that was measured of both contenders, or of the first alone."""

    name: str
    unit: str
    ours: list[float]
    """One value a repeat."""
    theirs: list[float] = field(default_factory=list)
    goal: str = ""
    """In words."""
    is_met: bool | None = None
    """Whether the goal is; None without one."""

    @property
    def ratio(self) -> float | None:
        """How many times ours goes into theirs."""
        return paired_ratio(self.theirs, self.ours) if self.theirs else None


@dataclass(frozen=True)
class Comparison:
    """Two contenders that took turns in one run, measured in several ways."""

    title: str
    contenders: tuple[str, str]
    measurements: list[Measurement]
    conditions: dict[str, str]
    """Machine, versions and sizes."""
    notes: list[str] = field(default_factory=list)

    def as_text(self) -> str:
        """A table: medians, ratios, and whether goals are met."""
        cells = [("", *self.contenders, "ratio", "goal", "")]
        for each in self.measurements:
            values = [_three_digits(median(values)) if values else "" for values in (each.ours, each.theirs)]
            ratio = "" if each.ratio is None else _three_digits(each.ratio)
            verdict = {None: "", True: "met", False: "NOT MET"}[each.is_met]
            cells.append((f"{each.name}, {each.unit}", *values, ratio, each.goal, verdict))
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [self.title, ""]
        for name, ours, theirs, ratio, *goal in cells:
            numbers = [cell.rjust(width) for cell, width in zip((ours, theirs, ratio), widths[1:4], strict=True)]
            goal = [cell.ljust(width) for cell, width in zip(goal, widths[4:], strict=True)]
            lines.append("  ".join([name.ljust(widths[0]), *numbers, *goal]).rstrip())
        lines += ["", f"ratio: {self.contenders[1]} by {self.contenders[0]} (median over the rounds)"]
        return "\n".join([*lines, *self.notes, *(f"{name}: {value}" for name, value in self.conditions.items())])

    def as_json(self) -> str:
        """Everything, the single measurements included."""
        measurements = [asdict(each) | {"ratio": each.ratio} for each in self.measurements]
        return json.dumps(asdict(self) | {"measurements": measurements}, indent=2, ensure_ascii=False)


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
