//! Topics that this broker leads from before its start: it leads them anew, each under the next leader epoch, before it serves
//! them. What comes behind the start is new, and has no earlier leader.

use std::collections::BTreeSet;
use std::sync::Arc;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Appointments {
    /// All topics that there were at the start were told.
    is_complete: bool,
    /// Topics whose epochs are being raised.
    under_way: BTreeSet<Arc<str>>,
}

impl Appointments {
    /// A topic was told. Gives whether this broker, if it leads partitions of it, has to be appointed anew.
    pub(crate) fn begin(&mut self, name: &Arc<str>, leads: bool) -> bool {
        !self.is_complete && leads && self.under_way.insert(Arc::clone(name))
    }

    /// Whether the topic is not to be served yet.
    pub(crate) fn is_under_way(&self, name: &str) -> bool {
        self.under_way.contains(name)
    }

    /// The epochs of a topic are raised, or the topic is gone.
    pub(crate) fn end(&mut self, name: &str) {
        self.under_way.remove(name);
    }

    /// All topics that there were at the start were told.
    pub(crate) const fn complete(&mut self) {
        self.is_complete = true;
    }

    /// Whether they were.
    pub(crate) const fn is_complete(&self) -> bool {
        self.is_complete
    }
}
