"""Edits of imports, and what must be known about a file before one is made."""
