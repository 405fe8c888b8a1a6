# A known verdict loads.
true
