"""Real Slurm and real sshd on loopback, for the integration tests.

`bed` brings it up and down, `slurm` and `ssh` are what tests hold, `jobs` submits work, and `packages` says what a
machine lacks.
"""
