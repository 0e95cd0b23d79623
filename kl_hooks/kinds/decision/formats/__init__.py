"""Formats of decisions: a reader and a writer for each, text to plain values and back."""
