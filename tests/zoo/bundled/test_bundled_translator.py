"""Bundled translators: what they say of themselves and of texts, and every kind of odd text."""

import hashlib
import re
import threading

import pytest
import torch

from transformer_core import zoo
from transformer_core.text.generation import MAX_EXTRA_TOKENS
from transformer_core.trained import Translator
from transformer_core.zoo import DeviceMemoryError, InputError, InspectionOptions


@pytest.fixture
def model(pretrained):
    return zoo.load("tiny-en-de", device="cpu")


def test_what_a_model_says_of_itself(model):
    assert (model.name, model.family, str(model.device)) == ("tiny-en-de", "text-to-text", "cpu")
    assert (model.config.num_heads, model.config.d_model) == (4, 32)
    assert model.max_tokens == 63
    # Embeddings; 2 encoder layers of 4 projections, a feed-forward and 2 norms; 2 decoder layers with one more each.
    feed_forward = 32 * 64 + 64 + 64 * 32 + 32
    encoder_layer = 4 * 32 * 32 + feed_forward + 2 * 2 * 32
    decoder_layer = 8 * 32 * 32 + feed_forward + 3 * 2 * 32
    assert model.num_parameters == model.config.vocab_size * 32 + 2 * encoder_layer + 2 * decoder_layer


def test_a_translation_with_its_attention(model):
    inspection = model.inspect("The cat sleeps.")
    assert inspection.text == "The cat sleeps."
    assert inspection.answer == "Die Katze schläft."
    source = ("▁The", "▁cat", "▁sleeps", ".", "</s>")
    target = ("<s>", "▁Die", "▁Katze", "▁schläft", ".")
    assert list(inspection.stacks) == ["encoder", "decoder", "cross"]
    encoder, decoder, cross = inspection.stacks.values()
    assert (encoder.query_tokens, encoder.key_tokens) == (source, source)
    assert (decoder.query_tokens, decoder.key_tokens) == (target, target)
    assert (cross.query_tokens, cross.key_tokens) == (target, source)
    assert encoder.query_special == encoder.key_special == cross.key_special == (4,)
    assert decoder.query_special == decoder.key_special == cross.query_special == (0,)
    assert all(stack.query_words == stack.key_words == tuple(range(5)) for stack in (encoder, decoder, cross))
    assert [(stack.query_label, stack.key_label) for stack in (encoder, decoder, cross)] == [
        ("English", "English"),
        ("German", "German"),
        ("German", "English"),
    ]
    for stack in (encoder, decoder, cross):
        assert len(stack) == 2
        for layer in range(2):
            weights = stack.weights(layer)
            assert weights.shape == (4, len(stack.query_tokens), len(stack.key_tokens))
            torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))
    assert (decoder.weights(0).triu(1) == 0).all()
    assert inspection.notes == ()
    assert inspection.seconds > 0
    assert inspection.certificate < 2e-6
    assert inspection.row_sum_error < 1e-6


def test_attention_is_that_of_the_formula(model):
    """The first layer's weights, from the model's matrices by hand in double precision (equation 1)."""
    inspection = model.inspect("I see the dog.")
    network = model.trained.model.double()
    ids = torch.tensor([model.trained.source_ids("I see the dog.")])
    with torch.no_grad():
        x = network.embedding(ids)[0]
        attention = network.encoder.layers[0].self_attention
        for head in range(4):
            rows = slice(head * 8, head * 8 + 8)
            query, key = x @ attention.w_q.weight[rows].T, x @ attention.w_k.weight[rows].T
            expected = torch.softmax(query @ key.T / 8**0.5, dim=-1)
            actual = inspection.stacks["encoder"].weights(0, head).double()
            torch.testing.assert_close(actual, expected, atol=1e-6, rtol=1e-5)


def test_recorded_pass_predicts_the_translation(model):
    """The recorded pass is the one that wrote the translation: its most likely next tokens are the answer."""
    target = model.trained.generate([model.trained.source_ids("We are tired today.")], beam_size=1)[0]
    inspection = model.inspect("We are tired today.", InspectionOptions(beam_size=1))
    tokenizer, network = model.trained.tokenizer, model.trained.model
    assert inspection.stacks["decoder"].query_tokens == ("<s>", *tokenizer.pieces(target))
    source = torch.tensor([model.trained.source_ids("We are tired today.")])
    with torch.no_grad():
        predicted = network(source, torch.tensor([[tokenizer.bos_id, *target]]))[0].argmax(-1)
    assert predicted.tolist() == [*target, tokenizer.eos_id]


