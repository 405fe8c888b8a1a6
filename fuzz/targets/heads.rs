#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ledger::fuzz_heads(data));
