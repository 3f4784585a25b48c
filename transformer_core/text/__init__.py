"""From text to token ids, through the model, and back to text."""

from transformer_core.text.generation import beam_search, greedy_search
from transformer_core.text.tokenizer import Tokenizer
from transformer_core.text.translator import MAX_BEAM_SIZE, MAX_LENGTH_PENALTY, Translator

__all__ = ["MAX_BEAM_SIZE", "MAX_LENGTH_PENALTY", "Tokenizer", "Translator", "beam_search", "greedy_search"]
