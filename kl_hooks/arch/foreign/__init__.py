"""Set-ups of import-linter and tach, put into the words of our manifest with the verdict that they had."""
