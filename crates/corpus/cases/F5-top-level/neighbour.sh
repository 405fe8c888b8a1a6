# What belongs to one owner can be allowed.
true
