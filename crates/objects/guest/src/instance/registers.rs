//! What belongs to an object besides its pages: how large its memory is, and the mutable globals in their order.
//! As bytes: pages of 64 KiB (u32), then each global by its type, little endian.

use wasmtime::{Global, Store, Val, ValType};

use super::Instance;
use crate::imports::Cell;

const WASM_PAGE_BYTES: usize = 64 << 10;

impl Instance {
    pub(crate) fn registers(&mut self) -> Vec<u8> {
        let pages = u32::try_from(self.bytes().len() / WASM_PAGE_BYTES).expect("a memory has 32 bits");
        let mut bytes = pages.to_le_bytes().to_vec();
        for global in &self.globals {
            match global.get(&mut self.store) {
                Val::I32(value) => bytes.extend(value.to_le_bytes()),
                Val::I64(value) => bytes.extend(value.to_le_bytes()),
                Val::F32(value) => bytes.extend(value.to_le_bytes()),
                Val::F64(value) => bytes.extend(value.to_le_bytes()),
                Val::V128(value) => bytes.extend(value.as_u128().to_le_bytes()),
                other => unreachable!("checked: no mutable global is a reference: {other:?}"),
            }
        }
        bytes
    }

    /// Sets them; the memory does not shrink.
    pub(crate) fn set_registers(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        let pages = u32::from_le_bytes(*take(&mut rest));
        let has = (self.bytes().len() / WASM_PAGE_BYTES) as u64;
        let more = u64::from(pages).checked_sub(has).expect("a memory does not shrink");
        if more > 0 {
            let grown = self.memory.grow(&mut self.store, more);
            grown.unwrap_or_else(|error| panic!("an object's memory was as large before: {error}"));
        }
        for global in &self.globals {
            set(&mut self.store, *global, &mut rest);
        }
        assert!(rest.is_empty(), "registers are of another version");
    }
}

fn set(store: &mut Store<Cell>, global: Global, rest: &mut &[u8]) {
    let value = match global.ty(&mut *store).content() {
        ValType::I32 => Val::I32(i32::from_le_bytes(*take(rest))),
        ValType::I64 => Val::I64(i64::from_le_bytes(*take(rest))),
        ValType::F32 => Val::F32(u32::from_le_bytes(*take(rest))),
        ValType::F64 => Val::F64(u64::from_le_bytes(*take(rest))),
        ValType::V128 => Val::V128(u128::from_le_bytes(*take(rest)).into()),
        ValType::Ref(_) => unreachable!("checked: no mutable global is a reference"),
    };
    global.set(store, value).expect("it is mutable and of that type");
}

fn take<'a, const N: usize>(rest: &mut &'a [u8]) -> &'a [u8; N] {
    rest.split_off(..N).and_then(|bytes| bytes.first_chunk()).expect("registers are of another version")
}
