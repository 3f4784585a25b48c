"""Encoder-decoder models: what they answer, and that the recorded pass is the one that wrote it."""

import numpy as np
import pytest
import torch
import transformers

from tests.zoo.hugging_face.families.checkpoints_in_memory import (
    EXTRA_TOKENS,
    UNIGRAM,
    assert_candidates,
    assert_weights,
    bart_config,
    inspected,
    oracle,
    random_model,
    t5_config,
)
from transformer_core.zoo import InputError, InspectionOptions

TEXT = "The cat sees the dog."
IDS = UNIGRAM(TEXT)["input_ids"]
GREEDY = InspectionOptions(beam_size=1)


def t5(**options):
    return random_model(transformers.T5ForConditionalGeneration, t5_config(**options), seed=7)


def bart(**options):
    return random_model(transformers.BartForConditionalGeneration, bart_config(**options), seed=4)


@pytest.fixture(scope="module", params=[t5, bart])
def network(request):
    return request.param()


@pytest.fixture(scope="module")
def model(network):
    return inspected(network, UNIGRAM, "text-to-text")


def answer_ids(network, num_beams: int = 1, **options) -> list[int]:
    """What transformers generates, without a cache, from the start token on."""
    longest = len(IDS) + EXTRA_TOKENS
    options |= {"num_beams": num_beams, "do_sample": False, "max_new_tokens": longest, "use_cache": False}
    (sequence,) = network.generate(torch.tensor([IDS]), **options).tolist()
    return sequence


def decoder_input(sequence: list[int]) -> list[int]:
    end = UNIGRAM.eos_token_id
    return sequence[: sequence.index(end, 1)] if end in sequence[1:] else sequence


def test_what_the_model_says_of_itself(model, network):
    layers = {stack.name: stack.heads for stack in model.stacks}
    decoder = network.config.num_decoder_layers if network.config.model_type == "t5" else 2
    assert layers == {"encoder": (4,) * 2, "decoder": (4,) * decoder, "cross": (4,) * decoder}
    assert model.family == "text-to-text"
    assert model.architecture == type(network).__name__
    assert model.abilities == {"beam search", "special tokens"}
    assert model.notes == ()
    assert model.languages is None
    assert model.max_tokens == (None if network.config.model_type == "t5" else 63)
    assert model.num_parameters == network.num_parameters()


@pytest.mark.parametrize("beam_size", [1, 3])
def test_the_weights_are_those_of_the_pass_that_wrote_the_answer(model, network, beam_size):
    inspection = model.inspect(TEXT, InspectionOptions(beam_size, length_penalty=0.0))
    read = decoder_input(answer_ids(network, beam_size, **({"length_penalty": 0.0} if beam_size > 1 else {})))
    assert len(read) > 3
    assert inspection.answer == UNIGRAM.decode(read[1:], skip_special_tokens=True)
    outputs = oracle(network, input_ids=IDS, decoder_input_ids=read)
    assert_weights(inspection.stacks["encoder"], outputs.encoder_attentions)
    assert_weights(inspection.stacks["decoder"], outputs.decoder_attentions)
    assert_weights(inspection.stacks["cross"], outputs.cross_attentions)
    assert (inspection.stacks["decoder"].weights(0).triu(1) == 0).all()
    assert inspection.certificate < 5e-6
    assert inspection.row_sum_error < 1e-6


def test_every_axis_has_its_own_tokens(model, network):
    inspection = model.inspect(TEXT, GREEDY)
    encoder, decoder, cross = (inspection.stacks[name] for name in ("encoder", "decoder", "cross"))
    assert encoder.query_tokens == tuple(UNIGRAM.convert_ids_to_tokens(IDS))
    assert encoder.query_tokens[-1] == "</s>"
    assert encoder.key_tokens == encoder.query_tokens == cross.key_tokens
    read = decoder_input(answer_ids(network))
    assert decoder.query_tokens == decoder.key_tokens == cross.query_tokens
    assert decoder.query_tokens == tuple(UNIGRAM.convert_ids_to_tokens(read))
    assert encoder.query_special == encoder.key_special == cross.key_special == (len(IDS) - 1,)
    special = ("<pad>", "<s>", "</s>", "<mask>")
    written = tuple(place for place, token in enumerate(decoder.query_tokens) if token in special)
    assert decoder.query_special == decoder.key_special == cross.query_special == written
    assert written[0] == 0, "the start token"
    starts = [token in (".", "</s>") or token.startswith("▁") for token in encoder.query_tokens[1:]]
    assert encoder.query_words == encoder.key_words == cross.key_words == (0, *np.cumsum(starts))
    assert decoder.query_words == decoder.key_words == cross.query_words
    assert [(stack.query_label, stack.key_label) for stack in (encoder, decoder, cross)] == [
        ("text", "text"),
        ("answer", "answer"),
        ("answer", "text"),
    ]


