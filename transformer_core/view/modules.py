"""The view's JavaScript as one module: a component and a self-contained file can import nothing from beside them."""

import re
from functools import cache
from pathlib import Path

FRONTEND = Path(__file__).parent / "frontend"

_IMPORT = re.compile(r'^import (\{[^}]*\}) from "(\.[^"]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?(?:function\*?|class|const) (\w+))", re.MULTILINE)


@cache
def script(entry: Path) -> str:
    """The module `entry` with all it imports, as one ES module without imports.

    Every module is in it once, after those that it imports, each in a function of its own so that its names stay its
    own. What can be joined is `import { a, b } from "./file.js";` and `export` before a function, class or constant.

    Raises:
        ValueError: modules import each other in a circle.
    """
    names: dict[Path, str] = {}
    parts: list[str] = []
    source = _joined(entry.resolve(), names, parts, ())
    return "\n".join([*parts, source])


def _joined(module: Path, names: dict[Path, str], parts: list[str], importers: tuple[Path, ...]) -> str:
    """The module's source, reading what it imports from constants that `parts` define before it."""
    if module in importers:
        raise ValueError(" imports ".join(each.name for each in (*importers, module)))

    def imported(match: re.Match[str]) -> str:
        path = (module.parent / match[2]).resolve()
        if path not in names:
            body = _joined(path, names, parts, (*importers, module))
            names[path] = f"module_{len(names)}"
            exports = ", ".join(name for _, name in _EXPORT.findall(body))
            scope = _EXPORT.sub(r"\1", body)
            parts.append(f"const {names[path]} = (() => {{\n{scope}\nreturn {{ {exports} }};\n}})();")
        return f"const {match[1]} = {names[path]};\n"

    return _IMPORT.sub(imported, module.read_text(encoding="utf-8"))


@cache
def style() -> str:
    """The view's style sheets as one. Colours and fonts are left to whoever shows it, as in frontend/page.css."""
    sheets = sorted(FRONTEND.glob("*.css"))
    return "\n".join(sheet.read_text(encoding="utf-8") for sheet in sheets if sheet.name != "page.css")
