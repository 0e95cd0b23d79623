"""Upkeep: maintenance that keeps records, evidence and the state directory current and small.

Each policy looks at the state and the time and proposes changes; `run` shows them or makes them.
`health` counts which records are unused, stale, contradicted, unanchored or broken.
"""
