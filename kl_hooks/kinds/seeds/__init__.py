"""What can be seeded: what a project's own documents say of it, and what kl brings for any project."""
