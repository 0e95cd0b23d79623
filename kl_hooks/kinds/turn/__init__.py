"""Turns: one round of work and review on a feature; the next round starts from what the last ones left."""
