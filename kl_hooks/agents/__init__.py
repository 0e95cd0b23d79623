"""Coding agents: what each calls its events, files and keys, and what is registered with them in a
clone.
"""
