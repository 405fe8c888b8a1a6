# A rule about a known class loads.
true
