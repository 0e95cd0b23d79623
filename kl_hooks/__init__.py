"""kl: a knowledge layer for coding agents and the people who work with them.

Its packages have one order of imports (`.kl/architecture.yaml`); `docs/architecture.md` describes
each.
"""

__version__ = "0.2.0"
"""Read from here, also by the build: importlib.metadata takes longer to import than `kl --version`
to run.
"""
