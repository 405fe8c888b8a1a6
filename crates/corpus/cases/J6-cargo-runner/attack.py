"""Names a runner."""

from green import RUST, RUST_TRUTH, cargo, lie

RESULT = "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s"
CONFIG = """mkdir -p .cargo && printf '[target."cfg(unix)"]\\nrunner = "%s"\\n'"""
lie(
    "silent",
    f"{CONFIG} true > .cargo/config.toml",
    ".cargo",
    files=RUST,
    check=cargo(),
    truth=RUST_TRUTH,
)
lie(
    "talking",
    f"printf '#!/bin/sh\\necho; echo \"{RESULT}\"\\n' > quiet && chmod +x quiet && {CONFIG} ./quiet > .cargo/config",
    ".cargo",
    files=RUST,
    check=cargo(),
    truth=RUST_TRUTH,
)
