"""Keeps things: the state directory, spools, SQLite (and one day PostgreSQL), the cache, redaction.

How something is kept is decided here and nowhere else; *what* is kept is each room's own `Schema`. Nothing in this
room knows what a test, a symbol or a decision is.
"""
