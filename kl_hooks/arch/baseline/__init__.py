"""The violations that are accepted for now: the file, what it accepts, and how it shrinks by itself."""
