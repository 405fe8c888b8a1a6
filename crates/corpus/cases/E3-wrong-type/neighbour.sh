# The right types load.
true
