"""Tools: the agents' door. Every question and every verb as JSON in and JSON out, bounded, derived from the kinds."""
