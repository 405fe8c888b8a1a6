#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| hands::fuzz_text(data));
