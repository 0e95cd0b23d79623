"""Context: from a task in plain words to a small, ranked, cited package that never exceeds its
budget.

`signals` reads the task, `fuse` ranks what the retrievers found, `build` asks them and fills the
budget, `deliver` caches and records the package. `critical` is what applies to every task.
"""
