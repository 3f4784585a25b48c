"""Shared, bounded loading, and the way out when a GPU is too small."""

import dataclasses
import io
import shutil
import threading
from dataclasses import dataclass, field

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file

from transformer_core import zoo
from transformer_core.device import choose_device
from transformer_core.interrupting import Stage
from transformer_core.trained import Translator
from transformer_core.trained.folder import save_snapshot
from transformer_core.zoo import bundled
from viz_app import library, pictures, runs
from viz_app.library import ModelChoice

TEXT = "The cat sleeps."
TINY = ModelChoice("tiny-en-de", "cpu")


@dataclass
class SmallGPU:
    """Stands in for the zoo of a machine whose GPU is too small; the CPU has the real model."""

    loaded: list[str] = field(default_factory=list)
    fails_on: str = "inspect"
    inspections: int = 0
    num_parameters: int = 1
    dtype: torch.dtype = torch.float32

    def load(self, name, device, dtype, **options):
        self.loaded.append(device)
        if device == "cpu":
            return original_load(name, device)
        if self.fails_on == "load":
            raise zoo.DeviceMemoryError("too small")
        return self

    def inspect(self, text, options):
        self.inspections += 1
        raise zoo.DeviceMemoryError("too small")


original_load = zoo.load


@pytest.mark.parametrize("fails_on", ["load", "inspect"])
def test_out_of_memory_on_the_gpu_runs_on_the_cpu_and_says_so(pretrained, monkeypatch, fails_on):
    gpu = SmallGPU(fails_on=fails_on)
    monkeypatch.setattr(zoo, "load", gpu.load)
    monkeypatch.setattr(library, "choose_device", lambda name: torch.device("cuda" if name == "auto" else name))
    inspection = library.inspect(ModelChoice("tiny-en-de"), TEXT, zoo.InspectionOptions())
    assert library.inspect(ModelChoice("tiny-en-de"), TEXT, zoo.InspectionOptions()) is inspection
    assert gpu.loaded == ["cuda", "cpu"]
    assert gpu.inspections == (fails_on == "inspect")
    assert inspection.answer == "Die Katze schläft."
    assert inspection.provenance.device == "cpu"
    assert inspection.notes[-1] == "The CUDA device ran out of memory, so this ran on the CPU."


