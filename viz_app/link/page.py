"""What the address says of a page beside its widgets and its view."""

import streamlit as st

from viz_app.link import texts
from viz_app.link.values import DRAWING, MODEL


def page_parameters() -> dict[str, str]:
    """The model and what it looks at, as far as they stand in the address."""
    found = {name: st.query_params.get(name, "") for name in (MODEL, DRAWING, *texts.PARAMETERS)}
    return {name: value for name, value in found.items() if value}
