import numpy as np

from transformer_core.training.task import NO_LABEL
from transformer_core.training.windows import window_batch, window_starts

BOS, PAD = 2, 0


def test_windows_cover_the_text_once():
    assert window_starts(10, 3) == [0, 3, 6]
    assert window_starts(10, 3, offset=1) == [1, 4, 7]
    assert window_starts(9, 3, offset=1) == [1, 4]


def test_each_token_is_the_label_of_the_one_before_it():
    batch = window_batch(np.arange(10, 18), [0, 6], 4, BOS, PAD)
    assert batch.token_ids.tolist() == [[BOS, 10, 11, 12], [BOS, 16, PAD, PAD]]
    assert batch.label_ids.tolist() == [[10, 11, 12, 13], [16, 17, NO_LABEL, NO_LABEL]]
