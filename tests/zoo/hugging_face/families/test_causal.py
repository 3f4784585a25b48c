"""Causal models: the prompt, its continuation, and what was expected at each token."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import transformers
from tokenizers.processors import TemplateProcessing

from tests.zoo.hugging_face.families.checkpoints_in_memory import (
    BYTE_LEVEL,
    SIZES,
    assert_candidates,
    assert_weights,
    gpt2_config,
    inspected,
    oracle,
    random_model,
)
from transformer_core.text.sampling import Sampler
from transformer_core.zoo import MAX_NEW_TOKENS, InputError, InspectionOptions

TEXT = "The cat sees the dog because it is big."
PROMPT = BYTE_LEVEL(TEXT)["input_ids"]
LLAMA = dict(vocab_size=len(BYTE_LEVEL), num_key_value_heads=2, bos_token_id=0, eos_token_id=0, **SIZES)


def gpt2(**options):
    return random_model(transformers.GPT2LMHeadModel, gpt2_config(**options), seed=2)


def llama():
    return random_model(transformers.LlamaForCausalLM, transformers.LlamaConfig(**LLAMA))


@pytest.fixture(scope="module", params=[gpt2, llama])
def network(request):
    return request.param()


@pytest.fixture(scope="module")
def model(network):
    return inspected(network, BYTE_LEVEL, "causal")


def with_template(template: str):
    tokenizer = transformers.GPT2Tokenizer(
        vocab=BYTE_LEVEL.get_vocab(),
        merges=BYTE_LEVEL._merges,
        model_max_length=64,
        additional_special_tokens=["<|user|>"],
    )
    tokenizer.chat_template = template
    return tokenizer


@torch.no_grad()
def greedily(network, new_tokens: int) -> list[int]:
    """The likeliest next token, again and again, each from a whole pass."""
    ids = list(PROMPT)
    for _ in range(new_tokens):
        ids.append(int(network(torch.tensor([ids])).logits[0, -1].argmax()))
    return ids[len(PROMPT) :]


def test_what_the_model_says_of_itself(model):
    assert [(stack.name, stack.heads) for stack in model.stacks] == [("self", (4, 4))]
    assert model.family == "causal"
    assert model.abilities == {"continue", "special tokens"}
    assert model.max_tokens == 64
    assert model.notes == ()
    assert "".join(model.tokens(TEXT)).replace("▁", " ") == TEXT


def test_without_a_continuation_the_next_token_is_predicted(model, network):
    inspection = model.inspect(TEXT)
    outputs = oracle(network, input_ids=PROMPT)
    assert_weights(inspection.stacks["self"], outputs.attentions)
    assert inspection.answer == ""
    (prediction,) = inspection.predictions
    assert (prediction.place, prediction.row) == ("next token", len(PROMPT) - 1)
    assert_candidates(BYTE_LEVEL, prediction, outputs.logits[0, -1])
    assert inspection.stacks["self"].query_tokens == model.tokens(TEXT)
    assert inspection.certificate < 2e-6
    assert inspection.row_sum_error < 1e-6
    assert inspection.notes == ()


def test_a_continuation_is_read_in_the_same_pass(model, network):
    written = greedily(network, 6)
    assert BYTE_LEVEL.eos_token_id not in written
    inspection = model.inspect(TEXT, InspectionOptions(new_tokens=6))
    assert inspection.answer == BYTE_LEVEL.decode(written)
    stack = inspection.stacks["self"]
    assert len(stack.query_tokens) == len(PROMPT) + 6
    assert stack.query_tokens == stack.key_tokens
    assert (stack.query_label, stack.key_label) == ("text", "text")
    assert stack.query_special == stack.key_special == ()
    starts = [token == "." or token.startswith("▁") for token in stack.query_tokens[: len(PROMPT)]]
    assert stack.query_words[: len(PROMPT)] == tuple(np.cumsum(starts))
    assert stack.query_words == stack.key_words
    outputs = oracle(network, input_ids=[*PROMPT, *written])
    assert_weights(stack, outputs.attentions)
    assert (stack.weights(1).triu(1) == 0).all()
    assert [prediction.place for prediction in inspection.predictions] == [
        "next token",
        *(f"next token {number}" for number in range(2, 8)),
    ]
    for row, prediction in enumerate(inspection.predictions, start=len(PROMPT) - 1):
        assert prediction.row == row
        assert_candidates(BYTE_LEVEL, prediction, outputs.logits[0, row])
    # What greedy search wrote at a row is what the recorded pass finds likeliest there.
    chosen = outputs.logits[0, len(PROMPT) - 1 :].argmax(dim=-1).tolist()
    assert chosen[:6] == written


def test_what_is_drawn_follows_the_same_rules_as_for_our_own_models(model, network):
    """The text that a sampler writes by hand, token by token, each from a whole pass."""
    options = InspectionOptions(new_tokens=8, temperature=1.4, top_k=30, top_p=0.95, seed=5)
    before = torch.random.get_rng_state()
    inspection = model.inspect(TEXT, options)
    assert torch.equal(torch.random.get_rng_state(), before), "the random numbers of others are left alone"
    sampler, ids = Sampler(1.4, 30, 0.95, seed=5), list(PROMPT)
    with torch.no_grad():
        for _ in range(8):
            ids.append(sampler.choose(network(torch.tensor([ids])).logits[0, -1]))
    assert ids[len(PROMPT) :] != greedily(network, 8)
    assert inspection.answer == BYTE_LEVEL.decode(ids[len(PROMPT) :], skip_special_tokens=True)
    assert inspection.notes == (), "nothing is said of likelier tokens where tokens are drawn"
    assert model.inspect(TEXT, replace(options, seed=6)).answer != inspection.answer
    likeliest = model.inspect(TEXT, InspectionOptions(new_tokens=8)).answer
    assert model.inspect(TEXT, replace(options, top_k=1)).answer == likeliest


def test_a_continuation_may_go_on_with_a_word():
    network = gpt2()
    with torch.no_grad():
        network.lm_head.weight.zero_()[BYTE_LEVEL.convert_tokens_to_ids("t")] = 1.0
        network.transformer.ln_f.weight.zero_()
        network.transformer.ln_f.bias.fill_(1.0)
    model = inspected(network, BYTE_LEVEL, "causal")
    alone = model.inspect("Then.see").stacks["self"]
    assert alone.query_tokens == ("The", "n", ".", "s", "ee")
    assert alone.query_words == (0, 0, 0, 0, 0), "a full stop parts no letters"
    continued = model.inspect("The th", InspectionOptions(new_tokens=2)).stacks["self"]
    assert continued.query_tokens == ("The", "▁t", "h", "t", "t")
    assert continued.query_words == (0, 1, 1, 1, 1)


def test_the_continuation_ends_where_the_model_ends_it():
    network = gpt2()
    written = greedily(network, 3)
    network.generation_config.eos_token_id = [written[2], 5]
    model = inspected(network, BYTE_LEVEL, "causal")
    inspection = model.inspect(TEXT, InspectionOptions(new_tokens=20))
    assert inspection.answer == BYTE_LEVEL.decode(written[:2])
    assert "The model ended its text after 2 tokens." in inspection.notes
    assert len(inspection.stacks["self"].query_tokens) == len(PROMPT) + 2
    assert len(inspection.predictions) == 3, "one of them for the end"
    network.generation_config.eos_token_id = written[0]
    inspection = model.inspect(TEXT, InspectionOptions(new_tokens=20))
    assert inspection.answer == ""
    assert "The model ended its text at once, so the continuation is empty." in inspection.notes
    assert len(inspection.predictions) == 1


def test_a_string_that_was_saved_as_an_end_is_one():
    network = gpt2()
    written = greedily(network, 3)
    ended = BYTE_LEVEL.decode(written[:2])
    network.generation_config.stop_strings = [ended]
    inspection = inspected(network, BYTE_LEVEL, "causal").inspect(TEXT, InspectionOptions(new_tokens=20))
    assert inspection.answer == ended
    assert "The model ended its text after 2 tokens." in inspection.notes


def test_a_continuation_that_does_not_fit_is_shortened_with_a_note(model):
    inspection = model.inspect(TEXT, InspectionOptions(new_tokens=MAX_NEW_TOKENS))
    room = 64 - len(PROMPT)
    assert len(inspection.stacks["self"].query_tokens) == 64
    assert (
        f"Only {room} of the 200 tokens asked for could be written: this model has 64 positions, and the text takes "
        "the others." in inspection.notes
    )


def test_text_over_the_limit(model):
    with pytest.raises(InputError, match=r"This text is \d+ tokens long; this model reads at most 64\. Shorten it by"):
        model.inspect(TEXT * 10)
    text = " cat" * 64
    assert len(model.tokens(text)) == 64
    inspection = model.inspect(text, InspectionOptions(new_tokens=5))
    assert len(inspection.stacks["self"].query_tokens) == 64
    assert any(note.startswith("Only 0 of the 5 tokens") for note in inspection.notes)


def test_the_begin_token_stands_where_the_tokenizer_puts_it():
    tokenizer = transformers.GPT2Tokenizer(vocab=BYTE_LEVEL.get_vocab(), merges=BYTE_LEVEL._merges)
    begin = tokenizer.bos_token
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single=f"{begin} $A", special_tokens=[(begin, tokenizer.bos_token_id)]
    )
    model = inspected(gpt2(), tokenizer, "causal")
    assert model.max_tokens == 63
    assert model.inspect(TEXT).stacks["self"].query_tokens[0] == "<|endoftext|>"
    assert model.tokens(TEXT)[0] == "The"


CHAT = "{% for message in messages %}<|user|>{{ message.content }}<|endoftext|>{% endfor %}"


def test_a_chat_template_surrounds_the_text():
    tokenizer = with_template(CHAT)
    network = gpt2(vocab_size=len(tokenizer))
    model = inspected(network, tokenizer, "causal")
    assert "chat" in model.abilities
    inspection = model.inspect("The cat", InspectionOptions(chat=True))
    assert inspection.stacks["self"].query_tokens == ("<|user|>", "The", "▁cat", "<|endoftext|>")
    assert inspection.stacks["self"].query_special == (0, 3)
    assert inspection.stacks["self"].query_words == (0, 1, 2, 3)
    ids = tokenizer.apply_chat_template([{"role": "user", "content": "The cat"}], return_dict=False)
    assert_weights(inspection.stacks["self"], oracle(network, input_ids=ids).attentions)
    assert model.inspect("The cat").stacks["self"].query_tokens == ("The", "▁cat")
    typed = model.inspect("<|user|>", InspectionOptions(chat=True)).stacks["self"].query_tokens
    assert typed.count("<|user|>") == 1, "only the template's own"
    with pytest.raises(InputError, match=r"this model reads at most 62\. Shorten it by 1 token,"):
        model.inspect(" cat" * 63, InspectionOptions(chat=True))


@pytest.mark.parametrize(
    "template", ["{{ raise_exception('no users here') }}", "{% nonsense %}", "{{ messages[7].content.x }}"]
)
def test_a_chat_template_that_fails_says_what_to_do(template):
    tokenizer = with_template(template)
    model = inspected(gpt2(vocab_size=len(tokenizer)), tokenizer, "causal")
    with pytest.raises(InputError, match=r"chat template cannot be used.*Switch the chat template off"):
        model.inspect("The cat", InspectionOptions(chat=True))
    model.inspect("The cat")


def test_special_tokens_are_read_only_if_asked_for(model):
    text = "The cat<|endoftext|>"
    assert "<|endoftext|>" not in model.inspect(text).stacks["self"].key_tokens
    inspection = model.inspect(text, InspectionOptions(read_special_tokens=True))
    assert inspection.stacks["self"].key_tokens[-1] == "<|endoftext|>"


def test_attention_sinks_are_told():
    sizes = LLAMA | {"head_dim": 8, "num_local_experts": 2, "num_experts_per_tok": 1}
    network = random_model(transformers.GptOssForCausalLM, transformers.GptOssConfig(**sizes), "eager")
    with torch.no_grad():
        for layer in network.model.layers:
            layer.self_attn.sinks.fill_(1.0)
    model = inspected(network, BYTE_LEVEL, "causal")
    assert any("sum to less than 1" in note for note in model.notes)
    inspection = model.inspect(TEXT)
    assert any("sum to less than 1" in note for note in inspection.notes)
    assert (inspection.stacks["self"].weights(0).sum(dim=-1) < 0.999).all()
    assert inspection.row_sum_error < 1e-6


def test_a_model_that_reads_ahead_predicts_nothing():
    """XLNet without a permutation mask attends to all tokens."""
    config = transformers.XLNetConfig(vocab_size=len(BYTE_LEVEL), d_model=32, n_layer=2, n_head=4, d_inner=48)
    network = random_model(transformers.XLNetLMHeadModel, config, "eager")
    model = inspected(network, BYTE_LEVEL, "causal")
    inspection = model.inspect(TEXT, InspectionOptions(new_tokens=2))
    assert inspection.predictions == ()
    assert any("lets each token read later ones too" in note for note in inspection.notes)
    assert (inspection.stacks["self"].weights(0).triu(1) > 0).any()
