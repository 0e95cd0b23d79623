"""Full text over what we know: identifiers split into their parts, ranked by BM25."""
