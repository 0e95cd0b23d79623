"""Whether an import is needed, and by what; and the rewriting that moves or drops one and touches nothing else."""
