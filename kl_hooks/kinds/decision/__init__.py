"""Decisions: the kind, how others write theirs down, which answers are worth a record, what the code tells of them."""