def test_provenance(model, tiny_translator_folder):
    provenance = model.inspect("The dog sleeps.").provenance
    digest = hashlib.sha256((tiny_translator_folder / "model.safetensors").read_bytes()).hexdigest()
    assert provenance.weights_hash == digest[:12]
    assert (provenance.model, provenance.device, provenance.dtype) == ("tiny-en-de", "cpu", "float32")
    assert provenance.torch_version == torch.__version__


def test_decoding_options_reach_the_search(model, monkeypatch):
    asked = []
    generate = Translator.generate
    monkeypatch.setattr(Translator, "generate", lambda self, *args: asked.append(args[1:]) or generate(self, *args))
    model.inspect("The cat sleeps.", InspectionOptions(beam_size=7, length_penalty=1.25))
    assert asked == [(7, 1.25)]


@pytest.mark.parametrize("beam_size", [0, -1, 17, 2.5, True])
def test_impossible_beam_sizes(beam_size):
    with pytest.raises(InputError, match=r"The beam size is .* from 1 to 16"):
        InspectionOptions(beam_size=beam_size)


@pytest.mark.parametrize("alpha", [-0.1, 5.1, float("nan"), float("inf"), "0.6"])
def test_impossible_length_penalties(alpha):
    with pytest.raises(InputError, match=r"The length penalty is .* from 0 to 5"):
        InspectionOptions(length_penalty=alpha)


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("temperature", [-0.1, 5.1, float("nan"), "1", True], "temperature is .* a number from 0 to 5"),
        ("top_p", [-0.1, 1.1, float("nan"), None], "top p is .* a number from 0 to 1"),
        ("top_p", [0, 0.0], "top p is .* leaves no token to draw"),
        ("top_k", [-1, 2.0, True, 10**9], "top k is .* a whole number from 0 to"),
        ("seed", [-1, 0.5, 2**32], "seed is .* a whole number from 0 to"),
    ],
)
def test_impossible_ways_to_draw(name, values, message):
    for value in values:
        with pytest.raises(InputError, match=f"The {message}"):
            InspectionOptions(**{name: value})


@pytest.mark.parametrize("text", ["", " ", "\n\t \u00a0\u3000"])
def test_blank_text(model, text):
    with pytest.raises(InputError, match="There is no text yet"):
        model.inspect(text)


@pytest.mark.parametrize("text", ["\u200b\u200b", "\ufeff", "\x01"])
def test_invisible_text(model, text):
    with pytest.raises(InputError, match="only invisible characters"):
        model.inspect(text)


def test_half_a_character_is_named_with_its_place(model):
    with pytest.raises(InputError, match=r"Character 5 of the text is only half .* U\+D83D"):
        model.inspect("Cat \ud83d sleeps.")


def test_text_over_the_limit_is_refused_with_counts(model):
    text = "The cat sleeps. " * 500
    length = len(model.trained.tokenizer.encode(text))
    with pytest.raises(InputError) as caught:
        model.inspect(text)
    assert str(caught.value).startswith(
        f"This text is {length:,} tokens long; this model reads at most 63. Shorten it by {length - 63:,} tokens"
    )
    characters = int(re.search(r"about ([\d,]+) of the 8,000 characters", str(caught.value))[1].replace(",", ""))
    shortened = text[:-characters].rsplit(maxsplit=1)[0]  # it is about so many: up to a word
    assert len(model.trained.tokenizer.encode(shortened)) <= 63
    assert model.inspect(shortened).stacks["encoder"].query_tokens[-1] == "</s>"


def test_text_at_the_limit_is_read_whole(model):
    tokenizer = model.trained.tokenizer
    text = "The" + " cat" * 62
    assert len(tokenizer.encode(text)) == model.max_tokens
    inspection = model.inspect(text)
    assert len(inspection.stacks["encoder"].key_tokens) == 64
    with pytest.raises(InputError, match=r"64 tokens long; this model reads at most 63\. Shorten it by 1 token,"):
        model.inspect(text + " cat")


@pytest.mark.parametrize(
    "text",
    [
        "🙂🙂",
        "\0",
        "<script>alert(1)</script>",
        "مرحبا بالعالم",
        "</s>",
        "<s> <pad> <unk>",
        "cat",
        ".",
        "the the the the",
        "The cat\nsleeps.",
        "**bold** $x^2$ `code`",
    ],
)
def test_odd_text_has_a_correct_view(model, text):
    inspection = model.inspect(text)
    assert inspection.text == text
    cross = inspection.stacks["cross"]
    assert cross.key_tokens == inspection.stacks["encoder"].query_tokens
    # Special tokens stand only where the model itself puts them.
    assert cross.key_tokens[-1] == "</s>"
    assert not {"<s>", "</s>", "<pad>"} & set(cross.key_tokens[:-1])
    assert cross.query_tokens[0] == "<s>"
    assert not {"<s>", "</s>", "<pad>"} & set(cross.query_tokens[1:])
    assert inspection.certificate < 2e-6
    assert inspection.row_sum_error < 1e-6


