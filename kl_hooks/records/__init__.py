"""What we know: records of every kind, read from authored files and rows, validated, linked, found and changed.

Nothing here knows a single kind: all it does follows from the Kind it is given.
"""
