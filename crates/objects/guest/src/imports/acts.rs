//! What a run wants done, within bounds.

use std::collections::BTreeSet;

use objects_state::guest::Act;

use super::broken;
use crate::limits::{ACT_BYTES_MAX, ACTS_MAX};

/// Bytes that an act counts for beside what it carries.
const ACT_BYTES: usize = 32;

#[derive(Debug, Default)]
pub(crate) struct Acts {
    list: Vec<Act>,
    bytes: usize,
    /// Tickets that this run has ended.
    ended: BTreeSet<u64>,
}

impl Acts {
    /// Takes an act.
    pub(super) fn push(&mut self, act: Act) -> wasmtime::Result<()> {
        self.bytes += ACT_BYTES + carried(&act);
        if self.list.len() >= ACTS_MAX {
            return Err(broken(format!("asked for more than {ACTS_MAX} things in one run")));
        }
        if self.bytes > ACT_BYTES_MAX {
            return Err(broken(format!("asked for things of more than {ACT_BYTES_MAX} bytes in one run")));
        }
        match act {
            Act::Wake { ticket, .. } | Act::Fail { ticket, .. } => _ = self.ended.insert(ticket),
            _ => {}
        }
        self.list.push(act);
        Ok(())
    }

    pub(super) fn has_ended(&self, ticket: u64) -> bool {
        self.ended.contains(&ticket)
    }

    pub(super) fn has_parked(&self) -> bool {
        self.list.iter().any(|act| matches!(act, Act::Park { .. }))
    }

    /// All, in order.
    pub(crate) fn take(&mut self) -> Vec<Act> {
        std::mem::take(self).list
    }
}

fn carried(act: &Act) -> usize {
    match act {
        Act::Wake { result, .. } => result.len(),
        Act::Fail { code, detail, .. } => code.len() + detail.len(),
        Act::Emit { topic, body } => topic.len() + body.len(),
        Act::Send { target, method, args } => target.len() + method.len() + args.len(),
        Act::Park { .. } | Act::SetTimer { .. } | Act::ClearTimer(_) => 0,
    }
}
