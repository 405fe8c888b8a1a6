# A pattern that is supported loads.
true
