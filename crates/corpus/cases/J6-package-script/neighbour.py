"""The bug is mended and the version raised, and that is verified."""

from green import WEB, WEB_MEND, honest

honest(f"{WEB_MEND} && sed -i 's/1\\.0\\.0/1.0.1/' package.json", files=WEB, check="npm test")
