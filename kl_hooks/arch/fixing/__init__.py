"""`kl arch fix`: which violating imports can go or move without anybody noticing, and how that is written."""
