"""The models in pretrained/, which this project trained, and the snapshots of their training."""

from pathlib import Path

from transformer_core import trained
from transformer_core.trained.folder import format_of, snapshot_steps, weights_path
from transformer_core.zoo.bundled.image_classifier import InspectableImageClassifier
from transformer_core.zoo.bundled.language_model import InspectableLanguageModel
from transformer_core.zoo.bundled.masked_language_model import InspectableMaskedLanguageModel
from transformer_core.zoo.bundled.translator import InspectableTranslator
from transformer_core.zoo.device_memory import device_memory
from transformer_core.zoo.interface import InputError, InspectableModel
from transformer_core.zoo.provenance import weights_hash

PRETRAINED = Path(__file__).resolve().parents[3] / "pretrained"
"""The folder with one folder for each model."""

SHIPPED = ("tatoeba-en-de", "shakespeare-gpt", "tatoeba-bert", "digits-vit", "induction")
"""The models that come with Headlight, in the order in which they are listed."""

INSPECTABLE = {
    trained.Translator: InspectableTranslator,
    trained.TrainedLanguageModel: InspectableLanguageModel,
    trained.TrainedMaskedLanguageModel: InspectableMaskedLanguageModel,
    trained.TrainedImageClassifier: InspectableImageClassifier,
}
"""What inspects a trained model of each kind."""


def available() -> list[str]:
    """Names of the models in pretrained/: those that come with Headlight, then your own in alphabetical order."""
    names = {config.parent.name for config in PRETRAINED.glob("*/config.json")}
    return [*(name for name in SHIPPED if name in names), *sorted(names - set(SHIPPED))]


def snapshots(name: str) -> tuple[int, ...]:
    """The steps of its training at which a bundled model was kept, in rising order.

    "name@step" is the model as it was after that step.

    Raises:
        InputError: there is no such model.
    """
    return tuple(snapshot_steps(folder_of(name)))


def is_bundled(name: str) -> bool:
    """Whether a name is that of a bundled model, or names a step of the training of one."""
    names = available()
    return name in names or ("@" in name and name.rpartition("@")[0] in names)


def load(name: str, device: str = "auto", dtype: str = "auto") -> InspectableModel:
    """Load a bundled model.

    Args:
        name: one of `available()`, or with "@" and one of its `snapshots` behind it.
        device: "auto", "cuda", "mps" or "cpu".
        dtype: "auto" or "float32", which are the same.

    Raises:
        InputError: there is no such model or snapshot.
        ValueError: the model's files are damaged, this machine has no such device, or another dtype.
        FileNotFoundError: one of the model's files is missing.
        DeviceMemoryError: the model does not fit into the GPU's memory.
    """
    if name in available() or not is_bundled(name):
        return load_folder(folder_of(name), name, device, dtype)
    of, _, typed = name.rpartition("@")
    steps = snapshots(of)
    # A step may come from a link, so it is compared with what is there and never read as a number before.
    step = next((step for step in steps if str(step) == typed), None)
    if step is None:
        there_are = f"There are: {', '.join(map(str, steps))}." if steps else "There are none."
        raise InputError(f"{of} was not kept at the step {typed!a} of its training. {there_are}")
    return load_folder(folder_of(of), name, device, dtype, step)


def folder_of(name: str) -> Path:
    """The folder of a bundled model.

    Raises:
        InputError: there is no such model.
    """
    names = available()
    # A name may come from a link, so it is compared with what is there and never joined to a path before.
    if name not in names:
        there_is = f"There are: {', '.join(names)}." if names else f"There are none in {PRETRAINED}."
        raise InputError(f"There is no bundled model called {name!a}. {there_is}")
    return PRETRAINED / name


def is_trained(folder: Path) -> bool:
    """Whether a folder holds a model as `python -m transformer_core train` writes it."""
    return format_of(folder) in trained.KINDS


def load_folder(
    folder: Path, name: str, device: str = "auto", dtype: str = "auto", step: int | None = None
) -> InspectableModel:
    """Load a trained model from its folder, and call it `name`.

    Args:
        step: the model as it was after this step of its training, one of its snapshots.

    Raises:
        As `load`, but for InputError.
    """
    if dtype not in ("auto", "float32"):
        raise ValueError(f"The bundled models run in float32 only, not in {dtype}. Choose float32 or auto.")
    with device_memory():
        model = trained.load(folder, device, step)
    notes = () if step is None else (f"This is the model as it was after step {step:,} of its training.",)
    return INSPECTABLE[type(model)](name, model, weights_hash([weights_path(folder, step)]), notes)
