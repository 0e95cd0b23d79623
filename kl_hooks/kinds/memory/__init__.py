"""Memory of a repository: what was learned here, mined from receipts or added, reviewed before
agents see it.

`miners` find patterns, `add` makes memories, `review` decides about them, `inject` selects those
for an agent.
"""
