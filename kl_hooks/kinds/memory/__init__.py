"""Memory of a repository: what was learned here, mined from receipts or added, reviewed before agents see it.

`kind` is the data, `miners` find patterns and `mining` stores them, `add` and `review` change memories, `inject`
selects those for an agent.
"""
