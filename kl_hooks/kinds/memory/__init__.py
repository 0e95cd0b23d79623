"""Memory of a repository: what was learned here, mined from receipts or added, reviewed before agents see it.

`kind` is the data, `mining` stores what `receipt_mining` and `transcript_mining` find, `review` and `add` change
memories, `inject` selects those for an agent, `score` holds counters, decay and evidence.
"""
