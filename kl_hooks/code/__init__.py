"""Reads source: every tracked Python file as Symbols (what is defined) and Links (what hangs on what).

Nothing of the code looked at is imported or run. `scan` reads one file: `walk` passes over its tree once, `digests`
and `symbols` say what it defines, `uses` and `scopes` what its names stand for as far as one file can tell.
`modules` names the files, `facts` remembers by blob id what was read, `resolve` follows names from file to file,
`linking` makes links of them, and `catch_up` brings graph and index up to the work tree, `affected` telling whose
names now lead elsewhere. `asking` answers questions; `precise` holds the scanner against two others; `rewriting`
changes imports.
"""
