"""Hugging Face models, imported when one is opened: transformers and huggingface_hub take seconds."""
