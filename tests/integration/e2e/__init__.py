"""What the end-to-end tests share: the installed command, Slurm's own word, and what the standard jobs should be."""
