"""Questions to the code graph."""
