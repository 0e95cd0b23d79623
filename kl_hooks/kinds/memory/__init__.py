"""Repository memory and agent memory: what was learned here, mined from receipts or told, reviewed before it is used.

Pure: `kind`, `thresholds`, `mine` and what it is made of, `transcript`, `utility`, `decay`, `tally`, `orders`,
`deciding`, `listing`, `choosing`, `upkeep`. On the ground: `taking_in`, `reviewing`, `telling`, `giving`, `page`.
"""
