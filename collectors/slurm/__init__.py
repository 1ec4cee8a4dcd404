"""Slurm: what is asked, and how its answers become facts."""
