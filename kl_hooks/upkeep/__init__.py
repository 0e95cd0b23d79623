"""Upkeep: what keeps everything that is known true and small. Each policy looks at the state and the time and proposes
Changes; `run` shows them or makes them. `health` counts what is unused, stale, contradicted, unanchored or broken.
"""
