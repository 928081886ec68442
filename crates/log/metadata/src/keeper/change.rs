//! A change of one node: what is to become of it, computed from what it is.

use core::fmt;

use log_wire::ErrorCode;

/// What is to become of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It has this data from now on; it is made if it is not there.
    Write(Vec<u8>),
    /// It is deleted.
    Delete,
    /// It is as it should be.
    Keep,
    /// The change is refused, for programs and for people.
    Refuse(ErrorCode, String),
}

/// What a change is computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found<'d> {
    /// The data of the node; nothing if there is no such node.
    pub data: Option<&'d [u8]>,
    /// An earlier write of this change may have taken effect, and others may have written behind it: the change must then
    /// recognise its own effect.
    pub may_be_done: bool,
}

/// Decides what is to become of a node. Called once for each try.
pub type Compute = Box<dyn FnMut(Found<'_>) -> Decision + Send>;

/// A change. See the module.
pub struct Change {
    /// The node.
    pub path: String,
    /// What is to become of it.
    pub compute: Compute,
    /// Comes back when the change has ended.
    pub ticket: u64,
    /// If it is not known whether a write took effect, and the node has the data that was written: that may be the write of
    /// another broker, and is not taken for an effect of this change.
    pub counts: bool,
}

impl Change {
    /// The ticket of changes whose end nobody waits for.
    pub const NOBODY: u64 = 0;

    /// Of that node.
    #[must_use]
    pub fn new(
        path: String,
        ticket: u64,
        compute: impl FnMut(Found<'_>) -> Decision + Send + 'static,
    ) -> Self {
        Self { path, ticket, compute: Box::new(compute), counts: false }
    }

    /// A change that several brokers may make in the same words, and that has to take effect for each of them: one counts up.
    /// It is computed again if the end of a write is not known, and may take effect twice.
    #[must_use]
    pub fn that_counts(self) -> Self {
        Self { counts: true, ..self }
    }
}

impl fmt::Debug for Change {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Change").field("path", &self.path).field("ticket", &self.ticket).finish()
    }
}

/// How a change ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The node has this data; nothing if it is not there.
    Done(Option<Vec<u8>>),
    /// It was refused, for programs and for people.
    Refused(ErrorCode, String),
}
