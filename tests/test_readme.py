"""What README.md promises exists: its commands, their options, the paths it names, its Python."""

import re
import shlex
import sys
from pathlib import Path

import pytest

import benchmarks.__main__
import transformer_core.__main__
from benchmarks.report import Report, Row

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")

SET_UP = "python3 -m venv .venv && .venv/bin/pip install -r"
APP = f"{SET_UP} requirements.txt && .venv/bin/streamlit run viz_app/main.py"
NO_DEPS = ".venv/bin/pip install --no-deps -r requirements-dev-no-deps.txt"
TESTS = f"{SET_UP} requirements-dev.txt && {NO_DEPS} && .venv/bin/python -m tests.browser.chromium && .venv/bin/pytest"

OF_THE_READER = {"english.txt", "german.txt", "deu.txt", "openai-community/gpt2", "data/tinyshakespeare/input.txt"}
"""Files that the README's commands read or write and that are not here, a model of the hub, a file elsewhere."""
NAMES_OF_BENCHMARKS = ("training", "translation", "recording", "app", "views")
WRITTEN_BY_TRAINING = {"pretrained/my-gpt", "pretrained/my-en-de", "pretrained/small-en-de"}


def blocks(language: str) -> list[str]:
    return re.findall(rf"^ *```{language}\n(.*?)^ *```$", README, re.MULTILINE | re.DOTALL)


def commands(program: str = "-m") -> list[list[str]]:
    """Words of every command in a bash block that runs a module, or `program`; without the set-up and redirections."""
    lines = "".join(blocks("bash")).replace("\\\n", " ").splitlines()
    words = [shlex.split(re.sub("[<>] *[^ ]+", "", line)) for line in lines if SET_UP not in line]
    return [each for each in words if program in each]


def test_there_are_exactly_two_commands_that_set_everything_up():
    assert README.count("python3 -m venv") == 2
    assert blocks("bash")[:2] == [APP + "\n", TESTS + "\n"]


def test_continuous_integration_runs_the_test_command():
    assert README.count("<!-- tests -->") == 1
    assert f"<!-- tests -->\n```bash\n{TESTS}\n```\n" in README
    assert "<!-- tests -->" in (ROOT / ".ci" / "run").read_text()


def test_every_command_is_understood(monkeypatch):
    understood = []
    modules = {"transformer_core": transformer_core.__main__, "benchmarks": benchmarks.__main__}
    monkeypatch.setattr(transformer_core.__main__, "_train", lambda options: understood.append("train") or 0)
    monkeypatch.setattr(transformer_core.__main__, "_translate", lambda options: understood.append("translate") or 0)
    monkeypatch.setattr(transformer_core.__main__, "_evaluate", lambda options: understood.append("evaluate") or 0)
    monkeypatch.setattr(transformer_core.__main__, "_inspect", lambda options: understood.append("inspect") or 0)
    for name in NAMES_OF_BENCHMARKS:
        report = Report(name, "s", [Row("only", [1.0])], {})
        monkeypatch.setattr(benchmarks.__main__, f"_{name}", lambda options, r=report: understood.append(r.title) or r)
    for words in commands():
        module, *arguments = words[words.index("-m") + 1 :]
        assert modules[module].main(arguments) == 0
    of_the_core, of_benchmarks = {"inspect", "translate", "evaluate", "train"}, set(NAMES_OF_BENCHMARKS)
    assert set(understood) == of_the_core | of_benchmarks
    assert len(understood) == len(commands())
    assert sum("torchrun" in words[0] for words in commands()) == 1


def test_the_app_is_started_with_arguments_that_it_knows():
    from viz_app import permissions

    (words,) = commands(".venv/bin/streamlit")
    assert words[:3] == [".venv/bin/streamlit", "run", "viz_app/main.py"]
    own = words[words.index("--") + 1 :]
    assert set(own) == {permissions.ALLOW_LOCAL_MODELS, permissions.ALLOW_HUB}


def test_training_commands_have_possible_options(monkeypatch):
    from transformer_core.training import loop

    runs = []
    monkeypatch.setattr(loop, "train", lambda options, command: runs.append(options))
    monkeypatch.setattr(sys, "argv", ["train"])
    for words in commands():
        if "train" in words:
            transformer_core.__main__.main(words[words.index("transformer_core") + 1 :])
    assert [str(options.out) for options in runs] == [
        "pretrained/my-gpt",
        "pretrained/my-en-de",
        "pretrained/small-en-de",
        "pretrained/my-en-de",
    ]


def test_every_option_in_the_text_exists():
    from streamlit import config

    named = set(re.findall(r"`(--[a-z.-]+)", README))
    server = {option for option in named if "." in option}
    for option in server:
        config.get_option(option.removeprefix("--"))
    sources = [ROOT / "benchmarks" / "__main__.py", ROOT / "transformer_core" / "training" / "options.py"]
    sources += [ROOT / "transformer_core" / "__main__.py", *ROOT.glob("transformer_core/training/tasks/*.py")]
    accepted = "\n".join(source.read_text() for source in sources)
    for option in named - server:
        assert option in accepted or f"    {option[2:].replace('-', '_')}: " in accepted, option


def test_every_path_it_names_exists():
    linked = {target for target in re.findall(r"\]\(([^)]+)\)", README) if "://" not in target}
    words = {word for command in commands() for word in command if "/" in word and not word.startswith(".venv/")}
    quoted = set(re.findall(r"`([\w.-]+/[\w./-]*|[\w-]+\.(?:txt|gz|py|md))`", README))
    named = linked | words | quoted | {"viz_app/main.py"}
    named |= {"requirements.txt", "requirements-dev.txt", "requirements-dev-no-deps.txt"}
    named = {name for name in named if " " not in name} - OF_THE_READER - WRITTEN_BY_TRAINING
    assert "docs/attention.png" in named
    assert sorted(name for name in named if not (ROOT / name).exists()) == []


def test_the_layout_is_the_layout():
    (tree,) = re.findall(r"<!-- layout -->\n```\n(.*?)```", README, re.DOTALL)
    named, parent = set(), ""
    for line in tree.splitlines():
        name, description = line.strip().split(maxsplit=1)
        assert description
        if not line.startswith(" "):
            parent = name
        path = parent + name if line.startswith(" ") else name
        assert (ROOT / path).is_dir(), path
        named.add(path)
    packages = {f"transformer_core/{path.parent.name}/" for path in ROOT.glob("transformer_core/*/__init__.py")}
    assert packages <= named


@pytest.mark.parametrize("code", blocks("python"))
def test_its_python_runs(code):
    names: dict = {}
    exec(code, names)
    assert names["weights"].sum(dim=-1).sub(1).abs().max() < 1e-5
