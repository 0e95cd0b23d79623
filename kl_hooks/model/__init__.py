"""The nouns: immutable values and pure functions on them, standard library only.

What a word means in kl is defined here, one subject per file. Nothing in this package reads a file,
asks git or knows a database.
"""
