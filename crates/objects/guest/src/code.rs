//! Machine code of modules, compiled once: versions of one runner with different sources share it.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Weak};

use objects_state::guest::Rejected;
use wasmtime::{Config, InstancePre, Linker, Module, WasmBacktraceDetails};

use crate::imports::{self, Cell};
use crate::limits::FRAMES_MAX;
use crate::memory::{Creator, Tracking};
use crate::module::FEATURES;
use crate::rejected::rejected;

/// Bytes of the machine's stack that a run may take, twice of what it counts. A thread that runs modules has more than that.
const STACK_BYTES: usize = 1 << 20;
/// Addresses of a memory: all that 32 bits reach, so that the machine checks them and not the code.
const RESERVED_BYTES: u64 = 4 << 30;

/// Code that versions use, by the bytes of the module as it was rewritten, and by the memory that its instances may have.
#[derive(Default)]
pub(crate) struct Codes {
    known: BTreeMap<(Vec<u8>, usize), Weak<InstancePre<Cell>>>,
}

impl Codes {
    /// The code of a module.
    ///
    /// # Errors
    /// It cannot be compiled.
    pub(crate) fn of(
        &mut self,
        module: Vec<u8>,
        bytes_max: usize,
        tracking: Tracking,
    ) -> Result<Arc<InstancePre<Cell>>, Rejected> {
        self.known.retain(|_, code| code.strong_count() > 0);
        let key = (module, bytes_max);
        if let Some(code) = self.known.get(&key).and_then(Weak::upgrade) {
            return Ok(code);
        }
        let code = Arc::new(compiled(&key.0, Arc::new(Creator::new(bytes_max, tracking)))?);
        self.known.insert(key, Arc::downgrade(&code));
        Ok(code)
    }
}

fn configuration(creator: Arc<Creator>) -> Config {
    let mut config = Config::new();
    config
        .wasm_features(!FEATURES, false)
        .cranelift_nan_canonicalization(true)
        .max_wasm_stack(STACK_BYTES)
        .wasm_backtrace_details(WasmBacktraceDetails::Disable)
        .wasm_backtrace_max_frames(NonZeroUsize::new(FRAMES_MAX))
        .memory_reservation(RESERVED_BYTES)
        .memory_may_move(false)
        .with_host_memory(creator);
    config
}

fn compiled(module: &[u8], creator: Arc<Creator>) -> Result<InstancePre<Cell>, Rejected> {
    let engine = wasmtime::Engine::new(&configuration(creator));
    let engine = engine.unwrap_or_else(|error| panic!("no engine on this machine: {error}"));
    let module = Module::new(&engine, module);
    let module = module.map_err(|error| rejected(format!("does not compile: {error:#}")))?;
    let mut linker = Linker::new(&engine);
    imports::link(&mut linker)
        .unwrap_or_else(|error| panic!("the functions for modules do not fit: {error}"));
    linker.instantiate_pre(&module).map_err(|error| rejected(format!("cannot be linked: {error:#}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn module_is_compiled_once_for_all_versions_that_use_it() {
        let module = wat::parse_str(r#"(module (memory (export "memory") 1))"#).expect("a module");
        let (mut codes, tracking) = (Codes::default(), Tracking::Compare);
        let mut code = |bytes_max| codes.of(module.clone(), bytes_max, tracking).expect("compiles");
        let (one, other, larger) = (code(1 << 16), code(1 << 16), code(1 << 20));
        assert!(Arc::ptr_eq(&one, &other) && !Arc::ptr_eq(&one, &larger));
        drop((one, other));
        assert_eq!(code(1 << 20).module().exports().len(), 1);
        assert_eq!(codes.known.len(), 1, "code that no version uses is forgotten");
        drop(larger);
    }
}
