"""The bug is mended, with a test more in the file, and that is verified."""

from green import RUST, RUST_MEND, cargo, honest

honest(
    RUST_MEND
    + " && sed -i '$d' src/lib.rs && printf '\n    #[test]\n    fn negative() {\n        assert_eq!(add(-1, 1), 0);\n    }\n}\n' >> src/lib.rs",
    files=RUST,
    check=cargo(),
)