def test_sessions_that_open_together_share_one_model(pretrained, monkeypatch):
    loads, found, waiting = [], [], set()
    all_wait = threading.Event()

    def load_when_all_wait(name, device, *precision, **options):
        loads.append(name)
        assert all_wait.wait(60)
        return original_load(name, device)

    def watch(run) -> None:
        waiting.add(threading.get_ident())
        if len(waiting) == 4:
            all_wait.set()

    monkeypatch.setattr(zoo, "load", load_when_all_wait)
    threads = [threading.Thread(target=lambda: found.append(library.load(TINY, watch))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert loads == ["tiny-en-de"]
    assert len({id(model) for model in found}) == 1


def test_the_same_text_is_computed_once(pretrained):
    options = zoo.InspectionOptions()
    first = library.inspect(TINY, TEXT, options)
    assert library.inspect(TINY, TEXT, options) is first
    assert library.inspect(TINY, TEXT, zoo.InspectionOptions(beam_size=1)) is not first


def test_auto_and_the_device_that_it_means_share_one_result(pretrained):
    options = zoo.InspectionOptions()
    chosen = choose_device("auto").type
    assert library.load(ModelChoice("tiny-en-de")) is library.load(ModelChoice("tiny-en-de", chosen))
    assert library.inspect(ModelChoice("tiny-en-de"), TEXT, options) is library.inspect(
        ModelChoice("tiny-en-de", chosen), TEXT, options
    )


def test_a_replaced_model_is_loaded_anew(pretrained, tmp_path, monkeypatch):
    shutil.copytree(pretrained / "tiny-en-de", tmp_path / "tiny-en-de")
    monkeypatch.setattr(bundled, "PRETRAINED", tmp_path)
    options = zoo.InspectionOptions(beam_size=1)
    before = library.inspect(TINY, TEXT, options)
    weights = load_file(tmp_path / "tiny-en-de" / "model.safetensors")
    save_file({name: -tensor for name, tensor in weights.items()}, tmp_path / "tiny-en-de" / "model.safetensors")
    after = library.inspect(TINY, TEXT, options)
    assert after.provenance.weights_hash != before.provenance.weights_hash


def test_a_replaced_snapshot_is_loaded_anew(pretrained, tmp_path, monkeypatch):
    folder = shutil.copytree(pretrained / "tiny-en-de", tmp_path / "tiny-en-de")
    monkeypatch.setattr(bundled, "PRETRAINED", tmp_path)
    trained, choice = Translator.load(folder, "cpu"), ModelChoice("tiny-en-de@20", "cpu")
    save_snapshot(folder, trained.model, 20)
    before = library.load(choice)
    assert library.load(choice) is before
    trained.model.embedding.tokens.weight.data += 1
    save_snapshot(folder, trained.model, 20)
    assert library.load(choice).weights_hash != before.weights_hash


def test_payloads_are_computed_once_for_each_text(pretrained):
    options = zoo.InspectionOptions()
    first = library.view_payload(TINY, TEXT, options)
    assert library.view_payload(TINY, TEXT, options) is first
    other = library.view_payload(TINY, "We are tired today.", options)
    assert other.meta["id"] != first.meta["id"]
    described = next(stack for stack in first.meta["stacks"] if stack["name"] == "cross")
    codes = first.weights[described["offset"] :][: described["rows"] * described["columns"]]
    weights = library.inspect(TINY, TEXT, options).stacks["cross"].weights(0, 0).numpy()
    np.testing.assert_allclose((codes / 254) ** 2, weights.flatten(), atol=0.5 / 127)


@dataclass
class Weight:
    """Stands in for a model or a result of so many bytes."""

    num_bytes: int


def kept(sizes: list[int], max_entries: int, max_bytes: int) -> list[int]:
    """Which of the entries are left after all were put in, one after the other."""
    cache = library._bounded_cache(max_entries, max_bytes, lambda weight: weight.num_bytes)
    for number, size in enumerate(sizes):
        cache[number] = Weight(size)
    return sorted(cache)


def test_what_is_kept_is_bounded_in_number_and_in_size():
    assert kept([1] * 6, max_entries=4, max_bytes=1000) == [2, 3, 4, 5]
    assert kept([400, 400, 400], max_entries=4, max_bytes=1000) == [1, 2]
    assert kept([10, 5000], max_entries=4, max_bytes=1000) == [1]
    assert kept([5000, 10], max_entries=4, max_bytes=1000) == [1]


def test_memory_counts_each_tensor_once(pretrained):
    inspection = library.inspect(TINY, TEXT, zoo.InspectionOptions())
    calls = [call for stack in inspection.stacks.values() for call in stack.calls]
    tensors = [value for call in calls for value in vars(call).values() if isinstance(value, torch.Tensor)]
    whole = sum({tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes() for tensor in tensors}.values())
    assert library._inspection_bytes(inspection) == whole > 0
    stacks = inspection.stacks | {"again": inspection.stacks["encoder"]}
    assert library._inspection_bytes(dataclasses.replace(inspection, stacks=stacks)) == whole


def test_room_is_made_before_a_large_model_is_loaded(pretrained, monkeypatch, tmp_path):
    library.load(TINY)
    assert len(library._models) == 1
    monkeypatch.setattr(library, "_state", lambda name: [(tmp_path / "model.safetensors", 0, library.MAX_MODEL_BYTES)])
    seen = []
    monkeypatch.setattr(zoo, "load", lambda *_, **__: seen.append(len(library._models)) or original_load("tiny-en-de"))
    library.load(ModelChoice("large", "cpu"))
    assert seen == [0]


def test_snapshots_that_are_not_asked_for_need_no_room(pretrained, monkeypatch, tmp_path):
    folder = shutil.copytree(pretrained / "tiny-en-de", tmp_path / "tiny-en-de")
    monkeypatch.setattr(bundled, "PRETRAINED", tmp_path)
    weights = folder / "model.safetensors"
    (folder / "snapshots").mkdir()
    shutil.copy(weights, folder / "snapshots" / "step-00000020.safetensors")
    asked = []
    monkeypatch.setattr(library._models, "make_room", asked.append)
    library.load(TINY)
    assert asked == [weights.stat().st_size]


def test_another_model_need_not_wait_for_a_download(pretrained, monkeypatch):
    started, go_on = threading.Event(), threading.Event()

    def slow_load(name, *precision, **options):
        if name == "owner/slow":
            started.set()
            assert go_on.wait(30)
        return original_load("tiny-en-de", "cpu")

    monkeypatch.setattr(zoo, "load", slow_load)
    download = threading.Thread(target=library.load, args=(ModelChoice("owner/slow", "cpu"),))
    download.start()
    try:
        assert started.wait(30)
        assert library.load(TINY).name == "tiny-en-de"
    finally:
        go_on.set()
        download.join()


def test_a_download_that_was_ended_can_be_started_again(pretrained, monkeypatch):
    class Stop(BaseException):
        pass

    ended, go_on = threading.Event(), threading.Event()

    def load(name, *precision, progress, **options):
        try:
            while not go_on.wait(0.01):
                progress("", 1_000_000, 2_000_000)
        finally:
            ended.set()
        return original_load("tiny-en-de", "cpu")

    def stop(run):
        raise Stop

    monkeypatch.setattr(zoo, "load", load)
    monkeypatch.setattr(runs, "SECONDS_TO_RETURN", 0)
    with pytest.raises(Stop):
        library.load(ModelChoice("owner/name", "cpu"), stop)
    assert ended.wait(30)
    reports = []

    def watch(run):
        reports.append(run.stage)
        if run.stage.share:
            go_on.set()

    assert library.load(ModelChoice("owner/name", "cpu"), watch).name == "tiny-en-de"
    assert reports[-1] == Stage("Downloading: 1 of 2 MB", 0.5)


def test_pictures_are_told_apart_by_their_bytes(pretrained, tiny_checkpoints):
    choice, options = ModelChoice(str(tiny_checkpoints["image"]), "cpu"), zoo.InspectionOptions()
    black, white = (saved(colour) for colour in ("black", "white"))
    first = library.inspect(choice, pictures.read("a.png", black), options)
    assert library.inspect(choice, pictures.read("a.png", black), options) is first
    other = library.inspect(choice, pictures.read("a.png", white), options)
    assert other is not first and (other.image.pixels == 255).all() and (first.image.pixels == 0).all()
    assert first.text == "a.png"


def test_no_image_is_kept_with_its_result(pretrained, tiny_checkpoints):
    """Decoded, one can be half a gigabyte."""
    choice, options = ModelChoice(str(tiny_checkpoints["image"]), "cpu"), zoo.InspectionOptions()
    picture = pictures.read("a.png", saved("black"))
    library.view_payload(choice, picture, options)
    kept = [part for results in (library._inspections, library._payloads) for key in results._cache for part in key]
    assert kept.count((picture.name, picture.digest)) == 2
    assert not any(isinstance(part, pictures.Picture) for part in kept)


def saved(colour: str) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (40, 40), colour).save(file, "PNG")
    return file.getvalue()


HEADER = "step,learning_rate,loss,tokens_per_second,seconds,validation_loss,validation_bleu\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("step,lea", "is empty"),
        ("\n\n", "is empty"),
        (HEADER, "has no rows yet"),
        (HEADER + "100,0.1,2", "has no rows yet"),
        ("step,loss\n1,2\n", "lacks the columns learning_rate, tokens_per_second"),
        (HEADER + "100,0.1,2,3,4,,\n200,0.1,two,3,4,,\n", "row 2"),
        (HEADER + ",0.1,2,3,4,,\n", "row 1"),
    ],
)
def test_a_record_that_cannot_be_drawn_says_why(tmp_path, monkeypatch, content, message):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "training.csv").write_text(content)
    monkeypatch.setattr(bundled, "PRETRAINED", tmp_path)
    with pytest.raises(library.ModelError, match=message):
        library.training_run("model")


