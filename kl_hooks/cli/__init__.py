"""The people's door: one file a command, each a thin shell round a function of plain values.

Only this room knows click and rich. It parses, calls a verb of a room below, prints what it returned and gives the
exit code. Data goes to stdout, everything else to stderr.
"""
