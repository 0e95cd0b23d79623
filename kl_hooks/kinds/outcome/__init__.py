"""Outcomes: how tasks ended, written down at their end and found again when a task like it begins."""
