"""Links between any two Ids: stored per file in packed blocks, asked from either end, followed as
far as they lead.
"""
