"""Search by words over what we know: postings of the terms of source, records and pages; and past
commits.
"""
