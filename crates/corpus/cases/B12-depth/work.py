"""Goes down step by step."""

import os

os.mkdir("deep")
os.chdir("deep")
for _ in range(4095):
    os.mkdir("d")
    os.chdir("d")
with open("end", "w", encoding="ascii") as file:
    file.write("here")
