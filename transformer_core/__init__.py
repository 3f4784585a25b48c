"""The Transformer of "Attention Is All You Need", its training, and the inspection of its attention."""

__version__ = "0.1.0"
