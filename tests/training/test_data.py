import gzip
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer_core.training.data import (
    DataError,
    Pair,
    fingerprint,
    read_pairs,
    read_text,
    split_pairs,
    with_all_references,
)
from transformer_core.training.tasks.digits import DigitsRecord
from transformer_core.training.tasks.language import TextRecord
from transformer_core.training.tasks.sentence_pairs import PairsRecord

GOOD = b"Hi.\tHallo!\nRun!\tLauf!\n"


def write(tmp_path, content: bytes):
    path = tmp_path / "data.tsv"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("compress", [False, True])
def test_plain_and_gzip_files_are_read(tmp_path, compress):
    path = write(tmp_path, gzip.compress(GOOD) if compress else GOOD)
    assert read_pairs(path) == ([Pair("Hi.", "Hallo!"), Pair("Run!", "Lauf!")], [])


def test_further_columns_windows_line_ends_and_repeated_pairs(tmp_path):
    path = write(tmp_path, b"Hi.\tHallo!\tCC-BY 2.0 (France)\r\nHi.\tHallo!\r\nHi.\tServus!\r\n")
    assert read_pairs(path) == ([Pair("Hi.", "Hallo!"), Pair("Hi.", "Servus!")], [])


BAD = {
    "no tab": (b"no tab here", "no tab between source and target"),
    "an empty line": (b"", "no tab"),
    "another encoding": ("Übung\tpractice".encode("latin-1"), "byte 1 is not UTF-8"),
    "an empty source": (b" \tHallo!", "the source is empty"),
    "an empty target": (b"Hi.\t", "the target is empty"),
    "10,000 words": (b"word " * 10_000 + b"\tHallo!", "the source has 10,000 words, more than 250"),
}


@pytest.mark.parametrize(("line", "problem"), BAD.values(), ids=BAD.keys())
def test_a_bad_line_is_refused_with_its_number(tmp_path, line, problem):
    path = write(tmp_path, GOOD + line + b"\n" + GOOD)
    with pytest.raises(DataError, match=problem) as error:
        read_pairs(path)
    assert f"{path}, line 3:" in str(error.value)
    assert "--bad-lines skip" in str(error.value)


@pytest.mark.parametrize(("line", "problem"), BAD.values(), ids=BAD.keys())
def test_a_bad_line_is_skipped_and_reported_where_that_is_asked_for(tmp_path, line, problem):
    path = write(tmp_path, GOOD + line + b"\n" + b"Go.\tGeh.\n")
    pairs, bad_lines = read_pairs(path, skip_bad_lines=True)
    assert [pair.source for pair in pairs] == ["Hi.", "Run!", "Go."]
    assert [bad.number for bad in bad_lines] == [3]
    assert problem in bad_lines[0].problem


def test_a_byte_order_mark_is_no_part_of_the_first_sentence(tmp_path):
    assert read_pairs(write(tmp_path, "\ufeffHi.\tHallo!\n".encode())) == ([Pair("Hi.", "Hallo!")], [])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (gzip.compress(b"", mtime=0), "is empty"),
        (gzip.compress(GOOD, mtime=0)[:-12], "damaged gzip"),
        (gzip.compress(GOOD * 50, mtime=0)[:40] + b"\0" * 40, "damaged gzip"),
    ],
)
def test_an_unusable_file_is_named(tmp_path, content, message):
    path = write(tmp_path, content)
    with pytest.raises(DataError, match=message) as error:
        read_pairs(path)
    assert str(path) in str(error.value)


def test_a_file_of_bad_lines_only_is_refused_even_when_they_are_skipped(tmp_path):
    with pytest.raises(DataError, match="no good line in 2"):
        read_pairs(write(tmp_path, b"one\ntwo\n"), skip_bad_lines=True)


@pytest.mark.parametrize("compress", [False, True])
def test_a_text_is_read_as_it_is(tmp_path, compress):
    text = "\n First:\r\n\tÄh,  so.\f\u2028\n\n"
    content = b"\xef\xbb\xbf" + text.encode()
    assert read_text(write(tmp_path, gzip.compress(content) if compress else content)) == text


def test_an_unusable_text_is_named(tmp_path):
    with pytest.raises(DataError, match="is empty"):
        read_text(write(tmp_path, b""))
    with pytest.raises(DataError, match="byte 4 is not UTF-8"):
        read_text(write(tmp_path, b"abc\xff"))
    with pytest.raises(DataError, match="there is no data file"):
        read_text(tmp_path / "nowhere.txt")


def test_a_missing_file_and_a_folder(tmp_path):
    with pytest.raises(DataError, match="there is no data file"):
        read_pairs(tmp_path / "nowhere.tsv")
    with pytest.raises(DataError, match="is a folder"):
        read_pairs(tmp_path)


# Few sentences and many pairs, so that chains of shared translations form.
PAIRS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 60)), min_size=20, max_size=60, unique=True)


