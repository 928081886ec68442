//! Must be found to fail within seconds: shows that the harness bites.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    assert!(!bytes.starts_with(b"diwan"), "the canary sang");
});
