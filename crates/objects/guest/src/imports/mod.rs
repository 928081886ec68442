//! The functions that modules import, answered from the run alone.

mod acts;
mod cell;
mod diwan;
mod guest_memory;
mod wasi;

pub(crate) use acts::Acts;
pub(crate) use cell::{Cell, Facts, Phase, Random};
use objects_state::guest::Failure;
use wasmtime::Linker;

/// Why a function of ours ends a run.
#[derive(Debug)]
pub(crate) struct Stopped(pub(crate) Failure);

impl std::fmt::Display for Stopped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl std::error::Error for Stopped {}

/// An error that ends the run as broken.
fn broken(detail: impl Into<String>) -> wasmtime::Error {
    wasmtime::Error::new(Stopped(Failure::Broken { detail: detail.into() }))
}

/// Links all functions.
pub(crate) fn link(linker: &mut Linker<Cell>) -> wasmtime::Result<()> {
    diwan::link(linker)?;
    wasi::link(linker)
}
