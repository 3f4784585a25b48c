"""The view's JavaScript as one module: a component and a self-contained file can import nothing from beside them."""

import re
from functools import cache
from pathlib import Path

FRONTEND = Path(__file__).parent / "frontend"

_IMPORT = re.compile(r'^import \{[^}]*\} from "(\.[^"]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const)\b)", re.MULTILINE)


@cache
def script(entry: Path) -> str:
    """The module `entry` with all it imports, as one ES module without imports.

    Every file is in it once, after those that it imports. Only the entry's exports remain, and all files share one
    scope, so that no two may declare the same name.

    Raises:
        ValueError: modules import each other in a circle.
    """
    ordered: dict[Path, str] = {}
    _add(entry.resolve(), ordered, ())
    *imported, last = ordered.values()
    return "\n".join([*(_EXPORT.sub("", source) for source in imported), last])


def _add(module: Path, ordered: dict[Path, str], importers: tuple[Path, ...]) -> None:
    if module in importers:
        raise ValueError(" imports ".join(each.name for each in (*importers, module)))
    if module in ordered:
        return
    source = module.read_text(encoding="utf-8")
    for path in _IMPORT.findall(source):
        _add((module.parent / path).resolve(), ordered, (*importers, module))
    ordered[module] = _IMPORT.sub("", source)


@cache
def style() -> str:
    """The view's style sheets as one. Colours and fonts are left to whoever shows it, as in frontend/page.css."""
    sheets = sorted(FRONTEND.glob("*.css"))
    return "\n".join(sheet.read_text(encoding="utf-8") for sheet in sheets if sheet.name != "page.css")
