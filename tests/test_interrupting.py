"""Watching runs, ending them, and that watching changes nothing."""

import importlib
import threading

import pytest
import torch
from torch import nn
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack

from transformer_core import interrupting
from transformer_core.inspection import record
from transformer_core.inspection.intervention import intervene
from transformer_core.interrupting import Stage, Stopped, between_steps, short_steps, stage
from transformer_core.trained import Translator
from transformer_core.zoo import InspectionOptions, loading

TEXT = "The cat sees the dog because it is big."
TINY_FAMILIES = {"text-to-text": InspectionOptions(beam_size=2), "causal": InspectionOptions(new_tokens=6)}


@pytest.fixture(scope="module")
def translator(tiny_translator_folder):
    return loading.load(tiny_translator_folder, "cpu")


@pytest.fixture(scope="module", params=TINY_FAMILIES)
def generator(request, tiny_checkpoints):
    """A tiny model of transformers, and how it writes several tokens."""
    return loading.load(tiny_checkpoints[request.param], "cpu"), TINY_FAMILIES[request.param]


def stages(model, options=InspectionOptions()) -> list[str]:  # noqa: B008
    """What the model says it is doing, without repetitions."""
    ticks = []
    with between_steps(ticks.append, seconds=0):
        model.inspect(TEXT, options)
    assert ticks
    return list(dict.fromkeys(tick.words for tick in ticks))


def test_our_translator_says_each_token(translator):
    words = stages(translator)
    answer = translator.inspect(TEXT)
    longest = len(translator._read(TEXT)) + 50
    written = len(answer.stacks["decoder"].query_tokens)  # the begin token stands for the end token
    tokens = [each for each in words if each.startswith("Translating")]
    assert tokens[0] == f"Translating: token 1 of at most {min(longest, 64)}"
    assert len(tokens) >= written
    assert words[-2:] == ["Recording the attention", "Checking the weights"]


def test_generate_says_each_token(generator):
    model, options = generator
    words = stages(model, options)
    assert words.index("Reading the text") < words.index("Recording the attention")
    tokens = [each for each in words if each.startswith("Writing token")]
    assert tokens and tokens[0].startswith("Writing token 2 of at most ")
    if options.new_tokens:
        assert tokens[-1] == "Writing token 6 of at most 6"
    assert words[-1] == "Checking the weights"


def assert_equal(first, second):
    assert first.answer == second.answer
    assert (first.certificate, first.row_sum_error, first.notes) == (
        second.certificate,
        second.row_sum_error,
        second.notes,
    )
    assert first.predictions == second.predictions
    for name, stack in first.stacks.items():
        for one, other in zip(stack.calls, second.stacks[name].calls, strict=True):
            assert torch.equal(one.weights(), other.weights())
            assert (one.logsumexp is None) == (other.logsumexp is None)
            assert one.logsumexp is None or torch.equal(one.logsumexp, other.logsumexp)


def test_results_are_the_same_bit_for_bit(translator, generator):
    for model, options in ((translator, InspectionOptions()), generator):
        alone = model.inspect(TEXT, options)
        with between_steps(lambda stage: None, seconds=0):
            watched = model.inspect(TEXT, options)
        assert_equal(alone, watched)


def end_at(place: int):
    """A tick that raises at its call of this number, counted from 0."""
    calls = 0

    def tick(stage: Stage) -> None:
        nonlocal calls
        calls += 1
        if calls > place:
            raise Stopped

    return tick


def count(model, options) -> int:
    ticks = []
    with between_steps(ticks.append, seconds=0):
        model.inspect(TEXT, options)
    return len(ticks)


