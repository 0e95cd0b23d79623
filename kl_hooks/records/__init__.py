"""Records of every kind: read from authored files and rows, validated, linked, searched and
changed.

No module here knows a single kind: everything follows from the Kind it is given.
"""
