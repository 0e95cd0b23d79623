"""Features: what is being built and what it is not; found in a task's words by their ids."""
