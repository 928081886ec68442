//! What belongs to an object besides its pages: how large its memory is, and the mutable globals in their order.
//! As bytes: pages of 64 KiB (u32), then each global by its type, little endian.

use wasmtime::{Global, Mutability, Store, Val, ValType};

use super::Instance;
use crate::imports::Cell;

/// Bytes of a page of WebAssembly.
pub(crate) const WASM_PAGE_BYTES: usize = 64 << 10;

impl Instance {
    pub(crate) fn registers(&mut self) -> Vec<u8> {
        self.put_registers();
        self.registers.clone()
    }

    fn put_registers(&mut self) {
        let pages = u32::try_from(self.bytes().len() / WASM_PAGE_BYTES).expect("a memory has 32 bits");
        self.registers.clear();
        self.registers.extend(pages.to_le_bytes());
        for global in &self.globals {
            let is_number = put(&global.get(&mut self.store), &mut self.registers);
            assert!(is_number, "checked: no mutable global is a reference");
        }
    }

    /// The registers, if they are not these.
    pub(crate) fn registers_unless(&mut self, before: &[u8]) -> Option<Vec<u8>> {
        self.put_registers();
        (self.registers != before).then(|| self.registers.clone())
    }

    /// Types of the mutable globals, in their order.
    pub(crate) fn mutable_globals(&mut self) -> Vec<&'static str> {
        let globals = &self.globals;
        let store = &self.store;
        globals.iter().map(|global| name_of(global.ty(store).content())).collect()
    }

    /// Exported globals that never change and are numbers, in the order of their names.
    pub(crate) fn constants(&mut self) -> Vec<(String, Vec<u8>)> {
        let exports = self.instance.exports(&mut self.store);
        let globals = exports.filter_map(|export| Some((export.name().to_owned(), export.into_global()?)));
        let globals: Vec<_> = globals.collect();
        let mut constants = Vec::new();
        for (name, global) in globals {
            let mut value = Vec::new();
            if global.ty(&self.store).mutability() == Mutability::Const
                && put(&global.get(&mut self.store), &mut value)
            {
                constants.push((name, value));
            }
        }
        constants.sort();
        constants
    }

    /// Bytes that its memory may have at the most.
    pub(crate) fn bytes_max(&self) -> u64 {
        let own = self.memory.ty(&self.store).maximum();
        let own = own.map_or(u64::MAX, |pages| pages.saturating_mul(WASM_PAGE_BYTES as u64));
        own.min(self.bytes_max as u64)
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

/// Appends a number, little endian; false if it is none.
fn put(value: &Val, bytes: &mut Vec<u8>) -> bool {
    match value {
        Val::I32(value) => bytes.extend(value.to_le_bytes()),
        Val::I64(value) => bytes.extend(value.to_le_bytes()),
        Val::F32(value) => bytes.extend(value.to_le_bytes()),
        Val::F64(value) => bytes.extend(value.to_le_bytes()),
        Val::V128(value) => bytes.extend(value.as_u128().to_le_bytes()),
        _ => return false,
    }
    true
}

const fn name_of(kind: &ValType) -> &'static str {
    match kind {
        ValType::I32 => "i32",
        ValType::I64 => "i64",
        ValType::F32 => "f32",
        ValType::F64 => "f64",
        ValType::V128 => "v128",
        ValType::Ref(_) => "ref",
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
