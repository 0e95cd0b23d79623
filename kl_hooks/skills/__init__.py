"""Skills: what agents can do here, which of it a task needs, with which outcome, and which
conflicts there are.

A skill is a record of the kind `skill`: the SKILL.md that agents read themselves. Everything beyond
the file is computed from Events and receipts each time.
"""
