"""The one parameter of the policy that the pipeline reads itself."""

CADENCE = "default_cadence"
"""The cadence of a job of which nothing was learned yet."""
