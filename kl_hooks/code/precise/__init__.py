"""The precise scanner, by libcst and grimp in limited processes: slower, and what the fast one is
checked against.
"""
