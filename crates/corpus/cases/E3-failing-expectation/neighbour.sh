# One whose expectations hold loads.
true
