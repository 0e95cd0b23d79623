"""How others write decisions down: a reader and a writer for each format, text to plain values and back."""
