"""What the packages import is what the requirements name."""

import ast
import re
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OWN = {"transformer_core", "viz_app", "benchmarks", "tests"}


def imported(*folders: str) -> set[str]:
    """Distributions that the code in these folders imports."""
    modules = set()
    for folder in folders:
        for path in (ROOT / folder).rglob("*.py"):
            own = OWN | {neighbour.stem for neighbour in path.parent.glob("*.py")}
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
                modules |= {name.split(".")[0] for name in names} - own
    distributions = packages_distributions()
    return {distributions[module][0].lower() for module in modules - sys.stdlib_module_names}


def required(file: str) -> set[str]:
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    return {re.match(r"[\w-]+", line).group().lower() for line in lines if line and line[0] not in "#-"}


def test_the_app_requires_what_it_imports_and_no_more():
    assert required("requirements.txt") == imported("transformer_core", "viz_app")


@pytest.mark.parametrize("folder", ["tests", "benchmarks"])
def test_development_requires_what_tests_and_benchmarks_import(folder):
    files = ("requirements.txt", "requirements-dev.txt", "requirements-dev-no-deps.txt")
    assert imported(folder) <= set().union(*map(required, files))
