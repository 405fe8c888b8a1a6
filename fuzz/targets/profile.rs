#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| policy::fuzz_profile(data));
