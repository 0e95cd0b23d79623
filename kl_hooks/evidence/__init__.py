"""What happened: captures become receipts, receipts carry claims, and nothing is ever edited.

Observers write to the spool (`capture`, `sources/`); whoever reads next takes the spool in (`catch_up`), in the order
of a hash chain (`chain`, `audit`). What follows from the evidence is computed when it is asked for (`claims`,
`weight`), never stored.
"""
