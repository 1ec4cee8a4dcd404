"""The parameters of the policy that the pipeline reads itself."""

CADENCE = "default_cadence"
"""The cadence of a job of which nothing was learned yet."""
ALIKE = "alike_elapsed"
"""Share by which the elapsed times of two deaths may differ that are taken for the same."""
READ = (CADENCE, ALIKE)
"""All of them: a change of one changes what is read, not only how it is judged."""
