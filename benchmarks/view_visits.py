"""What a visitor does with a view, and how long each thing takes: Headlight's, and BertViz's beside it.

Times are in ms, sizes in MB. "Painted" is when everything is in the page and two more frames have begun. Every visit
has a browser of its own, and uses real mouse and key events.
"""

import time
from collections.abc import Callable, Iterable
from statistics import median, quantiles

from benchmarks.devtools import WINDOW, Tab, open_tab
from benchmarks.random_attention import HEADS, LAYERS

MOVES = 40
"""Mouse moves or turns of the wheel of which the frames are timed."""

SECONDS = 10
"""After these, those that were made have to do."""

LOWEST = 600
"""Pixels from the top, in a window of the usual height, down to which the views show tokens and heads."""

LOW = 250
"""Height of the window in which is scrolled: every view is higher."""

CENTRE = "(element => { const b = element.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })"
DIAGONAL = f"""(element => {{
    const b = element.getBoundingClientRect();
    const places = Array.from({{ length: {MOVES} }}, (_, step) => (step + 0.5) / {MOVES});
    return places.map(share => [b.x + b.width * share, b.y + b.height * share]);
}})"""

VIEW = "stopwatch.view()"
DRAWN = "stopwatch.isDrawn()"
TOKENS = f"[...{VIEW}.querySelectorAll('.tokens.query > *')].map({CENTRE})"
THUMBNAILS = [(0, 6), (5, 4), (11, 2)]
"""Layers and heads that are opened."""

KEYS = ["m", "ArrowRight", "ArrowUp", "l", "ArrowRight", "1", "2", "o", "a", "ArrowUp"]
"""What else is pressed: matrix, next head, previous layer, lines, heads on and off, one head, all heads."""

LAST_THUMBNAIL = f"document.getElementById('attn_background_{LAYERS - 1}_{HEADS - 1}')"
BERTVIZ_HEADS = [6, 4, 2]
"""Of the first layer. A detail opens to the right, and lies over the thumbnails there."""
BERTVIZ_FRAME = "document.querySelector('iframe')?.contentWindow"

BUTTON = "document.querySelector('[data-testid=stButton] button')"
SETTLED = "document.querySelector('[data-testid=stApp][data-test-script-state=notRunning]')"
ANSWER = "document.querySelector('.headlight-answer')?.textContent"
TEXT_BOX = "document.querySelector('.st-key-text input')"

Point = tuple[float, float]
Found = dict[str, float]


def headlight_page(address: str) -> Found:
    """Headlight's view, an HTML page of its own."""
    with open_tab() as tab:
        tab.open(address)
        found = {"painted": _painted(tab, DRAWN), "memory": tab.memory() / 1e6}
        found["all lines"] = _click_on(tab, ".overview [data-value=lines]")
        _click_on(tab, ".overview [data-value=maps]")
        found |= _hover(tab, "thumbnails", tab.evaluate(f"{DIAGONAL}({VIEW}.querySelector('.overview .picture'))"))
        _press(tab, "l")
        _press(tab, "o")
        found["detail"] = median(_open_head(tab, layer, head) for layer, head in THUMBNAILS)
        found |= _hover(tab, "one head", tab.evaluate(TOKENS))
        _press(tab, "a")
        found["lines"] = median(_press(tab, "ArrowUp") for _ in range(3))
        found["lines there"] = median(_press(tab, "ArrowUp", stage="there") for _ in range(3))
        found |= _hover(tab, "12 heads", tab.evaluate(TOKENS))
        _press(tab, "m")
        found |= _hover(tab, "matrix", tab.evaluate(f"{DIAGONAL}({VIEW}.querySelector('.matrix .cells'))"))
        for key in KEYS:
            _press(tab, key)
        _click_on(tab, ".tokens.query > *")
        found["longest"] = _longest(tab)
        found["scroll"] = _scroll(tab)
        tab.evaluate(f"{VIEW}.view.setState({{ share: 1, pinnedQueries: [] }})")
        _painted(tab, DRAWN)
        found["every line"] = median(_press(tab, "ArrowDown") for _ in range(3))
    return found


