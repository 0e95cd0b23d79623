"""Decisions that the code has taken already: read from folders, declared dependencies and patterns, and proposed."""
