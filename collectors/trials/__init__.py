"""What trials and standard evaluations leave on disk and in their logs, read into facts."""
