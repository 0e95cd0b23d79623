"""Links between any two Ids: kept per file in packed blocks, asked from either end, followed as far as they lead."""
