"""From text to token ids, and from ids to readable labels."""
