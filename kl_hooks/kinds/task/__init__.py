"""Tasks: what has to be done, what each needs and gives, and the order that follows."""
