"""Log files of jobs: where they are, how fresh they are, and what their lines mean."""
