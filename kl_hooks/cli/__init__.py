"""The command line: one file a command group, loaded when one of its commands is called.

Only this package knows click. A command parses, calls a function of a package below, prints what it
returned and returns the exit code. Data goes to stdout, everything else to stderr.
"""
