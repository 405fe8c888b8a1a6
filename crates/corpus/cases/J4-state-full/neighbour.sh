# With room to write, it runs.
true
