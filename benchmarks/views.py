"""The linked view beside BertViz: what is sent, how soon it is there, and how long everything takes that is done in it.

Both show the same weights, 12 layers x 12 heads of random attention, as an HTML page of its own and in Streamlit.
"""

import tempfile
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import combinations, islice
from pathlib import Path
from statistics import median

import torch
from tqdm import tqdm

from benchmarks import bertviz_pages, random_attention, view_visits
from benchmarks.devtools import WINDOW, open_tab
from benchmarks.report import Comparison, Measurement, machine
from benchmarks.sentences import SENTENCES
from benchmarks.servers import files, ready_streamlit
from transformer_core.text import Tokenizer
from transformer_core.view.html_file import to_page
from transformer_core.zoo.bundled import PRETRAINED

LENGTHS = (32, 64, 128)
JUDGED = 128
"""Number of tokens for which there are goals."""

TYPED = 20
"""Tokens of the text after which somebody presses Enter."""

FRAME = 1000 / 60
JITTER = 0.5
"""Milliseconds by which a display's frame may seem longer than it is."""

NOTES = [
    "page: an HTML page of its own from a server on this machine; BertViz's three scripts are not in its size.",
    "app: in Streamlit, from the click on a button to the view; Headlight in a component, BertViz in st.iframe.",
    "painted: everything is in the page, and two more frames have begun (33 ms at least).",
    "Headlight's first picture has maps for thumbnails, BertViz's has lines: 'thumbnails as lines' compares like with "
    "like, from a click on Headlight's switch, and from the opening of BertViz's page.",
    "Headlight's are small pictures, where a line may stand for several weights.",
    "thumbnail to detail: from the press of the button until the head is painted: both as lines; Headlight those that "
    "make up 70 % of each row, BertViz all.",
    "lines of 12 heads: from a step to another layer until all lines are painted; BertViz in its head view. Drawn: "
    "without the two frames after, which is no measure of BertViz, whose lines are then yet to be rendered.",
    "hover: lengths of the frames in which the mouse moved over tokens, thumbnails or cells; scroll: in which "
    "something scrolled. A frame has 16.7 ms at least.",
    "longest interaction: of all clicks and keys, from the event to the next picture, as the browser itself measures "
    "it (Event Timing).",
    "memory: resident set of the process that renders the page, after a garbage collection.",
]


@dataclass(frozen=True)
class Goal:
    """What is wanted of ours, beside theirs."""

    words: str
    is_met: Callable[[float, float], bool]
    """Of the medians of ours and theirs."""


ONE_FRAME = Goal("one 60 Hz frame", lambda ours, _: ours <= FRAME + JITTER)

UNDER_3_KB = Goal("under 3", lambda ours, _: ours < 3)

NAMES: dict[str, tuple[str, str, Goal | None]] = {
    "payload": ("page, size", "MB", Goal("40 times smaller", lambda ours, theirs: theirs >= 40 * ours)),
    "painted": ("page, painted", "ms", Goal("10 times sooner", lambda ours, theirs: theirs >= 10 * ours)),
    "memory": ("page, memory", "MB", None),
    "app payload": ("app, sent", "MB", Goal("40 times smaller", lambda ours, theirs: theirs >= 40 * ours)),
    "app painted": ("app, painted", "ms", Goal("10 times sooner", lambda ours, theirs: theirs >= 10 * ours)),
    "all lines": ("thumbnails as lines", "ms", None),
    "detail": ("thumbnail to detail", "ms", None),
    "lines": ("lines of 12 heads", "ms", None),
    "lines there": ("lines of 12 heads, drawn", "ms", Goal("within 150", lambda ours, _: ours <= 150)),
    "every line": ("lines of 12 heads, 100 % of each row", "ms", None),
    "hover, one head": ("hover, lines of one head", "ms", ONE_FRAME),
    "hover, one head, 95 %": ("hover, lines of one head, 95th percentile", "ms", None),
    "hover, 12 heads": ("hover, lines of 12 heads", "ms", ONE_FRAME),
    "hover, 12 heads, 95 %": ("hover, lines of 12 heads, 95th percentile", "ms", None),
    "hover, matrix": ("hover, matrix", "ms", ONE_FRAME),
    "hover, matrix, 95 %": ("hover, matrix, 95th percentile", "ms", None),
    "hover, thumbnails": ("hover, thumbnails", "ms", ONE_FRAME),
    "hover, thumbnails, 95 %": ("hover, thumbnails, 95th percentile", "ms", None),
    "scroll": ("page, scroll", "ms", ONE_FRAME),
    "app scroll": ("app, scroll", "ms", ONE_FRAME),
    "longest": ("longest interaction", "ms", Goal("at most 100", lambda ours, _: ours <= 100)),
}
"""What a visit finds: its name in the table, its unit, and the goal at JUDGED tokens."""

APP_NAMES: dict[str, tuple[str, str, Goal | None]] = {
    "first screen": ("first answer and view, warm server", "ms", Goal("within 3,000", lambda ours, _: ours <= 3000)),
    "Enter": (f"Enter to the next view, {TYPED} tokens", "ms", Goal("within 500", lambda ours, _: ours <= 500)),
    "sent": (f"Enter to the next view, {TYPED} tokens, sent", "KB", None),
    "full rerun": ("rerun of the whole page that changes nothing", "KB", UNDER_3_KB),
    "step rerun": ("rerun of what belongs to the view, after a step to the next head", "KB", UNDER_3_KB),
}
"""The same for the app with the bundled model, where BertViz has no counterpart."""


