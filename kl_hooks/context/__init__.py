"""Context: from a task in plain words to a small, ranked, cited package that never exceeds its budget.

`signals` reads the task, `build` asks every retriever, `fuse` ranks what they found, `fit` renders as much as the
budget holds, `deliver` caches and records it. `critical` is what applies to every task.
"""
