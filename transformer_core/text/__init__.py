"""From text to token ids, through the model, and back to text."""

from transformer_core.text.generation import beam_search, greedy_search
from transformer_core.text.tokenizer import Tokenizer
from transformer_core.text.translator import Translator

__all__ = ["Tokenizer", "Translator", "beam_search", "greedy_search"]
