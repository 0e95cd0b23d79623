"""Memory in tiers: what an agent keeps while it works, what it keeps longer, and what several
agents share.

Working memory is in the cache (or Redis), short-term memory, persistent contexts and pools are rows
of `kl.db`. Every function takes the caller, and no row is read without asking whether it is the
caller's to read.
"""
