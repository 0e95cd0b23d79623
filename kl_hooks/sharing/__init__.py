"""Evidence of others: receipts, executed symbols and events of other clones and of CI, by git notes
and files, and the keys that vouch for them.

`evidence` knows them through one port alone (`evidence.foreign`), as facts with an origin.
"""
