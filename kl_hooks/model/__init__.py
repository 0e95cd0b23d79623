"""The nouns: frozen dataclasses and pure functions on them, standard library only.

Whoever wants to know what a word means in kl finds it here, one file per word. Nothing in this room reads a file,
asks git or knows a database.
"""
