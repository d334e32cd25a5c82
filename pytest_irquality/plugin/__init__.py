"""pytest, all of it and nowhere else."""
