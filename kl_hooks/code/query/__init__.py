"""Questions to the code graph: each finds what is asked about, and says how sure its answer is."""
