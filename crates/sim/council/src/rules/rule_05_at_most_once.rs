//! Rule 5. At most once: one request yields one transaction at the most, also when it is given to another leader.
//!
//! Source: Raft (Ongaro 2014), section 6.3, on clients' requests given twice; ClickHouse Keeper's replay of requests after a
//! snapshot.

use std::collections::BTreeMap;

use council_wire::{OpCode, Reader};

use crate::oracle::Transaction;
use crate::rules::{Evidence, Findings};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    let mut seen: BTreeMap<&[u8], i64> = BTreeMap::new();
    // Strangers may ask for the same twice.
    let is_known = evidence.is_known();
    let is_theirs = |done: &&Transaction| done.origin.is_none_or(|origin| is_known(origin.0));
    for transaction in evidence.oracle.transactions.iter().filter(is_theirs) {
        // Each of these carries a number of its own.
        let marked = match transaction.opcode {
            Some(OpCode::Multi) => true,
            Some(OpCode::SetData | OpCode::Create | OpCode::Create2) => is_marked(&transaction.body),
            _ => false,
        };
        if !marked || transaction.error != 0 {
            continue;
        }
        findings.judged("marked writes");
        if let Some(before) = seen.insert(&transaction.body, transaction.zxid) {
            findings.add(format!(
                "one request of session {:x} took effect at {before:x} and at {:x}",
                transaction.origin.map_or(0, |origin| origin.0),
                transaction.zxid
            ));
        }
    }
}

/// Whether it gives a node data.
fn is_marked(body: &[u8]) -> bool {
    let mut reader = Reader::new(body);
    reader.text().is_ok() && reader.buffer().is_ok_and(|data| data.is_some_and(|data| !data.is_empty()))
}
