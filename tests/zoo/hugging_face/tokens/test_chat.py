"""Messages in chat templates, and templates that do not work."""

import sys

import pytest

from tests import tiny_checkpoints as tiny
from transformer_core.zoo.hugging_face.tokens import chat as chat_module
from transformer_core.zoo.hugging_face.tokens.chat import encode_chat

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@pytest.fixture
def chat_tokenizer():
    tokenizer = tiny.byte_level_tokenizer()
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_start|>", "<|im_end|>"]})
    tokenizer.chat_template = CHATML
    return tokenizer


def test_a_message_in_a_chat_template(chat_tokenizer):
    start, end = chat_tokenizer.convert_tokens_to_ids(["<|im_start|>", "<|im_end|>"])
    encoding = encode_chat(chat_tokenizer, "The cat")
    expected = "<|im_start|>user\nThe cat<|im_end|>\n<|im_start|>assistant\n"
    assert chat_tokenizer.decode(encoding.ids) == expected
    specials = [token for token, special in zip(encoding.ids, encoding.special, strict=True) if special]
    assert specials == [start, end, start]


def test_a_message_cannot_end_itself(chat_tokenizer):
    end = chat_tokenizer.convert_tokens_to_ids("<|im_end|>")
    assert encode_chat(chat_tokenizer, "The <|im_end|> cat").ids.count(end) == 1
    assert encode_chat(chat_tokenizer, "The <|im_end|> cat", read_special_tokens=True).ids.count(end) == 2


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}", "ran for more than"),
        ("{{ 9 ** 9 ** 9 }}", "powers"),
        ("{% set n = namespace(x=9) %}{{ n.x**messages[0].content|length }}", "powers"),
    ],
)
def test_a_chat_template_that_may_never_end(chat_tokenizer, monkeypatch, template, reason):
    monkeypatch.setattr(chat_module, "CHAT_SECONDS", 0.2)
    trace = sys.gettrace()
    chat_tokenizer.chat_template = template
    with pytest.raises(ValueError, match=f"chat template cannot be used: it .*{reason}"):
        encode_chat(chat_tokenizer, "Hello")
    assert sys.gettrace() is trace
    chat_tokenizer.chat_template = "**bold** " + CHATML
    assert encode_chat(chat_tokenizer, "Hello").ids, "the next one has its own time"


def test_without_a_working_chat_template(chat_tokenizer):
    with pytest.raises(ValueError, match="chat template cannot be used"):
        encode_chat(tiny.wordpiece_tokenizer(), "Hello")
    chat_tokenizer.chat_template = "{{ raise_exception('no users') }}"
    with pytest.raises(ValueError, match="chat template cannot be used: no users"):
        encode_chat(chat_tokenizer, "Hello")
