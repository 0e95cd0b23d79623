"""Failures: approaches that did not work, how often they came back, and what keeps them from coming back again."""
