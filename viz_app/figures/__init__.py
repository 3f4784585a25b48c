"""Pure functions: arrays in, Plotly figure out. Usable in a notebook. Nothing in here knows Streamlit."""
