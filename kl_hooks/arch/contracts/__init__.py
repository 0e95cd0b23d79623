"""Contracts of import-linter in our manifest: read, judged by import-linter itself away from the checkout."""
