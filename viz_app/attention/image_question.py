"""Which image the model is to look at: an example, one that is drawn, or one that is uploaded."""

from typing import Literal

import streamlit as st

from transformer_core.zoo import InputError, InspectableModel
from viz_app import link, pictures
from viz_app.attention.example_choice import offer_steps
from viz_app.attention.running import SEEN
from viz_app.components.digit_pad import digit_pad
from viz_app.drawings import picture_of
from viz_app.errors import literal
from viz_app.pictures import Picture

Source = Literal["Example", "Draw", "Upload"]

LAST_IMAGE = "last image"
"""Where a session keeps the file of the image that its visitor chose last."""

PAD = "pad"
"""Key of the pad; in the session's state, what the browser last said of it."""

PAD_SHOWS = "pad shows"
"""Where a session keeps the drawing that its pad has, and a number that grows when the pad is to take another."""

UPLOADS = "PNG, JPEG or WebP. It stays on the machine that runs Headlight, in memory, and is not part of the link."

DIGITS_CREDIT = (
    "Handwritten digits that the model did not see in training, from “Optical Recognition of Handwritten Digits” "
    "(E. Alpaydin, C. Kaynak, UCI Machine Learning Repository, 1998, CC BY 4.0), as scikit-learn ships them."
)


def ask_image(model: InspectableModel) -> Picture:
    """The image that the model is to look at."""
    link.forget_texts()
    if not link.restore_value(link.DRAWING, lambda text: picture_of(text) is not None):
        link.note_problems(["The drawing in the link is damaged. Perhaps the link was cut off."])
    if "drawing" not in model.abilities:
        link.remember_value(link.DRAWING, "")
        return ask_upload(pictures.drawn())
    source = st.segmented_control(
        "Image",
        Source.__args__,
        default="Example",
        required=True,
        key="source",
        bind="query-params",
        label_visibility="collapsed",
    )
    if source == "Example":
        picture = ask_example()
    else:
        last = st.session_state.get(SEEN) or next(iter(pictures.digits().values()))
        picture = ask_drawing(last) if source == "Draw" else ask_upload(last)
    offer_steps(st.session_state["digit"] if source == "Example" else None, list(pictures.digits()), take_digit)
    link.remember_value(link.DRAWING, st.session_state.get(link.DRAWING, "") if source == "Draw" else "")
    return picture


def ask_example() -> Picture:
    """One of the digits that come with the app."""
    digits = pictures.digits()
    digit = st.pills(
        "Digit",
        list(digits),
        default=next(iter(digits)),
        required=True,
        key="digit",
        bind="query-params",
        help=DIGITS_CREDIT,
    )
    return digits[digit]


def take_digit(digit: str) -> None:
    """Show one of the digits that come with the app."""
    st.session_state["source"], st.session_state["digit"] = "Example", digit


def ask_drawing(last: Picture) -> Picture:
    """What is drawn on the pad; the last image as long as it is empty."""
    drawing = st.session_state.get(link.DRAWING, "")
    shows = st.session_state.get(PAD_SHOWS, {"drawing": "", "serial": 0})
    # What the browser said itself it need not be told.
    serial = shows["serial"] + (shows["drawing"] != drawing)
    st.session_state[PAD_SHOWS] = {"drawing": drawing, "serial": serial}
    digit_pad(drawing, serial, PAD, on_drawing=take_drawing)
    picture = picture_of(drawing)
    if picture is None:
        st.caption(f"Draw a digit, as large as the pad. Until then the model looks at {literal(last.name)}.")
    return picture or last


def take_drawing() -> None:
    """Keep what the browser says of its pad, if that is a drawing."""
    drawing = st.session_state[PAD]["drawing"]
    drawing = drawing if isinstance(drawing, str) and picture_of(drawing) else ""
    st.session_state[link.DRAWING] = st.session_state[PAD_SHOWS]["drawing"] = drawing


def ask_upload(otherwise: Picture) -> Picture:
    """The visitor's image, or another as long as there is none. Where it cannot be read, the last one stays.

    Args:
        otherwise: what to look at without one.
    """
    file, picture, problem = st.session_state.get(LAST_IMAGE), otherwise, ""
    if file:
        try:
            picture = pictures.read(file.name, file.getvalue())
        except InputError as error:
            picture, problem = st.session_state.get(SEEN, otherwise), str(error)
    # Whether the model can read an image shows later; where it cannot, it still looks at the one before.
    looks_at = ": " if file and not problem else "; now the model looks at "
    st.file_uploader(
        f"Your image{looks_at}{literal(picture.name)}",
        # Images of every kind: of one that cannot be read it is said so, where Streamlit would only refuse its file.
        "image",
        key="image",
        on_change=take_image,
        max_upload_size=pictures.MAX_MEGABYTES,
        help=UPLOADS,
    )
    if problem:
        st.error(literal(problem))
    return picture


def take_image() -> None:
    """Keep the image that was chosen, or that there is none. The field forgets its file while another model is open."""
    st.session_state[LAST_IMAGE] = st.session_state["image"]
