#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| models::fuzz_sse(data));
