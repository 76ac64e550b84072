"""Statistics of runs: estimates of a difference, and the test of whether there is one."""
