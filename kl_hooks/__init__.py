"""kl: a knowledge layer for coding agents and the people who work with them.

Its packages have one order of imports (`.kl/architecture.yaml`); `docs/architecture.md` describes each.
"""
