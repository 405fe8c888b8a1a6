"""With nothing swapped, what was shown and agreed to is written, and what was not is not."""

from person import start, the_ask, told

SCRIPT = "printf 'agreed\\n' > a; mv a .envrc; printf 'refused\\n' > a; mv a .envrc; echo $?"
run = start("sh", "-c", SCRIPT)
ask = the_ask()
assert "+agreed" in ask["diff"], ask
assert told("approve", ask["id"]).returncode == 0
while (second := the_ask())["id"] == ask["id"]:
    pass
assert "-agreed\n+refused" in second["diff"], second
assert told("deny", second["id"], "--reason", "no").returncode == 0
assert run.wait(20) == 0
with open(".envrc", encoding="ascii") as file:
    assert file.read() == "agreed\n"
