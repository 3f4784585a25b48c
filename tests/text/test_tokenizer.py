import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer_core.text import Tokenizer

SENTENCES = [
    "The cat saw the cat.",
    "Die Katze sah die Katze.",
    "The animal didn't cross the street because it was too tired.",
    "Das Tier überquerte die Straße nicht, weil es zu müde war.",
] * 3


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(SENTENCES, vocab_size=420)


def test_special_tokens_have_their_ids(tokenizer):
    ids = [tokenizer.pad_id, tokenizer.unk_id, tokenizer.bos_id, tokenizer.eos_id]
    assert ids == [0, 1, 2, 3]
    assert tokenizer.pieces(ids) == ["<pad>", "<unk>", "<s>", "</s>"]
    assert tokenizer.decode([tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id]) == ""


@pytest.mark.parametrize("sentence", SENTENCES[:4])
def test_text_survives(tokenizer, sentence):
    ids = tokenizer.encode(sentence)
    assert tokenizer.decode(ids) == sentence
    assert "".join(tokenizer.pieces(ids)).replace("▁", " ").strip() == sentence


def test_frequent_words_are_one_token_and_repeated_words_the_same(tokenizer):
    pieces = tokenizer.pieces(tokenizer.encode("The cat saw the cat."))
    assert pieces == ["▁The", "▁cat", "▁saw", "▁the", "▁cat", "."]


@pytest.mark.parametrize("typed", ["</s>", "<s>", "<pad>", "<unk>", "a </s> b"])
def test_a_typed_special_token_is_text(tokenizer, typed):
    ids = tokenizer.encode(typed)
    assert not {tokenizer.pad_id, tokenizer.unk_id, tokenizer.bos_id, tokenizer.eos_id} & set(ids)
    assert tokenizer.decode(ids) == typed


@given(st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S")), max_size=30))
def test_no_character_is_unknown(tokenizer, text):
    assert tokenizer.unk_id not in tokenizer.encode(text)


@pytest.mark.parametrize("text", ["🙂", "猫", "שלום", "नमस्ते"])
def test_unknown_characters_become_their_bytes(tokenizer, text):
    ids = tokenizer.encode(text)
    assert tokenizer.pieces(ids)[1:] == [f"<0x{byte:02X}>" for byte in text.encode()]
    assert tokenizer.decode(ids) == text


@pytest.mark.parametrize("text", ["", "   ", "\n\t"])
def test_blank_text_has_no_tokens(tokenizer, text):
    assert tokenizer.encode(text) == []


def test_a_lone_surrogate_becomes_a_question_mark(tokenizer):
    assert tokenizer.decode(tokenizer.encode("a \ud83d b")) == "a ? b"


def test_a_file_survives(tokenizer, tmp_path):
    tokenizer.save(tmp_path / "tokenizer.model")
    loaded = Tokenizer.load(tmp_path / "tokenizer.model")
    assert loaded.vocab_size == tokenizer.vocab_size
    assert loaded.encode(SENTENCES[2]) == tokenizer.encode(SENTENCES[2])


def test_a_damaged_file_is_named(tmp_path):
    (tmp_path / "tokenizer.model").write_bytes(b"not a model")
    with pytest.raises(ValueError, match=r"tokenizer\.model: this is not a SentencePiece model"):
        Tokenizer.load(tmp_path / "tokenizer.model")


def test_a_vocabulary_too_small_for_the_characters_is_refused():
    with pytest.raises(ValueError, match=r"cannot learn 20 pieces from this text: it needs at least \d+$"):
        Tokenizer.train(SENTENCES, vocab_size=20)


def test_words_that_stand_in_long_sentences_only_are_learned():
    # SentencePiece leaves out what has more than 4,192 bytes, and says nothing.
    long = "walnut " * 2000
    tokenizer = Tokenizer.train(["zu zo\n"] * 5 + [long], vocab_size=300, keep_lines=True)
    assert tokenizer.pieces(tokenizer.encode(" walnut walnut")) == ["▁walnut"] * 2
    without_blanks = Tokenizer.train(["walnut" * 20_000], vocab_size=300)
    assert "walnut" in "".join(without_blanks.pieces(range(without_blanks.vocab_size)))


def test_text_keeps_its_layout_where_that_is_asked_for():
    tokenizer = Tokenizer.train(["Speak, speak.\n", "\n", "  First Citizen:\n"] * 5, vocab_size=300, keep_lines=True)
    for text in ("  a\n\n\nSpeak,  speak. ", "\n", "\t\r\n\ufb01 \u200b <mask> </s>", ""):
        assert tokenizer.decode(tokenizer.encode(text)) == text
    (end,) = tokenizer.encode("\n")
    ids = tokenizer.encode("Speak\n\nspeak.\n")
    assert ids.count(end) == 3, "a line end is a piece of its own"
    assert tokenizer.encode("Speak\n") + tokenizer.encode("\nspeak.\n") == ids


def test_the_mask_is_a_token_that_no_text_makes():
    sentences = ["The cat sleeps.", "Die Katze schläft."] * 5
    tokenizer = Tokenizer.train(sentences, vocab_size=320, mask=True)
    assert tokenizer.pieces([tokenizer.mask_id]) == ["<mask>"]
    assert tokenizer.mask_id not in tokenizer.encode("The <mask> sleeps.")
    assert tokenizer.decode([tokenizer.mask_id]) == ""
    assert Tokenizer.train(sentences, vocab_size=320).mask_id is None
