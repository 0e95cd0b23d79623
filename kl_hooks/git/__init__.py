"""Every question to git, one function each. Only this package starts `git`.

Nothing here writes to a repository except `hooks`, which installs git hooks when a person asks for
it.
"""
