#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| egress::fuzz_socks(data));
