"""Tests against the real systems that `tests.testbed` brings up."""