def benchmark(lengths: Sequence[int], repeats: int) -> Comparison:
    """Visit the views, Headlight's and BertViz's in turn, `repeats` times at every length.

    Raises:
        OSError: BertViz, its scripts or a browser cannot be had here.
        ValueError: a length that is too short.
    """
    if min(lengths) < 8:
        raise ValueError(f"there is nothing to scroll in with {min(lengths)} tokens: at least 8")
    texts = _texts(repeats)
    found: dict[tuple[int, str], list[dict[str, float]]] = defaultdict(list)
    in_app = []
    with tempfile.TemporaryDirectory() as folder, files(Path(folder)) as pages:
        bertviz_pages.fetch_scripts(Path(folder))
        sizes = {length: _write_pages(Path(folder), pages, length) for length in lengths}
        with ready_streamlit("benchmarks/views_app.py") as app, ready_streamlit("viz_app/main.py") as headlight:
            visits = _visits(pages, app)
            for visit in visits.values():  # a server's first visitor waits for its imports
                visit(min(lengths))
            view_visits.first_screen(headlight, SENTENCES[0])
            for text in tqdm(texts, unit="round"):
                for length in lengths:
                    for contender, visit in visits.items():
                        found[length, contender].append(visit(length) | {"payload": sizes[length][contender] / 1e6})
                in_app.append(view_visits.first_screen(headlight, text))
    with open_tab() as tab:
        browser = tab.version
    measurements = [each for length in lengths for each in _compared(length, found)]
    measurements += [_measurement(APP_NAMES[name], values, []) for name, values in _columns(in_app).items()]
    return Comparison(
        title="Views: the linked view of Headlight beside BertViz",
        contenders=("Headlight", "BertViz"),
        measurements=measurements,
        conditions=machine(torch.device("cpu"))
        | {
            "browser": f"headless {browser}, {WINDOW[0]} x {WINDOW[1]}, no graphics card, a new one for every visit",
            "contenders": f"Headlight; BertViz {version('bertviz')} with d3 5.7.0; Streamlit {version('streamlit')}",
            "weights": f"{random_attention.LAYERS} layers x {random_attention.HEADS} heads, softmax over normal scores "
            f"of standard deviation {random_attention.SPREAD:g}, seed {random_attention.SEED}, the same for both",
            "rounds": str(repeats),
        },
        notes=NOTES,
    )


def _visits(pages: str, app: str) -> dict[str, Callable[[int], dict[str, float]]]:
    """What each contender's visitor does, by number of tokens."""

    def headlight(length: int) -> dict[str, float]:
        in_app = view_visits.headlight_in_app(f"{app}/?tokens={length}&view=headlight")
        return in_app | view_visits.headlight_page(f"{pages}/headlight-{length}.html")

    def bertviz(length: int) -> dict[str, float]:
        in_app = view_visits.bertviz_in_app(f"{app}/?tokens={length}&view=bertviz&scripts={pages}")
        head_view = view_visits.bertviz_head_view(f"{pages}/head_view-{length}.html")
        return in_app | head_view | view_visits.bertviz_page(f"{pages}/model_view-{length}.html")

    return {"Headlight": headlight, "BertViz": bertviz}


def _write_pages(folder: Path, address: str, length: int) -> dict[str, int]:
    """Write the pages of both contenders; returns the bytes of the one that shows all heads."""
    attention, tokens = list(random_attention.maps(length)), random_attention.tokens(length)
    pages = {
        f"headlight-{length}.html": to_page(random_attention.inspection(length)),
        f"model_view-{length}.html": bertviz_pages.page("model_view", attention, tokens, address),
        f"head_view-{length}.html": bertviz_pages.page("head_view", attention, tokens, address),
    }
    sizes = [(folder / name).write_bytes(page.encode()) for name, page in pages.items()]
    return {"Headlight": sizes[0], "BertViz": sizes[1]}


def _texts(count: int) -> list[str]:
    """Different texts of so many tokens for the bundled translator."""
    tokenizer = Tokenizer.load(PRETRAINED / "tatoeba-en-de" / "tokenizer.model")
    pairs = (f"{first} {second}" for first, second in combinations(SENTENCES, 2))
    texts = list(islice((text for text in pairs if len(tokenizer.encode(text)) == TYPED), count))
    if len(texts) < count:
        raise ValueError(f"there are texts of {TYPED} tokens for {len(texts)} rounds, not for {count}")
    return texts


def _compared(length: int, found: dict[tuple[int, str], list[dict[str, float]]]) -> list[Measurement]:
    ours, theirs = (_columns(found[length, contender]) for contender in ("Headlight", "BertViz"))
    measurements = []
    for name, (label, unit, goal) in NAMES.items():
        judged = goal if length == JUDGED else None
        named = (f"{length} tokens: {label}", unit, judged)
        measurements.append(_measurement(named, ours[name], theirs.get(name, [])))
    return measurements


def _columns(rows: list[dict[str, float]]) -> dict[str, list[float]]:
    return {name: [row[name] for row in rows] for name in rows[0]}


def _measurement(named: tuple[str, str, Goal | None], ours: list[float], theirs: list[float]) -> Measurement:
    label, unit, goal = named
    if goal is None:
        return Measurement(label, unit, ours, theirs)
    is_met = goal.is_met(median(ours), median(theirs) if theirs else 0.0)
    return Measurement(label, unit, ours, theirs, goal.words, is_met)
