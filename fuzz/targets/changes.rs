#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| workspace::fuzz_changes(data));
