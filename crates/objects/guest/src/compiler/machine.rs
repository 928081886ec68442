//! The engine of machine code, and its settings: all that code depends on, and that the compiler's process shares.

use std::hash::{Hash as _, Hasher};
use std::num::NonZeroUsize;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use wasmtime::{Config, Engine, WasmBacktraceDetails};

use crate::limits::FRAMES_MAX;
use crate::memory::Creator;
use crate::module::REWRITTEN_FEATURES;

/// Bytes of the machine's stack that a run may take, twice of what it counts. A thread that runs modules has more than that.
const STACK_BYTES: usize = 1 << 20;
/// Addresses of a memory: all that 32 bits reach, so that the machine checks them and not the code.
const RESERVED_BYTES: u64 = 4 << 30;

/// The name of a module's machine code: it follows from the module, the engine's version and settings, and the processor.
pub(crate) type CodeName = [u8; 32];

/// An engine that compiles, and runs nothing.
pub(crate) fn engine() -> Engine {
    let engine = Engine::new(&configuration(Arc::new(Creator::new(0))));
    engine.unwrap_or_else(|error| panic!("no engine on this machine: {error}"))
}

/// Settings of every engine. Machine code does not depend on what makes the memories of its instances.
pub(crate) fn configuration(creator: Arc<Creator>) -> Config {
    let mut config = Config::new();
    config
        .wasm_features(!REWRITTEN_FEATURES, false)
        .cranelift_nan_canonicalization(true)
        .max_wasm_stack(STACK_BYTES)
        .wasm_backtrace_details(WasmBacktraceDetails::Disable)
        .wasm_backtrace_max_frames(NonZeroUsize::new(FRAMES_MAX))
        .memory_reservation(RESERVED_BYTES)
        .memory_may_move(false)
        .with_host_memory(creator);
    config
}

/// Compiles a module.
///
/// # Errors
/// Why it cannot be compiled.
pub(super) fn compile(engine: &Engine, module: &[u8]) -> Result<Vec<u8>, String> {
    engine.precompile_module(module).map_err(|error| format!("does not compile: {error:#}"))
}

/// The name of a module's machine code.
pub(crate) fn code_name(engine: &Engine, module: &[u8]) -> CodeName {
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