def test_a_run_ends_wherever_it_is_and_the_model_goes_on(translator, generator):
    for model, options in ((translator, InspectionOptions()), generator):
        before = model.inspect(TEXT, options)
        ticks = count(model, options)
        assert ticks > 50
        for place in {0, 1, ticks // 4, ticks // 2, 3 * ticks // 4, ticks - 1}:
            with pytest.raises(Stopped), between_steps(end_at(place), seconds=0):
                model.inspect(TEXT, options)
            assert not _get_current_function_mode_stack()
        assert_equal(before, model.inspect(TEXT, options))


def test_opening_a_checkpoint_can_be_ended(tiny_checkpoints):
    ticks = []
    with between_steps(ticks.append, seconds=0):
        before = loading.load(tiny_checkpoints["causal"], "cpu")
    words = list(dict.fromkeys(tick.words for tick in ticks))
    assert f"Opening {tiny_checkpoints['causal']}" in words and "Computing the SHA-256 of the weights" in words
    assert [tick.share for tick in ticks if tick.words.startswith("Computing")][-1] == 1
    default = torch.get_default_dtype()
    for place in (len(ticks) // 3, len(ticks) // 2, len(ticks) - 1):
        with pytest.raises(Stopped), between_steps(end_at(place), seconds=0):
            loading.load(tiny_checkpoints["causal"], "cpu")
        assert torch.get_default_dtype() == default
    again = loading.load(tiny_checkpoints["causal"], "cpu")
    assert again.weights_hash == before.weights_hash


def test_ticks_come_between_calls_of_any_model():
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2, enable_nested_tensor=False)
    ticks = []
    with between_steps(ticks.append, seconds=0):
        model(torch.randn(1, 3, 8))
    assert len(ticks) > 10 and set(ticks) == {Stage("")}


def test_not_more_often_than_asked_for(translator, monkeypatch):
    now, ticks = [0.0], []
    monkeypatch.setattr(interrupting.time, "monotonic", lambda: now[0])
    with between_steps(ticks.append, seconds=10):
        for second in range(35):
            now[0] = float(second)
            torch.zeros(1)
            stage(f"second {second}")
    assert [tick.words for tick in ticks] == ["", "second 9", "second 19", "second 29"]


def test_a_module_is_imported_to_its_end(tmp_path, monkeypatch):
    (tmp_path / "module_with_tensors.py").write_text(
        "import torch\nfrom transformer_core.interrupting import stage\n"
        "first = torch.zeros(1)\nstage('importing')\nlast = torch.zeros(1)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(Stopped), between_steps(end_at(0), seconds=0):
        module = importlib.import_module("module_with_tensors")
        torch.zeros(1)  # the first call of PyTorch that can be the last one
    assert "last" in vars(module)


def test_an_ended_recording_leaves_no_mode_behind(translator):
    """Nested with what records and what changes heads, in both orders."""
    network = translator.trained.model
    source = translator._batch(translator._read(TEXT))
    start = translator._batch([translator.trained.tokenizer.bos_id])
    path = next(name for name, module in network.named_modules() if type(module).__name__ == "MultiHeadAttention")
    with torch.inference_mode():
        with intervene(network, zero_heads={(path, 0)}), record(network) as alone:
            expected = network(source, start)
        with between_steps(lambda stage: None, 0), intervene(network, zero_heads={(path, 0)}), record(network) as inner:
            assert torch.equal(network(source, start), expected)
        with intervene(network, zero_heads={(path, 0)}), record(network) as outer, between_steps(lambda stage: None, 0):
            assert torch.equal(network(source, start), expected)
        for trace in (inner, outer):
            assert [call.name for call in trace] == [call.name for call in alone]
            for one, other in zip(trace, alone, strict=True):
                assert torch.equal(one.weights(), other.weights())
        changed = intervene(network, zero_heads={(path, 0)})
        with pytest.raises(Stopped), changed, between_steps(end_at(40), 0), record(network):
            network(source, start)
    assert not _get_current_function_mode_stack()


def test_short_steps_are_not_looked_between():
    ticks = []
    with between_steps(ticks.append, seconds=0):
        with short_steps():
            torch.zeros(1)
            assert not ticks
            stage("here")
            assert ticks == [Stage("here")]
        torch.zeros(1)
        assert len(ticks) == 2
        with Other(), short_steps():  # another mode lies above, which has to stay there
            torch.zeros(1)
        assert len(ticks) == 3
    with short_steps():
        torch.zeros(1)
    assert len(ticks) == 3


class Other(TorchFunctionMode):
    """A mode that does nothing."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def test_other_threads_are_not_watched():
    ticks = []

    def work():
        stage("elsewhere")
        torch.zeros(1)

    with between_steps(ticks.append, seconds=0):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert not ticks
    stage("nobody watches")
    assert not ticks


def test_a_batch_of_translations_can_be_ended(tiny_translator_folder):
    translator = Translator.load(tiny_translator_folder, "cpu")
    with pytest.raises(Stopped), between_steps(end_at(3), seconds=0):
        translator.translate([TEXT] * 3, beam_size=1)
    assert translator.translate(["The cat sleeps."]) == ["Die Katze schläft."]


def test_a_run_that_is_stopped_leaves_gradients_as_they_were():
    def stop(stage):
        raise KeyboardInterrupt

    for calls in range(4):
        # Stopped at the first, second, ... call inside and around the block.
        left = iter(range(calls))
        with (
            pytest.raises(KeyboardInterrupt),
            between_steps(lambda stage, left=left: next(left, None) is None and stop(stage), 0),
        ):
            with torch.no_grad():
                torch.ones(2).sum()
            torch.ones(2).sum()
        assert torch.is_grad_enabled()
