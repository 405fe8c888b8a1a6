#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| git_guard::fuzz_push(data));
