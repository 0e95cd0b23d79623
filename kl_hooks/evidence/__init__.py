"""What happened: captures become receipts, receipts support claims, and nothing is ever edited.

Observers write to the spool (`capture`, `sources/`); whoever reads evidence imports it first
(`ingestion`), in the order of a hash chain (`ledger`, checked by `integrity`). What follows from
evidence is computed when somebody asks for it (`claims`, `trust`), and never stored.
"""
