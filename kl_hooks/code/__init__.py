"""Reads source: every tracked Python file as Symbols (what is defined) and Links (what imports what).

Nothing of the code looked at is imported or run. `scan.py` reads one file, `modules.py` names the files,
`facts.py` remembers what was read by blob id, `imports.py` joins the files, and `catch_up.py` brings the
graph and the index up to the work tree.
"""
