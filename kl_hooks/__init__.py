"""kl: a knowledge layer for coding agents and the people who work with them.

The rooms of this package stand in one order; each may import the rooms below it, never those above or beside
(`docs/onboarding.md` has the plan, `.kl/architecture.yaml` the rule).
"""
