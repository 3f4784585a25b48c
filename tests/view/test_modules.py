"""The view's modules as one: what a file exports is what others read, and nothing else meets."""

import pytest

from transformer_core.view import modules


def test_circles_are_refused(tmp_path):
    circle = {
        "main.js": 'import { a } from "./a.js";\n',
        "a.js": 'import { b } from "./main.js";\nexport const a = 1;\n',
    }
    for name, source in circle.items():
        (tmp_path / name).write_text(source)
    with pytest.raises(ValueError, match=r"main\.js imports a\.js imports main\.js"):
        modules.script(tmp_path / "main.js")


def test_the_view_leaves_no_import_open():
    source = modules.script(modules.FRONTEND / "file.js")
    assert "\nimport " not in source and not source.startswith("import ")


def test_the_style_is_all_sheets_but_the_pages_own():
    style = modules.style()
    for sheet in modules.FRONTEND.glob("*.css"):
        assert (sheet.read_text() in style) is (sheet.name != "page.css")
