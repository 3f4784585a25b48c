"""Headlight in the browser: `streamlit run viz_app/main.py`. Navigation and nothing else."""

import gc
import re
import sys
from pathlib import Path

# Streamlit puts this file's folder on the path; the packages are imported from the folder above it.
ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import streamlit as st  # noqa: E402

from viz_app import link  # noqa: E402
from viz_app.errors import plain_errors  # noqa: E402
from viz_app.permissions import refuse_unknown_arguments  # noqa: E402

HERE = Path(__file__).parent
# Not "pages": Streamlit takes a folder of that name beside the main script for its older kind of multi-page app, and
# the first visitor of a fresh server would get a page that ran without this file.
PAGES = HERE / "app_pages"
ICON = HERE / "images" / "icon.png"


@st.cache_resource(show_spinner=False)
def leave_modules_alone() -> None:
    """Import what the first page needs, and have the garbage collector never look through it again.

    It would take a tenth of a second each time, in the middle of whatever a visitor does. Models come later and are not
    among it, so that they can go again.
    """
    import viz_app.attention.explore  # noqa: F401

    gc.collect()
    gc.freeze()


def style() -> str:
    """The style sheet without comments and line breaks, because all of it is sent with every rerun."""
    sheet = (HERE / "style.css").read_text(encoding="utf-8")
    return re.sub(r"/\*.*?\*/|\n", "", sheet, flags=re.DOTALL)


st.set_page_config(page_title="Headlight", page_icon=str(ICON), layout="wide")
st.logo(str(HERE / "images" / "headlight.svg"), size="large")
st.html(f"<style>{style()}</style>")

page = st.navigation(
    [
        st.Page(PAGES / "attention.py", title="Attention", default=True),
        st.Page(PAGES / "positions.py", title="Positions"),
        st.Page(PAGES / "training.py", title="Training"),
        st.Page(PAGES / "models.py", title="Models"),
    ],
    position="top",
)
with plain_errors():
    refuse_unknown_arguments()
    leave_modules_alone()
    link.note_link()
    page.run()
