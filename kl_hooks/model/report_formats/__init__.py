"""Findings as other programs read them: one module for each format, with its name."""