def test_the_words_of_a_text(model):
    encoder = model.inspect("The cat isn't 🙂.").stacks["encoder"]
    tokens = ("▁The", "▁cat", "▁is", "n", "<0x27>", "t", "▁", "<0xF0>", "<0x9F>", "<0x99>", "<0x82>", ".", "</s>")
    assert encoder.query_tokens == tokens
    assert encoder.query_words == (0, 1, 2, 2, 2, 2, 3, 3, 3, 3, 3, 4, 5)


def test_characters_that_the_vocabulary_lacks_are_counted(model):
    notes = model.inspect("🙂").notes
    assert any(note.startswith("4 of the 6 source tokens are single bytes") for note in notes)


def rigged(model, target: list[int]):
    """The model with a search that always returns `target`."""

    class Rigged(Translator):
        def generate(self, sources, *options):
            return [target for _ in sources]

    real = model.trained
    model.trained = Rigged(real.model, real.tokenizer, real.source_language, real.target_language)
    return model


def test_an_empty_translation_still_has_a_view(model):
    inspection = rigged(model, []).inspect("The cat sleeps.")
    assert inspection.answer == ""
    assert inspection.notes == ("The translation is empty: the model ended it at once.",)
    assert inspection.stacks["decoder"].weights(0).tolist() == [[[1.0]]] * 4
    assert inspection.stacks["cross"].weights(0).shape == (4, 1, 5)


def test_a_translation_that_does_not_end_is_marked(model):
    """The tokens are more than the decoder has positions for: the last one is written, but never read."""
    target = [10] * model.config.max_length
    inspection = rigged(model, target).inspect("The" + " cat" * 20)
    assert len(inspection.stacks["decoder"].query_tokens) == model.config.max_length
    assert inspection.notes == ("The translation did not end by itself; it was cut at 64 tokens.",)


def test_a_translation_at_its_length_limit_is_marked(model):
    source_length = len(model.trained.source_ids("cat"))
    limit = source_length + MAX_EXTRA_TOKENS
    assert rigged(model, [10] * (limit - 1)).inspect("cat").notes == ()
    assert rigged(model, [10] * limit).inspect("cat").notes == (
        f"The translation did not end by itself; it was cut at {limit} tokens.",
    )


@pytest.mark.parametrize(
    "error", [torch.OutOfMemoryError("CUDA out of memory."), RuntimeError("MPS backend out of memory")]
)
def test_a_full_gpu_says_what_to_do(model, monkeypatch, error):
    def fail(*_):
        raise error

    monkeypatch.setattr(Translator, "generate", fail)
    with pytest.raises(DeviceMemoryError, match="Use the CPU"):
        model.inspect("The cat sleeps.")


def test_other_errors_are_not_taken_for_a_full_gpu(model, monkeypatch):
    def fail(*_):
        raise RuntimeError("shape mismatch")

    monkeypatch.setattr(Translator, "generate", fail)
    with pytest.raises(RuntimeError, match="shape mismatch"):
        model.inspect("The cat sleeps.")


def test_torchs_default_dtype_does_not_matter(model):
    """It changes for a moment while a model of another kind is opened in half precision."""
    alone = model.inspect("The cat sleeps.")
    torch.set_default_dtype(torch.bfloat16)
    try:
        meanwhile = model.inspect("The cat sleeps.")
    finally:
        torch.set_default_dtype(torch.float32)
    assert meanwhile.answer == alone.answer
    for name, stack in meanwhile.stacks.items():
        assert all(torch.equal(stack.weights(layer), alone.stacks[name].weights(layer)) for layer in range(len(stack)))


def test_sessions_share_a_model(model):
    """Four threads inspect their own sentence at once and each gets what it would get alone."""
    texts = ["The cat sleeps.", "The dog drinks water.", "I see the cat.", "We are tired today."]
    alone = {text: model.inspect(text) for text in texts}
    together, start = {}, threading.Barrier(len(texts))

    def inspect(text: str) -> None:
        start.wait(timeout=60)
        together[text] = [model.inspect(text) for _ in range(3)]

    threads = [threading.Thread(target=inspect, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for text in texts:
        assert len(together[text]) == 3
        for inspection in together[text]:
            assert inspection.answer == alone[text].answer
            for name, stack in inspection.stacks.items():
                for layer in range(len(stack)):
                    assert torch.equal(stack.weights(layer), alone[text].stacks[name].weights(layer))
