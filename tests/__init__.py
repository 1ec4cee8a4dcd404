"""All tests; a package, so that the test bed imports as `tests.testbed`."""
