//! Machine code of modules, compiled once: versions of one runner with different sources share it, and later processes of the
//! member find it in a file (`kept_code.rs`).

use std::collections::BTreeMap;
use std::hash::{Hash as _, Hasher};
use std::num::NonZeroUsize;
use std::sync::{Arc, Weak};

use objects_state::guest::Rejected;
use sha2::{Digest as _, Sha256};
use wasmtime::{Config, Engine, InstancePre, Linker, Module, WasmBacktraceDetails};

use crate::imports::{self, Cell};
use crate::kept_code::KeptCode;
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
    kept: Option<KeptCode>,
    /// How many modules were compiled, and not found.
    compiled: u64,
}

impl Codes {
    /// Codes that are kept in files.
    pub(crate) fn kept_in(kept: Option<KeptCode>) -> Self {
        Self { kept, ..Self::default() }
    }

    /// How many modules were compiled, and not found in a file.
    pub(crate) const fn compiled(&self) -> u64 {
        self.compiled
    }

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
        let code = Arc::new(self.linked(&key.0, Arc::new(Creator::new(bytes_max, tracking)))?);
        self.known.insert(key, Arc::downgrade(&code));
        Ok(code)
    }

    fn linked(&mut self, module: &[u8], creator: Arc<Creator>) -> Result<InstancePre<Cell>, Rejected> {
        let engine = Engine::new(&configuration(creator));
        let engine = engine.unwrap_or_else(|error| panic!("no engine on this machine: {error}"));
        let module = self.found_or_compiled(&engine, module)?;
        let mut linker = Linker::new(&engine);
        imports::link(&mut linker)
            .unwrap_or_else(|error| panic!("the functions for modules do not fit: {error}"));
        linker.instantiate_pre(&module).map_err(|error| rejected(format!("cannot be linked: {error:#}")))
    }

    fn found_or_compiled(&mut self, engine: &Engine, module: &[u8]) -> Result<Module, Rejected> {
        let name = name_of(engine, module);
        if let Some(kept) = &self.kept
            && let Some(code) = kept.load(name)
        {
            match read_back(engine, &code) {
                Ok(module) => return Ok(module),
                // Of another build that has the same name for it.
                Err(_) => kept.forget(name),
            }
        }
        self.compiled += 1;
        let module = Module::new(engine, module);
        let module = module.map_err(|error| rejected(format!("does not compile: {error:#}")))?;
        if let Some(kept) = &self.kept
            && let Ok(code) = module.serialize()
        {
            kept.keep(name, &code);
        }
        Ok(module)
    }
}

/// The name of a module's machine code: it follows from the module, the engine's version and settings, and the processor.
fn name_of(engine: &Engine, module: &[u8]) -> [u8; 32] {
    let mut digest = Digest(Sha256::new());
    engine.precompile_compatibility_hash().hash(&mut digest);
    // Behind all that the engine gave, whose length nobody knows.
    digest.0.update(Sha256::digest(module));
    digest.0.finalize().into()
}

/// Takes what is hashed.
struct Digest(Sha256);

impl Hasher for Digest {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        0
    }
}

/// Machine code that was kept.
#[expect(unsafe_code, reason = "only bytes that this member has written are read: they were authenticated")]
fn read_back(engine: &Engine, code: &[u8]) -> wasmtime::Result<Module> {
    // SAFETY: the bytes are those that `serialize` gave to this member, which only it can authenticate (`KeptCode::load`), and
    // they lie in memory that nobody else writes.
    unsafe { Module::deserialize(engine, code) }
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
