"""The texts in the address: as they are, compressed if they are long, and not at all if they are too long for it."""

import base64
import unicodedata
import zlib
from collections.abc import Mapping
from urllib.parse import urlencode

import streamlit as st

from transformer_core.view.labels import clean_text
from viz_app.link import address

PACKED = {"text": "packed", "second": "packed_second"}
"""The text boxes, which are their own parameters, and the parameters of their texts if these are compressed."""

PARAMETERS = (*PACKED, *PACKED.values())

NOUNS = {"text": "text", "second": "second text"}

MAX_PLAIN = 600
"""Characters of the address for a text as it is."""

MAX_ADDRESS = 4000
"""Characters of the address for all texts: some programs cut longer links."""

MAX_BYTES = 200_000
"""Of a text that is unpacked. A short link could hold gigabytes."""

RESTORED = "texts of the link"
"""Where a session notes that its link's texts were put into the boxes."""


def texts_to_parameters(texts: Mapping[str, str], opening: str) -> tuple[dict[str, str], list[str]]:
    """The parameters for the texts, and a sentence for each text that is too long for them.

    Args:
        texts: what the boxes hold, "text" first.
        opening: what "text" holds as long as nobody writes there. "second" is empty then.
    """
    parameters: dict[str, str] = {}
    problems = []
    room = MAX_ADDRESS
    for name, text in texts.items():
        if text == (opening if name == "text" else ""):
            continue
        parameter = {name: text}
        if len(text) > MAX_PLAIN or _length(parameter) > MAX_PLAIN:
            parameter = {PACKED[name]: _packed(text)}
        if _length(parameter) > room or len(text.encode()) > MAX_BYTES:
            problems.append(f"This {NOUNS[name]} is too long for a link: the address of this page is without it.")
            continue
        room -= _length(parameter)
        parameters |= parameter
    return parameters, problems


def texts_from_parameters(parameters: Mapping[str, str], has_lines: bool = False) -> tuple[dict[str, str], list[str]]:
    """The texts of a link as a text box shows them, and a sentence for each that is not as in the link.

    Args:
        has_lines: whether the box of "text" has several lines.
    """
    texts = {}
    problems = []
    for name, packed in PACKED.items():
        found = parameters.get(name)
        if found is None and packed in parameters:
            found = _unpacked(parameters[packed])
            if found is None:
                problems.append(f"The {NOUNS[name]} in the link is damaged. Perhaps the link was cut off.")
        if found is None:
            continue
        keeps_lines = has_lines and name == "text"
        texts[name] = without_controls(clean_text(found), keeps_lines)
        if texts[name] != found:
            what = "control characters" if keeps_lines else "line breaks or control characters"
            problems.append(f"The {NOUNS[name]} in the link has {what}; here they are blanks.")
    return texts, problems


def without_controls(text: str, keeps_lines: bool = False) -> str:
    """The text with a blank for each control character, which a text box would hide from its reader.

    Args:
        keeps_lines: whether a line break is none of them.
    """
    kept = "\n" if keeps_lines else ""
    characters = text.replace("\r\n", "\n")
    return "".join(
        " " if unicodedata.category(each) in ("Cc", "Zl", "Zp") and each not in kept else each for each in characters
    )


def restore_texts(opening: str, has_lines: bool = False) -> list[str]:
    """Put the texts of the address into their boxes, which are created afterwards.

    That happens when the page opens, and when the visitor goes back or forward.

    Args:
        opening: as in `texts_to_parameters`.
        has_lines: as in `texts_from_parameters`.

    Returns:
        A sentence for each text that is not as in the address.
    """
    is_first = RESTORED not in st.session_state
    if not is_first and not address.is_history_navigation():
        return []
    st.session_state[RESTORED] = True
    texts, problems = texts_from_parameters(st.query_params, has_lines)
    for name in PACKED:
        if name in texts:
            st.session_state[name] = texts[name]
        elif not is_first:
            st.session_state[name] = opening if name == "text" else ""
    return problems


def remember_texts(texts: Mapping[str, str], opening: str) -> list[str]:
    """Write what these boxes hold into the address; a sentence for each text that is too long for it.

    Args:
        texts, opening: as in `texts_to_parameters`.
    """
    parameters, problems = texts_to_parameters(texts, opening)
    address.write([parameter for name in texts for parameter in (name, PACKED[name])], parameters)
    return problems


def forget_texts() -> None:
    """Take the texts out of the address, as where an image is looked at."""
    address.write(PARAMETERS, {})


def _length(parameter: Mapping[str, str]) -> int:
    return len(urlencode(parameter))


def _packed(text: str) -> str:
    """The text compressed, in characters that an address leaves as they are."""
    return base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")


def _unpacked(packed: str) -> str | None:
    """What was packed; None if it is damaged, or longer than anything that is packed."""
    try:
        data = base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4))
        decompressor = zlib.decompressobj()
        text = decompressor.decompress(data, MAX_BYTES).decode()
    except (zlib.error, ValueError):
        return None
    return text if decompressor.eof and not decompressor.unused_data else None
