"""Links between any two Ids: kept per file, asked from either end."""
