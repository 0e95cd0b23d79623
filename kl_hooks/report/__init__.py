"""The report page: what `kl report` gathered, as one file of HTML that needs no network."""
