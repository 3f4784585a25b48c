"""The parts of the Attention page."""
