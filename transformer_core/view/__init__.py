"""An inspection drawn in a browser: the linked view that the app, a notebook and a file show."""
