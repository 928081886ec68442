//! Prefetching.
//!
//! A large tree lies in memory, far from the processor, and a command waits for its node twice: for the entry in the
//! table, then for the record. Many commands are looked up at once, step by step, and no step depends on data that is
//! still loading: so their waits overlap.

use core::hint::black_box;

use crate::arena::ROOT;
use crate::path::PathKey;
use crate::{Operation, Tree};

/// How many commands are looked up at once.
pub const REACH: usize = 16;
/// Trees with fewer nodes fit into the processor's caches.
const NODES_MIN: usize = 4096;

impl Tree {
    /// Whether it is of use to reach for what the next commands need.
    pub fn is_large(&self) -> bool {
        self.arena.len() >= NODES_MIN
    }

    /// Brings what these operations will need into the processor's caches, of [`REACH`] of them at most. Changes
    /// nothing, and nothing depends on it.
    pub fn reach<'a>(&self, operations: impl Iterator<Item = Operation<'a>>) {
        let mut keys = [self.root.key; REACH];
        for (key, operation) in keys.iter_mut().zip(operations) {
            *key = self.key_of_target(&operation).unwrap_or(self.root.key);
        }
        let mut sum = 0;
        for key in &keys {
            sum ^= self.table.home(*key).unwrap_or(0);
        }
        black_box(sum);
        let slots = keys.map(|key| self.table.find(key, |_| true).unwrap_or(ROOT));
        let mut sum = 0;
        for slot in slots {
            let node = self.arena.node(slot);
            sum ^= node.stat.czxid.0 ^ i64::from(node.checksum) ^ i64::from(node.children);
        }
        black_box(sum);
        for slot in slots {
            black_box(self.arena.node(slot).value.as_bytes().and_then(<[u8]>::first));
        }
    }

    /// All that names one node begins with its path; of anything else the wrong thing is fetched, or nothing.
    fn key_of_target(&self, operation: &Operation<'_>) -> Option<PathKey> {
        let Operation::Client { body, .. } = operation else { return None };
        let (length, rest) = body.split_first_chunk::<4>()?;
        let path = rest.get(..usize::try_from(i32::from_be_bytes(*length)).ok()?)?;
        self.key_of(core::str::from_utf8(path).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use council_wire::{Acl, OpCode, Writer};

    use super::*;
    use crate::{Changes, Command, Outcome, Stamp};

    fn operation(body: &[u8]) -> Operation<'_> {
        Operation::Client { opcode: OpCode::Create, body }
    }

    #[test]
    fn a_reach_bears_any_body_and_takes_no_more_than_it_says() {
        let mut tree = Tree::new();
        let mut body = Vec::new();
        let mut writer = Writer::new(&mut body);
        writer.text("/a").buffer(None);
        Acl::write_all(&[Acl::open()], &mut writer);
        writer.i32(0);
        let created = tree.apply(Stamp::default(), &Command::internal(operation(&body)), &mut Changes::new());
        assert!(matches!(created, Outcome::Created { .. }));
        assert_eq!(tree.key_of_target(&operation(&body)), tree.key_of("/a"));

        let digest = tree.digest();
        let absurd: [&[u8]; 5] =
            [b"", b"\0\0\0", b"\xff\xff\xff\xff/a", b"\0\0\0\x09/a", b"\0\0\0\x02\xff\xff"];
        assert!(absurd.iter().all(|body| tree.key_of_target(&operation(body)).is_none()));
        tree.reach(absurd.into_iter().chain([body.as_slice()]).map(operation));
        let mut taken = 0;
        tree.reach(core::iter::repeat_with(|| {
            taken += 1;
            Operation::RaiseEpoch
        }));
        assert_eq!((taken, tree.digest()), (REACH, digest));
    }
}