@given(numbers=PAIRS, seed=st.integers(0, 5))
def test_no_sentence_stands_on_two_sides(numbers, seed):
    pairs = [Pair(f"en {a}", f"de {b}") for a, b in numbers]
    # Sentences of their own make sure that there is enough to hold out.
    pairs += [Pair(f"EN {i}", f"DE {i}") for i in range(20)]
    split = split_pairs(pairs, held_out=4, seed=seed)
    sides = [split.train, split.validation, split.test]
    assert sorted(pair for side in sides for pair in side) == sorted(pairs)
    for column in (0, 1):
        sentences = [{pair[column] for pair in side} for side in sides]
        assert sum(map(len, sentences)) == len(set.union(*sentences))


def test_the_split_has_the_size_asked_for_and_depends_on_the_seed_alone():
    pairs = [Pair(f"en {i}", f"de {i}") for i in range(1000)]
    split = split_pairs(pairs, held_out=50, seed=3)
    assert (len(split.validation), len(split.test), len(split.train)) == (50, 50, 900)
    assert split == split_pairs(pairs, held_out=50, seed=3)
    assert split.test != split_pairs(pairs, held_out=50, seed=4).test


def test_a_large_group_of_linked_sentences_is_training_data():
    linked = [Pair("Hi.", f"Hallo {i}") for i in range(500)]
    pairs = linked + [Pair(f"en {i}", f"de {i}") for i in range(200)]
    for seed in range(5):
        assert set(linked) <= set(split_pairs(pairs, held_out=20, seed=seed).train)


def test_too_few_pairs_are_refused_with_the_cure():
    with pytest.raises(ValueError, match="--held-out"):
        split_pairs([Pair(f"en {i}", f"de {i}") for i in range(25)], held_out=10, seed=0)


def test_the_record_finds_the_same_pairs_again_and_refuses_others(tmp_path):
    path = write(tmp_path, b"".join(f"en {i}\tde {i}\n".encode() for i in range(100)))
    pairs, _ = read_pairs(path)
    PairsRecord(held_out=10, seed=3, max_words=5, data_sha256=fingerprint(pairs)).save(tmp_path)
    record = PairsRecord.load(tmp_path)
    assert (record.held_out, record.seed) == (10, 3)
    path.write_bytes(path.read_bytes() + b"a line without a tab\none two three four five six\tmore\n")
    assert record.read_pairs(path) == pairs, "what the training left out is left out again"
    record.check(fingerprint(pairs), "data.tsv")
    with pytest.raises(DataError, match=r"data\.tsv does not hold what the model was trained on"):
        record.check(fingerprint([*pairs, Pair("one", "more")]), "data.tsv")


def test_a_missing_or_damaged_record_is_named(tmp_path):
    with pytest.raises(DataError, match=r"split\.json is missing"):
        PairsRecord.load(tmp_path)
    for content in ("{", '{"seed": 1}', '{"held_out": 9, "seed": 1, "max_words": "250", "data_sha256": ""}'):
        (tmp_path / "split.json").write_text(content)
        with pytest.raises(DataError, match=r"split\.json is damaged"):
            PairsRecord.load(tmp_path)


@pytest.mark.parametrize(
    ("record", "fields", "message"),
    [
        (PairsRecord, {"held_out": 0, "max_words": 250}, "held_out=0 is too small"),
        (PairsRecord, {"held_out": 9, "max_words": 0}, "max_words=0 is too small"),
        (PairsRecord, {"held_out": 9, "max_words": 250, "seed": -1}, "seed=-1 is too small"),
        # A text's beginning, which was read, would be taken for its end.
        (TextRecord, {"validation_share": 7.5}, "validation_share=7.5 is no share"),
        (TextRecord, {"validation_share": 0.0}, "validation_share=0.0 is no share"),
        (TextRecord, {"validation_share": math.nan}, "validation_share=nan is no share"),
        (DigitsRecord, {"held_out_share": 1.0}, "held_out_share=1.0 is no share"),
    ],
)
def test_a_record_of_an_impossible_split_is_refused(tmp_path, record, fields, message):
    (tmp_path / "split.json").write_text(json.dumps({"seed": 0, "data_sha256": ""} | fields))
    with pytest.raises(DataError, match=rf"split\.json is damaged: {message}"):
        record.load(tmp_path)


def test_the_fingerprint_sees_every_difference():
    pairs = [Pair("a", "b"), Pair("c", "d")]
    others = [pairs[:1], pairs[::-1], [Pair("a", "b"), Pair("c", "e")], [Pair("a", "bc"), Pair("", "d")]]
    assert len({fingerprint(other) for other in [pairs, *others]}) == 5
    assert fingerprint(list(pairs)) == fingerprint(pairs)


def test_all_references_of_a_sentence_stand_together():
    pairs = [Pair("Hi.", "Hallo!"), Pair("Run!", "Lauf!"), Pair("Hi.", "Servus!")]
    assert with_all_references(pairs) == {"Hi.": ["Hallo!", "Servus!"], "Run!": ["Lauf!"]}
