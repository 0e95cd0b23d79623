"""Findings: what an agent's tools found out or changed, tied to the content it was true for; stale when that changes.

Pure: `kind`, `tools`, `call`, `extract`. With a workspace: `anchor` ties and looks again, `keep` stores.
"""
