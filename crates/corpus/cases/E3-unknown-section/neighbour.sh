# A known one loads.
true
