"""Real checkpoint folders through both implementations: the same Inspections, whatever is asked."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import PIL.Image
import pytest
import torch
import transformers

from tests.tiny_checkpoints import change_json
from tests.zoo.hugging_face.headlight.originals import ARCHITECTURES, randomised
from transformer_core import zoo
from transformer_core.inspection import Inspection, export
from transformer_core.zoo.hugging_face.families import text_to_text
from transformer_core.zoo.interface import InputError, InspectableModel, InspectionOptions

FAMILIES = dict(zip(("masked", "causal", "text-to-text", "image"), ARCHITECTURES, strict=True))

TEXT = "The cat sees the dog because it is big."

IMAGE = PIL.Image.fromarray(np.random.default_rng(0).integers(0, 255, (48, 40, 3), dtype=np.uint8))

QUESTIONS = [
    ("masked", TEXT, {}),
    ("masked", TEXT, {"masked": (1, 4)}),
    ("masked", TEXT, {"second_text": "We are tired today.", "masked": (2,)}),
    # Typed padding is read like any token.
    ("masked", "The [PAD] cat [MASK].", {"read_special_tokens": True}),
    ("causal", TEXT, {}),
    ("causal", TEXT, {"new_tokens": 12}),
    ("causal", TEXT, {"new_tokens": 60}),  # more than there are positions left
    ("causal", TEXT, {"new_tokens": 12, "temperature": 1.5, "top_k": 20, "top_p": 0.9, "seed": 4}),
    ("text-to-text", TEXT, {"beam_size": 1}),
    ("text-to-text", TEXT, {"beam_size": 4, "length_penalty": 1.5}),
    ("text-to-text", "The <pad> cat.", {"beam_size": 2, "read_special_tokens": True}),
    ("image", IMAGE, {}),
]


@pytest.fixture(scope="module")
def folders(tiny_checkpoints, tmp_path_factory) -> dict[str, Path]:
    """The four tiny checkpoints with weights at which something happens."""
    copies = {}
    for family, architecture in FAMILIES.items():
        copies[family] = tmp_path_factory.mktemp("random") / family
        shutil.copytree(tiny_checkpoints[family], copies[family])
        randomised(getattr(transformers, architecture).from_pretrained(copies[family])).save_pretrained(copies[family])
    return copies


@pytest.fixture(scope="module")
def both(folders) -> Callable[[str], tuple[InspectableModel, InspectableModel]]:
    opened = {}

    def open_both(family: str) -> tuple[InspectableModel, InspectableModel]:
        if family not in opened:
            opened[family] = tuple(
                zoo.load(folders[family], device="cpu", hub=False, implementation=implementation)
                for implementation in ("transformers", "headlight")
            )
        return opened[family]

    return open_both


@pytest.fixture(autouse=True)
def short_answers(monkeypatch) -> None:
    monkeypatch.setattr(text_to_text, "MAX_EXTRA_TOKENS", 8)


@pytest.mark.parametrize(("family", "content", "options"), QUESTIONS)
def test_whole_inspections(both, family, content, options):
    theirs, ours = (model.inspect(content, InspectionOptions(**options)) for model in both(family))
    assert_same(ours, theirs, note=both(family)[1].notes[0])
    assert max(ours.certificate, ours.row_sum_error) < 1e-5


def assert_same(ours: Inspection, theirs: Inspection, note: str) -> None:
    """All but the time, and the note on who computed."""
    assert ours.notes[0] == note
    for name in ("text", "second_text", "answer", "provenance"):
        assert getattr(ours, name) == getattr(theirs, name), name
    assert ours.notes[1:] == theirs.notes
    assert [(each.place, each.row) for each in ours.predictions] == [
        (each.place, each.row) for each in theirs.predictions
    ]
    for our_prediction, their_prediction in zip(ours.predictions, theirs.predictions, strict=True):
        labels, probabilities = zip(*our_prediction.candidates, strict=True)
        their_labels, their_probabilities = zip(*their_prediction.candidates, strict=True)
        assert labels == their_labels
        assert probabilities == pytest.approx(their_probabilities, abs=5e-6)
    assert list(ours.stacks) == list(theirs.stacks)
    for name, stack in theirs.stacks.items():
        ours_there = ours.stacks[name]
        assert replace(ours_there, calls=()) == replace(stack, calls=())
        for ours_call, theirs_call in zip(ours_there.calls, stack.calls, strict=True):
            torch.testing.assert_close(ours_call.weights(), theirs_call.weights(), rtol=0, atol=5e-6)
    if theirs.image is not None:
        assert np.array_equal(ours.image.pixels, theirs.image.pixels)
        assert (ours.image.grid, ours.image.first_patch) == (theirs.image.grid, theirs.image.first_patch)


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_known_of_the_model(both, family):
    theirs, ours = both(family)
    for name in (
        *("name", "family", "abilities", "languages", "device", "dtype", "num_parameters", "weights_hash", "stacks"),
        "max_tokens",
    ):
        assert getattr(ours, name) == getattr(theirs, name), name
    assert theirs.notes == ()
    own_class = {
        "masked": "MaskedLanguageModel",
        "causal": "LanguageModel",
        "text-to-text": "Transformer",
        "image": "VisionTransformer",
    }[family]
    assert (theirs.architecture, ours.architecture) == (FAMILIES[family], own_class)
    assert ours.notes == (f"Headlight's own {own_class} computes here, with the weights of {FAMILIES[family]}.",)
    if family != "image":
        assert ours.tokens(TEXT) == theirs.tokens(TEXT)


@pytest.mark.parametrize(("family", "options"), [("causal", {"new_tokens": 12}), ("text-to-text", {"beam_size": 3})])
def test_a_text_is_written_token_by_token(both, family, options):
    """Keys and values of earlier tokens are kept: after its start, a decoder reads one new token at a time."""
    _, ours = both(family)
    decoder, read = ours.network.model.decoder, []
    hook = decoder.register_forward_pre_hook(lambda module, arguments: read.append(arguments[0].size(1)))
    try:
        inspection = ours.inspect(TEXT, InspectionOptions(**options))
    finally:
        hook.remove()
    *written, recorded = read
    assert set(written[1:]) == {1}
    assert len(written) > 5
    assert recorded == len(inspection.stacks["self" if family == "causal" else "decoder"].query_tokens)


@pytest.mark.parametrize("family", FAMILIES)
def test_exports(both, family, tmp_path):
    content = IMAGE if family == "image" else TEXT
    arrays = []
    for number, model in enumerate(both(family)):
        export.save(model.inspect(content, InspectionOptions(beam_size=1)), tmp_path / f"{number}.npz")
        with np.load(tmp_path / f"{number}.npz") as saved:
            arrays.append({name: saved[name] for name in saved.files})
    theirs, ours = arrays
    assert ours.keys() == theirs.keys()
    for name, array in theirs.items():
        if array.dtype.kind == "f":
            np.testing.assert_allclose(ours[name], array, rtol=0, atol=5e-6)
        else:
            assert ours[name].shape == array.shape


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision(folders, dtype):
    """In every tensor: transformers keeps some of T5's in float32 beside float16."""
    for family in FAMILIES:
        model = zoo.load(folders[family], device="cpu", dtype=dtype, hub=False, implementation="headlight")
        inspection = model.inspect(IMAGE if family == "image" else TEXT, InspectionOptions(beam_size=1))
        assert inspection.provenance.dtype == dtype
        assert {parameter.dtype for parameter in model.network.parameters()} == {getattr(torch, dtype)}
        assert max(inspection.certificate, inspection.row_sum_error) < 5e-2


