"""The opened repository: root, settings, store, cache, clock, plugin manager. Frozen, and without behaviour.

A workspace is made once, at the edge (a command, a test run), and handed to the verbs of the rooms above. Pure
functions never take it.
"""
