"""Context: from a task in plain words to a small, ranked, cited package that never exceeds its budget.

`signals` reads the task, `gather` asks every retriever, `fuse` makes one order of their lists, `sift` drops what should
not be shown, `fit` fills the budget, `render` writes it down. `build` is the one function that knows the workspace.
"""
