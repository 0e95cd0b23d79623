"""Reads source: every tracked Python file as Symbols (what is defined) and Links (what depends on
what).

Nothing of the code that is read is imported or run. `scanner` reads one file: what it defines, uses
and imports. `file_facts` stores that by blob ID and gives it for files, under the names that
`modules` finds. `linker` follows names from file to file, makes links of them and finds the files
whose names now lead elsewhere, and `update` brings graph and index up to date. `query` answers
questions, `precise` compares the scanner with two others, `import_edits` changes imports.
"""
