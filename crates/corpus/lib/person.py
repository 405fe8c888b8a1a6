"""The person who answers what Loop asks. Only scripts that run on the host import it."""

import json
import subprocess
import time

from probe import facts


def told(*words):
    """Says something to Loop, from a shell of the person's own."""
    line = [facts["LOOP"], *words]
    return subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, check=False)


def asks():
    """What waits now, the oldest first."""
    return json.loads(told("approvals", "--json").stdout)


def wait_until(what, condition, seconds=15):
    """The first true value of condition."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError(f"{what} did not come")


def the_ask():
    """The ask that will wait in a moment."""
    return wait_until("an ask", asks)[0]


def start(*command, **options):
    """Starts a command under the case's profile."""
    profile = f"{facts['ROOT']}/profile.toml"
    line = [facts["LOOP"], "exec", "--profile", profile, "--", *command]
    return subprocess.Popen(line, **options)