def test_greedy_search_wrote_the_likeliest_token_of_every_row(model, network):
    inspection = model.inspect(TEXT, GREEDY)
    sequence = answer_ids(network)
    read = decoder_input(sequence)
    outputs = oracle(network, input_ids=IDS, decoder_input_ids=read)
    assert len(inspection.predictions) == len(read)
    for row, prediction in enumerate(inspection.predictions):
        assert prediction.row == row
        assert prediction.place == ("next token" if row == 0 else f"next token {row + 1}")
        assert_candidates(UNIGRAM, prediction, outputs.logits[0, row])
    written = sequence[1 : len(read) + 1]
    best = [prediction.candidates[0][0] for prediction in inspection.predictions]
    assert best[: len(written)] == UNIGRAM.convert_ids_to_tokens(written)
    assert not any("likelier" in note for note in inspection.notes)


def test_a_saved_setting_that_decides_otherwise_is_told():
    network = bart(forced_bos_token_id=2)
    network.generation_config.forced_bos_token_id = 5
    notes = inspected(network, UNIGRAM, "text-to-text").inspect(TEXT, GREEDY).notes
    assert any(note.startswith("At 1 of the ") and "finds another one likelier" in note for note in notes)


@pytest.mark.parametrize("beams", [1, 4])
@pytest.mark.parametrize(
    "saved",
    [
        {"num_beam_groups": 2, "diversity_penalty": 0.5},
        {"penalty_alpha": 0.6, "top_k": 4},
        {"dola_layers": "low"},
        {"force_words_ids": [[5]]},
        {"assistant_early_exit": 1},
    ],
)
def test_another_kind_of_search_that_is_saved_is_not_obeyed(beams, saved):
    """transformers would get some of them, which are programs, from its hub."""
    network = t5()
    expected = answer_ids(network, beams, length_penalty=InspectionOptions().length_penalty if beams > 1 else None)
    network.generation_config.update(**saved)
    answer = inspected(network, UNIGRAM, "text-to-text").inspect(TEXT, InspectionOptions(beam_size=beams)).answer
    assert answer == UNIGRAM.decode(expected, skip_special_tokens=True)


def test_saved_sampling_settings_do_not_make_answers_random():
    network = t5()
    expected = inspected(network, UNIGRAM, "text-to-text").inspect(TEXT, GREEDY).answer
    network.generation_config.update(
        do_sample=True,
        temperature=5.0,
        top_k=3,
        num_beams=4,
        return_dict_in_generate=True,
        cache_implementation="static",
    )
    model = inspected(network, UNIGRAM, "text-to-text")
    assert {model.inspect(TEXT, GREEDY).answer for _ in range(3)} == {expected}


def test_an_answer_that_ends_at_once():
    network = t5()
    network.generation_config.forced_bos_token_id = UNIGRAM.eos_token_id
    inspection = inspected(network, UNIGRAM, "text-to-text").inspect(TEXT, GREEDY)
    assert inspection.answer == ""
    assert "The answer is empty: the model ended it at once." in inspection.notes
    assert inspection.stacks["decoder"].query_tokens == ("<pad>",)
    assert inspection.stacks["decoder"].weights(0).tolist() == [[[1.0]]] * 4


