"""Storage: the state directory, spools, SQLite or PostgreSQL, the cache, redaction.

How something is stored is decided here and nowhere else; *what* is stored is the `Schema` of each
package. Nothing in this package knows what a test, a symbol or a decision is.
"""
