"""From a name or a folder to a loaded checkpoint, safely."""