def test_an_answer_that_is_cut(monkeypatch):
    """Never ended: 50 tokens more than the source, or as many as there are positions."""
    monkeypatch.undo()
    for network, longest in ((t5(), len(IDS) + 50), (bart(max_position_embeddings=24), 24)):
        network.generation_config.suppress_tokens = [UNIGRAM.eos_token_id]
        inspection = inspected(network, UNIGRAM, "text-to-text").inspect(TEXT, GREEDY)
        assert f"The answer did not end by itself; it was cut at {longest} tokens." in inspection.notes
        # The start token is read; the last one written is, where there are positions left.
        rows = longest + 1 if network.config.model_type == "t5" else 24
        assert len(inspection.stacks["decoder"].query_tokens) == rows


def test_text_over_the_limit():
    model = inspected(bart(max_position_embeddings=24), UNIGRAM, "text-to-text")
    assert model.max_tokens == 23
    fitting = "cat " * 11
    assert len(model.tokens(fitting)) <= 23
    assert len(model.inspect(fitting, GREEDY).stacks["encoder"].key_tokens) <= 24
    with pytest.raises(InputError, match=r"tokens long; this model reads at most 23\. Shorten it by .* characters"):
        model.inspect("The cat sleeps. " * 20)


def test_special_tokens_are_read_only_if_asked_for(model):
    text = "The cat</s>"
    assert "</s>" not in model.inspect(text, GREEDY).stacks["encoder"].key_tokens[:-1]
    options = InspectionOptions(beam_size=1, read_special_tokens=True)
    assert model.inspect(text, options).stacks["encoder"].key_tokens[-2:] == ("</s>", "</s>")


def test_the_length_penalty_reaches_the_search(monkeypatch):
    network = t5()
    asked = []
    generate = network.generate
    monkeypatch.setattr(network, "generate", lambda **options: asked.append(options) or generate(**options))
    model = inspected(network, UNIGRAM, "text-to-text")
    model.inspect(TEXT, InspectionOptions(3, 1.5))
    model.inspect(TEXT, InspectionOptions(1, 1.5))
    assert [(options["num_beams"], options.get("length_penalty")) for options in asked] == [(3, 1.5), (1, None)]


def test_the_languages_of_a_model_that_knows_several():
    pieces = [(token, 0.0) for token in ("<s>", "<pad>", "</s>", "<unk>")]
    pieces += [(token, -float(number)) for number, token in enumerate(UNIGRAM.get_vocab()) if not token.startswith("<")]
    tokenizer = transformers.MBartTokenizer(vocab=pieces, src_lang="en_XX", tgt_lang="de_DE")
    ids = {"pad_token_id": 1, "eos_token_id": 2, "bos_token_id": 0, "decoder_start_token_id": 2}
    config = bart_config(**ids).to_dict() | {"vocab_size": len(tokenizer)}
    network = random_model(transformers.MBartForConditionalGeneration, transformers.MBartConfig(**config))
    (note,) = inspected(network, tokenizer, "text-to-text").notes
    assert note.startswith("It knows several languages and takes every text for en_XX. Which one to write is not saved")
    network.generation_config.forced_bos_token_id = tokenizer.convert_tokens_to_ids("de_DE")
    model = inspected(network, tokenizer, "text-to-text")
    assert model.notes[0].endswith("It writes de_DE, as saved with it.")
    inspection = model.inspect("The cat", GREEDY)
    assert inspection.stacks["encoder"].query_tokens[-1] == "en_XX"
    assert inspection.stacks["decoder"].query_tokens[1] == "de_DE"


def test_written_ids_that_the_tokenizer_lacks(tiny_checkpoints):
    """Slow tokenizers raise on them. They are shown by their number, and no part of the answer."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_checkpoints["marian"])
    config = transformers.AutoConfig.from_pretrained(tiny_checkpoints["marian"])
    spare = len(tokenizer) + 4
    config.vocab_size = config.decoder_vocab_size = spare + 1
    network = random_model(transformers.MarianMTModel, config)
    network.final_logits_bias[0, spare] = 1e4
    inspection = inspected(network, tokenizer, "text-to-text").inspect(TEXT, GREEDY)
    assert inspection.answer == ""
    assert inspection.stacks["decoder"].query_tokens[1] == f"[#{spare}]"
    assert inspection.predictions[0].candidates[0] == (f"[#{spare}]", 1.0)
