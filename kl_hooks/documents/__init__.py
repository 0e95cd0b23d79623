"""Documents: what a repository has beside code, and what was added to it, cut into chunks and found
by words.
"""
