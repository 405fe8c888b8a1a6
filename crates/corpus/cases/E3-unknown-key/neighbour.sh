# Spelt right, the profile loads.
true
