"""Questions that were answered: whether the answer is worth a record, and the record that it makes."""
