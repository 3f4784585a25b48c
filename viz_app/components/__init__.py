"""Streamlit components of the app."""
