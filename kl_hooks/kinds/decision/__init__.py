"""Decisions: which answers are worth a record, what the code shows of them, and the formats of
other tools.
"""
