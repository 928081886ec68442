//! What is measured while servers work: the machine, what their processes use of it, and how many system calls they
//! make.

mod calls;
mod machine;
mod reading;

pub use calls::Calls;
pub use machine::Machine;
pub use reading::Reading;
pub use tools_process::meter::{CpuTime, cpu_time, resident_bytes, written_bytes};

/// An edge of what is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// It begins.
    Begin,
    /// It has ended.
    End,
}

/// The callback at edges, with the phase's name.
pub type Edges<'a> = dyn FnMut(Edge, &str) + 'a;
