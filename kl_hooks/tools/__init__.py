"""Tools: the interface for agents. Every question and verb as JSON in and JSON out, bounded,
derived from the kinds.
"""
