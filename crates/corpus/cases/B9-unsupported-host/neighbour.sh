# A host pattern that is supported loads.
true
