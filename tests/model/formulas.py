"""Reading the formulas that stand beside numbers."""


def evaluated(formula: str, symbols: dict[str, int]) -> int:
    """What a formula says, read as arithmetic."""
    return eval(formula.replace("·", "*"), {"__builtins__": {}}, symbols)
