"""Shared, bounded loading, and the way out when a GPU is too small."""

import threading
import time
from dataclasses import dataclass, field

import pytest
import torch

from transformer_core import zoo
from transformer_core.device import choose_device
from viz_app import library

TEXT = "The cat sleeps."


@dataclass
class SmallGPU:
    """Stands in for the zoo of a machine whose GPU is too small; the CPU has the real model."""

    loaded: list[str] = field(default_factory=list)
    fails_on: str = "inspect"

    def load(self, name, device):
        self.loaded.append(device)
        if device == "cpu":
            return original_load(name, device)
        if self.fails_on == "load":
            raise zoo.DeviceMemoryError("too small")
        return self

    def inspect(self, text, options):
        raise zoo.DeviceMemoryError("too small")


original_load = zoo.load


@pytest.mark.parametrize("fails_on", ["load", "inspect"])
def test_out_of_memory_on_the_gpu_runs_on_the_cpu_and_says_so(pretrained, monkeypatch, fails_on):
    gpu = SmallGPU(fails_on=fails_on)
    monkeypatch.setattr(zoo, "load", gpu.load)
    monkeypatch.setattr(library, "choose_device", lambda name: torch.device("cuda"))
    inspection = library.inspect("tiny-en-de", "auto", TEXT, zoo.DecodingOptions())
    assert gpu.loaded == ["auto", "cpu"]
    assert inspection.answer == "Die Katze schläft."
    assert inspection.provenance.device == "cpu"
    assert inspection.notes[-1] == "The CUDA device ran out of memory, so this ran on the CPU."


def test_sessions_that_open_together_share_one_model(pretrained, monkeypatch):
    loads = []

    def slow_load(name, device):
        loads.append(name)
        time.sleep(0.2)
        return original_load(name, device)

    monkeypatch.setattr(zoo, "load", slow_load)
    found = []
    threads = [threading.Thread(target=lambda: found.append(library.load("tiny-en-de", "cpu"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert loads == ["tiny-en-de"]
    assert len({id(model) for model in found}) == 1


def test_the_same_text_is_computed_once(pretrained):
    options = zoo.DecodingOptions()
    first = library.inspect("tiny-en-de", "cpu", TEXT, options)
    assert library.inspect("tiny-en-de", "cpu", TEXT, options) is first
    assert library.inspect("tiny-en-de", "cpu", TEXT, zoo.DecodingOptions(beam_size=1)) is not first


def test_sessions_do_not_see_each_others_texts(pretrained):
    """Many texts at once, each with the answer and the tokens that it has alone."""
    texts = ["The cat sleeps.", "The dog sleeps.", "I see the cat.", "We are tired today."] * 2
    answers = {}

    def inspect(index):
        answers[index] = library.inspect(
            "tiny-en-de", "cpu", texts[index], zoo.DecodingOptions(beam_size=1 + index // 4)
        )

    threads = [threading.Thread(target=inspect, args=(index,)) for index in range(len(texts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    alone = original_load("tiny-en-de", "cpu")
    for index, text in enumerate(texts):
        expected = alone.inspect(text, zoo.DecodingOptions(beam_size=1 + index // 4))
        assert answers[index].answer == expected.answer
        for name, stack in expected.stacks.items():
            assert answers[index].stacks[name].query_tokens == stack.query_tokens
            torch.testing.assert_close(answers[index].stacks[name].weights(0), stack.weights(0))


def test_only_devices_of_this_machine_are_offered():
    assert library.devices()[0] == "auto" and "cpu" in library.devices()
    assert ("cuda" in library.devices()) == torch.cuda.is_available()
    assert library.device_name("auto") == f"auto: {choose_device('auto').type}"


def test_a_model_that_cannot_be_loaded_says_why(pretrained):
    with pytest.raises(library.ModelError, match="no bundled model"):
        library.load("missing", "cpu")
