//! What makes machine code of modules: in this process ([`InProcess`]), or in a child process that is confined
//! ([`CompilerProcess`]), so that a module that crashes the compiler, or has it loop or eat memory, harms nobody.
//!
//! Both give the bytes that the engine serialises; `code.rs` reads these back.

mod confined;
mod machine;
mod parent;
mod process;
mod wire;

use std::fmt::Debug;

pub(crate) use machine::{CodeName, code_name, configuration, engine};
pub use parent::{CompilerLimits, CompilerProcess};
pub use process::{COMPILE_MODULE, compile_module};

/// Compiles modules that were validated and rewritten.
pub trait Compiler: Debug + Send + Sync {
    /// The machine code of a module, serialised.
    ///
    /// # Errors
    /// Why there is none, and what follows from that.
    fn compile(&self, task: &Task<'_>) -> Result<Vec<u8>, Uncompiled>;

    /// Whether it works in another process: then nothing that it does kills this one.
    fn is_apart(&self) -> bool;
}

/// A module to be compiled.
pub struct Task<'a> {
    pub(crate) name: CodeName,
    pub(crate) module: &'a [u8],
    /// Whether anybody still wants the code.
    pub(crate) is_wanted: &'a dyn Fn() -> bool,
}

/// Why there is no machine code of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Uncompiled {
    /// The compiler refuses the module, or panics over it. It always will.
    Refused(String),
    /// The compiler's process died, reached a limit, or gave no sound answer. If that is repeated, it is the module.
    Died(String),
    /// The host did not let the compiler work. That says nothing of the module.
    Hindered(String),
    /// Nobody wants the code any more.
    Unwanted,
}

/// Compiles in this process, which dies with the compiler: for tests and simulators, which have no program to start.
#[derive(Clone, Copy, Debug)]
pub struct InProcess;

impl Compiler for InProcess {
    fn compile(&self, task: &Task<'_>) -> Result<Vec<u8>, Uncompiled> {
        machine::compile(&engine(), task.module).map_err(Uncompiled::Refused)
    }

    fn is_apart(&self) -> bool {
        false
    }
}
