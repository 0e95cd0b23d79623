"""`kl arch allow`: an exception put into the manifest, every other byte untouched, with the decision behind it."""
