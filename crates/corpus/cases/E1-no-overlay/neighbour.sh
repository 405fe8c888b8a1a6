# With everything there, the same command runs.
true