def test_another_architecture(tiny_checkpoints):
    with pytest.raises(InputError) as raised:
        zoo.load(tiny_checkpoints["classifier"], device="cpu", hub=False, implementation="headlight")
    assert str(raised.value) == (
        f"{tiny_checkpoints['classifier']} is a BertForSequenceClassification, which Headlight does not implement. It "
        "implements BertForMaskedLM, GPT2LMHeadModel, T5ForConditionalGeneration, ViTForImageClassification. Open all "
        'others with the implementation "transformers".'
    )


def test_what_headlights_model_lacks(copy_of):
    folder = copy_of("causal", scale_attn_by_inverse_layer_idx=True)
    with pytest.raises(InputError, match=r"scale_attn_by_inverse_layer_idx\), which this checkpoint uses"):
        zoo.load(folder, device="cpu", hub=False, implementation="headlight")
    assert zoo.load(folder, device="cpu", hub=False).architecture == "GPT2LMHeadModel"


def test_saved_settings_for_writing_count(folders, tmp_path):
    shutil.copytree(folders["causal"], tmp_path / "model")
    change_json(tmp_path / "model" / "generation_config.json", repetition_penalty=5.0, suppress_tokens=[5, 6, 7])
    answers = [
        zoo.load(tmp_path / "model", device="cpu", hub=False, implementation=implementation)
        .inspect(TEXT, InspectionOptions(new_tokens=8))
        .answer
        for implementation in ("transformers", "headlight")
    ]
    assert answers[0] == answers[1]
    plain = zoo.load(folders["causal"], device="cpu", hub=False).inspect(TEXT, InspectionOptions(new_tokens=8))
    assert plain.answer != answers[0]


def test_an_implementation_that_there_is_not():
    with pytest.raises(ValueError, match="unknown implementation 'tensorflow': use one of transformers, headlight"):
        zoo.load("owner/name", implementation="tensorflow")
