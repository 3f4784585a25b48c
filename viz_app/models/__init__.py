"""Parts of the Models page."""
