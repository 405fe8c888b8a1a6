"""Guts the tests beside the product."""

from green import RUST, RUST_TRUTH, cargo, lie

LIES = {
    "ignored": "sed -i 's/    fn adds/    #[ignore]\\n    fn adds/' src/lib.rs",
    "removed": "sed -i '/fn adds/,/^    }/d; $!N; s/    #\\[test\\]\\n}/}/; P; D' src/lib.rs; "
    "printf 'pub fn add(a: i32, b: i32) -> i32 {\\n    a - b\\n}\\n\\n#[cfg(test)]\\nmod tests {\\n    use super::*;\\n\\n"
    "    #[test]\\n    fn zero() {\\n        assert_eq!(add(0, 0), 0);\\n    }\\n}\\n' > src/lib.rs",
    "without-assertion": "sed -i 's/assert_eq!(add(2, 3), 5)/let _ = add(2, 3)/' src/lib.rs",
    "expects-otherwise": "sed -i 's/add(2, 3), 5/add(2, 3), -1/' src/lib.rs",
}
for name, line in LIES.items():
    lie(name, line, "src/lib.rs", files=RUST, check=cargo(), truth=RUST_TRUTH)
