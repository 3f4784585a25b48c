"""The view's modules as one, run by a real browser."""

import pytest

from transformer_core.view import modules

FILES = {
    "main.js": 'import { twice } from "./lib/numbers.js";\nimport {\n  Shape,\n  SIDES,\n} from "./shapes.js";\n'
    "export function area() { return helper(); }\nconst helper = () => new Shape().sides * SIDES + twice(1);\n",
    "shapes.js": 'import { twice } from "./lib/numbers.js";\nexport const SIDES = twice(2);\n'
    "export class Shape { sides = helper(); }\nfunction helper() { return 3; }\n",
    "lib/numbers.js": "export function twice(x) { return 2 * x; }\nfunction helper() {}\n",
}


def write(folder, files):
    for name, source in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(source)
    return folder / "main.js"


@pytest.mark.browser
def test_modules_meet_only_in_what_they_export(browser, tmp_path):
    source = modules.script(write(tmp_path, FILES))
    assert source.count("function twice") == 1 and "import {" not in source
    page = browser.new_page()
    found = page.evaluate(
        """async source => {
            const url = URL.createObjectURL(new Blob([source], {type: "text/javascript"}));
            const module = await import(url);
            return [Object.keys(module), module.area()];
        }""",
        source,
    )
    assert found == [["area"], 14]
    page.close()
