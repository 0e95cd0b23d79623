"""Where evidence comes from besides pytest: commands, JUnit files, exported receipts.

A file each.
"""