def headlight_in_app(address: str) -> Found:
    """Headlight's view in a page of Streamlit."""
    with open_tab() as tab:
        return _show_in_app(tab, address, DRAWN) | {"app scroll": _scroll(tab)}


def bertviz_page(address: str) -> Found:
    """BertViz's model view, an HTML page of its own."""
    with open_tab() as tab:
        tab.open(address)
        found = {"painted": _painted(tab, LAST_THUMBNAIL), "memory": tab.memory() / 1e6}
        found["all lines"] = found["painted"]  # it draws nothing else
        tab.evaluate("void (globalThis.svg = document.querySelector('#vis svg'))")
        details = []
        for head in BERTVIZ_HEADS:
            place = tab.evaluate(f"{CENTRE}(document.getElementById('attn_background_0_{head}'))")
            tab.evaluate("void (globalThis.before = svg.lastElementChild)")
            is_there = "svg.lastElementChild !== before && svg.lastElementChild.classList.contains('detail')"
            details.append(tab.timed("pointerdown", is_there, lambda place=place: tab.click(*place)))
        found["detail"] = median(details)
        rows = tab.evaluate(f"[...svg.querySelector(':scope > g.detail').children].map({CENTRE})")
        found |= _hover(tab, "one head", rows)
        found["longest"] = _longest(tab)
        found["scroll"] = _scroll(tab)
    return found


def bertviz_head_view(address: str) -> Found:
    """BertViz's head view: all lines of all heads of one layer."""
    with open_tab() as tab:
        tab.open(address)
        _painted(tab, "document.querySelector('#vis svg')")
        # The layer is chosen in the browser's own menu, which no event of the protocol can operate.
        choose = """(async () => {
            const before = document.querySelector("#vis svg"), choice = document.querySelector("#layer");
            const start = performance.now();
            choice.value = "1";
            choice.dispatchEvent(new Event("change"));
            return await stopwatch.painted(() => document.querySelector("#vis svg") !== before) - start;
        })()"""
        found = {"lines": tab.evaluate(choose)}
        tokens = tab.evaluate(f"[...document.querySelectorAll('#left > g:last-child > g')].map({CENTRE})")
        return found | {"every line": found["lines"]} | _hover(tab, "12 heads", tokens)


def bertviz_in_app(address: str) -> Found:
    """BertViz's model view in a page of Streamlit."""
    with open_tab() as tab:
        is_there = f"{BERTVIZ_FRAME}?.{LAST_THUMBNAIL}"
        return _show_in_app(tab, address, is_there) | {"app scroll": _scroll(tab, BERTVIZ_FRAME)}


def first_screen(address: str, text: str) -> Found:
    """The app as it is: until its first answer and view, from Enter to the next ones, and what reruns send."""
    with open_tab() as tab:
        tab.open(address)
        found = {"first screen": _painted(tab, f"{ANSWER} && {DRAWN}")}
        _painted(tab, SETTLED)
        tab.evaluate(f"({TEXT_BOX}.focus(), {TEXT_BOX}.select())")
        tab.type(text)
        is_new = f"{ANSWER} && {DRAWN} && {VIEW}.view.payload.meta.text === {text!r}"
        before = _quiet(tab)
        found["Enter"] = tab.timed("keydown", is_new, lambda: tab.press("Enter"))
        found["sent"] = (_quiet(tab) - before) / 1e3
        found["step rerun"] = _sent(tab, lambda: _press(tab, "ArrowRight"))
        found["full rerun"] = _sent(tab, lambda: tab.press("r"))  # Streamlit's own key
    return found


def _show_in_app(tab: Tab, address: str, is_there: str) -> Found:
    """Press the button that shows the view."""
    tab.open(address)
    _painted(tab, f"{BUTTON} && {SETTLED}")
    place = tab.evaluate(f"{CENTRE}({BUTTON})")
    before = tab.evaluate("stopwatch.received")
    found = {"app painted": tab.timed("pointerdown", is_there, lambda: tab.click(*place))}
    return found | {"app payload": (tab.evaluate("stopwatch.received") - before) / 1e6}