def test_a_row_that_is_still_being_written_is_left_out(tmp_path, monkeypatch):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "training.csv").write_text(HEADER + "100,0.1,2.5,3,4,,\n200,0.1,2.0,3,4,1.75,12.5\n300,0.")
    monkeypatch.setattr(bundled, "PRETRAINED", tmp_path)
    run = library.training_run("model")
    assert run["step"].tolist() == [100, 200] and run["loss"].tolist() == [2.5, 2.0]
    assert run["validation_bleu"].dropna().tolist() == [12.5]


def test_sessions_do_not_see_each_others_texts(pretrained):
    """Many texts at once, each with the answer and the tokens that it has alone."""
    texts = ["The cat sleeps.", "The dog sleeps.", "I see the cat.", "We are tired today."] * 2
    answers = {}

    def inspect(index):
        answers[index] = library.inspect(TINY, texts[index], zoo.InspectionOptions(beam_size=1 + index // 4))

    threads = [threading.Thread(target=inspect, args=(index,)) for index in range(len(texts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    alone = original_load("tiny-en-de", "cpu")
    for index, text in enumerate(texts):
        expected = alone.inspect(text, zoo.InspectionOptions(beam_size=1 + index // 4))
        assert answers[index].answer == expected.answer
        for name, stack in expected.stacks.items():
            assert answers[index].stacks[name].query_tokens == stack.query_tokens
            torch.testing.assert_close(answers[index].stacks[name].weights(0), stack.weights(0))


def test_only_devices_of_this_machine_are_offered():
    assert library.devices()[0] == "auto" and "cpu" in library.devices()
    assert ("cuda" in library.devices()) == torch.cuda.is_available()
    assert library.device_name("auto") == f"auto: {choose_device('auto').type}"


def test_a_model_that_cannot_be_loaded_says_why(pretrained):
    with pytest.raises(library.ModelError, match=r"no folder \./missing"):
        library.load(ModelChoice("./missing", "cpu"))
