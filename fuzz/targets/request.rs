//! Requests of any operation, whole or not: decoding ends, and reads nothing that is not there.
#![no_main]

use jute::{OpCode, Request};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((first, body)) = bytes.split_first() else { return };
    let opcode = OpCode::ALL[usize::from(*first) % OpCode::ALL.len()];
    if let Ok(Request::Multi(multi) | Request::MultiRead(multi)) = Request::decode(opcode, body) {
        assert!(multi.operations.len() <= body.len() / 9, "more operations than the bytes can hold");
    }
});