def _painted(tab: Tab, condition: str) -> float:
    """Milliseconds since the page began to load."""
    return tab.evaluate(f"stopwatch.painted(() => {condition})")


def _longest(tab: Tab) -> float:
    """The longest interaction so far, from the event to the next picture."""
    _painted(tab, "true")  # the browser tells a moment later
    return tab.evaluate("stopwatch.longest")


def _open_head(tab: Tab, layer: int, head: int) -> float:
    """Click a thumbnail of Headlight's."""
    # The headings are on the left and at the top; what remains are the thumbnails.
    place = tab.evaluate(f"""(() => {{
        const picture = {VIEW}.querySelector(".overview .picture"), box = picture.getBoundingClientRect();
        const heading = 1.7 * parseFloat(getComputedStyle(picture).fontSize);
        const pitch = (box.width - heading) / {HEADS};
        return [box.right - ({HEADS} - {head} - 0.5) * pitch, box.bottom - ({LAYERS} - {layer} - 0.5) * pitch];
    }})()""")
    milliseconds = tab.timed("pointerdown", DRAWN, lambda: tab.click(*place))
    opened = tab.evaluate(f"[{VIEW}.view.state.layer, {VIEW}.view.state.head]")
    if opened != [layer, head]:
        raise OSError(f"instead of layer {layer} and head {head}, a click opened {opened}")
    return milliseconds


def _click_on(tab: Tab, selector: str) -> float:
    """Click on an element of Headlight's view."""
    place = tab.evaluate(f"{CENTRE}({VIEW}.querySelector('{selector}'))")
    return tab.timed("pointerdown", DRAWN, lambda: tab.click(*place))


def _press(tab: Tab, key: str, stage: str = "painted") -> float:
    """Press a key that changes what Headlight's view shows."""
    state = f"JSON.stringify({VIEW}.view.state)"
    tab.evaluate("document.activeElement.blur()")  # or the thumbnails, clicked before, take the arrows
    before = tab.evaluate(state)
    milliseconds = tab.timed("keydown", DRAWN, lambda: tab.press(key), stage)
    if tab.evaluate(state) == before and key not in "lmo":
        raise OSError(f"the key {key!r} changed nothing")
    return milliseconds


def _hover(tab: Tab, what: str, places: list[Point]) -> Found:
    """Go from place to place, of those in the window."""
    seen = [(x, y) for x, y in places if 0 < x < WINDOW[0] and 0 < y < LOWEST]
    steps = [seen[step % len(seen)] for step in range(MOVES)]
    frames = _frames(tab, "mousemove", (lambda place=place: tab.move(*place) for place in steps))
    return {f"hover, {what}": median(frames), f"hover, {what}, 95 %": quantiles(frames, n=20)[-1]}


def _scroll(tab: Tab, window: str = "globalThis") -> float:
    """Turn the wheel, down and down; returns the median frame."""
    tab.resize(WINDOW[0], LOW)
    tab.evaluate(f"{window}.stopwatch.painted(() => true)")
    return median(_frames(tab, "scroll", (lambda: tab.wheel(WINDOW[0] / 4, LOW / 2, 10) for _ in range(MOVES)), window))


def _frames(tab: Tab, event: str, acts: Iterable[Callable[[], None]], window: str = "globalThis") -> list[float]:
    """Lengths of the frames in which an event came, while things are done one after the other."""
    tab.evaluate(f"void (globalThis.stop = {window}.stopwatch.watch('{event}'))")
    start = time.monotonic()
    for act in acts:
        act()
        if time.monotonic() - start > SECONDS:
            break
    frames = tab.evaluate("stop()")
    if len(frames) < 2:
        raise OSError(f"no {event} reached the page")
    return frames


def _sent(tab: Tab, act: Callable[[], object]) -> float:
    """Kilobytes that the server sends for what somebody does."""
    tab.evaluate("document.activeElement.blur()")
    before = _quiet(tab)
    act()
    return (_quiet(tab) - before) / 1e3


def _quiet(tab: Tab) -> int:
    """Bytes that websockets have received, once none have come for a second."""
    received = -1
    while received != (received := tab.evaluate("stopwatch.received")):
        time.sleep(1)
    return received
