"""The report page: the data of a report as one file of HTML that needs no network."""
