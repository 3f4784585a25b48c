import pytest

from transformer_core.text import SymbolTokenizer


def test_each_character_has_the_id_of_its_place_behind_the_special_tokens():
    tokenizer = SymbolTokenizer("abB7")
    assert (tokenizer.pad_id, tokenizer.bos_id, tokenizer.vocab_size) == (0, 1, 6)
    assert tokenizer.encode("a B 7 a b") == [2, 4, 5, 2, 3]
    assert tokenizer.encode("aB\n7\tab ") == [2, 4, 5, 2, 3]
    assert tokenizer.encode(" ") == []
    assert tokenizer.pieces([0, 1, 4]) == ["<pad>", "<s>", "B"]
    assert tokenizer.decode([1, 4, 5, 0, 0]) == "B 7"


@pytest.mark.parametrize(
    ("text", "named"), [("a z b z Y", "z Y"), ("<s>", "< s >"), ("a\u200bb", r"U\+200B"), ("é", "é"), ("a🙂", "🙂")]
)
def test_unknown_characters_are_named_once_each(text, named):
    with pytest.raises(ValueError, match=f"knows only the symbols abB7, and not: {named}$"):
        SymbolTokenizer("abB7").encode(text)


@pytest.mark.parametrize("alphabet", ["", "aba", "a b", "a\n", "a\u200b"])
def test_an_impossible_alphabet(alphabet):
    with pytest.raises(ValueError, match="has to be different characters, each of them visible"):
        SymbolTokenizer(alphabet)
