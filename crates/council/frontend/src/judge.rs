//! Whether a client may read nodes, for all of one request: each ACL is judged once, however many of the request's
//! operations it stands before, and what that takes is told, to be charged.
//!
//! A judge is for one tree to which nothing is written meanwhile. What a request does in a later turn takes a new one.

use core::cell::Cell;

use council_tree::{NodeRef, Tree, Verdicts};
use council_wire::{ErrorCode, SessionId, permission};

use crate::asker::Asker;
use crate::cost::ENTRIES_PER_WORK;

/// Judges what one client reads.
pub(crate) struct Judge<'a> {
    pub(crate) session: SessionId,
    verdicts: Verdicts<'a>,
    /// Entries whose work was reported.
    told: Cell<u64>,
}

impl<'a> Judge<'a> {
    /// For one request; `several` when it has more than one operation.
    #[inline]
    pub(crate) fn new(asker: Asker<'a>, several: bool) -> Self {
        let verdicts = Verdicts::new(asker.identities, asker.policy, several);
        Self { session: asker.session, verdicts, told: Cell::new(0) }
    }

    #[inline]
    pub(crate) fn may(&self, node: &NodeRef<'_>, required: i32) -> Result<(), ErrorCode> {
        if node.permits_by(&self.verdicts, required) { Ok(()) } else { Err(ErrorCode::NoAuth) }
    }

    /// The node of a path, if it is there and may be read.
    #[inline]
    pub(crate) fn readable<'t>(&self, tree: &'t Tree, path: &str) -> Result<NodeRef<'t>, ErrorCode> {
        let node = tree.node(path).ok_or(ErrorCode::NoNode)?;
        self.may(&node, permission::READ)?;
        Ok(node)
    }

    /// The work that judging took since this was asked last.
    #[inline]
    pub(crate) fn new_work(&self) -> usize {
        let entries = self.verdicts.entries();
        let new = entries - self.told.replace(entries);
        usize::try_from(new).unwrap_or(usize::MAX) / ENTRIES_PER_WORK
    }
}

#[cfg(test)]
mod tests {
    use council_tree::{Changes, Command, IdentityList, Operation, Outcome, Policy, Stamp};
    use council_wire::{Acl, OpCode, Writer};

    use super::*;

    #[test]
    fn judge_of_one_request_judges_one_acl_once_and_tells_its_work_once() {
        let entry = |number| Acl { permissions: 31, scheme: "digest".into(), id: format!("u{number}:x") };
        let acl: Vec<_> = (0..800).map(entry).collect();
        let mut body = Vec::new();
        let mut writer = Writer::new(&mut body);
        writer.text("/a").buffer(None);
        Acl::write_all(&acl, &mut writer);
        writer.i32(0);
        let mut tree = Tree::new();
        let create = Operation::Client { opcode: OpCode::Create, body: &body };
        let outcome = tree.apply(
            Stamp { time: base::WallTime::of_ms(1) },
            &Command::internal(create),
            &mut Changes::new(),
        );
        assert!(!matches!(outcome, Outcome::Refused(_) | Outcome::Rejected(_)), "{outcome:?}");
        for (id, may) in [("u799:x", true), ("u800:x", false)] {
            let mut list = IdentityList::new();
            list.add("digest", id);
            let policy = Policy::standard();
            let asker = Asker { session: SessionId::NONE, identities: list.identities(), policy };
            let work_of_reads = |several| {
                let judge = Judge::new(asker, several);
                for _ in 0..50 {
                    assert_eq!(judge.readable(&tree, "/a").is_ok(), may);
                }
                (judge.new_work(), judge.new_work())
            };
            assert_eq!(work_of_reads(true), (800 / ENTRIES_PER_WORK, 0));
            assert_eq!(work_of_reads(false), (50 * 800 / ENTRIES_PER_WORK, 0));
        }
    }
}
