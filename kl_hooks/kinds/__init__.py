"""The catalogue: every kind of knowledge that kl brings, a file or a small folder each.

Kinds do not know each other.
"""
