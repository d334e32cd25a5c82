"""English about judged results, and nowhere else."""
