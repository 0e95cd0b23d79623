"""Questions to the code graph: each finds what is asked about, and reports how certain its answer
is.
"""
