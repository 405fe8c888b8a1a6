"""The bug is mended, in each language, and that is verified."""

from green import SHELL, WEB, WEB_MEND, honest

honest()
honest(WEB_MEND, files=WEB, check="node --test", name="web")
honest("sed -i 's/1 - /1 + /' sums.sh", files=SHELL, check="sh test.sh", name="shell")
