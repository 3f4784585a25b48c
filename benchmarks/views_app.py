"""The page of the app that `benchmarks.views` opens: a button that shows a view, Headlight's or BertViz's.

Streamlit runs it: ?tokens=64&view=headlight&scripts=http://127.0.0.1:1234
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import streamlit as st  # noqa: E402

from benchmarks import bertviz_pages  # noqa: E402
from benchmarks.random_attention import inspection, maps, tokens  # noqa: E402
from transformer_core.view.payload import build  # noqa: E402
from transformer_core.view.state import opening_state  # noqa: E402
from viz_app.components.attention_view import attention_view, channel  # noqa: E402

st.set_page_config(layout="wide")
length = int(st.query_params["tokens"])
if st.button("Show"):
    if st.query_params["view"] == "bertviz":
        page = bertviz_pages.page("model_view", list(maps(length)), tokens(length), st.query_params["scripts"])
        st.iframe(page, height=800)
    else:
        payload = build(inspection(length))
        attention_view(payload, "view")
        channel(payload.meta, opening_state(payload.meta), {}, None, "view", on_state=lambda: None)
