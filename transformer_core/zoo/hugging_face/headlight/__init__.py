"""Headlight's own models (`transformer_core.model`) with the weights of Hugging Face's BERT, GPT-2, T5 and ViT."""
