"""Which tokens make a word, and what words attend to."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from transformer_core.inspection.words import merged, words_of_labels, words_of_spans


def grouped(labels: str, special: tuple[int, ...] = ()) -> str:
    """The labels, parted by blanks, with a bar between words."""
    tokens = labels.split(" ")
    words = words_of_labels(tokens, [place in special for place in range(len(tokens))])
    assert len(words) == len(tokens)
    groups = [
        " ".join(token for token, number in zip(tokens, words, strict=True) if number == word)
        for word in range(words[-1] + 1)
    ]
    return " | ".join(groups)


@pytest.mark.parametrize(
    "expected",
    [
        "▁The | ▁cat | .",
        "▁un aff able | ▁at tention",
        # Apostrophes, full stops and commas within a word or a number part nothing; other punctuation does.
        "▁Don ' t | ▁stop | , | ▁it 's | ▁3 . 14 | % | .",
        "▁1 , 000 | ▁km | / | h",
        "▁mother | - | in | - | law",
        "▁a _ b | = | 1",
        "▁“ | The | ” | ▁( | cat | )",
        # GPT-2 starts without a blank.
        "The | ▁cat 's | ▁nap",
        "The | ⏎ | cat | ⏎ | ⏎ | ⇥ | ▁sat",
        "def | : | ⏎ | ▁▁▁ | ▁return | ▁x | ⏎⏎ | y",
        # A blank alone belongs to what comes behind it; of several, the last one.
        "▁ The | ▁ <0xE6> <0x97> <0xA5> | ▁b",
        "a | ▁ | ▁ b",
        # Bytes of one character, within a word and alone, and bytes of none.
        "▁M <0xC3> <0xBC> ller",
        "a<0xC3> <0xA9> b",
        "<0xF0> <0x9F> <0x99> <0x82> | ▁c",
        "c | ▁<0xF0> | <0x9F> | ▁d",
        # Scripts: Hangul marks its words; ideographs, Hiragana and Thai do not.
        "▁한 국 어 | ▁텍 스트",
        "▁我 | 喜欢 | 你 | 。",
        "▁カ タカ ナ | と",
        "▁при вет | ▁мир",
        "▁של ום",
        "▁cafe \u0301 s",
        "▁👩 [U+200D] 🔬 | ▁!",
        # Words that share a token are one.
        "▁New▁Y ork | ▁City",
    ],
)
def test_labels_with_marked_blanks(expected):
    assert grouped(expected.replace(" | ", " ")) == expected


@pytest.mark.parametrize(
    "expected",
    [
        # WordPiece.
        "una ##ffa ##ble | attention | .",
        "don | ' | t",
        "the | cat",
        "c | ## | ##",
        "row",
        # BPE that marks ends, or what goes on.
        "the</w> | un able</w> | ,</w>",
        "un@@ able | to | be@@ fore | @@",
        # Characters.
        "c a t s | .",
        "i t ' s",
        "日 | 本",
    ],
)
def test_labels_without_marked_blanks(expected):
    assert grouped(expected.replace(" | ", " ")) == expected


def test_characters_with_blanks_among_them():
    assert grouped("T h e ▁ c a t ▁ s a t .") == "T h e | ▁ c a t | ▁ s a t | ."


def test_special_tokens_are_words_of_their_own():
    assert grouped("<s> ▁un able </s> <pad> <pad>", (0, 3, 4, 5)) == "<s> | ▁un able | </s> | <pad> | <pad>"
    assert grouped("[CLS] una ##ffa [SEP] ##ble", (0, 3)) == "[CLS] | una ##ffa | [SEP] | ##ble"
    assert grouped("a </s> b", (1,)) == "a | </s> | b"


def test_no_tokens():
    assert words_of_labels([], []) == ()
    assert words_of_spans("", []) == ()
    assert words_of_labels(["∅"], [False]) == (0,)


def test_labels_and_special_tokens_have_to_be_as_many():
    with pytest.raises(ValueError, match="zip"):
        words_of_labels(["a", "b"], [False])


def test_spans_of_a_text():
    text = "The cat doesn't  nap."
    spans = [(0, 3), (4, 7), (8, 13), (13, 14), (14, 15), (17, 18), (18, 20), (20, 21)]
    assert [text[start:end] for start, end in spans] == ["The", "cat", "doesn", "'", "t", "n", "ap", "."]
    assert words_of_spans(text, [None, *spans, None]) == (0, 1, 2, 3, 3, 3, 4, 4, 5, 6)


def test_spans_of_bytes_are_those_of_their_character():
    assert words_of_spans("a 日本", [(0, 1), (1, 2), (2, 3), (2, 3), (3, 4), (3, 4)]) == (0, 1, 1, 1, 2, 2)


LABELS = st.lists(
    st.sampled_from(
        ["▁", "##", "▁a", "b", "'", "<0xE6>", "<0x97>", "日", "[U+200D]", "⏎", "@@", "</w>", "##c", " ", ""]
    )
    | st.text(max_size=4),
    max_size=12,
)


@given(labels=LABELS, data=st.data())
def test_any_labels_have_words_numbered_in_order(labels, data):
    special = data.draw(st.lists(st.booleans(), min_size=len(labels), max_size=len(labels)))
    words = words_of_labels(labels, special)
    assert len(words) == len(labels)
    assert words[:1] in ((), (0,))
    assert set(np.diff(words)) <= {0, 1}
    assert all(words.count(word) == 1 for word, is_special in zip(words, special, strict=True) if is_special)


@st.composite
def maps(draw):
    """Attention of some heads, each row summing to 1, with words for both axes."""
    heads, queries, keys = draw(st.tuples(st.integers(1, 2), st.integers(1, 6), st.integers(1, 6)))
    positive = st.floats(0.01, 1)
    weights = draw(arrays.arrays(np.float64, (heads, queries, keys), elements=positive))
    numbers = [
        np.cumsum([0, *draw(st.lists(st.integers(0, 1), min_size=length - 1, max_size=length - 1))]).tolist()
        for length in (queries, keys)
    ]
    return weights / weights.sum(axis=-1, keepdims=True), *numbers


@given(maps())
def test_rows_sum_to_1_and_all_weight_is_there(drawn):
    weights, query_words, key_words = drawn
    words = merged(weights, query_words, key_words)
    assert words.shape == (len(weights), query_words[-1] + 1, key_words[-1] + 1)
    np.testing.assert_allclose(words.sum(axis=-1), 1, rtol=1e-12)
    lengths = np.array([query_words.count(word) for word in range(query_words[-1] + 1)])
    np.testing.assert_allclose((words * lengths[:, None]).sum(), weights.sum(), rtol=1e-12)


@given(maps())
def test_attention_to_a_word_is_summed_and_from_a_word_averaged(drawn):
    weights, query_words, key_words = drawn
    words = merged(weights, query_words, key_words)
    for head in range(len(weights)):
        for of in set(query_words):
            for to in set(key_words):
                rows = [row for row, word in enumerate(query_words) if word == of]
                columns = [column for column, word in enumerate(key_words) if word == to]
                cells = [weights[head, row, column] for row in rows for column in columns]
                assert words[head, of, to] == pytest.approx(sum(cells) / len(rows), rel=1e-12)


@given(maps())
def test_words_of_one_token_change_nothing(drawn):
    weights, *_ = drawn
    _, queries, keys = weights.shape
    np.testing.assert_array_equal(merged(weights, None, None), weights)
    np.testing.assert_array_equal(merged(weights, range(queries), range(keys)), weights)


def test_by_hand():
    weights = np.array([[0.2, 0.3, 0.5], [0.1, 0.6, 0.3], [0.25, 0.25, 0.5]], dtype=np.float32)
    words = merged(weights, (0, 1, 1), (0, 1, 1))
    assert words.dtype == np.float32
    np.testing.assert_allclose(words, [[0.2, 0.8], [0.175, 0.825]], rtol=1e-6)
    np.testing.assert_allclose(merged(weights, None, (0, 0, 1)), [[0.5, 0.5], [0.7, 0.3], [0.5, 0.5]], rtol=1e-6)


def test_what_is_not_a_number_stays_visible():
    weights = np.array([[0.5, 0.5, 0.0], [np.nan, np.nan, np.nan]])
    words = merged(weights, (0, 1), (0, 0, 1))
    np.testing.assert_array_equal(words, [[1.0, 0.0], [np.nan, np.nan]])
