"""How each family of models reads its input, answers it and lays its attention over the tokens."""
