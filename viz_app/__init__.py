"""The app: `streamlit run viz_app/main.py`."""
