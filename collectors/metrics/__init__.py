"""Readers of the numbers that training jobs print."""
