"""The fast scanner: one Python file in, what it defines, imports and uses out."""
