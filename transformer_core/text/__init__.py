"""From text to token ids, through the model, and back to text."""

from transformer_core.text.generation import beam_search, greedy_search
from transformer_core.text.symbols import SymbolTokenizer
from transformer_core.text.tokenizer import Tokenizer

__all__ = ["SymbolTokenizer", "Tokenizer", "beam_search", "greedy_search"]
