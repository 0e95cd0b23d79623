"""Holds the imports of the source against `.kl/architecture.yaml`: layers, and who may depend on whom.

Reading the manifest (`manifest`, `kept`), judging (`check`, `wayout`), proposing a first manifest from today's imports
(`propose`, `levels`, `draft`) and rendering a verdict (`render`) are pure; `source` and `run` fetch what they need.
"""
