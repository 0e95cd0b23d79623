"""Pages: authored files and the repository's own docs, and the `[[links]]` between them."""
