"""Gates: what work of a type and a complexity must pass before it counts as done."""
