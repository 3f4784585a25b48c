"""What an inspection says apart from its weights, as lines that a terminal and a notebook can show."""

import re

from transformer_core.inspection.inspection import Inspection, Prediction

MOST_PREDICTIONS = 10
"""Predictions that are shown: a model that writes a text makes one for each of its tokens."""

MOST_CANDIDATES = 5
"""Candidates that are shown of each."""

_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that move the cursor, end a line, turn the direction of what follows, or that nothing can print."""


def summary(inspection: Inspection) -> list[tuple[str, str]]:
    """Names and values, each in one line of plain text: model, texts, answer, predictions, notes and both checks."""
    source = inspection.provenance
    lines = [
        (
            "model",
            f"{source.model} (weights {source.weights_hash}, {source.dtype} on {source.device}, "
            f"PyTorch {source.torch_version})",
        ),
        ("text" if inspection.image is None else "image", inspection.text),
        ("second text", inspection.second_text),
        ("options", ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in inspection.options.items())),
        ("answer", inspection.answer),
        *((prediction.place, _candidates(prediction)) for prediction in inspection.predictions[:MOST_PREDICTIONS]),
        ("predictions", _others(len(inspection.predictions))),
        *(("note", note) for note in inspection.notes),
        (
            "exactness",
            "not checked, because dropout changed the output"
            if inspection.certificate is None
            else "on the checked rows of all heads, weights times values differ from what the model computed by at "
            f"most {inspection.certificate:.1e} of the largest value",
        ),
        ("row sums", f"differ from 1 by at most {inspection.row_sum_error:.1e}"),
    ]
    return [(one_line(name), one_line(value)) for name, value in lines if value]


def one_line(text: str) -> str:
    """The text with its control characters written out, such as "\\n" for the end of a line."""
    return _CONTROLS.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def _candidates(prediction: Prediction) -> str:
    shown = prediction.candidates[:MOST_CANDIDATES]
    return ", ".join(f"“{label}” {probability:.3f}" for label, probability in shown)


def _others(count: int) -> str:
    """What is said of the predictions that are not shown."""
    if count <= MOST_PREDICTIONS:
        return ""
    return f"{count - MOST_PREDICTIONS:,} more, and more candidates, in an .npz or .json file and in `predictions`"
